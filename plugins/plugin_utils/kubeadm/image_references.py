# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""References of container images: repository, name and tag, for add-ons.

Source: docs/reference/cluster_api.md, "Add-ons".
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_COMPONENT = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_HOST = r"(?:[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?(?:\.[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?)*|\[[0-9a-fA-F:]+\])(?::[0-9]+)?"
_NAME = re.compile(rf"(?:{_HOST}/)?{_COMPONENT}(?:/{_COMPONENT})*")
_TAG = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}")
_LONGEST = 1024


class ImageError(ValueError):
    """Image reference that can't be changed; the text is the reason."""


@dataclass(frozen=True)
class Image:
    """Image by tag.

    ``repository`` is all before the last "/", without it; "" where there is none.
    """

    repository: str
    name: str
    tag: str

    def __str__(self) -> str:
        path = f"{self.repository}/{self.name}" if self.repository else self.name
        return f"{path}:{self.tag}" if self.tag else path


def parse(text: str) -> Image:
    """Return the parts of an image reference.

    Raises:
        ImageError: it is by digest, so that no other tag can be meant, or no image reference at all.
    """
    if "@" in text:
        raise ImageError(f"the image {text[:200]!r} is named by its digest, which no tag can replace")
    path, tag = text, ""
    if ":" in text.rpartition("/")[2]:
        path, _colon, tag = text.rpartition(":")
        if not _TAG.fullmatch(tag):
            raise ImageError(f"the image {text[:200]!r} has no valid tag")
    if len(text) > _LONGEST or not _NAME.fullmatch(path):
        raise ImageError(f"{text[:200]!r} is not an image reference")
    repository, _slash, name = path.rpartition("/")
    return Image(repository, name, tag)


def tag_of_version(version: str) -> str:
    """Return the tag of a Kubernetes version: "v1.20.2+build" -> "v1.20.2_build".

    A "+" is no character of a tag.
    """
    return version.replace("+", "_")
