# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Users and files of a KubeadmConfigSpec, created on a machine idempotently."""

from __future__ import annotations

import base64
import binascii
import contextlib
import errno
import grp
import os
import pwd
import stat
import subprocess
import typing as t

from ...common import timed_command
from ...common.guard import NodeError, remedy, write_atomically

_SUDOERS = "/etc/sudoers.d"
_DEFAULT_PERMISSIONS = "0644"
# useradd's status for a name that it doesn't take, among other arguments (useradd(8)).
_BAD_ARGUMENT = 3


def put_file(entry: t.Mapping[str, t.Any]) -> bool:
    """Write one entry of ``files`` and return whether anything changed.

    Args:
        entry: ``path``, ``content`` (base64), ``owner`` ("user" or "user:group", default root:root), ``permissions``
            (octal text, default 0644) and ``append``: content that the file already holds is not appended again.

    Raises:
        NodeError: a field is wrong or the file can't be written. The content is never part of the message.
    """
    path = str(entry.get("path", ""))
    if not path.startswith("/") or path.endswith("/") or ".." in path.split("/"):
        raise NodeError(f"files: {path!r} is not the absolute path of a file.", "Correct it in the manifest.")
    _refuse_links_of_users(path)
    uid, gid = _owner(path, str(entry.get("owner") or "root:root"))
    try:
        mode = int(str(entry.get("permissions") or _DEFAULT_PERMISSIONS), 8)
        content = base64.b64decode(str(entry.get("content") or ""), validate=True)
    except (ValueError, binascii.Error) as error:
        raise NodeError(f"files: {path}: permissions must be octal and content base64.", "Correct them.") from error
    try:
        present = None
        status = None
        if os.path.exists(path):
            status = os.stat(path)
            with open(path, "rb") as file:
                present = file.read()
        if entry.get("append") and present is not None:
            content = present if content in present else present + content
        if (
            status
            and present == content
            and (status.st_uid, status.st_gid, status.st_mode & 0o7777) == (uid, gid, mode)
        ):
            return False
        os.makedirs(os.path.dirname(path), mode=0o755, exist_ok=True)
        write_atomically(os.path.realpath(path), content, mode, uid, gid)
    except OSError as error:
        raise NodeError(
            f"files: {path} can't be written: {error.strerror or error}.", remedy(os.path.dirname(path), error)
        ) from error
    return True


def _refuse_links_of_users(path: str) -> None:
    """Refuse a path through a symbolic link that root does not own.

    Such a link leads where its owner wants root to write.
    """
    parts = path.split("/")
    for depth in range(2, len(parts) + 1):
        part = "/".join(parts[:depth])
        try:
            found = os.lstat(part)
        except OSError:
            return
        if stat.S_ISLNK(found.st_mode) and found.st_uid != 0:
            raise NodeError(
                f"files: {path}: {part} is a symbolic link of user {found.st_uid}.",
                "It is not followed, and nothing was written. Name the file that is meant.",
            )


def _owner(path: str, owner: str) -> tuple[int, int]:
    user, _colon, group = owner.partition(":")
    try:
        account = pwd.getpwnam(user)
        return account.pw_uid, grp.getgrnam(group).gr_gid if group else account.pw_gid
    except KeyError as error:
        raise NodeError(
            f"files: {path}: the owner {owner!r} does not exist on this machine.",
            "Add it under users, or name another.",
        ) from error


def put_user(entry: t.Mapping[str, t.Any]) -> bool:
    """Create one entry of ``users``; return whether anything changed.

    It is created as cloud-init would.

    A user that exists keeps what it has (cloud-init does the same); keys and sudo rules are completed.

    Args:
        entry: name, gecos, groups (comma-separated), homeDir, inactive, shell, passwd (a hash), primaryGroup,
            lockPassword (default true), sudo, sshAuthorizedKeys.
    """
    name = str(entry.get("name", ""))
    changed = False
    try:
        account = pwd.getpwnam(name)
    except KeyError:
        _create(name, entry)
        account = pwd.getpwnam(name)
        changed = True
    keys = [str(key).strip() for key in entry.get("sshAuthorizedKeys") or []]
    if keys:
        changed = authorize(account, keys) or changed
    if entry.get("sudo"):
        os.makedirs(_SUDOERS, mode=0o750, exist_ok=True)
        # sudo reads no file whose name holds a dot.
        path = os.path.join(_SUDOERS, "90-kubeadm-" + name.replace(".", "_"))
        changed = _complete_lines(path, [f"{name} {entry['sudo']}"], 0o440, 0, 0) or changed
    return changed


def authorize(account: pwd.struct_passwd, keys: t.Sequence[str]) -> bool:
    """Complete a user's ``~/.ssh/authorized_keys`` and return whether anything changed.

    The home is the user's own, who may have put anything in the way: folder and file are opened once, and never through a symbolic link.

    Raises:
        NodeError: something else than a folder and a file of the user's is there.
    """
    uid, gid = account.pw_uid, account.pw_gid
    where = os.path.join(account.pw_dir, ".ssh")
    opened = []
    try:
        os.makedirs(account.pw_dir, mode=0o755, exist_ok=True)
        opened.append(os.open(account.pw_dir, os.O_RDONLY | os.O_DIRECTORY))
        with contextlib.suppress(FileExistsError):
            os.mkdir(".ssh", 0o700, dir_fd=opened[0])
        opened.append(os.open(".ssh", os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=opened[0]))
        os.fchown(opened[1], uid, gid)
        # What the descriptor leads to stays this folder, whatever its name leads to by then.
        return _complete_lines(f"/proc/self/fd/{opened[1]}/authorized_keys", keys, 0o600, uid, gid)
    except OSError as error:
        raise NodeError(
            f"users: {account.pw_name}: the keys can't be written to {where}: {error.strerror or error}.",
            "Make it a folder, and authorized_keys in it a file; symbolic links are not followed there.",
        ) from error
    finally:
        for descriptor in opened:
            os.close(descriptor)


def _complete_lines(path: str, lines: t.Sequence[str], mode: int, uid: int, gid: int) -> bool:
    present = _own_lines(path, uid)
    missing = [line for line in lines if line not in present]
    if missing:
        text = "".join(line + "\n" for line in [*present, *missing])
        write_atomically(path, text.encode(errors="surrogateescape"), mode, uid, gid)
    return bool(missing)


def _own_lines(path: str, uid: int) -> list[str]:
    """Return the lines of a user's own file, [] without one.

    Raises OSError for a link, a device, or another user's file.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        return []
    with open(descriptor, encoding="utf-8", errors="surrogateescape") as file:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode) or found.st_uid not in (0, uid) or found.st_nlink != 1:
            raise OSError(errno.EPERM, "authorized_keys there is no file of the user's own")
        return file.read().splitlines()


def _create(name: str, entry: t.Mapping[str, t.Any]) -> None:
    groups = [group.strip() for group in str(entry.get("groups") or "").split(",") if group.strip()]
    primary = str(entry.get("primaryGroup") or "")
    for group in [*groups, *([primary] if primary else [])]:
        try:
            grp.getgrnam(group)
        except KeyError:
            _run(name, ["groupadd", "--", group])
    options = ["--create-home"]
    for field, option in (("gecos", "--comment"), ("homeDir", "--home-dir"), ("shell", "--shell")):
        if entry.get(field):
            options += [option, str(entry[field])]
    if primary:
        options += ["--gid", primary]
    if groups:
        options += ["--groups", ",".join(groups)]
    if entry.get("inactive"):
        options += ["--inactive", "0"]
    _add_user(name, options)
    if entry.get("passwd"):
        # Through a pipe: an argument would be seen in the process list.
        _run(name, ["chpasswd", "--encrypted"], f"{name}:{entry['passwd']}\n")
    if entry.get("lockPassword", True) is not False:
        _run(name, ["usermod", "--lock", "--", name])


def _add_user(name: str, options: t.Sequence[str]) -> None:
    """Create the user.

    Debian and Red Hat take capitals and dots in names. Other distributions refuse them without --badname.
    """
    words = ["useradd", *options, "--", name]
    done = _done(name, words)
    if done.returncode == _BAD_ARGUMENT:
        _run(name, [words[0], "--badname", *words[1:]])
    else:
        _refuse_failure(name, words, done)


def _run(user: str, words: t.Sequence[str], text: str = "") -> None:
    _refuse_failure(user, words, _done(user, words, text))


def _done(user: str, words: t.Sequence[str], text: str = "") -> subprocess.CompletedProcess[str]:
    return timed_command.run(words, text=text, why=f"It is needed for users: {user}.")


def _refuse_failure(user: str, words: t.Sequence[str], done: subprocess.CompletedProcess[str]) -> None:
    if done.returncode != 0:
        raise NodeError(f"users: {user}: {words[0]} failed: {done.stderr.strip()[:300]}")
