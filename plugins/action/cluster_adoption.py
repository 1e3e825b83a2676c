# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Adoption of a cluster that was made by hand with kubeadm.

Its hosts are read; manifest and objects are written.
"""

from __future__ import annotations

import os
import tempfile
import time
import typing as t

from ansible import constants as C

from ..module_utils.common import sealed
from ..module_utils.common.values import now_rfc3339
from ..module_utils.workload_api import static_pod_flags
from ..plugin_utils.adoption import manifest as adoption_manifest
from ..plugin_utils.adoption.control_plane_writer import (
    Writer,
    host_of_machine,
    is_adopted,
    marked_for_deletion,
    marks_of_deletion,
    other_cluster,
)
from ..plugin_utils.adoption.evidence import SPARE, Host, configuration, problems, read_host, workers_left_alone
from ..plugin_utils.adoption.host_problems import SILENT, AnyHost, Problem, other_etcds, without_spares
from ..plugin_utils.adoption.machine_writer import node_name
from ..plugin_utils.adoption.workers import worker_survey
from ..plugin_utils.adoption.workers.worker_evidence import WorkerHost, worker_problems
from ..plugin_utils.adoption.workers.worker_manifest import deployment_of
from ..plugin_utils.adoption.workers.worker_survey import Survey
from ..plugin_utils.adoption.workers.worker_writer import to_adopt
from ..plugin_utils.base_classes.control_plane_action import ControlPlaneAction
from ..plugin_utils.calls.failure import ControlPlaneFailure
from ..plugin_utils.calls.machine_connection import Answer, Machine, MachineCaller, is_cluster
from ..plugin_utils.decision.rollout.in_place import ROTATION_UNFINISHED, rotation_completed, rotation_told
from ..plugin_utils.objects import kinds
from ..plugin_utils.objects.manifest.reader import ClusterManifest
from ..plugin_utils.providers import inventory_pool
from ..plugin_utils.records.actions_under_way import unfinished_rotation
from ..plugin_utils.records.cluster_objects import ClusterObjects
from ..plugin_utils.records.manifest_arguments import READING_SPEC, read_manifest
from ..plugin_utils.store import lasting, opening
from ..plugin_utils.store.base import Store, plain
from ..plugin_utils.store.file import disk
from ..plugin_utils.store.yaml_text import to_yaml

MANIFEST_MODE = 0o644
HEADER = """\
# The control plane of {cluster} as it was found on {hosts}, adopted on {now}.
# From now on this file says what is wanted: change it, then run the playbooks plan and reconcile.
"""


class ActionModule(ControlPlaneAction):
    """Action plugin of the module kubeadm.control_plane.cluster_adoption; see its documentation."""

    ARGUMENTS: t.ClassVar[dict[str, t.Any]] = {
        "group": {"type": "str", "required": True},
        "hosts": {"type": "list", "elements": "str", "default": []},
        "manifest": {"type": "path", "required": True},
        "template": {"type": "dict", "default": {}},
        "replicas": {"type": "int"},
        "workers": {"type": "dict", "default": {}},
        **READING_SPEC,
    }

    def execute(self, arguments: dict[str, t.Any]) -> dict[str, t.Any]:
        """Read every host, then refuse with all problems or write the rest.

        The rest is what manifest and store still miss.
        """
        # What comes from variables and over connections carries tags, which YAML can't be written with.
        arguments = plain(arguments)
        self._arguments = arguments
        self._cluster: str = arguments["cluster"]
        self._require_name()
        self._require_place(arguments["manifest"])
        store = self.open_store(arguments)
        objects = ClusterObjects.read(store, arguments["namespace"], self._cluster)
        if objects is not None:
            self._refuse_amid_rotation(objects)
        self._caller = self._inventory_caller()
        groups = plain(dict(self._task_vars.get("groups") or {}))
        templates = worker_survey.templates_of(arguments["workers"], groups)
        hosts, wrong, left_out = self._ask(objects)
        if not hosts:
            self._refuse(wrong)
            raise ControlPlaneFailure(
                f"the group {self._arguments['group']} has no hosts; nothing was done. Add the control plane's machines to it."
            )
        # No key of a worker is read.
        workers = worker_survey.survey(
            templates, groups, hosts[0], objects, lambda name: self._ask_host(objects, name, sealed.new_key())
        )
        self._refuse([*wrong, *workers.wrong])
        hub, wrong = configuration(hosts[0])
        self._refuse(wrong)
        of_workers = worker_problems(workers.all_hosts, hosts, hub, workers.managed)
        self._refuse([*problems(hosts, hub, now_rfc3339()), *of_workers])
        self._refuse_another(store, hosts)
        adopted = is_adopted(objects, hosts)
        lacking = to_adopt(objects, workers.hosts)
        manifest, text, more = self._manifest(hub, hosts, adopted, objects, workers, lacking)
        self._refuse(marked_for_deletion(store, manifest, objects, templates))
        known = {each.name for each in workers.all_hosts}
        notes = [words for host, words in left_out if host not in known] + workers.notes
        notes += more + self._drift(hosts, manifest)
        notes += other_etcds([*hosts, *workers.all_hosts])
        notes += workers_left_alone(hosts, worker_survey.adopted_nodes(workers))
        writer = Writer(store, manifest, hosts, now_rfc3339(), self._call_claim)
        self.check_lock(arguments)
        if lacking or not adopted:
            new: list[AnyHost] = [
                *([] if adopted else hosts),
                *(each for name in sorted(lacking) for each in lacking[name]),
            ]
            self._refuse(writer.unfit(new, lacking))
            writer.write({} if adopted else self._failure_domains(hosts), lacking, adopted)
        changes = [*writer.changes, *self._write_manifest(text)]
        for each in notes:
            self.display.warning(f"{self._cluster}: {each}")
        for each in changes:
            self.progress(self._cluster, f"{'would ' if self.check_mode else ''}{each}")
        return {
            "changed": bool(changes),
            "changes": changes,
            "notes": notes,
            "manifest": arguments["manifest"],
            "machines": {**_machines(hosts), **_machines(workers.all_hosts)},
        }

    # ---- reading

    def _inventory_caller(self) -> MachineCaller:
        # Nothing but inventory hosts is reached: no key of a cluster is needed.
        folder = os.path.join(C.DEFAULT_LOCAL_TMP, "kubeadm", self._arguments["namespace"], self._cluster)
        os.makedirs(folder, mode=0o700, exist_ok=True)
        return MachineCaller(self, self._task_vars, folder, fence=self.fence(self._arguments))

    def _ask(self, objects: t.Optional[ClusterObjects]) -> tuple[list[Host], list[Problem], list[tuple[str, str]]]:
        """Return the control plane's hosts, problems with others, and notes by host."""
        found: list[Host] = []
        wrong: list[Problem] = []
        for name in self._names():
            key = sealed.new_key()
            answer = self._ask_host(objects, name, key)
            if isinstance(answer, Problem):
                wrong.append(answer)
                continue
            host, problem = read_host(name, answer.result, key)
            if host is not None:
                found.append(host)
            elif problem is not None:
                wrong.append(problem)
        if self._arguments["hosts"] or not found:
            return found, wrong, []
        known = {host.node["name"] for host in found if host.node is not None}
        nodes = {str(each["name"]) for host in found for each in host.workload["nodes"]}
        return found, *without_spares(wrong, SPARE, nodes <= known)

    def _ask_host(self, objects: t.Optional[ClusterObjects], name: str, key: str) -> t.Union[Answer, Problem]:
        machine = Machine(name, host_of_machine(objects).get(name), {"inventoryHost": name})
        call = {"transport_key": key, "controller_time": time.time()}
        answer = self._call(machine, "node_adoption_info", call)
        return _failed(name, answer) if answer.failed else Answer(answer.reached, plain(answer.result))

    def _names(self) -> list[str]:
        groups, hosts = self._task_vars.get("groups") or {}, self._arguments["hosts"]
        group = self._arguments["group"]
        if group not in groups:
            raise ControlPlaneFailure(
                f"the inventory has no group {group}, which is to hold the control plane hosts of {self._cluster}; nothing was done. "
                "Give the inventory that has it (several -i may be given), or correct control_plane_adopt_group."
            )
        unknown = [each for each in hosts if each not in (self._task_vars.get("hostvars") or {})]
        if unknown:
            raise ControlPlaneFailure(
                f"the inventory has no host {', '.join(unknown)} (control_plane_adopt_hosts); nothing was done. "
                "Correct the names, or give the inventory that has them with -i."
            )
        return sorted(plain(list(hosts or groups[group])))

    def _call(self, machine: Machine, module: str, call: dict[str, t.Any]) -> Answer:
        return inventory_pool.call_host(self._caller, machine, module, call)

    # ---- refusing

    def _refuse(self, wrong: t.Sequence[Problem]) -> None:
        if not wrong:
            return
        lines = "".join(f"\n  {each}" for each in wrong)
        raise ControlPlaneFailure(
            f"{self._cluster} was not adopted, and nothing was written:{lines}",
            reasons=sorted({each.reason for each in wrong}),
        )

    def _refuse_amid_rotation(self, objects: ClusterObjects) -> None:
        # Hosts trust the old and the new authority then, and would be taken for another cluster's.
        rotation = unfinished_rotation(objects)
        if rotation is not None:
            # No Action completes it there.
            self._refuse(marks_of_deletion([objects.cluster, objects.control_plane]))
            completed = rotation_completed(objects.name, rotation, len(objects.machines))
            text = f"{rotation_told(objects.name, rotation)}, so the hosts' authorities are not those of the store"
            self._refuse([Problem(ROTATION_UNFINISHED, "", text, f"Complete it ({completed}), then adopt again.")])

    def _refuse_another(self, store: Store, hosts: t.Sequence[Host]) -> None:
        metadata = {"name": self._cluster, "namespace": self._arguments["namespace"]}
        differs = other_cluster(store, {"metadata": metadata}, hosts)
        if differs:
            where = opening.describe(self._arguments["store"])
            text = (
                f"the store {where} has another cluster of this name already: its Secret {differs} is not these hosts'"
            )
            self._refuse(
                [Problem("OtherClusterInStore", "", text, "Adopt it under another name, or give the right store.")]
            )

    def _call_claim(self, machine: Machine, call: dict[str, t.Any]) -> Answer:
        return self._call(machine, "host_claim", call)

    # ---- the manifest

    def _manifest(
        self,
        hub: t.Mapping[str, t.Any],
        hosts: t.Sequence[Host],
        adopted: bool,
        objects: t.Optional[ClusterObjects],
        workers: Survey,
        lacking: t.Mapping[str, t.Sequence[WorkerHost]],
    ) -> tuple[ClusterManifest, str, list[str]]:
        """Return the manifest, its text still to be written, and notes.

        The text is "" where a file exists already.
        """
        path, namespace = self._arguments["manifest"], self._arguments["namespace"]
        given = self._given(path)
        if given:
            manifest = read_manifest(self._arguments, given)
            contradicted = [] if adopted else adoption_manifest.contradictions(manifest, hub, len(hosts))
            if lacking or not adopted:
                self._refuse_kinds(manifest)
            self._show_missing(manifest, workers, lacking)
            manifest, wrong, notes = worker_survey.checked(manifest, lacking, objects, self._domain)
            self._refuse([*contradicted, *wrong])
            return manifest, "", notes
        replicas = self._arguments["replicas"] or len(hosts)
        self._refuse(adoption_manifest.even_replicas(hub, len(hosts), replicas))
        template = {"group": self._arguments["group"], **self._arguments["template"]}
        documents, notes = adoption_manifest.documents_of(hub, hosts, self._cluster, namespace, replicas, template)
        documents += worker_survey.documents(workers, self._cluster, namespace, workers.hosts)
        header = HEADER.format(cluster=self._cluster, hosts=", ".join(host.name for host in hosts), now=now_rfc3339())
        text = header + "".join(f"---\n{to_yaml(each)}" for each in documents)
        with tempfile.TemporaryDirectory(dir=C.DEFAULT_LOCAL_TMP) as folder:
            draft = os.path.join(folder, f"{self._cluster}.yaml")
            disk.write_file(draft, text.encode(), disk.SECRET_FILE_MODE)
            manifest = read_manifest(self._arguments, [draft])
        manifest, wrong, more = worker_survey.checked(manifest, lacking, objects, self._domain)
        self._refuse(wrong)
        return manifest, text, notes + more

    def _show_missing(self, manifest: ClusterManifest, workers: Survey, names: t.Iterable[str]) -> None:
        """Show the documents that a user's manifest lacks of these MachineDeployments."""
        missing = [each for each in names if deployment_of(manifest, each) is None]
        if missing:
            found = worker_survey.documents(workers, self._cluster, self._arguments["namespace"], missing)
            self.display.display("".join(f"---\n{to_yaml(each)}" for each in found))

    def _domain(self, host: WorkerHost, variable: str) -> str:
        return str(plain(self._task_vars["hostvars"][host.name].get(variable) or ""))

    def _given(self, path: str) -> list[str]:
        hostvars = self._task_vars.get("hostvars") or {}
        known = hostvars[self._cluster].get("control_plane_manifests") if self._cluster in hostvars else None
        return [str(each) for each in plain(list(known or []))] or ([path] if os.path.exists(path) else [])

    def _require_name(self) -> None:
        groups, hostvars = self._task_vars.get("groups") or {}, self._task_vars.get("hostvars") or {}
        taken = "a group" if self._cluster in groups else "a host" if self._cluster in hostvars else ""
        if taken and not (taken == "a host" and is_cluster(hostvars[self._cluster])):
            raise ControlPlaneFailure(
                f"the inventory has {taken} named {self._cluster}, and the cluster is to be an inventory host of that name, whose tasks run on the "
                "controller; nothing was done. Adopt it under another name, or rename yours."
            )

    def _require_place(self, path: str) -> None:
        if self._given(path):
            return
        hint = "Give a file with -e control_plane_adopt_manifest=FILE"
        if not path:
            raise ControlPlaneFailure(
                f"where the manifest of {self._cluster} is to be written is not known; nothing was done. {hint}, or give the inventory of the "
                "plugin kubeadm.control_plane.clusters a pattern such as manifests: [clusters/*.yaml]."
            )
        why = lasting.what_is_lost(path)
        if why:
            raise ControlPlaneFailure(
                f"the manifest of {self._cluster} is to be written to {path}, and nothing would be left of that: {why}. Nothing was done. Adopt from a "
                "checkout of the project and commit the manifest, or name a file in a folder that is mounted into the job."
            )
        folder = os.path.dirname(os.path.abspath(path))
        if not os.path.isdir(folder):
            raise ControlPlaneFailure(
                f"the folder {folder}, in which the manifest of {self._cluster} is to be written, does not exist; nothing was done. Make it, "
                f"or choose another. {hint}."
            )

    def _refuse_kinds(self, manifest: ClusterManifest) -> None:
        wanted = (kinds.INVENTORY_CLUSTER, kinds.INVENTORY_MACHINE_TEMPLATE)
        kind = (manifest.infrastructure_cluster["kind"], manifest.machine_template["kind"])
        if kind != wanted:
            text = f"the manifest's infrastructure is {kind[0]} and {kind[1]}, and adopted machines are hosts of the inventory"
            fix = f"Write {wanted[0]} and {wanted[1]}, or take the manifest away and let one be written."
            self._refuse([Problem("ManifestContradicts", "", text, fix)])

    def _write_manifest(self, text: str) -> list[str]:
        path = self._arguments["manifest"]
        if not text:
            return []
        if self.check_mode:
            self.display.display(f"\n{path}:\n{text}")
        else:
            disk.write_file(path, text.encode(), MANIFEST_MODE)
        return [f"write {path}"]

    def _failure_domains(self, hosts: t.Sequence[Host]) -> dict[str, str]:
        template = self._arguments["template"]
        variable = template.get("failureDomainVariable")
        if not variable:
            return {}
        hostvars = self._task_vars["hostvars"]
        found = {host.name: str(plain(hostvars[host.name].get(variable) or "")) for host in hosts}
        missing = sorted(name for name, domain in found.items() if not domain)
        if missing:
            raise ControlPlaneFailure(
                f"host {', '.join(missing)} has no variable {variable}, which is to tell the failure domain; nothing was written. "
                "Set it in the inventory, or leave failureDomainVariable out of control_plane_adopt_template."
            )
        return found

    @staticmethod
    def _drift(hosts: t.Sequence[Host], manifest: ClusterManifest) -> list[str]:
        """Return static pod flags that machines of this manifest would not have."""
        spec = manifest.control_plane["spec"].get("kubeadmConfigSpec") or {}
        found = []
        pods = list(hosts[0].workload["staticPodFlags"])
        for each in static_pod_flags.drift(pods, spec.get("clusterConfiguration") or {}):
            words = {
                "added": "is not in kubeadm-config",
                "changed": "is not as in kubeadm-config",
                "missing": "is in kubeadm-config only",
            }
            found.append(
                f"StaticPodDrift: {each['component']} of {each['node']}: --{each['flag']} {words[each['kind']]}"
            )
        return found


def _machines(hosts: t.Sequence[AnyHost]) -> dict[str, str]:
    return {host.name: node_name(host) for host in hosts}


def _failed(name: str, answer: Answer) -> Problem:
    if not answer.reached:
        fix = "Check the inventory (ansible_host, ansible_user, keys, bastion) with: ansible -m ansible.builtin.ping."
        return Problem(SILENT, name, answer.message, fix)
    if answer.message.startswith("Wrong machine"):
        return Problem("WrongHost", name, answer.message, "")
    fix = "Every host must be asked as root: set ansible_become: true where the user is another."
    return Problem("HostFailed", name, answer.message, fix)
