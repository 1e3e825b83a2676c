# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which key signed which token, in the folders that a kubelet keeps."""

from __future__ import annotations

import base64
import json
import os
import time
from pathlib import Path

import pytest

from ansible_collections.kubeadm.control_plane.plugins.module_utils.node.guard import NodeError
from ansible_collections.kubeadm.control_plane.plugins.module_utils.workload import service_account_tokens as tokens


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
        return tokens._owner({"ownerReferences": references, "labels": labels or {}})

    assert owner("DaemonSet", "kube-proxy") == "daemonset/kube-proxy"
    assert owner("ReplicaSet", "coredns-74ff55c5b", {"pod-template-hash": "74ff55c5b"}) == "deployment/coredns"
    assert owner("ReplicaSet", "bare") == "replicaset/bare"
    assert tokens._owner({}) == ""
