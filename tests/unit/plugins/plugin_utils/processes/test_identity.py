# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Processes told apart, and the process of the run found."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from locks import in_process_namespace

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.processes import identity
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.processes.identity import Process

SLEEP = ["sleep", "600"]


@pytest.fixture
def sleeper():
    with subprocess.Popen(SLEEP) as started:
        # The kernel has its words a moment after Popen knows that it runs.
        while not Path(f"/proc/{started.pid}/cmdline").read_bytes():
            pass
        yield started
        started.kill()


def test_a_running_process(sleeper):
    found = identity.identify(sleeper.pid)
    assert found.start_time is not None
    assert identity.is_alive(found)


def test_the_same_number_given_again(sleeper):
    found = identity.identify(sleeper.pid)
    assert not identity.is_alive(Process(found.pid, found.start_time - 1))


def test_a_stopped_process_is_alive(sleeper):
    found = identity.identify(sleeper.pid)
    sleeper.send_signal(signal.SIGSTOP)
    assert identity.is_alive(found)


def test_a_zombie_is_dead(sleeper):
    found = identity.identify(sleeper.pid)
    sleeper.kill()
    os.waitid(os.P_PID, sleeper.pid, os.WEXITED | os.WNOWAIT)
    assert os.path.exists(f"/proc/{found.pid}")
    assert not identity.is_alive(found)


def test_a_gone_process_is_dead():
    with subprocess.Popen(["sleep", "600"]) as started:
        found = identity.identify(started.pid)
        started.kill()
    assert not identity.is_alive(found)


@pytest.mark.parametrize("pid", [0, -1, 2**40])
def test_numbers_that_are_no_process(pid):
    assert not identity.is_alive(Process(pid, 1))


def test_a_name_with_parentheses(tmp_path):
    odd = tmp_path / ") S 1 (x"
    odd.symlink_to("/bin/sleep")
    with subprocess.Popen([str(odd), "600"]) as started:
        try:
            assert identity.is_alive(identity.identify(started.pid))
            assert identity.identify(started.pid).start_time > 0
        finally:
            started.kill()


# A stand-in for ansible-playbook: forks a worker, which forks a process that starts a module, and so on, as asked.
PLAYBOOK = """
import os, subprocess, sys
def worker(then):
    if os.fork() == 0:
        then()
        os._exit(0)
    os.wait()
def ask():
    print(os.getpid(), flush=True)
    sys.stdin.readline()
if sys.argv[1] == "nested":
    def then():
        subprocess.run([sys.executable, sys.argv[0], "worker", "inner.yml"], check=True)
    worker(then)
else:
    worker(lambda: worker(ask))
"""


@pytest.fixture
def ansible_playbook(tmp_path):
    script = tmp_path / "ansible-playbook"
    script.write_text(PLAYBOOK)
    started = []

    def start(*arguments):
        running = subprocess.Popen(
            [sys.executable, str(script), *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        started.append(running)
        return running, int(running.stdout.readline())

    yield start
    for each in started:
        each.communicate("\n", timeout=30)


def test_workers_belong_to_the_main_process(ansible_playbook):
    running, worker = ansible_playbook("worker", "-i", "inventory.yml", "kubeadm.control_plane.reconcile")
    assert worker != running.pid
    assert identity.find_run_process(worker) == identity.identify(running.pid)


ASKED_WITHIN = """
import os, sys
sys.path.insert(0, sys.argv[2])
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.processes import identity as process
def worker(then):
    if os.fork() == 0:
        then()
        os._exit(0)
    os.wait()
worker(lambda: worker(lambda: print(os.getpid() > 1, process.find_run_process() == process.identify(1), flush=True)))
"""


def test_a_playbook_that_is_process_one_is_the_run_of_its_workers(tmp_path):
    (tmp_path / "ansible-playbook").write_text(ASKED_WITHIN)
    root = os.path.abspath(__file__).rpartition("/ansible_collections/")[0]
    command = in_process_namespace([sys.executable, str(tmp_path / "ansible-playbook"), "site.yml", root])
    assert subprocess.run(command, check=True, capture_output=True, text=True).stdout == "True True\n"


def test_a_playbook_started_by_a_playbook_is_a_run_of_its_own(ansible_playbook):
    running, worker = ansible_playbook("nested")
    found = identity.find_run_process(worker)
    assert found.pid not in (running.pid, worker)
    assert identity.describe_command(found.pid) == "ansible-playbook inner.yml"


def test_without_ansible_the_process_itself(sleeper):
    assert identity.find_run_process(sleeper.pid) == identity.identify(sleeper.pid)
    assert identity.describe_command(sleeper.pid) == "sleep"


def test_the_command_shows_playbooks_and_no_values(ansible_playbook):
    arguments = [
        "-i",
        "secret.yml",
        "-e",
        "a.b.c",
        "-e",
        "password=hunter2",
        "--token=x",
        "site.yml",
        "kubeadm.control_plane.status",
    ]
    running, _worker = ansible_playbook("worker", *arguments)
    assert identity.describe_command(running.pid) == "ansible-playbook site.yml kubeadm.control_plane.status"
    assert identity.describe_command(2**22 + 1) == "unknown command"


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["ansible-playbook", "x.yml"], True),
        (["/usr/bin/python3", "/usr/bin/ansible-playbook", "x.yml"], True),
        (["python3", "-m", "ansible", "playbook"], True),
        (["ansible"], True),
        (["bash", "-c", "ansible-playbook x.yml"], False),
        (["python3", "/home/alice/.ansible/tmp/AnsiballZ_x.py"], False),
        (["ansible-runner", "run"], False),
        (["vi", "-R", "notes-on-ansible"], False),
        ([], False),
    ],
)
def test_what_is_an_ansible_command(arguments, expected):
    assert identity.is_ansible_command(arguments) is expected


def test_awx_job(monkeypatch):
    for name in list(os.environ):
        if name.startswith(("AWX_", "TOWER_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("JOB_ID", "17")
    assert identity.this_awx_job() == ""
    monkeypatch.setenv("AWX_HOST", "https://awx.example.org")
    assert identity.this_awx_job() == "17"
    monkeypatch.setenv("JOB_ID", "x; rm")
    assert identity.this_awx_job() == ""


def test_who_runs_this(monkeypatch):
    monkeypatch.delenv("SUDO_USER", raising=False)
    plain = identity.this_user()
    monkeypatch.setenv("SUDO_USER", "alice")
    assert identity.this_user() == f"alice as {plain}"
    assert len(identity.this_boot()) == 36
    assert identity.this_pid_namespace().startswith("pid:[")
