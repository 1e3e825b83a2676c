# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Evidence that a host carries a cluster."""

from __future__ import annotations

from pathlib import Path

import pytest

from ansible_collections.kubeadm.control_plane.plugins.module_utils.node.bootstrap.bootstrap_unit import Places
from ansible_collections.kubeadm.control_plane.plugins.module_utils.node.host import host_facts


def test_a_kubelet_of_any_distribution_with_pods_carries_a_cluster(tmp_path: Path) -> None:
    """It leaves none of kubeadm's files. An empty folder is none, nor is a host without a kubelet."""
    node = Places(
        state=str(tmp_path / "state"), kubernetes=str(tmp_path / "kubernetes"), etcd_data=str(tmp_path / "etcd")
    )
    (tmp_path / "proc/7").mkdir(parents=True)
    places = host_facts.HostPlaces(node=node, kubelet_state=str(tmp_path / "kubelet"), proc=str(tmp_path / "proc"))
    assert host_facts.carried(places) == []
    pods = tmp_path / "kubelet/pods"
    pods.mkdir(parents=True)
    assert host_facts.carried(places) == []
    (pods / "uid").mkdir()
    (tmp_path / "proc/7/comm").write_text("etcd\n")
    (tmp_path / "kubernetes").mkdir()
    (tmp_path / "kubernetes/kubelet.conf").touch()
    assert host_facts.carried(places) == [f"{tmp_path}/kubernetes/kubelet.conf", "a running etcd", str(pods)]


@pytest.mark.parametrize("manifest", [True, False], ids=["by its manifest", "by the note of a reset that was cut off"])
def test_data_of_etcd_counts_wherever_it_is(tmp_path: Path, manifest: bool) -> None:
    """kubeadm reset deletes the manifest, and leaves the data."""
    node = Places(state=str(tmp_path), kubernetes=str(tmp_path / "kubernetes"), etcd_data=str(tmp_path / "etcd"))
    (tmp_path / "proc").mkdir()
    places = host_facts.HostPlaces(node=node, kubelet_state=str(tmp_path / "kubelet"), proc=str(tmp_path / "proc"))
    (tmp_path / "data/member/snap").mkdir(parents=True)
    (tmp_path / "data/member/snap/db").touch()
    assert host_facts.carried(places) == []
    (tmp_path / "kubernetes/manifests").mkdir(parents=True)
    if manifest:
        (tmp_path / "kubernetes/manifests/etcd.yaml").write_text(f"    - --data-dir={tmp_path}/data\n")
    else:
        (tmp_path / "etcd-data").write_text(f"{tmp_path}/data\n")
    assert f"{tmp_path}/data/member" in host_facts.carried(places)
