# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What an API server would refuse of an object: asked without a write, told without a value."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.kubernetes.requests import Answer, Refused
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.kubernetes.store import KubernetesStore

CONFIG = {
    "apiVersion": "bootstrap.cluster.x-k8s.io/v1beta2",
    "kind": "KubeadmConfig",
    "metadata": {"name": "a", "namespace": "default"},
    "spec": {"format": "cloud-config"},
    "status": {"dataSecretName": "a"},
}
PATH = "/apis/bootstrap.cluster.x-k8s.io/v1beta2/namespaces/default/kubeadmconfigs"


class Server:
    """API server that gives one answer and notes the requests."""

    host = "https://api"

    def __init__(self, answer: Answer) -> None:
        self.answer, self.asked = answer, []

    def send(self, verb: str, path: str, body: t.Any, query: t.Any, accepted: t.Any) -> Answer:
        """Answer a request."""
        self.asked.append((verb, path, body, query["dryRun"]))
        return self.answer


def refused(answer: Answer, **metadata: str) -> t.Sequence[str]:
    """What is told, after one request that writes nothing."""
    server = Server(answer)
    found = KubernetesStore(t.cast(t.Any, server)).refused(
        {**CONFIG, "metadata": {**t.cast(t.Any, CONFIG["metadata"]), **metadata}}
    )
    ((verb, path, body, dry_run),) = server.asked
    assert (verb, path) == (("update", f"{PATH}/a") if metadata else ("create", PATH))
    assert dry_run == "All" and "status" not in body and "creationTimestamp" not in body["metadata"]
    return found


@pytest.mark.parametrize("status", [200, 201, 404, 409])
def test_what_is_taken_or_there_already_is_not_refused(status: int) -> None:
    answer = Answer(status, CONFIG if status < 400 else {})
    assert refused(answer) == [] == refused(answer, resourceVersion="7", creationTimestamp="2024-05-06T07:08:09Z")


def test_a_field_that_would_be_dropped() -> None:
    [told] = refused(Answer(201, {**CONFIG, "spec": {"verbosity": 0}}))
    assert told.startswith("spec.format: ") and "cloud-config" not in told


def test_a_webhook_that_takes_no_dry_run() -> None:
    message = 'admission webhook "a.example" does not support dry run'
    assert refused(Answer(400, {"message": message})) == []
    with pytest.raises(Refused, match="strict decoding"):
        refused(Answer(400, {"message": "strict decoding"}))


@pytest.mark.parametrize(
    ("message", "told"),
    [
        ("Too long: may not be more than 1024 bytes", "Too long: may not be more than 1024 bytes"),
        ("Required value", "Required value"),
        ('Invalid value: "a \\" hunter2": should be shorter', "Invalid value: should be shorter"),
        ("Invalid value: -5: spec.v in body: at least 0", "Invalid value: spec.v in body: at least 0"),
        ('Unsupported value: "hunter2": supported values: "a", "b"', 'Unsupported value: supported values: "a", "b"'),
        ('Invalid value: map[string]interface {}{"content":"hunter2"}: too much', "its value is refused"),
        ('Something new: "hunter2"', "its value is refused"),
    ],
)
def test_no_value_is_told(message: str, told: str) -> None:
    answer = Answer(422, {"details": {"causes": [{"field": "spec.a", "message": message}]}})
    assert refused(answer) == [f"spec.a: {told}"]


def test_a_refusal_without_fields() -> None:
    assert refused(Answer(422, {"message": "hunter2"})) == ["the object: its value is refused"]
