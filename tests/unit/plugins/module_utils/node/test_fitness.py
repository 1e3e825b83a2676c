# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What kubeadm's preflight checks ask of the kernel of a host."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ansible_collections.kubeadm.control_plane.plugins.module_utils.node.host import fitness
from ansible_collections.kubeadm.control_plane.plugins.module_utils.node.host.host_facts import HostPlaces

IPV4, BRIDGED = "ipv4/ip_forward", "bridge/bridge-nf-call-iptables"
IPV6, BRIDGED_IPV6 = "ipv6/conf/default/forwarding", "bridge/bridge-nf-call-ip6tables"


@pytest.mark.parametrize(
    ("version", "asked"),
    [("v1.20.2", {IPV4, BRIDGED, IPV6, BRIDGED_IPV6}), ("v1.29.9", {IPV6, BRIDGED_IPV6}), ("v1.34.1", {IPV6})],
)
def test_a_host_of_ipv6_has_to_forward_that(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str, asked: set[str]
) -> None:
    """By its own address. From 1.27 on kubeadm asks for IPv4's settings only where the cluster has something of IPv4."""
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    (tmp_path / "ip").write_text("""#!/bin/sh\necho '[{"addr_info": [{"local": "2001:db8::5"}]}]'\n""")
    (tmp_path / "ip").chmod(0o755)
    wanted = fitness.Wanted(version, address="2001:db8::5", pods=["2001:db8:1::/48"], services=["2001:db8:2::/112"])
    (tmp_path / "swaps").touch()

    def refused() -> set[str]:
        found = fitness.lacks(wanted, HostPlaces(proc=str(tmp_path)))
        return {each.check for each in found if each.check.startswith("FileContent-")}

    assert refused() == {f"FileContent--proc-sys-net-{name.replace('/', '-')}" for name in asked}
    for name in asked:
        (tmp_path / "sys/net" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "sys/net" / name).write_text("1\n")
    assert refused() == set()
