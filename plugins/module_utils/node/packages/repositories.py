# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Signed repositories of packages, and the files that describe them.

Source: sources.list(5); dnf.conf(5), "Repo options"; https://kubernetes.io/docs/setup/production-environment/tools/kubeadm/install-kubeadm/.
"""

from __future__ import annotations

import os
import re
import typing as t
from dataclasses import dataclass

from .packages import COMPANIONS, PROGRAMS, PackageManager

_NAME = re.compile(r"[a-z0-9][a-z0-9.-]*\Z")
_URL = re.compile(r"(https?|file)://\S+\Z")
_WORDS = re.compile(r"[^\s\[\]]+\Z")
_KEY = "-----BEGIN PGP PUBLIC KEY BLOCK-----"


@dataclass(frozen=True)
class Repository:
    """Signed repository of packages; ``key`` is the text of its OpenPGP key."""

    name: str
    url: str
    key: str
    suite: str = "/"
    components: tuple[str, ...] = ()

    def problems(self, manager: PackageManager) -> list[str]:
        """Return what is wrong with how it is described.

        An address with credentials is not shown.
        """
        if "@" in self.url:
            # Everybody on the host reads that file, and --diff shows it.
            return [
                f"The repository {self.name} has credentials in its address. Write the address without them, and {manager.CREDENTIALS}."
            ]
        found = []
        if not _NAME.match(self.name):
            found.append(f"The repository's name {self.name!r} is to be of lower case letters, digits, '.' and '-'.")
        if not _URL.match(self.url):
            found.append(f"The repository {self.name} has the address {self.url!r}, which is no URL of http or https.")
        if not all(_WORDS.match(each) for each in (self.suite, *self.components)):
            found.append(f"The repository {self.name} has a suite or component with blanks or brackets.")
        if not manager.SUITES and (self.suite != "/" or self.components):
            found.append(
                f"The repository {self.name} has a suite or components, which repositories of {manager.NAME} don't have."
            )
        if not self.key.lstrip().startswith(_KEY):
            found.append(
                f"The repository {self.name} has no key that begins with {_KEY}: an unsigned repository is not used. "
                "Give the file with its key, as text (gpg --armor --export)."
            )
        return found

    def files(self, manager: PackageManager, root: str) -> dict[str, str]:
        """Return its files' texts, by their paths from the root.

        They name its key below that root.
        """
        own = {"sources": self._of_apt, "repo": self._of_dnf}[manager.SOURCE_ENDING]
        key_path = manager.KEY.format(name=self.name)
        lines = own(os.path.join(root, key_path))
        return {
            key_path: self.key.strip() + "\n",
            f"{manager.SOURCES}/{self.name}.{manager.SOURCE_ENDING}": "\n".join([*lines, ""]),
        }

    def _of_apt(self, key: str) -> list[str]:
        lines = ["Types: deb", f"URIs: {self.url}", f"Suites: {self.suite}"]
        lines += [f"Components: {' '.join(self.components)}"] if self.components else []
        return [*lines, f"Signed-By: {key}"]

    def _of_dnf(self, key: str) -> list[str]:
        return [
            f"[{self.name}]",
            f"name={self.name}",
            f"baseurl={self.url}",
            "enabled=1",
            "gpgcheck=1",
            "repo_gpgcheck=1",
            "skip_if_unavailable=0",
            f"gpgkey=file://{key}",
            # What holds them: nothing but a person's --disableexcludes upgrades them.
            f"exclude={' '.join(HELD)}",
        ]


# kubernetes-cni comes with the kubelet.
HELD: t.Final = (*PROGRAMS, *COMPANIONS, "kubernetes-cni")
