# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The deadline of a call of a machine (with a real sshd: integration/test_reaching_machines.py)."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import typing as t
from pathlib import Path

import pytest
from ansible._internal._errors._alarm_timeout import AnsibleTimeoutError

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.calls import deadline as call_deadline
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.calls.deadline import TookTooLong, deadline

MODULES = Path(__file__).resolve().parents[5] / "plugins" / "modules"
SLEEP = ("sleep", "600")


@pytest.mark.parametrize(
    ("module", "arguments", "seconds"),
    [
        ("node_observe", {}, 120),
        ("node_observe", {"settle": 10, "timeout": 3.0, "looks": 3}, 130),
        ("node_bootstrap", {"wait": 12, "step": "x"}, 612),
        ("node_drain", {"wait": 12, "timeout": 600, "volumes_timeout": 300}, 132),
        ("node_command", {"wait": 20, "timeout": 100000}, 140),
        ("static_pod", {"timeout": 300}, 600),
        ("etcd_snapshot", {"keep": 5}, 5400),
        ("ansible.builtin.apt", {"wait": 1}, 3600),
    ],
)
def test_what_a_call_may_take(module: str, arguments: dict[str, t.Any], seconds: int) -> None:
    """Its own bounds and what it is told to wait for: the bound of a unit that works on by itself is no call's."""
    name = module if "." in module else f"kubeadm.control_plane.{module}"
    assert call_deadline.seconds_of(name, arguments) == seconds


def test_bounds_are_of_modules_that_there_are() -> None:
    """A module that is renamed takes its bound along."""
    assert [name for name in call_deadline.LONG_CALLS if not (MODULES / f"{name}.py").is_file()] == []


def test_what_takes_too_long_is_ended_with_what_it_started() -> None:
    """What was there before goes on."""
    with subprocess.Popen(SLEEP) as before:
        try:
            with pytest.raises(TookTooLong), deadline(1):
                within = subprocess.Popen(["sh", "-c", "sleep 600 & wait"])
                within.wait()
            assert within.wait() == -signal.SIGKILL and before.poll() is None
        finally:
            before.kill()


def test_what_ends_in_time_leaves_no_alarm() -> None:
    """Nor a handler."""
    with deadline(600):
        pass
    assert signal.getitimer(signal.ITIMER_REAL)[0] == 0 and signal.getsignal(signal.SIGALRM) == signal.SIG_DFL


def test_the_timeout_of_a_task_holds_within_and_after_it() -> None:
    """Ansible's own, which is an alarm as well."""
    with subprocess.Popen(SLEEP) as slow:
        try:
            with pytest.raises(AnsibleTimeoutError), AnsibleTimeoutError.alarm_timeout(1), deadline(600):
                slow.wait()
            with pytest.raises(AnsibleTimeoutError), AnsibleTimeoutError.alarm_timeout(1):
                with deadline(600):
                    pass
                slow.wait()
        finally:
            slow.kill()
    assert signal.getsignal(signal.SIGALRM) == signal.SIG_DFL


def test_time_in_which_the_run_itself_was_stopped_does_not_count(tmp_path: Path) -> None:
    """It finds the answer when it wakes, not its deadline."""
    asked, answer = tmp_path / "asked", tmp_path / "answer"
    os.mkfifo(asked)
    os.mkfifo(answer)
    code = f"""
import sys
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.calls import deadline as call_deadline
with call_deadline.deadline(3):
    open({str(asked)!r}, "w").close()
    print(open({str(answer)!r}).read(), end="")
"""
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as run:
        asked.open().close()
        run.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, run.pid, os.WSTOPPED)
        # Longer than its deadline.
        subprocess.run(["sleep", "4"], check=True)
        run.send_signal(signal.SIGCONT)
        answer.write_text("here")
        assert run.communicate()[0] == "here" and run.returncode == 0
