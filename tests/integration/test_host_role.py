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
import tomllib
import yaml
from package_repository import PackageRepository
from private_host import PrivateHost
from role_on_a_host import of_role, played
from stand_in_host import API, DNS, StandInHost

from ansible_collections.kubeadm.control_plane.plugins.module_utils.node.bootstrap import leftovers
from ansible_collections.kubeadm.control_plane.plugins.module_utils.node.host.cgroup_drivers import (
    has_systemd_cgroups,
)

SYSCTL = "/usr/lib/systemd/systemd-sysctl"


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


def test_what_clusters_of_a_pool_want_differently_is_found_and_a_machine_has_its_own_clusters_images(
    tmp_path: Path,
) -> None:
    """What the playbook prepare takes from clusters that want the same version. The role refuses a free host of them."""
    playbooks = Path(__file__).parents[2] / "playbooks"
    playbook = yaml.safe_load((playbooks / "prepare.yml").read_text(encoding="utf-8"))
    [asked] = [each for each in playbook if "vars_files" in each]
    variables = {"vars": asked["vars"], "vars_files": [str(playbooks / "vars" / each) for each in asked["vars_files"]]}
    pools = {}
    for name, registry, driver, port in (("a", "a.example.org", "", 6443), ("b", "b.example.org", "cgroupfs", 7443)):
        wanted = {"kubernetes_version": "v1.20.2", "images": {"repository": registry}, "cgroup_driver": driver}
        rows = [{"name": "any", "machine": ""}, {"name": "node", "machine": "m" if name == "b" else ""}]
        pools[name] = {
            "host_names_to_prepare": ["any", "node"],
            "control_plane_hosts": {"wanted": {**wanted, "bind_port": port, "endpoint_port": port}, "hosts": rows},
            "machine_inventory_endpoint_role": "kubeadm.control_plane.endpoint_keepalived",
        }
    groups = {"control_planes": {"hosts": pools}, "pool": {"hosts": {"any": {}, "node": {}}}}
    file = tmp_path / "{{ inventory_hostname }}.json"
    said = {"copy": {"content": "{{ [host_images.repository, host_pools_differ] | to_json }}", "dest": str(file)}}
    play = {"hosts": "pool", "gather_facts": False, **variables, "tasks": [{**said, "delegate_to": "localhost"}]}
    (tmp_path / "play.yml").write_text(json.dumps([play]))
    (tmp_path / "hosts.yml").write_text(json.dumps({"all": {"children": groups}}))
    words = ["ansible-playbook", "-i", str(tmp_path / "hosts.yml"), str(tmp_path / "play.yml")]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads((tmp_path / "any.json").read_text()) == [
        "a.example.org",
        [
            "endpoint_port 6443 and 7443",
            'images {"repository": "a.example.org"} and {"repository": "b.example.org"}',
            'cgroup_driver "" and "cgroupfs"',
            "bind_port 6443 and 7443",
        ],
    ]
    assert json.loads((tmp_path / "node.json").read_text()) == ["b.example.org", []]


@pytest.mark.skipif(os.geteuid() != 0 or shutil.which("ip") is None, reason="mounts and networks need root and ip")
@pytest.mark.skipif(
    not (Path("/proc/sys/net/bridge").is_dir() and Path(SYSCTL).exists()),
    reason="no module br_netfilter, or no systemd",
)
def test_the_kernels_settings_hold_at_boot(tmp_path: Path) -> None:
    """Whatever else is in sysctl.d. IPv6 is forwarded where that was missing, and an interface still takes router advertisements."""
    host, name = PrivateHost(tmp_path), f"kernel-{os.getpid()}"
    within = ("ip", "netns", "exec", name)
    subprocess.run(["ip", "netns", "add", name], check=True)
    try:
        # Interfaces of a VLAN are called so.
        host.run(*within, "ip", "link", "add", "up.7", "type", "veth", "peer", "name", "down.7")
        for file in ("99-sysctl.conf", "hardening.conf"):
            host.run("sh", "-c", f"mkdir -p /etc/sysctl.d && echo net.ipv4.ip_forward = 0 > /etc/sysctl.d/{file}")
        play = {"tasks": [of_role("kernel")], "vars": {"host_missing": []}}
        played(host, *within, plays=[play])
        keys = (
            "ipv4/ip_forward",
            "ipv6/conf/default/forwarding",
            "ipv6/conf/all/forwarding",
            "ipv6/conf/up.7/accept_ra",
        )
        values = (*within, "cat", *(f"/proc/sys/net/{key}" for key in keys))
        assert host.run(*values).split() == ["1", "0", "0", "1"]
        missing = [{"check": "FileContent--proc-sys-net-ipv6-conf-default-forwarding"}]
        played(host, *within, plays=[{**play, "vars": {"host_missing": missing}}])
        assert host.run(*values).split() == ["1", "1", "1", "2"]
        assert " changed=0 " in played(host, *within, plays=[play])
        # As systemd does at boot.
        for key, value in zip(keys, ("0", "0", "0", "1")):
            host.run(*within, "sh", "-c", f"echo {value} > /proc/sys/net/{key}")
        host.run(*within, SYSCTL, "--prefix=/net/ipv4/ip_forward", "--prefix=/net/ipv6/conf")
        assert host.run(*values).split() == ["1", "1", "1", "2"]
    finally:
        subprocess.run(["ip", "netns", "delete", name], check=True)


@pytest.mark.skipif(os.geteuid() != 0, reason="mounts need root")
def test_a_host_with_remnants_is_named_with_what_it_carries_and_what_wipes_it(tmp_path: Path) -> None:
    """In the words of what would claim it, in check mode and by a second run as well; it is not prepared."""
    host, kept = PrivateHost(tmp_path), "/var/lib/kubeadm-control-plane/etcd-restore.json"
    host.run("sh", "-c", f"mkdir -p {os.path.dirname(kept)} && echo {{}} > {kept}")
    carries = host.module("host_claim_info")["carries"]
    assert carries["message"] == f"the host carries a cluster, or what one left: {kept}"
    assert leftovers.WIPE in carries["fix"]
    refused = host.module("host_claim", id="one", cluster="prod", machine="prod-a", kubernetes_version="v1.20.2")
    assert carries in refused["missing"], refused
    after = {"debug": {"msg": "carries: {{ host_carries_cluster }}"}}
    play = {"vars": {"host_kubernetes_version": "v1.20.2"}, "tasks": [of_role("preflight"), after]}
    said = played(host, plays=[{**play, "check_mode": mode} for mode in (True, False, False)])
    assert said.count(f"any is left alone: {carries['message']}. {carries['fix']}") == 3, said
    assert said.count("carries: True") == 3 and " changed=0 " in said, said


@pytest.mark.skipif(os.geteuid() != 0, reason="mounts need root")
def test_a_proxys_password_is_in_no_unit(tmp_path: Path) -> None:
    """systemd shows a unit's environment to every user: the file that it is read from is root's alone, and gone with the proxy."""
    host, folder = PrivateHost(tmp_path), "/etc/systemd/system/kubelet.service.d"
    proxy = """http://user:pa$s`w"o\\r'd@proxy.example.org:3128/%20"""
    host.run("sh", "-c", f"mkdir -p {folder}")
    host.run("sh", "-c", "printf '#!/bin/sh\n' > /usr/local/bin/systemctl && chmod 755 /usr/local/bin/systemctl")
    unit = {"host_unit": "kubelet", "host_handler": "Reload systemd"}
    play = {"tasks": [of_role("proxy")], "vars": {**unit, "host_http_proxy": proxy, "host_no_proxy": "a,b"}}
    said = played(host, plays=[play, play])
    assert " changed=2 " in said and "user:pa" not in said, said
    assert host.run("sh", "-c", f"stat --format %a:%n {folder}/*").split() == [
        f"644:{folder}/90-proxy.conf",
        f"600:{folder}/proxy.env",
    ]
    assert host.run("cat", f"{folder}/90-proxy.conf") == f"[Service]\nEnvironmentFile={folder}/proxy.env\n"
    # systemd reads it as a shell does, without putting in variables.
    assert host.run("sh", "-c", f'. {folder}/proxy.env && printf %s "$HTTP_PROXY $NO_PROXY"') == f"{proxy} a,b"
    played(host, plays=[{**play, "vars": unit}])
    assert host.run("ls", folder) == ""


def test_tables_of_containerd_are_toml(tmp_path: Path) -> None:
    """They are merged with the role's own, which win; what has no value is left out."""
    role = Path(__file__).parents[2] / "roles/host"
    tasks = yaml.safe_load((role / "tasks/containerd.yml").read_text(encoding="utf-8"))
    [variables] = [each["vars"] for each in tasks if each["name"] == "Configure containerd"]
    own = {
        "cni": {"bin_dir": "/usr/lib/cni", "conf_dir": None},
        "containerd": {"snapshotter": "native", "runtimes": {"runc": {"options": {"SystemdCgroup": False}}}},
        "max_container_log_line_size": -1,
        "sandbox_image": "other",
        "tables": [{"a.b": ["x", 'y"']}, {}],
    }
    given = {
        "host_containerd_cri": own,
        "host_sandbox_image": "r.example.com/pause:3.2",
        "host_cgroup_driver": "systemd",
    }
    written = {"template": {"src": str(role / "templates/config.toml.j2"), "dest": str(tmp_path / "config.toml")}}
    play = {"hosts": "localhost", "gather_facts": False, "vars": {**variables, **given}, "tasks": [written]}
    (tmp_path / "play.yml").write_text(json.dumps([play]))
    done = subprocess.run(["ansible-playbook", str(tmp_path / "play.yml")], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    runc = {"runtime_type": "io.containerd.runc.v2", "options": {"SystemdCgroup": True}}
    text = (tmp_path / "config.toml").read_text()
    assert has_systemd_cgroups(text) and not has_systemd_cgroups(text.replace("SystemdCgroup = true", ""))
    assert '\n  sandbox_image = "' in text
    assert tomllib.loads(text) == {
        "version": 2,
        "plugins": {
            "io.containerd.grpc.v1.cri": {
                "cni": {"bin_dir": "/usr/lib/cni"},
                "containerd": {"snapshotter": "native", "runtimes": {"runc": runc}},
                "max_container_log_line_size": -1,
                "registry": {"config_path": "/etc/containerd/certs.d"},
                "sandbox_image": "r.example.com/pause:3.2",
                "tables": [{"a.b": ["x", 'y"']}, {}],
            }
        },
    }


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
        "host_pools_differ": ["bind_port 6443 and 7443"],
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
    assert "want different hosts: bind_port 6443 and 7443. Name one of them with --limit" in done.stdout, done.stdout


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
    assert sorted(brought) == [["a"], ["b"]], said
    assert f"b still lacks {DNS}: no archive in images has it" in said, said
    assert "could not be pulled (nodeRegistration.imagePullPolicy is Never). Bring it before the upgrade." in said, said
