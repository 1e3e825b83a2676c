# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""docs/from_cluster_api.md, typed as it stands, with a stand-in for the hosts: every command works, and prints what the page says."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from acme_workspace import AcmeWorkspace
from api_server import ApiServer
from typed_pages import steps, type_in

from ansible_collections.kubeadm.control_plane.plugins.filter.from_cluster_api import from_cluster_api

PAGE = Path(__file__).resolve().parents[3] / "docs" / "from_cluster_api.md"
# The hosts' provider asks real hosts; the stand-in's kinds take its place, and what their specs hold.
STAND_INS = {
    "InventoryMachineTemplate": "AcmeMachineTemplate",
    "InventoryCluster": "AcmeCluster",
    "group: kubeadm_pool": "size: small",
    "controlPlaneEndpoint: {host: 192.0.2.10, port: 6443}": "region: north",
}
WITH_VARIABLES = 'ansible-playbook() { command ansible-playbook -e @variables.yml "$@"; }\n'


def _replaced(text: str) -> str:
    for word, other in STAND_INS.items():
        text = text.replace(word, other)
    return text


def test_the_page(empty_server: ApiServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """There and back: a cluster of three machines made, moved into an API, and written for Cluster API in two versions."""
    workspace = AcmeWorkspace.with_machines(tmp_path / "workspace", monkeypatch)
    folder = workspace.folder
    (folder / "management.kubeconfig").write_text(Path(empty_server.kubeconfig).read_text())
    (folder / "management.kubeconfig").chmod(0o600)
    programs = folder / "programs"
    programs.mkdir()
    (programs / "kubectl").symlink_to(Path(empty_server.kubectl).resolve())
    monkeypatch.setenv("PATH", str(programs), prepend=":")
    for commands, shown in steps(PAGE):
        type_in(folder, WITH_VARIABLES + _replaced(commands), [_replaced(line) for line in shown])
    world = workspace.world()
    assert world["violations"] == [] and len(world["members"]) == 3
    written = {name: (folder / f"prod-{name}.yaml").read_text() for name in ("v1beta1", "v1beta2")}
    for name, text in written.items():
        assert {each["apiVersion"].rpartition("/")[2] for each in yaml.safe_load_all(text)} == {name, "v1"}
    older, newer = (from_cluster_api(text) for text in written.values())
    assert older == newer and {each["kind"] for each in newer} >= {"Machine", "KubeadmConfig", "Secret"}
