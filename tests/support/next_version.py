# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Another Kubernetes version put on running machines: its programs in a folder, its container images in containerd.

Both come from that version's machine image, whatever its source. Machines reach no registry, so a person of the real world would have
pulled what is brought here.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import typing as t
from pathlib import Path

from lab_kubernetes import CACHE, record

from ansible_collections.kubeadm.control_plane.plugins.module_utils.nspawn.image.container_images import short_name
from ansible_collections.kubeadm.control_plane.plugins.module_utils.nspawn.image.containerd import OUTSIDE
from ansible_collections.kubeadm.control_plane.plugins.module_utils.nspawn.image.kubernetes_source import (
    IMAGE_BINARIES,
    NODE_BINARIES,
)

FOLDER = "/opt/kubernetes"
# Where an Action finds the programs.
BINARIES = {"source": "files", "path": f"{FOLDER}/{{version}}"}
# Run in the image, beside its containerd's folder: each line of the list is a file's and an image's name.
EXPORT = r"""set -eu
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
printf 'version = 2\ndisabled_plugins = ["io.containerd.grpc.v1.cri"]\n' > /tmp/containerd.toml
containerd --config /tmp/containerd.toml --log-level warn &
until ctr version > /dev/null 2>&1; do sleep 0.1; done
while read -r file image; do ctr -n k8s.io images export "/mnt/$file" "$image"; done < /mnt/list
kill $!
wait $! || true
"""


class NextVersion:
    """One version, made once and put on as many machines as are to be upgraded to it."""

    def __init__(self, version: str) -> None:
        self.version = version
        self._record = record(version)
        self._folder = self._made()

    def put(self, ssh: t.Sequence[str], control_plane: bool = True) -> None:
        """Put it on a machine; ``ssh`` are the words that run a command there. A worker needs kube-proxy's image alone."""
        names = sorted(self._images) if control_plane else ["kube-proxy"]
        images = [f"images/{name}.tar" for name in names]
        target = f"{FOLDER}/{self.version}"
        unpack = f"mkdir -p {target} && tar -xf - -C {target} && cd {target}"
        load = f"for each in {' '.join(images)}; do ctr -n k8s.io images import $each && rm $each; done"
        with subprocess.Popen(
            ["tar", "-cf", "-", "-C", str(self._folder), *NODE_BINARIES, *images], stdout=subprocess.PIPE
        ) as sent:
            done = subprocess.run(
                [*ssh, f"{unpack} && {load}"],
                stdin=sent.stdout,
                capture_output=True,
                text=True,
                check=False,
                timeout=300,
            )
        assert done.returncode == 0, done.stderr[-2000:]

    @property
    def archives(self) -> Path:
        """The folder with an archive of each image."""
        return self._folder / "images"

    @property
    def _images(self) -> dict[str, str]:
        """The images of its control plane by their short names: another version may want another etcd and pause, too."""
        wanted = (*IMAGE_BINARIES, "etcd", "pause", "coredns")
        return {short_name(each): each for each in self._record["images"] if short_name(each) in wanted}

    def _made(self) -> Path:
        folder = Path(CACHE) / "upgrade" / Path(self._record["path"]).name
        if not folder.is_dir():
            folder.parent.mkdir(exist_ok=True)
            scratch = Path(tempfile.mkdtemp(dir=folder.parent, prefix="."))
            for name in NODE_BINARIES:
                shutil.copy2(Path(self._record["path"]) / "rootfs/usr/bin" / name, scratch / name)
            (scratch / "images").mkdir()
            self._export(scratch / "images")
            scratch.chmod(0o755)
            scratch.rename(folder)
        return folder

    def _export(self, target: Path) -> None:
        """Write the images' archives; the image's own folder is copied first, since containerd writes in it."""
        (target / "list").write_text("".join(f"{name}.tar {full}\n" for name, full in self._images.items()))
        (target / "inside.sh").write_text(EXPORT)
        with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
            containerd = Path(scratch) / "containerd"
            shutil.copytree(
                Path(self._record["path"]) / "containerd",
                containerd,
                symlinks=True,
                ignore=lambda path, names: ["snapshots"] if path.endswith("snapshotter.v1.overlayfs") else [],
            )
            paths = [os.path.join(scratch, each) for each in ("root", "upper", "work")]
            for each in paths:
                os.mkdir(each)
            root, upper, work = paths
            own = ["unshare", "--mount", "--propagation", "private", "--pid", "--fork", "--kill-child"]
            places = [root, ":".join(self._record["lower"]), upper, work, str(containerd), str(target)]
            subprocess.run([*own, "/bin/sh", "-c", OUTSIDE, "sh", *places], check=True, timeout=300)
        for each in ("list", "inside.sh"):
            (target / each).unlink()
