# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Fixtures: etcd clusters that are gone when the test is."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
from etcd_cluster import EtcdCluster

Make = t.Callable[..., EtcdCluster]


@pytest.fixture(name="make_cluster")
def _make_cluster(tmp_path: Path) -> t.Iterator[Make]:
    """A function that starts an etcd cluster of its own for one test."""
    clusters: list[EtcdCluster] = []

    def make(size: int = 3, **arguments: t.Any) -> EtcdCluster:
        cluster = EtcdCluster(tmp_path / f"cluster-{len(clusters)}", size, **arguments)
        clusters.append(cluster)
        return cluster.wait_ready()

    yield make
    for cluster in clusters:
        cluster.end()


@pytest.fixture(name="cluster", scope="module")
def _cluster(tmp_path_factory: pytest.TempPathFactory) -> t.Iterator[EtcdCluster]:
    """Three healthy members, shared by tests that leave them as they are."""
    cluster = EtcdCluster(tmp_path_factory.mktemp("shared"))
    try:
        yield cluster.wait_ready()
    finally:
        cluster.end()
