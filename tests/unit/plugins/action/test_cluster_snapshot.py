# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What check mode says of the snapshot before a change of etcd's membership; no machine has to answer."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
from actions import run_action
from stored_cluster import stored_cluster

WAIVER = "kubeadm.control-plane/skip-etcd-snapshot"
EXTERNAL = {"etcd": {"external": {"endpoints": ["https://10.0.0.9:2379"]}}}


def check(folder: Path, configuration: t.Mapping[str, t.Any], annotations: t.Mapping[str, str]) -> dict[str, t.Any]:
    """What the action says in check mode."""
    stored_cluster(folder, "v1.20.2", configuration, annotations, {"m1": "localhost"})
    return run_action("cluster_snapshot", True, cluster="prod", store={"path": str(folder)}, name="before-change")


@pytest.mark.parametrize("annotations", [{}, *({WAIVER: value} for value in ("false", "no", "", "True "))])
def test_one_would_be_taken(tmp_path: Path, annotations: dict[str, str]) -> None:
    result = check(tmp_path, {}, annotations)
    assert (result["changed"], result["taken"]) == (True, False) and "would be taken" in result["msg"]


@pytest.mark.parametrize(
    ("configuration", "annotations", "why"),
    [({}, {WAIVER: "true"}, WAIVER), (EXTERNAL, {}, "etcd is external")],
    ids=["waived", "external etcd"],
)
def test_none_would_be_taken(
    tmp_path: Path, configuration: dict[str, t.Any], annotations: dict[str, str], why: str
) -> None:
    result = check(tmp_path, configuration, annotations)
    assert (result["changed"], result["taken"]) == (False, False) and why in result["msg"]
