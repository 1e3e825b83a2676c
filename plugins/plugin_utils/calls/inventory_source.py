# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Errors of the inventory file of clusters, and where they are reported.

Ansible takes a file that its plugin refuses for one that another plugin may read: it adds the errors of the plugins yaml and ini, and
continues without the hosts. With --limit a playbook then even ends well.
"""

from __future__ import annotations

import difflib
import glob
import os
import re
import typing as t
from pathlib import Path

from ansible import constants as C
from ansible import context
from ansible.errors import AnsibleParserError

from ..store.base import StoreError
from .machine_connection import CLUSTERS_GROUP, REFUSED
from .screen import Screen

PLUGIN = "kubeadm.control_plane.clusters"
SUFFIXES = (".clusters.yml", ".clusters.yaml")
# A variable of all hosts: what the guard of the playbooks reports where no cluster is left.
ERRORS = "control_plane_inventory_errors"
# The whole run's exit status, as of Ansible's own errors.
FAILED = 1
_COLLECTION = "kubeadm.control_plane."
_PLUGIN_KEY = re.compile(rf"^plugin:[ \t]*[\"']?{re.escape(PLUGIN)}[\"']?[ \t]*(#.*)?$", re.MULTILINE)
# More than a playbook or an inventory file of a user has.
_READ_CHARACTERS = 1_000_000
# By this process: `meta: refresh_inventory` reads them again, in the middle of a run.
_read: set[str] = set()


class InventoryFileError(AnsibleParserError):
    """Error of an inventory file that states its remedy."""


def names_the_plugin(path: str) -> bool:
    """Return whether a file is meant for the plugin, whatever its name."""
    return _PLUGIN_KEY.search(_text(path)) is not None


def check_name(path: str) -> None:
    """Raise InventoryFileError where a file's name is not a plugin's file's."""
    if not path.endswith(SUFFIXES):
        stem = os.path.splitext(os.path.basename(path))[0]
        raise InventoryFileError(
            f"the file's name must end with {SUFFIXES[0]} or {SUFFIXES[1]}, by which Ansible's plugins tell whose it is. "
            f"Rename it, for example to {stem}{SUFFIXES[0]}, and give that name with -i."
        )


def check_options(given: t.Iterable[t.Any], known: t.Mapping[str, t.Any]) -> None:
    """Raise InventoryFileError for an option that the plugin doesn't have.

    Ansible would ignore it.

    Args:
        given: the keys of the file.
        known: the plugin's options, as its documentation has them.
    """
    names = {
        *known,
        *(alias["name"] for each in known.values() for alias in each.get("aliases") or () if "name" in alias),
    }
    for each in given:
        if each not in names:
            near = difflib.get_close_matches(str(each), sorted(names), 1)
            raise InventoryFileError(
                f"{each}: the plugin has no option of this name. "
                + (
                    f"Did you mean {near[0]}?"
                    if near
                    else f"Correct the name (ansible-doc -t inventory {PLUGIN}), or remove it."
                )
            )


def manifest_files(patterns: t.Iterable[str], folder: str) -> list[str]:
    """Return the files that the option manifests names, each once.

    A pattern may match none. Raises InventoryFileError where a file that is named is not there.
    """
    files: list[str] = []
    for pattern in patterns:
        found = sorted(glob.glob(os.path.join(folder, pattern)))
        if not found and not glob.has_magic(pattern):
            raise InventoryFileError(
                f"manifests: the file {pattern} does not exist in {folder}. Write it there, or correct its name in manifests"
            )
        files += [each for each in found if each not in files]
    return files


def without_clusters(patterns: t.Iterable[str], folder: str, files: t.Collection[str], store: str) -> str:
    """Return why an inventory file makes no host, and the remedy.

    Args:
        patterns: the option manifests.
        folder: what its patterns are relative to.
        files: what they match.
        store: the store's name for messages.
    """
    named = ", ".join(map(str, patterns))
    if not named:
        seen = "it names no manifests"
    elif not files:
        seen = f"manifests: {named} matches no file in {folder}"
    else:
        seen = f"manifests: {named} has no Cluster that namespaces, watch_filter and label_selector let through"
    return (
        f"{seen}, and the store {store} has no cluster either. Write the cluster's manifest there, or correct manifests or store in "
        "this inventory file"
    )


def refuse(inventory: t.Any, path: str, error: Exception) -> None:
    """Report the error of an inventory file, and end what can't continue.

    It returns only where another file may have clusters. The playbooks of this collection end with nothing but this error where no other
    inventory has clusters. Where another one may have, its clusters are worked on, and a host of the file's name fails with the error.
    Whatever else is run gets it as an inventory's error, which is Ansible's to handle.

    Args:
        inventory: Ansible's.
        path: the inventory file.
        error: what is wrong with it.

    Raises:
        SystemExit: the run ends here; the error was shown.
        AnsibleParserError: the run is none of this collection's playbooks, or is under way.
    """
    # Ansible's own errors of options say no remedy.
    own = isinstance(error, (InventoryFileError, StoreError))
    text = located(
        path, str(error) if own else f"{error}. Correct that in this file (ansible-doc -t inventory {PLUGIN})"
    )
    note(inventory, text)
    if path in _read or not _runs_the_collection():
        raise AnsibleParserError(text) from None
    if C.config.get_config_value("INVENTORY_ANY_UNPARSED_IS_FAILED") or not _others(path):
        Screen().error(text)
        raise SystemExit(FAILED)
    Screen().warning(text)
    host = os.path.basename(path) if os.path.basename(path) not in inventory.hosts else path
    inventory.add_host(host, group=inventory.add_group(CLUSTERS_GROUP))
    variables = {
        REFUSED: text,
        "ansible_connection": "local",
        "control_plane_cluster": os.path.basename(path),
        "control_plane_namespace": "default",
        "control_plane_manifests": [],
        "control_plane_store": {"path": f"{path}.store"},
        "control_plane_labels": {},
    }
    for variable, value in variables.items():
        inventory.set_variable(host, variable, value)


def note_without_clusters(inventory: t.Any, path: str, why: str) -> None:
    """Keep why a file has no cluster, for the playbooks' guard."""
    note(inventory, located(path, why))
    if context.CLIARGS.get("subset"):
        # Ansible ends the run before that guard then.
        Screen().warning(located(path, why))


def located(path: str, text: str) -> str:
    """Return an error's text with the inventory file in front."""
    said = text.strip()
    return f"inventory file {path}: {said}{'' if said.endswith(('.', '?')) else '.'} Nothing was done."


def has_been_read(path: str) -> None:
    """Note a file that was read: later errors end no run."""
    _read.add(path)


def note(inventory: t.Any, text: str) -> None:
    """Keep a text for the guard of the playbooks."""
    kept = inventory.groups["all"].get_vars().get(ERRORS) or []
    inventory.set_variable("all", ERRORS, [*kept, text])


def _runs_the_collection() -> bool:
    """Return whether the run's playbooks name this collection."""
    if "start_at_task" not in context.CLIARGS:
        # No ansible-playbook.
        return False
    playbooks = [str(each) for each in context.CLIARGS.get("args") or ()]
    return any(each.startswith(_COLLECTION) or _COLLECTION in _text(each) for each in playbooks)


def _others(path: str) -> list[str]:
    """Return the run's other inventory files of the plugin."""
    found = []
    for source in context.CLIARGS.get("inventory") or ():
        files = [str(each) for each in Path(source).rglob("*")] if os.path.isdir(source) else [str(source)]
        found += [os.path.realpath(each) for each in files if each.endswith(SUFFIXES)]
    return [each for each in found if each != os.path.realpath(path)]


def _text(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(_READ_CHARACTERS)
    except OSError:
        return ""
