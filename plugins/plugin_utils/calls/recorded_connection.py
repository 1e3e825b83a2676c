# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Connection that a provider records of a machine, and its ssh options.

The options enforce the machine's host keys.
"""

from __future__ import annotations

import ipaddress
import os
import re
import shlex
import typing as t

from ansible.errors import AnsibleError

# ssh takes an argument that begins with "-" for an option of its own, among them some that run programs.
_IP_ADDRESS = re.compile(r"[0-9A-Fa-f:.]+(%[A-Za-z0-9._-]+)?")
_HOST_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,252}")
_USER = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._@-]{0,63}")
_HOST_KEY = re.compile(r"[a-z0-9][A-Za-z0-9@.-]* [A-Za-z0-9+/]+=*( [^\x00-\x1f\x7f]*)?")
DEFAULT_PORT = 22
DEFAULT_USER = "root"
# Alive checks bound how long a call hangs on a machine that lost power to 15 s.
SSH_ARGUMENTS = "-o ServerAliveInterval=5 -o ServerAliveCountMax=3"
# Kept for the calls that follow.
SHARED = "-o ControlMaster=auto -o ControlPersist=30s"


class UnusableConnection(AnsibleError):
    """Failure: a machine's recorded connection is missing or can't be used."""


def is_host(text: t.Any) -> bool:
    """Return whether a text can be the host to connect to.

    It is a DNS name or an IP address, and nothing that ssh takes for an option.
    """
    if not isinstance(text, str):
        return False
    if _HOST_NAME.fullmatch(text):
        return True
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return _IP_ADDRESS.fullmatch(text) is not None


def problems(connection: t.Mapping[str, t.Any]) -> list[str]:
    """Return the problems with ``status.connection`` of an infrastructure machine.

    None where it names an inventory host.

    Args:
        connection: ``host``, ``port``, ``user`` and ``hostKeys`` as docs/provider_contract.md has them.
    """
    if connection.get("inventoryHost"):
        return []
    port, keys = connection.get("port", DEFAULT_PORT), connection.get("hostKeys") or []
    found = []
    if not is_host(connection.get("host")):
        found.append(f"host {connection.get('host')!r} is neither a DNS name nor an IP address")
    if not str(port).isdecimal() or not 0 < int(port) < 65536:
        found.append(f"port {port!r} is no number from 1 to 65535")
    if not _USER.fullmatch(str(connection.get("user", DEFAULT_USER))):
        found.append(f"user {connection.get('user')!r} is no name of a user")
    if not isinstance(keys, (list, tuple)) or not keys:
        found.append("hostKeys has no key: whoever answers at the address would be trusted")
    elif not all(isinstance(key, str) and _HOST_KEY.fullmatch(key) for key in keys):
        found.append("hostKeys has a line that is not a key type and a key, as in sshd's ssh_host_*_key.pub")
    return found


def check(machine: str, connection: t.Mapping[str, t.Any]) -> None:
    """Refuse a recorded connection that can't be used safely.

    Raises:
        UnusableConnection: it has no address, no SSH host key, or a value that ssh could take for an option.
    """
    if not connection.get("inventoryHost") and not connection.get("host"):
        raise UnusableConnection(
            f"machine {machine} has no address in the store (status.connection.host of its infrastructure machine); "
            "its infrastructure provider records it when the machine has booted; run again then."
        )
    found = problems(connection)
    if found:
        raise UnusableConnection(
            f"machine {machine} was not asked: status.connection of its infrastructure machine can't be used: {'; '.join(found)}. "
            "Its provider records it (module infrastructure_status, docs/provider_contract.md); correct it there."
        )


def ssh_arguments(machine: str, connection: t.Mapping[str, t.Any], key_directory: str, shared: bool = True) -> str:
    """Return the options that come first on ssh's command line.

    The first value of an option is the one that holds.

    The recorded host keys are written to a ``known_hosts`` file of the machine's own. No setting of Ansible or of ssh's configuration
    (``host_key_checking``, ``ssh_extra_args``, ``HostKeyAlias``, DNS, loopback) makes ssh accept another key.

    Args:
        machine: the machine's name, under which its keys are looked up.
        connection: a connection that :func:`check` accepts.
        key_directory: an existing private folder.
        shared: whether the connection is kept for further calls, by a process of its own.
    """
    path = os.path.join(key_directory, f"known_hosts_{machine}")
    text = "".join(f"{machine} {' '.join(str(key).split()[:2])}\n" for key in connection["hostKeys"])
    if not os.path.exists(path) or open(path, encoding="utf-8").read() != text:  # noqa: SIM115
        temporary = f"{path}.{os.getpid()}"
        with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as stream:
            stream.write(text)
        os.replace(temporary, path)
    options = {
        "StrictHostKeyChecking": "yes",
        # ssh takes a space for the end of a file's name, and % for the begin of a token.
        "UserKnownHostsFile": '"{}"'.format(path.replace("%", "%%")),
        "GlobalKnownHostsFile": "/dev/null",
        "HostKeyAlias": machine,
        "UpdateHostKeys": "no",
        "VerifyHostKeyDNS": "no",
        "NoHostAuthenticationForLocalhost": "no",
    }
    quoted = [f"-o {shlex.quote(f'{name}={value}')}" for name, value in options.items()]
    return " ".join([*quoted, *([SHARED] if shared else []), SSH_ARGUMENTS])
