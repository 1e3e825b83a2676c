# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Paths of the provider's files on this host.

Paths and names only: nothing here touches the disk.

Everything that a machine or an endpoint needs lives below one directory, so that removing the directory after the
processes leaves no trace. Images live below another one, the cache, which outlives machines and clusters.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass

from .errors import NspawnError

DEFAULT_DIRECTORY = "/var/lib/kubeadm-control-plane/nspawn"
# Linux allows host names of 64 characters and Kubernetes Node names of 253; a DNS label fits both.
MACHINE_NAME = re.compile(r"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\Z")
IMAGE_NAME = re.compile(r"^[a-z0-9]([a-z0-9._-]{0,61}[a-z0-9])?\Z")


@dataclass(frozen=True)
class Layout:
    """Paths below the provider's directory."""

    directory: str

    @property
    def machines(self) -> str:
        """Folder that holds one folder for each machine."""
        return os.path.join(self.directory, "machines")

    @property
    def endpoints(self) -> str:
        """Folder that holds one folder for each cluster's endpoint."""
        return os.path.join(self.directory, "endpoints")

    @property
    def network(self) -> str:
        """File that records the bridge and its subnets."""
        return os.path.join(self.directory, "network.json")

    def lock(self, name: str) -> str:
        """Return the path of a lock file."""
        return os.path.join(self.directory, "locks", name)

    def machine(self, name: str) -> MachineLayout:
        """Return the paths of one machine.

        Raises:
            NspawnError: the name can't be a host name.
        """
        if not MACHINE_NAME.match(name):
            raise NspawnError(
                f"machine name {name!r}: it becomes a host name and a Node name. Nothing was done. Give 1 to 63 lower case letters, "
                "digits and '-', beginning and ending with a letter or a digit."
            )
        return MachineLayout(os.path.join(self.machines, name))

    def endpoint(self, namespace: str, cluster: str) -> EndpointLayout:
        """Return the paths of one cluster's endpoint."""
        for what, value in (("namespace", namespace), ("cluster", cluster)):
            if not MACHINE_NAME.match(value):
                raise NspawnError(
                    f"{what} {value!r} is not a DNS label; the endpoint's folder is named after it. Nothing was done. Choose another."
                )
        # An underscore can't occur in either part, so that no two clusters share a folder.
        return EndpointLayout(os.path.join(self.endpoints, f"{namespace}_{cluster}"))


@dataclass(frozen=True)
class MachineLayout:
    """Paths of one machine."""

    path: str

    @property
    def record(self) -> str:
        """File of the machine's record."""
        return os.path.join(self.path, "machine.json")

    @property
    def upper(self) -> str:
        """The overlay's upper folder: what differs from the image."""
        return os.path.join(self.path, "upper")

    @property
    def work(self) -> str:
        """The overlay's work folder."""
        return os.path.join(self.path, "work")

    @property
    def root(self) -> str:
        """Mount point of the machine's root file system (mounted in the machine's own mount namespace)."""
        return os.path.join(self.path, "root")

    @property
    def containerd(self) -> str:
        """The machine's ``/var/lib/containerd``."""
        return os.path.join(self.path, "containerd")

    @property
    def kubelet(self) -> str:
        """The machine's ``/var/lib/kubelet``."""
        return os.path.join(self.path, "kubelet")

    @property
    def etcd(self) -> str:
        """The machine's ``/var/lib/etcd``."""
        return os.path.join(self.path, "etcd")

    @property
    def console(self) -> str:
        """File of the machine's console output."""
        return os.path.join(self.path, "console.log")


@dataclass(frozen=True)
class EndpointLayout:
    """Paths of one cluster's endpoint."""

    path: str

    @property
    def record(self) -> str:
        """File of the endpoint's record."""
        return os.path.join(self.path, "endpoint.json")

    @property
    def config(self) -> str:
        """File of haproxy's configuration."""
        return os.path.join(self.path, "haproxy.cfg")

    @property
    def socket(self) -> str:
        """The admin socket of haproxy."""
        return os.path.join(self.path, "admin.sock")

    @property
    def log(self) -> str:
        """File of haproxy's output."""
        return os.path.join(self.path, "haproxy.log")


@dataclass(frozen=True)
class Cache:
    """Paths below the image cache."""

    directory: str

    @property
    def bases(self) -> str:
        """Folder of finished base root file systems, named by their ingredients."""
        return os.path.join(self.directory, "bases")

    @property
    def images(self) -> str:
        """Folder of finished images, named by image name and ingredients."""
        return os.path.join(self.directory, "images")

    @property
    def kubernetes(self) -> str:
        """Folder of Kubernetes source trees and their binaries."""
        return os.path.join(self.directory, "kubernetes")

    @property
    def apt(self) -> str:
        """Folder of apt's state for our own sources list.

        The host's apt state stays unchanged.
        """
        return os.path.join(self.directory, "apt")

    @property
    def logs(self) -> str:
        """Folder of build logs."""
        return os.path.join(self.directory, "logs")

    def lock(self, name: str) -> str:
        """Return the path of a lock file."""
        return os.path.join(self.directory, "locks", name)
