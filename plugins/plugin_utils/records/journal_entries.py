# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Journal entries of a run: open steps, changes, closing of steps."""

from __future__ import annotations

import contextlib
import typing as t

from ...module_utils.common.values import clip
from ..decision import terms
from ..store.base import StoreError
from ..store.journal import Journal
from .cluster_objects import ClusterObjects

FAILURES = ("failed", "interrupted")
INTERRUPTED = "the run that began this ended before it did; what it left was found and resumed"


def open_intents_of(journal: Journal, run: str) -> list[dict[str, t.Any]]:
    """Return the run's started and unfinished steps; none without the lock."""
    return [entry for entry in journal.open_intents() if run and entry.get("run") == run]


def steps_of(journal: Journal, run: str) -> list[dict[str, t.Any]]:
    """Return the run's started steps, oldest first.

    Finished or not.
    """
    return [each for each in journal.entries() if run and each["event"] == "intent" and each.get("run") == run]


def changes_of(journal: Journal, run: str) -> list[str]:
    """Return the run's changes in words, oldest first.

    What its actions noted, and the steps that succeeded.
    """
    entries = journal.entries()
    succeeded = {each["id"] for each in entries if each["event"] == "outcome" and each.get("result") == "succeeded"}
    changes: list[str] = []
    for each in entries:
        if not run or each.get("run") != run:
            continue
        if each["event"] == "note":
            changes.append(str(each.get("message") or ""))
        elif each["id"] in succeeded:
            changes.append(" ".join(str(each[key]) for key in ("action", "target") if each.get(key)))
    return changes


def last_failure(journal: Journal) -> t.Optional[dict[str, t.Any]]:
    """Return the step that failed last, None where none did.

    A step whose run ended before it did counts. Returns ``at`` (RFC 3339), ``action``, ``target``, ``message`` (its first line) and
    ``isLast``: whether no step was finished since.
    """
    entries = journal.entries()
    outcomes = [each for each in entries if each["event"] == "outcome"]
    failed = next((each for each in reversed(outcomes) if each.get("result") in FAILURES), None)
    if failed is None:
        return None
    step = next((each for each in entries if each["event"] == "intent" and each["id"] == failed["id"]), {})
    return {
        "at": clip(failed.get("time"), 64),
        "action": clip(step.get("action"), 80),
        "target": clip(step.get("target"), 253),
        "message": clip(str(failed.get("message") or "").strip().partition("\n")[0]),
        "isLast": failed is outcomes[-1],
    }


def close_intents(journal: Journal, run: str, result: str, message: str) -> None:
    """Record the outcome of every open step in the journal.

    A step of this run gets the given result, a killed run's step ``interrupted``.

    Only the holder of the cluster's lock may call this: another run's open step is then a dead run's.
    """
    for entry in journal.open_intents():
        own = entry.get("run") == run
        journal.outcome(str(entry["id"]), result if own else "interrupted", message if own else INTERRUPTED)


def close_step(
    journal: Journal,
    run: str,
    begun: t.Sequence[t.Mapping[str, t.Any]],
    failed_workers: t.Sequence[t.Mapping[str, t.Any]],
) -> str:
    """Record the outcome of the last step, and return it.

    It failed where some of its workers did, each of which has the step's number in the run; what it did is a change all the same.
    ``begun``: the run's steps, as steps_of returns them.
    """
    own = [each for each in failed_workers if str(each.get("step")) == str(len(begun))]
    failed = ", ".join(sorted({str(each["name"]) for each in own}))
    result, said = "succeeded", "the step's tasks ended without an error"
    if failed and open_intents_of(journal, run):
        result, said = "failed", f"these workers failed: {failed}"
        journal.note(run, f"{begun[-1]['action']}, of which failed: {failed}")
    close_intents(journal, run, result, said)
    return result


def deleted_deployment(objects: ClusterObjects, name: str) -> bool:
    """Return whether a run has begun to delete a MachineDeployment."""
    directory = objects.store.journal_directory()
    entries = Journal(directory, objects.namespace, objects.name).entries() if directory else []
    return any(
        each["event"] == "intent"
        and each["action"] == terms.REMOVE_WORKERS
        and name in str((each.get("details") or {}).get("name", "")).split(", ")
        for each in entries
    )


def note_snapshot(objects: ClusterObjects, path: t.Any) -> None:
    """Record that an etcd snapshot was taken and verified.

    For people and for metrics alone: a journal that can't be written fails nothing.

    Args:
        objects: the cluster's objects.
        path: where its machine keeps it, as the machine says.
    """
    directory = objects.store.journal_directory()
    if directory:
        with contextlib.suppress(StoreError):
            journal = Journal(directory, objects.namespace, objects.name)
            journal.note("", "an etcd snapshot was taken and verified", {"snapshot": str(path)})
