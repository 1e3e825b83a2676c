# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A machine that has only just joined is given a moment to come up before it is asked."""

from __future__ import annotations

import typing as t
from pathlib import Path

from builders import NOW, Builder, at, healthy
from observed import Machines, answers, objects_of

from ansible_collections.kubeadm.control_plane.plugins.module_utils.common import settings
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.observe.observation import observe


def settled(builder: Builder, tmp_path: Path, settle: bool = True) -> list[t.Any]:
    """For how long each machine that was asked was given to come up."""
    machines = Machines(
        {entry["machine"]["metadata"]["name"]: answers(builder) for entry in builder.snapshot["machines"]}
    )
    observe(objects_of(builder, tmp_path / "store"), machines, NOW, settle=settle)
    return [arguments.get("settle") for _name, arguments in machines.calls]


def joined(builder: Builder, seconds_ago: int) -> Builder:
    """The newest machine joined that long ago, and has not been found ready since."""
    status = builder.entry("m3")["machine"]["status"]
    status["bootstrap"]["startedAt"] = at(seconds_ago)
    status["conditions"] = [each for each in status.get("conditions") or [] if each["type"] != "Ready"]
    return builder


def test_a_machine_that_has_only_just_joined_is_given_time_to_come_up(tmp_path: Path) -> None:
    assert settled(joined(healthy(3), 30), tmp_path) == [settings.OBSERVATION_WAIT_SECONDS]
    assert settled(joined(healthy(3), 30), tmp_path, settle=False) == [None], "who only looks waits for nothing"


def test_one_that_should_have_come_up_long_ago_is_not_waited_for(tmp_path: Path) -> None:
    assert settled(joined(healthy(3), 3600), tmp_path) == [None]


def test_one_that_was_found_ready_is_not_waited_for(tmp_path: Path) -> None:
    builder = joined(healthy(3), 30)
    ready = {"type": "Ready", "status": "True", "reason": "Ready", "lastTransitionTime": at(5)}
    builder.entry("m3")["machine"]["status"]["conditions"].append(ready)
    assert settled(builder, tmp_path) == [None]


def test_only_the_first_that_is_asked_is_given_time(tmp_path: Path) -> None:
    builder = joined(healthy(3), 30)
    nodes = {"m3": answers(builder, api=False), "m2": answers(builder), "m1": answers(builder)}
    machines = Machines(nodes)
    observe(objects_of(builder, tmp_path / "store"), machines, NOW, settle=True)
    assert [(name, arguments.get("settle")) for name, arguments in machines.calls[:2]] == [
        ("m3", settings.OBSERVATION_WAIT_SECONDS),
        ("m2", None),
    ]
