# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which attached volumes a drain waits for; the API server that the lab has by default knows no generic ephemeral volumes."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.kubeadm.control_plane.plugins.module_utils.workload_api.attached_volumes import awaited

Object = dict[str, t.Any]
DAEMON_SET = {"ownerReferences": [{"kind": "DaemonSet", "name": "agent", "controller": True}]}
STATIC = {"annotations": {"kubernetes.io/config.mirror": "x"}}


class Api:
    """An API server with a pod on the Node w-1, which has an ephemeral volume, and two attached volumes."""

    def __init__(self, metadata: Object) -> None:
        volumes = [{"name": "data", "ephemeral": {"volumeClaimTemplate": {}}}, {"name": "tmp", "emptyDir": {}}]
        self.pod = {
            "metadata": {"name": "agent-1", "namespace": "default", **metadata},
            "spec": {"volumes": volumes},
        }

    def list(self, path: str, fields: str = "") -> list[Object]:
        """The pod of the Node, or the attachments of all."""
        if path.endswith("/pods"):
            return [self.pod] if fields == "spec.nodeName=w-1" else []
        return [
            {
                "metadata": {"name": each},
                "spec": {"nodeName": node, "source": {"persistentVolumeName": each}},
                "status": {"attached": True},
            }
            for node, each in (("w-1", "pv-1"), ("w-1", "pv-2"), ("w-2", "pv-3"))
        ]

    def get(self, path: str) -> t.Optional[Object]:
        """The pod's claim, which is bound."""
        claim = "/api/v1/namespaces/default/persistentvolumeclaims/agent-1-data"
        return {"spec": {"volumeName": "pv-1"}} if path == claim else None


@pytest.mark.parametrize(("metadata", "left"), [(DAEMON_SET, ["pv-2"]), (STATIC, ["pv-2"]), ({}, ["pv-1", "pv-2"])])
def test_an_ephemeral_volume_of_a_pod_that_stays(metadata: Object, left: list[str]) -> None:
    assert awaited(t.cast(t.Any, Api(metadata)), "w-1") == left
