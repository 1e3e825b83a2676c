# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The playbook prepare, where there is nothing to prepare."""

from __future__ import annotations

from pathlib import Path

import yaml
from host_pool import GROUP, pool_documents
from workspace import Workspace, cluster_documents


def test_it_ends_with_the_table_where_no_host_answers(tmp_path: Path) -> None:
    """Ansible alone would end at the play that has none left."""
    workspace = Workspace(tmp_path / "workspace")
    documents = cluster_documents("pool", replicas=1)
    pool_documents(documents, {"group": GROUP}, "192.0.2.10")
    documents[0]["metadata"]["annotations"] = {"kubeadm.control-plane/endpoint-is-unused": "true"}
    workspace.write("pool", yaml.safe_dump_all(documents))
    # Nothing listens on port 1.
    away = {"ansible_host": "127.0.0.1", "ansible_port": 1, "ansible_connection": "ssh"}
    (workspace.folder / "hosts.yml").write_text(yaml.safe_dump({GROUP: {"hosts": {"cp-1": away}}}))
    run = workspace.playbook("prepare", "-i", "hosts.yml").failed()
    assert run.output.count("HOSTS default/pool") == 2 and "(Reachable)" in run.output, run.output
    # What the first of the two tables names is what prepare is for, and no failure.
    assert run.output.count("FAILED!") == 1 and run.recap("pool")["rescued"] == 0, run.output
