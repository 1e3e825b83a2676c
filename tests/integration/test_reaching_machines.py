# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A machine behind a real sshd: its recorded host key is what counts."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import typing as t
from pathlib import Path

import pytest
from sshd import Sshd, find_base

CALL = Path(__file__).resolve().parents[1] / "support" / "one_call.py"
NO_CHECK = "-o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null"


@pytest.fixture(scope="module")
def sshd(tmp_path_factory: pytest.TempPathFactory) -> t.Iterator[Sshd]:
    """A machine; what is in its folder has to be quoted."""
    running = Sshd(tmp_path_factory.mktemp("a 100% machine"), find_base())
    yield running
    running.end()


def call(
    sshd: Sshd, connection: t.Mapping[str, t.Any], folder: Path, environment: t.Mapping[str, str]
) -> dict[str, t.Any]:
    """Ask the machine for its claim with that environment."""
    words = [str(sshd.folder), json.dumps(connection), "host_claim_info", "{}"]
    env = {**os.environ, "ANSIBLE_HOME": str(folder), "ANSIBLE_SSH_CONTROL_PATH_DIR": str(folder), **environment}
    done = subprocess.run([sys.executable, str(CALL), *words], env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found: dict[str, t.Any] = json.loads(done.stdout.splitlines()[-1])
    return found


@pytest.mark.parametrize(
    "environment",
    [
        pytest.param({}, id="nothing"),
        pytest.param({"ANSIBLE_HOST_KEY_CHECKING": "False"}, id="environment"),
        pytest.param({"ANSIBLE_CONFIG": "[defaults]\nhost_key_checking = False\n"}, id="ansible.cfg"),
        pytest.param({"ANSIBLE_SSH_ARGS": NO_CHECK}, id="ssh_args"),
        pytest.param({"ANSIBLE_SSH_COMMON_ARGS": NO_CHECK}, id="ssh_common_args"),
        pytest.param({"ANSIBLE_SSH_EXTRA_ARGS": NO_CHECK}, id="ssh_extra_args"),
        pytest.param(
            {"ANSIBLE_SSH_EXTRA_ARGS": "-o NoHostAuthenticationForLocalhost=yes"}, id="no authentication of loopback"
        ),
    ],
)
def test_only_the_recorded_host_key_is_accepted(sshd: Sshd, tmp_path: Path, environment: dict[str, str]) -> None:
    """Whatever Ansible is told: another key than the recorded one is a machine that was not reached."""
    if "ANSIBLE_CONFIG" in environment:
        (tmp_path / "ansible.cfg").write_text(environment["ANSIBLE_CONFIG"])
        environment = {"ANSIBLE_CONFIG": str(tmp_path / "ansible.cfg")}
    other = sshd.client_public
    answer = call(sshd, {**sshd.connection, "hostKeys": [other]}, tmp_path, environment)
    assert not answer["reached"] and "Host key verification failed" in answer["message"], answer


def test_the_recorded_host_key_is_accepted(sshd: Sshd, tmp_path: Path) -> None:
    """Also under another name and port than sshd's usual one."""
    assert call(sshd, sshd.connection, tmp_path, {}) == {"reached": True, "message": "", "failed": False}
