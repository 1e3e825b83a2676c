# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which labels of a Machine are its Node's, and what is written for that."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.reconcile.nodes.node_labels import (
    FROM_MACHINE_ANNOTATION,
    managed,
    patch,
)

ROLE, AGENT = "node-role.kubernetes.io/edge", "agent.node.cluster.x-k8s.io/version"


@pytest.mark.parametrize(
    ("key", "its"),
    [
        ("node-role.kubernetes.io/edge", True),
        ("node-restriction.kubernetes.io/zone", True),
        ("team.node-restriction.kubernetes.io/zone", True),
        ("node.cluster.x-k8s.io/size", True),
        ("a.b.node.cluster.x-k8s.io/size", True),
        ("cluster.x-k8s.io/cluster-name", False),
        ("kubernetes.io/arch", False),
        ("evilnode.cluster.x-k8s.io/size", False),
        ("node-restriction.kubernetes.io", False),
        ("x.node-role.kubernetes.io/edge", False),
        ("team", False),
    ],
)
def test_the_three_domains(key: str, its: bool) -> None:
    assert managed({key: "x"}) == ({key: "x"} if its else {})


def node(labels: t.Optional[dict[str, str]] = None, record: t.Optional[str] = None) -> dict[str, t.Any]:
    return {"labels": labels or {}, "annotations": {} if record is None else {FROM_MACHINE_ANNOTATION: record}}


def test_what_is_missing_or_another_is_set_and_remembered() -> None:
    change = patch({ROLE: "", AGENT: "2"}, node({AGENT: "1", "kubernetes.io/arch": "amd64"}))
    assert change == {
        "metadata": {"labels": {ROLE: "", AGENT: "2"}, "annotations": {FROM_MACHINE_ANNOTATION: f"{AGENT},{ROLE}"}}
    }


def test_nothing_where_nothing_differs() -> None:
    assert patch({}, node()) is None
    assert patch({ROLE: ""}, node({ROLE: ""}, ROLE)) is None


def test_what_left_the_machine_leaves_the_node() -> None:
    change = patch({ROLE: ""}, node({ROLE: "", AGENT: "1"}, f"{AGENT},{ROLE}"))
    assert change == {"metadata": {"labels": {AGENT: None}, "annotations": {FROM_MACHINE_ANNOTATION: ROLE}}}
    last = patch({}, node({ROLE: ""}, ROLE))
    assert last == {"metadata": {"labels": {ROLE: None}, "annotations": {FROM_MACHINE_ANNOTATION: None}}}


def test_kubeadms_own_label_stays() -> None:
    """It is of such a domain, and the Machine never set it; nor does a record that somebody has edited take others' labels away."""
    own = {"node-role.kubernetes.io/control-plane": "", "kubernetes.io/hostname": "m1"}
    assert patch({}, node(own)) is None
    change = patch({}, node(own, "kubernetes.io/hostname,,x"))
    assert change is not None and change["metadata"]["labels"] == {}
