# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Archives of container images: loaded into containerd, and written from it."""

from __future__ import annotations

import contextlib
import os
import re
import typing as t

from ...common import settings, timed_command
from ...common.guard import NodeError, remedy

# Where the role host brings them.
FOLDER = "/var/lib/kubeadm-control-plane/images"
_CTR = ("ctr", "--namespace", "k8s.io", "images")
_WHY = "Archives are loaded and written by containerd's own program ctr. With another runtime, do that with its own."


def archive_name(image: str) -> str:
    """Return the name of an image's archive."""
    return re.sub(r"[^A-Za-z0-9._-]+", "_", image) + ".tar"


def free() -> int:
    """Return the bytes that are free where archives are brought to."""
    folder = FOLDER
    while not os.path.exists(folder):
        folder = os.path.dirname(folder)
    found = os.statvfs(folder)
    return found.f_bavail * found.f_frsize


def load(paths: t.Sequence[str]) -> None:
    """Load archives into containerd.

    As ``docker save`` and ``ctr images export`` write them.

    Raises:
        NodeError: one can't be loaded; those before it were.
    """
    for path in paths:
        _run([*_CTR, "import", path], f"The archive {path} was not loaded")


def save(images: t.Sequence[str], folder: str) -> list[str]:
    """Write an archive of each image; return the files.

    Each is for this host's platform, and belongs to the folder's owner, whose links are not followed.

    Raises:
        NodeError: one can't be written.
    """
    paths = [os.path.join(folder, archive_name(image)) for image in images]
    try:
        # The folder above may be this collection's own, which is not there yet.
        for each in (os.path.dirname(folder), folder):
            os.makedirs(each, mode=0o700, exist_ok=True)
        # At any time its owner may put a link in the place of what is there, or of the folder.
        with _opened(folder, os.O_RDONLY | os.O_DIRECTORY) as place:
            for image, path in zip(images, paths):
                _export(image, path, place)
    except OSError as error:
        what = f"Archives of images can't be written to {folder}: {error.strerror}."
        raise NodeError(what, remedy(folder, error)) from error
    return paths


def _export(image: str, path: str, place: int) -> None:
    """Write an archive to an open folder. Raises OSError and NodeError."""
    owner, name = os.fstat(place), os.path.basename(path)
    with contextlib.suppress(FileNotFoundError):
        os.unlink(name, dir_fd=place)
    with _opened(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, place) as file:
        _run([*_CTR, "export", f"/proc/{os.getpid()}/fd/{file}", image], f"The image {image} was not written to {path}")
        os.fchown(file, owner.st_uid, owner.st_gid)


@contextlib.contextmanager
def _opened(path: str, flags: int, place: int | None = None) -> t.Iterator[int]:
    descriptor = os.open(path, flags | os.O_NOFOLLOW, 0o600, dir_fd=place)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _run(words: t.Sequence[str], what: str) -> None:
    done = timed_command.run(words, seconds=settings.IMAGE_ARCHIVE_SECONDS, why=_WHY)
    if done.returncode != 0:
        raise NodeError(
            f"{what}: {done.stderr.strip()[-500:] or done.returncode}.",
            "Look whether it is whole, and whether containerd runs.",
        )
