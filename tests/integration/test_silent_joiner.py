# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A host that loses its power in kubeadm join, and a provider that can't know: what is typed leads to an end."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from acme_workspace import AcmeWorkspace
from workspace import consent_of

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.processes import failpoints

NAME = "prod"
STARTED = "join > machine_bootstrap: after node node_bootstrap (2)"


def killed_when_kubeadm_was_started(workspace: AcmeWorkspace, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run ends right after it has started kubeadm on a machine."""
    setting = folder / "failpoints.json"
    setting.write_text(json.dumps({"trace": str(folder / "trace"), "stop": {"how": "kill", "at": STARTED}}))
    with monkeypatch.context() as patch:
        patch.setenv(failpoints.VARIABLE, str(setting))
        workspace.playbook("reconcile").failed()
    assert (folder / "trace.stopped").exists()


def test_it_is_replaced_with_the_consent_that_is_named(
    one_machine: AcmeWorkspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = one_machine.copied(tmp_path / "workspace")
    workspace.answering(monkeypatch)
    first = {each["metadata"]["name"] for each in workspace.objects("Machine")}
    workspace.manifest(NAME, replicas=3)
    killed_when_kubeadm_was_started(workspace, tmp_path, monkeypatch)
    [lost] = {each["metadata"]["name"] for each in workspace.objects("Machine")} - first
    cloud = workspace.cloud()
    cloud["machines"][lost]["cut"] = True
    (workspace.folder / "cloud" / "cloud.json").write_text(json.dumps(cloud))

    waited = workspace.playbook("reconcile").failed().text
    named = f"control_plane_machines={lost}"
    assert f"playbook remediate with --limit CLUSTER -e {named}" in waited, waited
    assert "at the latest kubeadm has ended there" in waited

    refused = workspace.playbook("remediate", "-e", named).failed().text
    consent = consent_of(refused, "control_plane_consent")
    assert consent == f"giveUpBootstrap:{lost}"
    assert lost in workspace.cloud()["machines"], "nothing was given up without it"

    workspace.playbook("remediate", "-e", named, "-e", f"control_plane_consent={consent}").succeeded()
    names = sorted(each["metadata"]["name"] for each in workspace.objects("Machine"))
    world = workspace.world()
    assert len(names) == 3 and lost not in names
    assert names == sorted(workspace.cloud()["machines"]) == sorted(each["name"] for each in world["members"])
    assert world["violations"] == []
