# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Two clusters of one name in two namespaces: nothing that people are told takes one for the other."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from actions import run_action
from workspace import Workspace, cluster_documents

from ansible_collections.kubeadm.control_plane.plugins.module_utils.objects import kinds
from ansible_collections.kubeadm.control_plane.plugins.module_utils.store.file import FileStore

NAME, NAMESPACES = "shop", ("a", "b")
PLANE = (kinds.GROUP_CONTROL_PLANE, kinds.KUBEADM_CONTROL_PLANE)


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """Both are in the store, and blocked: one cluster of two machines, another of four, each with an etcd of its own."""
    workspace = Workspace(tmp_path / "workspace")
    for namespace, replicas in zip(NAMESPACES, (2, 4)):
        documents = cluster_documents(NAME)
        del documents[1]["spec"]["replicas"]
        for document in documents:
            document["metadata"]["namespace"] = namespace
        path = workspace.write(f"{namespace}-{NAME}", yaml.safe_dump_all(documents, sort_keys=False))
        arguments = {"cluster": NAME, "namespace": namespace, "store": {"path": str(workspace.store)}}
        assert not run_action("cluster", False, manifests=[str(path)], **arguments).get("failed")
        wanted = {"replicas": replicas}
        FileStore(str(workspace.store)).modify(
            PLANE, namespace, f"{NAME}-control-plane", lambda found, to=wanted: found["spec"].update(to)
        )
    return workspace


def test_clusters_of_one_name_are_told_apart(workspace: Workspace) -> None:
    """In errors, in the summary and in a plan."""
    run = workspace.playbook("reconcile").failed()
    for namespace, replicas in zip(NAMESPACES, (2, 4)):
        assert f"{namespace}/{NAME} is blocked: " in run.text
        (line,) = [each for each in run.output.splitlines() if each.strip().startswith(f"failed  {namespace}.{NAME} ")]
        assert f"{namespace}/{NAME} is blocked" in line and str(replicas) in line
    run = workspace.playbook("plan")
    for namespace in NAMESPACES:
        assert f"PLAN {namespace}/{NAME} " in run.text
