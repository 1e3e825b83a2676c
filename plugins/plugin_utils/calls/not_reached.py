# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Remedies for machines that were not reached, by ssh's words."""

from __future__ import annotations

import re
import typing as t

# ssh's own words.
HOST_KEY_REFUSED = "Host key verification failed"

# What ssh says, what to look at, the variables of an inventory host, and the fields of a recorded connection.
_KINDS: t.Final = (
    (
        re.compile(r"Could not resolve hostname|Name or service not known|Temporary failure in name resolution"),
        "The name is not known here",
        "ansible_host",
        "host",
    ),
    (
        re.compile(r"Connection refused"),
        "Nothing listens there: start its sshd",
        "ansible_host, ansible_port",
        "host, port",
    ),
    (
        re.compile(r"[Tt]imed out|No route to host|Network is unreachable"),
        "It is off, or a network or firewall lies between",
        "ansible_host, ansible_port, or ansible_ssh_common_args for a bastion",
        "host, port",
    ),
    (
        re.compile(r"Permission denied"),
        "It does not accept the user or the key",
        "ansible_user, ansible_ssh_private_key_file",
        "user, or the key in the cluster's Secret CLUSTER-ssh",
    ),
    (
        re.compile(r"(?:sudo|become) password"),
        "Its user can't become root",
        "ansible_become_password",
        "user",
    ),
)
# What ssh says at the end where its way through a bastion has ended; the cause stands before it.
_BASTION_ENDED = re.compile(
    r"Connection closed by UNKNOWN port \d+|stdio forwarding failed|kex_exchange_identification: Connection closed by remote host"
)


def why(said: str, connection: t.Mapping[str, t.Any]) -> str:
    """Return why a machine was not reached, and what names the mistake.

    Args:
        said: what ssh or Ansible said; its last line counts, and through a bastion the last one that says more than that it ended.
        connection: the machine's recorded connection; of an inventory host only its name.
    """
    host = connection.get("inventoryHost")
    if HOST_KEY_REFUSED in said:
        known = (
            f"known_hosts has for the inventory host {host} (ansible_host says where it is)"
            if host
            else "were recorded of it (status.connection.hostKeys of its infrastructure machine)"
        )
        return (
            f"{HOST_KEY_REFUSED}: what answers at its address has none of the SSH host keys that {known}: "
            "another machine, or one that was installed again"
        )
    line = _cause(said.strip().splitlines())
    for kind, look, variables, fields in _KINDS:
        if kind.search(line):
            where = (
                f"the variables of the inventory host {host}: {variables}"
                if host
                else f"status.connection of its infrastructure machine: {fields}"
            )
            return f"{line.rstrip('.')}. {look}; or correct {where}"
    return line


def _cause(lines: t.Sequence[str]) -> str:
    if not lines:
        return "no reason given"
    if not _BASTION_ENDED.search(lines[-1]):
        return lines[-1]
    earlier = [each.strip() for each in lines if each.strip() and not _BASTION_ENDED.search(each)]
    if earlier:
        return f"on the way through the bastion: {earlier[-1]}"
    return "the bastion (ProxyCommand, ProxyJump) closed the connection and gave no reason. Log in from it to the machine by hand"
