# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Names, messages and annotations are data: of any length and kind, never evaluated, never able to break a line."""

from __future__ import annotations

import json
import unicodedata
from typing import Any

import pytest
from builders import Builder, healthy, member_id
from hypothesis import given, settings
from hypothesis import strategies as st
from rules import DELETE_MACHINE, IN_PROGRESS, MIN_READY, REMEDIATION_FOR, dead, lasting, upgrade, witness

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.decide import decide
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.decision_text import describe
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.plan.steps import plan
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.snapshot.typed_snapshot import (
    check_snapshot,
)

TEXTS = [
    "{{ lookup('file', '/etc/shadow') }}",
    "{% for x in range(10**9) %}{% endfor %}",
    "two\nlines\r\n\x1b[2J\x00\u2028end",
    "x" * 100_000,
    "",
    '"; rm -rf /',
    "😀 é 中",
    "half a pair \ud83d",
]


def place(builder: Builder, where: str, text: str) -> Builder:
    """The text in one of the places that hosts, users or other programs fill."""
    workload, snapshot = builder.workload, builder.snapshot
    etcd = workload["etcd"]
    if where == "etcd status":
        etcd["statuses"][member_id("m2")] = {"healthy": False, "message": text, "errors": [text]}
    elif where == "etcd message":
        etcd.update(reachable=False, message=text)
    elif where == "alarm":
        etcd["alarms"].append({"memberID": member_id("m2"), "alarm": text})
    elif where == "member name":
        builder.member("stray")
        etcd["members"][-1]["name"] = text or "stray"
        lasting(builder)
    elif where == "node reason":
        workload["nodes"][1].update(ready="False", readyReason=text)
    elif where == "kubelet version":
        workload["nodes"][1]["kubeletVersion"] = text
    elif where == "waiting reason":
        builder.pod("m2", "kube-scheduler", waitingReason=text, lastExitCode=1)
    elif where == "pod phase":
        builder.pod("m2", "kube-scheduler", phase=text)
    elif where == "endpoint message":
        workload["endpoint"] = {"answers": False, "message": text}
    elif where == "api message":
        builder.unreachable(text)
    elif where == "bootstrap message":
        builder.machine("m4", "Failed", age=20)
        builder.entry("m4")["machine"]["status"]["bootstrap"]["message"] = text
    elif where == "failure reason":
        builder.entry("m2")["infrastructureMachine"]["status"]["failureReason"] = text or "dead"
    elif where == "gate":
        snapshot["readinessGates"] = [{"name": text or "gate", "status": "False", "message": text}]
        builder.wants(replicas=5)
    elif where == "window":
        snapshot["maintenance"] = {"open": False, "message": text, "opensAt": None, "closesAt": None}
        upgrade(builder)
    elif where == "witness":
        dead(builder, "m2").marked("m2")
        witness(builder, "m3", message=text)
        workload["witnesses"][0].update(reachable=False, message=text)
    elif where == "worker version":
        workload.update(workerVersions={text: 1}, workerNodes=["w1"])
        builder.wants(replicas=5)
    elif where == "worker name":
        workload["workerNodes"] = [text]
        builder.deleting()
    elif where == "owner":
        owner = {"kind": text, "name": text, "controller": True}
        builder.entry("m2")["machine"]["metadata"]["ownerReferences"] = [owner]
    elif where == "failure domain":
        builder.domains(text)
        for entry in builder.snapshot["machines"]:
            entry["machine"]["spec"]["failureDomain"] = text
        builder.wants(replicas=1)
    elif where == "stored condition":
        builder.marked("m2")
        for each in builder.entry("m2")["machine"]["status"]["conditions"]:
            each["message"] = text
    else:
        key = {"record": IN_PROGRESS, "own record": REMEDIATION_FOR, "min ready": MIN_READY, "mark": DELETE_MACHINE}[
            where
        ]
        builder.annotate(key, text, "m2" if where in ("own record", "mark") else "")
        builder.wants(replicas=5)
    return builder


WHERE = (
    *("etcd status", "etcd message", "alarm", "member name", "node reason", "kubelet version", "waiting reason"),
    *("pod phase", "endpoint message", "api message", "bootstrap message", "failure reason", "gate", "window"),
    *("witness", "worker version", "worker name", "stored condition", "record", "own record", "min ready", "mark"),
    *("owner", "failure domain"),
)


def texts(value: Any) -> list[str]:
    """Every string in a document, keys included."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [found for item in (*value.keys(), *value.values()) for found in texts(item)]
    return [found for item in value for found in texts(item)] if isinstance(value, list) else []


def is_one_line(text: str) -> bool:
    """Whether a terminal shows it as one line, and a file or a pipe takes it."""
    return encodes(text) and not any(unicodedata.category(each) in ("Cc", "Zl", "Zp") for each in text)


def encodes(text: str) -> bool:
    """Whether it can be written at all."""
    return not any(0xD800 <= ord(each) <= 0xDFFF for each in text)


@pytest.mark.parametrize("where", WHERE)
@pytest.mark.parametrize(
    "text", TEXTS, ids=["template", "loop", "lines", "long", "empty", "shell", "unicode", "surrogate"]
)
def test_text_stays_text(where: str, text: str) -> None:
    snapshot = place(healthy(3), where, text).build()
    assert check_snapshot(snapshot) == []
    decision = decide(snapshot)
    if where == "failure domain" and decision["target"]:
        # A value to act with, not a text: it stays as it is.
        assert decision["target"].pop("failureDomain") == (text or None)
        assert is_one_line(describe({**decision, "target": {**decision["target"], "failureDomain": text}}))
    found = texts(decision)
    assert len(json.dumps(decision)) < 60_000
    assert not [each for each in found if any(mark in each for mark in ("\x1b", "\x00", "\r", "\u2028"))]
    assert is_one_line(describe(decision))
    assert all(encodes(each) for each in found)
    for each in [*decision["reasons"], *decision["blockedOn"], *decision["preflight"]]:
        assert "\n" not in each["message"]
        assert len(each["message"]) < 5000


@settings(max_examples=150)
@given(st.sampled_from(WHERE), st.text(max_size=300))
def test_any_text(where: str, text: str) -> None:
    snapshot = place(healthy(3), where, text).build()
    if check_snapshot(snapshot):
        return
    for step in plan(snapshot):
        assert is_one_line(describe(step))


def test_what_was_said_is_shown_as_it_was_said() -> None:
    decision = decide(place(healthy(3), "bootstrap message", "{{ 7 * 7 }}").build())
    assert "{{ 7 * 7 }}" in str(decision)
    assert "49" not in describe(decision)
