# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A glance at a manifest: what keeps a cluster from being settled, and what is only said."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
import yaml
from actions import run_action, with_local_connection
from ansible.parsing.dataloader import DataLoader
from ansible.playbook.task import Task
from workspace import cluster_documents

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.reconcile.glance import SPEC, Glance
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.base import StoreError

Object = dict[str, t.Any]


class HostVars(dict[str, Object]):
    """Variables of the inventory's hosts, as a glance reads them."""

    raw_get = dict.__getitem__


class Applied:
    """A cluster whose manifest, with a file of which each run warns, is in the store."""

    def __init__(self, folder: Path) -> None:
        self.store = {"path": str(folder / "store")}
        self.manifest = folder / "prod.yaml"
        self.documents = cluster_documents("prod")
        plane = next(each for each in self.documents if each["kind"] == "KubeadmControlPlane")
        self.spec: Object = plane["spec"]
        self.spec["kubeadmConfigSpec"]["files"] = [{"path": "/etc/note", "content": "{# note #}"}]
        self.write()
        result = run_action("cluster", cluster="prod", store=self.store, manifests=[str(self.manifest)])
        assert not result.get("failed"), result["msg"]

    def write(self) -> None:
        """Write the manifest."""
        self.manifest.write_text(yaml.safe_dump_all(self.documents, sort_keys=False))

    def glance(self) -> tuple[bool, str]:
        """Whether a glance finds the manifest as it is applied, and what it warns of."""
        of_cluster = {"cluster": "prod", "namespace": "default"}
        variables = {**of_cluster, "store": self.store, "manifests": [str(self.manifest)]}
        glance = with_local_connection(Glance, Task(), DataLoader())
        glance.begin(HostVars(prod={f"control_plane_{key}": value for key, value in variables.items()}))
        arguments = glance.enter("prod", "main", SPEC)
        found = glance.wanted(arguments, glance.open_store(arguments))
        return found is not None, "\n".join(glance.warnings)


@pytest.fixture
def applied(tmp_path: Path) -> Applied:
    return Applied(tmp_path)


def test_a_warning_that_stays_keeps_no_cluster_from_being_settled(applied: Applied) -> None:
    same, warned = applied.glance()
    assert same and "files[0].content: the comment" in warned


def test_a_manifest_that_differs_is_more_than_a_glance_settles(applied: Applied) -> None:
    applied.spec["replicas"] = 5
    applied.write()
    assert not applied.glance()[0]


@pytest.mark.parametrize(
    ("plan", "looked_at"),
    [
        ({}, True),
        ({"control_plane_plan": {}}, True),
        ({"control_plane_plan": {"stage": "sha256:0"}}, True),
        ({"control_plane_plan": {"prod": "sha256:0"}}, False),
        ({"control_plane_plan": "sha256:0"}, False),
        ({"control_plane_plan": ""}, False),
        ({"control_plane_plan": None}, False),
    ],
)
def test_a_plan_is_followed_or_refused_by_the_run_itself(tmp_path: Path, plan: Object, looked_at: bool) -> None:
    """Also an empty one. What is looked at here can't be, which is an error."""
    store = {"type": "kubernetes", "path": str(tmp_path), "kubeconfig": str(tmp_path / "missing")}
    variables = {"cluster": "prod", "namespace": "default", "store": store}
    glance = with_local_connection(Glance, Task(), DataLoader())
    glance.begin(HostVars(prod={**{f"control_plane_{key}": value for key, value in variables.items()}, **plan}))
    if looked_at:
        with pytest.raises(StoreError):
            glance.settled("reconcile", "prod")
    else:
        assert glance.settled("reconcile", "prod") == ""
