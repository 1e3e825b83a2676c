# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The images that a manifest's version needs, beside the real kubeadm's list for the whole configuration."""

from __future__ import annotations

import subprocess
import typing as t
from pathlib import Path

import pytest
import yaml
from api_server import find_binary
from lab_kubernetes import version_of

from ansible_collections.kubeadm.control_plane.plugins.module_utils.common import kubernetes_versions
from ansible_collections.kubeadm.control_plane.plugins.module_utils.node.bootstrap.image_check import Images
from ansible_collections.kubeadm.control_plane.plugins.module_utils.node.host.missing_images import ImagePlaces, needed
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects.bootstrap_data import image_facts

KUBEADM = find_binary("kubeadm")
VERSION = version_of(KUBEADM) if KUBEADM else "v1.20.2"
pytestmark = pytest.mark.skipif(KUBEADM is None, reason="kubeadm is not on this machine")


@pytest.mark.parametrize(
    "configuration",
    [
        {},
        {"imageRepository": "mirror.example.com/k8s"},
        {"etcd": {"local": {"imageRepository": "mirror.example.com:5000/etcd", "imageTag": "3.4.14-0"}}},
        {"dns": {"imageRepository": "mirror.example.com", "imageTag": "1.7.1"}},
        {"imageRepository": "mirror.example.com", "dns": {"imageRepository": "k8s.gcr.io"}},
        {"imageRepository": "mirror.example.com", "etcd": {"external": {"endpoints": ["https://192.0.2.1:2379"]}}},
    ],
)
def test_the_images_are_kubeadms(tmp_path: Path, configuration: dict[str, t.Any]) -> None:
    api = kubernetes_versions.api_version_for(VERSION).api_version
    document = {"apiVersion": api, "kind": "ClusterConfiguration", "kubernetesVersion": VERSION}
    path = tmp_path / "kubeadm.yaml"
    path.write_text(yaml.safe_dump({**document, **configuration}))
    words = [str(KUBEADM), "config", "images", "list", "--config", str(path)]
    listed = subprocess.run(words, capture_output=True, text=True, check=True).stdout.split()
    facts = image_facts({"clusterConfiguration": configuration}, "init")
    found = needed(Images.read(VERSION, facts), ImagePlaces(kubeadm=str(KUBEADM)))
    assert sorted(found) == sorted(listed) and len(found) > 5
