# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Taints of a Machine for its Node, as in Cluster API's core.

Source: docs/reference/cluster_api.md, "Taints of Machines".

The Node's own annotation remembers which came from the Machine and are to stay. Where a Node has no such annotation,
it is new: the taints of its initialization are due, once. Every other taint of a Node is another writer's.
"""

from __future__ import annotations

import typing as t

from ...objects.validate.machine_taints import ALWAYS, taint_name
from ...records.cluster_objects import Object

FROM_MACHINE_ANNOTATION = "cluster.x-k8s.io/taints-from-machine"


class TaintChange(t.NamedTuple):
    """Change of a Node's taints: the list, the annotation, the difference."""

    taints: list[Object]
    record: str
    added: list[str]
    removed: list[str]


def change_taints(
    wanted: t.Sequence[Object],
    present: t.Sequence[Object],
    annotations: t.Mapping[str, t.Any],
    needed: t.Callable[[Object], bool],
) -> t.Optional[TaintChange]:
    """Return the change that a Node's taints need, None without one.

    Args:
        wanted: the Machine's taints.
        present: the Node's; a list in the API has one writer, so all of it is written.
        annotations: the Node's.
        needed: whether kubeadm's configuration wants a taint on this Node. Such a one stays when it leaves the
            Machine: without it the Node would not be a control plane Node that kubeadm made.
    """
    recorded = annotations.get(FROM_MACHINE_ANNOTATION)
    owned = {name for name in str(recorded or "").split(",") if name}
    kept = {taint_name(taint): taint for taint in wanted}
    always = sorted(name for name, taint in kept.items() if taint.get("propagation") == ALWAYS)
    due = kept if recorded is None else {name: kept[name] for name in always}
    there = {taint_name(taint): taint for taint in present}
    gone = [name for name in there if name in owned and name not in kept and not needed(there[name])]
    set_anew = [name for name in due if _value(due[name]) != _value(there.get(name))]
    record = ",".join(always)
    if not gone and not set_anew and record == recorded:
        return None
    left = {name: taint for name, taint in there.items() if name not in gone}
    left.update({name: _of_node(due[name]) for name in set_anew})
    return TaintChange(list(left.values()), record, sorted(set_anew), sorted(gone))


def _value(taint: t.Optional[Object]) -> t.Optional[str]:
    return None if taint is None else str(taint.get("value") or "")


def _of_node(taint: Object) -> Object:
    return {field: taint[field] for field in ("key", "value", "effect") if taint.get(field)}
