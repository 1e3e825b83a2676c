# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Mirrors of registries that the role host configures for containerd."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from private_host import PrivateHost
from role_on_a_host import of_role, played

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="mounts need root")
FOLDER = "/etc/containerd/certs.d"


def test_a_mirror_that_is_no_longer_named_is_removed_with_its_password(tmp_path: Path) -> None:
    """What others wrote stays, and a folder without a file of any registry is gone."""
    host, mirrors = PrivateHost(tmp_path), [{"url": "https://m.example.org", "credentials_file": "secret"}]
    (tmp_path / "secret").write_text("me:s3cret")
    tasks = [of_role("registries")]
    both = {"host_registries": [{"name": each, "mirrors": mirrors} for each in ("a.example.org:5000", "b.example.org")]}
    before, after = (
        {"tasks": tasks, "vars": each} for each in (both, {"host_registries": both["host_registries"][:1]})
    )
    host.run(
        "sh", "-c", f"mkdir -p {FOLDER}/own && echo 'server = \"https://o.example.org\"' > {FOLDER}/own/hosts.toml"
    )
    played(host, plays=[before])
    host.run("sh", "-c", f"echo own > {FOLDER}/own/ca.crt")
    assert host.run("sh", "-c", f"cd {FOLDER}; ls -d */*").split() == [
        "a.example.org:5000/hosts.toml",
        "b.example.org/hosts.toml",
        "own/ca.crt",
        "own/hosts.toml",
    ]
    kept = host.run("sh", "-c", f"cat {FOLDER}/*/hosts.toml")
    said = played(host, plays=[{**after, "check_mode": True}])
    assert " changed=1 " in said and host.run("sh", "-c", f"cat {FOLDER}/*/hosts.toml") == kept
    said = played(host, plays=[after, after])
    # The file and its folder, once.
    assert " changed=2 " in said and "s3cret" not in said, said
    assert host.run("ls", FOLDER).split() == ["a.example.org:5000", "own"]
    # With a certificate of the user's in it, the folder stays.
    host.run("sh", "-c", f"touch {FOLDER}/a.example.org:5000/ca.crt")
    played(host, plays=[{"tasks": tasks, "vars": {"host_registries": []}}])
    assert host.run("sh", "-c", f"cd {FOLDER}; ls -d */*").split() == [
        "a.example.org:5000/ca.crt",
        "own/ca.crt",
        "own/hosts.toml",
    ]
