# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A control plane node of real etcd that lost the others, with a snapshot to restore."""

from __future__ import annotations

import base64
import contextlib
import os
import typing as t
from dataclasses import dataclass
from pathlib import Path

from etcd_cluster import EtcdCluster, EtcdMember, find_etcd, until
from static_pods import StandInKubelet, static_pod
from systemd import NoUnit

from ansible_collections.kubeadm.control_plane.plugins.module_utils.common.https import Unreachable
from ansible_collections.kubeadm.control_plane.plugins.module_utils.etcd.gateway import Gateway
from ansible_collections.kubeadm.control_plane.plugins.module_utils.etcd.restore.from_snapshot import (
    Restore,
    RestorePlaces,
)
from ansible_collections.kubeadm.control_plane.plugins.module_utils.etcd.restore.restore_unit import Unit, Wanted
from ansible_collections.kubeadm.control_plane.plugins.module_utils.etcd.restore.single_voter import Bounds
from ansible_collections.kubeadm.control_plane.plugins.module_utils.etcd.snapshot.tool import Tool
from ansible_collections.kubeadm.control_plane.plugins.module_utils.etcd.types import EtcdError

Make = t.Callable[..., EtcdCluster]
QUICK = ("--heartbeat-interval=25", "--election-timeout=250")
CA = b"-----BEGIN CERTIFICATE-----\nb3ducyB0aGlz\n-----END CERTIFICATE-----\n"
AUTHENTICATION = b"/registry/configmaps/kube-system/extension-apiserver-authentication"


@contextlib.contextmanager
def own_tool(folder: str) -> t.Iterator[Tool]:
    """The tool beside the etcd that the tests run."""
    beside = os.path.dirname(find_etcd())
    [path] = [os.path.join(beside, name) for name in ("etcdutl", "etcdctl") if os.path.exists(f"{beside}/{name}")][:1]
    yield Tool(os.path.basename(path), (path,), folder)


@dataclass
class Node:
    """A control plane node whose etcd a stand-in kubelet runs from its manifest; the restore runs in this process."""

    member: EtcdMember
    restore: Restore
    kubelet: StandInKubelet
    snapshot: str
    revision: int

    def unit(self) -> Unit:
        return Unit(self.restore)

    def perform(self, wanted: Wanted) -> dict[str, t.Any]:
        """Start the restore as the module does; the unit's work is done here, with the tool of this host."""
        assert self.unit().start(wanted)[1]
        return self.restore.perform()

    def gateway(self) -> Gateway:
        return Gateway(self.restore.places.etcd_url, self.restore.places.credentials)

    def value(self, key: bytes) -> str:
        with self.gateway() as gateway:
            found = gateway._post("range", "/v3/kv/range", {"key": base64.b64encode(key).decode()})
        return base64.b64decode(found["kvs"][0]["value"]).decode() if found.get("kvs") else ""

    def put(self, key: bytes, value: bytes) -> None:
        fields = {"key": base64.b64encode(key).decode(), "value": base64.b64encode(value).decode()}
        with self.gateway() as gateway:
            gateway._post("put", "/v3/kv/put", fields)

    def members(self) -> list[str]:
        with self.gateway() as gateway:
            return [member.name for member in gateway.member_list().members]

    def data(self) -> list[str]:
        return sorted(os.listdir(self.member.directory / "data"))


@contextlib.contextmanager
def left_node(make_cluster: Make, tmp_path: Path) -> t.Iterator[Node]:
    """The member that is left of three, with a snapshot from before the last change."""
    cluster = make_cluster(3, options=QUICK)
    assert cluster.put(AUTHENTICATION, b"client-ca-file " + CA) == 200
    assert cluster.put(b"kept", b"safe") == 200
    snapshot = tmp_path / "state" / "etcd-snapshots" / "prod.db"
    snapshot.parent.mkdir(parents=True)
    with cluster.gateway(cluster.members[0]) as gateway:
        gateway.snapshot_save(str(snapshot))
        before = gateway.linearizable_read()
    assert cluster.put(b"later", b"lost") == 200
    member = cluster.members[0]
    assert member.process is not None
    words = t.cast("list[str]", member.process.args)
    member.kill()
    manifests = tmp_path / "kubernetes" / "manifests"
    (tmp_path / "kubernetes" / "pki").mkdir(parents=True)
    (tmp_path / "kubernetes" / "pki" / "ca.crt").write_bytes(CA)
    manifests.mkdir()
    (manifests / "etcd.yaml").write_text(static_pod(words), encoding="utf-8")
    places = RestorePlaces(
        state=str(tmp_path / "state"),
        kubernetes=str(manifests.parent),
        etcd_url=member.client_url,
        credentials=cluster.credentials,
        kubelet="",
    )
    restore = Restore(places, Bounds(30.0, 30.0, 5.0), runner=NoUnit(), tool=own_tool)
    made = Node(member, restore, StandInKubelet(manifests), str(snapshot), before)
    try:
        until("etcd works from its manifest", lambda: leader(made))
        for lost in cluster.members[1:]:
            lost.kill()
        until("etcd answers without a leader", lambda: leader(made) == 0)
        yield made
    finally:
        made.kubelet.stop()


def leader(node: Node) -> t.Optional[int]:
    """The leader as the node's member knows it, None where it does not answer."""
    try:
        with node.gateway() as gateway:
            return gateway.status().leader
    except (EtcdError, Unreachable):
        return None
