# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A KubeadmConfigSpec made again from the machines' KubeadmConfigs."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.kubeadm.configuration.rebuild import (
    has_configuration,
    rebuild,
)

Object = dict[str, Any]
CLUSTER: Object = {"apiServer": {"extraArgs": [{"name": "v", "value": "2"}]}}


def first() -> Object:
    """The KubeadmConfig of a machine that ran kubeadm init."""
    return {
        "clusterConfiguration": CLUSTER,
        "initConfiguration": {
            "bootstrapTokens": [{"token": "abcdef.0123456789abcdef"}],
            "localAPIEndpoint": {"advertiseAddress": "10.0.0.1", "bindPort": 6443},
            "nodeRegistration": {"name": "cp1", "kubeletExtraArgs": [{"name": "v", "value": "3"}]},
        },
        "preKubeadmCommands": ["echo old"],
    }


def joined() -> Object:
    """The KubeadmConfig of a machine that ran kubeadm join."""
    return {
        "joinConfiguration": {
            "discovery": {"bootstrapToken": {"token": "abcdef.0123456789abcdef"}},
            "controlPlane": {"localAPIEndpoint": {"advertiseAddress": "10.0.0.2"}},
            "nodeRegistration": {"name": "{{ ds.meta_data.local_hostname }}"},
        },
        "preKubeadmCommands": ["echo new"],
    }


def test_each_part_comes_from_where_it_is() -> None:
    """Cluster and init from the oldest, join and the rest from the newest."""
    spec = rebuild([first(), joined()])
    assert spec["clusterConfiguration"] == CLUSTER
    assert spec["initConfiguration"] == {"nodeRegistration": {"kubeletExtraArgs": [{"name": "v", "value": "3"}]}}
    assert spec["preKubeadmCommands"] == ["echo new"]
    assert set(spec["joinConfiguration"]) == {"controlPlane", "nodeRegistration"}


def test_only_the_join_part_where_there_is_no_other() -> None:
    """Without initConfiguration and clusterConfiguration only joinConfiguration is populated.

    Source: docs/reference/cluster_api.md, "Adoption".
    """
    spec = rebuild([joined(), joined()])
    assert {key for key in spec if key.endswith("Configuration")} == {"joinConfiguration"}


def test_what_is_one_machines_is_left_out_and_what_is_everybodys_stays() -> None:
    """Addresses, tokens, discovery and names go; a template in place of a name stays."""
    text = str(rebuild([first(), joined()]))
    for word in ("10.0.0", "abcdef", "discovery", "cp1"):
        assert word not in text
    assert "ds.meta_data.local_hostname" in text


def test_nothing_that_was_given_is_changed() -> None:
    specs = [first(), joined()]
    rebuild(specs)
    assert specs == [first(), joined()]


@pytest.mark.parametrize("spec", [None, {}, {"format": "cloud-config"}, {"clusterConfiguration": {}, "files": []}])
def test_a_spec_that_says_nothing(spec: Any) -> None:
    assert not has_configuration(spec)
    assert rebuild([spec or {}]) == {key: value for key, value in (spec or {}).items() if key != "clusterConfiguration"}


def test_a_spec_that_says_something() -> None:
    assert has_configuration({"joinConfiguration": {"controlPlane": {}}})
