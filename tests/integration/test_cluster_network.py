# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A cluster's networks against those of a host, which the real ip lists in a network namespace of the test's own."""

from __future__ import annotations

import os
import shutil
import typing as t
from pathlib import Path

import pytest
from private_host import NetworkedHost

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="mounts need root"),
    pytest.mark.skipif(shutil.which("ip") is None, reason="no ip: tests/tools/setup.sh gets it where there is apt-get"),
]
# The default route on what a machine in a container has; another network of the host's own; what pod networks, a container runtime and
# kube-proxy leave on a host, as far as every kernel knows it.
LINKS = """
link set lo up
link add host0 type veth peer name peer0
link set host0 up
link set peer0 up
address add 192.168.7.11/24 dev host0
address add 2001:db8:7::11/64 dev host0 nodad
route add default via 192.168.7.1
link add link host0 name storage type macvlan
link set storage up
address add 10.96.8.11/24 dev storage
link add cni0 type bridge
link set cni0 up
address add 10.244.3.1/24 dev cni0
link add docker0 type bridge
address add 172.17.0.1/16 dev docker0
link add flannel.1 type vxlan id 1 dstport 8472 dev host0
address add 10.244.3.0/32 dev flannel.1
link add kube-ipvs0 type ifb
address add 10.97.0.1/32 dev kube-ipvs0
"""


FORWARDING = "FileContent--proc-sys-net-ipv6-conf-default-forwarding"


class Host(NetworkedHost):
    """A host with these links."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, "networks")
        for line in LINKS.strip().split("\n"):
            self.ip(line)

    def asked(
        self, pods: t.Sequence[str] = (), services: t.Sequence[str] = (), in_use: bool = False, **more: t.Any
    ) -> dict[str, t.Any]:
        """Ask what keeps the host from being claimed, and return the result."""
        return self.module(
            "host_claim",
            id="none",
            cluster="prod",
            machine="any",
            kubernetes_version="v1.33.2",
            cluster_network={"pods": list(pods), "services": list(services), "in_use": in_use},
            _ansible_check_mode=True,
            **more,
        )

    def refused(self, *blocks: t.Sequence[str], **more: t.Any) -> list[str]:
        """What the check says."""
        missing = self.asked(*blocks, **more)["missing"]
        return [each["message"] for each in missing if each["check"] == "ClusterNetwork"]


@pytest.fixture(name="host")
def _host(tmp_path: Path) -> t.Iterator[Host]:
    with Host(tmp_path) as made:
        yield made


def test_an_address_of_the_host_in_the_clusters_networks_is_refused(host: Host) -> None:
    """Each with its interface and the field; it may be waived, and is no matter of a host that carries the cluster."""
    wrong = (["192.168.0.0/16", "2001:db8::/32"], ["10.96.0.0/12"])
    assert host.refused(*wrong) == [
        "192.168.7.11 on host0 is in 192.168.0.0/16, clusterNetwork.pods: other nodes would look for it among the cluster's pods",
        "2001:db8:7::11 on host0 is in 2001:db8::/32, clusterNetwork.pods: other nodes would look for it among the cluster's pods",
        "10.96.8.11 on storage is in 10.96.0.0/12, clusterNetwork.services: other nodes would look for it among the cluster's services",
    ]
    assert host.refused(*wrong, ignore_checks=["clusternetwork"]) == []
    assert host.refused(*wrong, ca_cert_hash="sha256:0") == []
    assert host.refused(*wrong, in_use=True) == []
    assert "'10.0.0.0/99' does not appear to be" in host.asked(["10.0.0.0/99"])["msg"]


def test_a_host_of_a_cluster_that_runs_forwards_its_ipv6(host: Host) -> None:
    """Also where the host has no address of IPv6: the cluster's networks tell, before and after there is a control plane."""
    for in_use in (False, True):
        checks = [each["check"] for each in host.asked(["10.244.0.0/16", "fd00::/48"], in_use=in_use)["missing"]]
        assert FORWARDING in checks, checks
    assert FORWARDING not in [each["check"] for each in host.asked(["10.244.0.0/16"], in_use=True)["missing"]]


def test_what_works_is_not_refused(host: Host) -> None:
    """Bridges, tunnels and the like, of pods and services; a host's network that is wider than the pods', and not where the host is in it."""
    assert host.refused(["10.244.0.0/16", "172.17.0.0/16", "192.168.7.128/25"], ["10.97.0.0/16"]) == []
    assert host.refused() == []
