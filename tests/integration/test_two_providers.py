# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A control plane on its way from one provider's machines to another's, by the real playbooks on stand-ins for two accounts of a cloud."""

from __future__ import annotations

import json
import shutil
import typing as t
from pathlib import Path

import pytest
import yaml
from acme_workspace import ROLE, AcmeWorkspace
from killed_runs import locks_held, orphans

NAME = "prod"


def edit_variables(workspace: AcmeWorkspace, change: t.Callable[[dict[str, t.Any]], t.Any]) -> None:
    """Change the user's variables."""
    path = workspace.folder / "variables.yml"
    variables = yaml.safe_load(path.read_text())
    change(variables)
    path.write_text(yaml.safe_dump(variables))


@pytest.fixture
def workspace(one_machine: AcmeWorkspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AcmeWorkspace:
    """A cluster of one machine, whose manifest has the template of a second provider by now, which knows nothing of that machine."""
    made = one_machine.copied(tmp_path / "workspace").answering(monkeypatch)
    role = Path(shutil.copytree(ROLE, made.folder / "roles" / "machine_other"))
    for path in role.rglob("*.yml"):
        path.write_text(path.read_text().replace("machine_acme", "machine_other"))

    def register(variables: dict[str, t.Any]) -> None:
        variables["control_plane_more_providers"]["OtherMachineTemplate"] = str(role)
        variables["machine_other_command"] = [*variables["machine_acme_command"], "--account=other"]

    edit_variables(made, register)
    manifest = made.folder / "clusters" / f"{NAME}.yaml"
    manifest.write_text(manifest.read_text().replace("AcmeMachineTemplate", "OtherMachineTemplate"))
    return made


def accounts(workspace: AcmeWorkspace) -> dict[str, str]:
    """The account of each machine of the cloud."""
    return {name: each["account"] for name, each in workspace.cloud()["machines"].items()}


def test_a_machine_is_replaced_and_its_own_provider_deletes_it(workspace: AcmeWorkspace) -> None:
    """It is healthy, so another one joins first; nothing of it stays."""
    [former] = accounts(workspace)
    workspace.playbook("reconcile").succeeded()
    journal = (workspace.store / "default" / "journal" / f"{NAME}.jsonl").read_text().splitlines()
    steps = [each["action"] for each in map(json.loads, journal) if each["event"] == "intent"]
    assert steps.index("join") < steps.index("remove"), steps
    [(machine, account)] = accounts(workspace).items()
    assert machine != former and account == "other"
    world = workspace.world()
    assert world["violations"] == [] and [each["name"] for each in world["members"]] == [machine]
    assert [each["metadata"]["name"] for each in workspace.objects("OtherMachine")] == [machine]
    assert workspace.objects("AcmeMachine") == [] and orphans(workspace, "OtherMachine") == []
    assert locks_held(workspace.store) == []
    assert workspace.playbook("reconcile").succeeded().recap(NAME)["changed"] == 0


def test_a_cluster_with_machines_of_two_providers_is_deleted(workspace: AcmeWorkspace) -> None:
    """Each one by its own."""
    workspace.playbook("reconcile", "-e", "control_plane_step_limit=1").failed()
    assert sorted(accounts(workspace).values()) == ["", "other"]
    workspace.playbook("delete", "-e", f"control_plane_delete={NAME}").succeeded()
    assert workspace.cloud()["machines"] == {} and workspace.world()["violations"] == []
    assert workspace.objects("Machine") == [] and workspace.objects("Cluster") == []
    assert workspace.objects("AcmeMachine") == [] and workspace.objects("OtherMachine") == []


def test_a_former_provider_without_a_role_is_reported_first(workspace: AcmeWorkspace) -> None:
    """Before a machine is made whose former one could not be deleted then."""
    edit_variables(workspace, lambda variables: variables["control_plane_more_providers"].pop("AcmeMachineTemplate"))
    before = accounts(workspace)
    for playbook in ("plan", "reconcile"):
        run = workspace.playbook(playbook).failed()
        assert "no infrastructure provider for the kind AcmeMachineTemplate" in run.text, run.output
    assert accounts(workspace) == before and workspace.objects("OtherMachine") == []
