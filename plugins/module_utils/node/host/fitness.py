# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Fitness of a host as control plane machine, by kubeadm's preflight checks.

They are what an existing host must have and be, by the names that kubeadm gives its preflight checks.

Never stricter than the kubeadm of the wanted version (cmd/kubeadm/app/preflight): a host is refused here for what kubeadm would refuse it for
later, when it is claimed already.
"""

from __future__ import annotations

import os
import time
import typing as t
from dataclasses import dataclass, field

from ...common import guard, kubernetes_facts, settings
from ...common.kubernetes_versions import read_version
from ..bootstrap.image_check import Images
from . import host_facts, host_networks, missing_images, requirements
from .host_facts import HostPlaces

# What may be waived, by the names that kubeadm gives its preflight checks; ClusterNetwork is the Cluster's own field, and no check of kubeadm's.
IGNORABLE = ("Swap", "CRI", "Port-", "FileContent-", "FileExisting-", "ClusterNetwork")
# By kubeadm's name for what it does about them.
IMAGES = "ImagePull"
# This collection's own need, which no preflight error of kubeadm's stands for.
KUBECTL = "FileExisting-kubectl"
# kubeadm refuses them before its preflight checks, of which none stands for that.
RUNTIMES = "CRISocket"
DEFAULT_PORTS = (
    kubernetes_facts.DEFAULT_BIND_PORT,
    settings.KUBELET_PORT,
    *settings.HEALTH_PORTS.values(),
    *settings.ETCD_PORTS,
)


@dataclass(frozen=True)
class Missing:
    """Reason to refuse a host: the check's name, the finding, the remedy."""

    check: str
    message: str
    fix: str

    def document(self) -> dict[str, str]:
        """Return the reason with JSON names."""
        return {"check": self.check, "message": self.message, "fix": self.fix}


@dataclass(frozen=True)
class Wanted:
    """Requirements on a host.

    ``now`` is the controller's time in seconds since the epoch; ``known_machine_ids`` are those of other machines, by name;
    ``ca_cert_hash`` names the cluster that the host may already carry, "" for none. ``images``: those that have to be there or to be
    pulled; None to leave that out. Where ImagePull is ignored these are the static pods' alone. ``pods`` and ``services`` are the
    cluster's CIDR blocks; no address of the host may be in one, but where ``networks_in_use`` says that the cluster runs with them.
    """

    version: str
    ports: t.Sequence[int] = DEFAULT_PORTS
    cri_socket: str = ""
    address: str = ""
    towards: str = ""
    now: t.Optional[float] = None
    known_machine_ids: t.Mapping[str, str] = field(default_factory=dict)
    ca_cert_hash: str = ""
    ignore: t.Sequence[str] = ()
    images: t.Optional[Images] = None
    pods: t.Sequence[str] = ()
    services: t.Sequence[str] = ()
    networks_in_use: bool = False


def lacks(wanted: Wanted, places: HostPlaces) -> list[Missing]:
    """Return all reasons to refuse this host, [] where it is fit.

    Its ownership is checked elsewhere.
    """
    found = []
    if os.geteuid() != 0:
        text = f"the module runs as user {os.geteuid()}, not as root"
        found.append(Missing("IsPrivilegedUser", text, "Set ansible_become: true for the host in the inventory."))
    found += _identity(wanted, places) + _versions(wanted, places)
    address, no_address = host_facts.own_address(wanted.address, wanted.towards)
    if not wanted.ca_cert_hash:
        found += _kubeadm_needs(wanted, address, places) + _room(wanted, places)
    problem = host_facts.runtime_problem(places, wanted.cri_socket)
    if problem:
        fix = "Install and start a container runtime, or set nodeRegistration.criSocket."
        found.append(Missing("CRI", f"no container runtime answers ({problem})", fix))
    found += _single_runtime(wanted, places)
    if wanted.now is not None and abs(time.time() - wanted.now) > settings.CLOCK_SKEW_SECONDS:
        text = f"the clock is {time.time() - wanted.now:+.0f} s off the controller's, more than {settings.CLOCK_SKEW_SECONDS:.0f} s"
        found.append(Missing("ClockSkew", text, "Synchronise both clocks (chrony, systemd-timesyncd)."))
    if no_address:
        fix = "Configure the address, or name the host's own by the variable that addressVariable of the machine template names."
        found.append(Missing("Address", no_address, fix))
    found += _cluster_network(wanted)
    if wanted.images is not None and not any(each.check == "KubeadmVersion" for each in found):
        found += _images(wanted.images, wanted.ignore, places)
    return [each for each in found if not _waived(each.check, wanted.ignore)]


def _single_runtime(wanted: Wanted, places: HostPlaces) -> list[Missing]:
    if wanted.cri_socket or wanted.ca_cert_hash or read_version(wanted.version) is None:
        return []
    # Where dockershim is the default, kubeadm doesn't know cri-dockerd.
    unknown = "cri-dockerd.sock" if "dockershim" in kubernetes_facts.default_cri_socket(wanted.version) else ""
    there = [path for path in host_facts.runtimes(places) if os.path.basename(path) != unknown]
    if len(there) < 2:
        return []
    text = f"several container runtimes answer ({', '.join(there)}), and kubeadm doesn't choose"
    return [Missing(RUNTIMES, text, "Name one in nodeRegistration.criSocket, or remove the others.")]


def _cluster_network(wanted: Wanted) -> list[Missing]:
    blocks = {"pods": wanted.pods, "services": wanted.services}
    if wanted.ca_cert_hash or wanted.networks_in_use or not any(blocks.values()):
        return []
    own = host_networks.own_addresses()
    fix = (
        "Take a network that no host is in for spec.clusterNetwork of the Cluster: it can't be changed once there is a control plane. Where pods are "
        "to be in the hosts' own network, give ClusterNetwork in kubeadm.ignorePreflightErrors of the template."
    )
    found = []
    for name, each in blocks.items():
        for address, block in host_networks.within(own, each):
            text = f"{address} on {own[address]} is in {block}, clusterNetwork.{name}: other nodes would look for it among the cluster's {name}"
            found.append(Missing("ClusterNetwork", text, fix))
    return found


def _images(asked: Images, ignore: t.Sequence[str], places: HostPlaces) -> list[Missing]:
    where = missing_images.ImagePlaces(kubeadm=places.node.kubeadm)
    ignored = {name.lower() for name in ignore}
    lacking = missing_images.missing(asked, only_static_pods=bool(ignored & {IMAGES.lower(), "all"}), places=where)
    why = missing_images.out_of_reach(lacking, asked.pull, where)
    if not why:
        return []
    fix = "Load them: kubeadm config images pull where the registry can be reached, then ctr -n k8s.io images export and import."
    return [Missing(IMAGES, f"images are not there ({', '.join(lacking)}), and {why}", fix)]


def _waived(check: str, ignore: t.Sequence[str]) -> bool:
    ignored = {name.lower() for name in ignore}
    return (
        check not in (KUBECTL, RUNTIMES)
        and check.startswith(IGNORABLE)
        and (check.lower() in ignored or "all" in ignored)
    )


def _identity(wanted: Wanted, places: HostPlaces) -> list[Missing]:
    identity = guard.read_text(places.machine_id)
    if not identity:
        return [Missing("MachineID", f"{places.machine_id} is empty", "Run systemd-machine-id-setup.")]
    other = wanted.known_machine_ids.get(identity)
    if other:
        return [Missing("MachineID", guard.SAME_MACHINE_ID.format(other=other), guard.SAME_MACHINE_ID_FIX)]
    return []


def _versions(wanted: Wanted, places: HostPlaces) -> list[Missing]:
    found = []
    fix = f"Install {wanted.version} of kubeadm and kubelet, and kubectl."
    asked = (
        ("kubeadm", "KubeadmVersion", [places.node.kubeadm, "version", "-o", "short"]),
        ("kubelet", "KubeletVersion", [places.kubelet, "--version"]),
    )
    for name, check, words in asked:
        version = host_facts.version_of(words)
        if not version:
            found.append(Missing(check, f"{name} is not there or doesn't run", fix))
        elif version != wanted.version:
            found.append(Missing(check, f"{name} is {version}, and {wanted.version} is wanted", fix))
    if not host_facts.version_of([places.kubectl, "version", "--client", "-o", "yaml"]):
        found.append(Missing(KUBECTL, "kubectl is not there or doesn't run", fix))
    return found


def _kubeadm_needs(wanted: Wanted, address: str, places: HostPlaces) -> list[Missing]:
    if read_version(wanted.version) is None:
        # An unknown version's kubeadm says itself what it needs.
        return []
    found = []
    for name in requirements.host_programs(wanted.version):
        if not host_facts.program(name, places):
            fix = f"Install the package that has {name} (iproute2, iptables, util-linux, conntrack, cri-tools)."
            found.append(Missing(f"FileExisting-{name}", f"{name} is not there", fix))
    for name in requirements.host_sysctls(wanted.version, address, (*wanted.pods, *wanted.services)):
        value = host_facts.sysctl(name, places)
        if value != "1":
            check = f"FileContent--proc-sys-{name.replace('/', '-')}"
            text = f"{name.replace('/', '.')} is {value or 'not there'}, and has to be 1"
            bridge = "bridge" in name
            module = " with the module br_netfilter in /etc/modules-load.d" if bridge else ""
            now = "modprobe br_netfilter; sysctl --system" if bridge else "sysctl --system"
            found.append(Missing(check, text, f"Set it in /etc/sysctl.d{module}, and now: {now}."))
    return found


def _room(wanted: Wanted, places: HostPlaces) -> list[Missing]:
    found = []
    swap = host_facts.swap_devices(places)
    if swap:
        fix = "Run swapoff -a and take it out of /etc/fstab, or give Swap in kubeadm.ignorePreflightErrors of the template."
        found.append(Missing("Swap", f"swap is on: {', '.join(swap)}", fix))
    taken = host_facts.listening(places)
    for port in sorted(set(wanted.ports)):
        if port in taken:
            found.append(Missing(f"Port-{port}", f"something listens on port {port}", "Stop it, or take another host."))
    return found
