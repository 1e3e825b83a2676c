# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Changed manifests through the real action and the real playbooks: refused as a whole, in check mode too, and nothing written."""

from __future__ import annotations

import shutil
import typing as t
from pathlib import Path

import pytest
import yaml
from workspace import STORE_PLAYBOOK, Run, Workspace, cluster_documents

TELLING = """\
      register: stored

    - name: Tell what was done
      ansible.builtin.debug:
        msg: "CHANGES {{ stored.changes | to_json }}"
"""
NAME = "prod"
SECRET = "hunter2-never-shown"


class Stored(Workspace):
    """A workspace whose store holds a cluster."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        (folder / "store.yml").write_text(STORE_PLAYBOOK + TELLING)
        self.documents = cluster_documents(NAME)
        files = [{"path": "/etc/token", "content": SECRET}]
        self.documents[1]["spec"]["kubeadmConfigSpec"]["files"] = files

    def bring(self, *arguments: str) -> Run:
        """Write the manifest and bring it into the store."""
        self.write(NAME, yaml.safe_dump_all(self.documents, sort_keys=False))
        return self.playbook("store.yml", *arguments)

    def files(self) -> dict[str, bytes]:
        """Every stored object's file."""
        return {str(path): path.read_bytes() for path in sorted(self.store.rglob("*.yaml"))}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Stored:
    """A store that holds a cluster, brought there by the action; made once, copied for each test."""
    workspace = Stored(tmp_path_factory.mktemp("made") / "workspace")
    workspace.bring().succeeded()
    return workspace


@pytest.fixture
def stored(made: Stored, tmp_path: Path) -> Stored:
    """A copy of that store."""
    copied = Stored(tmp_path / "workspace")
    shutil.copytree(made.folder, copied.folder, dirs_exist_ok=True)
    return copied


def break_it(documents: list[dict[str, t.Any]]) -> None:
    """Change what can't be changed, and with it what can."""
    spec = documents[1]["spec"]
    spec.update(version="v1.22.1", replicas=5)
    spec["kubeadmConfigSpec"]["clusterConfiguration"]["certificatesDir"] = "/etc/pki"
    spec["kubeadmConfigSpec"]["files"][0]["content"] = SECRET + "-changed"


@pytest.mark.parametrize("arguments", [(), ("--check",)])
def test_every_refused_path_is_told_and_nothing_is_written(stored: Stored, arguments: tuple[str, ...]) -> None:
    """All at once, with old and new value, in check mode as without it."""
    before = stored.files()
    break_it(stored.documents)
    run = stored.bring(*arguments).failed()
    for words in (
        "2 problems, nothing was changed",
        "prod.yaml:",
        "spec.version",
        "more than one minor version above v1.20.2, the stored version",
        "spec.kubeadmConfigSpec.clusterConfiguration.certificatesDir",
        "/etc/pki",
    ):
        assert words in run.text, run.output
    assert SECRET not in run.output and "Traceback" not in run.output
    assert stored.files() == before


def test_reconcile_ends_before_it_does_anything(stored: Stored) -> None:
    """The playbook that a user runs says the same and says where things stand."""
    before = stored.files()
    break_it(stored.documents)
    stored.write(NAME, yaml.safe_dump_all(stored.documents, sort_keys=False))
    run = stored.playbook("reconcile", "--check").failed()
    assert "spec.version" in run.text and "Under way" in run.text
    assert stored.files() == before


def test_another_form_of_the_same_content_changes_nothing(stored: Stored) -> None:
    """Rewritten in v1beta1, with a default spelled out: no task is changed."""
    before = stored.files()
    cluster, control_plane = stored.documents[0], stored.documents[1]
    cluster["apiVersion"] = "cluster.x-k8s.io/v1beta1"
    control_plane["apiVersion"] = "controlplane.cluster.x-k8s.io/v1beta1"
    for reference in (cluster["spec"]["controlPlaneRef"], cluster["spec"]["infrastructureRef"]):
        reference["apiVersion"] = reference.pop("apiGroup") + "/v1beta1"
    template = control_plane["spec"]["machineTemplate"].pop("spec")["infrastructureRef"]
    template["apiVersion"] = template.pop("apiGroup") + "/v1beta1"
    control_plane["spec"]["machineTemplate"]["infrastructureRef"] = template
    control_plane["spec"]["rolloutStrategy"] = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}
    run = stored.bring().succeeded()
    assert "CHANGES []" in run.text
    assert run.recap(NAME)["changed"] == 0
    assert stored.files() == before


def test_a_patch_downgrade_needs_its_annotation(stored: Stored) -> None:
    """The message names the annotation; with it the manifest is taken, and the file contents are still not shown."""
    stored.documents[1]["spec"]["version"] = "v1.20.1"
    run = stored.bring().failed()
    assert "kubeadm.control-plane/allow-patch-downgrade" in run.text
    annotations = {"kubeadm.control-plane/allow-patch-downgrade": "true"}
    stored.documents[1]["metadata"]["annotations"] = annotations
    run = stored.bring("-v").succeeded()
    assert "change KubeadmControlPlane default/prod-control-plane" in run.text and "spec.version" in run.text
    assert SECRET not in run.output


def test_a_template_changed_under_its_name_is_a_warning(stored: Stored) -> None:
    """People are told that nothing is replaced by it."""
    stored.documents[2]["spec"]["template"]["spec"] = {"cpus": 1}
    run = stored.bring().succeeded()
    assert "give the template a new name" in run.text
