# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Survey of the hosts named for MachineDeployments, before any write."""

from __future__ import annotations

import dataclasses
import typing as t
from dataclasses import dataclass, field

from ...calls.failure import ControlPlaneFailure
from ...calls.machine_connection import Answer
from ...objects.manifest.reader import ClusterManifest
from ...records.cluster_objects import ClusterObjects
from ..evidence import Host
from ..host_problems import Problem, without_spares
from . import worker_manifest
from .worker_evidence import SPARE, WorkerHost, named_twice, node_name, read_worker
from .worker_writer import machine_of, managed_nodes, replicas_of, staying_machines

Object = dict[str, t.Any]
VARIABLE = "control_plane_adopt_workers"
_EXAMPLE = f'-e \'{{"{VARIABLE}": {{"NAME": "GROUP"}}}}\''
# Asks a host; returns its answer, or the problem with one that gave none.
Ask = t.Callable[[str], t.Union[Answer, Problem]]


def templates_of(asked: t.Mapping[str, t.Any], groups: t.Mapping[str, t.Any]) -> dict[str, Object]:
    """Return the spec of each MachineDeployment's machine template.

    Its ``group`` holds the workers' hosts.

    Args:
        asked: by the MachineDeployment's name the group, or the whole spec.
        groups: the inventory's.

    Raises:
        ControlPlaneFailure: it names no group, or one that the inventory does not have.
    """
    found = {}
    for name, value in sorted(asked.items()):
        template = {"group": value} if isinstance(value, str) else value
        group = template.get("group") if isinstance(template, dict) else None
        if not group or not isinstance(group, str):
            raise ControlPlaneFailure(
                f"{VARIABLE} names no inventory group for MachineDeployment {name}, which is to hold the hosts of its workers; nothing was done. "
                f"Give it: {_EXAMPLE}."
            )
        if group not in groups:
            raise ControlPlaneFailure(
                f"the inventory has no group {group}, which {VARIABLE} names for MachineDeployment {name}; nothing was done. "
                "Give the inventory that has it (several -i may be given), or correct the name."
            )
        found[name] = template
    return found


@dataclass
class Survey:
    """Workers' hosts by MachineDeployment, what is wrong with others, and notes.

    `templates` are the specs of their machine templates; `managed` has the MachineDeployment of each worker's Node that has a Machine.
    """

    templates: t.Mapping[str, Object]
    hosts: dict[str, list[WorkerHost]] = field(default_factory=dict)
    wrong: list[Problem] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    managed: dict[str, str] = field(default_factory=dict)

    @property
    def all_hosts(self) -> list[WorkerHost]:
        """Return the hosts of all MachineDeployments."""
        return [each for name in sorted(self.hosts) for each in self.hosts[name]]


def survey(
    templates: t.Mapping[str, Object],
    groups: t.Mapping[str, t.Sequence[str]],
    lead: Host,
    objects: t.Optional[ClusterObjects],
    ask: Ask,
) -> Survey:
    """Return what the hosts of all groups told, each asked once.

    Args:
        templates: as :func:`templates_of` returns them.
        groups: the inventory's.
        lead: a control plane host of the cluster.
        objects: what the store has of the cluster.
        ask: asks a host.
    """
    named = {name: sorted(map(str, groups[template["group"]])) for name, template in templates.items()}
    found = Survey(templates, managed=managed_nodes(objects))
    twice = named_twice(named)
    if twice:
        found.wrong = twice
        return found
    wrong: list[Problem] = []
    for name, hosts in sorted(named.items()):
        found.hosts[name] = []
        for each in hosts:
            answer = ask(each)
            host, problem = (
                (None, answer) if isinstance(answer, Problem) else read_worker(each, name, answer.result, lead)
            )
            if host is not None:
                found.hosts[name].append(host)
            elif problem is not None:
                wrong.append(problem)
    nodes = {str(each) for each in lead.workload["workerNodes"]}
    found.wrong, notes = without_spares(wrong, SPARE, nodes <= {*map(node_name, found.all_hosts), *found.managed})
    found.notes = [text for _host, text in notes]
    if not found.wrong:
        found.wrong = [_nobody(name, template) for name, template in templates.items() if not found.hosts[name]]
    return found


def _nobody(name: str, template: Object) -> Problem:
    text = f"no host of the group {template['group']}, which is named for MachineDeployment {name}, carries a worker of this cluster"
    fix = f"Name the group that has them, or leave it out of {VARIABLE}: the manifest's MachineDeployment makes new workers."
    return Problem("NoWorkers", "", text, fix)


def checked(
    manifest: ClusterManifest,
    lacking: t.Mapping[str, t.Sequence[WorkerHost]],
    objects: t.Optional[ClusterObjects],
    domains: t.Callable[[WorkerHost, str], str],
) -> tuple[ClusterManifest, list[Problem], list[str]]:
    """Return the manifest with its numbers of workers, contradictions, and notes.

    Args:
        manifest: what is wanted.
        lacking: the hosts whose workers still lack a Machine, as of :func:`.worker_writer.to_adopt`.
        objects: what the store has of the cluster.
        domains: returns a host's failure domain by the variable of that name, "" where there is none.
    """
    wrong: list[Problem] = []
    notes: list[str] = []
    counted = {}
    for name, hosts in lacking.items():
        deployment = worker_manifest.deployment_of(manifest, name)
        if deployment is None:
            text = f"the manifest has no MachineDeployment {name}, for which {VARIABLE} names hosts"
            fix = "Add it, with its KubeadmConfigTemplate and InventoryMachineTemplate: what runs was shown above in their form."
            wrong.append(Problem("ManifestContradicts", "", text, fix))
            continue
        left_out = worker_manifest.REPLICAS in manifest.workers_left_out.get(name, ())
        begun = {machine_of(objects, each) for each in hosts} - {""}
        others = len(staying_machines(objects, name) - begun)
        counted[name] = replicas_of(objects, deployment, left_out, len(hosts) + others)
        wrong += worker_manifest.contradictions(manifest, name, hosts, None if left_out else counted[name], others)
        spec = worker_manifest.template_of(manifest, deployment, ("infrastructureRef",))
        variable = str(spec.get("failureDomainVariable") or "")
        told = {each.name: domains(each, variable) for each in hosts} if variable else {}
        wrong += worker_manifest.other_domains(manifest, name, told)
        notes += [text for each in hosts for text in worker_manifest.differences(manifest, each)]
    deployments = []
    for each in manifest.machine_deployments:
        replicas = counted.get(str(each["metadata"]["name"]))
        deployments.append(each if replicas is None else {**each, "spec": {**each["spec"], "replicas": replicas}})
    # Left out no longer, or the stored number would be kept and the added workers be too many.
    given = {
        name: tuple(each for each in fields if each != worker_manifest.REPLICAS) if name in counted else fields
        for name, fields in manifest.workers_left_out.items()
    }
    return (
        dataclasses.replace(manifest, machine_deployments=tuple(deployments), workers_left_out=given),
        wrong,
        notes,
    )


def documents(found: Survey, cluster: str, namespace: str, names: t.Iterable[str]) -> list[Object]:
    """Return the documents of these MachineDeployments, as their workers run."""
    return [
        each
        for name in sorted(names)
        for each in worker_manifest.worker_documents(name, found.hosts[name], cluster, namespace, found.templates[name])
    ]


def adopted_nodes(found: Survey) -> list[str]:
    """Return the Nodes of all hosts and of workers with a Machine."""
    return [*map(node_name, found.all_hosts), *found.managed]
