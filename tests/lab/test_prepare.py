# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Bare hosts become members of a pool, and a control plane: real Debian, real apt with a signed repository, Debian's containerd."""

from __future__ import annotations

import base64
import contextlib
import json
import socket
import typing as t
from pathlib import Path

import pytest
import yaml
from bare_hosts import CRI, BareHosts, address_of_controller, pack_kubernetes, repository_of
from host_pool import GROUP, NETWORK, pool_documents
from lab_kubernetes import CACHE, NEXT, image_named, record, upgrades
from mirror_behind_proxy import PASSWORD, USER, MirrorBehindProxy
from next_version import NextVersion
from package_repository import PackageRepository
from workspace import Run, Workspace, cluster_documents

from ansible_collections.kubeadm.control_plane.plugins.module_utils.nspawn.image import debian
from ansible_collections.kubeadm.control_plane.plugins.module_utils.nspawn.layout import Cache
from ansible_collections.kubeadm.control_plane.plugins.module_utils.nspawn.programs import Progress

pytestmark = pytest.mark.full

NAME = "lab-prepare"
STATE = "dpkg-query --show | sha256sum; find /etc /usr/bin -newer /root/.ssh/authorized_keys -type f -exec sha256sum {} + | sort | sha256sum; cat /proc/swaps"
HELD = ["cri-tools", "kubeadm", "kubectl", "kubelet"]
# As a careful person has it: nothing but ssh.
NFTABLES = """\
flush ruleset
table inet filter {
  chain input {
    type filter hook input priority 0; policy drop;
    ct state established,related accept
    iif lo accept
    tcp dport 22 accept
  }
}
"""
WANTED, KEPT_OUT = (6443, 2380, 10250), (10257, 8080)


class Lab:
    """Two bare hosts, their repository, and a cluster that is to be made of them."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self.hosts = BareHosts(workspace.folder, "bare")
        self.repository: t.Optional[PackageRepository] = None

    def make(self) -> None:
        """Make hosts and repository, and write what a user writes."""
        [self.first, self.second] = self.hosts.make(2)
        self.repository = repository_of(self.hosts, "nftables", whole=True)
        variables = {
            "host_kubernetes_repository": self.repository.serve(address_of_controller()),
            "host_kubernetes_repository_key": str(self.repository.key),
            "host_containerd_cri": CRI,
        }
        self.inventory = self.hosts.inventory(variables=variables)
        # What the kubelet of a local machine has, whatever kubeadm of this version sets by default (bare_hosts.py).
        registration = {"kubeletExtraArgs": [{"name": "cgroup-driver", "value": "cgroupfs"}]}
        kubeadm = {f"{kind}Configuration": {"nodeRegistration": registration} for kind in ("init", "join")}
        documents = cluster_documents(NAME, replicas=1, kubeadm=kubeadm)
        needs = {**self.hosts.needs, "skipPhases": ["addon/coredns", "addon/kube-proxy"]}
        pool_documents(documents, {"group": GROUP, "kubeadm": needs}, self.hosts.addresses[self.first])
        self.workspace.write(NAME, yaml.safe_dump_all(documents, sort_keys=False))

    def play(self, playbook: str, *more: str) -> Run:
        """Run a playbook with both inventories."""
        return self.workspace.playbook(playbook, "-i", str(self.inventory), *more, timeout=1800)

    def prepare(self, **variables: t.Any) -> Run:
        """Prepare the hosts with these variables."""
        return self.play("prepare", "--diff", "-e", json.dumps(variables))

    @contextlib.contextmanager
    def mirror(self) -> t.Iterator[MirrorBehindProxy]:
        """Run a registry and a proxy on this machine."""
        apt = debian.Apt(Cache(CACHE), debian.find_mirror(), Progress(str(self.hosts.folder / "apt.log")))
        apt.update()
        (self.hosts.folder / "mirror").mkdir()
        program = Path(apt.unpack("docker-registry", str(self.hosts.folder / "mirror"))) / "usr/bin/docker-registry"
        made = MirrorBehindProxy(program, self.hosts.folder / "mirror/registry", address_of_controller())
        try:
            yield made
        finally:
            made.stop()

    def images(self, name: str) -> set[str]:
        """The images that a host has."""
        return set(self.hosts.ssh(name, "ctr --namespace k8s.io images ls -q").split())

    def answered(self, name: str) -> list[int]:
        """The ports of a host that a connection is accepted at, of those that the tests listen at."""
        found = []
        for port in (*WANTED, *KEPT_OUT):
            # What is dropped has no answer; a port where nothing listened would refuse.
            with contextlib.suppress(TimeoutError), socket.create_connection((self.hosts.addresses[name], port), 10):
                found.append(port)
        return found


@pytest.fixture(scope="module")
def lab(workspace: Workspace) -> t.Iterator[Lab]:
    """Bare hosts."""
    made = Lab(workspace)
    try:
        made.make()
        yield made
        if workspace.store.is_dir():
            made.play("delete", "-e", f"control_plane_delete={NAME}")
    finally:
        if made.repository:
            made.repository.stop()
        made.hosts.remove()


def test_what_is_wrong_on_one_host_leaves_all_as_they_are(lab: Lab) -> None:
    """Swap that comes back, cgroup drivers that differ: said of every host at once. Check mode changes nothing either."""
    lab.hosts.ssh(
        lab.second,
        "printf '[Service]\\nExecStart=/bin/true\\n[Install]\\nWantedBy=multi-user.target\\n' > /etc/systemd/system/zramswap.service",
    )
    lab.hosts.ssh(lab.second, "systemctl enable zramswap.service")
    before = [lab.hosts.ssh(name, STATE) for name in (lab.first, lab.second)]
    said = lab.play("prepare", "-e", "host_cgroup_driver=systemd").failed().text
    assert f"{lab.first}: The cgroup drivers differ" in said
    assert f"{lab.second}: The cgroup drivers differ" in said
    assert "Swap comes back at boot by a service" in said
    lab.hosts.ssh(lab.second, "systemctl disable zramswap.service")
    foreseen = lab.play("prepare", "--check", "--diff")
    assert "kubeadm is not there" in foreseen.failed().text
    assert foreseen.recap(lab.first)["failed"] == 0
    assert [lab.hosts.ssh(name, STATE) for name in (lab.first, lab.second)] == before


def test_bare_hosts_lack_nothing_afterwards(lab: Lab) -> None:
    """The packages at exactly that version, held; what comes back at boot does not; a copied host has a machine-id of its own. A second run changes nothing."""
    lab.hosts.ssh(lab.first, "echo '/dev/sdz9 none swap sw 0 0' > /etc/fstab")
    identity = lab.hosts.ssh(lab.first, "cat /etc/machine-id")
    lab.hosts.ssh(lab.second, f"echo {identity.strip()} > /etc/machine-id")
    done = lab.play("prepare").succeeded()
    assert done.text.count("is free and lacks nothing") == 2
    assert lab.hosts.ssh(lab.first, "cat /etc/machine-id") == identity
    renewed = lab.hosts.ssh(lab.second, "cat /etc/machine-id")
    assert len(bytes.fromhex(renewed)) == 16 and renewed != identity
    assert lab.hosts.ssh(lab.first, "cat /etc/fstab") == "# /dev/sdz9 none swap sw 0 0\n"
    assert lab.hosts.ssh(lab.first, "apt-mark showhold").split() == HELD
    again = lab.play("prepare").succeeded()
    assert [again.recap(name)["changed"] for name in (lab.first, lab.second)] == [0, 0]


def test_images_are_pulled_through_a_proxy_and_a_mirror(lab: Lab) -> None:
    """As the kubelet pulls, from a registry that isn't there; the mirror's password is in no output, and in a file that root alone reads."""
    (lab.hosts.folder / "mirror.credentials").write_text(f"{USER}:{PASSWORD}\n")
    with lab.mirror() as mirror:
        pause = image_named("pause")
        push = f"ctr --namespace k8s.io images push --plain-http --user {USER}:{PASSWORD} {mirror.registry}/pause:lab {pause}"
        lab.hosts.ssh(lab.first, push)
        entry = {"url": mirror.url, "credentials_file": "mirror.credentials"}
        done = lab.prepare(
            host_http_proxy=mirror.proxy,
            host_no_proxy="10.222.0.0/24",
            host_registries=[{"name": "registry.lab.example", "mirrors": [entry]}],
        ).succeeded()
        secrets = (PASSWORD, base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode())
        assert not any(each in done.output for each in secrets)
        for name in (lab.first, lab.second):
            containerd = lab.hosts.ssh(name, "cat /proc/$(systemctl show -P MainPID containerd)/environ").split("\0")
            for each in (f"HTTP_PROXY={mirror.proxy}", "NO_PROXY=10.222.0.0/24"):
                assert each in containerd
            # Every user is shown a unit's environment.
            for unit in ("containerd", "kubelet"):
                read = f"/etc/systemd/system/{unit}.service.d/proxy.env"
                shown = lab.hosts.ssh(name, f"systemctl show -p Environment -p EnvironmentFiles {unit}")
                assert mirror.proxy not in shown and read in shown
                assert lab.hosts.ssh(name, f"stat --format '%a %U' {read}") == "600 root\n"
            file = "/etc/containerd/certs.d/registry.lab.example/hosts.toml"
            assert lab.hosts.ssh(name, f"stat --format '%a %U' {file}") == "600 root\n"
        said = lab.hosts.pull(lab.second, "registry.lab.example/pause:lab")
        assert "registry.lab.example/pause:lab" in lab.hosts.ssh(lab.second, "ctr --namespace k8s.io images ls -q"), (
            said
        )
        manifest = f"{mirror.url}/v2/pause/manifests/lab?ns=registry.lab.example"
        assert (manifest, 200) in mirror.asked


def test_nftables_is_opened_for_what_a_control_plane_needs(lab: Lab) -> None:
    """Without being asked to it is only named. What else listens stays out of reach; nftables' own restart keeps both so."""
    lab.hosts.ssh(
        lab.second,
        "apt-get install --yes nftables && "
        f"echo '{NFTABLES}' > /etc/nftables.conf && systemctl enable nftables && systemctl restart nftables",
        timeout=300,
    )
    ports = " ".join(f"--socket-property=ListenStream={each}" for each in (*WANTED, *KEPT_OUT))
    assert f"{lab.second} has a firewall (nftables). These have to be open: tcp 6443" in lab.prepare().succeeded().text
    lab.hosts.ssh(lab.second, f"systemd-run --unit=lab-listens {ports} sleep infinity")
    assert lab.answered(lab.second) == []
    lab.hosts.ssh(lab.second, "systemctl stop lab-listens.socket")
    lab.prepare(host_firewall_open=True, host_firewall_networks=[NETWORK[1]]).succeeded()
    lab.hosts.ssh(lab.second, f"systemd-run --unit=lab-listens {ports} sleep infinity")
    assert lab.answered(lab.second) == list(WANTED)
    lab.hosts.ssh(lab.second, "systemctl restart nftables")
    assert lab.answered(lab.second) == list(WANTED)
    lab.hosts.ssh(lab.second, "systemctl stop lab-listens.socket lab-listens.service")


def test_archives_alone_prepare_a_host(lab: Lab) -> None:
    """What `bundle` wrote on one host is what another without repository and registry gets; the table lacks nothing. Again it changes nothing."""
    # What a build of this Kubernetes has no image of is to be there, too.
    for image in record()["missingImages"]:
        lab.hosts.ssh(lab.first, f"ctr --namespace k8s.io images tag {image_named('pause')} {image}")
    folders = {"host_image_directory": "images", "host_package_directory": "packages-of-bundle"}
    lab.play("bundle", "-e", json.dumps(folders)).succeeded()
    lab.hosts.strip(lab.second)
    alone = {"host_kubernetes_repository": "", **folders}
    lab.prepare(**alone).succeeded()
    again = lab.prepare(**alone).succeeded()
    assert [again.recap(name)["changed"] for name in (lab.first, lab.second)] == [0, 0]
    assert lab.play("check_hosts").succeeded().text.count("is free and lacks nothing") == 2
    assert lab.hosts.ssh(lab.second, "apt-mark showhold").split() == HELD
    assert lab.hosts.ssh(lab.second, "ls /etc/apt/sources.list.d /var/tmp").count("kube") == 0
    assert set(record()["images"]) <= lab.images(lab.second)


def test_one_command_makes_a_control_plane_of_them(lab: Lab) -> None:
    """Its endpoint is the host's own address. Again it changes nothing: neither the host that carries it, nor the free one, nor the cluster."""
    lab.play("site").succeeded()
    assert "HEALTHY" in lab.play("status").succeeded().text
    again = lab.play("site").succeeded()
    assert [again.recap(name)["changed"] for name in (lab.first, lab.second, NAME)] == [0, 0, 0]


@upgrades
def test_packages_and_images_for_an_upgrade_come_to_the_node_alone(lab: Lab) -> None:
    """What it runs stays as it is, and so does the free host. Again it changes nothing."""
    assert lab.repository is not None
    pack_kubernetes(lab.repository, lab.hosts, NEXT)
    lab.repository.publish()
    # What a build of this Kubernetes has no image of.
    for image in record(NEXT)["missingImages"]:
        lab.hosts.ssh(lab.first, f"ctr --namespace k8s.io images tag --force {image_named('pause')} {image}")
    before = [lab.hosts.ssh(name, STATE) for name in (lab.first, lab.second)]
    staged = {"host_stage_version": NEXT, "host_image_directory": str(NextVersion(NEXT).archives)}
    done = lab.prepare(**staged).succeeded()
    assert done.recap(lab.first)["changed"] > 1 and done.recap(lab.second)["changed"] == 0
    assert set(record(NEXT)["images"]) <= lab.images(lab.first)
    assert [lab.hosts.ssh(name, STATE) for name in (lab.first, lab.second)] == before
    recorded = lab.hosts.ssh(lab.first, "cat /var/cache/kubeadm-control-plane/packages/staged.json")
    assert json.loads(recorded)["packages"] == dict.fromkeys(
        ("kubeadm", "kubelet", "kubectl"), f"{NEXT.lstrip('v')}-1.1"
    )
    again = lab.prepare(**staged).succeeded()
    assert [again.recap(name)["changed"] for name in (lab.first, lab.second)] == [0, 0]


@upgrades
def test_an_upgrade_of_what_is_staged_needs_no_network(lab: Lab) -> None:
    """The repository is gone, and the host reaches nothing but who asks it. Kubelet, kubeadm and API have the new version."""
    assert lab.repository is not None
    lab.repository.stop()
    lab.hosts.ssh(
        lab.first,
        f"iptables -I OUTPUT -d {address_of_controller()} -m conntrack --ctstate NEW -j REJECT && ! curl --silent --max-time 10 {address_of_controller()}",
    )
    lab.play(
        "action", "-e", json.dumps({"operator_action": "up", "operator_spec": {"upgrade": {"targetVersion": NEXT}}})
    ).succeeded()
    kubectl = "kubectl --kubeconfig /etc/kubernetes/admin.conf"
    [node] = json.loads(lab.hosts.ssh(lab.first, f"{kubectl} get nodes -o json"))["items"]
    assert node["status"]["nodeInfo"]["kubeletVersion"] == NEXT
    assert json.loads(lab.hosts.ssh(lab.first, f"{kubectl} version -o json"))["serverVersion"]["gitVersion"] == NEXT
    assert lab.hosts.ssh(lab.first, "kubeadm version -o short").strip() == NEXT
    assert lab.hosts.ssh(lab.first, "apt-mark showhold").split() == HELD
    assert "packages" not in lab.hosts.ssh(lab.first, "ls /var/cache/kubeadm-control-plane")
    assert "HEALTHY" in lab.play("status").succeeded().text
