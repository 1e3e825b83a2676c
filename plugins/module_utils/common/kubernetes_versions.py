# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Kubernetes versions: parser, comparison, and the fitting kubeadm API version.

Source: docs/reference/kubeadm.md, "API versions".
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from typing import Any

from .violations import ManifestError, Violation

_NUMBER = "(0|[1-9][0-9]{0,8})"
_PRE, _BUILD = "(?:0|[1-9][0-9]*|[0-9]*[A-Za-z-][0-9A-Za-z-]*)", "[0-9A-Za-z-]+"
# What follows the "v" and "1." of a Kubernetes version, for schemas: semantic versioning 2.0.
REST_PATTERN = rf"{_NUMBER}\.{_NUMBER}(-{_PRE}(\.{_PRE})*)?(\+{_BUILD}(\.{_BUILD})*)?"
_CORE = re.compile(rf"v?{_NUMBER}\.{_NUMBER}\.{_NUMBER}(.*)", re.DOTALL)
_SHOWN = 128

OLDEST_MINOR = 16
# More than any major version has.
_MINORS_OF_A_MAJOR = 1 << 40
NEWEST_KNOWN_MINOR = 37
KUBEADM_GROUP = "kubeadm.k8s.io"


@dataclass(frozen=True)
class Api:
    """API version of kubeadm's configuration.

    `name` as in an apiVersion; kubeadm writes it from the minor `written_from` on and reads it from `written_from` to `read_until` (None =
    still). Tables of fields name an API by its `number`, its place in APIS.
    """

    number: int
    name: str
    written_from: int
    read_until: int | None = None

    @property
    def api_version(self) -> str:
        """The apiVersion, for example "kubeadm.k8s.io/v1beta3"."""
        return f"{KUBEADM_GROUP}/{self.name}"


# The oldest first (docs/reference/kubeadm.md, "API versions").
# A further API version is a row here; fields that it lacks or adds are in fields.py.
APIS: tuple[Api, ...] = (
    Api(1, "v1beta1", 13, 21),
    Api(2, "v1beta2", 15, 26),
    Api(3, "v1beta3", 22, 36),
    Api(4, "v1beta4", 31),
)


@functools.total_ordering
@dataclass(frozen=True, eq=False)
class Version:
    """Kubernetes version, ordered by semantic versioning 2.0 (pre-releases first, build metadata ignored)."""

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
            # Numbers by their digits: Python makes none of thousands of them.
            parts = tuple((0, len(part), part) if part.isdecimal() else (1, 0, part) for part in self.pre.split("."))
            pre = (0, parts)
        return (self.major, self.minor, self.patch, pre)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Version) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __lt__(self, other: Version) -> bool:
        return self._key() < other._key()

    def at_least(self, minor: int) -> bool:
        """Return whether this is 1.`minor` or newer (a pre-release counts as its minor)."""
        return (self.major, self.minor) >= (1, minor)

    def minors_after(self, other: Version) -> int:
        """Return the number of minor versions that this is newer.

        It is below 0 where this is older. A major version counts more than any number of minor versions.
        """
        return (self.major - other.major) * _MINORS_OF_A_MAJOR + self.minor - other.minor

    def same_minor(self, other: Version) -> bool:
        """Return whether both have the same major and minor version."""
        return self.minors_after(other) == 0

    def follows(self, other: Version) -> bool:
        """Return whether an upgrade from `other` skips no minor version.

        `other` must not be newer.
        """
        return self.minors_after(other) <= 1

    def within_one_minor(self, other: Version) -> bool:
        """Return whether both are at most one minor version apart."""
        return abs(self.minors_after(other)) <= 1

    @property
    def supported(self) -> bool:
        """Support of this version by a known kubeadm API.

        A minor newer than the tables counts as having the newest API.
        """
        return self.major == 1 and self.at_least(OLDEST_MINOR)

    @property
    def known(self) -> bool:
        """Coverage of this version by the tables of kubernetes_facts.py.

        A newer version may have more than they list.
        """
        return (self.major, self.minor) <= (1, NEWEST_KNOWN_MINOR)


@dataclass(frozen=True)
class ApiChoice:
    """Choice of the kubeadm API for a Kubernetes version.

    `known` is False where the Kubernetes version is newer than the tables.
    """

    api: Api
    known: bool

    @property
    def number(self) -> int:
        """The API's number (2 = v1beta2)."""
        return self.api.number

    @property
    def api_version(self) -> str:
        """The apiVersion, for example "kubeadm.k8s.io/v1beta3"."""
        return self.api.api_version


def api(number: int) -> Api:
    """Return the API version of a number."""
    return next(each for each in APIS if each.number == number)


def api_of(api_version: str) -> Api | None:
    """Return the API version of a name, None for unsupported ones ("v1beta2" or "kubeadm.k8s.io/v1beta2")."""
    return next((each for each in APIS if api_version in (each.name, each.api_version)), None)


@functools.lru_cache(maxsize=256)
def parse(text: str) -> Version:
    """Return a Version from "v1.20.2" or "1.20.2-rc.1+build" (semantic versioning 2.0).

    Raises:
        ValueError: the text is no version; the message states the problem.
    """
    match = _CORE.fullmatch(text)
    if match is None:
        raise ValueError(
            f"{_shown(text)} is not a version of the form v1.20.2, with three numbers without leading zeros"
        )
    rest = match.group(4)
    if rest and rest[0] not in "-+":
        raise ValueError(
            f"{_shown(text)} has {_shown(rest)} after the patch level; a pre-release begins with '-', a build with '+'"
        )
    core, plus, build = rest.partition("+")
    _require_identifiers(text, core[1:], bool(core), "pre-release", _PRE)
    _require_identifiers(text, build, bool(plus), "build", _BUILD)
    return Version(int(match.group(1)), int(match.group(2)), int(match.group(3)), core[1:], build)


def _require_identifiers(text: str, part: str, there: bool, what: str, pattern: str) -> None:
    for each in part.split(".") if there else ():
        if re.fullmatch(pattern, each) is None:
            why = f"{_shown(each)} is none" if each else "one of them is empty"
            zeros = ", and no leading zeros in numbers" if what == "pre-release" else ""
            raise ValueError(
                f"{_shown(text)} is not a version: its {what} {_shown(part)} must consist of letters, digits and '-', in parts between dots{zeros}; {why}"
            )


def _shown(text: str) -> str:
    return repr(text if len(text) <= _SHOWN else text[:_SHOWN] + "...")


def with_v(text: str) -> str:
    """Return a version's text with the "v" that Cluster API's webhook adds."""
    return f"v{text}" if text[:1].isdigit() else text


def package_pattern(version: str) -> str:
    """Return the pattern of a version's packages: ``1.30.2-*``."""
    return f"{version.lstrip('v')}-*"


def read_version(text: str) -> Version | None:
    """Return the version, None where the text is none."""
    try:
        return parse(text)
    except ValueError:
        return None


def is_newer(text: str, other: str) -> bool:
    """Return whether a version is newer; False where one is none."""
    own, than = read_version(text), read_version(other)
    return own is not None and than is not None and own > than


def api_version_for(version: str) -> ApiChoice:
    """Return the kubeadm API that a Kubernetes version writes (docs/reference/kubeadm.md, "API versions").

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
    chosen = [each for each in APIS if parsed.at_least(each.written_from)][-1]
    return ApiChoice(chosen, parsed.known)


def typical_version(number: int) -> str:
    """Return the newest known Kubernetes version that writes API `number`.

    It serves for facts that depend on the minor alone.
    """
    later = [each.written_from for each in APIS if each.number > number]
    return f"v1.{max(OLDEST_MINOR, (later[0] - 1) if later else NEWEST_KNOWN_MINOR)}.0"


def written_later(version: str, number: int) -> bool:
    """Return whether API `number` is of a newer kubeadm than this version."""
    return not parse(version).at_least(api(number).written_from)


def readable_by(version: str, number: int) -> bool:
    """Return whether kubeadm of this version reads API `number` (docs/reference/kubeadm.md, "API versions")."""
    until = api(number).read_until
    return not written_later(version, number) and (until is None or not parse(version).at_least(until + 1))
