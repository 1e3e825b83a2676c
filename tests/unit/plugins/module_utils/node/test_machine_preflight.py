# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a machine is fit: real files, sockets and programs; kubeadm, kubelet and kubectl are scripts that say their version."""

from __future__ import annotations

import os
import re
import socket
import time
import typing as t
from dataclasses import replace
from pathlib import Path

import pytest

from ansible_collections.kubeadm.control_plane.plugins.module_utils.node.bootstrap.bootstrap_unit import Places
from ansible_collections.kubeadm.control_plane.plugins.module_utils.node.host import (
    fitness,
    machine_preflight,
    requirements,
)
from ansible_collections.kubeadm.control_plane.plugins.module_utils.node.host.external_etcd import ExternalEtcd
from ansible_collections.kubeadm.control_plane.plugins.module_utils.node.host.host_facts import HostPlaces
from ansible_collections.kubeadm.control_plane.plugins.module_utils.node.host.machine_preflight import (
    Check,
    Wanted,
    look_at,
)

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="one of the checks is for root")

WANTED = Wanted(version="v1.20.2", ports=(), node_name="localhost")
# What depends on the host that the tests run on.
OF_THIS_HOST = {"Address", "EtcdDisk", "KubeletDisk", "NumCPU"}
LISTEN = (
    "  0: 00000000:{:04X} 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 {} 1 0 100 0 0 10 0\n"
)


class Host(t.NamedTuple):
    """A machine's folders."""

    folder: Path
    places: HostPlaces

    def program(self, name: str, text: str) -> None:
        path = self.folder / name
        path.write_text(f"#!/bin/sh\necho '{text}'\n")
        path.chmod(0o755)

    def process(self, number: int, name: str, port: int = 0) -> None:
        """A process of that name; it may listen on a port."""
        folder = self.folder / "proc" / str(number)
        (folder / "fd").mkdir(parents=True)
        (folder / "comm").write_text(f"{name[:15]}\n")
        if port:
            (folder / "fd" / "3").symlink_to(f"socket:[{1000 + number}]")
            with (self.folder / "proc/net/tcp").open("a") as table:
                table.write(LISTEN.format(port, 1000 + number))

    def wrong(self, **changes: t.Any) -> dict[str, Check]:
        """What is not well, by name."""
        found = look_at(replace(WANTED, **changes), self.places)
        assert len({each.name for each in found}) == len(found), "a check is there twice"
        for each in found:
            assert each.ok or (each.message and each.remedy), each
        return {each.name: each for each in found if not each.ok and each.name not in OF_THIS_HOST}


@pytest.fixture(name="host")
def _host(tmp_path: Path) -> t.Iterator[Host]:
    """A host that has everything and carries nothing."""
    proc = tmp_path / "proc"
    (proc / "net").mkdir(parents=True)
    (proc / "swaps").write_text("Filename Type Size Used Priority\n")
    (proc / "net/tcp").write_text("  sl  local_address\n")
    (proc / "meminfo").write_text("MemTotal:        4000000 kB\n")
    for name in requirements.host_sysctls("v1.20.2"):
        path = proc / "sys" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("1\n")
    (tmp_path / "sys/fs/cgroup").mkdir(parents=True)
    (tmp_path / "sys/fs/cgroup/cgroup.controllers").write_text("cpuset cpu io memory pids\n")
    (tmp_path / "machine-id").write_text(f"{'0' * 31}1\n")
    runtime = str(tmp_path / "runtime.sock")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as server:
        server.bind(runtime)
        server.listen()
        places = HostPlaces(
            node=Places(
                state=str(tmp_path / "state"),
                kubernetes=str(tmp_path / "kubernetes"),
                etcd_data=str(tmp_path / "etcd"),
                kubeadm=str(tmp_path / "kubeadm"),
            ),
            machine_id=str(tmp_path / "machine-id"),
            kubelet_state=str(tmp_path / "kubelet-state"),
            proc=str(proc),
            kubelet=str(tmp_path / "kubelet"),
            kubectl=str(tmp_path / "kubectl"),
            containerd=str(tmp_path / "config.toml"),
            cri_sockets=(runtime,),
            path=(str(tmp_path),),
        )
        made = Host(tmp_path, places)
        for name in requirements.host_programs("v1.20.2"):
            made.program(name, "")
        made.program("kubeadm", "v1.20.2")
        made.program("kubelet", "Kubernetes v1.20.2")
        made.program("kubectl", "clientVersion: gitVersion: v1.20.2")
        yield made


def test_a_fit_host_has_nothing_wrong_and_every_check_is_told(host: Host) -> None:
    assert host.wrong() == {}
    names = [each.name for each in look_at(replace(WANTED, ports=(6443,), now=time.time()), host.places)]
    for name in (
        "Python",
        "IsPrivilegedUser",
        "KubeadmVersion",
        "CRI",
        "Swap",
        "Port-6443",
        "ClockSkew",
        "Leftovers",
        "EtcdDisk",
    ):
        assert name in names
    # Without a wish, kubeadm's own version counts.
    host.program("kubeadm", "v1.21.0")
    assert set(host.wrong(version="")) == {"KubeletVersion"}


def test_everything_that_is_wrong_is_told_at_once(host: Host) -> None:
    host.program("kubelet", "Kubernetes v1.19.1")
    (host.folder / "proc/swaps").write_text("Filename Type\n/dev/sda2 partition\n")
    (host.folder / "proc/sys/net/ipv4/ip_forward").write_text("0\n")
    (host.folder / "proc/meminfo").write_text("MemTotal:        1000000 kB\n")
    (host.folder / "sys/fs/cgroup/cgroup.controllers").write_text("cpu memory\n")
    (host.folder / "kubernetes/manifests").mkdir(parents=True)
    (host.folder / "kubernetes/manifests/etcd.yaml").write_text("kind: Pod\n")
    host.process(77, "postgres", 2379)
    wrong = host.wrong(ports=(2379,), now=time.time() - 3600, node_name="Prod_1")
    assert {name for name, each in wrong.items() if each.severity == "error"} == {
        "KubeletVersion",
        "Swap",
        "FileContent--proc-sys-net-ipv4-ip_forward",
        "Mem",
        "SystemVerification",
        "Leftovers",
        "Port-2379",
        "ClockSkew",
        "NodeName",
    }
    assert "postgres (process 77) listens on port 2379" in wrong["Port-2379"].message
    assert "lack cpuset, pids" in wrong["SystemVerification"].message
    assert "consent_wipe=true" in wrong["Leftovers"].remedy
    assert "etcd.yaml" in wrong["Leftovers"].message and "'Prod_1'" in wrong["NodeName"].message
    # What is ignored is still told.
    ignored = host.wrong(ports=(2379,), ignore=("swap", "Mem"))
    assert {ignored[name].severity for name in ("Swap", "Mem")} == {"warning"}
    assert ignored["Leftovers"].severity == "error"
    assert {each.severity for each in host.wrong(ignore=("all",)).values()} == {"warning"}


@pytest.mark.parametrize(
    ("version", "outcome"), [("v1.30.0", None), ("v1.31.0", "warning"), ("v1.34.9", "warning"), ("v1.35.0", "error")]
)
def test_cgroup_v1_is_judged_by_the_kubelets_version(host: Host, version: str, outcome: t.Optional[str]) -> None:
    (host.folder / "sys/fs/cgroup/cgroup.controllers").unlink()
    rows = "".join(f"{name}\t1\t1\t1\n" for name in machine_preflight.CONTROLLERS)
    (host.folder / "proc/cgroups").write_text(f"#subsys_name\thierarchy\tnum_cgroups\tenabled\n{rows}")
    found = host.wrong(version=version).get("CgroupVersion")
    assert (found.severity if found else None) == outcome


SYSTEMD, CGROUPFS = "  SystemdCgroup = true\n", "version = 2\n"


@pytest.mark.parametrize(
    ("version", "containerd", "kubelets", "differ"),
    [
        ("v1.21.0", CGROUPFS, "", ""),
        ("v1.22.0", CGROUPFS, "", "driver cgroupfs .* the kubelet systemd, kubeadm's default since 1.22"),
        ("v1.22.0", SYSTEMD, "", ""),
        ("v1.22.0", "", "", ""),
        ("v1.22.0", CGROUPFS, "cgroupfs", ""),
        ("v1.22.0", SYSTEMD, "cgroupfs", "driver systemd .* the kubelet cgroupfs$"),
        ("v1.21.0", CGROUPFS, "systemd", "driver cgroupfs .* the kubelet systemd$"),
    ],
)
def test_a_cgroup_driver_is_told_where_the_kubelets_is_another(
    host: Host, version: str, containerd: str, kubelets: str, differ: str
) -> None:
    """The kubelet's is what is asked for, or on an existing node what its files have, of which a flag wins."""
    (host.folder / "config.toml").write_text(containerd)
    folder = host.folder / "kubelet-state"
    folder.mkdir()
    found = [host.wrong(version=version, cgroup_driver=kubelets)]
    (folder / "config.yaml").write_text(f"cgroupDriver: {kubelets}\n" if kubelets else "kind: KubeletConfiguration\n")
    found.append(host.wrong(version=version, existing=True))
    (folder / "kubeadm-flags.env").write_text(
        f'KUBELET_KUBEADM_ARGS="--cgroup-driver={kubelets}"\n' if kubelets else ""
    )
    (folder / "config.yaml").write_text("cgroupDriver: other\n" if kubelets else "")
    found.append(host.wrong(version=version, existing=True))
    told = [each["CgroupDriver"].message if "CgroupDriver" in each else "" for each in found]
    assert all(re.search(differ, each) if differ else not each for each in told), told


def test_an_existing_node_is_asked_for_its_own_runtime_and_for_no_address(host: Host) -> None:
    """It was claimed, or adopted, with a socket and an address that the manifest names, and nothing else knows here."""
    (host.folder / "kubelet-state").mkdir()
    flags = f'KUBELET_KUBEADM_ARGS="--container-runtime-endpoint=unix://{host.folder}/runtime.sock"\n'
    (host.folder / "kubelet-state/kubeadm-flags.env").write_text(flags)
    elsewhere = replace(host.places, cri_sockets=(str(host.folder / "none.sock"),))
    found = {each.name: each.ok for each in look_at(replace(WANTED, existing=True), elsewhere)}
    assert found["CRI"] and "Address" not in found
    new = {each.name: each.ok for each in look_at(WANTED, elsewhere)}
    assert not new["CRI"] and "Address" in new
    (host.folder / "runtime.sock").unlink()
    assert "CRI" in host.wrong(existing=True)


def test_an_existing_node_has_to_run_what_it_is_made_of(host: Host) -> None:
    (host.folder / "kubernetes/manifests").mkdir(parents=True)
    (host.folder / "kubernetes/manifests/etcd.yaml").write_text("kind: Pod\n")
    host.process(1, "kube-apiserver", 6443)
    host.process(2, "kube-scheduler")
    host.process(3, "kube-controller-manager", 10257)
    host.process(4, "haproxy", 2379)
    wrong = host.wrong(existing=True, ports=(6443, 10257, 2379, 10250))
    assert set(wrong) == {"ControlPlane", "Port-2379", "Port-10250"}
    assert wrong["ControlPlane"].message == "etcd does not run"
    assert "haproxy (process 4) listens on port 2379, which is etcd's" in wrong["Port-2379"].message
    assert wrong["Port-10250"].message == "nothing listens on port 10250"
    # Where etcd is external, none is missed here.
    external = ExternalEtcd(("http://127.0.0.1:1",))
    assert set(host.wrong(existing=True, ports=(6443, 2379), etcd=external)) == {"ExternalEtcd"}


def test_other_hosts_are_asked_where_they_are_named(host: Host) -> None:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        port = server.getsockname()[1]
        assert set(host.wrong(endpoint=f"127.0.0.1:{port}")) == {"ControlPlaneEndpoint"}
        server.listen()
        assert host.wrong(endpoint=f"127.0.0.1:{port}") == {}
    assert "does not answer" in host.wrong(endpoint="nonsense")["ControlPlaneEndpoint"].message
    found = host.wrong(etcd=ExternalEtcd(("http://127.0.0.1:1",)))["ExternalEtcd"]
    assert found.severity == "error" and "127.0.0.1:1" in found.message


@pytest.mark.parametrize(
    ("version", "other", "refused"),
    [
        ("v1.20.2", "crio.sock", True),
        ("v1.31.0", "cri-dockerd.sock", True),
        # kubeadm of that version doesn't know it.
        ("v1.20.2", "cri-dockerd.sock", False),
    ],
)
def test_of_several_runtimes_one_has_to_be_named(host: Host, version: str, other: str, refused: bool) -> None:
    """kubeadm refuses them before its preflight checks, so that none of these waives it."""
    sockets = (*host.places.cri_sockets, str(host.folder / other))
    places = replace(host.places, cri_sockets=sockets)
    wanted = fitness.Wanted(version, ports=(), ignore=["all"])

    def found(asked: fitness.Wanted) -> list[str]:
        return [each.message for each in fitness.lacks(asked, places) if each.check == "CRISocket"]

    assert found(wanted) == []
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as server:
        server.bind(sockets[1])
        server.listen()
        assert len(found(wanted)) == refused and all(f"({', '.join(sockets)})" in each for each in found(wanted))
        assert found(replace(wanted, cri_socket=f"unix://{sockets[0]}")) == []
        # The kubelet of a node that is there already uses one of them.
        assert found(replace(wanted, ca_cert_hash="sha256:0")) == []
