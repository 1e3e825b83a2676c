# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Packages as archives in a folder, for hosts that reach no repository.

On one host apt downloads them from its signed repositories, with all that they depend on. On another the folder is a repository for one call:
apt takes from it what is missing. Like archives of images, they come from the controller over the connection, and no signature is looked for again.
A list of their digests is with them: an archive that was cut on its way would be found by dpkg alone, in the midst of an installation.

Source: apt-get(8), sources.list(5), sha256sum(1), https://wiki.debian.org/DebianRepository/Format.
"""

from __future__ import annotations

import glob
import hashlib
import os
import re
import shutil
import typing as t

from ...common import timed_command
from ...common.guard import NodeError, remedy, sha256_of, write_atomically
from ...common.redact import redact
from .packages import Apt, PackageManager

ENDING = ".deb"
DIGESTS = "SHA256SUMS"
_SOURCE = "archives.sources"
_CACHE = "cache/archives"
_SHOWN = 8
# As sha256sum writes it. A name is written into apt's lists.
_LINE = re.compile(r"([0-9a-f]{64}) [ *]([^/\s]+\.deb)")


def require_apt(manager: PackageManager) -> None:
    """Refuse another package manager than apt. Raises NodeError."""
    if not isinstance(manager, Apt):
        raise NodeError(
            f"Archives of packages are apt's alone, and this host has {manager.NAME}.",
            "Nothing was changed. Give it a mirror (repositories), or install the packages by hand.",
        )


def save(manager: PackageManager, names: t.Sequence[str], folder: str) -> list[str]:
    """Download packages and their dependencies to a folder; return the files.

    The last of them is the list of their digests.

    Args:
        manager: apt in a folder of its own (:meth:`PackageManager.apart`), of a host whose repositories have them, with lists as they are now.
        names: the packages, as :meth:`PackageManager.at` or by name alone.
        folder: where the files are written; they belong to its owner, whose links are not followed.

    Raises:
        NodeError: one can't be had, or the folder can't be written to.
    """
    # As of a host that has nothing: what this one has another may lack.
    nothing = os.path.join(manager.root, "status")
    with open(nothing, "w", encoding="utf-8"):
        pass
    how = ["install", "--download-only", "--yes", "--no-install-recommends"]
    done = manager.runner(["apt-get", "-o", f"Dir::State::status={nothing}", *how, *names])
    if done.returncode != 0:
        said = redact(done.stderr.strip() or done.stdout.strip())[-600:]
        raise NodeError(
            f"Downloading {' '.join(names)} failed (apt): {said}", "Look whether this host's repositories answer."
        )
    try:
        return _write_for_owner(
            folder, sorted(glob.glob(os.path.join(glob.escape(manager.root), _CACHE, f"*{ENDING}")))
        )
    except OSError as error:
        what = f"Archives of packages can't be written to {folder}: {error.strerror}."
        raise NodeError(what, remedy(folder, error)) from error


def _write_for_owner(folder: str, archives: t.Sequence[str]) -> list[str]:
    """Copy archives to a folder of another user; return the files.

    The last of them is their list. Raises OSError.
    """
    # At any time its owner may put a link in the place of what is there, or of the folder.
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    lines: list[str] = []
    written: list[str] = []

    def write(name: str, content: bytes) -> None:
        write_atomically(f"/proc/self/fd/{descriptor}/{name}", content, 0o644, owner.st_uid, owner.st_gid)
        written.append(os.path.join(folder, name))

    try:
        owner = os.fstat(descriptor)
        for path in archives:
            with open(path, "rb") as file:
                content = file.read()
            # A version's colon is encoded, which apt's file method takes for a URL's.
            name = os.path.basename(path).replace("%3a", "-")
            write(name, content)
            lines.append(f"{hashlib.sha256(content).hexdigest()}  {name}\n")
        write(DIGESTS, "".join(lines).encode())
    finally:
        os.close(descriptor)
    return written


def describe(manager: PackageManager, archives: str, folder: str) -> None:
    """Write a repository's file and lists of archives below a folder.

    Args:
        manager: of this host.
        archives: the folder with the archives and their list; what that doesn't name is not taken. apt's own user has to read it.
        folder: where the package manager is pointed to (:meth:`PackageManager.apart`).

    Raises:
        NodeError: there is no list, or an archive of it is missing, is another one, or can't be read.
    """
    require_apt(manager)
    listed, entries, faults = _listed(archives), [], []
    repository = os.path.join(folder, "archives")
    os.makedirs(repository)
    for name, digest in listed.items():
        # Who owns the archives can't change the copy.
        path, copy = os.path.join(archives, name), os.path.join(repository, name)
        if not os.path.isfile(path):
            faults.append(f"{name} is missing")
            continue
        shutil.copyfile(path, copy)
        if sha256_of(copy) != digest:
            faults.append(f"{name} was cut or changed")
            continue
        done = timed_command.run(["dpkg-deb", "--field", copy])
        if done.returncode != 0:
            raise NodeError(
                f"{path} is no package: {done.stderr.strip()[-300:]}.", "Write it again with the playbook bundle."
            )
        entries.append(f"{done.stdout.strip()}\nFilename: ./{name}\nSize: {os.stat(copy).st_size}\nSHA256: {digest}\n")
    if faults:
        raise NodeError(
            f"The archives of packages aren't those that {DIGESTS} beside them names: {'; '.join(faults)}.",
            "Bring the whole folder again from where bundle wrote it, or write it again with the playbook bundle.",
        )
    with open(os.path.join(repository, "Packages"), "w", encoding="utf-8") as file:
        file.write("\n".join(entries))
    with open(os.path.join(folder, manager.SOURCES, _SOURCE), "w", encoding="utf-8") as file:
        file.write(f"Types: deb\nURIs: file://{repository}/\nSuites: ./\nTrusted: yes\n")


def unlisted(archives: str) -> str:
    """Return a sentence of archives that their list doesn't name.

    "" where it names all of them. Raises NodeError: there is no list.
    """
    there = {os.path.basename(each) for each in glob.glob(os.path.join(glob.escape(archives), f"*{ENDING}"))}
    found = sorted(there - set(_listed(archives)))
    if not found:
        return ""
    names = ", ".join(found[:_SHOWN]) + (f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else "")
    return (
        f"{DIGESTS} in {archives} doesn't name {names}, and only what it names is taken: bundle writes a list of what it has just written. "
        f"For all of them, write it in {archives} (sha256sum *{ENDING} > {DIGESTS})."
    )


def _listed(archives: str) -> dict[str, str]:
    """Return the digests of archives by their names. Raises NodeError."""
    path = os.path.join(archives, DIGESTS)
    fix = f"Have the playbook bundle write the folder. For packages of your own, write it in {archives} (sha256sum *{ENDING} > {DIGESTS})."
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            lines = file.read().splitlines()
    except FileNotFoundError:
        raise NodeError(f"The archives of packages have no list of their digests ({path}).", fix) from None
    found = [_LINE.fullmatch(line) for line in lines]
    if not found or None in found:
        raise NodeError(f"{path} is no list of archives (*{ENDING}) as sha256sum writes it.", fix)
    return {each.group(2): each.group(1) for each in found if each}
