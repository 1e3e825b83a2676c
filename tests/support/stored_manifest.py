# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A store that holds the example cluster, and the manifests that are brought into it."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
import yaml

from ansible_collections.kubeadm.control_plane.plugins.module_utils.common.violations import ManifestError, Violation
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects.manifest.reader import read_cluster
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.records import stored_cluster
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.records.cluster_objects import CONTROL_PLANE
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.file.store import FileStore

EXAMPLES = Path(__file__).parents[2] / "examples" / "manifests"
CONFIGURATION = "spec.kubeadmConfigSpec.clusterConfiguration"
Documents = list[dict[str, t.Any]]


def example(form: str) -> Documents:
    """The documents of an example."""
    text = (EXAMPLES / f"cluster-{form}.yaml").read_text(encoding="utf-8")
    return [document for document in yaml.safe_load_all(text) if document]


class Kept:
    """A store, and the manifests that are brought into it."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "manifest.yaml"
        self.folder = folder / "store"
        self.store = FileStore(str(self.folder))
        self.documents = example("v1beta2")
        # Of the last time that they were applied.
        self.warnings: list[str] = []

    @property
    def spec(self) -> dict[str, t.Any]:
        """The KubeadmControlPlane's spec in the manifest."""
        return t.cast("dict[str, t.Any]", self.documents[1]["spec"])

    @property
    def configuration(self) -> dict[str, t.Any]:
        """Its clusterConfiguration."""
        return t.cast("dict[str, t.Any]", self.spec["kubeadmConfigSpec"]["clusterConfiguration"])

    def apply(self, documents: t.Optional[Documents] = None) -> list[str]:
        """Bring the documents into the store."""
        manifest = read_cluster([self.written(documents)], "default", "my-cluster")
        self.warnings.clear()
        return stored_cluster.apply_manifest(self.store, manifest, self.warnings.append)

    def written(self, documents: t.Optional[Documents] = None) -> str:
        """The manifest's file, with the documents."""
        self.file.write_text(yaml.safe_dump_all(documents or self.documents, sort_keys=False), encoding="utf-8")
        return str(self.file)

    def refused(self) -> dict[str, Violation]:
        """The violations by path; the store must be as it was."""
        before = self.files()
        with pytest.raises(ManifestError) as error:
            self.apply()
        assert self.files() == before
        return {violation.path: violation for violation in error.value.violations}

    def files(self) -> dict[str, bytes]:
        """Every file of the store."""
        return {str(path): path.read_bytes() for path in sorted(self.folder.rglob("*.yaml"))}

    def initialized(self) -> None:
        """As after the first machine."""
        status = {"initialization": {"controlPlaneInitialized": True}}
        self.store.modify(CONTROL_PLANE, "default", "my-control-plane", lambda stored: stored.update(status=status))
