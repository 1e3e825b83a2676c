# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Compare-and-swap of the workload cluster's objects, through one of its machines.

They are read there, the plan is computed here, and its writes are made there.
"""

from __future__ import annotations

import time
import typing as t

from ...module_utils.common.redact import redact
from ...module_utils.workload_api.compare_and_swap import Read
from ..calls.machine_connection import Answer
from ..decision.snapshot.json_shape import Boolean, Path, Sequence, Shape, Struct, Table, Text, written
from ..filters.kubeadm import plain
from .writes import Objects, Plan, WorkloadError

MODULE = "workload_objects"
# Somebody else who writes all the time is a fault to look at, not one to wait out.
ATTEMPTS = 5
PAUSE_SECONDS = 0.2
_COMPLETE = "What was written so far is complete in itself."

Planner = t.Callable[[Objects], Plan]
# Runs the module on the machine of that name.
Ask = t.Callable[[str, dict[str, t.Any]], Answer]
# Runs the module somewhere, for a plan where it writes; returns its result. Raises SwapFailure.
Call = t.Callable[[dict[str, t.Any], t.Optional[Plan]], dict[str, t.Any]]

_TEXTS = Table(Text())
_METADATA: dict[str, Shape] = {
    "name": Text(1),
    "namespace": Text(),
    "uid": Text(),
    "resourceVersion": Text(),
    "labels": _TEXTS,
    "annotations": _TEXTS,
}
_CONTAINERS = Sequence(Struct({"name": Text(), "image": Text(), "args": Sequence(Text()), "command": Sequence(Text())}))
_CONFIG_MAP = Struct({"name": Text(), "items": Sequence(Struct({"key": Text(), "path": Text()}))})
_VOLUMES = Sequence(Struct({"name": Text(), "configMap": _CONFIG_MAP}))
_TEMPLATE = Struct({"metadata": Struct(_METADATA), "spec": Struct({"containers": _CONTAINERS, "volumes": _VOLUMES})})
_FIELDS: dict[str, Shape] = {
    "spec": Struct({"unschedulable": Boolean(), "template": _TEMPLATE}),
    "status": Struct(
        {
            "nodeInfo": Struct({"kubeletVersion": Text(), "machineID": Text()}),
            "conditions": Sequence(Struct({"type": Text(), "status": Text()})),
        }
    ),
    "data": _TEXTS,
}
# What is relied on in objects of any kind that an API server answers with, and in the entries of a list of them.
_OBJECT = Struct(
    {
        **_FIELDS,
        "metadata": Struct(_METADATA),
        "items": Sequence(Struct({**_FIELDS, "metadata!": Struct({**_METADATA, "name!": Text(1)})})),
    }
)


class SwapFailure(Exception):
    """Failure to read or write objects; ``changed`` is whether some were written."""

    def __init__(self, text: str, changed: bool = False) -> None:
        super().__init__(text)
        self.changed = changed


def converge(
    call: Call,
    reads: t.Sequence[Read],
    planner: Planner,
    check_lock: t.Callable[[], None],
    tell: t.Callable[[Plan], None],
    plan_only: bool = False,
) -> bool:
    """Bring objects to a planned state; return whether any changed.

    Args:
        call: runs the module, as of :func:`through`.
        reads: the objects.
        planner: objects by path -> plan.
        check_lock: called before every write.
        tell: takes each plan. What was written in between by another client leads to another one.
        plan_only: nothing is written.

    Raises:
        SwapFailure: no machine answers, the API refused or did not confirm, or another client keeps writing there.
        WorkloadError: the planner's, and see :func:`objects_of`.
    """
    changed, failure = False, ""
    for attempt in range(ATTEMPTS):
        if attempt:
            time.sleep(PAUSE_SECONDS * attempt)
        plan = planner(objects_of(call(_reading(reads), None)))
        tell(plan)
        if not plan.writes or plan_only:
            return changed or bool(plan.writes)
        check_lock()
        done = call({"write": writes_of(plan)}, plan)
        changed = changed or done["written"] > 0
        conflict, unconfirmed = str(done["conflict"]), str(done.get("unconfirmed") or "")
        if not conflict and not unconfirmed:
            return changed
        failure = (
            f"the API server did not confirm what was to be written: {unconfirmed}. {_COMPLETE} Mend what that says"
            if unconfirmed
            else f"another client changed or deleted what was to be written: {conflict}. {_COMPLETE} "
            "Find out who writes there all the time (another run, an operator)"
        )
    raise SwapFailure(f"in the last of {ATTEMPTS} attempts {redact(failure)}, and run this again.", changed)


def read(call: Call, reads: t.Sequence[Read]) -> dict[str, t.Any]:
    """Return objects by path, None for each that doesn't exist.

    Raises SwapFailure where no machine answers, or with an answer that no Kubernetes gives.
    """
    try:
        return {**dict.fromkeys(each.path for each in reads), **objects_of(call(_reading(reads), None))}
    except WorkloadError as error:
        raise SwapFailure(str(error)) from error


def through(ask: Ask, names: t.Sequence[str], kind: str = "Node", title: str = "control plane Node") -> Call:
    """Return a call that asks the first of several machines that answers.

    One whose API server did not confirm a write is asked last from then on.

    Args:
        ask: runs the module on one of them.
        names: theirs, the best first.
        kind, title: what messages call one of them.
    """

    order = list(names)

    def call(arguments: dict[str, t.Any], plan: t.Optional[Plan]) -> dict[str, t.Any]:
        failures = []
        for name in order:
            answer = ask(name, arguments)
            if not answer.failed:
                unconfirmed = answer.result.get("unconfirmed")
                if not unconfirmed:
                    return answer.result
                order.append(order.pop(order.index(name)))
                return {**answer.result, "unconfirmed": f"{kind} {name}: {unconfirmed}"}
            if answer.reached and plan is not None:
                # The API has taken a part of it, or nothing of it; either way it would say the same on another one.
                raise refusal(answer, plan, f"{kind} {name}: ")
            failures.append(f"{name}: {redact(answer.message)}")
        raise SwapFailure(
            f"no {title} could be asked: {'; '.join(failures) or 'there is none'}. Run this again when one answers."
        )

    return call


def refusal(answer: Answer, plan: t.Optional[Plan], where: str = "") -> SwapFailure:
    """Return the error for a module's failure.

    It says how much of the plan was written; ``where`` begins the message.
    """
    count = int(answer.result.get("written") or 0)
    done = "Nothing was written."
    if plan is not None:
        done = f"{count} of {len(plan.writes)} changes were made; running this again continues from there."
    return SwapFailure(f"{where}{redact(answer.message)} {done}", plan is not None and count > 0)


def objects_of(answer: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    """Return the objects of a module's answer by path.

    A missing object is None.

    Raises:
        WorkloadError: an answer of an API server that no Kubernetes gives, with the field.
    """
    found = plain(answer.get("objects"))
    if not isinstance(found, dict):
        raise WorkloadError("the answer of the machine has no objects")
    problems: list[str] = []

    def say(where: Path, why: str) -> None:
        problems.append(f"{written(where)} {why}")

    for path, obj in found.items():
        if obj is not None:
            _OBJECT.check(obj, None, say)
        if problems:
            raise WorkloadError(
                f"the API server answers {path} with what no Kubernetes does: {problems[0]}. Nothing was made of it. Look at the machine that "
                "was asked: what runs there is not what kubeadm has started"
            )
    return found


def writes_of(plan: Plan) -> list[dict[str, t.Any]]:
    """Return a plan's writes as the module takes them."""
    return [
        {
            "path": each.path,
            "method": each.method,
            "document": dict(each.document),
            "resource_version": each.resource_version,
        }
        for each in plan.writes
    ]


def _reading(reads: t.Sequence[Read]) -> dict[str, t.Any]:
    return {"read": [{"path": each.path, "keep": list(each.keep)} for each in reads]}
