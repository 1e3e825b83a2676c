# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Users and files of a KubeadmConfigSpec, put on a machine so that doing it twice changes nothing."""

from __future__ import annotations

import base64
import binascii
import grp
import os
import pwd
import typing as t

from ansible_collections.kubeadm.control_plane.plugins.module_utils.node import command
from ansible_collections.kubeadm.control_plane.plugins.module_utils.node.guard import NodeError, write_atomically

_SUDOERS = "/etc/sudoers.d"
_DEFAULT_PERMISSIONS = "0644"


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
        raise NodeError(f"files: {path!r} is not the absolute path of a file.")
    uid, gid = _owner(path, str(entry.get("owner") or "root:root"))
    try:
        mode = int(str(entry.get("permissions") or _DEFAULT_PERMISSIONS), 8)
        content = base64.b64decode(str(entry.get("content") or ""), validate=True)
    except (ValueError, binascii.Error) as error:
        raise NodeError(f"files: {path}: permissions must be octal and content base64.") from error
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
        raise NodeError(f"files: {path} can't be written: {error.strerror or error}.") from error
    return True


def _owner(path: str, owner: str) -> tuple[int, int]:
    user, _colon, group = owner.partition(":")
    try:
        account = pwd.getpwnam(user)
        return account.pw_uid, grp.getgrnam(group).gr_gid if group else account.pw_gid
    except KeyError as error:
        raise NodeError(f"files: {path}: the owner {owner!r} does not exist on this machine.") from error


def put_user(entry: t.Mapping[str, t.Any]) -> bool:
    """Create one entry of ``users`` as cloud-init would, and return whether anything changed.

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
        directory = os.path.join(account.pw_dir, ".ssh")
        os.makedirs(directory, mode=0o700, exist_ok=True)
        os.chown(directory, account.pw_uid, account.pw_gid)
        path = os.path.join(directory, "authorized_keys")
        changed = _complete_lines(path, keys, 0o600, account.pw_uid, account.pw_gid) or changed
    if entry.get("sudo"):
        os.makedirs(_SUDOERS, mode=0o750, exist_ok=True)
        # sudo reads no file whose name holds a dot.
        path = os.path.join(_SUDOERS, "90-kubeadm-" + name.replace(".", "_"))
        changed = _complete_lines(path, [f"{name} {entry['sudo']}"], 0o440, 0, 0) or changed
    return changed


def _complete_lines(path: str, lines: t.Sequence[str], mode: int, uid: int, gid: int) -> bool:
    present: list[str] = []
    if os.path.exists(path):
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            present = file.read().splitlines()
    missing = [line for line in lines if line not in present]
    if missing:
        text = "".join(line + "\n" for line in [*present, *missing])
        write_atomically(path, text.encode(errors="surrogateescape"), mode, uid, gid)
    return bool(missing)


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
    _run(name, ["useradd", *options, "--", name])
    if entry.get("passwd"):
        # Through a pipe: an argument would be seen in the process list.
        _run(name, ["chpasswd", "--encrypted"], f"{name}:{entry['passwd']}\n")
    if entry.get("lockPassword", True) is not False:
        _run(name, ["usermod", "--lock", "--", name])


def _run(user: str, words: t.Sequence[str], text: str = "") -> None:
    done = command.run(words, text=text, why=f"It is needed for users: {user}.")
    if done.returncode != 0:
        raise NodeError(f"users: {user}: {words[0]} failed: {done.stderr.strip()[:300]}")
