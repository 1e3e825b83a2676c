# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Connection variables of an inventory host.

They are those that Ansible and its plugins read, and none that the host itself reports.
"""

from __future__ import annotations

import re
import typing as t

from ansible import constants as C
from ansible.errors import AnsibleError
from ansible.plugins.loader import become_loader, connection_loader, shell_loader

_INTERPRETER = re.compile(r"ansible_[a-z0-9_]+_interpreter")
# Read by Ansible where it runs a module, and declared nowhere.
_UNDECLARED = ("ansible_syslog_facility",)
_SECRET = re.compile(r"pass|secret|token|_key$|credential")


def declared(variables: t.Mapping[str, t.Any]) -> frozenset[str]:
    """Return the names of all variables that configure a host's connection.

    They are those that ansible-core itself reads, and those that the documentation of the host's connection, become and shell plugins
    declares.

    Args:
        variables: the host's variables, of which ``ansible_connection``, ``ansible_become_method`` and ``ansible_shell_type`` are read.
    """
    found = {*_UNDECLARED, *(name for names in C.MAGIC_VARIABLE_MAPPING.values() for name in names)}
    for setting in C.config.get_configuration_definitions().values():
        found.update(each["name"] for each in setting.get("vars") or ())
    plugins = (
        ("connection", connection_loader, variables.get("ansible_connection") or C.DEFAULT_TRANSPORT),
        ("become", become_loader, variables.get("ansible_become_method") or C.DEFAULT_BECOME_METHOD),
        ("shell", shell_loader, variables.get("ansible_shell_type") or "sh"),
    )
    for kind, loader, name in plugins:
        plugin = loader.get(str(name), class_only=True)
        if plugin is not None:
            found.update(C.config.get_plugin_vars(kind, plugin._load_name))
    return frozenset(found)


def told(host: str, known: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    """Return the variables of an inventory host that configure its connection.

    Args:
        host: the host's name.
        known: all of the host's variables, templated.

    Raises:
        AnsibleError: a fact of the host has replaced one of them.
    """
    chosen = ("ansible_connection", "ansible_become_method", "ansible_shell_type")
    names = declared({name: known[name] for name in chosen if name in known})
    found = {
        name: known[name]
        for name in known
        if name.startswith("ansible_") and (name in names or _INTERPRETER.fullmatch(name))
    }
    facts = known.get("ansible_facts") or {}
    replaced = sorted(name for name in found if name.removeprefix("ansible_") in facts and not _never_a_fact(name))
    if replaced:
        raise AnsibleError(
            f"the facts of the inventory host {host} have {', '.join(replaced)}: facts come from the host itself, and Ansible prefers them to the "
            "inventory's own connection variables. Nothing was done. Look who set them, and run again with --flush-cache."
        )
    return found


def no_facts(variables: t.Mapping[str, t.Any]) -> list[str]:
    """Return the names of facts that could redirect a host's connection.

    The names are those of ``ansible_facts``.

    Args:
        variables: as for :func:`declared`.
    """
    return sorted(name.removeprefix("ansible_") for name in declared(variables) if not _never_a_fact(name))


def _never_a_fact(name: str) -> bool:
    """Return whether ansible-core drops a fact of that name (``ansible.vars.clean``).

    It is dropped before it becomes a variable.
    """
    if name.startswith("ansible_ssh_host_key_"):
        return False
    dropped = {*C.COMMON_CONNECTION_VARS, *(each for names in C.MAGIC_VARIABLE_MAPPING.values() for each in names)}
    prefixes = ("ansible_ssh_", "ansible_become_")
    return name in dropped or name.startswith(prefixes) or _INTERPRETER.fullmatch(name) is not None


def secrets(variables: t.Mapping[str, t.Any]) -> dict[str, bytes]:
    """Return the passwords, passphrases and keys among connection variables, by name."""
    return {
        name: str(value).encode()
        for name, value in variables.items()
        if _SECRET.search(name) and isinstance(value, str) and value
    }
