# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where kubeadm's certificates are on a machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from ansible_collections.kubeadm.control_plane.plugins.module_utils.etcd.certificates_dir import certificates_dir

MANIFEST = "kubernetes/manifests/kube-apiserver.yaml"
NOTE, KUBELET = "state/certificates-dir", "kubelet/config.yaml"


@pytest.mark.parametrize(
    ("files", "found"),
    [
        ({}, "{here}/kubernetes/pki"),
        (
            {MANIFEST: "    - --kubelet-client-certificate={here}/a/apiserver-kubelet-client.crt\n", NOTE: "/b\n"},
            "{here}/a",
        ),
        # extraArgs may lead it elsewhere.
        ({MANIFEST: "    - --tls-cert-file=/tls/apiserver.crt\n"}, "{here}/kubernetes/pki"),
        ({MANIFEST: "    - --kubelet-client-certificate=/own/client.crt\n"}, "{here}/kubernetes/pki"),
        ({NOTE: "/b/\n", KUBELET: "    clientCAFile: /c/ca.crt\n"}, "/b"),
        # A restore has taken the manifests away.
        ({KUBELET: "    clientCAFile: {here}/c/ca.crt\n", "c/apiserver.crt": ""}, "{here}/c"),
        ({KUBELET: "    clientCAFile: {here}/c/ca.crt\n"}, "{here}/kubernetes/pki"),
        ({KUBELET: "    clientCAFile: {here}/c/ca.crt.old\n", "c/apiserver.crt": ""}, "{here}/kubernetes/pki"),
        ({NOTE: "pki"}, "{here}/kubernetes/pki"),
        ({NOTE: "/" + "x" * 5000}, "{here}/kubernetes/pki"),
        ({NOTE: "/x\x1b[2J"}, "{here}/kubernetes/pki"),
    ],
)
def test_the_folder_is_read_from_what_the_machine_has(tmp_path: Path, files: dict[str, str], found: str) -> None:
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.replace("{here}", str(tmp_path)))
    folders = (str(tmp_path / name) for name in ("kubernetes", "state", "kubelet"))
    assert certificates_dir(*folders) == found.replace("{here}", str(tmp_path))
