# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whose a host is: real files, sockets and processes; kubeadm, kubelet and kubectl are scripts that say their version."""

from __future__ import annotations

import json
import os
import socket
import stat
import subprocess
import threading
import typing as t
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from ansible_collections.kubeadm.control_plane.plugins.module_utils.common.guard import Fenced, NodeError
from ansible_collections.kubeadm.control_plane.plugins.module_utils.node.bootstrap.bootstrap_unit import Places
from ansible_collections.kubeadm.control_plane.plugins.module_utils.node.host import claim, host_facts, requirements
from ansible_collections.kubeadm.control_plane.plugins.module_utils.node.host.claim import Claim, Release, Run, Unfit
from ansible_collections.kubeadm.control_plane.plugins.module_utils.node.host.fitness import Wanted
from ansible_collections.kubeadm.control_plane.plugins.module_utils.node.host.host_facts import HostPlaces
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.pki import certificates

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="a claim is made by root")

MINE = Claim("id-1", "prod", "default", "prod-1")
OTHERS = Claim("id-2", "dev", "team", "dev-1")
WANTED = Wanted("v1.20.2", ports=[], address="198.51.100.5")
BRIDGE = "FileContent--proc-sys-net-bridge-bridge-nf-call-iptables"
NOW = "2026-01-01T00:00:00Z"


class Undo:
    """Stands in for kubeadm reset: removes what a cluster leaves, and notes how it was called."""

    def __init__(self, places: HostPlaces, leaves: t.Sequence[str] = ()) -> None:
        self.places = places
        self.leaves = leaves
        self.calls: list[dict[str, t.Any]] = []

    def __call__(self, **options: t.Any) -> bool:
        self.calls.append(options)
        for path in host_facts.traces(self.places):
            if path not in self.leaves:
                subprocess.run(["rm", "-r", path], check=True)
        return True


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> t.Iterator[HostPlaces]:
    """A host that has everything and carries nothing."""
    monkeypatch.setenv("PATH", str(tmp_path / "network"), prepend=os.pathsep)
    (tmp_path / "network").mkdir()
    for name, text in (
        ("network/ip", json.dumps([{"addr_info": [{"local": WANTED.address}]}])),
        ("kubeadm", "v1.20.2"),
        ("kubelet", "Kubernetes v1.20.2"),
        ("kubectl", "clientVersion: gitVersion: v1.20.2"),
        *((name, "") for name in requirements.host_programs("v1.20.2")),
    ):
        program = tmp_path / name
        program.write_text(f"#!/bin/sh\necho '{text}'\n")
        program.chmod(0o755)
    (tmp_path / "proc/net").mkdir(parents=True)
    (tmp_path / "proc/swaps").write_text("Filename Type Size Used Priority\n")
    for name in requirements.host_sysctls("v1.20.2"):
        (tmp_path / "proc/sys" / name).parent.mkdir(parents=True)
        (tmp_path / "proc/sys" / name).write_text("1\n")
    (tmp_path / "machine-id").write_text("aaaa\n")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as runtime:
        runtime.bind(str(tmp_path / "cri.sock"))
        runtime.listen()
        node = Places(
            state=str(tmp_path / "state"),
            kubernetes=str(tmp_path / "kubernetes"),
            etcd_data=str(tmp_path / "etcd"),
            kubeadm=str(tmp_path / "kubeadm"),
        )
        yield HostPlaces(
            node=node,
            machine_id=str(tmp_path / "machine-id"),
            kubelet_state=str(tmp_path / "kubelet-state"),
            proc=str(tmp_path / "proc"),
            kubelet=str(tmp_path / "kubelet"),
            kubectl=str(tmp_path / "kubectl"),
            cri_sockets=(str(tmp_path / "cri.sock"),),
            path=(str(tmp_path),),
        )


def put(places: HostPlaces, path: str, text: str = "x") -> None:
    """A file below the host's Kubernetes folder."""
    file = Path(places.node.kubernetes) / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def cluster_on(places: HostPlaces) -> str:
    """Put a cluster's CA and a static pod on the host; returns the CA's hash as kubeadm and openssl know it."""
    pair = certificates.new_ca("kubernetes", NOW)
    put(places, "pki/ca.crt", pair.crt)
    put(places, "manifests/etcd.yaml")
    return certificates.ca_cert_hash(pair.crt)


def problems(places: HostPlaces, wanted: Wanted = WANTED, mine: Claim = MINE) -> dict[str, str]:
    """What a claim is refused for, by the check's name; the host is unclaimed afterwards as before."""
    before = Path(places.claim).read_bytes() if os.path.exists(places.claim) else None
    with pytest.raises(Unfit) as error:
        claim.claim(mine, wanted, check=False, places=places)
    assert (Path(places.claim).read_bytes() if os.path.exists(places.claim) else None) == before
    ends = {"ForeignCluster": "consent_wipe=true."}
    assert all(each.fix.endswith(ends.get(each.check, ".")) for each in error.value.missing)
    return {each.check: each.message for each in error.value.missing}


def test_a_claim_is_kept_on_the_host_and_made_once(places: HostPlaces) -> None:
    made, changed = claim.claim(MINE, WANTED, check=False, places=places)
    assert changed and made.machine_id == "aaaa"
    assert claim.claim(MINE, WANTED, check=False, places=places) == (made, False)
    assert claim.read_claim(places) == made
    assert stat.S_IMODE(os.stat(places.claim).st_mode) == 0o600
    assert json.loads(Path(places.claim).read_text())["cluster"] == "prod"


def test_check_mode_refuses_the_same_and_writes_nothing(places: HostPlaces) -> None:
    assert claim.claim(MINE, WANTED, check=True, places=places)[1]
    assert not os.path.exists(places.node.state)
    put(places, "admin.conf")
    with pytest.raises(Unfit):
        claim.claim(MINE, WANTED, check=True, places=places)


def test_another_cluster_s_claim_is_named(places: HostPlaces) -> None:
    claim.claim(OTHERS, WANTED, check=False, places=places)
    assert "cluster team/dev, machine dev-1" in problems(places)["Claim"]


def test_a_claim_that_can_t_be_read_is_not_taken_for_none(places: HostPlaces) -> None:
    os.makedirs(places.node.state)
    Path(places.claim).write_text("{")
    assert "can't be read" in problems(places)["Claim"]


def test_of_two_claims_at_once_one_is_made(places: HostPlaces) -> None:
    """Two stores that know nothing of each other: the host decides."""
    claims = [replace(MINE, id=f"id-{number}") for number in range(4)]
    start = threading.Barrier(len(claims))

    def compete(mine: Claim) -> str:
        start.wait()
        try:
            claim.claim(mine, WANTED, check=False, places=places)
        except Unfit:
            return ""
        return mine.id

    with ThreadPoolExecutor(max_workers=len(claims)) as pool:
        won = [name for name in pool.map(compete, claims) if name]
    found = claim.read_claim(places)
    assert found is not None and won == [found.id]


def test_everything_that_is_missing_is_said_at_once(places: HostPlaces, tmp_path: Path) -> None:
    (tmp_path / "kubeadm").write_text("#!/bin/sh\necho v1.19.0\n")
    (tmp_path / "kubelet").unlink()
    (tmp_path / "kubectl").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "proc/swaps").write_text("Filename\n/dev/sda2 partition 1 0 -2\n")
    (tmp_path / "proc/net/tcp").write_text("head\n 0: 00000000:192B 00000000:0000 0A 0\n 1: 00000000:0016 0:0 01 0\n")
    (tmp_path / "machine-id").write_text("")
    wanted = replace(WANTED, ports=[6443, 22], cri_socket="unix:///none.sock", address="192.0.2.9", now=1.0)
    found = problems(places, wanted)
    assert found["KubeadmVersion"] == "kubeadm is v1.19.0, and v1.20.2 is wanted"
    assert "not there" in found["KubeletVersion"]
    assert "kubectl" in found["FileExisting-kubectl"] and "/dev/sda2" in found["Swap"]
    assert "6443" in found["Port-6443"] and "Port-22" not in found
    assert "/none.sock" in found["CRI"] and "192.0.2.9" in found["Address"]
    assert "machine-id" in found["MachineID"] and "clock" in found["ClockSkew"]


@pytest.mark.parametrize("waived", [["Swap"], ["all"], ["swap"]])
def test_what_kubeadm_is_told_to_ignore_is_not_insisted_on(
    places: HostPlaces, tmp_path: Path, waived: list[str]
) -> None:
    (tmp_path / "proc/swaps").write_text("Filename\n/dev/sda2 partition 1 0 -2\n")
    assert claim.claim(MINE, replace(WANTED, ignore=waived), check=True, places=places)[1]


@pytest.mark.parametrize(
    ("version", "refused"),
    [
        ("v1.17.9", {"FileExisting-crictl", BRIDGE}),
        ("v1.20.2", {"FileExisting-conntrack", "FileExisting-crictl", BRIDGE}),
        ("v1.31.0", {"FileExisting-conntrack"}),
        ("v1.34.1", set()),
    ],
)
def test_what_that_version_of_kubeadm_insists_on(
    places: HostPlaces, tmp_path: Path, version: str, refused: set[str]
) -> None:
    """Never more than kubeadm itself would: a newer one needs neither conntrack nor bridged packets in iptables."""
    for name in ("kubeadm", "kubelet"):
        (tmp_path / name).write_text(f"#!/bin/sh\necho {version}\n")
    for name in ("conntrack", "crictl", "proc/sys/net/bridge/bridge-nf-call-iptables"):
        (tmp_path / name).unlink()
    wanted = replace(WANTED, version=version)
    if refused:
        assert set(problems(places, wanted)) == refused
    assert claim.claim(MINE, replace(wanted, ignore=list(refused)), check=True, places=places)[1]


def test_a_kernel_setting_is_named_as_sysctl_does(places: HostPlaces, tmp_path: Path) -> None:
    (tmp_path / "proc/sys/net/ipv4/ip_forward").write_text("0\n")
    (tmp_path / "proc/sys/net/bridge/bridge-nf-call-iptables").unlink()
    found = problems(places)
    assert "net.ipv4.ip_forward is 0" in found["FileContent--proc-sys-net-ipv4-ip_forward"]
    assert "not there" in found[BRIDGE]


def test_kubectl_is_never_waived(places: HostPlaces, tmp_path: Path) -> None:
    """It is this collection's own need, not kubeadm's."""
    (tmp_path / "kubectl").unlink()
    assert "FileExisting-kubectl" in problems(places, replace(WANTED, ignore=["all", "FileExisting-kubectl"]))


def test_a_stranger_s_cluster_is_never_waived(places: HostPlaces) -> None:
    digest = cluster_on(places)
    found = problems(places, replace(WANTED, ignore=["all", "ForeignCluster", "Claim"]))
    assert list(found) == ["ForeignCluster"]
    assert digest in found["ForeignCluster"] and "manifests/etcd.yaml" in found["ForeignCluster"]


@pytest.mark.parametrize("part", ["kubernetes/kubelet.conf", "etcd/member/wal", "kubelet-state/config.yaml"])
def test_every_trace_of_a_cluster_counts(places: HostPlaces, tmp_path: Path, part: str) -> None:
    (tmp_path / part).parent.mkdir(parents=True)
    (tmp_path / part).write_text("x")
    assert part.split("/wal")[0] in problems(places)["ForeignCluster"]


def test_a_running_control_plane_without_files_counts(places: HostPlaces, tmp_path: Path) -> None:
    (tmp_path / "proc/4242").mkdir()
    (tmp_path / "proc/4242/comm").write_text("kube-controller\n")
    assert "a running kube-controller-manager" in problems(places)["ForeignCluster"]


def test_the_cluster_that_it_is_claimed_for_may_be_there_already(places: HostPlaces) -> None:
    digest = cluster_on(places)
    assert claim.claim(MINE, replace(WANTED, ca_cert_hash=digest), check=False, places=places)[1]


def test_one_machine_id_under_two_names(places: HostPlaces) -> None:
    assert "of h7" in problems(places, replace(WANTED, known_machine_ids={"aaaa": "h7"}))["MachineID"]


def test_a_copy_of_a_claimed_host_is_no_host_of_ours(places: HostPlaces, tmp_path: Path) -> None:
    claim.claim(MINE, WANTED, check=False, places=places)
    (tmp_path / "machine-id").write_text("bbbb\n")
    assert "copy" in problems(places)["MachineID"]


@pytest.mark.parametrize("algorithm", ["RSA-2048", "ECDSA-P256"])
def test_the_ca_s_hash_is_kubeadm_s_own(places: HostPlaces, algorithm: str) -> None:
    """The nodes' own reading of a certificate, against cryptography's."""
    pair = certificates.new_ca("kubernetes", NOW, algorithm)
    put(places, "pki/ca.crt", pair.crt)
    assert host_facts.ca_cert_hash(places) == certificates.ca_cert_hash(pair.crt)
    put(places, "pki/ca.crt", "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n")
    assert host_facts.ca_cert_hash(places) == "unreadable"


def release(places: HostPlaces, undo: t.Optional[Undo] = None, **options: t.Any) -> tuple[bool, str]:
    """Release the host from machine prod-1."""
    wanted = Release(**{"id": "id-1", "machine": "prod-1", **options})
    return claim.release(wanted, check=False, places=places, undo=undo or Undo(places))


def test_a_released_host_carries_nothing_and_can_be_claimed_again(places: HostPlaces) -> None:
    claim.claim(MINE, WANTED, check=False, places=places)
    digest = cluster_on(places)
    (Path(places.node.state) / "fencing").write_text("99\n")
    undo = Undo(places)
    assert release(places, undo, ca_cert_hash=digest)[0]
    assert undo.calls[0]["whole_cluster"] is False
    assert sorted(os.listdir(places.node.state)) == ["lock"]
    assert release(places, ca_cert_hash=digest) == (False, "nothing of the machine was left on the host")
    assert claim.claim(OTHERS, WANTED, check=False, places=places)[1]


def test_a_host_leaves_its_endpoint_before_it_is_reset(places: HostPlaces) -> None:
    """Its address goes to another one while there is an API server here yet."""
    done: list[str] = []
    assert claim.claim(MINE, WANTED, check=False, places=places)[1]

    def undo(**_options: t.Any) -> bool:
        done.append("reset")
        return True

    def leave(check: bool) -> bool:
        done.append("leave")
        return not check

    assert claim.release(Release("id-1", "prod-1"), check=True, places=places, undo=undo, leave=leave)[0] and not done
    assert claim.release(Release("id-1", "prod-1"), check=False, places=places, undo=undo, leave=leave)[0]
    assert done == ["leave", "reset"]


def test_a_run_that_lost_its_lock_neither_claims_nor_releases(places: HostPlaces) -> None:
    """Its cluster's newest run has released the host: the number stays, for each cluster its own."""
    run, newer, other = Run("uid-1", 5), Run("uid-1", 6), Run("uid-2", 2)
    assert claim.claim(MINE, WANTED, check=False, places=places, run=run)[1]
    assert (Path(places.node.state) / "fencing").read_text() == "5\n"
    claim.release(Release("id-1", "prod-1"), check=False, places=places, undo=Undo(places), run=newer)
    for check in (True, False):
        with pytest.raises(Fenced, match="number is 5, but of this cluster this host has seen a run with number 6"):
            claim.claim(MINE, WANTED, check=check, places=places, run=run)
    assert claim.read_claim(places) is None
    assert claim.claim(OTHERS, WANTED, check=False, places=places, run=other)[1]
    assert (Path(places.node.state) / "fencing").read_text() == "2\n"
    with pytest.raises(Fenced):
        claim.release(Release("id-1", "prod-1"), check=False, places=places, undo=Undo(places), run=run)


def test_a_host_remembers_the_newest_run_of_a_hundred_clusters(places: HostPlaces) -> None:
    """The oldest are forgotten; what is no identity is no name of a file."""
    folder = Path(places.node.state) / "clusters"
    for number in range(claim.CLUSTERS_KEPT + 5):
        run = Run(f"uid-{number}", 1)
        assert claim.claim(MINE, WANTED, check=False, places=places, run=run)[0].id == MINE.id
        os.utime(folder / run.cluster_id, (number, number))
    left = {path.name for path in folder.iterdir()}
    assert len(left) <= claim.CLUSTERS_KEPT + 1 and f"uid-{number}" in left and "uid-0" not in left
    with pytest.raises(NodeError, match="no identity of a cluster"):
        claim.claim(MINE, WANTED, check=False, places=places, run=Run("../x", 1))


def test_a_release_that_was_cut_off_is_completed(places: HostPlaces) -> None:
    """kubeadm reset ran, the claim was still there."""
    claim.claim(MINE, WANTED, check=False, places=places)
    assert release(places)[0] and claim.read_claim(places) is None


def test_what_can_t_be_wiped_keeps_its_claim(places: HostPlaces) -> None:
    claim.claim(MINE, WANTED, check=False, places=places)
    put(places, "admin.conf")
    path = os.path.join(places.node.kubernetes, "admin.conf")
    with pytest.raises(NodeError, match=r"still on the host.*admin\.conf"):
        release(places, Undo(places, [path]))
    assert claim.read_claim(places) is not None


@pytest.mark.parametrize("begun", [{}, {"released_before": True, "consented": OTHERS.id}])
def test_another_claim_is_refused_without_consent(places: HostPlaces, begun: dict[str, t.Any]) -> None:
    claim.claim(OTHERS, WANTED, check=False, places=places)
    cluster_on(places)
    undo = Undo(places)
    with pytest.raises(NodeError, match="claimed by cluster team/dev"):
        release(places, undo, **begun)
    assert undo.calls == []
    assert release(places, undo, consent=True, **begun)[0] and claim.read_claim(places) is None


@pytest.mark.parametrize("begun", [{"released_before": True}, {"consented": ""}, {"consented": "id-3"}])
def test_a_host_that_was_given_back_and_taken_by_another_stays(places: HostPlaces, begun: dict[str, t.Any]) -> None:
    claim.claim(OTHERS, WANTED, check=False, places=places)
    undo = Undo(places)
    said = [release(places, undo, consent=each, **begun) for each in (False, True)]
    assert all("cluster team/dev" in message and not changed for changed, message in said) and undo.calls == []


def test_another_cluster_s_ca_is_refused_without_consent(places: HostPlaces) -> None:
    claim.claim(MINE, WANTED, check=False, places=places)
    cluster_on(places)
    with pytest.raises(NodeError, match="this cluster's is sha256:00"):
        release(places, ca_cert_hash="sha256:00")
    assert release(places, ca_cert_hash="sha256:00", consent=True)[0]


def test_a_cluster_without_a_claim_is_wiped_only_by_its_own(places: HostPlaces) -> None:
    """An adopted machine has no claim: the CA tells whose it is; so does the record of a bootstrap that failed early."""
    digest = cluster_on(places)
    with pytest.raises(NodeError, match="nothing on it says"):
        release(places, id="")
    assert release(places, id="", ca_cert_hash=digest)[0]
    put(places, "manifests/etcd.yaml")
    os.makedirs(places.node.state, exist_ok=True)
    Path(places.node.record).write_text(json.dumps({"step": "bootstrap-prod-1"}))
    assert release(places, ca_cert_hash=digest)[0]


def test_that_everything_goes_is_handed_on(places: HostPlaces) -> None:
    """Members beside others are no reason to refuse where all of them go."""
    claim.claim(MINE, WANTED, check=False, places=places)
    undo = Undo(places)
    release(places, undo, whole_cluster=True)
    assert undo.calls[0]["whole_cluster"] is True and undo.calls[0]["discard_etcd_data"] is True
