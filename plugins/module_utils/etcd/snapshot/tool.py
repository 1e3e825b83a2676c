# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Etcd's own tool, run from the image of the node's etcd.

Nodes have none of their own. Why: docs/architecture.md, "etcd's own tool".
containerd's ``ctr`` mounts the image; the tool runs in it as root's child with a mount and a network namespace of its own,
so that nothing is left when it ends and it reaches nothing but one folder. No container is made.
"""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import typing as t
from dataclasses import dataclass

from ...common import settings, timed_command
from ...common.guard import NodeError, read_text

MANIFEST = "/etc/kubernetes/manifests/etcd.yaml"
# etcdutl works on files since etcd 3.5; etcdctl's restore is deprecated there and gone in 3.6.
# Source: docs/reference/kubeadm.md, "Restoring etcd".
TOOLS = ("etcdutl", "etcdctl")
_FOLDERS = ("usr/local/bin", "usr/bin", "bin", "")
_PATH = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
# The folder of the image where the tool finds the files that it works on.
_INSIDE = "kubeadm-control-plane"
_SCRIPT = 'mount --bind "$1" "$2/$3" && root=$2 && shift 3 && exec chroot "$root" "$@"'
_CTR = ("ctr", "--namespace", "k8s.io", "images")


class NoTool(Exception):
    """Missing tool of etcd's: none can be run here; says why."""


@dataclass(frozen=True)
class Tool:
    """Tool that can be run.

    ``words`` are what its arguments are put behind, ``inside`` is the folder as it sees it.
    """

    name: str
    words: tuple[str, ...]
    inside: str

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run the tool to its end.

        Raises NodeError where it can't be started or takes too long.
        """
        return timed_command.run([*self.words, *arguments], seconds=settings.SNAPSHOT_SECONDS)


# Gives a tool for the time of a ``with``; the argument is the folder whose files it is to work on. Raises NoTool.
ToolSource = t.Callable[[str], "contextlib.AbstractContextManager[Tool]"]


def etcd_image(manifest: str = MANIFEST) -> str:
    """Return the image of this node's etcd, from its static pod manifest.

    "" where there is none.
    """
    found = re.search(r"^\s*(?:- )?image:\s*[\"']?([^\s\"'#]+)", read_text(manifest), re.MULTILINE)
    return found.group(1) if found else ""


@contextlib.contextmanager
def image_tool(folder: str, manifest: str = MANIFEST) -> t.Iterator[Tool]:
    """Mount the image of the node's etcd, and give its tool.

    For the time of the ``with``.

    Args:
        folder: an existing folder; the image is mounted at ``<folder>.image``.
        manifest: the static pod's manifest.

    Raises:
        NoTool: no image, no containerd, or no tool in the image that runs.
    """
    image = etcd_image(manifest)
    if not image:
        raise NoTool(f"{manifest} names no image: this node's etcd is not a static pod of kubeadm's")
    root = f"{folder}.image"
    release(folder)
    os.makedirs(root, mode=0o700, exist_ok=True)
    try:
        done = _ctr("mount", "--rw", image, root)
        if done.returncode != 0:
            raise NoTool(f"containerd did not mount {image}: {_last_line(done)}")
        yield _find(image, root, folder)
    finally:
        release(folder)


def release(folder: str) -> None:
    """Unmount the image that :func:`image_tool` mounted beside a folder.

    Also one that a killed call left. No error if there is none.
    """
    root = f"{folder}.image"
    if not os.path.isdir(root):
        return
    with contextlib.suppress(NoTool):
        _ctr("unmount", "--rm", root)
    # Only an empty folder goes: where the mount is still there, it is the image's own files that are in it.
    with contextlib.suppress(OSError):
        os.rmdir(root)


def _find(image: str, root: str, folder: str) -> Tool:
    os.makedirs(os.path.join(root, _INSIDE), mode=0o700, exist_ok=True)
    reasons = []
    for name in TOOLS:
        path = next((f"/{place}/{name}" for place in _FOLDERS if os.path.isfile(os.path.join(root, place, name))), "")
        if not path:
            reasons.append(f"{image} holds no {name}")
            continue
        shell = ("sh", "-c", _SCRIPT, "sh", folder, root, _INSIDE)
        words = ("unshare", "--mount", "--net", "env", "-i", _PATH, "ETCDCTL_API=3", *shell, path)
        tool = Tool(name, words, f"/{_INSIDE}")
        try:
            done = tool.run("version")
        except NodeError as error:
            raise NoTool(f"{name} can't be run from {image}: {error}") from error
        if done.returncode == 0:
            return tool
        reasons.append(f"{name} of {image} does not run: {_last_line(done)}")
    raise NoTool("; ".join(reasons))


def _ctr(*arguments: str) -> subprocess.CompletedProcess[str]:
    try:
        return timed_command.run([*_CTR, *arguments], seconds=settings.IMAGE_MOUNT_SECONDS)
    except NodeError as error:
        raise NoTool(f"etcd's image can only be mounted with containerd's ctr: {error}") from error


def _last_line(done: subprocess.CompletedProcess[str]) -> str:
    lines = (done.stderr or done.stdout).strip().splitlines()
    return lines[-1][:300] if lines else f"exit status {done.returncode}"
