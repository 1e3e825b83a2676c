# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A bare host for packages: real apt and dpkg in a root of their own, and a signed repository."""

from __future__ import annotations

import contextlib
import subprocess
import typing as t
from pathlib import Path

from package_repository import PackageRepository

from ansible_collections.kubeadm.control_plane.plugins.module_utils.node.packages import packages
from ansible_collections.kubeadm.control_plane.plugins.module_utils.node.packages.preparation import (
    Preparation,
    Wanted,
)
from ansible_collections.kubeadm.control_plane.plugins.module_utils.node.packages.repositories import Repository

OLD, NEW = "1.20.2-1.1", "1.21.0-1.1"
HELD = {"kubeadm", "kubelet", "kubectl", "cri-tools"}


class Host:
    """A root with nothing installed; apt and dpkg of this machine work on it, and on nothing else."""

    def __init__(self, root: Path) -> None:
        self.root = root
        for folder in (
            "etc/apt/sources.list.d",
            "etc/apt/preferences.d",
            "var/lib/dpkg/updates",
            "var/lib/dpkg/info",
            "var/cache/apt",
            "var/log/apt",
        ):
            (root / folder).mkdir(parents=True)
        (root / "var/lib/dpkg/status").touch()
        self.asked: list[str] = []
        # Read before this machine's own configuration, which is not read then.
        self.configuration = root.parent / "apt.conf"
        self.configuration.write_text(
            f'Dir "{root}";\nDir::State::status "{root}/var/lib/dpkg/status";\nDir::Bin::Methods "/usr/lib/apt/methods";\n'
            f'Dir::Bin::dpkg "/usr/bin/dpkg";\nAPT::Sandbox::User "root";\nAcquire::Retries "0";\nDPkg::Options {{ "--root={root}"; }};\n'
        )

    def run(self, words: t.Sequence[str]) -> subprocess.CompletedProcess[str]:
        """Run apt and dpkg as on that host."""
        self.asked.append(" ".join(words))
        if words[0] == "dpkg-query":
            return packages.run([words[0], f"--admindir={self.root}/var/lib/dpkg", *words[1:]])
        return packages.run([f"APT_CONFIG={self.configuration}", *words])

    def files(self) -> dict[str, bytes]:
        """Every file of the host."""
        return {str(path): path.read_bytes() for path in self.root.rglob("*") if path.is_file()}

    @property
    def preparation(self) -> Preparation:
        """What is tested, on this host."""
        return Preparation(packages.Apt(self.run, str(self.root)))


@contextlib.contextmanager
def repository_of_packages(folder: Path) -> t.Iterator[PackageRepository]:
    """Pack two versions of Kubernetes' programs, and runtimes, into a signed repository."""
    made = PackageRepository(folder)
    for version in (OLD, NEW):
        for name in ("kubeadm", "kubelet", "kubectl"):
            made.pack(
                name,
                version,
                {f"/usr/bin/{name}": f"#!/bin/sh\n# {version}\n"},
                "cri-tools" if name == "kubeadm" else "",
            )
    made.pack("cri-tools", "1.20.0-1.1", {"/usr/bin/crictl": "#!/bin/sh\n"})
    made.pack("containerd", "1.6.20-1", {"/usr/bin/containerd": "#!/bin/sh\n"})
    made.pack(
        "containerd.io",
        "1.7.0-1",
        {"/usr/bin/docker": "#!/bin/sh\n"},
        more="Provides: containerd\nConflicts: containerd\n",
    )
    made.publish()
    yield made
    made.stop()


def wanted(repository: PackageRepository, url: str, version: str = "v1.20.2", **more: t.Any) -> Wanted:
    """What the role asks for."""
    return Wanted(version, (Repository("kubernetes", url, repository.key.read_text()),), others=("containerd",), **more)
