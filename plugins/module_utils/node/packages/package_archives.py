# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Packages as archives in a folder, for hosts that reach no repository.

On one host apt downloads them from its signed repositories, with all that they depend on. On another the folder is a repository for one call:
apt takes from it what is missing. Like archives of images, they come from the controller over the connection, and no signature is looked for again.

Source: apt-get(8), sources.list(5), https://wiki.debian.org/DebianRepository/Format.
"""

from __future__ import annotations

import glob
import os
import shutil
import typing as t

from ...common import timed_command
from ...common.guard import NodeError, sha256_of
from .packages import Apt, PackageManager

ENDING = ".deb"
_SOURCE = "archives.sources"


def require_apt(manager: PackageManager) -> None:
    """Refuse another package manager than apt. Raises NodeError."""
    if not isinstance(manager, Apt):
        raise NodeError(
            f"Archives of packages are apt's alone, and this host has {manager.NAME}.",
            "Nothing was changed. Give it a mirror (repositories), or install the packages by hand.",
        )


def save(manager: PackageManager, names: t.Sequence[str], folder: str) -> list[str]:
    """Download packages and their dependencies to a folder; return the files.

    Args:
        manager: apt, of a host whose repositories have them, with lists as they are now.
        names: the packages, as :meth:`PackageManager.at` or by name alone.
        folder: an empty one; the files belong to its owner.

    Raises:
        NodeError: one can't be had.
    """
    # As of a host that has nothing: what this one has another may lack.
    nothing = os.path.join(folder, "status")
    with open(nothing, "w", encoding="utf-8"):
        pass
    os.makedirs(os.path.join(folder, "partial"), exist_ok=True)
    places = ["-o", f"Dir::State::status={nothing}", "-o", f"Dir::Cache::archives={folder}"]
    how = ["install", "--download-only", "--yes", "--no-install-recommends"]
    done = manager.runner(["apt-get", *places, *how, *names])
    if done.returncode != 0:
        said = (done.stderr.strip() or done.stdout.strip())[-600:]
        raise NodeError(
            f"Downloading {' '.join(names)} failed (apt): {said}", "Look whether this host's repositories answer."
        )
    os.unlink(nothing)
    owner, found = os.stat(folder), []
    for path in sorted(glob.glob(os.path.join(glob.escape(folder), f"*{ENDING}"))):
        # A version's colon is encoded, which apt's file method takes for a URL's.
        plain = os.path.join(folder, os.path.basename(path).replace("%3a", "-"))
        os.rename(path, plain)
        os.chown(plain, owner.st_uid, owner.st_gid, follow_symlinks=False)
        found.append(plain)
    return found


def describe(manager: PackageManager, archives: str, folder: str) -> None:
    """Write a repository's file and lists of archives below a folder.

    Args:
        manager: of this host.
        archives: the folder with the archives; apt's own user has to read it.
        folder: where the package manager is pointed to (:meth:`PackageManager.apart`).

    Raises:
        NodeError: there is no such archive, or one can't be read.
    """
    require_apt(manager)
    paths = sorted(glob.glob(os.path.join(glob.escape(archives), f"*{ENDING}")))
    if not paths:
        raise NodeError(
            f"{archives} has no archive of a package (*{ENDING}).", "Have some written by the playbook bundle."
        )
    entries = []
    repository = os.path.join(folder, "archives")
    os.makedirs(repository)
    for path in paths:
        # Who owns the archives can't change the copy.
        copy = os.path.join(repository, os.path.basename(path))
        shutil.copyfile(path, copy)
        done = timed_command.run(["dpkg-deb", "--field", copy])
        if done.returncode != 0:
            raise NodeError(
                f"{path} is no package: {done.stderr.strip()[-300:]}.", "Write it again with the playbook bundle."
            )
        entries.append(
            f"{done.stdout.strip()}\nFilename: ./{os.path.basename(path)}\nSize: {os.stat(copy).st_size}\nSHA256: {sha256_of(copy)}\n"
        )
    with open(os.path.join(repository, "Packages"), "w", encoding="utf-8") as file:
        file.write("\n".join(entries))
    with open(os.path.join(folder, manager.SOURCES, _SOURCE), "w", encoding="utf-8") as file:
        file.write(f"Types: deb\nURIs: file://{repository}/\nSuites: ./\nTrusted: yes\n")
