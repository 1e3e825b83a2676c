# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The member of a joining machine as kubeadm looks for it and starts it."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects.etcd_member import (
    peer_url,
    with_member_named,
)

# Its instance data.
MACHINE = {"hostname": "m2"}
MEMBERS = [("m1", "https://192.0.2.1:2380"), ("", "https://192.0.2.2:2380")]
CLUSTER = "m1=https://192.0.2.1:2380,m2=https://192.0.2.2:2380"


def config(**join: Any) -> dict[str, Any]:
    """A KubeadmConfig of a joining machine."""
    return {"spec": {"joinConfiguration": join}}


def data(version: str, *flags: str) -> dict[str, Any]:
    """A join's bootstrap document."""
    return {"kind": "join", "kubeadmVersion": version, "kubeadmArgs": ["join", "--config", "c", *flags], "files": []}


@pytest.mark.parametrize(
    ("given", "own", "url"),
    [
        ("", "192.0.2.2", "https://192.0.2.2:2380"),
        ("192.0.2.9", "192.0.2.2", "https://192.0.2.9:2380"),
        ("", "2001:DB8::0002", "https://[2001:db8::2]:2380"),
        ("", "", ""),
        ("", "host.example", ""),
        ("0.0.0.0", "192.0.2.2", ""),
        ("::", "2001:db8::2", ""),
        ("127.0.0.1", "192.0.2.2", ""),
    ],
)
def test_the_peer_url_is_that_of_the_advertise_address(given: str, own: str, url: str) -> None:
    """Written as Go writes an address; "" where kubeadm would choose another one on the machine."""
    found = config(controlPlane={"localAPIEndpoint": {"advertiseAddress": given}})
    assert peer_url(found, MACHINE, own) == url


@pytest.mark.parametrize(
    ("version", "flag"), [("v1.19.0", "--experimental-patches"), ("v1.21.9", "--experimental-patches")]
)
def test_a_kubeadm_that_names_no_member_gets_a_patch(version: str, flag: str) -> None:
    before = data(version)
    done = with_member_named(before, "m2", MEMBERS)
    [file] = done["files"]
    assert done["kubeadmArgs"] == [*before["kubeadmArgs"], f"{flag}=/run/kubeadm/patches"]
    assert file["path"] == "/run/kubeadm/patches/etcd9initialcluster+json.json"
    assert json.loads(base64.b64decode(file["content"])) == [
        {"op": "add", "path": "/spec/containers/0/command/-", "value": f"--initial-cluster={CLUSTER}"}
    ]
    assert before["files"] == []


def test_it_goes_beside_the_users_own_patches() -> None:
    """kubeadm takes one folder of patches, and applies them in the order of their names."""
    done = with_member_named(data("v1.20.2", "--experimental-patches=/etc/own/"), "m2", MEMBERS)
    assert [each for each in done["kubeadmArgs"] if "patches" in each] == ["--experimental-patches=/etc/own/"]
    [file] = done["files"]
    assert file["path"] == "/etc/own/etcd9initialcluster+json.json"
    assert (
        sorted(["etcd.yaml", "etcd0+merge.yaml", file["path"].rpartition("/")[2]])[-1]
        == file["path"].rpartition("/")[2]
    )


def test_a_kubeadm_that_names_it_is_left_alone() -> None:
    assert with_member_named(data("v1.22.0"), "m2", MEMBERS) == data("v1.22.0")
