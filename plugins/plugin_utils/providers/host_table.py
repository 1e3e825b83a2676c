# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Table of candidate hosts: what each lacks, with the remedy. Pure."""

from __future__ import annotations

import textwrap
import typing as t

from ...module_utils.common.values import clip
from ..decision.plan.text import WIDTH

Object = dict[str, t.Any]
_LONGEST = 600


def hosts_text(title: str, snapshot: Object, verdict: t.Sequence[Object]) -> str:
    """Return the host table as text, without a newline at its end.

    Args:
        title: the cluster as messages name it.
        snapshot: with ``pool``, ``hosts`` and ``controlPlane``.
        verdict: what is said in the end, each with ``message`` and ``fix``.
    """
    spec = (snapshot.get("controlPlane") or {}).get("spec") or {}
    group = clip((snapshot.get("pool") or {}).get("group"), 80)
    count = spec.get("replicas")
    heading = f"HOSTS {title}   {clip(spec.get('version'), 40)}, {count} replica{'' if count == 1 else 's'} wanted"
    lines = [heading + (f", inventory group {group}" if group else "")]
    hosts = snapshot.get("hosts") or []
    widths = [max([len(clip(each.get(key), 80)) for each in hosts] or [0]) for key in ("name", "failureDomain")]
    for host in sorted(hosts, key=lambda each: str(each["name"])):
        columns = [clip(host["name"], 80).ljust(widths[0])]
        columns += [clip(host.get("failureDomain"), 80).ljust(widths[1])] if widths[1] else []
        first = f"  {'   '.join(columns)}   "
        lines += ["", *_host(host, first)]
    for each in verdict:
        lines += ["", *_wrapped(clip(each["message"], _LONGEST), "  ")]
        lines += _wrapped(clip(each["fix"], _LONGEST), "  to do: ", " " * 9) if each.get("fix") else []
    return "\n".join(lines)


def _host(host: Object, first: str) -> t.Iterator[str]:
    missing, machine = host.get("missing") or [], clip(host.get("machine"), 80)
    following = " " * len(first)
    if machine:
        text = f"is machine {machine}" + ("; given back, it would lack:" if missing else "")
        yield from _wrapped(text, first, following)
        first = following
    elif not missing:
        yield from _wrapped("is free and lacks nothing", first, following)
    fixes: list[str] = []
    for each in missing:
        yield from _wrapped(f"{clip(each.get('message'), _LONGEST)} ({each['check']})", first, following)
        first = following
        fix = clip(each.get("fix"), _LONGEST)
        fixes += [fix] if fix and fix not in fixes else []
    for fix in fixes:
        yield from _wrapped(fix, f"{following}to do: ", f"{following}       ")


def _wrapped(text: str, first: str, following: t.Optional[str] = None) -> list[str]:
    return textwrap.wrap(
        text,
        max(WIDTH, len(first) + 60),
        initial_indent=first,
        subsequent_indent=first if following is None else following,
        break_long_words=False,
        break_on_hyphens=False,
    )
