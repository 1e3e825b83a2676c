# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Build of a machine image in a scratch folder."""

from __future__ import annotations

import json
import os
import shutil
import typing as t
from dataclasses import dataclass

from ..file_operations import link, put, remove_tree, write_json
from ..layout import Cache
from ..programs import Progress, run
from . import debian, kubernetes_directory, kubernetes_release, kubernetes_source
from .container_images import ETCD_PROGRAMS, make_archives, short_name
from .containerd import import_images
from .system_files import image_files, image_links, with_hook

RECORD = "image.json"


@dataclass(frozen=True)
class Request:
    """Request for a machine image.

    ``source`` is release, debian-source, directory or auto; ``release`` is Debian's.
    """

    name: str
    version: str
    source: str = "auto"
    binaries: str = ""
    mirror: t.Optional[str] = None
    release: str = debian.SUITE
    release_url: str = kubernetes_release.RELEASE_URL
    install_packages: bool = True


def assemble(cache: Cache, request: Request, source: str, reason: str, scratch: str, progress: Progress) -> None:
    """Build an image in an empty folder.

    It has a root file system layer, a containerd folder and a record.

    Raises:
        NspawnError: something is missing or failed; the folder is of no use then.
    """
    architecture = debian.architecture()
    given: t.Mapping[str, str] = {}
    if source == "directory":
        given = kubernetes_directory.examine(request.binaries, request.version, architecture).archives
    base = debian.ensure_base(cache, request.mirror, request.release, progress)
    rootfs, containerd, archives = (os.path.join(scratch, each) for each in ("rootfs", "containerd", "archives"))
    for folder in (rootfs, containerd, archives):
        os.makedirs(folder, mode=0o755)
    opened: dict[str, debian.Apt] = {}

    def apt(release: str = request.release) -> debian.Apt:
        if release not in opened:
            opened[release] = debian.Apt(cache, debian.find_mirror(request.mirror), progress, release)
            opened[release].update()
        return opened[release]

    facts: dict[str, t.Any] = {}
    warnings: list[str] = []
    if source == "release":
        binaries = kubernetes_release.download(cache, request.version, architecture, progress, request.release_url)
    elif source == "debian-source":
        built = kubernetes_source.build(cache, apt(debian.SUITE), request.version, progress)
        binaries = built.folder
        facts = {"treeVersion": built.tree_version, "debianVersion": built.debian_version}
        if built.tree_version != request.version:
            warnings.append(
                f"image {request.name} is Kubernetes {built.tree_version} built under the version stamp {request.version}: "
                f"it exercises an upgrade's path, it is not Kubernetes {request.version}"
            )
    else:
        binaries = request.binaries
    for name in kubernetes_source.NODE_BINARIES:
        _install(os.path.join(binaries, name), os.path.join(rootfs, "usr/bin", name))
    wanted = run(
        [os.path.join(rootfs, "usr/bin/kubeadm"), "config", "images", "list", "--kubernetes-version", request.version]
    ).stdout.split()
    for number, path in enumerate(sorted({given[image] for image in wanted if image in given})):
        shutil.copyfile(path, os.path.join(archives, f"given-{number}.tar"))
    made = [image for image in wanted if image not in given] if source != "release" else []
    if made:
        progress.say("making the container images")
        make_archives(made, _with_pause(binaries, made, scratch, progress), base, apt, archives, architecture)
    sandbox = next((each for each in wanted if short_name(each) == "pause"), "")
    _write_files(rootfs, sandbox)
    progress.say("importing the container images into a prepared containerd folder")
    imported = import_images([rootfs, base], containerd, archives, wanted if source == "release" else [], progress)
    missing = [each for each in wanted if each not in imported.images]
    put(rootfs, "/etc/containerd/base-spec.json", json.dumps(with_hook(json.loads(imported.spec))))
    for folder in (archives, os.path.join(scratch, "pause")):
        remove_tree(folder)
    if missing:
        warnings.append(f"image {request.name} has no container image {', '.join(missing)}: {_consequence(missing)}")
    write_json(
        os.path.join(scratch, RECORD),
        {
            "name": request.name,
            "kubernetesVersion": request.version,
            "source": source,
            "sourceReason": reason,
            "base": os.path.basename(base),
            "images": imported.images,
            "missingImages": missing,
            "kubeadm": kubeadm_needs(missing),
            "warnings": warnings,
            **facts,
        },
    )


def kubeadm_needs(missing: t.Sequence[str]) -> dict[str, list[str]]:
    """Return the phases to skip and preflight errors to ignore for kubeadm.

    A manifest for machines of the image has to name them.
    """
    needs: dict[str, list[str]] = {"skipPhases": [], "ignorePreflightErrors": []}
    if any(short_name(image) == "coredns" for image in missing):
        needs["skipPhases"].append("addon/coredns")
    if missing:
        needs["ignorePreflightErrors"].append("ImagePull")
    return needs


def _consequence(missing: t.Sequence[str]) -> str:
    if [short_name(image) for image in missing] == ["coredns"]:
        return "the manifest has to skip kubeadm's phase addon/coredns and to ignore the preflight error ImagePull"
    return "kubeadm would have to pull them, which a machine can't"


def _install(origin: str, target: str) -> None:
    os.makedirs(os.path.dirname(target), exist_ok=True)
    shutil.copyfile(origin, target)
    os.chmod(target, 0o755)


def _with_pause(binaries: str, images: t.Sequence[str], scratch: str, progress: Progress) -> str:
    """Return a folder with the binaries, and pause where it is needed.

    Nothing is written to the user's own folder.
    """
    if os.path.exists(os.path.join(binaries, "pause")) or "pause" not in map(short_name, images):
        return binaries
    folder = os.path.join(scratch, "pause")
    os.makedirs(folder)
    for name in (*kubernetes_source.IMAGE_BINARIES, *ETCD_PROGRAMS):
        if os.path.exists(os.path.join(binaries, name)):
            os.symlink(os.path.abspath(os.path.join(binaries, name)), os.path.join(folder, name))
    kubernetes_source.compile_pause(folder, progress)
    return folder


def _write_files(rootfs: str, sandbox_image: str) -> None:
    for path, text, mode in image_files(sandbox_image):
        put(rootfs, path, text, mode)
    for path, target in image_links():
        link(rootfs, path, target)
