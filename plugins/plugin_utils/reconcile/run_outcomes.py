# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Outcomes of each cluster of one run, and their summary.

Ansible's workers are processes of their own, and a play after one in which every host failed is never run. So each cluster's outcome
is a file in the run's own temporary folder, and the process that records the last one sums up.
"""

from __future__ import annotations

import json
import os
import shutil
import typing as t

from ...module_utils.common.legible import block, untemplated
from ...module_utils.common.redact import redact
from ...module_utils.common.values import clip
from ..store.file import disk

FAILED, HELD, WAITS, CHANGED, WOULD_CHANGE, NOTHING = "failed", "held", "waits", "changed", "would change", "nothing"
NOT_REACHED = "not reached"
# As they are told: what needs somebody last, nearest to the end of the output.
ORDER = (CHANGED, WOULD_CHANGE, WAITS, HELD, NOT_REACHED, FAILED)
TITLES = {
    FAILED: "failed",
    HELD: "left to another run",
    WAITS: "waiting",
    CHANGED: "changed",
    WOULD_CHANGE: "would change",
    NOT_REACHED: "not reached",
    NOTHING: "with nothing to do",
}
_WIDTH = 200
# A cluster's ``result``, ``message`` and number of ``steps``.
Outcome = dict[str, t.Any]


class Outcomes:
    """Outcomes of the clusters of one play.

    Args:
        folder: a folder that no other play of this run has.
        hosts: the clusters' hosts that the play was started with.
    """

    def __init__(self, folder: str, hosts: t.Sequence[str]) -> None:
        self._folder = folder
        self._hosts = list(hosts)

    def note(self, host: str, outcome: Outcome, batch: t.Collection[str] = ()) -> dict[str, Outcome] | None:
        """Record a cluster's outcome; return all once every cluster has one.

        They are forgotten then.

        Args:
            host: the cluster's host.
            outcome: what came of it.
            batch: the hosts that are worked on beside each other, this one among them, where no other is begun after one that failed; what has no
                outcome then was not reached.
        """
        os.makedirs(self._folder, mode=0o700, exist_ok=True)
        with disk.locked(os.path.join(self._folder, "lock")):
            path = os.path.join(self._folder, f"{self._hosts.index(host)}.json")
            disk.write_file(path, json.dumps(outcome).encode(), disk.SECRET_FILE_MODE)
            there = [each for each in os.listdir(self._folder) if each.endswith(".json")]
            if len(there) < len(self._hosts) and not self._ends(batch):
                return None
            found = {each: self._read(number) for number, each in enumerate(self._hosts)}
            shutil.rmtree(self._folder, ignore_errors=True)
        return found

    def _ends(self, batch: t.Collection[str]) -> bool:
        """Return whether this batch is finished and a cluster failed."""
        results = [self._read(self._hosts.index(each))["result"] for each in batch if each in self._hosts]
        return FAILED in results and NOT_REACHED not in results

    def _read(self, number: int) -> Outcome:
        try:
            with open(os.path.join(self._folder, f"{number}.json"), encoding="utf-8") as stream:
                found: Outcome = json.load(stream)
                return found
        except (OSError, ValueError):
            return {"result": NOT_REACHED, "message": "", "steps": 0}


def summary_text(playbook: str, outcomes: t.Mapping[str, Outcome], settled: int = 0) -> str:
    """Return the summary: counts of outcomes and a line per notable cluster.

    ``settled`` is the number of clusters that were found with nothing to do at a glance, and are not among the outcomes.
    """
    by_result: dict[str, list[str]] = {}
    for host, outcome in outcomes.items():
        by_result.setdefault(outcome["result"], []).append(host)
    numbers = {each: len(hosts) for each, hosts in by_result.items()}
    if settled:
        numbers[NOTHING] = numbers.get(NOTHING, 0) + settled
    told_counts = [f"{numbers[each]} {TITLES[each]}" for each in (*reversed(ORDER), NOTHING) if each in numbers]
    lines = [f"SUMMARY of {playbook}: {len(outcomes) + settled} clusters: {', '.join(told_counts)}"]
    told = [(each, host) for each in ORDER for host in sorted(by_result.get(each, []))]
    width = max((len(host) for _each, host in told), default=0)
    title = max((len(TITLES[each]) for each, _host in told), default=0)
    for each, host in told:
        message = clip(" ".join(outcomes[host]["message"].split()), _WIDTH)
        lines.append(f"  {TITLES[each]:<{title}}  {host:<{width}}  {message}".rstrip())
    return block(lines)


def counts(outcomes: t.Mapping[str, Outcome], settled: int = 0) -> dict[str, int]:
    """Return the count of clusters by result, without results that none had.

    ``settled`` is as of :func:`summary_text`.
    """
    found: dict[str, int] = {NOTHING: settled} if settled else {}
    for outcome in outcomes.values():
        result = _key(outcome["result"])
        found[result] = found.get(result, 0) + 1
    return found


def statistics(outcomes: t.Mapping[str, Outcome]) -> dict[str, t.Any]:
    """Return what set_stats would set of clusters' outcomes.

    Ansible merges the clusters' dictionaries and adds up their numbers. In a workflow of AWX they are the next jobs' extra variables.
    """
    clusters: dict[str, t.Any] = {}
    for host, outcome in outcomes.items():
        message = "" if outcome["result"] == NOTHING else clip(untemplated(redact(outcome["message"])), _WIDTH)
        clusters[host] = {"result": _key(outcome["result"]), "steps": outcome["steps"], "message": message}
    results = [each["result"] for each in clusters.values()]
    data = {
        "control_plane_run_clusters": clusters,
        "control_plane_run_steps": sum(each["steps"] for each in clusters.values()),
        **{f"control_plane_run_{_key(each)}": results.count(_key(each)) for each in TITLES},
    }
    return {"data": data, "per_host": False, "aggregate": True}


def _key(result: str) -> str:
    return result.replace(" ", "_")
