# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import copy
import pathlib
from typing import Any, Callable

import pytest
import yaml

from ansible_collections.kubeadm.control_plane.plugins.module_utils.common.violations import ManifestError, Violation
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects.manifest.reader import (
    ClusterManifest,
    read_cluster,
)

EXAMPLES = pathlib.Path(__file__).parents[5] / "examples" / "manifests"

Documents = list[dict[str, Any]]


def _example(name: str) -> Documents:
    return [document for document in yaml.safe_load_all((EXAMPLES / name).read_text(encoding="utf-8")) if document]


@pytest.fixture
def examples() -> pathlib.Path:
    return EXAMPLES


@pytest.fixture
def documents() -> Documents:
    """The v1beta2 example: Cluster, KubeadmControlPlane, machine template, infrastructure cluster."""
    return copy.deepcopy(_example("cluster-v1beta2.yaml"))


@pytest.fixture
def classic() -> Documents:
    """The v1beta1 example, in the same order."""
    return copy.deepcopy(_example("cluster-v1beta1.yaml"))


@pytest.fixture
def read(tmp_path: pathlib.Path) -> Callable[..., ClusterManifest]:
    """Write documents to a file and read the cluster my-cluster from it."""

    def read_documents(documents: Documents, **options: Any) -> ClusterManifest:
        path = tmp_path / "manifest.yaml"
        path.write_text(yaml.safe_dump_all(documents, sort_keys=False), encoding="utf-8")
        return read_cluster([str(path)], "default", "my-cluster", **options)

    return read_documents


@pytest.fixture
def refused(read: Callable[..., ClusterManifest]) -> Callable[..., list[Violation]]:
    """The violations that reading the documents ends with ([] when they are accepted)."""

    def violations(documents: Documents, **options: Any) -> list[Violation]:
        try:
            read(documents, **options)
        except ManifestError as error:
            return list(error.violations)
        return []

    return violations
