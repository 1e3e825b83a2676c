# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""View of a snapshot's MachineDeployments: sets, machines and Nodes brought together.

The page: docs/reference/snapshot.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Optional

from ....module_utils.common.nodes.identity import Identity, foreign
from ....module_utils.common.values import controller_of, parse_time
from ...objects import kinds
from ...objects.workers import template_hash
from ..rollout.uptodate import Outdated
from ..snapshot.typed_snapshot import MachineView, View, identified_node, machine_view

Object = dict[str, Any]
_EMPTY: Object = {}
TEMPLATE_DIFFERS, ROLLOUT_AFTER_EXPIRED = "MachineTemplateDiffers", "RolloutAfterExpired"


@dataclass
class SetView:
    """MachineSet with its machines, the oldest first."""

    name: str
    document: Object
    created: int
    machines: list[MachineView]

    @property
    def template(self) -> Object:
        """Return the template of its machines."""
        found: Object = self.document["spec"].get("template") or _EMPTY
        return found

    @property
    def since(self) -> int:
        """Return its creation, or the time of its rollout.

        The creation is by the store's clock, which may be behind the time of that rollout.
        """
        annotations = self.document["metadata"].get("annotations") or _EMPTY
        return max(self.created, parse_time(annotations.get(kinds.ANNOTATION_MADE_FOR_ROLLOUT)) or 0)


@dataclass
class DeploymentView:
    """MachineDeployment with its MachineSets, the oldest first.

    `current` is the set that new machines are made from, None where it has to be made as `next_set`; `outdated` says by set why its machines are
    to be replaced, [] for those of each set with the current one's template. `obstacles` are what a provider's checks and this run's own tries have told.
    """

    name: str
    document: Object
    sets: list[SetView]
    current: Optional[SetView]
    outdated: dict[str, list[Outdated]]
    has_config: bool
    has_template: bool
    next_set: str = ""
    obstacles: list[Object] = field(default_factory=list)
    without_templates: list[str] = field(default_factory=list)

    @property
    def spec(self) -> Object:
        """Return the MachineDeployment's spec."""
        found: Object = self.document["spec"]
        return found

    @property
    def template(self) -> Object:
        """Return the template of its machines."""
        found: Object = self.spec.get("template") or _EMPTY
        return found

    @property
    def held_set(self) -> Optional[SetView]:
        """Return the earlier set that new machines are made from, or None.

        While spec.paused holds its rollout that is the newest one, as in Cluster API.
        """
        held = self.spec.get("paused") and self.current is None and self.sets
        return self.sets[-1] if held else None

    @property
    def next_template(self) -> Object:
        """Return the template of new machines."""
        held = self.held_set
        return self.template if held is None else held.template

    @property
    def version(self) -> str:
        """Return the Kubernetes version of its machines."""
        return str((self.template.get("spec") or _EMPTY).get("version") or "")

    @property
    def failure_domain(self) -> str:
        """Return the failure domain of new machines, "" for any."""
        return str((self.next_template.get("spec") or _EMPTY).get("failureDomain") or "")

    @property
    def replicas(self) -> int:
        """Return the desired number of machines, 0 where it is deleted.

        Where it is not given (held_back.py), all that there are stay; 1 is Cluster API's default.
        """
        wanted: int = self.spec.get("replicas", len(self.live) or 1)
        return 0 if self.deleting else wanted

    @property
    def deleting(self) -> bool:
        """Return whether it is marked for deletion."""
        return bool(self.document["metadata"].get("deletionTimestamp"))

    @property
    def paused(self) -> bool:
        """Return whether nothing at all may be done about it."""
        return kinds.is_flagged(self.document, kinds.ANNOTATION_PAUSED)

    @property
    def machines(self) -> list[MachineView]:
        """Return all of its machines, those that are being deleted included."""
        return [machine for each in self.sets for machine in each.machines]

    @property
    def live(self) -> list[MachineView]:
        """Return its machines that are not being deleted."""
        return [machine for machine in self.machines if not machine.deleting]

    def set_of(self, machine: MachineView) -> SetView:
        """Return the MachineSet of one of its machines."""
        return next(each for each in self.sets if machine in each.machines)

    def outdates(self, machine: MachineView) -> list[Outdated]:
        """Return why one of its machines is to be replaced, or []."""
        return self.outdated[self.set_of(machine).name]

    def is_as_new(self, machine: MachineView) -> bool:
        """Return whether one of its machines is as new ones are made."""
        return not self.outdates(machine) or self.set_of(machine) is self.held_set

    def set_name(self) -> str:
        """Return the current set's name, also before it is made."""
        return self.current.name if self.current is not None else self.next_set


@dataclass
class Workers:
    """All MachineDeployments of a snapshot, by name."""

    view: View
    deployments: list[DeploymentView] = field(default_factory=list)

    @property
    def machines(self) -> list[MachineView]:
        """Return the machines of all deployments."""
        return [machine for each in self.deployments for machine in each.machines]

    def each_machine(self) -> Iterator[tuple[DeploymentView, MachineView]]:
        """Yield every machine with its deployment."""
        for deployment in self.deployments:
            for machine in deployment.machines:
                yield deployment, machine


def read_workers(view: View) -> Workers:
    """Return a snapshot's workers with their Nodes; it stays as it is."""
    raw = view.raw.get("workers") or _EMPTY
    machines = sorted((machine_view(entry) for entry in raw.get("machines") or ()), key=lambda each: each.order)
    _match_nodes(view, machines)
    owned: dict[str, list[MachineView]] = {}
    for machine in machines:
        owner = controller_of(machine.machine) or _EMPTY
        if owner.get("kind") == kinds.MACHINE_SET:
            owned.setdefault(str(owner.get("name")), []).append(machine)
    found = [_deployment(view, entry, owned) for entry in raw.get("deployments") or ()]
    return Workers(view, sorted(found, key=lambda each: each.name))


def _deployment(view: View, entry: Object, owned: dict[str, list[MachineView]]) -> DeploymentView:
    document = entry["machineDeployment"]
    sets = [_set(each, owned) for each in entry["machineSets"]]
    sets.sort(key=lambda each: (each.created, each.name))
    after = parse_time((document["spec"].get("rollout") or _EMPTY).get("after"))
    due = after if after is not None and after < view.now else None
    template = document["spec"].get("template") or _EMPTY
    name = str(document["metadata"]["name"])
    told = {each.name: template_hash.differences(each.template, template) for each in sets}
    next_set = template_hash.free_name(name, template, {each.name: each.template for each in sets}, due)
    recent = {each.name for each in sets if due is None or each.since >= due or each.name == next_set}
    same = [each for each in sets if not told[each.name] and each.name in recent]
    current = min(same, key=lambda each: (-len(each.machines), each.created, each.name)) if same else None
    outdated: dict[str, list[Outdated]] = {}
    for each in sets:
        outdated[each.name] = [Outdated(TEMPLATE_DIFFERS, text) for text in told[each.name]]
        if not told[each.name] and each.name not in recent:
            outdated[each.name] = [Outdated(ROLLOUT_AFTER_EXPIRED, "MachineDeployment spec.rollout.after expired")]
    return DeploymentView(
        name=name,
        document=document,
        sets=sets,
        current=current,
        outdated=outdated,
        has_config=entry.get("configTemplate") is not False,
        has_template=entry.get("machineTemplate") is not False,
        next_set=next_set,
        obstacles=list(entry.get("obstacles") or ()),
        without_templates=list(entry.get("setsWithoutTemplates") or ()),
    )


def _set(document: Object, owned: dict[str, list[MachineView]]) -> SetView:
    metadata = document["metadata"]
    created = parse_time(metadata.get("creationTimestamp")) or 0
    return SetView(str(metadata["name"]), document, created, owned.get(str(metadata["name"]), []))


def identity_of(machine: Object, infrastructure: Optional[Object]) -> Identity:
    """Return what a worker is known by."""
    status = machine.get("status") or _EMPTY
    told = (infrastructure or _EMPTY).get("status") or _EMPTY
    return Identity(status.get("machineID") or told.get("machineID"), machine["spec"].get("providerID"))


def is_foreign(node: Object, known: Identity) -> bool:
    """Return whether a Node of a worker's name is another machine's.

    As the modules do before they drain or delete one.
    """
    return bool(foreign(Identity(node.get("machineID"), node.get("providerID")), known))


def _match_nodes(view: View, machines: list[MachineView]) -> None:
    """Give each worker its Node, by name, machine-id or providerID."""
    nodes = {node["name"]: node for node in view.workload.get("workers") or ()}
    labelled = {node["name"]: node for node in view.workload.get("nodes") or ()}
    asked = view.reachable and view.workload.get("workers") is not None
    taken: set[str] = set()
    for machine in machines:
        recorded = ((machine.machine.get("status") or _EMPTY).get("nodeRef") or _EMPTY).get("name")
        known = identity_of(machine.machine, machine.infrastructure)
        node = nodes.get(machine.node_name)
        if node is not None and is_foreign(node, known):
            machine.impostor, node = str(node["name"]), None
        elif node is None and not recorded:
            node = identified_node(nodes, known.machine_id, known.provider_id)
        if node is not None and node["name"] not in taken:
            taken.add(node["name"])
            machine.node = node
        machine.node_lost = bool(recorded) and machine.node is None and asked
        stays = labelled.get(recorded) if machine.node_lost else None
        if stays is not None and is_foreign(stays, known):
            machine.impostor = str(stays["name"])
        elif stays is not None:
            machine.node_lost, machine.node_labelled = False, True
