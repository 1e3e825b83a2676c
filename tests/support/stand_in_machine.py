# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stands in for ssh and the machines behind it: what modules on a machine answer, for the clusters of one small world in a file.

Usage, as ssh's executable: stand_in_machine.py FOLDER ssh-options… ADDRESS command. The module that comes over standard input is not
run; its name and arguments are read, and answered from the world: etcd's members, Nodes, bootstraps. FOLDER is that of the stand-in
for a cloud, whose machines are those that answer. What must never happen is noted in the world's ``violations``.
"""

from __future__ import annotations

import ast
import fcntl
import json
import re
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any, Optional

import stand_in_snapshots
from stand_in_configurations import Configurations
from stand_in_etcd import POLLS, Etcd
from stand_in_fencing import Fencing
from stand_in_programs import asked_for_passwords, now, rfc3339
from stand_in_upgrades import Upgrades, pod

Object = dict[str, Any]
COMPONENTS = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler")
NODES = "/api/v1/nodes"
CONFIG = "/api/v1/namespaces/kube-system/configmaps/kubeadm-config"
# What every kubelet tells of its machine, besides its versions and its identity.
INFO = {
    "systemUUID": "00000000-0000-4000-8000-000000000000",
    "bootID": "00000000-0000-4000-8000-000000000001",
    "kernelVersion": "6.1.0",
    "osImage": "Debian GNU/Linux 12 (bookworm)",
    "containerRuntimeVersion": "containerd://1.7.2",
    "operatingSystem": "linux",
    "architecture": "amd64",
}


class World(Upgrades, Configurations, Fencing, Etcd):
    """Everything that exists, as one machine sees it."""

    def __init__(self, state: Object, cloud: Object, address: str = "", folder: Path = Path()) -> None:
        self.state, self.balancers, self._folder = state, cloud.get("balancers", {}), folder
        self.there = {each["name"]: each for each in cloud["machines"].values()}
        # Taken away by a test: without power, or cut off from everybody.
        self.alive = {
            name: each for name, each in self.there.items() if each["state"] == "running" and not each.get("cut")
        }
        self.here: Optional[Object] = next((each for each in self.alive.values() if each["address"] == address), None)

    def answer(self, module: str, arguments: Object) -> Object:
        """What a module answers here."""
        assert self.here is not None
        if arguments.get("machine_id") not in (None, self.here["machineID"]):
            return {"failed": True, "msg": "this is another machine (machine-id)"}
        refused = self.refused(arguments)
        if refused is not None:
            return refused
        self.look()
        known = getattr(self, module, None)
        return dict(known(arguments)) if known else {"failed": True, "msg": f"{module} is not known here"}

    def node_bootstrap(self, arguments: Object) -> Object:
        """Start kubeadm, or tell how far it is. A module that is killed has done it, and does not tell."""
        told = self._bootstrap(arguments)
        every = self.state.get("kills_every", 0)
        if not every or told.get("state") == "Absent":
            return told
        self.state["kills"] = self.state.get("kills", 0) + 1
        return told if self.state["kills"] % every else {"failed": True, "msg": "MODULE FAILURE"}

    def _bootstrap(self, arguments: Object) -> Object:
        assert self.here is not None
        name = self.here["name"]
        found = self.state["bootstraps"].get(name)
        if found is None:
            if not arguments.get("data"):
                return {"state": "Absent", "changed": False}
            if self.state.get("refuses"):  # as a machine of another version does
                return {"failed": True, "msg": self.state["refuses"], "reason": self.state.get("refusal")}
            worker = arguments["data"]["kind"] == "join" and "controlPlane:" not in arguments["data"]["config"]
            running = [
                key
                for key, each in self.state["bootstraps"].items()
                if _state(each) == "Running" and key in self.alive and not each.get("worker")
            ]
            if running and not worker:
                self.violation(f"{name} was started while {running} had not ended")
            found = {"polls": 0, "kind": arguments["data"]["kind"], "startedAt": rfc3339()}
            found.update(version=arguments["data"]["kubeadmVersion"], worker=worker)
            found.update({key: arguments["data"][key] for key in ("config", "preKubeadmCommands")})
            if found["kind"] == "init" and self.members:
                self.violation(f"{name} was initialized although etcd has members")
            self.state["bootstraps"][name] = found
            if not worker:
                self._configuration(arguments["data"]["config"])
        elif arguments.get("wait") and _state(found) == "Running":
            self.progress(name, found)
        self.look()
        state = _state(found)
        if state == "Failed":
            return {"failed": True, "state": state, "msg": "it was interrupted", "changed": False}
        return {
            "state": state,
            "step": arguments["step"],
            "stage": "kubeadm",
            "startedAt": found["startedAt"],
            "changed": True,
        }

    def _configuration(self, text: str) -> None:
        if CONFIG not in self.state["objects"]:
            # A third of what each call would import, and few need it.
            import yaml

            documents = [each for each in yaml.safe_load_all(text) if each and each["kind"] == "ClusterConfiguration"]
            status = {"apiVersion": "kubeadm.k8s.io/v1beta2", "kind": "ClusterStatus", "apiEndpoints": {}}
            data = {"ClusterConfiguration": yaml.safe_dump(documents[0]), "ClusterStatus": yaml.safe_dump(status)}
            self.state["objects"][CONFIG] = {
                "metadata": {"name": "kubeadm-config", "resourceVersion": "1"},
                "data": data,
            }

    def bootstrap_token(self, arguments: Object) -> Object:
        """Tokens are of no consequence here."""
        return {"changed": True, "token_id": str(arguments.get("token") or "abcdef")[:6]}

    def etcd_snapshot(self, arguments: Object) -> Object:
        """Taken at once."""
        self.state["snapshots"] += 1
        return stand_in_snapshots.taken(self._folder, arguments["name"], self.state["snapshots"])

    def etcd_snapshot_file(self, arguments: Object) -> Object:
        """Hand a piece of it out."""
        return stand_in_snapshots.piece(self._folder, arguments)

    def node_drain(self, arguments: Object) -> Object:
        """Nothing runs here, unless a test says that a budget holds the Node's Pods, or that a volume stays attached."""
        if arguments["name"] in self.state.get("attached", ()):
            return {"changed": True, "state": "Running", "message": "volume pv-1", "volumes_started_at": rfc3339()}
        if arguments["name"] in self.state.get("held", ()) and not arguments.get("skip_drain"):
            said = "pod default/web: its PodDisruptionBudget web allows no eviction"
            return {"changed": True, "state": "Running", "message": said, "started_at": rfc3339()}
        return {"changed": True, "state": "Drained", "message": "nothing was to be evicted", "started_at": rfc3339()}

    def workload_node(self, arguments: Object) -> Object:
        """Delete a Node."""
        return {"changed": self.state["nodes"].pop(arguments["name"], None) is not None, "msg": "the Node is gone"}

    def workload_objects(self, arguments: Object) -> Object:
        """Objects are read and written as an API does, without their kinds' rules."""
        if self._name in self.state.get("silent", []):
            return {"failed": True, "msg": "no API server answers here"}
        objects: dict[str, Object] = self.state["objects"]
        written, conflict = 0, ""
        for each in arguments.get("write") or []:
            document = json.loads(each["document"]) if isinstance(each["document"], str) else each["document"]
            creates = each["method"] == "create"
            path = f"{each['path']}/{document['metadata']['name']}" if creates else each["path"]
            known = self._object(path)
            if creates != (known is None) or (
                known and known["metadata"]["resourceVersion"] != each["resource_version"]
            ):
                conflict = f"{path} is another one by now"
                break
            version = int((known or {"metadata": {"resourceVersion": "0"}})["metadata"]["resourceVersion"])
            node = self.state["nodes"].get(path.rpartition("/")[2]) if path.startswith(f"{NODES}/") else None
            made = merged(known or {}, document)
            made["metadata"]["resourceVersion"] = str(version + 1)
            if node is not None:
                node["written"] = {"metadata": made["metadata"], "spec": made["spec"]}
            else:
                objects[path] = made
            written += 1
        found = {each["path"]: self._object(each["path"]) for each in arguments.get("read") or []}
        if NODES in found:
            items = [self._node(name, each) for name, each in sorted(self.state["nodes"].items())]
            found[NODES] = {"items": items}
        return {"changed": written > 0, "objects": found, "written": written, "conflict": conflict}

    def _object(self, path: str) -> Optional[Object]:
        folder, _slash, name = path.rpartition("/")
        if folder == NODES and name in self.state["nodes"]:
            return self._node(name, self.state["nodes"][name])
        found: Optional[Object] = self.state["objects"].get(path)
        return found

    def node_observe(self, arguments: Object) -> Object:
        """The whole picture."""
        assert self.here is not None
        name = self.here["name"]
        bootstrap = self.state["bootstraps"].get(name)
        if bootstrap is not None and bootstrap.get("worker") and _state(bootstrap) == "Running":
            # Nobody waits for a worker's kubeadm: it is looked at.
            self.progress(name, bootstrap)
        serves = self.serves(name)
        etcd = {**self.etcd_document(), "reachable": serves}
        state = "" if bootstrap is None else _state(bootstrap)
        machine = {
            "machineID": self.here["machineID"],
            "clock": rfc3339(),
            "staticPodManifests": list(COMPONENTS) if serves else [],
            "etcdData": serves,
            "diskFreeBytes": 10**11,
            "certificates": {"apiserver.crt": "2036-01-01T00:00:00Z"} if serves else {},
            "componentHealth": {"kube-controller-manager": serves, "kube-scheduler": serves},
            "bootstrap": {"state": state, "step": f"bootstrap-{name}"},
        }
        ready = serves and name not in self.state.get("unready", [])
        api = {"answers": serves, "ready": ready, "date": f"{now():%a, %d %b %Y %H:%M:%S} GMT", "message": ""}
        return {
            "observation": {
                "machine": machine,
                "api": api,
                "endpoint": {"answers": serves, "message": ""},
                "etcd": etcd,
                "objects": self._objects(bool(arguments.get("workers"))) if serves else None,
                "wanted": [],
            }
        }

    def _objects(self, with_workers: bool = False) -> Object:
        workers = sorted(name for name, each in self.state["nodes"].items() if each.get("worker"))
        nodes = {name: each for name, each in self.state["nodes"].items() if not each.get("worker")}
        image = "k8s.gcr.io/kube-proxy:v1.20.2"
        count = len(nodes)
        daemon = {"desiredNumberScheduled": count, "numberReady": count, "updatedNumberScheduled": count}
        subjects = {
            "subjects": [{"name": "system:anonymous"}, {"name": "system:bootstrappers:kubeadm:default-node-token"}]
        }
        bindings = ("clusterInfoRole", "clusterInfoRoleBinding", "kubeletBootstrap", "autoapproveBootstrap")
        return {
            "nodes": [self._node(name, each) for name, each in sorted(nodes.items())],
            "pods": [
                pod(name, component, nodes[name].get("api") or nodes[name]["version"])
                for name in sorted(nodes)
                for component in COMPONENTS
            ],
            "kubeadmConfig": self.state["objects"].get(CONFIG),
            "kubeProxy": {
                "metadata": {},
                "spec": {"containers": [{"name": "kube-proxy", "image": image}]},
                "status": daemon,
            },
            "dns": None,
            "bootstrap": {"clusterInfo": True, **dict.fromkeys(bindings, subjects)},
            "workerNodes": workers,
            "workerVersions": dict(Counter(self.state["nodes"][name]["version"] for name in workers)),
            **({"workers": [self._node(name, self.state["nodes"][name]) for name in workers]} if with_workers else {}),
            "staticPodFlags": [],
        }

    def _node(self, name: str, node: Object) -> Object:
        machine = self.alive.get(name)
        role = "node-role.kubernetes.io/master"
        ready = {"type": "Ready", "status": "True" if machine else "Unknown", "reason": "Kubelet"}
        ready["lastTransitionTime"] = node["created"]
        info = {**INFO, "kubeletVersion": node["version"], "kubeProxyVersion": node["version"]}
        info["machineID"] = (machine or {}).get("machineID", "")
        addresses = [{"type": "InternalIP", "address": (machine or {}).get("address", "")}]
        labels = {} if node.get("worker") else {role: "", "node-role.kubernetes.io/control-plane": ""}
        metadata = {"name": name, "uid": name, "labels": labels, "creationTimestamp": node["created"]}
        return {
            "metadata": {**metadata, "resourceVersion": "1"},
            "spec": {"taints": [] if node.get("worker") else [{"key": role, "effect": "NoSchedule"}]},
            "status": {"conditions": [ready], "addresses": addresses, "nodeInfo": info},
            # What was written to it in the API.
            **node.get("written", {}),
        }


def _state(bootstrap: Object) -> str:
    if bootstrap["polls"] >= POLLS:
        return "Succeeded"
    return "Failed" if bootstrap.get("interrupted") else "Running"


def merged(one: Any, other: Any) -> Any:
    """A merge patch (RFC 7386)."""
    if not isinstance(one, dict) or not isinstance(other, dict):
        return other
    both = {**one, **{key: merged(one.get(key), value) for key, value in other.items()}}
    return {key: value for key, value in both.items() if value is not None}


def called(payload: str) -> tuple[str, Object]:
    """The module and its arguments, from what Ansible sends to a machine's Python."""
    tail = payload[payload.rindex("_ansiballz_main(") :]
    texts = dict(re.findall(r"^ *(ansible_module|params)=(['\"].*),$", tail, re.MULTILINE))
    module = str(ast.literal_eval(texts["ansible_module"])).rpartition(".")[2]
    return module, dict(json.loads(ast.literal_eval(texts["params"]))["ANSIBLE_MODULE_ARGS"])


def new_state() -> Object:
    """A world in which nothing has happened."""
    mappings: Object = {each: {} for each in ("nodes", "bootstraps", "objects", "fencing")}
    lists: Object = {each: [] for each in ("members", "violations", "calls")}
    return {**mappings, **lists, "leader": None, "snapshots": 0}


def main() -> int:
    """Answer one call under a lock, and write everything or nothing."""
    folder = Path(sys.argv[1])
    address = next((each for each in sys.argv[2:] if re.fullmatch(r"198\.51\.100\.\d+", each)), "")
    passwords = asked_for_passwords(sys.argv[-1])
    payload = sys.stdin.read()
    with open(folder / "world.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        file = folder / "world.json"
        state = json.loads(file.read_text()) if file.exists() else new_state()
        state.setdefault("passwords", []).extend(passwords)
        world = World(state, json.loads((folder / "cloud.json").read_text()), address, folder)
        if world.here is None or "_ansiballz_main(" not in payload:
            sys.stderr.write(f"ssh: connect to host {address} port 22: Connection refused\n")
            return 255
        module, arguments = called(payload)
        state["calls"].append(f"{time.time():.3f} {world.here['name']} {module}")
        answer = world.answer(module, {key: each for key, each in arguments.items() if key[:8] != "_ansible"})
        partial = folder / "world.partial"
        partial.write_text(json.dumps(state))
        partial.rename(file)
    # What a test has it say instead, by module: a machine may say anything.
    sys.stdout.write(state.get("answers", {}).get(module, json.dumps(answer)) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
