# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What network plugins leave in kubeconfigs on a node."""

from __future__ import annotations

import base64
import json
from pathlib import Path

from ansible_collections.kubeadm.control_plane.plugins.module_utils.node.certificates import plugin_kubeconfigs

PEM = "-----BEGIN CERTIFICATE-----\nMTIz\n-----END CERTIFICATE-----\n"
TOKEN = "eyJhbGciOiJSUzI1NiIsImtpZCI6Im9sZCJ9.e30.c2ln"
CALICO = f"""\
# Kubeconfig file for Calico CNI plugin. Installed by calico/node.
apiVersion: v1
kind: Config
clusters:
- name: local
  cluster:
    server: https://[10.96.0.1]:443
    certificate-authority-data: "{base64.b64encode(PEM.encode()).decode()}"
users:
- name: calico
  user:
    token: "{TOKEN}"
"""


def test_the_files_of_plugins(tmp_path: Path) -> None:
    (tmp_path / "calico-kubeconfig").write_text(CALICO)
    (tmp_path / "10-calico.conflist").write_text(json.dumps({"name": "k8s", "plugins": [{"type": "calico"}]}))
    (tmp_path / "multus.d").mkdir()
    (tmp_path / "multus.d" / "multus.kubeconfig").write_text(f"users:\n- user:\n    token: {TOKEN}\n")
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "gone").symlink_to("/nowhere")
    assert plugin_kubeconfigs.read(str(tmp_path)) == [
        {"path": str(tmp_path / "calico-kubeconfig"), "tokens": [TOKEN], "authorities": PEM},
        {"path": str(tmp_path / "multus.d" / "multus.kubeconfig"), "tokens": [TOKEN], "authorities": ""},
    ]


def test_a_node_without_any(tmp_path: Path) -> None:
    assert plugin_kubeconfigs.read(str(tmp_path / "none")) == []
