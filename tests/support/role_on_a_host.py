# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Plays of the role host on a host of a test's own."""

from __future__ import annotations

import json
import sys
import typing as t

from private_host import PrivateHost


def played(host: PrivateHost, *around: str, plays: list[dict[str, t.Any]]) -> str:
    """What Ansible said that ran plays on a host of its own; a program may be around it."""
    local = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}
    (host.folder / "play.yml").write_text(
        json.dumps([{"hosts": "any", "gather_facts": False, **each} for each in plays])
    )
    (host.folder / "hosts.yml").write_text(json.dumps({"all": {"hosts": {"any": local}}}))
    return host.run(*around, "ansible-playbook", "-i", f"{host.folder}/hosts.yml", f"{host.folder}/play.yml")


def of_role(tasks: str) -> dict[str, t.Any]:
    """A task that runs a task file of the role."""
    return {"import_role": {"name": "kubeadm.control_plane.host", "tasks_from": tasks}}
