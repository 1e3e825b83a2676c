# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a Task keeps of itself: everything that a person needs, nothing that is secret.

Source: docs/reference/kubeadm_operator.md, "Defects".
"""

from __future__ import annotations

import base64
import copy
import typing as t
from pathlib import Path

import pytest
from operator_cases import Walk, action, begun, executions, group

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects import actions
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.operator.tasks import records as operator_records
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.operator.tasks.records import Secrets, TaskRecord

Object = dict[str, t.Any]
NAME = "first-01-a-cp-a"


@pytest.fixture
def walk(tmp_path: Path) -> Walk:
    """An Action whose first Task is there, and has not begun."""
    where = executions(tmp_path)
    one = Walk(where, begun(where, action(group("a", "preflight", "pass"))))
    one.look()
    return one


def output(path: str = "/var/log/1", **more: t.Any) -> Object:
    """What a program left."""
    kept = {"argv": ["kubeadm", "version"], "exitCode": 0, "head": "v1.20.2\n", "tail": "", "logPath": path}
    return {**kept, **more}


def records(walk: Walk) -> list[Object]:
    found: list[Object] = walk.stored("Task", NAME)["status"]["commands"]
    return found


def test_a_command_has_its_start_and_end_attempt_notes_and_outputs(walk: Walk) -> None:
    record = TaskRecord(walk.where.store, "default", NAME, Secrets())
    record.begin()
    record.begin_command(0, "preflight")
    record.note(0, "already there")
    record.note(0, "already there")
    record.output(0, output())
    record.output(0, output(head="v1.20.3\n"))
    record.output(0, output("/var/log/2"))
    record.end_command(0)
    [first] = records(walk)
    assert first["name"] == "preflight" and first["attempt"] == 1 and first["notes"] == ["already there"]
    assert [(each["logPath"], each["head"]) for each in first["outputs"]] == [
        ("/var/log/2", "v1.20.2\n") if index else ("/var/log/1", "v1.20.3\n") for index in (0, 1)
    ], "one that was found again is kept once"
    assert first["startTime"] and first["completionTime"]
    assert walk.stored("Task", NAME)["status"]["commandProgress"] == "1/2"


def test_what_was_run_on_the_controller_is_kept_of_every_attempt(walk: Walk) -> None:
    record = TaskRecord(walk.where.store, "default", NAME, Secrets())
    record.begin()
    record.begin_command(0, "preflight")
    record.output(0, output(""))
    record.output(0, output("/var/log/1"))
    record.output(0, output("", exitCode=1))
    [first] = records(walk)
    assert [(each["logPath"], each["exitCode"]) for each in first["outputs"]] == [("", 0), ("/var/log/1", 0), ("", 1)]


def test_the_start_of_a_command_stays_that_of_its_first_run(walk: Walk) -> None:
    record = TaskRecord(walk.where.store, "default", NAME, Secrets())
    record.begin()
    record.begin_command(0, "preflight")
    walk.where.store.modify(
        operator_records.TASK, "default", NAME, lambda each: each["status"]["commands"][0].update(startTime="then")
    )
    record.begin_command(0, "preflight")
    assert records(walk)[0]["startTime"] == "then"


def test_secrets_are_in_no_record(walk: Walk) -> None:
    key = b"-----BEGIN EC PRIVATE KEY-----\nMHcCAQEEIGeheimGeheim\n-----END EC PRIVATE KEY-----\n"
    secrets = Secrets()
    secrets.add({"tls.key": key, "short": b"true", "word": b"correct horse battery"})
    record = TaskRecord(walk.where.store, "default", NAME, secrets)
    record.begin()
    record.begin_command(0, "preflight")
    encoded = base64.b64encode(key).decode()
    text = f"true {key.decode()} {encoded} correct horse battery MHcCAQEEIGeheimGeheim abcdef.0123456789abcdef"
    record.note(0, text)
    record.output(0, output(head=text, tail=text, argv=["echo", "correct horse battery"]))
    record.fail(0, "preflight", f"it said {text}")
    stored = str(walk.stored("Task", NAME))
    for secret in ("Geheim", "correct horse", encoded[:40], "0123456789abcdef"):
        assert secret not in stored, secret
    assert "true [redacted" in stored, "what is too short to be a secret stays readable"


def test_a_failed_command_is_recovered_once(walk: Walk) -> None:
    record = TaskRecord(walk.where.store, "default", NAME, Secrets())
    record.begin()
    record.begin_command(0, "preflight")
    failed = record.fail(0, "preflight", "no")
    assert failed["status"]["phase"] == "Failed" and failed["status"]["errorMessage"] == "preflight: no"
    failed["spec"]["recoveryMode"] = actions.RETRY
    operator_records.recover(failed, "now")
    assert "recoveryMode" not in failed["spec"] and failed["status"]["phase"] == "Running"
    assert failed["status"]["commands"][0]["attempt"] == 2 and failed["status"]["currentCommand"] == 1
    failed["status"]["errorReason"] = "ExecutionError"
    failed["spec"]["recoveryMode"] = actions.SKIP
    operator_records.recover(failed, "now")
    assert failed["status"]["currentCommand"] == 2 and failed["status"]["commandProgress"] == "1/2"


def test_what_was_recovered_already_is_only_taken_off(walk: Walk) -> None:
    """A Kubernetes API has the status first: a run that was killed there would skip the next command that fails, unasked."""
    record = TaskRecord(walk.where.store, "default", NAME, Secrets())
    task = record.begin()
    task["spec"]["recoveryMode"] = actions.SKIP
    before = copy.deepcopy(task["status"])
    operator_records.recover(task, "now")
    assert "recoveryMode" not in task["spec"] and task["status"] == before


def test_a_command_that_had_ended_is_not_the_next_one(walk: Walk) -> None:
    """A run may die right after it had written that."""
    record = TaskRecord(walk.where.store, "default", NAME, Secrets())
    assert operator_records.next_command(record.begin()) == 0
    record.begin_command(0, "preflight")
    assert operator_records.next_command(record.begin()) == 0
    record.end_command(0)
    assert operator_records.next_command(record.begin()) == 1
    record.begin_command(1, "pass")
    record.end_command(1)
    assert operator_records.next_command(record.begin()) == 2, "all have ended"
