# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The end of each machine's certificates is read once, and never stands in anything's way."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
from builders import Builder, healthy
from observed import Machines, objects_of

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.observe.certificate_expiry import record_expiry
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.records.cluster_objects import KUBEADM_CONFIG

KEY = "machine.cluster.x-k8s.io/certificates-expiry"
END = "2026-11-21T00:00:00Z"
OTHER = "2027-01-01T00:00:00Z"


def tells(end: str) -> t.Callable[[dict[str, t.Any]], dict[str, t.Any]]:
    """A machine whose API server's certificate ends then."""
    return lambda _arguments: {"machine": {"certificates": {"apiserver.crt": end, "ca.crt": "2036-01-01T00:00:00Z"}}}


def recorded(
    builder: Builder, tmp_path: Path, **nodes: t.Any
) -> tuple[dict[str, t.Optional[str]], Machines, dict[str, t.Any]]:
    """What the stored KubeadmConfigs say after it, who was asked, and the snapshot."""
    builder.workload.setdefault("machineCertificates", {})["m1"] = {"apiserver.crt": END}
    names = [entry["machine"]["metadata"]["name"] for entry in builder.snapshot["machines"]]
    machines = Machines({name: nodes.get(name, tells(OTHER)) for name in names})
    snapshot, objects = builder.build(), objects_of(builder, tmp_path / "store")
    for config in objects.kubeadm_configs.values():
        objects.store.create({"apiVersion": "bootstrap.cluster.x-k8s.io/v1beta2", **config})
    record_expiry(objects, machines, snapshot)
    stored = {each["metadata"]["name"]: each["metadata"] for each in objects.store.list(KUBEADM_CONFIG, "default")}
    return {name: (stored[name].get("annotations") or {}).get(KEY) for name in names}, machines, snapshot


def test_the_observed_machine_has_told_it_and_the_others_are_asked(tmp_path: Path) -> None:
    found, machines, snapshot = recorded(healthy(3), tmp_path)
    assert found == {"m1": END, "m2": OTHER, "m3": OTHER}
    assert machines.asked == ["m2", "m3"]
    assert [each["kubeadmConfig"]["metadata"]["annotations"][KEY] for each in snapshot["machines"]] == [
        END,
        OTHER,
        OTHER,
    ]


def test_it_is_read_once_and_what_the_user_says_stays(tmp_path: Path) -> None:
    builder = healthy(3).annotate(KEY, END, "m3")
    builder.entry("m2")["kubeadmConfig"]["metadata"]["annotations"] = {KEY: END}
    found, machines, _snapshot = recorded(builder, tmp_path)
    assert (found, machines.asked) == ({"m1": END, "m2": END, "m3": None}, [])


@pytest.mark.parametrize(
    "answer", [lambda _arguments: None, lambda _arguments: {"machine": {"certificates": {"x": 1}}}]
)
def test_a_machine_that_does_not_tell_is_left_for_the_next_time(tmp_path: Path, answer: t.Any) -> None:
    found, _machines, _snapshot = recorded(healthy(3), tmp_path, m2=answer)
    assert found == {"m1": END, "m2": None, "m3": OTHER}


@pytest.mark.parametrize(
    "builder",
    [
        healthy(2).annotate("cluster.x-k8s.io/paused", ""),
        healthy(2).deleting(),
        healthy(2).unreachable(),
    ],
)
def test_nobody_is_asked_where_nothing_may_be_done(tmp_path: Path, builder: Builder) -> None:
    found, machines, _snapshot = recorded(builder, tmp_path)
    assert set(found.values()) == {None} and machines.asked == []


def test_a_machine_whose_node_is_not_ready_or_that_goes_is_not_asked(tmp_path: Path) -> None:
    found, machines, _snapshot = recorded(healthy(3).node("m2", "Unknown").deleting("m3"), tmp_path)
    assert (found, machines.asked) == ({"m1": END, "m2": None, "m3": None}, [])


def test_what_an_observed_machine_says_takes_the_place_of_what_was_recorded(tmp_path: Path) -> None:
    """Its certificates were renewed; what the user says of another one stays."""
    builder = healthy(3).annotate(KEY, OTHER, "m2")
    for name in ("m1", "m2", "m3"):
        builder.entry(name)["kubeadmConfig"]["metadata"]["annotations"] = {KEY: "2026-01-01T00:00:00Z"}
    builder.workload["machineCertificates"] = {"m2": {"apiserver.crt": END}}
    found, machines, _snapshot = recorded(builder, tmp_path)
    assert found == {"m1": END, "m2": "2026-01-01T00:00:00Z", "m3": "2026-01-01T00:00:00Z"}
    assert machines.asked == []
