# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Events that explain: written by the store, shown by `kubectl describe`, and never in the way of a run."""

from __future__ import annotations

import json
import typing as t
from pathlib import Path

import pytest
from api_server import ApiServer
from management import Kubectl, Runs, control_plane, kubeconfig_of

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects import kinds
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.events import LONGEST_MESSAGE
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.kubernetes.requests import KubernetesApi
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.kubernetes.store import KubernetesStore

Object = dict[str, t.Any]
EVENTS = "/api/v1/namespaces/default/events"


@pytest.fixture
def store(kubernetes_store: KubernetesStore) -> KubernetesStore:
    """The empty store, without Events of other tests."""
    for each in kubernetes_store.api.send("get", EVENTS).document["items"]:
        kubernetes_store.api.send("delete", f"{EVENTS}/{each['metadata']['name']}")
    return kubernetes_store


def events(store: KubernetesStore) -> list[Object]:
    """What is said of which object, the oldest first."""
    found: list[Object] = store.api.send("get", EVENTS).document["items"]
    return sorted(found, key=lambda each: (each["lastTimestamp"], each["metadata"]["resourceVersion"]))


def told(store: KubernetesStore) -> list[tuple[str, str, str]]:
    return [(each["involvedObject"]["kind"], each["type"], each["reason"]) for each in events(store)]


def test_describe_shows_them(server: ApiServer, store: KubernetesStore) -> None:
    stored = store.create(control_plane(replicas=3))
    store.record(stored, "ScalingUp", "join a new machine: 1 of 3 replicas")
    store.record(stored, "FailedScaleUp", "kubeadm join ended with 1", warning=True)
    said = Kubectl(server)("describe", "kcp", "prod")
    lines = [line.split(None, 4) for line in said[said.index("Events:") :].splitlines()[3:]]
    # Within one second they have no order.
    assert sorted((line[0], line[1], line[3], line[4].strip()) for line in lines) == [
        ("Normal", "ScalingUp", "kubeadm-control-plane", "join a new machine: 1 of 3 replicas"),
        ("Warning", "FailedScaleUp", "kubeadm-control-plane", "kubeadm join ended with 1"),
    ]


def test_the_same_again_is_counted(store: KubernetesStore) -> None:
    """A schedule that finds the same trouble every ten minutes leaves one Event."""
    stored = store.create(control_plane(replicas=3))
    for _turn in range(3):
        store.record(stored, "ControlPlaneUnhealthy", "etcd has an alarm", warning=True)
    store.record(stored, "ControlPlaneUnhealthy", "another reason", warning=True)
    assert [(each["message"], each["count"]) for each in sorted(events(store), key=lambda each: -each["count"])] == [
        ("etcd has an alarm", 3),
        ("another reason", 1),
    ]


def test_no_secret_and_no_endless_text(store: KubernetesStore) -> None:
    stored = store.create(control_plane(replicas=3))
    store.record(stored, "FailedScaleUp", "kubeadm join --token abcdef.0123456789abcdef\n" + "x" * 5000, warning=True)
    (event,) = events(store)
    assert "0123456789abcdef" not in event["message"] and "\n" not in event["message"]
    assert len(event["message"]) == LONGEST_MESSAGE


def test_a_name_as_long_as_names_can_be(store: KubernetesStore) -> None:
    made = control_plane(replicas=3)
    made["metadata"]["name"] = f"{'a' * 57}.{'b' * 57}.{'c' * 56}.{'d' * 56}.{'e' * 23}"
    assert len(made["metadata"]["name"]) == 253 and made["metadata"]["name"][229] == "."
    store.record(store.create(made), "ScalingUp", "…")
    assert len(events(store)) == 1


def test_without_the_right_to_write_them_everything_else_goes_on(server: ApiServer, store: KubernetesStore) -> None:
    reader = KubernetesStore(KubernetesApi({"kubeconfig": kubeconfig_of(server, "nobody")}))
    stored = store.create(control_plane(replicas=3))
    reader.record(stored, "ScalingUp", "…")
    before = reader.api.requests
    reader.record(stored, "ScalingUp", "once more")
    assert reader.api.requests == before, "it had been refused"
    assert events(store) == []


@pytest.fixture
def runs(server: ApiServer, store: KubernetesStore, tmp_path: Path) -> Runs:
    """The cluster prod as its manifest says, nothing done yet."""
    runs = Runs(server, tmp_path)
    assert not runs("cluster", manifests=[str(runs.manifest)]).get("failed")
    return runs


def test_a_step_and_its_failure(runs: Runs, store: KubernetesStore) -> None:
    decided = runs("decide", run="r1")
    assert decided["act"], decided
    assert told(store) == [("KubeadmControlPlane", "Normal", "Provisioning")]
    assert events(store)[0]["message"] == decided["msg"]
    ended = runs("failure_report", run="r1", error="the endpoint could not be made\nin detail: …")
    assert ended["failed"]
    assert told(store)[1:] == [("KubeadmControlPlane", "Warning", "FailedCreateInfrastructure")]
    assert events(store)[1]["message"] == "the endpoint could not be made"


def test_paused_and_nothing_to_do_are_no_news(runs: Runs, store: KubernetesStore) -> None:
    name = (kinds.GROUP_CLUSTER, kinds.CLUSTER), "default", "prod"
    store.modify(*name, lambda found: found["spec"].update(paused=True))
    assert runs("decide", run="r1")["act"] is False
    assert told(store) == []


def test_what_blocks_is_told_once(runs: Runs, store: KubernetesStore) -> None:
    """And again, it is counted."""
    name = (kinds.GROUP_CONTROL_PLANE, kinds.KUBEADM_CONTROL_PLANE), "default", "prod-control-plane"
    store.modify(*name, lambda found: found["spec"].update(replicas=2))
    for run in ("r1", "r2"):
        blocked = runs("decide", run=run)
        assert blocked["failed"] and blocked["decision"]["action"] == "blocked", json.dumps(blocked)
    (event,) = events(store)
    assert (event["type"], event["count"]) == ("Warning", 2)
    assert event["message"].startswith(blocked["decision"]["blockedOn"][0]["message"])


def test_check_mode_says_nothing(runs: Runs, store: KubernetesStore) -> None:
    runs("decide", check=True, run="r1")
    assert told(store) == []
