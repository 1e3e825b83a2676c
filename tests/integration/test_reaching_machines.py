# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A machine behind a real sshd: its recorded host key is what counts, and nobody waits for it for ever."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import typing as t
from pathlib import Path

import pytest
from sshd import Sshd, find_base

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.lock import file_lock

CALL = Path(__file__).resolve().parents[1] / "support" / "one_call.py"
NO_CHECK = "-o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null"


@pytest.fixture(scope="module")
def sshd(tmp_path_factory: pytest.TempPathFactory) -> t.Iterator[Sshd]:
    """A machine; what is in its folder has to be quoted."""
    running = Sshd(tmp_path_factory.mktemp("a 100% machine"), find_base())
    yield running
    running.end()


def call(
    sshd: Sshd, connection: t.Mapping[str, t.Any], folder: Path, environment: t.Mapping[str, str], *more: str
) -> list[dict[str, t.Any]]:
    """Ask the machine for its claim, twice, with that environment."""
    return called(sshd, connection, folder, environment, "host_claim_info", {}, *more)


def called(
    sshd: Sshd,
    connection: t.Mapping[str, t.Any],
    folder: Path,
    environment: t.Mapping[str, str],
    module: str,
    arguments: t.Mapping[str, t.Any],
    *more: str,
) -> list[dict[str, t.Any]]:
    """Call a module there, twice."""
    words = [str(sshd.folder), json.dumps(connection), module, json.dumps(arguments), *more]
    env = {**os.environ, "ANSIBLE_HOME": str(folder), "ANSIBLE_SSH_CONTROL_PATH_DIR": str(folder), **environment}
    done = subprocess.run([sys.executable, str(CALL), *words], env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()[-2:]]


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
    answer, _again = call(sshd, {**sshd.connection, "hostKeys": [sshd.client_public]}, tmp_path, environment)
    assert not answer["reached"] and "Host key verification failed" in answer["message"], answer


def test_the_recorded_host_key_is_accepted(sshd: Sshd, tmp_path: Path) -> None:
    """Also under another name and port than sshd's usual one."""
    assert call(sshd, sshd.connection, tmp_path, {}) == [{"reached": True, "message": "", "failed": False}] * 2


def test_the_reason_is_sshs_own(sshd: Sshd, tmp_path: Path) -> None:
    """Also where ssh closes its input before it has ended, which is all that Ansible tells then."""
    hasty = tmp_path / "ssh"
    hasty.write_text('#!/bin/sh\nexec <&-\nexec ssh "$@"\n')
    hasty.chmod(0o755)
    recorded = {**sshd.connection, "hostKeys": [sshd.client_public]}
    answer, _again = call(sshd, recorded, tmp_path, {"ANSIBLE_SSH_EXECUTABLE": str(hasty)})
    assert not answer["reached"] and "Host key verification failed" in answer["message"], answer


def test_the_machine_refuses_a_number_below_the_highest_that_it_has_seen(sshd: Sshd, tmp_path: Path) -> None:
    """The modules themselves, with the locks of two stores: an observation raises its lock's number, a step is refused."""
    one, other = tmp_path / "one", tmp_path / "other"
    file_lock.leave_number(str(other), "default", "prod", 40)
    file = {"path": "/etc/kubernetes/x", "content": "x"}

    def run(store: Path, module: str, arguments: t.Mapping[str, t.Any]) -> list[dict[str, t.Any]]:
        return called(sshd, sshd.connection, tmp_path, {}, module, arguments, "60", str(store))

    assert [each["failed"] for each in run(one, "node_observe", {"looks": 1})] == [False, False]
    assert [each["failed"] for each in run(other, "node_observe", {"looks": 1})] == [False, False]
    with pytest.raises(AssertionError, match=r"since it was observed.*number 2, newest 41"):
        run(one, "node_file", file)
    assert [each["failed"] for each in run(one, "node_observe", {"looks": 1})] == [False, False]
    assert (one / "default" / "locks" / "prod" / "42.released").exists()


def test_a_machine_that_always_knows_a_greater_number_is_not_asked_for_ever(sshd: Sshd, tmp_path: Path) -> None:
    """It doesn't tell the truth, and must neither hold the run nor use up the numbers."""
    hostile = """#!/bin/sh
cat >/dev/null
echo x >>/asked
echo "{\\"failed\\": true, \\"msg\\": \\"refused\\", \\"fenced\\": $(($(wc -l </asked) * 1000))}"
"""
    sshd.put_program("/usr/bin/python3", hostile)
    store = tmp_path / "store"
    answers = called(sshd, sshd.connection, tmp_path, {}, "node_observe", {"looks": 1}, "60", str(store))
    assert [(each["reached"], each["failed"], each["message"]) for each in answers] == [(True, True, "refused")] * 2
    # Three questions each.
    assert (store / "default" / "locks" / "prod" / "6001.released").exists()


def test_a_machine_whose_processes_hang_was_not_reached(sshd: Sshd, tmp_path: Path) -> None:
    """sshd answers and takes the connection, nothing that is started ends: the call ends, is not made again, and leaves no ssh behind."""
    sshd.put_program("/usr/bin/python3", "#!/bin/sh\nexec sleep 100000\n")
    answers = call(sshd, sshd.connection, tmp_path, {}, "2")
    assert [each["reached"] for each in answers] == [False, False] and answers[0] == answers[1]
    assert "machine m1 was not reached: host_claim_info has not ended there within 2 s" in answers[0]["message"]
    assert processes_of(f"Port={sshd.port}") == [] and not list(tmp_path.glob("kcp-*"))


def processes_of(word: str) -> list[bytes]:
    """The command lines of all processes that have this word."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = path.read_bytes()
        except OSError:
            continue
        if word.encode() in line.split(b"\0"):
            found.append(line)
    return found
