# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The note of the API versions that a manifest has another provider's kinds in."""

from __future__ import annotations

import json
import typing as t
from pathlib import Path

import pytest
import yaml
from stored_manifest import Kept, example

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects.manifest.reader import read_cluster
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.records import stored_cluster
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.base import Object, Store, StoreError
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.file.store import FileStore

CLUSTER = ("cluster.x-k8s.io", "Cluster")
GROUP = "infra.acme.example"
NOTE = "kubeadm.control-plane/infrastructure-versions"
PROVIDERS = dict.fromkeys(("AcmeCluster", "AcmeMachineTemplate"), "acme.machine")


def applied(store: Store, folder: Path, version: str) -> list[str]:
    text = yaml.safe_dump_all(example("v1beta2")).replace("Nspawn", "Acme")
    text = text.replace("apiGroup: infrastructure.cluster.x-k8s.io", f"apiGroup: {GROUP}")
    text = text.replace("infrastructure.cluster.x-k8s.io/v1beta1", f"{GROUP}/{version}")
    path = folder / "manifest.yaml"
    path.write_text(text, encoding="utf-8")
    return stored_cluster.apply_manifest(store, read_cluster([str(path)], "default", "my-cluster", PROVIDERS))


def noted(store: Store) -> t.Any:
    cluster = store.get(CLUSTER, "default", "my-cluster")
    assert cluster is not None
    note = cluster["metadata"].get("annotations", {}).get(NOTE)
    return note and json.loads(note)


def test_the_cluster_has_the_versions_of_the_manifest(tmp_path: Path) -> None:
    """Of machines it is their template's. It follows the manifest, and means no change by itself."""
    store = FileStore(str(tmp_path / "store"))
    for version in ("v1alpha4", "v1beta1"):
        applied(store, tmp_path, version)
        named = (f"{kind}.{GROUP}" for kind in ("AcmeCluster", "AcmeMachine", "AcmeMachineTemplate"))
        assert noted(store) == dict.fromkeys(named, version)
        assert applied(store, tmp_path, version) == []


def test_our_own_kinds_have_one_version(kept: Kept) -> None:
    assert noted(kept.store) is None


class Serving(FileStore):
    """A store that doesn't serve one kind."""

    refused = ""

    def prefer(self, obj: Object) -> None:
        """Refuse the kind."""
        if obj["kind"] == self.refused:
            raise StoreError(obj["kind"], GROUP, "not served", "Nothing was written.")


@pytest.mark.parametrize("kind", ["AcmeCluster", "AcmeMachine", "AcmeMachineTemplate"])
def test_nothing_is_written_where_one_kind_is_not_served(tmp_path: Path, kind: str) -> None:
    store = Serving(str(tmp_path / "store"))
    store.refused = kind
    with pytest.raises(StoreError, match=kind):
        applied(store, tmp_path, "v1alpha4")
    assert not (tmp_path / "store").exists()
