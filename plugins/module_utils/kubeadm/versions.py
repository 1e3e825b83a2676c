# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Kubernetes versions: parsing, comparing, and the kubeadm API version that fits one (kubeadm.md B1)."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from typing import Any

from ansible_collections.kubeadm.control_plane.plugins.module_utils.objects.errors import ManifestError, Violation

# Cluster API's own pattern for KubeadmControlPlane.spec.version (kcp-behaviour.md §1.18).
_VERSION = re.compile(r"v?(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)([-0-9a-zA-Z_.+]*)")

OLDEST_MINOR = 16
# More than any major version has.
_MINORS_OF_A_MAJOR = 1 << 40
NEWEST_KNOWN_MINOR = 37
# First minor of 1.x in whose kubeadm the API version is the preferred one.
_PREFERRED_FROM: tuple[tuple[int, int], ...] = ((31, 4), (22, 3), (15, 2), (13, 1))
# Kubeadm API number -> (first, last) minor that reads it; None = still read.
READABLE = {1: (13, 21), 2: (15, 26), 3: (22, 36), 4: (31, None)}


@functools.total_ordering
@dataclass(frozen=True, eq=False)
class Version:
    """A Kubernetes version. Ordering follows semantic versioning 2.0 (pre-releases first, build metadata ignored)."""

    major: int
    minor: int
    patch: int
    pre: str = ""
    build: str = ""

    def __str__(self) -> str:
        text = f"v{self.major}.{self.minor}.{self.patch}"
        return text + (f"-{self.pre}" if self.pre else "") + (f"+{self.build}" if self.build else "")

    def _key(self) -> tuple[Any, ...]:
        pre: tuple[Any, ...] = (1,)
        if self.pre:
            parts = tuple((0, int(part), "") if part.isdigit() else (1, 0, part) for part in self.pre.split("."))
            pre = (0, parts)
        return (self.major, self.minor, self.patch, pre)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Version) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __lt__(self, other: Version) -> bool:
        return self._key() < other._key()

    def at_least(self, minor: int) -> bool:
        """Whether this is 1.`minor` or newer, pre-releases judged by their minor."""
        return (self.major, self.minor) >= (1, minor)

    def minors_after(self, other: Version) -> int:
        """Return how many minor versions this is newer than another; below 0 where it is older. A major version is beyond any."""
        return (self.major - other.major) * _MINORS_OF_A_MAJOR + self.minor - other.minor

    def same_minor(self, other: Version) -> bool:
        """Whether both differ in nothing but the patch level."""
        return self.minors_after(other) == 0

    def follows(self, other: Version) -> bool:
        """Whether no minor version is skipped on the way from another one, which is not newer, to this."""
        return self.minors_after(other) <= 1

    def within_one_minor(self, other: Version) -> bool:
        """Whether both are at most one minor version apart."""
        return abs(self.minors_after(other)) <= 1

    @property
    def supported(self) -> bool:
        """Whether there is a kubeadm API for this version here; a minor newer than the tables counts as having the newest."""
        return self.major == 1 and self.at_least(OLDEST_MINOR)

    @property
    def known(self) -> bool:
        """Whether the tables of facts.py reach as far as this version; a newer one may have what they don't."""
        return (self.major, self.minor) <= (1, NEWEST_KNOWN_MINOR)


@dataclass(frozen=True)
class ApiChoice:
    """The kubeadm API for a version: `number` (2 = v1beta2); `known` is False where the Kubernetes version is newer than this code."""

    number: int
    known: bool

    @property
    def api_version(self) -> str:
        """For example "kubeadm.k8s.io/v1beta3"."""
        return f"kubeadm.k8s.io/v1beta{self.number}"


@functools.lru_cache(maxsize=256)
def parse(text: str) -> Version:
    """A Version from "v1.20.2" or "1.20.2-rc.1+build"; raises ValueError that says what is wrong."""
    match = _VERSION.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not a version of the form v1.20.2")
    rest = match.group(4)
    if rest and rest[0] not in "-+":
        raise ValueError(
            f"{text!r} has {rest!r} after the patch level; a pre-release begins with '-', a build with '+'"
        )
    core, _plus, build = rest.partition("+")
    return Version(int(match.group(1)), int(match.group(2)), int(match.group(3)), core[1:], build)


def read_version(text: str) -> Version | None:
    """Return the version, None where the text is none."""
    try:
        return parse(text)
    except ValueError:
        return None


def api_version_for(version: str) -> ApiChoice:
    """The kubeadm API that kubeadm of this Kubernetes version writes (kubeadm.md B1).

    Newer than known: the newest API, flagged. Older than 1.16: ManifestError.
    """
    parsed = parse(version)
    if not parsed.supported:
        raise ManifestError(
            [
                Violation(
                    "Kubernetes version",
                    "version",
                    version,
                    "there is no kubeadm API for this version here: 1.16 is the oldest, and the major version is 1",
                    "Use v1.16.0 or newer.",
                )
            ]
        )
    number = next(api for minor, api in _PREFERRED_FROM if parsed.minor >= minor)
    return ApiChoice(number, parsed.known)


def readable_by(version: str, api: int) -> bool:
    """Whether kubeadm of this version reads API number `api` (kubeadm.md B1, "Still read")."""
    first, last = READABLE[api]
    minor = parse(version).minor
    return minor >= (first or 0) and (last is None or minor <= last)
