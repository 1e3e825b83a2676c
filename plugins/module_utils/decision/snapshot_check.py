# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Is a document a snapshot, and does it contradict itself? (docs/reference/snapshot.md, snapshot.schema.json)"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Optional

from ansible_collections.kubeadm.control_plane.plugins.module_utils.decision import names
from ansible_collections.kubeadm.control_plane.plugins.module_utils.decision.values import parse_time

Object = dict[str, Any]
_HEX_DIGITS = frozenset("0123456789abcdef")


@dataclass(frozen=True)
class Problem:
    """What is wrong with a snapshot: the path of the offending field, and why."""

    path: str
    message: str

    def __str__(self) -> str:
        return f"{self.path}: {self.message}"


def check_snapshot(document: Any) -> list[Problem]:
    """What is wrong with a document that should be a snapshot; [] when nothing is.

    Reports breaks of the schema in what decisions read, and contradictions: a machine, Node or member twice, a member of two
    machines, a leader that is no member, a clock that goes back. Never raises, whatever the document is.
    """
    checker = _Checker()
    checker.check(document)
    return checker.problems


class _Checker:
    def __init__(self) -> None:
        self.problems: list[Problem] = []
        self.now: Optional[str] = None

    def say(self, path: str, message: str) -> None:
        self.problems.append(Problem(path, message))

    def check(self, document: Any) -> None:
        if not isinstance(document, dict):
            self.say("$", f"a snapshot is a mapping, not {_kind(document)}")
            return
        version = document.get("snapshotVersion")
        if version != names.SNAPSHOT_VERSION:
            self.say("snapshotVersion", f"is {version!r}; this code reads {names.SNAPSHOT_VERSION!r} only")
            return
        if self.time(document, "now", "now", required=True):
            self.now = document["now"]
        for key, required in (
            ("cluster", True),
            ("controlPlane", False),
            ("infrastructureCluster", False),
            ("machineTemplate", False),
        ):
            self.object(document.get(key), key, required)
        certificates = self.mapping(document, "certificates", "certificates")
        for name, facts in (certificates or {}).items():
            self.mapping(certificates or {}, name, f"certificates.{name}")
            if isinstance(facts, dict):
                self.boolean(facts, "present", f"certificates.{name}.present")
                self.time(facts, "notAfter", f"certificates.{name}.notAfter")
        self.machines(document)
        self.workload(document)

    def object(self, value: Any, path: str, required: bool = True) -> Optional[Object]:
        if value is None and not required:
            return None
        if not isinstance(value, dict):
            self.say(path, f"must be an object, not {_kind(value)}")
            return None
        metadata = value.get("metadata")
        if not isinstance(metadata, dict) or not isinstance(metadata.get("name"), str) or not metadata["name"]:
            self.say(f"{path}.metadata.name", "is missing")
            return None
        for key in ("creationTimestamp", "deletionTimestamp"):
            self.time(metadata, key, f"{path}.metadata.{key}")
        for key in ("labels", "annotations"):
            self.mapping(metadata, key, f"{path}.metadata.{key}")
        self.mapping(value, "spec", f"{path}.spec")
        status = self.mapping(value, "status", f"{path}.status")
        for index, condition in self.items(status or {}, "conditions", f"{path}.status.conditions"):
            where = f"{path}.status.conditions[{index}]"
            if not isinstance(condition.get("type"), str) or condition.get("status") not in (
                "True",
                "False",
                "Unknown",
            ):
                self.say(where, "needs a type, and a status that is True, False or Unknown")
            if self.time(condition, "lastTransitionTime", f"{where}.lastTransitionTime"):
                self.after_now(condition["lastTransitionTime"], f"{where}.lastTransitionTime")
        return value

    def machines(self, document: Object) -> None:
        seen: dict[tuple[str, Any], str] = {}
        for index, entry in self.items(document, "machines", "machines", required=True):
            path = f"machines[{index}]"
            machine = self.object(entry.get("machine"), f"{path}.machine")
            self.object(entry.get("infrastructureMachine"), f"{path}.infrastructureMachine", required=False)
            self.object(entry.get("kubeadmConfig"), f"{path}.kubeadmConfig", required=False)
            if machine is None or not isinstance(machine.get("spec"), dict):
                if machine is not None:
                    self.say(f"{path}.machine.spec", "is missing")
                continue
            status: Object = machine["status"] if isinstance(machine.get("status"), dict) else {}
            for key in ("nodeRef", "bootstrap"):
                self.mapping(status, key, f"{path}.machine.status.{key}")
            node = status.get("nodeRef") or {}
            identities = (
                ("metadata.name", machine["metadata"]["name"]),
                ("spec.providerID", machine["spec"].get("providerID")),
                ("status.machineID", status.get("machineID")),
                ("status.nodeRef.name", node.get("name") if isinstance(node, dict) else None),
            )
            for field, value in identities:
                if value and isinstance(value, str):
                    first = seen.setdefault((field, value), path)
                    if first != path:
                        what = (
                            "a Node and its etcd member belong to one machine"
                            if "nodeRef" in field
                            else "it is the same machine twice"
                        )
                        self.say(f"{path}.machine.{field}", f"{value!r} is also that of {first}; {what}")
            bootstrap = status.get("bootstrap") or {}
            if isinstance(bootstrap, dict) and (bootstrap.get("state") or "") not in (
                "",
                names.RUNNING,
                names.SUCCEEDED,
                names.FAILED,
            ):
                self.say(
                    f"{path}.machine.status.bootstrap.state",
                    f"{bootstrap.get('state')!r} is not '', Running, Succeeded or Failed",
                )
            created = machine["metadata"].get("creationTimestamp")
            if isinstance(created, str):
                self.after_now(created, f"{path}.machine.metadata.creationTimestamp")
        for index, prepared in self.items(document, "preparedMachines", "preparedMachines"):
            self.object(prepared, f"preparedMachines[{index}]")

    def workload(self, document: Object) -> None:
        workload = self.mapping(document, "workload", "workload", required=True)
        if workload is None:
            return
        self.boolean(workload, "reachable", "workload.reachable", required=True)
        self.boolean(workload, "initialized", "workload.initialized", nullable=True)
        endpoint = self.mapping(workload, "endpoint", "workload.endpoint")
        if endpoint is not None:
            self.boolean(endpoint, "answers", "workload.endpoint.answers", nullable=True)
        via = workload.get("via")
        machines = {
            str(entry["machine"]["metadata"].get("name"))
            for _index, entry in self.items(document, "machines", "machines", quiet=True)
            if isinstance(entry.get("machine"), dict) and isinstance(entry["machine"].get("metadata"), dict)
        }
        if via is not None and (not isinstance(via, str) or via not in machines):
            self.say("workload.via", f"{via!r} is not one of the machines")
        if workload.get("initialized") is True and workload.get("reachable") is False:
            self.say("workload.initialized", "is true, though no API answered that could have said so")
        self.unique(self.items(workload, "nodes", "workload.nodes"), "workload.nodes", "name", "Node")
        for index, node in self.items(workload, "nodes", "workload.nodes", quiet=True):
            if node.get("ready") not in ("True", "False", "Unknown"):
                self.say(f"workload.nodes[{index}].ready", f"{node.get('ready')!r} is not True, False or Unknown")
        pods = self.mapping(workload, "pods", "workload.pods")
        for name in pods or {}:
            for component in self.mapping(pods or {}, name, f"workload.pods[{name}]") or {}:
                self.mapping((pods or {})[name], component, f"workload.pods[{name}].{component}")
        workers = workload.get("workerNodes")
        if workers is not None and not (isinstance(workers, list) and all(isinstance(each, str) for each in workers)):
            self.say("workload.workerNodes", "must be a list of names")
        self.etcd(workload)

    def etcd(self, workload: Object) -> None:
        etcd = self.mapping(workload, "etcd", "workload.etcd")
        if etcd is None:
            return
        self.boolean(etcd, "reachable", "workload.etcd.reachable", required=True)
        self.boolean(etcd, "memberListAgrees", "workload.etcd.memberListAgrees", nullable=True)
        members = self.items(etcd, "members", "workload.etcd.members")
        self.unique(members, "workload.etcd.members", "id", "member")
        self.unique(members, "workload.etcd.members", "name", "member", optional=True)
        identities = {str(member["id"]) for _index, member in members if isinstance(member.get("id"), str)}
        for index, member in members:
            if not _is_id(member.get("id")):
                self.say(
                    f"workload.etcd.members[{index}].id",
                    f"{member.get('id')!r} is not a member ID in hexadecimal digits",
                )
            urls = member.get("peerURLs") or []
            if not isinstance(urls, list) or not all(isinstance(url, str) for url in urls):
                self.say(f"workload.etcd.members[{index}].peerURLs", "must be a list of URLs")
        leader = etcd.get("leader")
        if leader is not None and (not isinstance(leader, str) or leader not in identities):
            self.say("workload.etcd.leader", f"{leader!r} is not a member; members are {sorted(identities)}")
        for identity in self.mapping(etcd, "statuses", "workload.etcd.statuses") or {}:
            if identity not in identities:
                self.say(f"workload.etcd.statuses[{identity}]", "is the status of something that is not a member")
            else:
                self.mapping(etcd["statuses"], identity, f"workload.etcd.statuses[{identity}]")
        self.items(etcd, "alarms", "workload.etcd.alarms")

    def unique(self, entries: list[tuple[int, Object]], path: str, key: str, what: str, optional: bool = False) -> None:
        seen: set[str] = set()
        for index, entry in entries:
            value = entry.get(key)
            if optional and not value:
                continue
            if not isinstance(value, str) or not value:
                self.say(f"{path}[{index}].{key}", "is missing")
            elif value in seen:
                self.say(f"{path}[{index}].{key}", f"there are two {what}s {value!r}")
            else:
                seen.add(value)

    def items(
        self, parent: Object, key: str, path: str, required: bool = False, quiet: bool = False
    ) -> list[tuple[int, Object]]:
        value = parent.get(key)
        if value is None and not required:
            return []
        if not isinstance(value, list):
            if not quiet:
                self.say(path, f"must be a list, not {_kind(value)}")
            return []
        for index, item in enumerate(value):
            if not isinstance(item, dict) and not quiet:
                self.say(f"{path}[{index}]", f"must be a mapping, not {_kind(item)}")
        return [(index, item) for index, item in enumerate(value) if isinstance(item, dict)]

    def mapping(self, parent: Object, key: str, path: str, required: bool = False) -> Optional[Object]:
        value = parent.get(key)
        if isinstance(value, dict):
            return value
        if value is not None or required:
            self.say(path, f"must be a mapping, not {_kind(value)}")
        return None

    def boolean(self, parent: Object, key: str, path: str, required: bool = False, nullable: bool = False) -> None:
        value = parent.get(key)
        if value is None and not required and (nullable or key not in parent):
            return
        if not isinstance(value, bool):
            self.say(path, f"must be true or false{', or null for unknown' if nullable else ''}, not {_kind(value)}")

    def time(self, parent: Object, key: str, path: str, required: bool = False) -> bool:
        value = parent.get(key)
        if value is None and not required:
            return False
        if parse_time(value) is None:
            self.say(path, f"{value!r} is not an RFC 3339 time such as 2026-01-31T12:00:00Z")
            return False
        return True

    def after_now(self, moment: str, path: str) -> None:
        then, now = parse_time(moment), parse_time(self.now)
        if then is not None and now is not None and then - now > names.CLOCK_SKEW_LIMIT:
            self.say("now", f"{self.now} is {then - now} s before {path} ({moment}): the clock went back")


def _kind(value: Any) -> str:
    return "nothing" if value is None else type(value).__name__


def _is_id(value: Any) -> bool:
    return isinstance(value, str) and 1 <= len(value) <= 16 and _HEX_DIGITS.issuperset(value)
