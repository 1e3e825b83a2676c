# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Machine images: built once, cached, found by name. An image is a folder that gets its name only when it is complete."""

from __future__ import annotations

import glob
import hashlib
import json
import os
import shutil
import tempfile
import typing as t
from dataclasses import dataclass

from ansible_collections.kubeadm.control_plane.plugins.module_utils.nspawn import debian, kubernetes_release, kubernetes_source
from ansible_collections.kubeadm.control_plane.plugins.module_utils.nspawn.errors import NspawnError
from ansible_collections.kubeadm.control_plane.plugins.module_utils.nspawn.files import link, locked, put, read_json, remove_tree, write_json
from ansible_collections.kubeadm.control_plane.plugins.module_utils.nspawn.host import ensure_packages
from ansible_collections.kubeadm.control_plane.plugins.module_utils.nspawn.image_contents import make_archives, short_name
from ansible_collections.kubeadm.control_plane.plugins.module_utils.nspawn.image_files import image_files, image_links, with_hook
from ansible_collections.kubeadm.control_plane.plugins.module_utils.nspawn.image_import import import_images
from ansible_collections.kubeadm.control_plane.plugins.module_utils.nspawn.layout import IMAGE_NAME, Cache
from ansible_collections.kubeadm.control_plane.plugins.module_utils.nspawn.run import Progress, run

SOURCES = ("release", "debian-source", "directory")
# Raise it when the same files would give another image.
RECIPE = "2"
RECORD = "image.json"


@dataclass(frozen=True)
class Request:
    """The image that is wanted. ``source`` is one of SOURCES or ``auto``."""

    name: str
    version: str
    source: str = "auto"
    binaries: str = ""
    mirror: t.Optional[str] = None
    release_url: str = kubernetes_release.RELEASE_URL
    install_packages: bool = True


def image_name(version: str) -> str:
    """Return the name of the image of a Kubernetes version when nobody gave it one."""
    return f"kubernetes-{version}"


def request_of(params: t.Mapping[str, t.Any], name: str, version: str) -> Request:
    """Return the request in a module's parameters (source, binaries, mirror, release_url, install_packages)."""
    return Request(
        name=name,
        version=version,
        source=str(params["source"]),
        binaries=str(params["binaries"] or ""),
        mirror=params["mirror"],
        release_url=str(params["release_url"]),
        install_packages=bool(params["install_packages"]),
    )


def progress_of(cache: Cache, request: Request) -> Progress:
    """Return the log of an image's builds."""
    return Progress(os.path.join(cache.logs, f"image-{request.name}.log"))


def find(cache: Cache, name: str) -> t.Optional[dict[str, t.Any]]:
    """Return the newest complete image of a name (its record, with ``path`` and ``lower``), or None."""
    found = sorted(glob.glob(os.path.join(cache.images, f"{glob.escape(name)}@*", RECORD)), key=os.path.getmtime)
    return _load(cache, os.path.dirname(found[-1])) if found else None


def names(cache: Cache) -> list[str]:
    """Return the names of all complete images."""
    return sorted({os.path.basename(os.path.dirname(path)).rpartition("@")[0] for path in glob.glob(os.path.join(cache.images, "*@*", RECORD))})


def _load(cache: Cache, path: str) -> t.Optional[dict[str, t.Any]]:
    record = read_json(os.path.join(path, RECORD))
    if record is None:
        return None
    lower = [os.path.join(path, "rootfs"), os.path.join(cache.bases, str(record["base"]))]
    return {**record, "path": path, "lower": lower}


def key(request: Request, source: str) -> str:
    """Return what an image is named after besides its name: the same ingredients give the same key."""
    files = sorted(image_files("")) + [(*each, 0) for each in image_links()]
    ingredients: list[t.Any] = [RECIPE, request.version, source, debian.base_key(debian.architecture()), files]
    if source == "directory":
        ingredients.append(_listing(request.binaries))
    return hashlib.sha256(json.dumps(ingredients).encode()).hexdigest()[:12]


def _listing(folder: str) -> list[tuple[str, int, int]]:
    if not os.path.isdir(folder):
        raise NspawnError(f"source directory: there is no folder {folder!r}. Set machine_nspawn_binaries to the folder with the binaries.")
    found = []
    for path, _, files in os.walk(folder):
        for name in files:
            status = os.stat(os.path.join(path, name))
            found.append((os.path.relpath(os.path.join(path, name), folder), status.st_size, status.st_mtime_ns))
    return sorted(found)


def cached(cache: Cache, request: Request) -> t.Optional[dict[str, t.Any]]:
    """Return the complete image that fits a request, without asking the network anything; None where there is none."""
    if not IMAGE_NAME.match(request.name):
        raise NspawnError(f"image name {request.name!r}: use 1 to 63 lower case letters, digits, '.', '_' and '-'.")
    kubernetes_source.linker_flags(request.version)
    for source in ("release", "debian-source") if request.source == "auto" else (request.source,):
        path = os.path.join(cache.images, f"{request.name}@{key(request, source)}")
        record = _load(cache, path)
        if record is not None and os.path.isdir(record["lower"][-1]):
            return record
    return None


def resolve_source(request: Request) -> tuple[str, str]:
    """Return the source to use and, for people, why.

    Raises:
        NspawnError: the source asked for by name can't be reached.
    """
    if request.source == "directory":
        return "directory", f"binaries from {request.binaries}"
    if request.source == "debian-source":
        return "debian-source", "built from Debian's source package, as asked"
    why = kubernetes_release.unreachable(request.release_url)
    if not why:
        return "release", f"published binaries from {request.release_url}"
    if request.source == "auto":
        return "debian-source", f"built from Debian's source package, since {request.release_url} does not answer ({why})"
    raise NspawnError(
        f"image {request.name}: the source release was asked for, but {request.release_url} does not answer within "
        f"{kubernetes_release.PROBE_SECONDS:.0f} s ({why}). Nothing was built. Use debian-source (built here, needs only Debian's mirrors), "
        "directory (your own files), or auto (release where it answers, else debian-source)."
    )


def ensure(cache: Cache, request: Request, progress: Progress) -> tuple[dict[str, t.Any], bool]:
    """Return the image that fits a request and whether it had to be built.

    Raises:
        NspawnError: it can't be built; says at which step and where the log is.
    """
    record = cached(cache, request)
    if record is not None:
        return record, False
    source, reason = resolve_source(request)
    if request.install_packages:
        ensure_packages(kubernetes_source.BUILD_PACKAGES if source != "release" else (), progress)
    name = f"{request.name}@{key(request, source)}"
    with locked(cache.lock(f"image-{name}"), debian.BUILD_LOCK_SECONDS, progress.say):
        record = cached(cache, request)
        if record is not None:
            return record, False
        progress.say(f"image {request.name}, Kubernetes {request.version}: {reason}")
        os.makedirs(cache.images, mode=0o755, exist_ok=True)
        for leftover in glob.glob(os.path.join(cache.images, f".{name}.*")):
            remove_tree(leftover)
        scratch = tempfile.mkdtemp(dir=cache.images, prefix=f".{name}.")
        try:
            os.chmod(scratch, 0o755)
            _assemble(cache, request, source, reason, scratch, progress)
            os.rename(scratch, os.path.join(cache.images, name))
        except BaseException:
            shutil.rmtree(scratch, ignore_errors=True)
            raise
    record = cached(cache, request)
    if record is None:
        raise NspawnError(f"image {request.name} was built and is not there: something else removes files from {cache.images}.")
    progress.say(f"image {request.name} ready: {record['path']}")
    return record, True


def _assemble(cache: Cache, request: Request, source: str, reason: str, scratch: str, progress: Progress) -> None:
    architecture = debian.architecture()
    base = debian.ensure_base(cache, request.mirror, progress)
    rootfs, containerd, archives = (os.path.join(scratch, each) for each in ("rootfs", "containerd", "archives"))
    for folder in (rootfs, containerd, archives):
        os.makedirs(folder, mode=0o755)
    opened: list[debian.Apt] = []

    def apt() -> debian.Apt:
        if not opened:
            opened.append(debian.Apt(cache, debian.find_mirror(request.mirror), progress))
            opened[0].update()
        return opened[0]

    facts: dict[str, t.Any] = {}
    warnings: list[str] = []
    if source == "release":
        binaries = kubernetes_release.download(cache, request.version, architecture, progress, request.release_url)
    elif source == "debian-source":
        built = kubernetes_source.build(cache, apt(), request.version, progress)
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
    wanted = run([os.path.join(rootfs, "usr/bin/kubeadm"), "config", "images", "list", "--kubernetes-version", request.version]).stdout.split()
    if source == "debian-source" or (source == "directory" and not _given_archives(binaries, archives)):
        progress.say("making the container images")
        make_archives(wanted, _with_pause(binaries, scratch, progress), base, apt, archives, architecture)
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
    """Return what a manifest has to say to kubeadm on machines of an image: phases to skip, preflight errors to ignore."""
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
    if not os.path.isfile(origin):
        raise NspawnError(f"{origin} is missing. The folder of the source directory needs kubeadm, kubelet and kubectl.")
    os.makedirs(os.path.dirname(target), exist_ok=True)
    shutil.copyfile(origin, target)
    os.chmod(target, 0o755)


def _given_archives(binaries: str, archives: str) -> bool:
    found = glob.glob(os.path.join(binaries, "images", "*.tar"))
    for path in found:
        shutil.copy2(path, archives)
    return bool(found)


def _with_pause(binaries: str, scratch: str, progress: Progress) -> str:
    """Return a folder that has the binaries and pause; the user's own folder gets nothing written to it."""
    if os.path.exists(os.path.join(binaries, "pause")):
        return binaries
    folder = os.path.join(scratch, "pause")
    os.makedirs(folder)
    for name in kubernetes_source.IMAGE_BINARIES:
        if os.path.exists(os.path.join(binaries, name)):
            os.symlink(os.path.abspath(os.path.join(binaries, name)), os.path.join(folder, name))
    kubernetes_source.compile_pause(folder, progress)
    return folder


def _write_files(rootfs: str, sandbox_image: str) -> None:
    for path, text, mode in image_files(sandbox_image):
        put(rootfs, path, text, mode)
    for path, target in image_links():
        link(rootfs, path, target)


def remove(cache: Cache, name: str, used_by: t.Sequence[str]) -> bool:
    """Remove every image of a name; return whether there was one.

    Raises:
        NspawnError: machines use it.
    """
    found = glob.glob(os.path.join(cache.images, f"{glob.escape(name)}@*"))
    if found and used_by:
        raise NspawnError(f"image {name} is in use by the machines {', '.join(used_by)}: their root file systems need it. Delete them first.")
    for path in found:
        with locked(cache.lock(f"image-{os.path.basename(path)}"), debian.BUILD_LOCK_SECONDS):
            doomed = tempfile.mkdtemp(dir=cache.images, prefix=f".{os.path.basename(path)}.")
            os.rename(path, os.path.join(doomed, "image"))
            remove_tree(doomed)
    return bool(found)
