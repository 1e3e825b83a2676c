# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The playbook images where several clusters have one pool."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import yaml

HOSTS = ["free", "of-a", "of-b"]


def test_images_are_asked_for_by_each_hosts_own_cluster(tmp_path: Path) -> None:
    """The playbook images, of two clusters: a machine has one of them, a free host can't say for both. No kubeadm here is of their versions."""
    playbooks = Path(__file__).parents[2] / "playbooks"
    [play] = [
        each for each in yaml.safe_load((playbooks / "images.yml").read_text(encoding="utf-8")) if "vars_files" in each
    ]
    play["vars_files"] = [str(playbooks / "vars" / each) for each in play["vars_files"]]
    local = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable, "ansible_become": False}
    clusters = {}
    for name, version in (("a", "v1.99.1"), ("b", "v1.99.2")):
        wanted = {"kubernetes_version": version, "images": {}, "cgroup_driver": "", "bind_port": 6443}
        rows = [{"name": each, "machine": f"m-{each}" if each == f"of-{name}" else ""} for each in HOSTS]
        found = {"hosts": rows, "wanted": {**wanted, "endpoint_port": 0}}
        clusters[name] = {"host_names_of_pool": HOSTS, "control_plane_hosts": found}
    groups = {"control_planes": {"hosts": clusters}, "pool": {"hosts": dict.fromkeys(HOSTS, local)}}
    first = {"name": "Find the hosts", "hosts": "control_planes", "gather_facts": False}
    (tmp_path / "play.yml").write_text(json.dumps([first, play]))
    (tmp_path / "hosts.yml").write_text(json.dumps({"all": {"children": groups}}))
    words = ["ansible-playbook", "-i", str(tmp_path / "hosts.yml"), str(tmp_path / "play.yml")]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    text = " ".join(done.stdout.split())
    assert "Clusters of this pool want v1.99.1 and v1.99.2." in text and "free was not asked." in text, done.stdout
    for version in ("v1.99.1", "v1.99.2"):
        assert f"No host can say which images {version} needs" in text, done.stdout
