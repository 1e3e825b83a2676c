# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A fleet: one cluster that the playbooks made, recorded with its machines' answers, and as many more of the same as are wanted."""

from __future__ import annotations

import base64
import json
import re
import sys
import typing as t
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import replayed
import stand_in_machine
import yaml
from acme_workspace import ROLE, AcmeWorkspace
from replayed import NAME, name_of, renamed
from workspace import Workspace

from ansible_collections.kubeadm.control_plane.plugins.module_utils.common.values import now_rfc3339
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.calls.machine_connection import Answer, Machine
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.pki import certificates
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.pki.kubeconfig_text import kubeconfig_text

if t.TYPE_CHECKING:
    from api_server import ApiServer

# In the order in which an API takes them: an owner before what it owns.
KINDS = (
    "Cluster",
    "KubeadmControlPlane",
    "AcmeCluster",
    "AcmeMachineTemplate",
    "Machine",
    "AcmeMachine",
    "KubeadmConfig",
    "Secret",
)
PLURALS = {each: each.lower() + "s" for each in KINDS}
WRITERS = 4
Object = dict[str, t.Any]


class Recording:
    """One cluster as the playbook reconcile left it, in the file store of a workspace with stand-ins for machines.

    Args:
        document: what :meth:`recorded` returned, now or in an earlier run.
    """

    def __init__(self, document: t.Mapping[str, t.Any]) -> None:
        self.document = dict(document)
        self._files: dict[str, str] = self.document["files"]
        self._objects: list[Object] = self.document["objects"]
        self._replayed: Object = self.document["replayed"]

    @property
    def machines(self) -> int:
        """How many machines each cluster has."""
        return sum(1 for each in self._objects if each["kind"] == "Machine")

    @classmethod
    def make(cls, folder: Path, environment: t.MutableMapping[str, str], replicas: int = 3) -> Recording:
        """Let reconcile make the cluster. ``environment`` is what it is started with."""
        workspace = AcmeWorkspace(folder)
        environment.update(workspace.machines_answer())
        workspace.manifest(NAME, replicas=replicas)
        # Twice: after the second run nothing is left to be written. Machines of the last seconds are not counted yet.
        workspace.playbook("reconcile").succeeded()
        for path in workspace.store.glob("*/machine.*/*.yaml"):
            text = path.read_text()
            path.write_text(re.sub(r"(creationTimestamp: ').*(')", r"\g<1>2026-01-01T00:00:00Z\2", text))
        workspace.playbook("reconcile").succeeded()
        return cls(cls.recorded(workspace))

    @staticmethod
    def recorded(workspace: AcmeWorkspace) -> Object:
        """Everything of the one cluster, as JSON."""
        store, cloud = workspace.store, workspace.cloud()
        machines = list(cloud["machines"].values())
        # Not its journal and its locks.
        files = [path for pattern in ("*/*.*/*.yaml", "*/secret/*.yaml") for path in sorted(store.glob(pattern))]
        worlds = {
            each["address"]: stand_in_machine.World(workspace.world(), cloud, each["address"]) for each in machines
        }
        return {
            "files": {str(path.relative_to(store)): path.read_text() for path in files},
            "marker": (store / "store.yaml").read_text(),
            "objects": [each for kind in KINDS for each in workspace.objects(kind)],
            "manifest": (workspace.folder / "clusters" / f"{NAME}.yaml").read_text(),
            "replayed": {
                "cloud": json.dumps(machines),
                "answers": {
                    address.rpartition(".")[2]: json.dumps(world.node_observe({})) for address, world in worlds.items()
                },
            },
        }

    def manifest_of(self, number: int) -> str:
        """The manifest of another cluster of the fleet."""
        return renamed(self.document["manifest"], number)

    def objects_of(self, number: int) -> list[Object]:
        """The objects of another cluster of the fleet."""
        found: list[Object] = json.loads(renamed(json.dumps(self._objects), number))
        for each in found:
            for key, value in (each.get("data") or {}).items():
                each["data"][key] = _inside(value, number)
        return found

    def fill_folder(self, folder: Path, count: int) -> None:
        """Write the clusters' files, as a file store has them; nothing waits for the disk."""
        for number in range(count):
            for path, text in self._files.items():
                target = folder / renamed(path, number)
                secret = "/secret/" in path
                target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                target.write_text(_secret(text, number) if secret else renamed(text, number))
                if secret:
                    target.chmod(0o600)
        (folder / "store.yaml").write_text(self.document["marker"])

    def fill_api(self, server: ApiServer, count: int, first: int = 0) -> None:
        """Create the clusters' objects in an API that has the kinds."""

        def fill(numbers: t.Sequence[int]) -> None:
            with server.client() as client:
                for number in numbers:
                    create_all(client, self.objects_of(number))

        numbers = range(first, first + count)
        with ThreadPoolExecutor(WRITERS) as pool:
            list(pool.map(fill, [numbers[each::WRITERS] for each in range(WRITERS)]))

    def variables(self, folder: Path) -> tuple[Object, dict[str, str]]:
        """Variables and environment with which playbooks get the recorded answers; ``folder`` keeps what is replayed."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / replayed.FILE).write_text(json.dumps(self._replayed))
        # Started for every call: without what a user's site brings.
        program = [sys.executable, "-I", "-S", str(Path(replayed.__file__)), str(folder)]
        ssh = folder / "ssh"
        ssh.write_text(f'#!/bin/sh\nexec {" ".join(program)} ssh "$@"\n')
        ssh.chmod(0o755)
        variables = {
            "control_plane_more_providers": {"AcmeMachineTemplate": str(ROLE), "AcmeCluster": str(ROLE)},
            "machine_acme_command": [*program, "cloud"],
        }
        return variables, {"ANSIBLE_SSH_EXECUTABLE": str(ssh)}


class FleetWorkspace(Workspace):
    """A user's folder over a fleet in a store, whose machines and cloud are replayed.

    Args:
        folder: made here.
        recording: what the fleet was made of.
        kubeconfig: leads to the API that the objects are in; None for a store in the folder.
    """

    def __init__(self, folder: Path, recording: Recording, kubeconfig: str | None = None) -> None:
        super().__init__(folder)
        variables, self.environment = recording.variables(folder / "replayed")
        (folder / "variables.yml").write_text(yaml.safe_dump(variables))
        self.connection: Object = {"type": "file", "path": str(folder / "store")}
        if kubeconfig is not None:
            self.connection = {"type": "kubernetes", "path": str(folder / "journal"), "kubeconfig": kubeconfig}
        self.inventory()

    def inventory(self, **options: t.Any) -> None:
        """Write the inventory with options of the plugin."""
        document: Object = {"plugin": "kubeadm.control_plane.clusters", "store": self.connection, **options}
        if self.connection["type"] == "file":
            # A file store's clusters come from manifests.
            document["manifests"] = ["clusters/*.yaml"]
        (self.folder / "inventory.clusters.yml").write_text(yaml.safe_dump(document))

    def command(self, playbook: str, *arguments: str) -> list[str]:
        """The command line that a user would type."""
        exported = [f"{name}={value}" for name, value in self.environment.items()]
        return ["env", *exported, *super().command(playbook, "-e", "@variables.yml", *arguments)]

    def observed(self) -> list[str]:
        """The clusters whose machines were observed since the last time, each as often as that happened."""
        calls = self.folder / "replayed" / replayed.CALLS
        lines = calls.read_text().splitlines() if calls.exists() else []
        calls.unlink(missing_ok=True)
        return sorted(name_of(replayed.number_of(line.split()[0])) for line in lines if line.endswith("node_observe"))


class Replayed:
    """What observation asks machines by (observation.Caller)."""

    def __init__(self, content: Object) -> None:
        self._content = content

    @classmethod
    def over(cls, folder: Path) -> Replayed:
        """What :meth:`Recording.variables` wrote into a folder."""
        return cls(json.loads((folder / replayed.FILE).read_text()))

    def call(self, machine: Machine, module: str, arguments: Object) -> Answer:
        """What was recorded."""
        assert module == "node_observe", module
        return Answer(True, replayed.observed(self._content, str(machine.connection["host"])))


def create_all(client: t.Any, objects: t.Iterable[Object]) -> None:
    """Create recorded objects, an owner before what it owns, in an API that has their kinds; owners are known by their new uid."""
    uids: dict[tuple[str, str], str] = {}
    for each in objects:
        metadata = each["metadata"]
        owners = metadata.get("ownerReferences") or []
        new = {
            key: metadata[key]
            for key in ("name", "namespace", "labels", "annotations", "finalizers")
            if key in metadata
        }
        new["ownerReferences"] = [
            {**owner, "uid": uids[(owner["kind"], owner["name"])]}
            for owner in owners
            if (owner["kind"], owner["name"]) in uids
        ]
        group = "/api/v1" if each["kind"] == "Secret" else f"/apis/{each['apiVersion']}"
        path = f"{group}/namespaces/{metadata['namespace']}/{PLURALS[each['kind']]}"
        made = client.checked(client.send("POST", path, {**each, "metadata": new}), path)
        uids[(each["kind"], metadata["name"])] = made["metadata"]["uid"]
        if each.get("status"):
            own = f"{path}/{metadata['name']}/status"
            client.checked(client.send("PUT", own, {**made, "status": each["status"]}), own)


def _inside(encoded: str, number: int) -> str:
    """A Secret's value as of another cluster; where it has no name and no address in it, it stays."""
    try:
        text = base64.b64decode(encoded).decode()
    except ValueError:
        return encoded
    other = renamed(text, number)
    return encoded if other == text else base64.b64encode(other.encode()).decode()


def _secret(text: str, number: int) -> str:
    """A Secret's file as of another cluster."""
    return re.sub(r"[A-Za-z0-9+/]{40,}={0,2}", lambda found: _inside(found.group(), number), renamed(text, number))


def ending_kubeconfig(days: int) -> t.Callable[[Object], None]:
    """Give a Secret a kubeconfig whose client certificate ends in so many days."""
    now = now_rfc3339()
    authority = certificates.new_ca("kubernetes", now, "ECDSA-P256")
    client = certificates.new_client_certificate(authority, "kubernetes-admin", [], now, "ECDSA-P256", days)
    text = kubeconfig_text(NAME, "https://192.0.2.10:6443", authority.crt, client)
    return lambda secret: secret.update(data={"value": base64.b64encode(text.encode()).decode()})


__all__ = ["NAME", "FleetWorkspace", "Recording", "Replayed", "create_all", "ending_kubeconfig", "name_of"]
