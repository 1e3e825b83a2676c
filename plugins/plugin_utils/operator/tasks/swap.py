# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Compare-and-swap of the workload cluster's objects, through one of several Nodes.

They are read there, the plan is computed here, and its writes are made there.
"""

from __future__ import annotations

import time
import typing as t

from ....module_utils.common.redact import redact
from ....module_utils.workload_api.compare_and_swap import Read
from ...base_classes.workload_action import ATTEMPTS, MODULE, PAUSE_SECONDS, Planner, objects_of, writes_of
from ...calls.machine_connection import Answer
from ...workload.writes import Plan, WorkloadError

# Runs workload_objects on a Node of that name.
Ask = t.Callable[[str, dict[str, t.Any]], Answer]


class SwapFailure(Exception):
    """Failure to write objects: the reason, and the number of writes made."""


def converge(
    ask: Ask,
    nodes: t.Sequence[str],
    reads: t.Sequence[Read],
    planner: Planner,
    check_lock: t.Callable[[], None],
) -> dict[str, t.Any]:
    """Bring objects to the state that a planner computes.

    Args:
        ask: calls a Node.
        nodes: those that may be asked, the best first.
        reads: the objects.
        planner: objects by path -> plan.
        check_lock: called before every write.

    Returns:
        the plan's facts, ``msg``, ``warnings`` and ``changed``.

    Raises:
        SwapFailure: no Node answers, the API refused, or another client keeps writing there.
    """
    wanted = {"read": [{"path": each.path, "keep": list(each.keep)} for each in reads]}
    changed, conflict = False, ""
    for attempt in range(ATTEMPTS):
        if attempt:
            time.sleep(PAUSE_SECONDS * attempt)
        answer = _asked(ask, nodes, wanted)
        try:
            plan = planner(objects_of(answer))
        except WorkloadError as error:
            raise SwapFailure(str(error)) from error
        result = {**plan.facts, "msg": plan.message, "warnings": list(plan.warnings), "changed": changed}
        if not plan.writes:
            return result
        check_lock()
        done = _asked(ask, nodes, {"write": writes_of(plan)}, plan)
        changed = changed or done["written"] > 0
        if not done["conflict"]:
            return {**result, "changed": changed}
        conflict = str(done["conflict"])
    raise SwapFailure(
        f"another client changed what was to be written, {ATTEMPTS} times in a row: {conflict}. Find out who writes there all the time."
    )


def read(ask: Ask, nodes: t.Sequence[str], reads: t.Sequence[Read]) -> dict[str, t.Any]:
    """Return objects by path, None for each that doesn't exist.

    Raises SwapFailure where no Node answers, or with an answer that no Kubernetes gives.
    """
    wanted = {"read": [{"path": each.path, "keep": list(each.keep)} for each in reads]}
    try:
        return {**dict.fromkeys(each.path for each in reads), **objects_of(_asked(ask, nodes, wanted))}
    except WorkloadError as error:
        raise SwapFailure(str(error)) from error


def _asked(ask: Ask, nodes: t.Sequence[str], call: dict[str, t.Any], plan: t.Optional[Plan] = None) -> dict[str, t.Any]:
    failures = []
    for name in nodes:
        answer = ask(name, call)
        if not answer.failed:
            return answer.result
        if answer.reached and plan is not None:
            # The API has taken a part of it, or nothing of it; either way it would say the same on another Node.
            written = int(answer.result.get("written") or 0)
            raise SwapFailure(
                f"Node {name}: {redact(answer.message)} {written} of {len(plan.writes)} changes were made."
            )
        failures.append(f"{name}: {redact(answer.message)}")
    raise SwapFailure(f"no control plane Node could be asked: {'; '.join(failures) or 'there is none'}")


__all__ = ["MODULE", "Ask", "SwapFailure", "converge", "read"]
