# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Nodes of removed machines, without a control plane's label.

The page: docs/removing_a_machine.md, "What repairs itself".

kubeadm labels a control plane's Node last of all. Where it was ended before that, the Node looks like a worker's. Its
machine is known from the records of remediations, which name each machine that was removed and replaced.
"""

from __future__ import annotations

from typing import Any, Optional

from ....module_utils.common import settings
from ....module_utils.common.values import clip, format_time, parse_time
from ...documents.names import typed_name
from ...objects import kinds
from ...objects.instance_data.node_names import expected_node_name
from ..checks.nodes_without_machine import silent_since
from ..outcome import Outcome, reason
from ..remediation.retry import read_record
from ..snapshot.typed_snapshot import View, annotations_of
from ..workers.worker_view import read_workers
from .stray import removal

Object = dict[str, Any]
LEFT_BEHIND = "NodeLeftBehind"


def removed_machines_nodes(control_plane: Optional[Object], machines: list[Object]) -> list[str]:
    """Return the names of Nodes of machines that were removed and replaced.

    From the records of remediations; a machine that still exists is left out. A Node whose name was made of more than
    its machine's name isn't found: what its provider had recorded is gone.

    Args:
        control_plane: the KubeadmControlPlane.
        machines: every Machine of the cluster.
    """
    return sorted(_replaced(control_plane, machines))


def _replaced(control_plane: Optional[Object], machines: list[Object]) -> dict[str, int]:
    """Return when each machine was replaced, by its Node's name."""
    texts = [annotations_of(control_plane or {}).get(kinds.ANNOTATION_REMEDIATION_IN_PROGRESS)]
    texts += [annotations_of(each).get(kinds.ANNOTATION_REMEDIATION_FOR) for each in machines]
    there = {str(each["metadata"]["name"]) for each in machines}
    config = {"spec": ((control_plane or {}).get("spec") or {}).get("kubeadmConfigSpec")}
    found: dict[str, int] = {}
    for record in map(read_record, texts):
        if record is not None and record.machine not in there:
            name = expected_node_name({"metadata": {"name": record.machine}}, config, None)
            found[name] = max(found.get(name, 0), parse_time(record.timestamp) or 0)
    return found


def remove_left_behind(view: View) -> Optional[Outcome]:
    """Return the deletion of a removed machine's Node.

    Once its kubelet has been silent for CONNECTION_GRACE; None where none is due.
    """
    removals = (removal(view, node, "is a removed machine's") for node, late in _nodes(view) if not late)
    return next(filter(None, removals), None)


def left_behind(view: View) -> list[Object]:
    """Return the reasons about each Node of a removed machine.

    As reasons of a decision: when the Node is deleted, or what keeps it.
    """
    return [reason(LEFT_BEHIND, _said(node, late)) for node, late in _nodes(view)]


def _said(node: Object, late: bool) -> str:
    name, since = clip(node["name"], 80), silent_since(node)
    if late:
        return (
            f"Node {name} is called like a machine that was replaced, and registered long after. If that machine's host was started again, turn it off or "
            f"reset it (kubeadm reset), and delete the Node (kubectl delete node {typed_name(node['name'])}). A worker that was joined by hand may stay"
        )
    if since is None:
        return (
            f"Node {name} was left behind by a machine that was removed, and its kubelet still reports: the host runs. Turn it off or reset "
            f"it (kubeadm reset); a reconcile {settings.CONNECTION_GRACE} s after its kubelet has fallen silent deletes the Node"
        )
    due = format_time(since + settings.CONNECTION_GRACE)
    return f"Node {name} was left behind by a machine that was removed; a reconcile after {due} deletes it"


def _nodes(view: View) -> list[tuple[Object, bool]]:
    """Return each Node of a removed machine, and whether it registered late.

    Then it may be another host's.
    """
    members = {member.name for member in view.members}
    machines = [*view.known, *read_workers(view).machines]
    known = {each.node_name for each in machines} | {each.name for each in machines}
    replaced = _replaced(view.control_plane, [each.machine for each in view.known])
    found = [node for node in view.workload.get("leftBehind") or () if node["name"] not in members | known]
    return [(node, not _of_that_bootstrap(node, replaced.get(node["name"]))) for node in found]


def _of_that_bootstrap(node: Object, replaced: Optional[int]) -> bool:
    """Return whether a Node registered before its machine's kubeadm must have ended.

    Hosts come back under their names: a later Node may be that of a worker which was joined by hand.
    """
    registered = parse_time(node.get("creationTimestamp"))
    return registered is not None and replaced is not None and registered <= replaced + settings.BOOTSTRAP_BOUND
