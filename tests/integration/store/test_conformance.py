# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What every store promises, asked of the one in a real API server."""

from __future__ import annotations

import pytest
from store_promises import StorePromises

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.kubernetes.store import KubernetesStore


class TestKubernetesStore(StorePromises):
    """The Kubernetes store keeps the promises."""

    @pytest.fixture
    def store(self, kubernetes_store: KubernetesStore) -> KubernetesStore:
        return kubernetes_store
