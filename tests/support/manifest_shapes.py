# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Shapes of real manifests (manifest_shapes.yaml), each in the versions that have it, as whole manifests."""

from __future__ import annotations

import copy
import typing as t
from pathlib import Path

import yaml
from manifest_templates import CLOUD, CONTROL_PLANE, OWN, VERSIONS, Infrastructure, Object, manifest, put, written

FILE = Path(__file__).with_suffix(".yaml")
_CONFIG = "kubeadmConfigSpec"
# Where a shape's fields go: the documents by their number, and the path there.
_TARGETS: t.Mapping[str, tuple[int, tuple[str, ...]]] = {
    "C": (0, ("spec.",)),
    "K": (CONTROL_PLANE, ("spec.",)),
    "I": (3, ("spec.",)),
    "config": (CONTROL_PLANE, (f"spec.{_CONFIG}.",)),
    "shared": (CONTROL_PLANE, (f"spec.{_CONFIG}.clusterConfiguration.",)),
    "init": (CONTROL_PLANE, (f"spec.{_CONFIG}.initConfiguration.",)),
    "join": (CONTROL_PLANE, (f"spec.{_CONFIG}.joinConfiguration.",)),
    "both": (CONTROL_PLANE, tuple(f"spec.{_CONFIG}.{each}Configuration." for each in ("init", "join"))),
}


class Shape:
    """One shape of the table, and what becomes of it."""

    def __init__(self, row: Object) -> None:
        self.name = str(row["name"])
        self.kept = row.get("read") == "kept"
        self.warning, self.left, self.refused = (str(row.get(each, "")) for each in ("warning", "left", "refused"))
        of = row.get("of", "hosts")
        self.infrastructure = Infrastructure(**of) if isinstance(of, dict) else {"hosts": OWN, "cloud": CLOUD}[of]
        self.versions = _versions(str(row.get("in", "")))
        self._fields, self._beside = row.get("set", {}), row.get("beside", [])

    @property
    def outcome(self) -> str:
        """What becomes of it in words, as docs/manifest.md counts it."""
        if self.refused:
            return "refused"
        if self.left:
            return "read, and documents of others named"
        return "read, with a warning" if self.warning else "read"

    def documents(self, version: str) -> list[Object]:
        """The whole manifest with the shape in it."""
        made = manifest(version, self.infrastructure)
        for where, value in self._fields.items():
            target, _colon, path = where.partition(":")
            number, places = _TARGETS[target]
            for place in places:
                field = path[1:] if path.startswith("/") else place + path
                put(made[number], field, written(value, version, field))
        return made + written(copy.deepcopy(self._beside), version)


def _versions(text: str) -> tuple[str, ...]:
    if text.endswith("+"):
        return VERSIONS[VERSIONS.index(text[:-1]) :]
    if text.startswith("-"):
        return VERSIONS[: VERSIONS.index(text[1:]) + 1]
    return tuple(text.split(",")) if text else VERSIONS


TABLE = tuple(Shape(row) for row in yaml.safe_load(FILE.read_text()))
