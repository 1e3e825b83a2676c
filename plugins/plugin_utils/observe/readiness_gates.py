# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Readiness gates of the user: objects they need and their results."""

from __future__ import annotations

import typing as t

from ansible.module_utils.basic import missing_required_lib

from ...module_utils.common.violations import Report
from ..objects import kinds, user_annotations
from ..objects.conditions import FALSE, TRUE, UNKNOWN
from ..objects.user_annotations import ReadinessGate

try:
    import jmespath
    from jmespath.exceptions import JMESPathError

    HAS_JMESPATH = True
except ImportError:
    HAS_JMESPATH = False

Object = dict[str, t.Any]
# The gate that stands for an annotation which can't be read: nothing disruptive happens until it is corrected.
UNREADABLE = "readiness-gates"


class Gates:
    """Readiness gates of one KubeadmControlPlane, from its annotation.

    ``kubeadm.control-plane/readiness-gates``.

    Args:
        control_plane: the stored object, or None while there is none.
    """

    def __init__(self, control_plane: t.Optional[Object]) -> None:
        self._gates: list[ReadinessGate] = []
        self._fault = ""
        metadata = (control_plane or {}).get("metadata") or {}
        text = (metadata.get("annotations") or {}).get(kinds.ANNOTATION_READINESS_GATES)
        if control_plane is not None and text is not None:
            report = Report(kinds.label_of(control_plane))
            path = user_annotations.annotation_path(kinds.ANNOTATION_READINESS_GATES)
            self._gates = user_annotations.read_readiness_gates(str(text), path, report)
            self._fault = "; ".join(violation.text() for violation in report.violations)

    def wanted(self) -> list[Object]:
        """Return the objects that the gates need, as node_observe takes them.

        In the gates' order.
        """
        return [
            {
                "apiVersion": gate.api_version,
                "kind": gate.kind,
                "name": gate.object_name,
                **({"namespace": gate.namespace} if gate.namespace else {}),
            }
            for gate in self._gates
        ]

    def results(self, answers: t.Optional[t.Sequence[Object]], message: str) -> list[Object]:
        """Return name, status and message of each gate.

        Args:
            answers: what was read of each object of :meth:`wanted` (workload/wanted.py), None where no API answered.
            message: why no API answered.

        True only where the expression gives exactly true; False for false, null and an object that does not exist;
        Unknown for everything else. No message ever holds anything of an object's content: it may be secret.
        """
        if self._fault:
            return [_result(UNREADABLE, UNKNOWN, self._fault)]
        found = []
        for number, gate in enumerate(self._gates):
            answer = answers[number] if answers is not None and number < len(answers) else None
            if answer is None:
                text = f"{gate.object} was not asked for: {message or 'no API server answered'}"
                found.append(_result(gate.name, UNKNOWN, text))
            else:
                found.append(_evaluated(gate, answer))
        return found


def _result(name: str, status: str, message: str) -> Object:
    return {"name": name, "status": status, "message": message}


def _evaluated(gate: ReadinessGate, answer: Object) -> Object:
    if answer.get("found") is False:
        return _result(gate.name, FALSE, f"{gate.object} does not exist")
    if answer.get("found") is not True:
        return _result(gate.name, UNKNOWN, f"{gate.object} can't be read: {answer.get('message') or 'no reason given'}")
    if not HAS_JMESPATH:
        return _result(
            gate.name, UNKNOWN, missing_required_lib("jmespath", reason=f"for the readiness gate {gate.name}")
        )
    try:
        value = jmespath.search(gate.expression, answer["object"])
    except (
        JMESPathError,
        ValueError,
        TypeError,
        ArithmeticError,
        AttributeError,
        LookupError,
        RecursionError,
    ) as error:
        # The error's own text quotes the object.
        function = getattr(error, "function_name", None)
        where = f" in {function}()" if isinstance(function, str) else ""
        text = f"the expression can't be evaluated on {gate.object}: {type(error).__name__}{where}"
        return _result(gate.name, UNKNOWN, text)
    if value is True:
        return _result(gate.name, TRUE, "")
    if value is False or value is None:
        said = "false" if value is False else "nothing (null)"
        return _result(gate.name, FALSE, f"the expression gives {said} for {gate.object}")
    text = f"the expression gives {_type(value)} for {gate.object}, not true or false: compare it with something"
    return _result(gate.name, UNKNOWN, text)


def _type(value: t.Any) -> str:
    if isinstance(value, str):
        return "a text"
    if isinstance(value, (int, float)):
        return "a number"
    return "a list" if isinstance(value, list) else "a mapping"
