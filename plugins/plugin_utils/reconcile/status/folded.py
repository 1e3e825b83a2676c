# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Conditions and messages folded by their cause. Pure."""

from __future__ import annotations

import typing as t

from ....module_utils.common.values import clip, shortened
from ...decision import terms
from ...objects.conditions import AVAILABLE, READY

Object = dict[str, t.Any]

SHOWN_TYPES = 3
SHOWN_MACHINES = 5
MOST_LINES = 20
_LONGEST = 600
# They say again what the others say.
_SUMMARIES = (READY, AVAILABLE)


def folded(machines: t.Sequence[Object]) -> list[str]:
    """Return the conditions that are not true, a line a cause.

    Of one machine all Unknown ones are one line: what is not known of a machine has one cause, whatever each condition says of it. So
    are those that are False for the same reason. Machines of which the same is said share a line.

    Args:
        machines: those of the status data.
    """
    found: dict[tuple[str, tuple[str, ...], tuple[str, ...]], list[str]] = {}
    for machine in machines:
        for status, kinds, messages in _causes(machine["conditions"]):
            found.setdefault((status, kinds, messages), []).append(machine["name"])
    lines = [
        f"{shortened(names, SHOWN_MACHINES)}: {_titles(kinds)} {status}: {clip('; '.join(messages), _LONGEST)}"
        for (status, kinds, messages), names in found.items()
    ]
    if len(lines) > MOST_LINES:
        lines[MOST_LINES:] = [f"and {len(lines) - MOST_LINES} more"]
    return lines


def _causes(conditions: t.Sequence[Object]) -> t.Iterator[tuple[str, tuple[str, ...], tuple[str, ...]]]:
    """Yield status, types and messages of one machine's causes."""
    wrong = [each for each in conditions if each["status"] != terms.TRUE and each.get("message")]
    wrong = [each for each in wrong if each["type"] not in _SUMMARIES] or wrong
    causes: dict[tuple[str, str], list[Object]] = {}
    for each in wrong:
        # Only what is False says for itself why.
        cause = "" if each["status"] == terms.UNKNOWN else str(each["message"])
        causes.setdefault((str(each["status"]), cause), []).append(each)
    for (status, _cause), those in causes.items():
        kinds = tuple(str(each["type"]) for each in those)
        yield status, kinds, tuple(dict.fromkeys(str(each["message"]) for each in those))


def _titles(kinds: t.Sequence[str]) -> str:
    return ", ".join(kinds) if len(kinds) <= SHOWN_TYPES else f"{len(kinds)} conditions"


def by_cause(messages: t.Iterable[str]) -> list[str]:
    """Return messages, those of one machine and cause as one.

    Such as "etcd on machine m3: why"; others stay as they are.
    """
    found: dict[tuple[str, str], list[str]] = {}
    for message in messages:
        head, _colon, cause = message.partition(": ")
        what, on, where = head.partition(" on machine ")
        key = (f"{on}{where}", cause) if on and cause else (message, "")
        found.setdefault(key, []).append(what)
    return [f"{', '.join(what)}{where}: {cause}" if cause else where for (where, cause), what in found.items()]
