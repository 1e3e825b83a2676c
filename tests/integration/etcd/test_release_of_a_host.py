# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Release of a host on which a member of a real etcd runs: what is asked of etcd before the host is wiped."""

from __future__ import annotations

import dataclasses
import json
import shutil
import typing as t
from pathlib import Path

import pytest
from bootstrap_places import bootstrap_places, put
from etcd_cluster import Authority, EtcdCluster

from ansible_collections.kubeadm.control_plane.plugins.module_utils.common.guard import NodeError
from ansible_collections.kubeadm.control_plane.plugins.module_utils.node.host import claim
from ansible_collections.kubeadm.control_plane.plugins.module_utils.node.host.host_facts import HostPlaces
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.pki.certificates import ca_cert_hash

Make = t.Callable[..., EtcdCluster]


class Host:
    """A claimed host of a pool, on which one member of a real etcd runs; kubeadm's reset and the endpoint are noted."""

    def __init__(self, folder: Path, cluster: EtcdCluster) -> None:
        self.node = bootstrap_places(folder, etcd_url=cluster.members[0].client_url)
        self.places = HostPlaces(node=self.node, proc=str(folder / "proc"), kubelet_state=str(folder / "kubelet"))
        self.done: list[str] = []
        (folder / "proc").mkdir(parents=True)
        put(Path(self.node.etcd_data) / "member/wal/0.wal")
        put(Path(self.node.kubernetes, "manifests/etcd.yaml"))
        pki = Path(self.node.kubernetes, "pki")
        files = zip(
            dataclasses.astuple(cluster.credentials), ("ca.crt", "healthcheck-client.crt", "healthcheck-client.key")
        )
        for source, name in files:
            put(pki / "etcd" / name, Path(source).read_text())
        self.authorities = [Path(cluster.authority.ca_file).read_text()]
        self.authorities += [Path(Authority(folder / "other", "other-ca").ca_file).read_text()]

    def carries(self, identity: str, *authorities: int) -> None:
        """Have this claim, and these cluster CAs, the first one signing."""
        put(Path(self.node.kubernetes, "pki/ca.crt"), "".join(self.authorities[each] for each in authorities))
        if identity:
            names = dict.fromkeys(("cluster", "namespace", "machine", "machineID", "claimedAt"), "x")
            put(Path(self.places.claim), json.dumps({"id": identity, **names}))

    def release(
        self, check: bool = False, run: claim.Run = claim.NO_LOCK, authority: t.Optional[int] = None, **wanted: t.Any
    ) -> str:
        """Release it from a machine of the cluster with that CA; return the message."""
        known = "" if authority is None else ca_cert_hash(self.authorities[authority])
        release = claim.Release(**{"id": "ours", "machine": "m", "ca_cert_hash": known, **wanted})
        return claim.release(release, check=check, places=self.places, undo=self._undo, leave=self._leave, run=run)[1]

    def _leave(self, check: bool) -> bool:
        self.done.append("leave")
        return not check

    def _undo(self, **options: t.Any) -> bool:
        assert options["discard_etcd_data"] and not options["check"]
        self.done.append("reset of all" if options["whole_cluster"] else "reset")
        for path in (self.node.kubernetes, self.node.etcd_data):
            shutil.rmtree(path)
        return True


@pytest.fixture(name="host")
def _host(tmp_path: Path, cluster: EtcdCluster) -> Host:
    return Host(tmp_path, cluster)


DELETION = {"whole_cluster": True, "run": claim.Run("uid-1"), "authority": 0}


@pytest.mark.parametrize(
    ("identity", "carries", "wanted"),
    [
        pytest.param("ours", (0,), {"authority": 0}, id="its own"),
        pytest.param("", (0,), {"id": "", "consent": True}, id="by hand"),
        pytest.param("theirs", (1,), {**DELETION, "consent": True}, id="of another cluster"),
        pytest.param(
            "theirs", (1,), {**DELETION, "consent": True, "authority": None}, id="whose CA the store has lost"
        ),
        pytest.param("theirs", (1,), {**DELETION, "consent": True, "id": "", "authority": None}, id="never claimed"),
        pytest.param("ours", (1,), {**DELETION, "consent": True}, id="of another cluster, with the old claim"),
        pytest.param("", (1,), {**DELETION, "consent": True}, id="of another cluster, without a claim"),
        pytest.param("theirs", (0,), {**DELETION, "consent": True}, id="of another cluster with the same CA"),
    ],
)
def test_the_host_of_a_member_beside_others_stays_as_it_is(
    host: Host, identity: str, carries: tuple[int, ...], wanted: dict[str, t.Any]
) -> None:
    """It stays in its endpoint, too, and check mode refuses the same; that a whole cluster goes is said of the machine's own."""
    host.carries(identity, *carries)
    for check in (True, False):
        with pytest.raises(NodeError, match="beside m2, m3: wiping it now would leave a dead member"):
            host.release(check, **wanted)
    assert host.done == []


@pytest.mark.parametrize(
    ("identity", "carries", "wanted"),
    [
        pytest.param("ours", (0,), DELETION, id="its own"),
        pytest.param("ours", (1, 0), DELETION, id="whose authority is being rotated"),
        pytest.param("ours", (1,), {**DELETION, "authority": None}, id="whose CA the store has lost"),
        pytest.param("", (0,), {**DELETION, "id": ""}, id="adopted"),
        pytest.param("theirs", (1,), {"id": "", "whole_cluster": True, "consent": True}, id="by hand"),
    ],
)
def test_the_host_of_a_member_is_reset_where_all_members_go(
    host: Host, identity: str, carries: tuple[int, ...], wanted: dict[str, t.Any]
) -> None:
    host.carries(identity, *carries)
    assert host.release(True, **wanted) == "the host would be reset and released"
    assert host.done == []
    assert host.release(**wanted) == "the host was reset and released"
    assert host.done == ["leave", "reset of all"]


def test_a_host_that_is_wiped_without_an_answer_of_its_etcd_says_so(make_cluster: Make, tmp_path: Path) -> None:
    """With consent alone: a run has removed the member before, and its etcd has ended since."""
    cluster = make_cluster(1)
    host = Host(tmp_path / "host", cluster)
    host.carries("ours", 0)
    assert host.release(True, consent=True) == "the host would be reset and released"
    cluster.members[0].kill()
    assert host.release(True) == "the host would be reset and released"
    for check, done in ((True, "the host would be reset"), (False, "the host was reset")):
        said = f"{done} and released. Its etcd gave no list of its members: see on another host of that cluster"
        assert host.release(check, consent=True).startswith(said)
    assert host.done == ["leave", "reset"]
