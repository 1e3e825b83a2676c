# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is said when a run ends, and what is left."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from operator_cases import Walk, action, begun, executions, facts, node

from ansible_collections.kubeadm.control_plane.plugins.module_utils.operator.text import ending

CONFIGURATION = """
apiVersion: kubeadm.k8s.io/v1beta2
kind: ClusterConfiguration
kubernetesVersion: v1.20.2
"""
UPGRADE = {"targetVersion": "v1.21.0", "binaries": {"source": "files", "path": "/opt/kubernetes/{version}"}}


def told(folder: Path, place: int) -> str:
    """What an abort says of an upgrade that failed on the second Node at that command."""
    nodes = [node(name, api_server_version="v1.20.2", ready=True) for name in ("cp-a", "cp-b", "cp-c")]
    cluster = facts(*nodes, cluster_configuration=CONFIGURATION, api_answers=True)
    walk = Walk(where := executions(folder), begun(where, action(upgrade=UPGRADE), cluster), {"cp-b": place})
    walk.until_it_ends()
    walk.say("first", abort=True)
    execution, step = walk.look()
    return ending(execution, step, "prod")


@pytest.mark.parametrize(("place", "nodes"), [(2, "cp-a"), (3, "cp-a, cp-b")])
def test_an_aborted_upgrade_tells_who_was_upgraded_and_what_completes_it(
    tmp_path: Path, place: int, nodes: str
) -> None:
    """From the beginning of kubeadm's own upgrade on it is not known how far that came."""
    said = told(tmp_path, place)
    assert f" {nodes}: v1.21.0 whole or in part" in said
    options = said.partition("kubeadm.control_plane.action --limit prod -e '")[2].rstrip("'")
    assert json.loads(options) == {"operator_spec": {"upgrade": UPGRADE}}


def test_nothing_is_said_where_nothing_was_upgraded(tmp_path: Path) -> None:
    nodes = [node(name, api_server_version="v1.20.2", ready=True) for name in ("cp-a", "cp-b")]
    cluster = facts(*nodes, cluster_configuration=CONFIGURATION, api_answers=True)
    walk = Walk(where := executions(tmp_path), begun(where, action(upgrade=UPGRADE), cluster), {"cp-a": 0})
    walk.until_it_ends()
    walk.say("first", abort=True)
    assert "whole or in part" not in ending(*walk.look(), "prod")
