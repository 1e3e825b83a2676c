# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An authority that has ended on the machines, while no API answers: no Action is planned in vain."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
from operator_cases import hub
from operator_workspace import NAME, OperatorWorkspace

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.calls.machine_connection import Answer, Machine
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects import actions
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects.advice import AUTHORITY_ENDED
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.operator.planner_types import RefusedAction
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.operator.tasks.cluster_facts import Facts
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.records.cluster_objects import ClusterObjects
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.file.store import FileStore

Object = dict[str, t.Any]


class Machines:
    """Machines that run, whose authority has ended, so that no API server answers."""

    def call(self, machine: Machine, module: str, arguments: Object) -> Answer:
        """Answer as a module on that machine would."""
        del machine, arguments
        if module == "kubeadm_certificates":
            return Answer(True, {"certificates": {"ca": "2016-01-01T00:00:00Z", "apiserver": "2016-01-01T00:00:00Z"}})
        return Answer(True, {"msg": "no API server answers", "failed": True})


@pytest.mark.parametrize("what", ["renewCertificates", "rotateCertificateAuthorities"])
def test_neither_action_sends_to_the_other(tmp_path: Path, what: str) -> None:
    workspace = OperatorWorkspace(tmp_path)
    workspace.create()
    objects = ClusterObjects.read(FileStore(str(workspace.store)), "default", NAME)
    assert objects is not None
    obj = {
        "apiVersion": actions.API_VERSION,
        "kind": actions.ACTION,
        "metadata": {"name": "up", "namespace": "default"},
        "spec": {what: {}},
    }
    with pytest.raises(RefusedAction, match=r"the certificate authority ca of .* has ended") as refused:
        Facts(objects, t.cast(t.Any, Machines()), ()).gather(hub(obj))
    assert refused.value.error.fix == AUTHORITY_ENDED
