# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What kubeadm did not find, and said so while it ended well, was not renewed."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
from task_context import CommandRun, StandInAction, ended

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.operator.planner_types import (
    ClusterFacts,
    NodeFacts,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.operator.renew_certificates.commands import (
    ETCD_CERTIFICATES,
    USERS,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.operator.tasks.context import CommandFailure

Object = dict[str, t.Any]
LATER = "2037-11-21T19:00:00Z"
SERVING = "MISSING! certificate for serving the Kubernetes API"
SUPER_ADMIN = "MISSING! certificate embedded in the kubeconfig file for the super-admin"
ETCD = (
    "MISSING! certificate the apiserver uses to access etcd",
    "MISSING! certificate for liveness probes to healthcheck etcd",
    "MISSING! certificate for etcd nodes to communicate with each other",
    "MISSING! certificate for serving etcd",
)


def renewal(
    folder: Path, names: t.Sequence[str], said: t.Sequence[str], absent: t.Sequence[str] = (), external: bool = False
) -> CommandRun:
    """A renewal on a node that has all certificates but the absent ones, of which kubeadm says that."""
    ends = {name: LATER for name in USERS if name not in absent}

    def node(name: str, module: str, arguments: Object) -> Object:
        del name, arguments
        return ended(0, "\n".join(said)) if module == "node_command" else {"certificates": ends, "msg": "read"}

    facts = ClusterFacts("prod", "v1.30.2", (NodeFacts("cp-a", True, inventory_host="cp-a"),), external_etcd=external)
    descriptor = {"kubeadmRenewCertificates": {"names": list(names)}}
    return CommandRun(folder, facts, "cp-a", descriptor, StandInAction(node))


@pytest.mark.parametrize(
    ("names", "said", "absent"),
    [
        (["apiserver"], [SERVING], []),
        (["all"], [SERVING, *ETCD, SUPER_ADMIN], []),
        (["all"], [SERVING, ETCD[1]], ["etcd-healthcheck-client"]),
    ],
)
def test_kubeadm_looked_in_another_folder(tmp_path: Path, names: list[str], said: list[str], absent: list[str]) -> None:
    """Without an API it takes its own default for certificatesDir."""
    with pytest.raises(CommandFailure, match="in another folder than this node has them in") as refused:
        renewal(tmp_path, names, said, absent).run()
    assert SERVING in str(refused.value) and "super-admin" not in str(refused.value)


@pytest.mark.parametrize(
    ("said", "absent", "external"),
    [
        ([SUPER_ADMIN], ["super-admin.conf"], False),
        ([ETCD[1]], ["etcd-healthcheck-client"], False),
        (ETCD, ETCD_CERTIFICATES, True),
    ],
)
def test_what_a_node_need_not_have(tmp_path: Path, said: list[str], absent: list[str], external: bool) -> None:
    run = renewal(tmp_path, ["all"], said, absent, external)
    run.run()
    assert f"certificates end {LATER} or later" in run.notes()[-1]
