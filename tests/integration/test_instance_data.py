# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A manifest with references to instance data, on stand-ins for a cloud and its machines: what the machines are started with."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from acme_workspace import AcmeWorkspace

NAME = "prod"
FLAGS = [{"name": "provider-id", "value": 'acme:///{{ ds["id"] }}'}]
FILE = {"path": "/etc/region", "contentFrom": {"secret": {"name": "own", "key": "k"}}}
REGISTRATION = {"nodeRegistration": {"name": "{{ local_hostname }}", "kubeletExtraArgs": FLAGS}}
KUBEADM = {
    "initConfiguration": REGISTRATION,
    "joinConfiguration": REGISTRATION,
    "files": [FILE],
    "preKubeadmCommands": ["echo {% raw %}{{.State}}{% endraw %} {{ ds.meta_data.local_ipv4 }}"],
}


def write(workspace: AcmeWorkspace, kubeadm: dict[str, Any], secret: str = "of {{ region }}") -> None:
    """Write the cluster's manifest with its Secret."""
    file = workspace.manifest(NAME, replicas=1, kubeadm=kubeadm)
    data = {"k": base64.b64encode(secret.encode()).decode()}
    own = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "own"}, "type": "Opaque", "data": data}
    file.write_text(f"{file.read_text()}---\n{yaml.safe_dump(own)}")


@pytest.fixture
def workspace(one_machine: AcmeWorkspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AcmeWorkspace:
    """A cluster of one machine."""
    return one_machine.copied(tmp_path / "workspace").answering(monkeypatch)


def test_a_machine_has_the_values_of_its_provider(workspace: AcmeWorkspace) -> None:
    """What the provider doesn't tell keeps kubeadm from being started; once it does, the same machine is.

    Only the Secret's text needs it.
    """
    [first] = workspace.objects("Machine")
    write(workspace, KUBEADM, "topsecret {{ topsecret }}")
    braces = workspace.playbook("reconcile").failed().text
    assert "files[0].contentFrom" in braces and "Secret own, key k, a template in line 1" in braces
    assert "topsecret" not in braces
    assert workspace.objects("Machine") == [first], "found before anything is made or removed"

    write(workspace, KUBEADM)
    refused = workspace.playbook("reconcile").failed().text
    [waiting] = {each["metadata"]["name"] for each in workspace.objects("Machine")} - {first["metadata"]["name"]}
    assert f"kubeadm was not started on machine {waiting}, and nothing was changed there" in refused
    assert "spec.files[0].contentFrom (Secret own, key k)" in refused
    assert "status.instanceData.region" in refused and f"provider of AcmeMachine {waiting}" in refused
    world = workspace.world()
    assert waiting not in world["bootstraps"] and len(world["members"]) == 1
    assert not any("bootstrap_token" in each for each in world["calls"]), "no token for a join that can't be"

    cloud = workspace.cloud()
    cloud["machines"][waiting]["region"] = "eu-1"
    (workspace.folder / "cloud" / "cloud.json").write_text(json.dumps(cloud))
    workspace.playbook("reconcile").succeeded()
    world = workspace.world()
    assert [each["metadata"]["name"] for each in workspace.objects("Machine")] == [waiting]
    assert world["violations"] == []
    machine = cloud["machines"][waiting]
    found = world["bootstraps"][waiting]
    registration = yaml.safe_load(found["config"])["nodeRegistration"]
    flags = {"provider-id": f"acme:///{machine['id']}"}
    assert registration == {"name": waiting, "kubeletExtraArgs": flags}
    assert found["preKubeadmCommands"] == [f"echo {{{{.State}}}} {machine['address']}"]

    # Another spelling is nothing to do.
    respelled = json.loads(json.dumps(KUBEADM).replace("local_hostname", "v1.local_hostname"))
    write(workspace, respelled)
    again = workspace.playbook("reconcile").succeeded()
    assert [each["metadata"]["name"] for each in workspace.objects("Machine")] == [waiting], again.text
