# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Changes of certificates, keys, kubeconfigs and manifests' flags on a node.

What is public in these files is read, and what is given is written.

Each change is made whole or not at all, and one whose result is there already is not made: a call that was killed is completed by the
same call. Kubeconfigs and manifests are YAML, for which a node has no parser: the one line that is meant is changed, and where it isn't
there exactly once, nothing is.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import hashlib
import os
import re
import ssl
import stat
import time
import typing as t
from dataclasses import dataclass, field

from ...common import guard
from ...common.guard import NodeError, remedy
from ...etcd.certificates_dir import KUBELET, certificates_dir, of_kubelet

# Where kubeconfigs, manifests and the kubelet's certificates of a node are.
_ROOTS = (guard.KUBERNETES_DIRECTORY, KUBELET)
_MOST_BYTES = 1 << 20
# What a certificate's file ends with that the kubelet has written: the time, to the second.
_KUBELETS_NAME = re.compile(r"-\d{4}(-\d\d){5}\.pem$")
_PUBLIC = re.compile(r"-----BEGIN (CERTIFICATE|PUBLIC KEY|RSA PUBLIC KEY)-----.*?-----END \1-----\n?", re.DOTALL)
_AUTHORITY, _CERTIFICATE, _KEY = "certificate-authority-data", "client-certificate-data", "client-key-data"
_USER_FILE = re.compile(r"""(?<![\w-])["']?client-(?:certificate|key)["']?[ \t]*:[ \t]*["']?([^\s"',}]+)""")
_COMMENT = re.compile(r"^[ \t]*#.*", re.MULTILINE)


@dataclass(frozen=True)
class Change:
    """Desired content of one file.

    Args:
        path: the file. A symbolic link to a file in its own folder, as the kubelet keeps its certificates, gets a new file.
        content: its public part. secret: what follows, private. With both "", and no other field, nothing is changed.
        absent: it is to go.
        authorities: of a kubeconfig, the certificates of its cluster. certificate, key: of its user.
        flags: of a static pod's manifest, the flags that are there with other values.
    """

    path: str
    content: str = ""
    secret: str = ""
    absent: bool = False
    authorities: str = ""
    certificate: str = ""
    key: str = ""
    flags: t.Mapping[str, str] = field(default_factory=dict)


def roots_of_this_machine() -> tuple[str, ...]:
    """Return the folders that kubeadm's files are in."""
    return tuple(dict.fromkeys((*_ROOTS, certificates_dir())))


def check_path(path: str, roots: t.Sequence[str] = (), kubelet: str = KUBELET) -> str:
    """Return the path; refuse one outside the certificates' folders.

    The kubelet's CA certificate may be elsewhere, as on a worker with another caCertPath. Its folder may be any, such as /etc, and so counts for
    nothing else. Raises NodeError.
    """
    roots = roots or roots_of_this_machine()
    own = of_kubelet(kubelet)
    below = any(path.startswith(f"{root}/") for root in roots) or (own and path == f"{own}/ca.crt")
    if os.path.normpath(path) != path or not below:
        raise NodeError(
            f"{path!r} is no file below {' or '.join(roots)}, nor the kubelet's ca.crt.",
            "Nothing was changed. Give one.",
        )
    return path


def apply(change: Change, roots: t.Sequence[str] = (), *, check: bool = False) -> bool:
    """Apply a change; return whether there was anything to change.

    Raises:
        NodeError: the file is not what it is taken for. Nothing was changed in it.
    """
    path = check_path(change.path, roots)
    if change.absent:
        return _remove(path, check)
    if change.authorities or change.certificate:
        wanted = _kubeconfig(_read(path), path, change)
    elif change.flags:
        wanted = _manifest(_read(path), path, change.flags)
    else:
        wanted = change.content + change.secret
        if not wanted:
            return False
    before = _read(path, missing="")
    if before == wanted:
        return False
    if not check:
        _write(path, wanted, secret="PRIVATE KEY" in wanted or _KEY in wanted)
    return True


def public(path: str) -> str:
    """Return the certificates and public keys in a file, in order.

    "" where the file is missing or holds none.
    """
    return "".join(f"{found.group(0).strip()}\n" for found in _PUBLIC.finditer(_read(path, missing="")))


def digest(path: str) -> str:
    """Return the SHA-256 of a file in hexadecimal, "" without one.

    Equal files are recognised by it without their content.
    """
    text = _read(path, missing="")
    return hashlib.sha256(text.encode()).hexdigest() if text else ""


def matches(path: str) -> t.Optional[bool]:
    """Return whether a private key fits the certificate beside it.

    The key is "x.key", the certificate "x.crt"; None where either can't be read.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    try:
        context.load_cert_chain(f"{os.path.splitext(path)[0]}.crt", path)
    except ssl.SSLError:
        return False
    except OSError:
        return None
    return True


def changed_at(path: str) -> float:
    """Return a file's modification time in seconds since the epoch.

    0 where it is missing.
    """
    try:
        return os.stat(path).st_mtime
    except OSError:
        return 0.0


def is_kubelets_own(path: str) -> bool:
    """Return whether a link leads to a certificate the kubelet got itself.

    Certificates that are written here have the writer in their name as well.
    """
    try:
        return _KUBELETS_NAME.search(os.readlink(path)) is not None
    except OSError:
        return False


def kubeconfig(path: str) -> t.Optional[dict[str, t.Any]]:
    """Return the public certificates in a kubeconfig, None if it is missing.

    They are ``authorities`` and ``certificate`` in PEM, "" where there is a file or a token instead. ``counts`` has the number of each
    field that holds one, or a key; ``user_files`` are the files that its users have instead.
    """
    text = _read(path, missing="")
    if not text:
        return None
    return {
        "authorities": _decoded(_values(text, _AUTHORITY), path),
        "certificate": _decoded(_values(text, _CERTIFICATE), path),
        "counts": {name: len(_values(text, name)) for name in (_AUTHORITY, _CERTIFICATE, _KEY)},
        "user_files": sorted(set(_USER_FILE.findall(_COMMENT.sub("", text)))),
    }


def flags(text: str) -> dict[str, str]:
    """Return a static pod manifest's flags, with the last value of each."""
    found = re.findall(r"""^\s*- ["']?--([a-z0-9-]+)=([^\n]*?)["']?\s*$""", text, re.MULTILINE)
    return dict(found)


def _values(text: str, name: str) -> list[str]:
    return re.findall(_line(name), text)


def _line(name: str) -> str:
    return rf"""(?<![\w-])["']?{name}["']?\s*:\s*["']?([A-Za-z0-9+/=]+)"""


def _decoded(values: t.Sequence[str], path: str) -> str:
    try:
        return "".join(base64.b64decode(each, validate=True).decode() for each in values)
    except (ValueError, binascii.Error) as error:
        raise NodeError(
            f"{path} holds certificate data that is no base64 of text.", "Nothing was changed. Correct it."
        ) from error


def _kubeconfig(text: str, path: str, change: Change) -> str:
    wanted = {_AUTHORITY: change.authorities, _CERTIFICATE: change.certificate, _KEY: change.key}
    for name, value in wanted.items():
        if not value:
            continue
        count = len(_values(text, name))
        if count != 1:
            raise NodeError(
                f"{path} has {name} {count} times, and kubeadm's kubeconfigs have it once.",
                "It was not changed. Put the certificates into the file itself, for one cluster and one user, then try again.",
            )
        [place] = re.finditer(_line(name), text)
        text = text[: place.start(1)] + base64.b64encode(value.encode()).decode() + text[place.end(1) :]
    return text


def _manifest(text: str, path: str, wanted: t.Mapping[str, str]) -> str:
    for name, value in wanted.items():
        line = re.compile(rf"""^(\s*- )(["']?)--{re.escape(name)}=.*$""", re.MULTILINE)
        places = list(line.finditer(text))
        if len(places) != 1:
            raise NodeError(
                f"{path} does not have the flag --{name} exactly once.",
                "It was not changed. Put kubeadm's manifest back.",
            )
        found = places[0]
        text = f"{text[: found.start()]}{found.group(1)}{found.group(2)}--{name}={value}{found.group(2)}{text[found.end() :]}"
    return text


def _read(path: str, missing: t.Optional[str] = None) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read(_MOST_BYTES + 1)
    except FileNotFoundError:
        if missing is not None:
            return missing
        raise NodeError(f"{path} is not there.", "Check that this machine is a node of kubeadm's.") from None
    except (OSError, UnicodeDecodeError) as error:
        raise NodeError(f"{path} can't be read: {error}.", remedy(path, error)) from error
    if len(text) > _MOST_BYTES:
        raise NodeError(
            f"{path} is larger than {_MOST_BYTES} bytes: it holds something else than certificates.", "Look what it is."
        )
    return text


def _write(path: str, text: str, secret: bool) -> None:
    try:
        known: t.Optional[os.stat_result] = os.stat(path)
    except FileNotFoundError:
        known = None
    mode = stat.S_IMODE(known.st_mode) if known else (0o600 if secret else 0o644)
    if secret:
        mode &= 0o700
    uid, gid = (known.st_uid, known.st_gid) if known else (-1, -1)
    if not os.path.islink(path):
        guard.write_atomically(path, text.encode(), mode, uid, gid)
        return
    # The kubelet's way: each certificate has a file of its own, and a link leads to the one in use.
    folder, name = os.path.split(path)
    stem = name.replace("-current.pem", "")
    target = os.path.join(folder, f"{stem}-{time.strftime('%Y-%m-%d-%H-%M-%S', time.gmtime())}-{os.getpid()}.pem")
    guard.write_atomically(target, text.encode(), mode, uid, gid)
    partial = os.path.join(folder, f".{name}.{os.getpid()}.partial")
    with contextlib.suppress(FileNotFoundError):
        os.unlink(partial)
    os.symlink(target, partial)
    os.rename(partial, path)
    guard.sync_directory(folder)


def _remove(path: str, check: bool) -> bool:
    if not os.path.lexists(path):
        return False
    if not check:
        os.unlink(path)
        guard.sync_directory(os.path.dirname(path))
    return True
