# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is named to be mended where a machine was not reached: of an inventory host its variables, else the record's fields."""

from __future__ import annotations

import pytest

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.calls import not_reached

HOST = {"inventoryHost": "cp-2"}
RECORDED = {"host": "198.51.100.3", "user": "root"}
SSH = "Failed to connect to the host via ssh: "


@pytest.mark.parametrize(
    "said, variables, fields",
    [
        ("ssh: Could not resolve hostname cp-2.example: Name or service not known", ["ansible_host"], ["host"]),
        ("ssh: connect to host 198.51.100.3 port 22: Connection refused", ["ansible_port", "sshd"], ["port", "sshd"]),
        ("ssh: connect to host 198.51.100.3 port 22: Connection timed out", ["ansible_host", "firewall"], ["host"]),
        ("ssh: connect to host 198.51.100.3 port 22: No route to host", ["ansible_host"], ["host"]),
        (
            "root@198.51.100.3: Permission denied (publickey).",
            ["ansible_user", "ansible_ssh_private_key_file"],
            ["user", "Secret CLUSTER-ssh"],
        ),
    ],
)
def test_what_ssh_said_leads_to_what_is_wrong(said: str, variables: list[str], fields: list[str]) -> None:
    of_host = not_reached.why(f"banner\n{SSH}{said}\n", HOST)
    assert said.rstrip(".") in of_host and "inventory host cp-2" in of_host and "status.connection" not in of_host
    assert all(each in of_host for each in variables) and "banner" not in of_host
    recorded = not_reached.why(SSH + said, RECORDED)
    assert "status.connection of its infrastructure machine" in recorded and "ansible_" not in recorded
    assert all(each in recorded for each in fields)


def test_a_missing_password_of_sudo() -> None:
    assert "ansible_become_password" in not_reached.why("Missing sudo password", HOST)


def test_another_host_key() -> None:
    said = f"{SSH}x\nHost key verification failed.\nmore"
    assert "status.connection.hostKeys" in not_reached.why(said, RECORDED)
    assert "known_hosts" in not_reached.why(said, HOST) and "cp-2" in not_reached.why(said, HOST)


@pytest.mark.parametrize("said, told", [("kex_exchange: closed", "kex_exchange: closed"), (" \n", "no reason given")])
def test_what_is_not_known_is_told_as_it_is(said: str, told: str) -> None:
    assert not_reached.why(said, HOST) == told


ENDED = "kex_exchange_identification: Connection closed by remote host\nConnection closed by UNKNOWN port 65535"


def test_through_a_bastion_the_cause_is_what_its_own_ssh_said() -> None:
    """Not the end of the connection, which is the last line whatever the cause was."""
    said = f"{SSH}channel 0: open failed: connect failed: No route to host\nstdio forwarding failed\n{ENDED}"
    told = not_reached.why(said, HOST)
    assert "through the bastion" in told and "No route to host. It is off" in told and "UNKNOWN" not in told
    assert "bastion (ProxyCommand, ProxyJump) closed the connection" in not_reached.why(SSH + ENDED, HOST)
