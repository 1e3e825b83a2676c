# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Validation of a plan document.

Every problem has the path of the offending field.
"""

from __future__ import annotations

import re
from typing import Any, Callable

from ....module_utils.common.values import clip, parse_time
from .. import terms
from ..snapshot.state_fingerprint import fingerprint
from ..snapshot.validate import Problem
from .document import PLAN_VERSION

Object = dict[str, Any]
_HASH = re.compile(r"sha256:[0-9a-f]{64}")
_ACTING = tuple(action for action in terms.ACTIONS if action not in terms.ENDINGS)


def check_plan(document: Any) -> list[Problem]:
    """Return the problems with a plan document, [] for a valid one.

    The document is data: nothing in it is trusted.
    """
    if not isinstance(document, dict):
        return [Problem("", "a plan is a JSON object")]
    version = document.get("planVersion")
    if version != PLAN_VERSION:
        text = f"this release reads plans of version {PLAN_VERSION!r}, this is {clip(str(version), 40)!r}"
        return [Problem("planVersion", text)]
    problems: list[Problem] = []
    expectations: dict[str, tuple[Callable[[Any], bool], str]] = {
        "cluster": (_text, "the Cluster's name"),
        "namespace": (_text, "the Cluster's namespace"),
        "createdAt": (lambda value: parse_time(value) is not None, "an RFC 3339 time"),
        "specHash": (_hash, "sha256: and 64 hexadecimal digits"),
        "observedHash": (_hash, "sha256: and 64 hexadecimal digits"),
        "spec": (_hashes, "an object of hashes"),
        "observed": (_mapping, "an object"),
        "policy": (_mapping, "an object"),
        "wanted": (_mapping, "an object"),
        "steps": (lambda value: isinstance(value, list), "a list"),
        "end": (_mapping, "an object"),
    }
    for key, (fits, what) in expectations.items():
        if not fits(document.get(key)):
            problems.append(Problem(key, f"it has to be {what}"))
    if problems:
        return problems
    for index, step in enumerate(document["steps"]):
        problems += _step(step, index)
    problems += _ending(document["end"])
    return problems or _hashes_fit(document)


def _step(step: Any, index: int) -> list[Problem]:
    path = f"steps[{index}]"
    if not isinstance(step, dict):
        return [Problem(path, "a step is an object")]
    found = []
    if step.get("step") != index + 1:
        found.append(Problem(f"{path}.step", f"steps are numbered without gaps: this is number {index + 1}"))
    action, target = step.get("action"), step.get("target")
    if action not in _ACTING:
        found.append(Problem(f"{path}.action", f"it has to be one of {', '.join(_ACTING)}"))
    if target is not None and not _mapping(target):
        found.append(Problem(f"{path}.target", "it has to be an object or null"))
    elif action in (terms.INITIALIZE, terms.JOIN, terms.REMOVE, terms.REMOVE_MEMBER, terms.ADOPT) and target is None:
        found.append(Problem(f"{path}.target", f"{action} needs a target"))
    else:
        for key in ("machine", "name", "failureDomain", "memberID"):
            value = (target or {}).get(key)
            if value is not None and not _text(value):
                found.append(Problem(f"{path}.target.{key}", "it has to be a text or null"))
    if not isinstance(step.get("needsApproval"), bool):
        found.append(Problem(f"{path}.needsApproval", "it has to be true or false"))
    return found + _reasons(step, path) + _expects(step.get("expects"), f"{path}.expects")


def _ending(end: Object) -> list[Problem]:
    found = []
    if end.get("action") not in terms.ENDINGS:
        found.append(Problem("end.action", f"it has to be one of {', '.join(terms.ENDINGS)}"))
    return found + _reasons(end, "end") + _expects(end.get("expects"), "end.expects")


def _reasons(step: Object, path: str) -> list[Problem]:
    listed = step.get("reasons")
    if not isinstance(listed, list) or not listed:
        return [Problem(f"{path}.reasons", "it has to be a list that isn't empty")]
    for index, each in enumerate(listed):
        if not (isinstance(each, dict) and _text(each.get("reason")) and isinstance(each.get("message"), str)):
            return [Problem(f"{path}.reasons[{index}]", "it has to be an object with the texts reason and message")]
    return []


def _expects(value: Any, path: str) -> list[Problem]:
    if not _mapping(value):
        return [Problem(path, "it has to be an object")]
    if not _mapping(value.get("state")):
        return [Problem(f"{path}.state", "it has to be an object")]
    if not _hash(value.get("fingerprint")):
        return [Problem(f"{path}.fingerprint", "it has to be sha256: and 64 hexadecimal digits")]
    return []


def _hashes_fit(document: Object) -> list[Problem]:
    """Return the first hash that doesn't fit its content, as a problem.

    A plan that was edited is none.
    """
    first = (document["steps"] or [document["end"]])[0]["expects"]
    pairs = [
        ("specHash", document["specHash"], document["spec"]),
        ("observedHash", document["observedHash"], document["observed"]),
        ("observedHash", document["observedHash"], first["state"]),
        ("end.expects.fingerprint", document["end"]["expects"]["fingerprint"], document["end"]["expects"]["state"]),
    ]
    for index, step in enumerate(document["steps"]):
        pairs.append((f"steps[{index}].expects.fingerprint", step["expects"]["fingerprint"], step["expects"]["state"]))
    text = "it is not the hash of what is beside it: the plan was changed after it was made"
    return [Problem(path, text) for path, given, content in pairs if fingerprint(content) != given][:1]


def _text(value: Any) -> bool:
    return isinstance(value, str) and bool(value)


def _mapping(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(key, str) for key in value)


def _hash(value: Any) -> bool:
    return isinstance(value, str) and _HASH.fullmatch(value) is not None


def _hashes(value: Any) -> bool:
    return _mapping(value) and all(_hash(each) for each in value.values())
