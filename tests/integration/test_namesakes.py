# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Two clusters of one name in two namespaces: nothing that people are told takes one for the other."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
import yaml
from actions import run_action
from workspace import Workspace, cluster_documents

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects import kinds
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.file.store import FileStore

NAME, NAMESPACES = "shop", ("a", "b")
PLANE = (kinds.GROUP_CONTROL_PLANE, kinds.KUBEADM_CONTROL_PLANE)


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """Both are in the store; nothing was made yet."""
    workspace = Workspace(tmp_path / "workspace")
    for namespace in NAMESPACES:
        documents = cluster_documents(NAME)
        del documents[1]["spec"]["replicas"]
        for document in documents:
            document["metadata"]["namespace"] = namespace
        path = workspace.write(f"{namespace}-{NAME}", yaml.safe_dump_all(documents, sort_keys=False))
        assert not run_action("cluster", manifests=[str(path)], **of(workspace, namespace)).get("failed")
    return workspace


def of(workspace: Workspace, namespace: str) -> dict[str, t.Any]:
    return {"cluster": NAME, "namespace": namespace, "store": {"path": str(workspace.store)}}


def test_clusters_of_one_name_are_told_apart(workspace: Workspace) -> None:
    """In a plan, in what blocks them, in errors and in the summary."""
    run = workspace.playbook("plan")
    for namespace in NAMESPACES:
        assert f"PLAN {namespace}/{NAME} " in run.text
    for namespace, replicas in zip(NAMESPACES, (2, 4)):
        FileStore(str(workspace.store)).modify(
            PLANE, namespace, f"{NAME}-control-plane", lambda found, to=replicas: found["spec"].update(replicas=to)
        )
        said = run_action("decide", run="r1", **of(workspace, namespace))
        assert said["failed"] and said["msg"].startswith(f"{namespace}/{NAME} is blocked: ")
    run = workspace.playbook("reconcile").failed()
    for namespace, replicas in zip(NAMESPACES, (2, 4)):
        summary = [each for each in run.output.splitlines() if each.startswith(f"  failed  {namespace}.{NAME} ")]
        assert len(summary) == 1 and f"(found: {replicas})" in summary[0]
        assert f"KubeadmControlPlane {namespace}/{NAME}-control-plane: spec.replicas" in summary[0]


def test_named_machines_of_two_namespaces_are_not_replaced_without_a_word(workspace: Workspace) -> None:
    """Machines are named in one cluster's message; the other's of these names work."""
    named = ("--check", "-e", "control_plane_machines=cp-1")
    text = workspace.playbook("remediate", *named).failed().text
    for namespace in NAMESPACES:
        assert f"run it again with its name, such as --limit {namespace}.{NAME}" in text
    assert "would replace the machines of its own that are named cp-1" in text and "there is no machine" not in text
    for more in (("--limit", f"a.{NAME}"), ("-e", "control_plane_several=true")):
        text = workspace.playbook("remediate", *named, *more).failed().text
        assert "there is no machine cp-1" in text and "Nothing was done" not in text
    assert "clusters are selected" not in workspace.playbook("remediate", "--check").text
