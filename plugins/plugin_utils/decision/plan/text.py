# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Text of a plan for people. Pure.

Numbered steps in short, aligned lines, and how it ends.
"""

from __future__ import annotations

import textwrap
from collections.abc import Collection, Iterator, Mapping
from typing import Any, Optional

from ....module_utils.common.legible import block
from ....module_utils.common.values import clip, shortened
from .. import terms
from ..decision_text import verb
from .document import digest

Object = dict[str, Any]
WIDTH = 110
_LABEL = 8
_INDENT = " " * 6
# What hosts say is data: shown, but never trusted to be short.
_LONGEST = 1200

_ENDINGS: Mapping[str, str] = {
    terms.WAIT: "It waits here for what changes by itself:",
    terms.POSTPONED: "The rest is postponed:",
    terms.BLOCKED: "BLOCKED, a person must act:",
}


def plan_text(document: Object, file: Optional[str] = None, in_store: bool = False) -> str:
    """Return the plan as text of many lines.

    Without a newline at its end; `file` is where it is kept, if anywhere, and `in_store` whether it is by its digest. Names of new machines are shown where
    they are fixed by that.
    """
    if not (file or in_store):
        document = _unnamed(document)
    wanted = document["wanted"]
    count = wanted.get("replicas")
    heading = f"PLAN {document['namespace']}/{document['cluster']}   {clip(wanted.get('version'), 40)}"
    heading += f", {count} replica{'' if count == 1 else 's'} wanted" if count is not None else ""
    lines = [f"{heading}, {_existing(len(document['observed'].get('machines') or {}))}"]
    known = {*(document["observed"].get("machines") or {}), *_fixed_names(document)}
    for step in document["steps"]:
        lines += ["", *_step(step, known)]
    given = [f"control_plane_plan_file={file}"] if file else []
    given += [f"control_plane_plan={digest(document)}"] if in_store else []
    lines += ["", *_end(document), *_limits(document, given[0] if given else "")]
    for where, each in zip([*([file] if file else []), "the store"], given):
        text = f"Kept in {where}; reconcile with -e {each} carries out this plan and no other."
        lines += ["", *_wrapped(text, "  ")]
    return block(lines)


def headline(step: Object) -> str:
    """Return a step's description in one line, without its number.

    As "join a new machine in failure domain b".
    """
    target = step.get("target") or {}
    name = target.get("name")
    if not name or target.get("machine"):
        return clip(verb(step), 200)
    said = verb({**step, "target": {**target, "machine": name}})
    return clip(said.replace(f"machine {name}", f"new machine {name}", 1), 200)


def _fixed_names(document: Object) -> Iterator[str]:
    for step in document["steps"]:
        if (step.get("target") or {}).get("name"):
            yield step["target"]["name"]


def _existing(count: int) -> str:
    return (
        "no machine exists"
        if not count
        else f"{count} machine{'' if count == 1 else 's'} exist{'s' if count == 1 else ''}"
    )


def _step(step: Object, known: Collection[str]) -> Iterator[str]:
    yield f"{step['step']:>4}  {headline(step)}" + ("   [needs your consent]" if step["needsApproval"] else "")
    for each in step["reasons"]:
        yield from _field("why", each["message"])
    quorum = step.get("quorum")
    if quorum:
        yield from _field("etcd", quorum_line(quorum))
    yield from _field("leader", leader_line(step, known))
    if quorum and quorum.get("whyThisOrder"):
        yield from _field("order", quorum["whyThisOrder"])
    for each in step.get("prerequisites") or ():
        yield from _field("needs", each["message"])
    for each in step.get("preflight") or ():
        if each["result"] == "fail":
            yield from _field("check", f"{each['check']} fails: {each['message']}")


def quorum_line(quorum: Object) -> str:
    """Return the quorum certificate in one line.

    As "3 voters, 3 healthy, quorum 2, tolerance 1 -> 4 voters, ...".
    """
    before, after = quorum["before"], quorum["after"]
    if before == after:
        return f"{_figures(before)}; unchanged"
    return f"{_figures(before)} -> {_figures(after)}" if before["voters"] else f"none yet -> {_figures(after)}"


def leader_line(step: Object, known: Collection[str]) -> str:
    """Return a line about etcd's leader and its change.

    "" where it is not known or there is no etcd to speak of.
    Names that are not in `known` are placeholders of machines that have none yet.
    """

    def called(name: str) -> str:
        return clip(name, 80) if name in known else "a new machine"

    move = step.get("leadership")
    if move:
        best, *others = list(dict.fromkeys(called(each) for each in move["to"])) or ["another member"]
        rest = f" (else {shortened(others, 2)})" if others else ""
        return f"{called(move['from'])} leads; leadership moves to {best} first{rest}"
    leader = (step.get("quorum") or {}).get("leader")
    return f"{clip(leader, 80)} leads and stays the leader" if leader in known else ""


def _figures(figures: Object) -> str:
    voters = figures["voters"]
    return (
        f"{voters} voter{'' if voters == 1 else 's'}, {figures['healthy']} healthy, "
        f"quorum {figures['quorum']}, tolerance {figures['tolerance']}"
    )


def _end(document: Object) -> Iterator[str]:
    end, steps = document["end"], document["steps"]
    if end["action"] == terms.NONE:
        said = "; ".join(clip(each["message"]) for each in end["reasons"])
        yield from _wrapped(f"Then nothing is left to do: {said}." if steps else f"Nothing to do: {said}.", "  ")
        return
    then = "Then: " if steps else ""
    yield f"  {then}{_ENDINGS[end['action']]}"
    for each in end["blockedOn"]:
        yield from _field("what", f"{each['message']} ({each['reason']})")
        yield from _field("to do", each.get("fix") or "")


def _unnamed(document: Object) -> Object:
    """Return a plan with the names of new machines left open.

    Another run would give them others.
    """
    steps = [
        {**step, "target": {key: value for key, value in step["target"].items() if key != "name"}}
        if step["target"]
        else step
        for step in document["steps"]
    ]
    return {**document, "steps": steps}


def _limits(document: Object, given: str) -> Iterator[str]:
    asks = next((step for step in document["steps"] if step["needsApproval"]), None)
    if asks is not None:
        how = f"reconcile with -e {given}."
        if not given:
            how = (
                "keep the plan (plan with -e control_plane_plan_file=FILE), read it, then reconcile with the same file."
            )
        text = (
            f"NOTE: reconcile stops before step {asks['step']} until you consent (control_plane_replace is ask): {how}"
        )
        yield from ("", *_wrapped(text, "  "))


def _field(label: str, text: str) -> list[str]:
    if not text:
        return []
    first = f"{_INDENT}{label:<{_LABEL}}"
    return _wrapped(clip(text, _LONGEST), first, " " * len(first))


def _wrapped(text: str, first: str, following: Optional[str] = None) -> list[str]:
    return textwrap.wrap(
        text,
        WIDTH,
        initial_indent=first,
        subsequent_indent=first if following is None else following,
        break_long_words=False,
        break_on_hyphens=False,
    )
