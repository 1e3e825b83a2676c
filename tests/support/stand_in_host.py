# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A host whose programs are scripts, and whose images are lines of a file."""

from __future__ import annotations

import os
from pathlib import Path

API, DNS = "r.example.com:5000/kube-apiserver:v1.20.2", "r.example.com:5000/coredns:1.7.0"
KUBEADM = f"[ $1 = version ] && echo v1.20.2 || printf '%s\\n' {API} {DNS}"
# An archive is a line, too.
CTR = """
shift 3
case $1 in
    list) cat $HOST/present ;;
    import) cat $2 >> $HOST/present ;;
    export) echo $3 > $2 ;;
esac
"""
DPKG_QUERY = "for name in kubeadm kubelet kubectl cri-tools; do echo $name 1.20.2-1.1 installed hold; done"
# It notes in the archives what it was told.
APT_GET = """
for each in "$@"; do case $each in Dir::Cache=*) folder=${each#*=}/archives ;; update) exit ;; esac; done
for each in kubelet_1.20.2-1.1 containerd_1%3a1.6.20-1; do echo "$*" > "$folder/${each}_all.deb"; done
"""


class StandInHost:
    """Programs that come first in PATH, and what containerd has."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.present = folder / "present"
        self.environment = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}", "HOST": str(folder)}
        self.has()
        for name, body in (
            ("kubeadm", KUBEADM),
            ("ctr", CTR),
            ("dpkg-query", DPKG_QUERY),
            ("apt-get", APT_GET),
        ):
            self.program(name, body)

    def program(self, name: str, body: str) -> None:
        """Put a program there."""
        (self.folder / name).write_text(f"#!/bin/sh\n{body}\n")
        (self.folder / name).chmod(0o755)

    def has(self, *images: str) -> None:
        """Have these images."""
        self.present.write_text("".join(f"{each}\n" for each in images))
