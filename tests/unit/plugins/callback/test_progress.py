# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the callback progress shows where a run is interrupted, has two playbooks, or plays on no host."""

from __future__ import annotations

import atexit
import typing as t
from pathlib import Path
from types import SimpleNamespace

import pytest
from etcd_cluster import until

from ansible_collections.kubeadm.control_plane.plugins.callback import progress
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.progress import channel

Ends = list[t.Callable[[], None]]


@pytest.fixture
def ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> t.Iterator[Ends]:
    """What is called at the end of Ansible's process."""
    found: Ends = []
    monkeypatch.setattr(channel, "FILE", f"{tmp_path.name}.jsonl")
    monkeypatch.setattr(atexit, "register", found.append)
    yield found
    for each in found:
        each()


def failed(message: str) -> SimpleNamespace:
    """A task's result, as far as a failure is shown."""
    task = SimpleNamespace(get_name=lambda: "Own task", _uuid="1")
    return SimpleNamespace(host=SimpleNamespace(get_name=lambda: "prod"), task=task, result={"msg": message})


def test_a_failure_that_was_kept_is_said_where_the_run_is_interrupted(
    ends: Ends, capsys: pytest.CaptureFixture[str]
) -> None:
    callback = progress.CallbackModule()
    callback.v2_playbook_on_start(None)
    callback.v2_runner_on_failed(failed("no route"))
    assert "no route" not in capsys.readouterr().out, "a report may follow"
    (interrupted,) = ends
    interrupted()
    assert capsys.readouterr().out.splitlines() == ["prod: FAILED: no route", "  where       task Own task"]
    assert not channel.is_open()


def test_the_second_playbook_of_a_command_line_is_followed_too(
    ends: Ends, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also while no task ends."""
    monkeypatch.setattr(progress, "TICK_SECONDS", 0.01)
    callback = progress.CallbackModule()
    for number in ("first", "second"):
        callback.v2_playbook_on_start(None)
        assert channel.send("note", {"host": "prod", "text": number})
        assert until(number, lambda: capsys.readouterr().out) == f"prod: {number}\n"
        callback.v2_playbook_on_stats(None)


@pytest.mark.parametrize("own", [True, False])
def test_a_play_without_hosts_is_named_unless_the_guard_has_said_it(
    ends: Ends, capsys: pytest.CaptureFixture[str], tmp_path: Path, own: bool
) -> None:
    """Also where the collection is installed as a link."""
    (tmp_path / "link").symlink_to(Path(progress.__file__).parents[2])
    shipped = tmp_path / "link" / "playbooks" / "reconcile.yml"
    path = "/srv/own.yml:3" if own else f"{shipped}:7"
    callback = progress.CallbackModule()
    callback.v2_playbook_on_start(None)
    callback.v2_playbook_on_play_start(SimpleNamespace(get_path=lambda: path, get_name=lambda: "Own\x1b play"))
    callback.v2_playbook_on_no_hosts_matched()
    assert capsys.readouterr().out == ("no hosts matched: Own\\x1b play\n" if own else "")
