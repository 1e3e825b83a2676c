# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Release of a machine's host by the provider of existing hosts: hosts that are hidden, don't answer or refuse."""

from __future__ import annotations

import json
import typing as t
from pathlib import Path

import pytest
from host_pool import AWAY, GROUP, claimed
from tasks import Playbook
from workspace import cluster_documents

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.file.store import FileStore


class Stored:
    """A stored cluster with one machine whose host was claimed, and calls of the module that releases it."""

    def __init__(self, folder: Path, **status: t.Any) -> None:
        self.store = FileStore(str(folder / "store"))
        self.python = folder / "python"
        refusing = {"ansible_connection": "local", "ansible_python_interpreter": str(self.python)}
        self._playbook = Playbook(folder, "", "", {"localhost": {}, "away": AWAY, "refusing": refusing})
        for document in cluster_documents("prod", replicas=1)[:2]:
            self.store.create(document)
        self.store.create(
            {
                "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1",
                "kind": "InventoryMachine",
                "metadata": {"name": "m1", "namespace": "default"},
                "spec": {"group": GROUP},
                "status": status,
            }
        )
        self._path = folder / "store"

    def release(self, **options: t.Any) -> dict[str, t.Any]:
        """Release the machine's host; its failure is a result."""
        arguments = {
            "cluster": "prod",
            "store": {"path": str(self._path)},
            "name": "m1",
            "state": "absent",
            "timeout": 2,
        }
        task = {
            "kubeadm.control_plane.inventory_machine": {**arguments, **options},
            "register": "result",
            "ignore_errors": True,
        }
        found = self._path.parent / "result.json"
        keep = {"ansible.builtin.copy": {"content": "{{ result | to_json }}", "dest": str(found), "mode": "0600"}}
        self._playbook.play([{"name": "Release", **task}, {"name": "Keep", **keep}])
        return dict(json.loads(found.read_text()))

    def status(self) -> dict[str, t.Any]:
        """The machine's stored status."""
        found = self.store.get(("infrastructure.cluster.x-k8s.io", "InventoryMachine"), "default", "m1")
        assert found is not None
        return dict(found["status"])


def test_a_host_that_left_the_inventory_is_released_only_with_consent(tmp_path: Path) -> None:
    """What is on it can't be wiped: that is said, and a lost host is given up by its name."""
    stored = Stored(tmp_path, **claimed("burnt"))
    result = stored.release()
    assert result["failed"] and "inventory host burnt, which this run's inventory does not have" in result["msg"]
    assert "-e machine_inventory_consent_forget=burnt" in result["msg"]
    assert stored.status()["claim"]["state"] == "Claimed"
    assert stored.release(consent_forget=["other"])["failed"]
    result = stored.release(consent_forget=["burnt"])
    assert result["changed"] and "given up unwiped" in result["msg"]
    assert stored.status()["claim"]["state"] == "Released" and stored.status()["state"] == "missing"
    assert stored.release() == {**stored.release(), "changed": False, "failed": False}


def test_a_host_that_does_not_answer_stays_claimed(tmp_path: Path) -> None:
    """SSH that fails is no evidence: nothing is given up."""
    stored = Stored(tmp_path, **claimed("away"))
    result = stored.release()
    assert result["failed"] and "inventory host away was not reached" in result["msg"]
    assert "machine_inventory_consent_forget=away" in result["msg"]
    # That the release was begun is kept: by the next call the host may have been wiped by this one.
    assert stored.status()["claim"]["state"] == "Releasing" and stored.status()["state"] == "running"


@pytest.mark.parametrize("consent", [False, True])
def test_a_consent_that_was_given_is_not_asked_for_again(tmp_path: Path, consent: bool) -> None:
    """The host refuses in any case, a member of another cluster's etcd say: what is left is to give it up unwiped."""
    stored = Stored(tmp_path, **claimed("refusing"))
    answer = {"failed": True, "msg": "The etcd on this machine is a member beside others."}
    stored.python.write_text(f"#!/bin/sh\ncat > /dev/null\necho '{json.dumps(answer)}'\n")
    stored.python.chmod(0o755)
    said = stored.release(consent_wipe=["refusing"] if consent else [])["msg"]
    assert f"its inventory host refusing was not released. {answer['msg']}" in said
    assert ("-e machine_inventory_consent_wipe=refusing" in said) is not consent
    assert (
        "If the host is to be left as it is, -e machine_inventory_consent_forget=refusing gives it up unwiped" in said
    )
    assert stored.status()["claim"]["state"] == "Claimed"


def test_a_machine_without_a_host_has_nothing_to_release(tmp_path: Path) -> None:
    """Never claimed, or given back before."""
    stored = Stored(tmp_path)
    assert not stored.release()["changed"]
    assert not stored.release(name="unknown")["changed"]
