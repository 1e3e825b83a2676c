# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a user sees with the callback progress: of this collection's playbooks on stand-ins, and of other tasks."""

from __future__ import annotations

import os
import subprocess
import typing as t
from pathlib import Path

import pytest
import yaml
from acme_workspace import AcmeWorkspace
from workspace import Run

WHY = "the disk of this machine is full"


@pytest.fixture
def progress(monkeypatch: pytest.MonkeyPatch) -> None:
    """The callback is set as a user sets it."""
    monkeypatch.setenv("ANSIBLE_STDOUT_CALLBACK", "kubeadm.control_plane.progress")
    monkeypatch.delenv("ANSIBLE_FORCE_COLOR", raising=False)


def lines(run: Run) -> list[str]:
    """What was printed, by lines."""
    assert "\x1b" not in run.output and "\r" not in run.output, "without a terminal there is nothing for one"
    return run.output.splitlines()


def test_a_cluster_that_grows_rests_and_fails(
    one_machine: AcmeWorkspace, tmp_path: Path, progress: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A line a step; one where nothing is done; a failure once, without JSON."""
    workspace = one_machine.copied(tmp_path / "workspace").answering(monkeypatch)
    assert [
        line.startswith("prod: nothing to do: ") for line in lines(workspace.playbook("reconcile").succeeded())
    ] == [True]
    workspace.manifest("prod", replicas=3)
    shown = lines(workspace.playbook("reconcile").succeeded())
    steps = [line for line in shown if "(expected " in line]
    names = {each["metadata"]["name"] for each in workspace.objects("Machine")}
    assert len(steps) == 2 and len(shown) <= 25
    for line, voters in zip(steps, ("1 → 2 voters", "2 → 3 voters")):
        assert line.startswith("prod: join machine ") and f"; etcd {voters}; " in line
        assert sum(name in line for name in names) == 1
    assert shown[-1].startswith("prod: done: ") and "(2 steps, " in shown[-1]

    workspace.refuse_bootstraps(WHY)
    workspace.manifest("prod", replicas=5)
    failed = workspace.playbook("reconcile").failed()
    shown = lines(failed)
    assert failed.output.count(WHY) == 1 and "fatal" not in failed.output and "{" not in failed.output
    assert [line.split("  ")[1] for line in shown if line.startswith("  ")] == [
        "where",
        "changed",
        "safe now?",
        "what to do",
    ]
    assert shown[-1].startswith("prod: FAILED (")


def tasks() -> list[dict[str, t.Any]]:
    """A user's own tasks."""
    command = "ansible.builtin.command"
    return [
        {"name": "Nothing new", command: "true", "changed_when": False},
        {"name": "Not here", command: "true", "when": False},
        {"name": "Something new", command: "true"},
        {"name": "Said", "ansible.builtin.debug": {"msg": "a\x1b[2J word\nand more"}},
        {"name": "Ignored", command: "false", "ignore_errors": True},
        {"name": "Hidden", command: "echo secret-1", "no_log": True},
        {
            "name": "Of two one fails",
            "ansible.builtin.fail": {"msg": "not {{ item }}"},
            "loop": ["a", "b"],
            "when": "item == 'b'",
        },
    ]


@pytest.mark.parametrize("hidden", [False, True])
def test_tasks_of_others(tmp_path: Path, progress: None, hidden: bool) -> None:
    """What changed, what a debug task prints, and what failed, once; what no_log hides stays hidden."""
    last = {"name": "Secret", "ansible.builtin.fail": {"msg": "secret-2"}, "no_log": True}
    own = [*tasks()[:-1], last] if hidden else tasks()
    play = {"name": "Own", "hosts": "localhost", "gather_facts": False, "tasks": own}
    (tmp_path / "own.yml").write_text(yaml.safe_dump([play]))
    done = subprocess.run(
        ["ansible-playbook", "own.yml"], cwd=tmp_path, capture_output=True, text=True, stdin=subprocess.DEVNULL
    )
    assert done.returncode == 2
    shown = lines(Run(done.returncode, done.stdout))
    assert shown[:4] == [
        "localhost: changed: Something new",
        "localhost: a\\x1b[2J word",
        "and more",
        "localhost: changed: Hidden",
    ]
    if hidden:
        assert shown[4].startswith("localhost: FAILED: the output has been hidden") and len(shown) == 6
        assert "secret" not in done.stdout + done.stderr
    else:
        assert shown[4:] == ["localhost: FAILED: not b", "  where       task Of two one fails"]


def test_verbose_is_the_default_callbacks_output(tmp_path: Path, progress: None) -> None:
    play = {"name": "Own", "hosts": "localhost", "gather_facts": False, "tasks": tasks()[:4]}
    (tmp_path / "own.yml").write_text(yaml.safe_dump([play]))
    outputs = [
        subprocess.run(
            ["ansible-playbook", "-v", "own.yml"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            env={**os.environ, "ANSIBLE_STDOUT_CALLBACK": name},
        ).stdout.partition("PLAY [")[2]
        for name in ("kubeadm.control_plane.progress", "default")
    ]
    assert "TASK [Not here]" in outputs[0]
    # The command's own times differ.
    assert [[line for line in each.splitlines() if "delta" not in line] for each in outputs[:1]] == [
        [line for line in each.splitlines() if "delta" not in line] for each in outputs[1:]
    ]
