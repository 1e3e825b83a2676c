# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The SSH key of a cluster's machines, as ssh-keygen sees it."""

from __future__ import annotations

import base64
import shutil
import subprocess

import pytest

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.pki import certificates, ssh
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.pki.certificates import PkiError

SECRET = ("", "Secret")


def private(store):
    return base64.b64decode(store.get(SECRET, "default", "prod-ssh")["data"]["ssh-privatekey"]).decode()


def test_made_once(store, cluster, control_plane):
    assert ssh.public_key(store, cluster) is None
    public = ssh.ensure_ssh_key(store, cluster, control_plane)
    assert public.startswith("ssh-ed25519 ") and public.endswith(" default-prod")
    assert ssh.ensure_ssh_key(store, cluster, control_plane) == public
    assert public.startswith(ssh.public_key(store, cluster) + " ")
    secret = store.get(SECRET, "default", "prod-ssh")
    assert secret["type"] == "cluster.x-k8s.io/secret"
    assert secret["metadata"]["ownerReferences"][0]["name"] == "prod-cp"


def test_ssh_keygen_reads_it(store, cluster, control_plane, tmp_path):
    if shutil.which("ssh-keygen") is None:
        pytest.skip("ssh-keygen is not installed")
    public = ssh.ensure_ssh_key(store, cluster, None)
    path = tmp_path / "key"
    path.write_text(private(store))
    path.chmod(0o600)
    derived = subprocess.run(["ssh-keygen", "-y", "-f", path], capture_output=True, text=True, check=True).stdout
    assert derived.split()[:2] == public.split()[:2]


def test_a_users_own_key_is_used_untouched(store, cluster, control_plane, put_secret):
    mine = put_secret("prod-ssh", **{"ssh-privatekey": certificates.new_service_account().key})
    assert ssh.ensure_ssh_key(store, cluster, control_plane).startswith("ssh-rsa ")
    assert store.get(SECRET, "default", "prod-ssh") == mine


@pytest.mark.parametrize("values", [{}, {"ssh-privatekey": "hunter2"}, {"ssh-privatekey": ""}])
def test_what_is_no_key(store, cluster, control_plane, put_secret, values):
    put_secret("prod-ssh", **values)
    with pytest.raises(PkiError, match="Secret default/prod-ssh, key ssh-privatekey") as caught:
        ssh.ensure_ssh_key(store, cluster, control_plane)
    assert "hunter2" not in str(caught.value)
