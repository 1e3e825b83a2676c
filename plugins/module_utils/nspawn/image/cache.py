# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Cache of machine images: built once, found by name.

An image is a folder that gets its name only when it is complete.
"""

from __future__ import annotations

import glob
import hashlib
import json
import os
import shutil
import tempfile
import typing as t

from ...common import settings
from .. import processes
from ..errors import NspawnError
from ..file_operations import locked, read_json, remove_tree
from ..host import ensure_packages
from ..layout import IMAGE_NAME, Cache
from ..programs import Progress
from . import debian, kubernetes_directory, kubernetes_release, kubernetes_source
from .build import RECORD, Request, assemble
from .system_files import image_files, image_links

# Raise it when the same files would give another image.
RECIPE = "3"


def image_name(version: str) -> str:
    """Return the default image name of a Kubernetes version."""
    return f"kubernetes-{version}"


def request_of(params: t.Mapping[str, t.Any], name: str, version: str) -> Request:
    """Return the image request in a module's parameters (those of an image's build)."""
    return Request(
        name=name,
        version=version,
        source=str(params["source"]),
        binaries=str(params["binaries"] or ""),
        mirror=params["mirror"],
        release=str(params["debian_release"] or debian.SUITE),
        release_url=str(params["release_url"]),
        install_packages=bool(params["install_packages"]),
    )


def progress_of(cache: Cache, request: Request) -> Progress:
    """Return the log of an image's builds."""
    return Progress(os.path.join(cache.logs, f"image-{request.name}.log"))


def find(cache: Cache, name: str) -> t.Optional[dict[str, t.Any]]:
    """Return the image of a name that was wanted last.

    None without one that is complete.

    It is the image's record, with ``path`` and ``lower``.
    """
    found = sorted(glob.glob(os.path.join(cache.images, f"{glob.escape(name)}@*", RECORD)), key=os.path.getmtime)
    return _load(cache, os.path.dirname(found[-1])) if found else None


def names(cache: Cache) -> list[str]:
    """Return the names of all complete images."""
    return sorted(
        {
            os.path.basename(os.path.dirname(path)).rpartition("@")[0]
            for path in glob.glob(os.path.join(cache.images, "*@*", RECORD))
        }
    )


def _load(cache: Cache, path: str) -> t.Optional[dict[str, t.Any]]:
    record = read_json(os.path.join(path, RECORD))
    if record is None:
        return None
    lower = [os.path.join(path, "rootfs"), os.path.join(cache.bases, str(record["base"]))]
    return {**record, "path": path, "lower": lower}


def key(request: Request, source: str) -> str:
    """Return the hash of an image's ingredients, part of its folder's name.

    The same ingredients give the same key.
    """
    files = sorted(image_files("")) + [(*each, 0) for each in image_links()]
    ingredients: list[t.Any] = [
        RECIPE,
        request.version,
        source,
        debian.base_key(debian.architecture(), request.release),
        files,
    ]
    if source == "directory":
        ingredients.append(kubernetes_directory.digests(request.binaries))
    return hashlib.sha256(json.dumps(ingredients).encode()).hexdigest()[:12]


def cached(cache: Cache, request: Request) -> t.Optional[dict[str, t.Any]]:
    """Return the cached complete image for a request, None without one.

    The network is not asked.
    """
    if not IMAGE_NAME.match(request.name):
        raise NspawnError(f"image name {request.name!r}: use 1 to 63 lower case letters, digits, '.', '_' and '-'.")
    kubernetes_source.linker_flags(request.version)
    for source in ("release", "debian-source") if request.source == "auto" else (request.source,):
        path = os.path.join(cache.images, f"{request.name}@{key(request, source)}")
        record = _load(cache, path)
        if record is not None and os.path.isdir(record["lower"][-1]):
            return record
    return None


def for_machine(cache: Cache, params: t.Mapping[str, t.Any], warnings: list[str]) -> dict[str, t.Any]:
    """Return a machine's image; build it if it is missing and allowed.

    Args:
        cache: the cache.
        params: a module's parameters: image, kubernetes_version, build, and those of ``request_of``.
        warnings: gets what a person has to know of an image that was built now.

    Raises:
        NspawnError: there is no such image, it can't be built, or it has another Kubernetes version.
    """
    version = params["kubernetes_version"]
    name = params["image"] or image_name(version)
    known = find(cache, name)
    if not version:
        if known is None:
            there = ", ".join(names(cache)) or "none"
            raise NspawnError(
                f"there is no machine image {name} in {cache.directory} (there are: {there}), and no Kubernetes version to build it for. "
                "Nothing was made. Correct the image's name in the machine template, or give it kubernetesVersion."
            )
        return known
    if known is not None and known["kubernetesVersion"] != version:
        raise NspawnError(
            f"machine image {name} has Kubernetes {known['kubernetesVersion']}, but {version} is wanted. Nothing was made. "
            f"Name another image in the machine template, or none: it is then {image_name(version)}."
        )
    if known is None and not params["build"]:
        raise NspawnError(
            f"there is no machine image {name} in {cache.directory} (there are: {', '.join(names(cache)) or 'none'}), and it may not be built here. "
            f"Nothing was made. Correct the image's name in the machine template; or leave it out (it is then {image_name(version)}); or build it "
            "first with the module kubeadm.control_plane.nspawn_image."
        )
    request = request_of(params, name, version)
    wanted = params["debian_release"]
    if known is not None and wanted in (None, debian.release_of(known["base"])):
        if request.source in (known["source"], "auto"):
            return known
    elif known is not None and not params["build"]:
        raise NspawnError(
            f"machine image {name} has Debian {debian.release_of(known['base'])}, but {wanted} is wanted, and it may not be built here. Nothing was "
            f"made. Name another image in the machine template, or none (it is then {image_name(version)}); or build it first with the module "
            "kubeadm.control_plane.nspawn_image."
        )
    record, changed = ensure(cache, request, progress_of(cache, request))
    if changed:
        warnings.extend(record["warnings"])
    return record


def resolve_source(request: Request) -> tuple[str, str]:
    """Return the image source to use, and the reason as text.

    Raises:
        NspawnError: the source asked for by name can't be reached, or is not complete.
    """
    if request.source == "directory":
        kubernetes_directory.examine(request.binaries, request.version, debian.architecture())
        return "directory", f"binaries from {request.binaries}"
    if request.source == "debian-source":
        return "debian-source", "built from Debian's source package, as asked"
    why = kubernetes_release.unreachable(request.release_url)
    if not why:
        return "release", f"published binaries from {request.release_url}"
    if request.source == "auto":
        return (
            "debian-source",
            f"built from Debian's source package, since {request.release_url} does not answer ({why})",
        )
    raise NspawnError(
        f"image {request.name}: the source release was asked for, but {request.release_url} does not answer within "
        f"{settings.CONNECT_SECONDS:.0f} s ({why}). Nothing was built. Use debian-source (built here, needs only Debian's mirrors), "
        "directory (your own files), or auto (release where it answers, else debian-source)."
    )


def ensure(cache: Cache, request: Request, progress: Progress) -> tuple[dict[str, t.Any], bool]:
    """Return the image for a request, and whether it was built.

    Raises:
        NspawnError: it can't be built; says at which step and where the log is.
    """
    record = cached(cache, request)
    if record is not None:
        # Of two of a name, such as of Debian 12 and 13, machines that name neither are made of the one that is wanted now.
        os.utime(os.path.join(record["path"], RECORD))
        return record, False
    source, reason = resolve_source(request)
    if request.install_packages:
        ensure_packages(kubernetes_source.BUILD_PACKAGES if source != "release" else (), progress)
    name = f"{request.name}@{key(request, source)}"
    with locked(cache.lock(f"image-{name}"), settings.IMAGE_LOCK_SECONDS, progress.say):
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
            assemble(cache, request, source, reason, scratch, progress)
            os.rename(scratch, os.path.join(cache.images, name))
        except BaseException:
            shutil.rmtree(scratch, ignore_errors=True)
            raise
    record = cached(cache, request)
    if record is None:
        raise NspawnError(
            f"image {request.name} was built and is not there: something else removes files from {cache.images}. Stop it; run again."
        )
    progress.say(f"image {request.name} ready: {record['path']}")
    return record, True


def remove(cache: Cache, name: str, used_by: t.Sequence[str], check: bool = False) -> bool:
    """Remove every image of a name; return whether there was one.

    Also a machine that no record names, of another directory, loses its programs with it.

    Raises:
        NspawnError: machines use it.
    """
    found = glob.glob(os.path.join(cache.images, f"{glob.escape(name)}@*"))
    if not found:
        return False
    if used_by:
        raise NspawnError(
            f"image {name} is in use by the machines {', '.join(used_by)}: their root file systems need it. Delete them first."
        )
    folders = tuple(f"{os.path.realpath(path)}/" for path in found)
    for pid in processes.machine_inits().values():
        if any(os.path.realpath(each).startswith(folders) for each in processes.lower_folders(pid)):
            raise NspawnError(
                f"image {name} is in use by a running machine of another directory (process {pid}): its root file system needs it. Delete that first."
            )
    if check:
        return True
    for path in found:
        with locked(cache.lock(f"image-{os.path.basename(path)}"), settings.IMAGE_LOCK_SECONDS):
            doomed = tempfile.mkdtemp(dir=cache.images, prefix=f".{os.path.basename(path)}.")
            os.rename(path, os.path.join(doomed, "image"))
            remove_tree(doomed)
    return True
