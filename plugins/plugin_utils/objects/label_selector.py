# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Label selector in the syntax of ``kubectl --selector``.

An example: ``env=prod,tier!=test,region in (a, b),!retired``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

Labels = Mapping[str, str]
Selector = Callable[[Labels], bool]

_NAME = r"(?:[a-z0-9.-]+/)?[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?"
_VALUE = r"(?:[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)?"
# Commas that are not between parentheses.
_COMMA = re.compile(r",(?![^(]*\))")
_EQUALITY = re.compile(rf"({_NAME})\s*(==|=|!=)\s*({_VALUE})\Z")
_SET = re.compile(rf"({_NAME})\s+(in|notin)\s*\(([^()]*)\)\Z")
_EXISTS = re.compile(rf"(!?)\s*({_NAME})\Z")


def parse(text: str) -> Selector:
    """Return the label selector of a text, as a function of labels.

    An empty text selects everything. Raises ValueError with what is wrong.
    """
    requirements = [_requirement(each.strip()) for each in _COMMA.split(text)] if text.strip() else []
    return lambda labels: all(each(labels) for each in requirements)


def _requirement(text: str) -> Selector:
    found = _EQUALITY.match(text)
    if found:
        name, operator, value = found.groups()
        return _one_of(name, {value}, operator != "!=")
    found = _SET.match(text)
    if found:
        name, operator, listed = found.groups()
        values = {each.strip() for each in listed.split(",")}
        if all(re.fullmatch(_VALUE, each) for each in values):
            return _one_of(name, values, operator == "in")
    found = _EXISTS.match(text)
    if found:
        return _there(found.group(2), not found.group(1))
    raise ValueError(
        f"{text!r} is no requirement of a label: NAME, !NAME, NAME=VALUE, NAME!=VALUE, NAME in (A, B), NAME notin (A, B)"
    )


def _one_of(name: str, values: set[str], wanted: bool) -> Selector:
    # As in Kubernetes a label that isn't there is unequal to every value.
    return lambda labels: (labels.get(name) in values) is wanted


def _there(name: str, wanted: bool) -> Selector:
    return lambda labels: (name in labels) is wanted
