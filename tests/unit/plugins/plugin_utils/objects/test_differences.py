# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What --diff shows of a changed manifest: the fields, that a secret has changed, and no secret."""

from __future__ import annotations

import copy
import json
import typing as t
from pathlib import Path

import pytest
import yaml
from actions import make_action
from workspace import cluster_documents

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects.manifest.differences import ManifestDiff

OLD, NEW = "0ld-value-of-it", "n3w-value-of-it"
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


def shown(before: dict[str, t.Any] | None, after: dict[str, t.Any]) -> tuple[str, dict[str, t.Any]]:
    """The diff of one object as text, and as a task's result has it."""
    found = ManifestDiff()
    found.add(before, after)
    (one,) = found.result()
    return found.text(), one


def obj(kind: str, **parts: t.Any) -> dict[str, t.Any]:
    return {"apiVersion": "v1" if kind == "Secret" else "x/v1", "kind": kind, "metadata": {"name": "a"}, **parts}


@pytest.mark.parametrize(
    "kind, parts",
    [
        ("Secret", {"data": {"key": "VALUE"}}),
        ("Secret", {"stringData": {"key": "VALUE"}}),
        ("KubeadmControlPlane", {"spec": {"files": [{"path": "/etc/a", "content": "VALUE"}]}}),
        ("KubeadmControlPlane", {"spec": {"users": [{"name": "a", "passwd": "VALUE"}]}}),
        ("KubeadmControlPlane", {"spec": {"bootstrapTokens": [{"token": "VALUE"}]}}),
        ("KubeadmControlPlane", {"spec": {"certificateKey": "VALUE"}}),
        ("AcmeMachineTemplate", {"spec": {"apiKey": "VALUE"}}),
        ("KubeadmControlPlane", {"spec": {"preKubeadmCommands": ["pull https://me:VALUE@registry.example"]}}),
        ("KubeadmControlPlane", {"metadata": {"name": "a", "annotations": {"a": "password=VALUE"}}}),
        ("Secret", {"metadata": {"name": "a", "annotations": {LAST_APPLIED: json.dumps({"data": {"key": "VALUE"}})}}}),
        (
            "KubeadmControlPlane",
            {"metadata": {"name": "a", "annotations": {"kapp.k14s.io/original": '[{"content":"VALUE"}]'}}},
        ),
        ("KubeadmControlPlane", {"spec": {"etcd": {"extraEnvs": [{"name": "HTTPS_PROXY", "value": "VALUE"}]}}}),
        ("KubeadmControlPlane", {"spec": {"extraEnvs": [{"name": "A", "valueFrom": {"fieldRef": "VALUE"}}]}}),
        ("KubeadmControlPlane", {"spec": {"extraArgs": [{"name": "oidc-client-secret", "value": "VALUE"}]}}),
        ("AcmeMachineTemplate", {"spec": {"env": [{"name": "AWS_SECRET_ACCESS_KEY", "value": "VALUE"}]}}),
        ("KubeadmControlPlane", {"spec": {"staticPodURLHeader": {"Authorization": ["VALUE"]}}}),
    ],
)
def test_a_secret_is_said_to_have_changed_and_is_not_shown(kind: str, parts: dict[str, t.Any]) -> None:
    text = json.dumps(obj(kind, **parts))
    before, after = (json.loads(text.replace("VALUE", each)) for each in (OLD, NEW))
    for first in (before, None):
        told, result = shown(first, after)
        assert OLD not in told + str(result) and NEW not in told + str(result)
    assert "not what it was" in shown(before, after)[0]
    assert shown(after, copy.deepcopy(after))[0] == ""


def test_fields_are_shown_with_their_values() -> None:
    """Of a Secret its metadata too; what no manifest states, such as a status, is not."""
    before = obj("KubeadmControlPlane", spec={"replicas": 3, "version": "v1.20.2"}, status={"replicas": 3})
    after = {**before, "spec": {"replicas": 5, "version": "v1.20.2"}, "status": {}}
    told, result = shown(before, after)
    assert [line.strip() for line in told.splitlines() if line[0] in "-+"] == [
        "--- KubeadmControlPlane default/a (store)",
        "+++ KubeadmControlPlane default/a (manifest)",
        '-    "replicas": 3,',
        '+    "replicas": 5,',
    ]
    assert result["before"]["spec"]["replicas"] == 3 and "status" not in result["after"]
    flags = [{"name": "v", "value": "3"}, {"name": "tls-private-key-file", "value": "/etc/a.key"}]
    noted = obj("KubeadmControlPlane", metadata={"name": "a", "annotations": {"note": "b"}}, spec={"extraArgs": flags})
    assert {'"note": "b"', '"value": "3"', '"value": "/etc/a.key"'} <= {
        line.strip("+, ") for line in shown(None, noted)[0].splitlines()
    }
    labelled = obj("Secret", metadata={"name": "a", "labels": {"team": "x"}}, data={"k": OLD})
    assert '"team": "x"' in shown(None, labelled)[0] and OLD not in shown(None, labelled)[0]


def test_tasks_have_it_where_a_diff_is_asked_for(tmp_path: Path) -> None:
    manifest = tmp_path / "prod.yaml"
    given: dict[str, t.Any] = {"cluster": "prod", "store": {"path": str(tmp_path / "store")}}

    def applied(replicas: int, diff: bool) -> dict[str, t.Any]:
        manifest.write_text(yaml.safe_dump_all(cluster_documents("prod", replicas=replicas)))
        action = make_action("cluster", **given, manifests=[str(manifest)])
        action._task.diff = diff
        result: dict[str, t.Any] = action.run(task_vars={})
        assert not result.get("failed"), result
        return result

    assert "diff" not in applied(1, diff=False)
    (changed,) = applied(3, diff=True)["diff"]
    assert changed["before"]["spec"]["replicas"] == 1 and changed["after"]["spec"]["replicas"] == 3
    assert applied(3, diff=True)["diff"] == []
