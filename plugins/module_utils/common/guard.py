# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks that a node makes first: machine, claim and fencing number.

Refused are the wrong machine, a host that was released, and a run that lost its lock to a newer one.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import json
import os
import shlex
import shutil
import signal
import typing as t

STATE_DIRECTORY = "/var/lib/kubeadm-control-plane"
KUBERNETES_DIRECTORY = "/etc/kubernetes"
MACHINE_ID_FILE = "/etc/machine-id"
BOOT_ID_FILE = "/proc/sys/kernel/random/boot_id"
# Below the folder of Kubernetes: where a manifest is while its pod is restarted.
PARKED_MANIFESTS = "kubeadm-control-plane"
_LONGEST_PATH = 4096
# Reason of the refusal of a host that has another claim by now, or none and no cluster; not of one whose claim can't be read.
GIVEN_BACK = "GivenBack"
# Of the second of two hosts with one machine-id, said by itself or by the controller.
SAME_MACHINE_ID = "it has the machine-id of {other}: one host under two names, or a copy"
SAME_MACHINE_ID_FIX = "Give this host, not the other one, a machine-id of its own: systemd-id128 new > /etc/machine-id, and start it again."
_RIGHTS = (
    "Let the user whom Ansible becomes here, by default root, use it (namei -l {path} shows the owner and rights of each folder; "
    "lsattr -d {path} whether it may be changed at all)."
)
_REMEDIES = {
    errno.ENOSPC: "Free space or inodes on its file system (df -h {path}; df -i {path}).",
    errno.EDQUOT: "Free space there (df -h {path}), or raise the quota.",
    errno.EROFS: "Mount its file system for writing (findmnt -T {path} names it); where it became read-only by itself, dmesg says why.",
    errno.EACCES: _RIGHTS,
    errno.EPERM: _RIGHTS,
    errno.EIO: "Its disk fails (dmesg): have the disk or the machine replaced.",
}
_FOR_A_NUMBER = (
    "By it this machine refuses runs that lost their lock to a newer one; without it nothing is changed here."
)
_OTHER = "See what is there instead (namei -l {path}), and what the kernel says of its disk (dmesg)."


class NodeError(Exception):
    """Refusal or failure on a node, with its remedy (``fix``).

    ``what`` is what is wrong and why it matters; ``reason``, its stable name where callers tell it from others.
    """

    def __init__(self, what: str, fix: str = "", reason: str = "") -> None:
        super().__init__(f"{what} {fix}".strip())
        self.what = what
        self.fix = fix
        # What a module's result says of it beside the message.
        self.fields: dict[str, t.Any] = {"reason": reason} if reason else {}


def remedy(path: str, error: BaseException) -> str:
    """Return the remedy for a machine's file that an operation failed on.

    Args:
        path: the file or folder; it is quoted for the shell.
        error: the failure, mostly an OSError, whose errno decides.
    """
    said = _REMEDIES.get(getattr(error, "errno", None) or 0, _OTHER).format(path=shlex.quote(path))
    return f"On this machine: {said} Then run again."


def said_of(error: OSError) -> str:
    """Return an OSError in words, with its remedy.

    "" where it names no file, or the reason is neither the file system nor rights.
    """
    if not isinstance(error.filename, str) or error.errno not in _REMEDIES:
        return ""
    return f"{error.filename}: {error.strerror}. The call ended there; what it had done before stays. {remedy(os.path.dirname(error.filename), error)}"


class Unwritable(NodeError):
    """Failure to keep a run's number on this machine.

    Or to take the machine's lock. The number itself is not below the one that is kept, as far as it could be compared.
    """


class Fenced(NodeError):
    """Refusal of a run by its fencing number.

    Another run had this machine or this cluster with the number ``highest``, which is greater than this run's.
    """

    def __init__(self, number: int, highest: int, where: str) -> None:
        super().__init__(
            f"This run's fencing number is {number}, but {where} a run with number {highest}: this run no longer holds the cluster's lock.",
            "Nothing was done. See who holds the lock, and run again when it is free.",
        )
        self.highest = highest
        self.fields = {"fenced": highest}


def read_text(path: str) -> str:
    """Return a small file's stripped text, "" where it can't be read."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(65536).strip()
    except OSError:
        return ""


def named_path(text: str) -> str:
    """Return a path that a machine's file names, normalized.

    "" for what is no absolute path.
    """
    # A longer path is none on Linux, and another one could forge the text of a message.
    fits = os.path.isabs(text) and len(text) < _LONGEST_PATH and text.isprintable()
    return os.path.normpath(text) if fits else ""


def sha256_of(path: str) -> str:
    """Return a file's SHA-256, as sha256sum prints it."""
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        for block in iter(lambda: file.read(1 << 20), b""):
            digest.update(block)
    return digest.hexdigest()


def end_process(pid: int, still: t.Callable[[], object]) -> None:
    """Send SIGTERM to a process that is the one meant.

    That is what ``still`` returns. A process ID that was used again meanwhile is not hit, as the process is held before ``still`` is called.
    Kernels before 5.3, and a Python that was built for one (that of RHEL 8), can't hold it: there ``still`` is called right before.
    """
    held = -1
    with contextlib.suppress(OSError, AttributeError):
        held = os.pidfd_open(pid)
    try:
        if not still():
            return
        with contextlib.suppress(OSError):
            if held >= 0:
                signal.pidfd_send_signal(held, signal.SIGTERM)
            else:
                os.kill(pid, signal.SIGTERM)
    finally:
        if held >= 0:
            os.close(held)


def require_machine(expected: t.Optional[str], path: str = MACHINE_ID_FILE) -> str:
    """Return this machine's ID; refuse an unexpected one (docs/architecture.md, "How a machine is reached").

    Raises:
        NodeError: another machine-id, or none although one is expected.
    """
    actual = read_text(path)
    if expected and actual != expected:
        found = f"machine-id {actual}" if actual else f"no machine-id ({path})"
        raise NodeError(
            f"Wrong machine: this call is for the machine with machine-id {expected}, but this one has {found}.",
            "Nothing was done. Check ansible_connection, ansible_host and delegation, and that the machine was not"
            " replaced or re-installed behind its address.",
        )
    return actual


def require_fencing(number: t.Optional[int], directory: str = STATE_DIRECTORY, *, keep: bool = True) -> None:
    """Refuse a number lower than the highest that this machine has seen (docs/store.md, "The fencing number").

    A higher one is kept, unless ``keep`` is False (check mode).

    Raises:
        Fenced: a later run has been on this machine: this one lost its lock.
        Unwritable: it is high enough, and can't be kept.
        NodeError: what is kept is no number.
    """
    if number is None:
        return
    path, where = os.path.join(directory, "fencing"), "this machine has seen"
    # The file is replaced as a whole: to compare alone needs no lock, which a read-only file system would not give.
    compare_number(path, number, where, keep=False)
    if keep:
        with exclusive(directory):
            compare_number(path, number, where, keep=True)


def compare_number(path: str, number: int, where: str, *, keep: bool) -> None:
    """Refuse a number lower than the one that a file keeps.

    A higher one is written to the file where ``keep`` is True; for that the caller holds :func:`exclusive`.

    Args:
        path: the file.
        number: a run's number.
        where: who has seen the higher one, for the refusal.
        keep: whether a higher number is written to the file.

    Raises:
        Fenced: the file has a higher one.
        Unwritable: it is high enough, and can't be kept.
        NodeError: what is kept is no number.
    """
    text = read_text(path)
    if text and not (text.isascii() and text.isdigit()):
        raise NodeError(f"{path} holds {text[:40]!r} instead of a number.", "Look who changed it, then delete it.")
    highest = int(text or 0)
    if number < highest:
        raise Fenced(number, highest, where)
    if keep and number > highest:
        with keeping(path):
            write_atomically(path, f"{number}\n".encode())


@contextlib.contextmanager
def keeping(path: str, why: str = _FOR_A_NUMBER) -> t.Iterator[None]:
    """Raise Unwritable for an OSError of the context.

    It writes to a path; ``why`` says what that is for.
    """
    try:
        yield
    except OSError as error:
        raise Unwritable(
            f"{path} can't be written: {error.strerror or error}. {why}", remedy(os.path.dirname(path), error)
        ) from error


def require_claim(identity: str, directory: str = STATE_DIRECTORY, kubernetes: str = KUBERNETES_DIRECTORY) -> None:
    """Refuse an existing host whose claim has changed (node/host/claim.py).

    It was released, or claimed for another machine, since the caller read its claim. A host without a claim that
    carries a cluster is not refused: its claim was deleted by hand.

    Raises:
        NodeError: the claim is another machine's, or there is neither a claim nor any file of a cluster.
    """
    text = read_text(os.path.join(directory, "claim.json"))
    try:
        found = str(json.loads(text)["id"]) if text else ""
    except (ValueError, KeyError, TypeError):
        found = "unreadable"
    carried = any(
        os.path.exists(os.path.join(kubernetes, name)) for name in ("admin.conf", "kubelet.conf", "manifests")
    )
    if found == identity or (not found and (carried or os.path.exists(os.path.join(directory, "bootstrap.json")))):
        return
    raise NodeError(
        "This host is not the machine's any more that this call is for: it was given back"
        + (" and has another claim by now." if found else "."),
        "Nothing was done. Another run has released it; run again, which reads everything again.",
        GIVEN_BACK if found != "unreadable" else "",
    )


@contextlib.contextmanager
def exclusive(directory: str = STATE_DIRECTORY) -> t.Iterator[None]:
    """Hold this machine's own lock within the context.

    The kernel releases it when the process dies.

    Raises:
        Unwritable: there is no room for its file, say, or the file system is read-only.
    """
    path = os.path.join(directory, "lock")
    with keeping(path, "Without this lock two calls would disturb each other here."):
        os.makedirs(directory, mode=0o700, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def write_atomically(path: str, content: bytes, mode: int = 0o600, uid: int = -1, gid: int = -1) -> None:
    """Write a file atomically.

    It is there completely or not at all, even after a power cut. At no time does the file grant more than ``mode``.

    Raises:
        OSError: it can't be written; ``filename`` is set.
    """
    directory = os.path.dirname(path)
    partial = os.path.join(directory, f".{os.path.basename(path)}.{os.getpid()}.partial")
    with contextlib.suppress(FileNotFoundError):
        os.unlink(partial)
    descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fchown(file.fileno(), uid, gid)
            os.fchmod(file.fileno(), mode)
            os.fsync(file.fileno())
        os.rename(partial, path)
    except BaseException as error:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(partial)
        if isinstance(error, OSError):
            # What fails at an open file names none.
            error.filename = error.filename or path
        raise
    sync_directory(directory)


def delete(path: str) -> None:
    """Delete a file, or a folder with all that is in it.

    No error if there is none.
    """
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path)
    elif os.path.lexists(path):
        os.unlink(path)


def sync_directory(path: str) -> None:
    """Wait until a folder's renames, creations and removals are on disk."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
