# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Hosts that have Debian, Python and SSH and nothing of Kubernetes, and the repository that they can reach.

The images of the static pods are in containerd's folder already, in place of a registry that can be reached.
"""

from __future__ import annotations

import subprocess
import typing as t
from pathlib import Path

from host_pool import NETWORK, HostPool
from lab_kubernetes import CACHE, REQUESTS, VERSION
from package_repository import PackageRepository

from ansible_collections.kubeadm.control_plane.plugins.module_utils.nspawn.addresses import network_of
from ansible_collections.kubeadm.control_plane.plugins.module_utils.nspawn.file_operations import link, put
from ansible_collections.kubeadm.control_plane.plugins.module_utils.nspawn.image import debian, system_files
from ansible_collections.kubeadm.control_plane.plugins.module_utils.nspawn.image.crictl import CRICTL
from ansible_collections.kubeadm.control_plane.plugins.module_utils.nspawn.layout import Cache
from ansible_collections.kubeadm.control_plane.plugins.module_utils.nspawn.programs import Progress

# What a user of a local machine gives containerd: root there lacks what these need.
CRI = {"disable_apparmor": True, "restrict_oom_score_adj": True, "cni": {"max_conf_num": 1}}
OF_DEBIAN = ("containerd", "runc", "conntrack")
# What else the role asks of Debian by default; a machine has it.
_ON_MACHINES = ("iptables", "iproute2", "kmod", "procps")
_OF_KUBERNETES = ("kubelet", "containerd", "crictl")


class BareHosts(HostPool):
    """Machines without a container runtime and without anything of Kubernetes."""

    def image(self, version: str) -> dict[str, t.Any]:
        """An image with no more in it than what lets systemd run in a local machine."""
        found = super().image(version)
        layer = self.folder / "bare"
        for path, text, mode in system_files.image_files(""):
            if not any(each in path for each in _OF_KUBERNETES):
                put(str(layer), path, text, mode)
        for path, target in system_files.image_links():
            if not any(each in path for each in _OF_KUBERNETES):
                link(str(layer), path, target)
        return {
            **found,
            "name": "bare-debian",
            "lower": [str(layer), found["lower"][-1]],
            "programs": found["lower"][0],
        }

    def make(self, count: int, version: str = VERSION) -> list[str]:
        """Make so many more bare hosts and return their names."""
        names = super().make(count, version)
        for name in names:
            # The base of all local machines has them; the sources are of a mirror out of reach. The last is what the kubelet of a local machine needs.
            self.ssh(
                name,
                f"dpkg --purge {' '.join(OF_DEBIAN)} containernetworking-plugins && rm -f /etc/apt/sources.list && "
                f"printf '%s' '{system_files.KUBELET_DEFAULTS}' > /etc/default/kubelet",
            )
        return names

    def strip(self, name: str) -> None:
        """Make a prepared host bare again: without packages, images and repositories."""
        self.ssh(name, "ctr --namespace k8s.io images rm --sync $(ctr --namespace k8s.io images ls -q) > /dev/null")
        packages = ("kubeadm", "kubelet", "kubectl", "cri-tools", "kubernetes-cni", *OF_DEBIAN)
        self.ssh(
            name,
            f"dpkg --purge --force-hold {' '.join(packages)} && rm -rf /etc/apt/sources.list.d/* /var/lib/apt/lists/*",
        )

    def pull(self, name: str, image: str) -> str:
        """Pull an image on a host as the kubelet does, by containerd's CRI; return the answer's headers."""
        size = len(image)
        # gRPC over HTTP/2: the length of a message, then PullImageRequest with ImageSpec with the image's name.
        message = "".join(f"\\{each:03o}" for each in (0, 0, 0, 0, size + 4, 10, size + 2, 10, size))
        words = "curl --silent --show-error --max-time 300 --http2-prior-knowledge --unix-socket /run/containerd/containerd.sock"
        sent = "--header 'content-type: application/grpc' --header 'te: trailers' --data-binary @- --dump-header - --output /dev/null"
        return self.ssh(
            name,
            f"printf '{message}{image}' | {words} {sent} http://localhost/runtime.v1.ImageService/PullImage",
            timeout=330,
        )


def repository_of(hosts: BareHosts, *names: str, whole: bool = False) -> PackageRepository:
    """A repository with Kubernetes, built here and packed here, and with Debian's own containerd, and packages of these names.

    ``whole``: with all that they and the role's other packages depend on, as `bundle` asks for it.
    """
    made = PackageRepository(hosts.folder / "packages")
    base, cache = Path(hosts.image(VERSION)["lower"][-1]), Cache(CACHE)
    pack_kubernetes(made, hosts, VERSION)
    # A stand-in for crictl: Debian 12 has none.
    made.pack("cri-tools", "1.20.0-1.1", {"/usr/bin/crictl": CRICTL})
    plugins = {f"/opt/cni/bin/{each.name}": each for each in (base / "usr/lib/cni").iterdir()}
    made.pack("kubernetes-cni", "1.1.1-1.1", plugins)
    apt = debian.Apt(cache, debian.find_mirror(), Progress(str(hosts.folder / "apt.log")), REQUESTS[0].release)
    apt.update()
    for name in OF_DEBIAN:
        folder = hosts.folder / "debian"
        folder.mkdir(exist_ok=True)
        [package] = Path(apt.unpack(name, str(folder))).glob("*.deb")
        made.add(package)
    if whole:
        _add_of_debian(made, hosts.folder, Path("/dev/null"), (*OF_DEBIAN, *_ON_MACHINES, *names), REQUESTS[0].release)
    elif names:
        _add_of_debian(made, hosts.folder, base / "var/lib/dpkg/status", names)
    made.publish()
    return made


def pack_kubernetes(made: PackageRepository, hosts: BareHosts, version: str) -> None:
    """Pack a version of Kubernetes that was built here."""
    programs = Path(hosts.image(version)["programs"])
    for name in ("kubeadm", "kubelet", "kubectl"):
        files: dict[str, t.Union[str, Path]] = {f"/usr/bin/{name}": programs / "usr/bin" / name}
        if name == "kubelet":
            files["/lib/systemd/system/kubelet.service"] = system_files.KUBELET_UNIT
            files["/lib/systemd/system/kubelet.service.d/10-kubeadm.conf"] = system_files.KUBEADM_DROP_IN
        depends = {"kubeadm": "cri-tools, kubelet, kubectl", "kubelet": "kubernetes-cni, conntrack, iptables"}
        made.pack(name, f"{version.lstrip('v')}-1.1", files, depends.get(name, ""))


def repository_of_debian(folder: Path, base: Path, names: t.Sequence[str]) -> PackageRepository:
    """A repository with Debian's own packages, and those of their dependencies that a machine with that base lacks."""
    made = PackageRepository(folder / "packages")
    _add_of_debian(made, folder, base / "var/lib/dpkg/status", names)
    made.publish()
    return made


def _add_of_debian(
    made: PackageRepository, folder: Path, status: Path, names: t.Sequence[str], release: str = debian.SUITE
) -> None:
    """Add packages and what they depend on, but for what dpkg's status has."""
    apt = debian.Apt(Cache(CACHE), debian.find_mirror(), Progress(str(folder / "apt.log")), release)
    apt.update()
    # What the machine lacks, and not what this one does.
    archives, options = folder / "archives", ["--download-only", "--yes", "--no-install-recommends", "install"]
    (archives / "partial").mkdir(parents=True)
    places = [f"-oDir::State::status={status}", f"-oDir::Cache::archives={archives}"]
    subprocess.run(["apt-get", *apt._options, *places, *options, *names], check=True, capture_output=True)
    for archive in archives.glob("*.deb"):
        made.add(archive)


def address_of_controller() -> str:
    """The address that the hosts reach this machine at."""
    return str(network_of(*NETWORK).gateway)
