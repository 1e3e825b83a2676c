# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The playbook plan as a user runs it, as far as no machine is needed."""

from __future__ import annotations

import json
import re
import stat
import typing as t
from pathlib import Path

import pytest
import yaml
from workspace import Workspace

EXAMPLES = Path(__file__).parents[2] / "examples" / "manifests"


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """A user's folder with one cluster."""
    made = Workspace(tmp_path / "workspace")
    made.manifest("prod", replicas=3, failure_domains=("a", "b", "c"))
    return made


def planned(output: str) -> str:
    """The plan among a run's output, without what follows its end."""
    return re.split(r"\n(?:TASK|ok:|changed:|\n  Kept in)", output[output.index("PLAN ") :], maxsplit=1)[0].strip()


def document(path: Path) -> dict[str, t.Any]:
    """A JSON file."""
    return dict(json.loads(path.read_text()))


def with_resource_set(workspace: Workspace, path: Path) -> None:
    """The example's set beside a cluster that it selects."""
    cluster, *others = yaml.safe_load_all(path.read_text())
    cluster["metadata"]["labels"] = {"quota": "small"}
    path.write_text(yaml.safe_dump_all([cluster, *others]))
    workspace.write("resource-set", (EXAMPLES / "resource-set.yaml").read_text(encoding="utf-8"))


def test_plan_and_check_print_the_same_and_write_nothing(workspace: Workspace) -> None:
    """One function makes both; the store doesn't even come to exist."""
    plan = workspace.playbook("plan").succeeded()
    check = workspace.playbook("reconcile", "--check").succeeded()
    assert planned(plan.output) == planned(check.output)
    assert "   5  join a new machine in failure domain c" in plan.output
    assert plan.recap("prod")["changed"] == 0 and check.recap("prod")["changed"] > 0
    assert not workspace.store.exists()


def test_plan_in_check_mode_is_the_same(workspace: Workspace) -> None:
    """There is nothing that check mode could leave out but the files; a resource set comes right after the first machine."""
    with_resource_set(workspace, workspace.manifest("prod", replicas=3, failure_domains=("a", "b", "c")))
    run = workspace.playbook("plan", "--check", "-e", "control_plane_plan_file=prod.plan.json").succeeded()
    assert "Then nothing is left to do" in run.output
    assert "   4  apply ClusterResourceSet quota to the cluster" in run.output
    assert not (workspace.folder / "prod.plan.json").exists()


def test_a_plan_file_for_each_cluster(workspace: Workspace) -> None:
    """Two clusters, two files; one file for both is refused for the one that comes second."""
    workspace.manifest("second", replicas=1)
    workspace.playbook("plan", "-e", "control_plane_plan_file='{{ inventory_hostname }}.plan.json'").succeeded()
    for name in ("prod", "second"):
        path = workspace.folder / f"{name}.plan.json"
        assert document(path)["cluster"] == name and stat.S_IMODE(path.stat().st_mode) == 0o600
    run = workspace.playbook("plan", "-e", "control_plane_plan_file=both.plan.json").failed()
    assert "was not overwritten" in run.text and "{{ inventory_hostname }}" in run.text


def test_what_if_on_a_saved_snapshot(workspace: Workspace) -> None:
    """A changed manifest, no store, no cluster."""
    workspace.playbook("plan", "-e", "control_plane_snapshot_file=prod.snapshot.json").succeeded()
    with_resource_set(workspace, workspace.manifest("prod", replicas=5, failure_domains=("a", "b", "c")))
    run = workspace.playbook("plan", "-e", "control_plane_snapshot=prod.snapshot.json").succeeded()
    assert "apply ClusterResourceSet quota to the cluster" in run.output
    assert "5 replicas wanted" in run.output and "   8  join a new machine" in run.output
    assert not workspace.store.exists()


def test_a_bad_snapshot_is_refused_with_the_path(workspace: Workspace) -> None:
    """Whatever is wrong in the file is named by its path."""
    path = workspace.folder / "prod.snapshot.json"
    workspace.playbook("plan", "-e", f"control_plane_snapshot_file={path}").succeeded()
    path.write_text(json.dumps({**document(path), "now": "soon"}))
    run = workspace.playbook("plan", "-e", f"control_plane_snapshot={path}").failed()
    assert "is refused" in run.text and "now:" in run.text and "Traceback" not in run.output


def test_a_plan_for_another_manifest_stops_reconcile_before_it_stores_anything(workspace: Workspace) -> None:
    """The changed fields are named, and the store has no object."""
    workspace.playbook("plan", "-e", "control_plane_plan_file=prod.plan.json").succeeded()
    workspace.manifest("prod", replicas=1, failure_domains=("a", "b", "c"))
    run = workspace.playbook("reconcile", "-e", "control_plane_plan_file=prod.plan.json").failed()
    assert "KubeadmControlPlane.spec.replicas" in run.text and "Under way" in run.text
    assert not [path for path in workspace.store.rglob("*.yaml") if path.name != "store.yaml"]


def test_what_is_no_plan_stops_reconcile(workspace: Workspace) -> None:
    """Bad files never reach a decision: each stops its cluster."""
    contents = {"prod": "", "empty": "{}", "list": "[1]", "other": '{"planVersion": "v2"}'}
    for name, content in contents.items():
        workspace.manifest(name, replicas=1)
        (workspace.folder / f"{name}.bad.json").write_text(content)
    named = "control_plane_plan_file='{{ inventory_hostname }}.bad.json'"
    run = workspace.playbook("reconcile", "-e", named).failed()
    assert "Traceback" not in run.output
    for name in contents:
        assert f"{name}.bad.json" in run.text and run.recap(name)["failed"] == 1, name
    assert not [path for path in workspace.store.rglob("*.yaml") if path.name != "store.yaml"]


def test_a_wrong_wish_is_refused(workspace: Workspace) -> None:
    """control_plane_replace takes three values."""
    run = workspace.playbook("plan", "-e", "control_plane_replace=perhaps").failed()
    assert "allow" in run.text and "never" in run.text
