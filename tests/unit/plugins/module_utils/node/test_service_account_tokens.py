# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which key signed which token, in the folders that a kubelet keeps."""

from __future__ import annotations

import base64
import json
import os
import time
import typing as t
from pathlib import Path

import pytest

from ansible_collections.kubeadm.control_plane.plugins.module_utils.common.guard import NodeError
from ansible_collections.kubeadm.control_plane.plugins.module_utils.common.https import Answer
from ansible_collections.kubeadm.control_plane.plugins.module_utils.node.certificates import (
    service_account_tokens as tokens,
)


def token(header: dict[str, str]) -> str:
    """A token with that header; nobody looks at its signature."""
    parts = [
        base64.urlsafe_b64encode(json.dumps(each).encode()).decode().rstrip("=") for each in (header, {"sub": "x"})
    ]
    return ".".join([*parts, "c2lnbmF0dXJl"])


def volume(root: Path, uid: str, kind: str, name: str, files: dict[str, str]) -> Path:
    """A volume as the kubelet writes it: links that lead through ..data to a folder with the time in its name."""
    folder = root / uid / "volumes" / f"kubernetes.io~{kind}" / name
    data = folder / "..2026_11_21_20_00_00.1"
    data.mkdir(parents=True)
    (folder / "..data").symlink_to(data.name)
    for each, text in files.items():
        (data / each).write_text(text)
        (folder / each).symlink_to(Path("..data") / each)
    return data


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (token({"alg": "RS256", "kid": "abc"}), "abc"),
        (token({"alg": "RS256"}), ""),
        (token({"kid": "abc"}), None),
        ("a.b.c", None),
        ("no token", None),
        ("", None),
    ],
)
def test_the_key_of_a_token(text: str, expected: str) -> None:
    assert tokens.key_id(text) == expected


def test_every_token_in_every_volume(tmp_path: Path) -> None:
    old, new = (token({"alg": "RS256", "kid": each}) for each in ("old", "new"))
    volume(tmp_path, "pod-1", "secret", "default-token-x", {"token": old, "ca.crt": "x", "namespace": "default"})
    data = volume(tmp_path, "pod-2", "projected", "kube-api-access-y", {"token": new, "ca.crt": "x"})
    volume(tmp_path, "pod-2", "projected", "vault", {"vault-token": new})
    volume(tmp_path, "pod-3", "secret", "password", {"token": "something else"})
    volume(tmp_path, "pod-3", "configmap", "settings", {"token": old})
    (tmp_path / "pod-4").mkdir()
    then = time.time() - 600
    os.utime(data / "token", (then, then))
    found = tokens.volumes(str(tmp_path))
    assert [(each["uid"], each["volume"], each["key_id"]) for each in found] == [
        ("pod-1", "default-token-x", "old"),
        ("pod-2", "kube-api-access-y", "new"),
        ("pod-2", "vault", "new"),
    ]
    assert found[1]["age"] >= 600
    assert found[0]["age"] < 600
    assert old not in json.dumps(found)


def test_without_the_kubelets_folder_nothing_can_be_said(tmp_path: Path) -> None:
    with pytest.raises(NodeError, match="can't be read"):
        tokens.volumes(str(tmp_path / "none"))


def test_what_makes_a_pod_anew() -> None:
    def owner(kind: str, name: str, labels: dict[str, str] | None = None) -> str:
        references = [{"kind": "Other", "name": "x"}, {"kind": kind, "name": name, "controller": True}]
        return tokens._owner({"metadata": {"ownerReferences": references, "labels": labels or {}}})

    assert owner("DaemonSet", "kube-proxy") == "daemonset/kube-proxy"
    assert owner("ReplicaSet", "coredns-74ff55c5b", {"pod-template-hash": "74ff55c5b"}) == "deployment/coredns"
    assert owner("ReplicaSet", "bare") == "replicaset/bare"
    assert tokens._owner({"metadata": {}}) == ""


class Pods:
    """An API with these pods."""

    def __init__(self, *pods: dict[str, object]) -> None:
        self.pods = pods

    def list(self, path: str) -> list[dict[str, object]]:
        assert path == "/api/v1/pods"
        return list(self.pods)


def pod(name: str, path: str, phase: str = "Running", **metadata: object) -> dict[str, object]:
    volumes = [{"name": "x", "hostPath": {"path": path}}] if path else [{"name": "x", "emptyDir": {}}]
    running = [{"state": {"running": {"startedAt": "2026-11-21T10:00:00Z"}}}]
    return {
        "metadata": {"namespace": "kube-system", "name": name, **metadata},
        "spec": {"nodeName": "cp-1", "volumes": volumes},
        "status": {"phase": phase, "containerStatuses": running if phase == "Running" else []},
    }


def test_who_has_a_nodes_certificates_mounted() -> None:
    mirror = {"labels": {"component": "etcd"}, "annotations": {"kubernetes.io/config.mirror": "x"}}
    api = Pods(
        pod("kube-vip-cp-1", "/etc/kubernetes/admin.conf"),
        pod("exporter", "/data/pki/etcd/"),
        pod("agent", "/"),
        pod("other", "/etc/kubernetes-other"),
        pod("none", ""),
        pod("over", "/etc/kubernetes", "Succeeded"),
        pod("begins", "/etc/kubernetes", "Pending"),
        pod("etcd-cp-1", "/etc/kubernetes/pki/etcd", **mirror),
        pod("pretends", "/etc/kubernetes/pki", labels={"component": "etcd"}),
    )
    found = tokens.Accounts(api).mounting(["/etc/kubernetes", "/data/pki"])  # type: ignore[arg-type]
    assert [(each["name"], each["path"], each["started_at"][:4]) for each in found] == [
        ("begins", "/etc/kubernetes", ""),
        ("exporter", "/data/pki/etcd", "2026"),
        ("kube-vip-cp-1", "/etc/kubernetes/admin.conf", "2026"),
        ("pretends", "/etc/kubernetes/pki", "2026"),
    ]


class Busy:
    """An API whose controller manager is just writing every Secret, and gives those without a token a new one."""

    def __init__(self, *names: str) -> None:
        self.tokens: dict[str, str] = dict.fromkeys(names, token({"alg": "RS256", "kid": "old"}))
        self.versions = dict.fromkeys(names, 1)
        self.conflicts = 1
        self.patched: list[str] = []

    def list(self, path: str, fields: str = "") -> list[dict[str, object]]:
        found = [
            {
                "metadata": {"namespace": "shop", "name": name, "resourceVersion": str(self.versions[name])},
                "data": {"token": base64.b64encode(text.encode()).decode()} if text else {},
            }
            for name, text in self.tokens.items()
        ]
        self.tokens = {name: text or token({"alg": "RS256", "kid": "new"}) for name, text in self.tokens.items()}
        return found if path == tokens.SECRETS else []

    def send(self, method: str, path: str, document: dict[str, t.Any], *, content_type: str) -> Answer:
        assert (method, content_type) == ("PATCH", tokens.MERGE_PATCH)
        name = path.rpartition("/")[2]
        self.patched.append(name)
        if self.conflicts:
            # It was written between the look and the patch.
            self.conflicts -= 1
            self.versions[name] += 1
        if document["metadata"]["resourceVersion"] != str(self.versions[name]):
            return Answer(409, {}, b"")
        assert document["data"] == {"token": None}
        self.tokens[name] = ""
        return Answer(200, {}, b"{}")

    def checked(self, answer: Answer, path: str) -> dict[str, t.Any]:
        assert answer.status == 200, path
        return {}


def test_a_secret_that_is_being_written_is_taken_out_after_all() -> None:
    api = Busy("a", "b")
    found = tokens.Accounts(api).renew(["new"], 10.0, lambda: None)  # type: ignore[arg-type]
    assert found == (["shop/a", "shop/b"], [])
    assert sorted(api.patched) == ["a", "a", "b"]
