# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Releases of CoreDNS, and the migrations of a Corefile between them.

Sources: docs/reference/cluster_api.md, "Add-ons"; docs/reference/kubeadm.md, "etcd and CoreDNS releases".
"""

from __future__ import annotations

import re
import typing as t

# Every release that a Corefile can be migrated from and to, in order. There never was an image of 1.6.8, 1.8.1, 1.8.2, 1.11.2, 1.14.5.
RELEASES: tuple[str, ...] = (
    *("1.1.3", "1.1.4", "1.2.0", "1.2.1", "1.2.2", "1.2.3", "1.2.4", "1.2.5", "1.2.6", "1.3.0", "1.3.1", "1.4.0"),
    *("1.5.0", "1.5.1", "1.5.2", "1.6.0", "1.6.1", "1.6.2", "1.6.3", "1.6.4", "1.6.5", "1.6.6", "1.6.7", "1.6.9"),
    *("1.7.0", "1.7.1", "1.8.0", "1.8.3", "1.8.4", "1.8.5", "1.8.6", "1.8.7", "1.9.0", "1.9.1", "1.9.2", "1.9.3"),
    *("1.9.4", "1.10.0", "1.10.1", "1.11.0", "1.11.1", "1.11.3", "1.11.4", "1.12.0", "1.12.1", "1.12.2", "1.12.3"),
    *("1.12.4", "1.13.0", "1.13.1", "1.13.2", "1.14.0", "1.14.1", "1.14.2", "1.14.3", "1.14.4", "1.14.6"),
)


class ReleaseError(ValueError):
    """Image tag that is no version of CoreDNS."""


def release_of(tag: str) -> str:
    """Return the release of an image's tag.

    "v1.8.0" -> "1.8.0", "v1.8.4-eksbuild.1" -> "1.8.4".

    Raises:
        ReleaseError: the tag is no semantic version.
    """
    found = re.fullmatch(r"v?(\d{1,9})\.(\d{1,9})\.(\d{1,9})(?:[-_+.][0-9A-Za-z._+-]+)?", tag)
    if found is None:
        raise ReleaseError(f"the image tag {tag!r} is not a version of the form v1.8.0")
    return ".".join(str(int(number)) for number in found.groups())


def version_key(release: str) -> tuple[int, ...]:
    """Return a release as numbers, for comparing."""
    return tuple(int(number) for number in release.split("."))


def refusal(from_tag: str, to_tag: str) -> t.Optional[str]:
    """Return the reason why CoreDNS's image tag can't be changed, or None.

    Sources: docs/reference/cluster_api.md, "Add-ons"; docs/reference/kubeadm.md, "etcd and CoreDNS releases".

    Another build of the same release is allowed, also of one that is not in the list: nothing is migrated then.
    """
    try:
        start, end = release_of(from_tag), release_of(to_tag)
    except ReleaseError as error:
        return str(error)
    if start == end:
        return None
    if version_key(end) < version_key(start):
        return f"CoreDNS {end} is older than {start}, which runs: there is no way back for a Corefile"
    for release in (start, end):
        if release not in RELEASES:
            known = f"{RELEASES[0]} to {RELEASES[-1]}"
            return f"CoreDNS {release} is none of the releases whose Corefile can be migrated ({known}, as far as they were published)"
    return None
