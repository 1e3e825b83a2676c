# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the role host asks of all hosts before one is changed."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from package_repository import PackageRepository
from private_host import PrivateHost
from stand_in_host import API, DNS, StandInHost


def test_a_host_without_root_keeps_all_from_being_changed(tmp_path: Path) -> None:
    """Ansible alone would drop that host and change the others."""
    local = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}
    hosts = {"fit": {**local, "ansible_become": False}, "rootless": {**local, "ansible_become_exe": "/bin/false"}}
    variables = {"host_kubernetes_version": "none", "host_kubernetes_repository": ""}
    role = {"name": "Ask", "import_role": {"name": "kubeadm.control_plane.host", "tasks_from": "preflight"}}
    after = {"name": "Go on", "debug": {"msg": "a host would be changed"}}
    play = {"name": "Ask", "hosts": "all", "gather_facts": False, "vars": variables, "tasks": [role, after]}
    (tmp_path / "play.yml").write_text(json.dumps([play]))
    (tmp_path / "hosts.yml").write_text(json.dumps({"all": {"hosts": hosts}}))
    words = ["ansible-playbook", "-i", str(tmp_path / "hosts.yml"), str(tmp_path / "play.yml")]
    environment = {**os.environ, "ANSIBLE_BECOME_ALLOW_SAME_USER": "true"}
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "Nothing was changed." in done.stdout and "rootless: " in done.stdout, done.stdout + done.stderr
    assert "a host would be changed" not in done.stdout


def test_relative_paths_are_meant_from_the_inventory_and_an_unknown_system_is_named(tmp_path: Path) -> None:
    """A playbook of the collection has a folder of its own, where a user puts no key; what no task file knows is refused by its name."""
    (tmp_path / "plays").mkdir()
    (tmp_path / "inventory/images").mkdir(parents=True)
    (tmp_path / "inventory/own.asc").write_text("the key")
    (tmp_path / "inventory/images/one.tar").touch()
    variables = {
        "host_kubernetes_repository": "http://127.0.0.1:9/",
        "host_kubernetes_repository_key": "own.asc",
        "host_kubernetes_repository_suite": "/",
        "host_kubernetes_repository_components": [],
        "host_repositories": [{"name": "other", "url": "http://127.0.0.1:9/", "key_file": "own.asc"}],
        "host_image_directory": "images",
        "host_kubernetes_version": "v1.20.2",
        "host_package_directory": "",
        "host_cgroup_driver": "",
        "host_kubelet_cgroup_driver": "",
        "host_packages_checked": {"skipped": True},
        "host_missing": [],
    }
    shown = {"debug": {"msg": "{{ host_all_repositories | map(attribute='key') | join(', ') }}; {{ host_archives }}"}}
    facts = {"set_fact": {"distribution": "Archlinux", "os_family": "Archlinux", "cacheable": True}}
    named = {"debug": {"msg": "{{ host_all_problems | join }}"}}
    role = str(Path(__file__).parents[2] / "roles/host/vars/main.yml")
    play = {"hosts": "all", "gather_facts": False, "vars_files": [role], "vars": variables}
    play["tasks"] = [shown, facts, named]
    (tmp_path / "plays/play.yml").write_text(json.dumps([play]))
    (tmp_path / "inventory/hosts.yml").write_text(json.dumps({"all": {"hosts": {"any": {}}}}))
    words = ["ansible-playbook", "-i", str(tmp_path / "inventory/hosts.yml"), str(tmp_path / "plays/play.yml")]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert f"the key, the key; ['{tmp_path}/inventory/images/one.tar']" in done.stdout, done.stdout + done.stderr
    assert "The distribution Archlinux is not known: hosts of Debian, Ubuntu and Red Hat's family" in done.stdout, (
        done.stdout + done.stderr
    )


@pytest.mark.full
@pytest.mark.skipif(os.geteuid() != 0, reason="apt and mounts need root")
@pytest.mark.skipif(shutil.which("apt-get") is None, reason="this host has no apt")
def test_archives_of_packages_are_enough_or_nothing_is_changed(tmp_path: Path) -> None:
    """They are brought to a host to find out; where one lacks something or has no room, they are gone from all before the play ends."""
    archives = PackageRepository(tmp_path)
    for name in ("kubeadm", "kubelet", "kubectl", "cri-tools", "a-runtime"):
        archives.pack(name, "1.20.2-1.1", {f"/opt/tests/{name}": "#!/bin/sh\n"})
    archives.write_digests()
    shutil.copytree(archives.folder, tmp_path / "damaged")
    os.truncate(tmp_path / "damaged/kubelet_1.20.2-1.1_all.deb", 500)
    (tmp_path / "damaged/kubectl_1.20.2-1.1_all.deb").unlink()
    local = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable, "ansible_become": False}
    python = tmp_path / "python"
    python.write_text(
        f'#!/bin/sh\ncase "$*" in *tempfile*) echo \'{{"failed": true, "msg": "No space left"}}\'; exit 1 ;; esac\nexec {sys.executable} "$@"\n'
    )
    python.chmod(0o755)
    hosts = {
        "fit": {**local, "host_packages": ["a-runtime"]},
        "unfit": {**local, "host_packages": ["no-runtime"]},
        "damaged": {**local, "host_packages": ["a-runtime"], "host_package_directory": "damaged"},
        "other": {**local, "host_packages": ["a-runtime"], "host_kubernetes_version": "v1.21.0"},
        "full": {**local, "host_packages": ["a-runtime"], "ansible_python_interpreter": str(python)},
    }
    variables = {
        "host_kubernetes_version": "v1.20.2",
        "host_kubernetes_repository": "",
    }
    for name in hosts:
        hosts[name] = {**variables, "host_package_directory": "repository", **hosts[name]}
    role = {"import_role": {"name": "kubeadm.control_plane.host", "tasks_from": "preflight"}}
    play = {"name": "Ask", "hosts": "all", "gather_facts": False, "tasks": [role]}
    (tmp_path / "play.yml").write_text(json.dumps([play]))
    (tmp_path / "hosts.yml").write_text(json.dumps({"all": {"hosts": hosts}}))
    host = PrivateHost(tmp_path)
    # What this machine has of these names is gone there alone.
    host.run("dpkg", "--purge", "--force-all", "kubeadm", "kubelet", "kubectl", "cri-tools")
    words = ["ansible-playbook", "--check", "-i", str(tmp_path / "hosts.yml"), str(tmp_path / "play.yml")]
    said = host.run(*words, check=False)
    assert "  unfit: " in said and "Unable to locate package no-runtime" in said and "  fit: " not in said, said
    assert "kubectl_1.20.2-1.1_all.deb is missing; kubelet_1.20.2-1.1_all.deb was cut or changed." in said, said
    # The folder on the host is gone by then.
    assert "No archive in host_package_directory repository has kubelet 1.21.0-*; they have 1.20.2-1.1." in said, said
    assert "  full: Archives of packages could not be brought to /var/tmp: No space left. See" in said, said
    assert "kubeadm-control-plane-" not in host.run("ls", "/var/tmp")


def test_images_and_packages_are_bundled_on_one_host_and_loaded_on_another(tmp_path: Path) -> None:
    """The tasks of the role, on a host whose programs are scripts and whose images are lines of a file."""
    host = StandInHost(tmp_path)
    if subprocess.run(["unshare", "--mount", "true"], capture_output=True, check=False).returncode:
        pytest.skip("a folder of its own needs root")
    host.has(API)
    variables = {
        "host_kubernetes_version": "v1.20.2",
        "host_images": {"criSocket": "/run/containerd/containerd.sock"},
        "host_image_directory": "images",
        "host_package_directory": "packages",
        "host_carries_cluster": False,
    }
    ours = {"name": "kubeadm.control_plane.host"}
    bundled = {"import_role": {**ours, "tasks_from": "bundle"}}
    loaded = {"import_role": {**ours, "tasks_from": "images"}}
    play = {"name": "Images", "hosts": "any", "gather_facts": False, "vars": variables}
    (tmp_path / "bundle.yml").write_text(json.dumps([{**play, "tasks": [bundled]}]))
    (tmp_path / "load.yml").write_text(json.dumps([{**play, "tasks": [loaded, loaded]}]))
    local = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}
    (tmp_path / "hosts.yml").write_text(json.dumps({"all": {"hosts": {"any": local}}}))
    ours_alone = "mkdir -p /var/lib/kubeadm-control-plane && mount -t tmpfs tmpfs /var/lib/kubeadm-control-plane && mount -t tmpfs tmpfs /var/tmp"
    words = f"ansible-playbook -i {tmp_path}/hosts.yml {tmp_path}"
    # An image can't be had, with which bundle ends.
    made = f'{ours_alone} && ! {words}/bundle.yml && [ -z "$(ls -A /var/tmp)" ] && truncate --size 0 {host.present} && {words}/load.yml'
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-ec", made], env=host.environment, capture_output=True, text=True, check=False
    )
    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    assert f"images has no archive of {DNS}: any doesn" in said and f"any still lacks {DNS}" in said
    # Again there is nothing to bring.
    assert (
        said.count("changed: [any] => (item=r.example.com_5000_kube-apiserver_v1.20.2.tar)") == 1
        and "changed=3 " in said
    )
    assert os.listdir(tmp_path / "images") == ["r.example.com_5000_kube-apiserver_v1.20.2.tar"]
    archives = {each.name: each.read_text() for each in (tmp_path / "packages").iterdir()}
    listed = {line.partition("  ")[2]: line[:64] for line in archives.pop("SHA256SUMS").splitlines()}
    assert sorted(archives) == ["containerd_1-1.6.20-1_all.deb", "kubelet_1.20.2-1.1_all.deb"]
    assert listed == {name: hashlib.sha256(text.encode()).hexdigest() for name, text in archives.items()}
    assert all("kubelet=1.20.2-1.1" in each and each.strip().endswith("procps") for each in archives.values()), archives
    assert host.present.read_text() == f"{API}\n"


@pytest.mark.parametrize("short", [True, False])
def test_archives_come_to_one_node_after_the_other_and_only_where_all_have_room(tmp_path: Path, short: bool) -> None:
    """What is short of room is said for all before any is copied. Those of images that a worker, or this version, doesn't need stay."""
    host = StandInHost(tmp_path)
    if subprocess.run(["unshare", "--mount", "true"], capture_output=True, check=False).returncode:
        pytest.skip("a folder of its own needs root")
    (tmp_path / "images").mkdir()
    wanted = ["own", "r.example.com_5000_coredns_1.7.0"]
    for name in (*wanted, "r.example.com_5000_coredns_1.6.9", "r.example.com_5000_kube-apiserver_v1.20.2"):
        (tmp_path / f"images/{name}.tar").write_text(f"{name}\n")
    variables = {
        "host_kubernetes_version": "v1.19.7",
        "host_stage_version": "v1.20.2",
        "host_images": {"criSocket": "/run/containerd/containerd.sock", "pull": False},
        "host_image_directory": "images",
        "host_carries_cluster": True,
    }
    role = {"import_role": {"name": "kubeadm.control_plane.host", "tasks_from": "images"}}
    play = {"name": "Images", "hosts": "all", "gather_facts": False, "vars": variables, "tasks": [role]}
    (tmp_path / "play.yml").write_text(json.dumps([play]))
    folder = "/var/lib/kubeadm-control-plane"
    python = tmp_path / "python"
    python.write_text(
        f'#!/bin/sh\nexec unshare --mount sh -ec \'mount -t tmpfs -o size=1536m tmpfs {folder} && exec {sys.executable} "$@"\' sh "$@"\n'
    )
    python.chmod(0o755)
    local = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}
    hosts = {"a": local, "b": {**local, "ansible_python_interpreter": str(python)} if short else local}
    (tmp_path / "hosts.yml").write_text(json.dumps({"all": {"hosts": hosts}}))
    made = f"mkdir -p {folder} && mount -t tmpfs -o size=8g tmpfs {folder}"
    words = f"{made} && ansible-playbook -i {tmp_path}/hosts.yml {tmp_path}/play.yml || true; ls -A {folder}"
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-ec", words], env=host.environment, capture_output=True, text=True, check=False
    )
    said, loaded = done.stdout, host.present.read_text().split()
    if short:
        room = "  b: 1.5 GiB are free on the file system of /var/lib/kubeadm-control-plane, and 2.1 GiB are needed."
        assert room in said and "  a: " not in said, said
        assert said.count("failed=1") == 2 and not loaded and said.endswith("\n\n"), said
        return
    assert loaded == wanted * 2, said
    brought = [
        re.findall(r"\[([ab])\] => \(item=own", each) for each in said.split("TASK [") if "Copy archives" in each
    ]
    assert brought == [["a"], ["b"]], said
    assert f"b still lacks {DNS}: no archive in images has it" in said, said
    assert "could not be pulled (nodeRegistration.imagePullPolicy is Never). Bring it before the upgrade." in said, said
