# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""kube-vip of a host as a static pod: what is written, whose kubeconfig it reads, what is refused and taken away."""

from __future__ import annotations

import json
import os
import subprocess
import typing as t
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from ansible_collections.kubeadm.control_plane.plugins.module_utils.common.guard import NodeError
from ansible_collections.kubeadm.control_plane.plugins.module_utils.node.bootstrap.bootstrap_unit import Places
from ansible_collections.kubeadm.control_plane.plugins.module_utils.node.endpoint import kube_vip
from ansible_collections.kubeadm.control_plane.plugins.module_utils.node.host.missing_images import ImagePlaces

VIP, STRANGER = "192.0.2.250", "02:00:00:00:00:01"
IMAGE = "registry.invalid/kube-vip:v1.2.3"
WANTED = kube_vip.Wanted(VIP, 6443, IMAGE)
STATIC, OF_A_DAEMON_SET = "0123456789abcdef0123456789abcdef", "11111111-2222-3333-4444-555555555555"


class System:
    """A host's ip and processes. Its kubelet starts and ends kube-vip as its manifest comes and goes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        bootstrap = Places(state=str(folder / "state"), kubernetes=str(folder / "kubernetes"))
        self.host = kube_vip.Host(
            bootstrap=bootstrap,
            images=ImagePlaces(sockets=(), docker=str(folder / "no-docker"), detours=(), containerd=""),
            runner=self.run,
            proc=str(folder / "proc"),
            pod_logs=str(folder / "logs"),
            end=self.end,
            ends_seconds=0.0,
        )
        self.path = Path(self.host.path)
        for name in ("proc", "logs", "state"):
            (folder / name).mkdir()
        self.addresses = {"eth0": ["192.0.2.11/24"], "eth1": ["198.51.100.11/24"]}
        self.neighbour = ""
        self.ended: list[set[tuple[int, int]]] = []
        self.stubborn = False

    def run(self, words: t.Sequence[str]) -> subprocess.CompletedProcess[str]:
        """Answer like ip."""
        said = ""
        if words[:3] == ["ip", "-json", "address"]:
            wanted = words[words.index("to") + 1] if "to" in words else ""
            links = [
                {
                    "ifname": name,
                    "addr_info": [
                        {"local": each.split("/")[0], "prefixlen": int(each.split("/")[1])}
                        for each in found
                        if wanted in ("", each.split("/")[0])
                    ],
                }
                for name, found in self.addresses.items()
            ]
            said = json.dumps(links)
        elif words[:3] == ["ip", "-json", "neighbour"]:
            said = json.dumps([{"lladdr": self.neighbour} if self.neighbour else {"state": ["FAILED"]}])
        elif words[:3] == ["ip", "address", "delete"]:
            self.addresses[words[5]].remove(words[3])
        return subprocess.CompletedProcess(words, 0, said, "")

    def end(self, processes: t.Collection[tuple[int, int]]) -> None:
        """Note which processes were asked to end; they do, unless they are stubborn."""
        self.ended.append(set(processes))
        for pid, _started in () if self.stubborn else processes:
            (self.folder / "proc" / str(pid) / "stat").unlink()

    def process(self, pid: int, uid: str, pod: str) -> None:
        """Have a kube-vip run in a pod."""
        folder = self.folder / "proc" / str(pid)
        folder.mkdir()
        (folder / "comm").write_text("kube-vip\n")
        (folder / "cgroup").write_text(f"0::/kubepods/burstable/pod{uid}/c0ffee\n")
        (folder / "stat").write_text(f"{pid} (kube-vip) S {' '.join(['1'] * 18)} 7 0\n")
        (self.folder / "logs" / f"kube-system_{pod}_{uid}").mkdir(parents=True, exist_ok=True)

    def bootstrapped(self, state: str) -> None:
        """Have this collection's record say how kubeadm ended here."""
        Path(self.host.bootstrap.record).write_text(json.dumps({"state": state, "step": "bootstrap-m", "kind": "init"}))

    def present(self, wanted: kube_vip.Wanted = WANTED, check: bool = False) -> bool:
        """Bring it about; return whether it changed."""
        before, after, interface = kube_vip.present(wanted, check=check, host=self.host)
        assert interface == "eth0"
        return before != after

    def absent(self, check: bool = False) -> bool:
        """Take the host out; return whether that changed anything."""
        return kube_vip.absent(check=check, host=self.host)

    def pod(self) -> dict[str, t.Any]:
        """The pod's spec that the kubelet reads."""
        spec: dict[str, t.Any] = yaml.safe_load(self.path.read_text())["spec"]
        return spec

    def kubeconfig(self) -> str:
        """The host's file that kube-vip reads."""
        [volume] = self.pod()["volumes"]
        return Path(volume["hostPath"]["path"]).name


@pytest.fixture(name="system")
def _system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> System:
    monkeypatch.setattr("socket.getaddrinfo", lambda *_words, **_more: [])
    return System(tmp_path)


def test_a_host_comes_behind_the_address_and_leaves_it(system: System) -> None:
    """Only the kubelet's file is written, for root alone; a second run of either changes nothing."""
    assert system.present(check=True) and not system.path.exists()
    assert system.present(replace(WANTED, alone=True))
    assert system.path.stat().st_mode & 0o777 == 0o600 and [each.name for each in system.path.parent.iterdir()] == [
        "kube-vip.yaml"
    ]
    assert not system.present()
    assert system.absent(check=True) and system.path.exists()
    assert system.absent() and not system.path.exists()
    assert not system.absent()


def test_the_pod_is_that_of_kube_vips_own_manifest_command(system: System) -> None:
    """As kube-vip 1.2.3 prints it with --controlplane --arp --leaderElection, this address and interface, and its e2e tests' lease."""
    system.present()
    spec = system.pod()
    [container] = spec["containers"]
    assert {each["name"]: each.get("value") for each in container["env"]} == {
        "vip_arp": "true",
        "port": "6443",
        "vip_nodename": None,
        "vip_interface": "eth0",
        "vip_subnet": "32",
        "dns_mode": "first",
        "cp_enable": "true",
        "cp_namespace": "kube-system",
        "vip_leaderelection": "true",
        "vip_leasename": "plndr-cp-lock",
        "vip_leaseduration": "5",
        "vip_renewdeadline": "3",
        "vip_retryperiod": "1",
        "address": VIP,
        "prometheus_server": ":2112",
    }
    [node] = [each["valueFrom"] for each in container["env"] if "valueFrom" in each]
    assert node == {"fieldRef": {"fieldPath": "spec.nodeName"}}
    assert (container["image"], container["args"], container["imagePullPolicy"]) == (IMAGE, ["manager"], "IfNotPresent")
    assert container["securityContext"] == {"capabilities": {"add": ["NET_ADMIN", "NET_RAW"], "drop": ["ALL"]}}
    assert container["volumeMounts"] == [{"name": "kubeconfig", "mountPath": "/etc/kubernetes/admin.conf"}]
    assert spec["hostNetwork"] and spec["hostAliases"] == [{"ip": "127.0.0.1", "hostnames": ["kubernetes"]}]


def test_an_ipv6_address_is_written_as_the_kernel_does(system: System) -> None:
    """With its own length, so that no network follows from it."""
    system.addresses["eth0"] = ["2001:db8::11/64"]
    system.present(replace(WANTED, address="2001:0db8::00fa"))
    settings = {each["name"]: each.get("value") for each in system.pod()["containers"][0]["env"]}
    assert (settings["address"], settings["vip_subnet"]) == ("2001:db8::fa", "128")


def test_super_admin_conf_is_read_for_kubeadm_init_alone(system: System) -> None:
    """Also by a run that finds kubeadm at work, or failed; afterwards kube-vip is as on every other host."""
    first = replace(WANTED, super_admin=True, alone=True)
    assert system.present(first) and system.kubeconfig() == "super-admin.conf"
    for state in ("Running", "Failed"):
        system.bootstrapped(state)
        assert not system.present(first)
    system.bootstrapped("Succeeded")
    assert system.present(first) and system.kubeconfig() == "admin.conf"
    assert not system.present(WANTED)


def test_a_changed_kube_vip_is_waited_for(system: System, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next step goes through the address: another process has come, and has it."""
    system.present()
    system.process(10, STATIC, "kube-vip-m")
    turns: list[str] = []

    def turn(_seconds: float) -> None:
        turns.append("")
        if len(turns) == 1:
            system.end({(10, 7)})
        elif len(turns) == 2:
            system.process(11, "f" * 32, "kube-vip-m")
        else:
            system.addresses["eth0"].append(f"{VIP}/32")

    monkeypatch.setattr("time.sleep", turn)
    assert system.present(replace(WANTED, image=f"{IMAGE}-1", alone=True)) and len(turns) == 3


def test_a_kubelet_that_ends_nothing(system: System) -> None:
    """kube-vip is asked to end itself, and takes no address with it that it was killed with; a DaemonSet's for Services is left alone."""
    system.present()
    system.process(10, STATIC, "kube-vip-m")
    system.process(11, OF_A_DAEMON_SET, "kube-vip-ds-x7k2p")
    system.addresses["eth0"].append(f"{VIP}/32")
    system.stubborn = True
    with pytest.raises(NodeError, match="kube-vip does not end"):
        system.absent()
    assert not system.path.exists()
    system.stubborn = False
    assert system.absent(), "a run that was killed is continued"
    assert system.ended == [{(10, 7)}, {(10, 7)}] and system.addresses["eth0"] == ["192.0.2.11/24"]
    assert not system.absent()


@pytest.mark.parametrize("check", [True, False])
def test_a_kubeconfig_that_was_written_again_is_read_again(system: System, check: bool) -> None:
    """Also where no API server answers, as when all certificates have ended. What has read it, and is another's, runs on."""
    system.present()
    system.process(10, STATIC, "kube-vip-m")
    system.process(11, OF_A_DAEMON_SET, "kube-vip-ds-x7k2p")
    admin = Path(system.host.bootstrap.kubernetes, "admin.conf")
    admin.write_text("renewed")
    os.utime(admin, (0, 0))
    assert not kube_vip.reread(check=check, host=system.host) and not system.ended
    os.utime(admin)
    assert kube_vip.reread(check=check, host=system.host)
    assert system.ended == ([] if check else [{(10, 7)}]) and system.path.exists()
    assert kube_vip.reread(check=check, host=system.host) is check, (
        "the kubelet has not started it yet: nothing is left"
    )


def test_a_kube_vip_that_is_not_this_collections_is_not_restarted(system: System) -> None:
    _own_kube_vip(system)
    system.path.write_text(system.path.read_text() + "      path: /etc/kubernetes/admin.conf\n")
    Path(system.host.bootstrap.kubernetes, "admin.conf").write_text("renewed")
    system.process(10, STATIC, "kube-vip-m")
    assert not kube_vip.reread(check=False, host=system.host) and not system.ended


def _somebody_answers(system: System) -> None:
    system.neighbour = STRANGER


def _own_address(system: System) -> None:
    system.addresses["eth0"].append(f"{VIP}/24")


def _own_kube_vip(system: System) -> None:
    system.path.parent.mkdir(parents=True)
    system.path.write_text("apiVersion: v1\n")


def _no_image(system: System) -> None:
    socket = system.folder / "containerd.sock"
    socket.touch()
    ctr = system.folder / "bin/ctr"
    ctr.parent.mkdir()
    ctr.write_text("#!/bin/sh\necho registry.k8s.io/pause:3.10\n")
    ctr.chmod(0o755)
    system.host = replace(system.host, images=replace(system.host.images, sockets=(str(socket),)))


def _nothing(_system: System) -> None:
    pass


@pytest.mark.parametrize(
    ("change", "wanted", "said"),
    [
        (_somebody_answers, WANTED, STRANGER),
        (_own_address, WANTED, "this host's own address"),
        (_own_kube_vip, WANTED, "a kube-vip of another origin"),
        (_no_image, WANTED, f"kube-vip's image {IMAGE} is not there, and registry.invalid can't be reached from here"),
        (_nothing, replace(WANTED, interface="wan0"), "no interface wan0 on this host; it has eth0, eth1"),
        (_nothing, replace(WANTED, address="203.0.113.1"), "on no network of this host (eth0: 192.0.2.11/24"),
        (_nothing, replace(WANTED, interface="eth1"), "on no network of the interface eth1"),
        (_nothing, replace(WANTED, address="fe80::1%x\n}"), "is no IP address"),
        (_nothing, replace(WANTED, address="api.example.org"), "'api.example.org' is no IP address"),
        (_nothing, replace(WANTED, image='a"\n  evil: "x'), "is no image's name"),
        (_nothing, replace(WANTED, image="registry.invalid:5000/kube-vip"), "is no image's name with a tag"),
    ],
)
@pytest.mark.parametrize("check", [True, False])
def test_refused_before_anything_is_changed(
    system: System,
    monkeypatch: pytest.MonkeyPatch,
    change: t.Callable[[System], None],
    wanted: kube_vip.Wanted,
    said: str,
    check: bool,
) -> None:
    monkeypatch.setenv("PATH", str(system.folder / "bin"), prepend=":")
    change(system)
    before = system.path.read_text() if system.path.exists() else ""
    with pytest.raises(NodeError, match="Nothing was changed") as error:
        system.present(replace(wanted, alone=True), check)
    assert said in str(error.value)
    assert (system.path.read_text() if system.path.exists() else "") == before


def test_an_image_that_is_there_needs_no_registry(system: System, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(system.folder / "bin"), prepend=":")
    _no_image(system)
    assert system.present(replace(WANTED, image="registry.k8s.io/pause:3.10"))


@pytest.mark.parametrize("suffix", [":v1", f":v1@sha256:{'0' * 64}", f"@sha256:{'0' * 64}"])
def test_an_image_is_named_exactly(system: System, suffix: str) -> None:
    image = f"registry.invalid:5000/kube-vip{suffix}"
    system.present(replace(WANTED, image=image))
    assert system.pod()["containers"][0]["image"] == image


def test_an_address_that_another_store_s_cluster_has_is_not_free(system: System) -> None:
    """Before the first machine no host may have it, this host's own kube-vip neither."""
    system.present()
    system.addresses["eth0"].append(f"{VIP}/32")
    assert not system.present(), "a second machine's host doesn't ask: it is its own cluster's by then"
    with pytest.raises(NodeError, match="held by kube-vip of this host"):
        system.present(replace(WANTED, alone=True, unused=True), check=True)


def test_a_kube_vip_of_the_manifests_own_files_stays(system: System) -> None:
    _own_kube_vip(system)
    assert not system.absent() and system.path.exists()
