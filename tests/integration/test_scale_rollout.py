# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The playbooks scale and rollout as a user runs them; what plan and reconcile make of it afterwards."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import yaml
from workspace import STORE_PLAYBOOK, Workspace, cluster_documents

NAME = "prod"


class Stored(Workspace):
    """A workspace whose store holds clusters without machines."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        (folder / "store.yml").write_text(STORE_PLAYBOOK)

    def replicas(self) -> int:
        """How many the store wants."""
        return int(self.objects("KubeadmControlPlane")[0]["spec"]["replicas"])

    def leave_out_replicas(self) -> None:
        """Write a manifest that says nothing of them."""
        documents = cluster_documents(NAME)
        del documents[1]["spec"]["replicas"]
        self.write(NAME, yaml.safe_dump_all(documents, sort_keys=False))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Stored:
    """One cluster of three machines, in manifest and store; made once, copied for each test."""
    workspace = Stored(tmp_path_factory.mktemp("made") / "workspace")
    workspace.manifest(NAME)
    workspace.playbook("store.yml").succeeded()
    return workspace


@pytest.fixture
def stored(made: Stored, tmp_path: Path) -> Stored:
    """A copy of that cluster."""
    copied = Stored(tmp_path / "workspace")
    shutil.copytree(made.folder, copied.folder, dirs_exist_ok=True)
    return copied


def test_scale_edits_the_manifest_and_the_plan_follows(stored: Stored) -> None:
    """One number of one file; then plan wants five."""
    file = stored.folder / "clusters" / f"{NAME}.yaml"
    before = file.read_text()
    run = stored.playbook("scale", "--check", "--diff", "-e", "control_plane_replicas=5").succeeded()
    assert "would change from 3 to 5" in run.text and "+ replicas: 5" in run.text and file.read_text() == before
    run = stored.playbook("scale", "-e", "control_plane_replicas=5").succeeded()
    assert "was changed from 3 to 5" in run.text and "No machine was touched" in run.text
    assert run.recap(NAME)["changed"] == 1 and stored.replicas() == 3
    assert file.read_text() == before.replace("replicas: 3", "replicas: 5")
    assert stored.playbook("scale", "-e", "control_plane_replicas=5").succeeded().recap(NAME)["changed"] == 0
    assert "5 replicas wanted" in stored.playbook("plan").succeeded().text


def test_scale_in_a_checkout_prints_the_change(stored: Stored) -> None:
    """As a patch that can be applied."""
    file = stored.folder / "clusters" / f"{NAME}.yaml"
    before = file.read_text()
    Workspace.run(["git", "init", "-q"], stored.folder)
    run = stored.playbook("scale", "-e", "control_plane_replicas=5").succeeded()
    assert "NOTHING WAS WRITTEN" in run.text and run.recap(NAME)["changed"] == 0 and file.read_text() == before
    lines = run.output.splitlines()
    start = lines.index(f"--- a/clusters/{NAME}.yaml")
    patch = stored.folder / "change.patch"
    patch.write_text("\n".join(lines[start : start + 5]) + "\n")
    Workspace.run(["git", "apply", "--unidiff-zero", "change.patch"], stored.folder).succeeded()
    assert file.read_text() == before.replace("replicas: 3", "replicas: 5")


def test_what_a_manifest_leaves_out_stays_as_it_was_scaled(stored: Stored) -> None:
    """Set in the store, planned with, and never reverted by a reconcile."""
    stored.leave_out_replicas()
    run = stored.playbook("scale", "-e", "control_plane_replicas=1").succeeded()
    assert "in the store, since no manifest states it" in run.text and stored.replicas() == 1
    for playbook, arguments in (("plan", ()), ("reconcile", ("--check",))):
        assert "1 replica wanted" in stored.playbook(playbook, *arguments).succeeded().text
    stored.playbook("store.yml").succeeded()
    assert stored.replicas() == 1


def test_rollout_sets_its_time(stored: Stored) -> None:
    """Now, or when it is said; in the store, since the manifest says nothing of it."""
    stored.playbook("rollout").succeeded()
    first = stored.objects("KubeadmControlPlane")[0]["spec"]["rollout"]["after"]
    assert first.endswith("Z")
    run = stored.playbook("rollout", "-e", "control_plane_rollout_after=2030-01-01T00:00:00Z").succeeded()
    assert f"from {first} to 2030-01-01T00:00:00Z" in run.text
    stored.playbook("store.yml").succeeded()
    assert stored.objects("KubeadmControlPlane")[0]["spec"]["rollout"]["after"] == "2030-01-01T00:00:00Z"


def test_what_is_missing_or_meant_for_too_many_is_refused(stored: Stored) -> None:
    """No number; a --limit that was forgotten."""
    assert "control_plane_replicas=3" in stored.playbook("scale").failed().text
    stored.manifest("other")
    run = stored.playbook("scale", "-e", "control_plane_replicas=5").failed()
    assert "2 clusters are selected" in run.text and "--limit" in run.text
    assert "Nothing was done" in run.text and "would set spec.replicas of the control plane to 5." in run.text
    for playbook, edit in (
        ("rollout", "set spec.rollout.after of the control plane to now, so that all of its machines are replaced."),
        ("abort", "abort its Action."),
        ("action", "carry out an Action on its running Nodes."),
    ):
        text = stored.playbook(playbook).failed().text
        assert f"2 clusters are selected (other, {NAME})" in text or f"2 clusters are selected ({NAME}, other)" in text
        assert f"for each of them this playbook would {edit}" in text and "-e control_plane_several=true" in text
    assert "2 clusters are selected" not in stored.playbook("pause").failed().text
    text = (stored.folder / "clusters" / "other.yaml").read_text()
    assert "replicas: 3" in text
    stored.playbook("scale", "--limit", NAME, "-e", "control_plane_replicas=5").succeeded()
    assert (stored.folder / "clusters" / "other.yaml").read_text() == text
    stored.playbook("scale", "-e", "control_plane_replicas=1", "-e", "control_plane_several=true").succeeded()
    assert "replicas: 1" in (stored.folder / "clusters" / "other.yaml").read_text()
