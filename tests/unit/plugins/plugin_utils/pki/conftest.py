# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A store with a cluster in it, and openssl as the judge of what we make."""

from __future__ import annotations

import base64
import subprocess

import pytest

NOW = "2026-06-01T12:00:00Z"


@pytest.fixture
def store(tmp_path):
    # Imported here: a conftest is imported before pytest-ansible, where that is installed, sets up collections.
    from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.file.store import FileStore

    return FileStore(str(tmp_path / "store"))


@pytest.fixture
def cluster(store):
    return store.create(
        {
            "apiVersion": "cluster.x-k8s.io/v1beta2",
            "kind": "Cluster",
            "metadata": {"name": "prod", "namespace": "default"},
        }
    )


def make_control_plane(store, configuration=None, name="prod-cp"):
    return store.create(
        {
            "apiVersion": "controlplane.cluster.x-k8s.io/v1beta2",
            "kind": "KubeadmControlPlane",
            "metadata": {"name": name, "namespace": "default"},
            # Small keys of this kind are made in a millisecond.
            "spec": {
                "kubeadmConfigSpec": {
                    "clusterConfiguration": {"encryptionAlgorithm": "ECDSA-P256", **(configuration or {})}
                }
            },
        }
    )


@pytest.fixture
def control_plane(store):
    return make_control_plane(store)


@pytest.fixture
def another_control_plane(store):
    def make(configuration=None, name="other-cp"):
        return make_control_plane(store, configuration, name)

    return make


@pytest.fixture
def put_secret(store):
    def put(name, type="Opaque", owners=None, **values):
        data = {key.replace("_", "."): base64.b64encode(text.encode()).decode() for key, text in values.items()}
        metadata = {"name": name, "namespace": "default", **({"ownerReferences": owners} if owners else {})}
        return store.create({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": type, "data": data})

    return put


@pytest.fixture
def openssl():
    def run(*arguments, text=None):
        done = subprocess.run(
            ["openssl", *map(str, arguments)], input=text, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


@pytest.fixture
def now():
    return NOW
