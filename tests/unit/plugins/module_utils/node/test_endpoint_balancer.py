# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""keepalived and haproxy of a host behind a virtual address: what is written, started, refused and taken away."""

from __future__ import annotations

import json
import re
import subprocess
import typing as t
from dataclasses import replace
from pathlib import Path

import pytest

from ansible_collections.kubeadm.control_plane.plugins.module_utils.common.guard import NodeError
from ansible_collections.kubeadm.control_plane.plugins.module_utils.node.endpoint import balancer
from ansible_collections.kubeadm.control_plane.plugins.module_utils.node.host.host_facts import HostPlaces

VIP, STRANGER = "192.0.2.250", "02:00:00:00:00:01"
WANTED = balancer.Wanted(VIP, 8443, (("prod-b", "192.0.2.12", 6443), ("prod-a", "192.0.2.11", 6443)))


class System:
    """A host's ip, systemctl and apt, and what they have been told."""

    def __init__(self, folder: Path) -> None:
        self.etc = folder / "etc"
        for name in ("keepalived", "haproxy"):
            (self.etc / name).mkdir(parents=True)
        (folder / "proc/net").mkdir(parents=True)
        self.listening = folder / "proc/net/tcp"
        places = HostPlaces(proc=str(folder / "proc"))
        self.host = balancer.Host(str(self.etc), str(folder / "state"), self.run, self.run, places)
        self.addresses = {"eth0": ["192.0.2.11/24"], "eth1": ["198.51.100.11/24"]}
        self.packages: set[str] = set()
        self.active: set[str] = set()
        self.enabled: set[str] = set()
        self.neighbour = ""
        self.dpkg = 0
        self.changed_conffiles = ""
        self.done: list[str] = []

    def run(self, words: t.Sequence[str]) -> subprocess.CompletedProcess[str]:
        """Answer like the program."""
        status, said = self._answer(list(words))
        return subprocess.CompletedProcess(words, status, said, "")

    def _answer(self, words: list[str]) -> tuple[int, str]:
        if words[:3] == ["ip", "-json", "address"]:
            links = [
                {"ifname": name, "addr_info": [dict(zip(("local", "prefixlen"), each.split("/"))) for each in found]}
                for name, found in self.addresses.items()
            ]
            return 0, json.dumps(links)
        if words[:3] == ["ip", "-json", "neighbour"]:
            return 0, json.dumps([{"lladdr": self.neighbour} if self.neighbour else {"state": ["FAILED"]}])
        if words[:3] == ["ip", "address", "delete"]:
            self.addresses[words[5]].remove(words[3])
            return 0, ""
        if words == ["dpkg", "--version"]:
            return self.dpkg, ""
        if words[:2] == ["dpkg", "--verify"]:
            return 0, self.changed_conffiles
        if words[0] == "dpkg-query":
            return 0, "installed" if words[-1] in self.packages else ""
        if words[0] == "systemctl":
            return self._systemctl(words[1], words[-1].removesuffix(".service"))
        if words[0] == "apt-get":
            self.done.append(f"apt-get {'update' if 'update' in words else 'install'}")
            self.packages |= {"keepalived", "haproxy", "procps"} & set(words)
        return 0, ""

    def _systemctl(self, word: str, name: str) -> tuple[int, str]:
        known = {"is-active": self.active, "is-enabled": self.enabled}
        if word in known:
            return int(name not in known[word]), ""
        self.done.append(f"{word} {name}")
        if word == "reload-or-restart":
            self.active.add(name)
            self.addresses["eth0"] += [f"{VIP}/32"] if name == "keepalived" and not self.neighbour else []
        elif word == "enable":
            self.enabled.add(name)
        else:
            self.active.discard(name)
            self.enabled.discard(name)
        return 0, ""

    def loaded_as_folder(self) -> None:
        """Have what can't be unlinked in the place of the record of what was loaded."""
        loaded = Path(self.host.loaded)
        loaded.unlink()
        loaded.mkdir()

    def present(self, wanted: balancer.Wanted = WANTED, check: bool = False) -> bool:
        """Bring it about; return whether it changed."""
        before, after, interface = balancer.present(wanted, check=check, host=self.host)
        assert interface == "eth0"
        return before != after


@pytest.fixture(name="system")
def _system(tmp_path: Path) -> System:
    return System(tmp_path)


def test_a_file_that_can_not_be_removed_is_named(system: System) -> None:
    """As on a disk that went read-only: the services are stopped by then."""
    assert system.present()
    system.loaded_as_folder()
    with pytest.raises(NodeError, match=r"endpoint\.json can't be removed"):
        balancer.absent(check=False, host=system.host)
    assert not system.active


def test_a_host_comes_behind_the_address_and_leaves_it(system: System) -> None:
    """haproxy first and keepalived last, the other way round when it leaves; a second run of either changes nothing."""
    assert system.present(check=True) and system.done == []
    assert system.present(replace(WANTED, alone=True))
    assert system.done == [
        "apt-get update",
        "apt-get install",
        *("enable haproxy", "reload-or-restart haproxy", "enable keepalived", "reload-or-restart keepalived"),
    ]
    system.done.clear()
    assert not system.present() and system.done == []
    assert balancer.absent(check=True, host=system.host) and system.done == []
    assert balancer.absent(check=False, host=system.host)
    assert system.done == ["disable keepalived", "disable haproxy"]
    assert not balancer.absent(check=False, host=system.host)


def test_an_address_that_a_killed_keepalived_has_left_goes_too(system: System) -> None:
    """Else clients would come here, and be refused; the host's own addresses stay."""
    assert system.present()
    assert f"{VIP}/32" in system.addresses["eth0"]
    assert balancer.absent(check=False, host=system.host)
    assert system.addresses == {"eth0": ["192.0.2.11/24"], "eth1": ["198.51.100.11/24"]}


def test_a_server_that_comes_changes_haproxy_alone(system: System) -> None:
    """The address stays where it is."""
    system.present()
    system.done.clear()
    assert system.present(replace(WANTED, servers=WANTED.servers[:1]))
    assert system.done == ["enable haproxy", "reload-or-restart haproxy"]


def test_what_a_killed_run_wrote_is_read(system: System) -> None:
    """The file is right, and the service has not read it yet; or somebody stopped it."""
    system.present()
    for stop in (lambda: Path(system.host.loaded).unlink(), system.active.clear, system.enabled.clear):
        stop()
        system.done.clear()
        assert system.present() and "reload-or-restart haproxy" in system.done
    assert not system.present()


@pytest.mark.parametrize(("parent", "lives"), [("the service's", True), ("a pod's", False), ("none", False)])
def test_keepalived_watches_the_services_haproxy_and_no_pods(tmp_path: Path, parent: str, lives: bool) -> None:
    """In processes of their own, whose first one stands for systemd: what it has started is the service's."""
    apart = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c"]
    if subprocess.run([*apart, ":"], capture_output=True, check=False).returncode:
        pytest.skip("processes of its own need root")
    haproxy = tmp_path / "haproxy"
    haproxy.write_text("#!/bin/sh\ntail -f /dev/null\n:\n")
    haproxy.chmod(0o755)
    shim = tmp_path / "shim"
    shim.write_text(f"#!/bin/sh\n{haproxy}\n:\n")
    shim.chmod(0o755)
    started = {"the service's": haproxy, "a pod's": shim}.get(parent)
    begun = f"{started} & until pgrep --exact haproxy; do :; done; " if started else ""
    watch = re.search(r'script "(.*)"', balancer.keepalived_configuration(WANTED, "eth0"))
    assert watch is not None
    done = subprocess.run([*apart, f"{begun}{watch.group(1)} >/dev/null"], capture_output=True, check=False)
    assert done.returncode == int(not lives), done


def test_the_configurations(system: System) -> None:
    """Servers by name, all with the check of /readyz; the same keepalived everywhere, with the address's last byte."""
    system.present()
    haproxy, keepalived = (Path(system.host.configuration(name)).read_text() for name in ("haproxy", "keepalived"))
    assert "    server prod-a 192.0.2.11:6443\n    server prod-b 192.0.2.12:6443\n" in haproxy
    assert "bind 0.0.0.0:8443" in haproxy and "GET /readyz" in haproxy
    assert "virtual_router_id 250" in keepalived and "interface eth0" in keepalived and VIP in keepalived
    assert "virtual_router_id 7" in balancer.keepalived_configuration(replace(WANTED, router_id=7), "eth0")
    assert "virtual_router_id 255" in balancer.keepalived_configuration(replace(WANTED, address="192.0.2.0"), "eth0")
    six = balancer.haproxy_configuration(balancer.Wanted("2001:db8::250", 8443, (("a", "2001:db8::1", 6443),)))
    assert "bind [::]:8443 v6only" in six and "server a [2001:db8::1]:6443" in six


def _somebody_answers(system: System) -> None:
    system.neighbour = STRANGER


def _own_address(system: System) -> None:
    system.addresses["eth0"].append(f"{VIP}/24")


def _port_taken(system: System) -> None:
    system.listening.write_text("  sl  local_address rem_address   st\n   0: 00000000:20FB 00000000:0000 0A\n")


def _own_keepalived(system: System) -> None:
    (system.etc / "keepalived/keepalived.conf").write_text("vrrp_instance theirs {}\n")


def _own_haproxy(system: System) -> None:
    system.packages.add("haproxy")
    (system.etc / "haproxy/haproxy.cfg").write_text("listen theirs\n")
    system.changed_conffiles = f"??5?????? c {system.etc}/haproxy/haproxy.cfg"


def _another_distribution(system: System) -> None:
    system.dpkg = 127


@pytest.mark.parametrize(
    ("change", "wanted", "said"),
    [
        (_somebody_answers, WANTED, STRANGER),
        (_own_address, WANTED, "this host's own address"),
        (_port_taken, WANTED, "Port 8443 is taken"),
        (_own_keepalived, WANTED, "a keepalived of its own"),
        (_own_haproxy, WANTED, "a haproxy of its own"),
        (lambda _system: None, replace(WANTED, interface="wan0"), "no interface wan0 on this host; it has eth0, eth1"),
        (
            lambda _system: None,
            replace(WANTED, address="203.0.113.1"),
            "on no network of this host (eth0: 192.0.2.11/24",
        ),
        (lambda _system: None, replace(WANTED, interface="eth1"), "on no network of the interface eth1"),
        (lambda _system: None, replace(WANTED, servers=(("a b", "192.0.2.11", 1),)), "'a b' is no server's name"),
        (lambda _system: None, replace(WANTED, servers=(("a", "fe80::1%x\n}", 1),)), "is no IP address"),
        (lambda _system: None, replace(WANTED, address="api.example.org"), "'api.example.org' is no IP address"),
        (_another_distribution, WANTED, "This host has no dpkg"),
    ],
)
@pytest.mark.parametrize("check", [True, False])
def test_refused_before_anything_is_changed(
    system: System, change: t.Callable[[System], None], wanted: balancer.Wanted, said: str, check: bool
) -> None:
    change(system)
    with pytest.raises(NodeError, match="Nothing was changed") as error:
        system.present(replace(wanted, alone=True), check)
    assert said in str(error.value) and system.done == []


def test_the_packages_own_configuration_is_nobodys(system: System) -> None:
    """Debian's haproxy comes with one."""
    system.packages.add("haproxy")
    (system.etc / "haproxy/haproxy.cfg").write_text("defaults\n")
    assert system.present()


def test_a_second_machine_does_not_ask_who_has_the_address(system: System) -> None:
    """It is its own cluster's by then, on another host."""
    system.neighbour = STRANGER
    assert system.present()


def test_an_address_that_another_store_s_cluster_has_is_not_free(system: System) -> None:
    """Before the first machine nobody may have it: neither this host, nor another one while this one carries a cluster's keepalived."""
    system.present()
    asked = replace(WANTED, servers=(), alone=True)
    with pytest.raises(NodeError, match="held by keepalived of this host"):
        system.present(asked, check=True)
    system.addresses["eth0"].remove(f"{VIP}/32")
    system.neighbour = STRANGER
    with pytest.raises(NodeError, match=STRANGER):
        system.present(asked, check=True)


def test_somebody_elses_configuration_stays(system: System) -> None:
    """A host that is given back may have a keepalived of its owner's."""
    _own_keepalived(system)
    assert not balancer.absent(check=False, host=system.host) and system.done == []
