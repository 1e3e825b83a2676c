# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The kubeadm of a staged package, before it is installed.

It alone knows which images its version takes.

Source: dpkg-deb(1), rpm2archive(8).
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tarfile
import tempfile
import typing as t

from ...common import settings, timed_command
from ...common.guard import NodeError, remedy
from . import package_archives, staged_packages
from .packages import PackageManager

_PROGRAM = "kubeadm"


@contextlib.contextmanager
def unpacked(manager: PackageManager) -> t.Iterator[str]:
    """Yield the path of the staged kubeadm.

    "" where none is staged. Nothing is installed, and the file is gone afterwards.

    Raises:
        NodeError: it can't be unpacked.
    """
    place = staged_packages.folder(manager)
    with contextlib.ExitStack() as stack:
        try:
            archive = staged_packages.archive_of(manager, _PROGRAM)
            # Beside what is staged: programs may not be run below /tmp and /var/tmp. A later staging removes what a killed call leaves.
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="unpacked-", dir=place)) if archive else ""
        except OSError as error:
            raise NodeError(
                f"The staged packages in {place} can't be unpacked: {error.strerror}.", remedy(place, error)
            ) from error
        yield _unpack(archive, folder) if archive else ""


def _unpack(archive: str, folder: str) -> str:
    fix = "Stage the packages again."
    try:
        if archive.endswith(package_archives.ENDING):
            done = timed_command.run(["dpkg-deb", "--extract", archive, folder], seconds=settings.UNPACK_SECONDS)
        else:
            # It writes beside what it reads.
            copy = shutil.copy(archive, folder)
            done = timed_command.run(["rpm2archive", copy], seconds=settings.UNPACK_SECONDS)
            if done.returncode == 0:
                _extract(f"{copy}.tgz", folder)
    except (OSError, tarfile.TarError) as error:
        raise NodeError(f"{archive} can't be unpacked: {error}.", fix) from error
    if done.returncode != 0:
        raise NodeError(f"{archive} can't be unpacked: {done.stderr.strip()[-300:]}.", fix)
    found = [os.path.join(path, _PROGRAM) for path, _folders, files in os.walk(folder) if _PROGRAM in files]
    programs = [
        each for each in found if os.path.basename(os.path.dirname(each)) == "bin" and os.stat(each).st_mode & 0o100
    ]
    if not programs:
        raise NodeError(f"{archive} has no program {_PROGRAM}.", fix)
    if not os.access(programs[0], os.X_OK):
        place = os.path.dirname(folder)
        raise NodeError(
            f"{_PROGRAM} of {archive} was unpacked below {place} and can't be run there: its file system is mounted noexec, or a security module "
            "denies it. Only this program knows the images of its version.",
            f"findmnt -T {place} names the mount: let programs run there meanwhile (mount -o remount,exec) and run again; or load the images by hand.",
        )
    return programs[0]


def _extract(archive: str, folder: str) -> None:
    """Extract the program alone, to a name of our own."""
    with tarfile.open(archive) as tar:
        for member in tar:
            if member.isfile() and member.name.endswith(f"/bin/{_PROGRAM}"):
                os.makedirs(os.path.join(folder, "bin"))
                read = tar.extractfile(member)
                path = os.path.join(folder, "bin", _PROGRAM)
                with open(path, "wb") as file:
                    shutil.copyfileobj(read, file)  # type: ignore[arg-type]
                os.chmod(path, 0o755)
                return
