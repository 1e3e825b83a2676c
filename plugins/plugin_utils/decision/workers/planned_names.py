# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Names of new workers in a plan, and equal worker steps."""

from __future__ import annotations

from typing import Any

from ...documents.names import suffixes, worker_name
from ..snapshot.typed_snapshot import View
from .worker_view import Workers, read_workers

Object = dict[str, Any]


def named(view: View, decision: Object) -> Object:
    """Return a step that joins workers, with names for new ones.

    Drawn from the time of the snapshot, so that the same plan has the same names, and a later one others.
    """
    workers = read_workers(view)
    taken = {machine.name for machine in [*view.known, *workers.machines]}
    entries = []
    for entry in decision["target"]["workers"]:
        if entry["machine"] is None and not entry.get("name"):
            entry = {**entry, "name": _name(view, workers, entry, taken)}
            taken.add(str(entry["name"]))
        entries.append(entry)
    return {**decision, "target": {**decision["target"], "workers": entries}}


def _name(view: View, workers: Workers, entry: Object, taken: set[str]) -> str:
    deployment = next(each for each in workers.deployments if each.name == entry["deployment"])
    template = str((deployment.spec.get("machineNaming") or {}).get("template") or "")
    found = (
        worker_name(template, view.name, str(entry["machineSet"]), suffix)
        for suffix in suffixes(f"{view.raw['now']} {entry['machineSet']}")
    )
    return next(each for each in found if each not in taken)


def with_planned_names(step: Object, decision: Object) -> Object:
    """Return a step that joins workers, with its planned names.

    Names of machines that were made already are not used again.
    """
    begun = {entry["machine"] for entry in decision["target"]["workers"]}
    planned = [entry for entry in (step.get("target") or {}).get("workers") or () if entry.get("name")]
    free = [entry for entry in planned if entry["name"] not in begun]
    entries = []
    for entry in decision["target"]["workers"]:
        match = next((each for each in free if entry["machine"] is None and _kind(each) == _kind(entry)), None)
        if match is not None:
            free.remove(match)
            entry = {**entry, "name": match["name"]}
        entries.append(entry)
    return {**decision, "target": {**decision["target"], "workers": entries}}


def resumed(step: Object, decision: Object, snapshot: Object) -> Object:
    """Return a decision to join workers as a planned step has it.

    With that step's names, and with those of its workers that are under way already.
    """
    there = {str(each["machine"]["metadata"]["name"]) for each in snapshot["workers"]["machines"]}
    entries = decision["target"]["workers"]
    there -= {str(entry["machine"]) for entry in entries}
    planned = [(each["machine"] or each["name"], each) for each in step["target"]["workers"]]
    begun = [{**each, "machine": name} for name, each in planned if name in there]
    return with_planned_names(step, {**decision, "target": {**decision["target"], "workers": [*entries, *begun]}})


def same_workers(planned: Object, now: Object) -> bool:
    """Return whether two targets are about the same workers.

    New ones are the same if their set and failure domain are.
    """

    def keys(target: Object) -> list[tuple[str, str, str]]:
        return sorted((*_kind(each), str(each.get("machine") or "")) for each in target.get("workers") or ())

    return keys(planned) == keys(now) and sorted(planned.get("deployments") or ()) == sorted(
        now.get("deployments") or ()
    )


def goes_on(planned: Object, now: Object) -> bool:
    """Return whether a target's workers are all of a planned one."""
    known = {each.get("machine") or each.get("name") for each in planned.get("workers") or ()}
    return all(each.get("machine") in known or each.get("name") in known for each in now.get("workers") or ())


def _kind(entry: Object) -> tuple[str, str]:
    return str(entry.get("machineSet")), str(entry.get("failureDomain") or "")
