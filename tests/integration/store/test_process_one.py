# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lock of a run that is process 1, as in ``podman run IMAGE ansible-playbook`` and in a Job of Kubernetes."""

from __future__ import annotations

import json
import os
import subprocess
import typing as t
from pathlib import Path

import pytest
from etcd_cluster import until
from locks import in_process_namespace

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store import opening
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.lock import file_lock

AT = ("default", "prod")
HERE = {
    "hosts": "localhost",
    "connection": "local",
    "gather_facts": False,
    "vars": {"ansible_python_interpreter": "{{ ansible_playbook_python }}"},
}


@pytest.fixture(params=["file", "kubernetes"])
def options(request: pytest.FixtureRequest, tmp_path: Path) -> dict[str, t.Any]:
    """The options of each store."""
    if request.param == "file":
        return {"type": "file", "path": str(tmp_path / "store")}
    return dict(request.getfixturevalue("api"))


def test_process_one_holds_its_lock_from_task_to_task(options: dict[str, t.Any], tmp_path: Path) -> None:
    """The worker that took it has ended, the run goes on: nobody else gets the lock, and the run gets and releases its own."""
    begun, end = tmp_path / "begun", tmp_path / "end"
    os.mkfifo(end)
    lock_of = {"cluster": AT[1], "store": options}
    tasks: list[dict[str, t.Any]] = [
        {"kubeadm.control_plane.run": lock_of, "register": "taken"},
        {"ansible.builtin.shell": f"echo {{{{ taken.fencing }}}} > {begun}.new; mv {begun}.new {begun}; cat {end}"},
        {
            "kubeadm.control_plane.run": lock_of,
            "register": "again",
            "failed_when": "again.fencing != taken.fencing",
        },
        {
            "kubeadm.control_plane.run": {**lock_of, "state": "absent"},
            "register": "ended",
            "failed_when": "not ended.released",
        },
    ]
    playbook = tmp_path / "lock.yml"
    playbook.write_text(json.dumps([{**HERE, "tasks": tasks}]))
    command = in_process_namespace(["ansible-playbook", "-i", "localhost,", str(playbook)])
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as run:
        until("the run holds its lock", lambda: begun.exists() or run.poll() is not None)
        try:
            with pytest.raises(file_lock.Held, match=r"process 1 \(ansible-playbook lock.yml\)"):
                opening.open_locks(options).take(*AT)
        finally:
            if run.poll() is None:
                end.write_text("go on\n")
            said = run.communicate()[0]
    assert run.returncode == 0, said
    assert begun.read_text() == "1\n" and opening.open_locks(options).holder(*AT) is None
