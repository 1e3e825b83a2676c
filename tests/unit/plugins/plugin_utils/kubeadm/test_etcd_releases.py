# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest

from ansible_collections.kubeadm.control_plane.plugins.module_utils.common import kubernetes_versions
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.kubeadm import etcd_releases


@pytest.mark.parametrize(
    ("version", "tag", "etcd"),
    [
        ("v1.16.0", "", (3, 3, 15)),
        ("v1.20.2", "", (3, 4, 13)),
        ("v1.25.3", "", (3, 5, 4)),
        ("v1.25.4", "", (3, 5, 5)),
        ("v1.25.20", "", (3, 5, 9)),
        ("v1.33.9", "", (3, 5, 21)),
        ("v1.34.0-alpha.1", "", (3, 6, 4)),
        ("v1.34.0", "3.5.24-0", (3, 5, 24)),
        ("v1.33.0", "v3.6.4", (3, 6, 4)),
        ("v1.34.0", "our-build", (3, 6, 4)),
        ("v1.99.0", "", (3, 7, 0)),
        ("v2.0.0", "", (3, 7, 0)),
        ("v1.15.0", "", None),
        ("latest", "", None),
    ],
)
def test_the_etcd_that_a_version_brings(version: str, tag: str, etcd: tuple[int, int, int] | None) -> None:
    assert etcd_releases.brought_by(version, tag) == etcd


def test_every_known_minor_has_its_etcd() -> None:
    known = range(kubernetes_versions.OLDEST_MINOR, kubernetes_versions.NEWEST_KNOWN_MINOR + 1)
    found = [etcd_releases.brought_by(f"v1.{minor}.0") for minor in known]
    assert None not in found and found == sorted(found, key=lambda release: release or (0, 0, 0))


@pytest.mark.parametrize("text", ["", "latest", "3.5", "3.5.x", "3.5.1.2.3\n", None, 3])
def test_what_is_no_release_of_etcd(text: object) -> None:
    assert etcd_releases.release_of(text) is None


def test_a_release_is_read_with_what_an_image_puts_behind_it() -> None:
    for text in ("3.5.24", "v3.5.24", "3.5.24-0", "3.5.24-rc.1", "3.5.24+build"):
        assert etcd_releases.release_of(text) == (3, 5, 24)


@pytest.mark.parametrize(
    ("version", "tag", "running", "too_old"),
    [
        ("v1.34.0", "", {"m1": (3, 5, 19)}, ["m1 (3.5.19)"]),
        ("v1.34.0", "", {"m1": (3, 5, 20)}, []),
        ("v1.34.0", "", {"m1": (3, 5, 24), "m2": (3, 5, 9)}, ["m2 (3.5.9)"]),
        ("v1.34.0", "", {"m1": (3, 4, 13)}, ["m1 (3.4.13)"]),
        ("v1.34.0", "", {"m1": (3, 6, 0)}, []),
        ("v1.34.0", "3.5.9-0", {"m1": (3, 5, 9)}, []),
        ("v1.33.0", "3.6.4-0", {"m1": (3, 5, 9)}, ["m1 (3.5.9)"]),
        ("v1.37.0", "", {"m1": (3, 6, 10)}, ["m1 (3.6.10)"]),
        ("v1.37.0", "", {"m1": (3, 6, 11)}, []),
        ("v1.37.0", "", {"m1": (3, 5, 32)}, ["m1 (3.5.32)"]),
        ("v1.22.0", "", {"m1": (3, 4, 13)}, []),
        ("v1.22.0", "", {"m1": (3, 3, 15)}, ["m1 (3.3.15)"]),
        ("v1.34.0", "4.0.0", {"m1": (3, 6, 4)}, ["m1 (3.6.4)"]),
        ("v1.34.0", "", {}, []),
        ("latest", "", {"m1": (3, 0, 0)}, []),
    ],
)
def test_which_members_are_too_old(
    version: str, tag: str, running: dict[str, tuple[int, int, int]], too_old: list[str]
) -> None:
    found = etcd_releases.refusal(version, tag, running)
    assert ([] if found is None else found[0].rpartition(": ")[2].split(", ")) == too_old
