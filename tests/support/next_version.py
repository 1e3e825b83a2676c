# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Another Kubernetes version put on running machines: its programs in a folder, its container images in containerd.

It is the same source under another version stamp, from the cache in which the local provider's images are made. Machines reach no
registry, so a person of the real world would have pulled what is brought here.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import tempfile
import typing as t
from pathlib import Path

from host_pool import CACHE

from ansible_collections.kubeadm.control_plane.plugins.module_utils.nspawn.image import cache as image
from ansible_collections.kubeadm.control_plane.plugins.module_utils.nspawn.image import debian
from ansible_collections.kubeadm.control_plane.plugins.module_utils.nspawn.image.build import Request
from ansible_collections.kubeadm.control_plane.plugins.module_utils.nspawn.image.container_images import (
    make_archives,
    short_name,
)
from ansible_collections.kubeadm.control_plane.plugins.module_utils.nspawn.image.kubernetes_source import (
    IMAGE_BINARIES,
    NODE_BINARIES,
)
from ansible_collections.kubeadm.control_plane.plugins.module_utils.nspawn.layout import Cache

FOLDER = "/opt/kubernetes"
# Where an Action finds the programs.
BINARIES = {"source": "files", "path": f"{FOLDER}/{{version}}"}


class NextVersion:
    """One version, made once and put on as many machines as are to be upgraded to it."""

    def __init__(self, version: str) -> None:
        self.version = version
        self._folder = self._made()

    def put(self, ssh: t.Sequence[str], control_plane: bool = True) -> None:
        """Put it on a machine; ``ssh`` are the words that run a command there. A worker needs kube-proxy's image alone."""
        names = IMAGE_BINARIES if control_plane else ("kube-proxy",)
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

    def _made(self) -> Path:
        cache = Cache(CACHE)
        request = Request(image.image_name(self.version), self.version)
        record, _changed = image.ensure(cache, request, image.progress_of(cache, request))
        assert record["source"] == "debian-source", "only what is built here is there as programs of container images"
        [built] = [each for each in Path(cache.kubernetes).glob(f"*/bin-{self.version}") if each.is_dir()]
        key = hashlib.sha256(json.dumps([record["base"], built.stat().st_mtime_ns]).encode()).hexdigest()[:12]
        folder = Path(cache.directory) / "upgrade" / f"{self.version}@{key}"
        if not folder.is_dir():
            folder.parent.mkdir(exist_ok=True)
            scratch = Path(tempfile.mkdtemp(dir=folder.parent, prefix="."))
            for name in NODE_BINARIES:
                shutil.copy2(built / name, scratch / name)
            wanted = [each for each in record["images"] if short_name(each) in IMAGE_BINARIES]
            (scratch / "images").mkdir()
            base = os.path.join(cache.bases, record["base"])
            make_archives(wanted, str(built), base, _no_packages, str(scratch / "images"), debian.architecture())
            scratch.chmod(0o755)
            scratch.rename(folder)
        return folder


def _no_packages() -> t.Any:
    raise AssertionError("the images of these programs need no packages")
