# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Action plugins run as a task runs them, in this process and without a playbook."""

from __future__ import annotations

import importlib
from typing import Any

from ansible.parsing.dataloader import DataLoader
from ansible.parsing.vault import VaultSecret
from ansible.playbook.play_context import PlayContext
from ansible.playbook.task import Task
from ansible.plugins.loader import connection_loader
from ansible.template import Templar


def vault_secrets(password: str) -> list[tuple[str, VaultSecret]]:
    """A vault password as ansible-core keeps it."""
    return [("default", VaultSecret(password.encode()))]


PACKAGE = "ansible_collections.kubeadm.control_plane.plugins.action"
Object = dict[str, Any]


def run_action(action_name: str, /, check: bool = False, vault_password: str = "", **arguments: Any) -> Object:
    """Run the collection's action of that name with these arguments and return what a task would register."""
    result: Object = make_action(action_name, check, vault_password, **arguments).run(task_vars={})
    return result


def make_action(action_name: str, /, check: bool = False, vault_password: str = "", **arguments: Any) -> Any:
    """The collection's action of that name, with a connection to this host."""
    loader = DataLoader()
    if vault_password:
        loader.set_vault_secrets(vault_secrets(vault_password))
    task = Task()
    task.action = f"kubeadm.control_plane.{action_name}"
    task.args = arguments
    task.check_mode = check
    return with_local_connection(importlib.import_module(f"{PACKAGE}.{action_name}").ActionModule, task, loader)


def with_local_connection(plugin: Any, task: Task, loader: DataLoader) -> Any:
    """An action plugin of this class for a task, with a connection to this host."""
    return plugin(
        task=task,
        connection=connection_loader.get("local", PlayContext()),
        play_context=PlayContext(),
        loader=loader,
        templar=Templar(loader=loader),
        shared_loader_obj=None,
    )
