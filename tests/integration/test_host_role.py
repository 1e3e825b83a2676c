# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the role host asks of all hosts before one is changed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path


def test_a_host_without_root_keeps_all_from_being_changed(tmp_path: Path) -> None:
    """Ansible alone would drop that host and change the others."""
    local = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}
    hosts = {"fit": {**local, "ansible_become": False}, "rootless": {**local, "ansible_become_exe": "/bin/false"}}
    variables = {"host_kubernetes_version": "none", "host_kubernetes_repository": ""}
    role = {"name": "Ask", "import_role": {"name": "kubeadm.control_plane.host", "tasks_from": "preflight"}}
    after = {"name": "Go on", "debug": {"msg": "a host would be changed"}}
    play = {"name": "Ask", "hosts": "all", "gather_facts": False, "vars": variables, "tasks": [role, after]}
    (tmp_path / "play.yml").write_text(json.dumps([play]))
    (tmp_path / "hosts.yml").write_text(json.dumps({"all": {"hosts": hosts}}))
    words = ["ansible-playbook", "-i", str(tmp_path / "hosts.yml"), str(tmp_path / "play.yml")]
    environment = {**os.environ, "ANSIBLE_BECOME_ALLOW_SAME_USER": "true"}
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "Nothing was changed." in done.stdout and "rootless: " in done.stdout, done.stdout + done.stderr
    assert "a host would be changed" not in done.stdout
