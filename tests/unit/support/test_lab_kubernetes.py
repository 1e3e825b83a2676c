# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which Kubernetes a setting of the lab names."""

from __future__ import annotations

from pathlib import Path

import pytest
from lab_kubernetes import DEFAULT, requests

from ansible_collections.kubeadm.control_plane.plugins.module_utils.nspawn.image import cache as image


def folder(path: Path, version: str) -> str:
    """A folder whose kubeadm says that version."""
    path.mkdir()
    (path / "kubeadm").write_text(f"#!/bin/sh\necho {version}\n")
    (path / "kubeadm").chmod(0o755)
    return str(path)


def test_versions_and_folders(tmp_path: Path) -> None:
    mine = folder(tmp_path / "mine", "v1.22.3")
    found = requests(f"{mine}  1.23.1")
    assert [(each.name, each.version, each.source, each.binaries) for each in found] == [
        ("kubernetes-v1.22.3", "v1.22.3", "directory", mine),
        ("kubernetes-v1.23.1", "v1.23.1", "release", ""),
    ]
    assert requests(" ") == DEFAULT


def test_a_debian_of_its_own_has_images_of_its_own(tmp_path: Path) -> None:
    mine = folder(tmp_path / "mine", "v1.22.3")
    pair = [*requests(mine), *requests(mine, "trixie"), *requests("", "trixie")[:1]]
    assert [(each.version, each.release) for each in pair] == [
        ("v1.22.3", "bookworm"),
        ("v1.22.3", "trixie"),
        ("v1.20.2", "trixie"),
    ]
    assert len({image.key(each, "directory") for each in pair[:2]}) == 2
    with pytest.raises(ValueError, match="DEBIAN=sid: a machine has one of bookworm, trixie"):
        requests("", "sid")


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("v1.33.0 v1.34.0 v1.35.0", "and not 3"),
        ("v1.34.0 v1.33.0", "v1.33.0 is no upgrade of v1.34.0"),
        ("v1.33.0 v1.35.0", "no minor version may be skipped"),
        ("v1.33.0 v1.33.0", "is no upgrade"),
        ("latest", "neither a version"),
        ("/nowhere", "nor the whole path of a folder"),
    ],
)
def test_refused(setting: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        requests(setting)
