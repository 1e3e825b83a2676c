# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Releases of etcd: a Kubernetes version's own, and the allowed upgrades.

Source: docs/reference/kubeadm.md, "etcd and CoreDNS releases".
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ...module_utils.common import kubernetes_versions

Release = tuple[int, int, int]

# Minor of Kubernetes 1.x -> ((first patch level, etcd that its kubeadm chooses), ...). A patch level that is not known is left out: a
# later kubeadm of the same minor chooses the same minor of etcd, and no older release.
_CHOSEN: dict[int, tuple[tuple[int, Release], ...]] = {
    16: ((0, (3, 3, 15)),),  # ~; the map says 3.3.17
    17: ((0, (3, 4, 3)),),
    18: ((0, (3, 4, 3)),),
    19: ((0, (3, 4, 9)),),  # ~
    20: ((0, (3, 4, 13)),),
    21: ((0, (3, 4, 13)),),
    22: ((0, (3, 5, 0)), (17, (3, 5, 6))),
    23: ((0, (3, 5, 1)), (14, (3, 5, 5)), (15, (3, 5, 6))),
    24: ((0, (3, 5, 3)), (8, (3, 5, 5)), (9, (3, 5, 6))),
    25: ((0, (3, 5, 4)), (4, (3, 5, 5)), (5, (3, 5, 6)), (15, (3, 5, 9))),
    26: ((0, (3, 5, 6)), (10, (3, 5, 9)), (13, (3, 5, 10))),
    27: ((0, (3, 5, 7)), (7, (3, 5, 9)), (10, (3, 5, 10)), (12, (3, 5, 12))),
    28: ((0, (3, 5, 9)), (6, (3, 5, 10)), (8, (3, 5, 12)), (14, (3, 5, 15))),
    29: ((0, (3, 5, 10)), (3, (3, 5, 12)), (9, (3, 5, 15))),
    30: ((0, (3, 5, 12)), (5, (3, 5, 15))),
    31: ((0, (3, 5, 15)),),
    32: ((0, (3, 5, 16)),),
    33: ((0, (3, 5, 21)),),
    34: ((0, (3, 6, 4)),),
    35: ((0, (3, 6, 6)),),
    36: ((0, (3, 6, 8)),),
    37: ((0, (3, 7, 0)),),  # as of its release candidate
}
# Minor of etcd -> (the oldest release that every member must run before the first one goes to it, why).
# etcd.io/docs/v3.6/upgrades/upgrade_3_6 and github.com/etcd-io/etcd/issues/19557; etcd.io/docs/v3.7/upgrades/upgrade_3_7.
_GOES_FROM: dict[tuple[int, int], tuple[Release, str]] = {
    (3, 6): ((3, 5, 20), "older ones left promoted members noted as learners, which stops etcd 3.6"),
    (3, 7): ((3, 6, 11), "older ones may not work beside it"),
}


def release_of(text: Any) -> Release | None:
    """Return the release of a version or image tag, or None.

    "3.5.24-0" -> (3, 5, 24); None where the text is no release.
    """
    found = (
        re.fullmatch(r"v?(\d{1,9})\.(\d{1,9})\.(\d{1,9})(?:[-_+.][0-9A-Za-z._+-]*)?", text)
        if isinstance(text, str)
        else None
    )
    return (int(found.group(1)), int(found.group(2)), int(found.group(3))) if found else None


def brought_by(version: str, tag: str = "") -> Release | None:
    """Return the oldest etcd that machines of this Kubernetes version may run.

    `tag` is etcd.local.imageTag.

    Of a Kubernetes version newer than the table: the newest that is in it. None for one that is older, or no version.
    """
    own = release_of(tag)
    if own is not None:
        return own
    try:
        at = kubernetes_versions.parse(version)
    except ValueError:
        return None
    chosen = _CHOSEN.get(at.minor) if at.known and at.major == 1 else _CHOSEN[max(_CHOSEN)]
    return [release for patch, release in chosen if patch <= at.patch][-1] if chosen else None


def refusal(version: str, tag: str, running: Mapping[str, Release]) -> tuple[str, str] | None:
    """Return reason and remedy where machines' etcd can't join the members.

    None where it can. The machines are of this Kubernetes version; the members are those that run.

    `running` has the members' releases by their names. An upgrade of etcd goes one minor version at a time, and to some only from a
    certain patch level on (etcd's upgrade guides). kubeadm checks none of this.
    """
    new = brought_by(version, tag)
    if new is None:
        return None
    minor = f"{new[0]}.{new[1]}"
    needed, why = _GOES_FROM.get(new[:2], ((new[0], max(new[1] - 1, 0), 0), "no minor version of etcd may be skipped"))
    old = {name: release for name, release in sorted(running.items()) if release < needed and release[:2] < new[:2]}
    if not old:
        return None
    told = ", ".join(f"{name} ({_text(release)})" for name, release in old.items())
    source = "etcd.local.imageTag" if release_of(tag) is not None else f"Kubernetes {version}"
    text = (
        f"{source} brings etcd {_text(new)}, and a cluster may go to etcd {minor} only when every member runs {_text(needed)} or newer "
        f"({why}): {told}"
    )
    fix = (
        f"First bring every member to etcd {_text(needed)} or newer, best the newest {needed[0]}.{needed[1]}: with the newest patch level of the "
        "Kubernetes version that runs, or with clusterConfiguration.etcd.local.imageTag."
    )
    return text, fix


def _text(release: Release) -> str:
    return ".".join(map(str, release))
