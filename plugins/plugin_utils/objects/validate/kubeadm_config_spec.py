# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules of a KubeadmConfigSpec's own fields: files, users, commands and names.

They are the fields beside kubeadm's parts.
"""

from __future__ import annotations

import base64
import binascii
import re
import zlib
from collections.abc import Mapping
from typing import Any

from ....module_utils.common.violations import Report, child, item
from .limits import ENCODINGS

LARGEST_FILE = 10 * 1024 * 1024
COMPONENT_CONFIGS: Mapping[str, tuple[str, str]] = {
    "kubeletConfiguration": ("kubelet.config.k8s.io/v1beta1", "KubeletConfiguration"),
    "kubeProxyConfiguration": ("kubeproxy.config.k8s.io/v1alpha1", "KubeProxyConfiguration"),
}

_PERMISSIONS = re.compile(r"0?[0-7]{3,4}")
# What useradd creates with --badname at most: no name of digits alone, which is read as an id, and nothing that could be an option,
# a path or a separator in the user database, the sudo rules or an owner.
# sudoers has words of its own where a user's name stands.
_USER = re.compile(
    r"(?!(?:[0-9]+|ALL|Defaults|(?:User|Host|Runas|Cmnd|Cmd)_Alias)(?:[:]|$))[A-Za-z0-9_][A-Za-z0-9_.-]{0,30}[A-Za-z0-9_.$-]?"
)
_OWNER = re.compile(rf"{_USER.pattern}(:{_USER.pattern})?|[0-9]{{1,9}}(:[0-9]{{1,9}})?")


def decode_content(content: bytes, encoding: str) -> bytes:
    """Return a file's bytes from its encoded content.

    ValueError states what is wrong. At most 10 MB after decompression.
    """
    try:
        data = base64.b64decode(b"".join(content.split()), validate=True) if "base64" in encoding else content
    except (binascii.Error, ValueError):
        raise ValueError("the content is not base64") from None
    if not encoding.startswith("gzip"):
        return data
    inflater = zlib.decompressobj(16 + zlib.MAX_WBITS)
    try:
        plain = inflater.decompress(data, LARGEST_FILE + 1)
    except zlib.error:
        raise ValueError("the content is not gzip") from None
    if len(plain) > LARGEST_FILE:
        raise ValueError("the content is larger than 10 MB when it is unpacked")
    if not inflater.eof:
        raise ValueError("the gzip content ends too early")
    return plain


def validate_config(config: Mapping[str, Any], path: str, report: Report) -> None:
    """Check the own fields of a hub KubeadmConfigSpec at `path`.

    They are format, files, users, commands and component configurations. Their templates are filled in.
    """
    if config.get("format") == "ignition":
        rule = "ignition is not supported, machines are set up over Ansible's connection"
        report.add(child(path, "format"), config["format"], rule, "Remove format.")
    verbosity = config.get("verbosity")
    if verbosity is not None and not 0 <= verbosity <= 10:
        report.add(child(path, "verbosity"), verbosity, "kubeadm's verbosity is between 0 and 10", "Use 0 to 10.")
    _files(config, path, report)
    _users(config, path, report)
    for field in ("preKubeadmCommands", "postKubeadmCommands"):
        for index, command in enumerate(config.get(field) or []):
            if not command.strip():
                report.add(item(child(path, field), index), None, "the command is empty", "Remove it.")
    for field, (api_version, kind) in COMPONENT_CONFIGS.items():
        _component_config(config.get(field), child(path, field), api_version, kind, report)


def _files(config: Mapping[str, Any], path: str, report: Report) -> None:
    seen: set[str] = set()
    for index, file in enumerate(config.get("files") or []):
        where = item(child(path, "files"), index)
        name = file.get("path") or ""
        if not name.startswith("/") or name.endswith("/") or ".." in name.split("/"):
            fix = "Write the file's full path, without '..'."
            report.add(child(where, "path"), name or None, "a file's path is absolute", fix)
        elif name in seen:
            report.add(child(where, "path"), name, "another entry of files has the same path", "Merge the two.")
        seen.add(name)
        permissions, owner, encoding = file.get("permissions"), file.get("owner"), file.get("encoding")
        if permissions is not None and not _PERMISSIONS.fullmatch(permissions):
            report.add(
                child(where, "permissions"), permissions, "permissions are octal digits", 'Write them like "0644".'
            )
        if owner is not None and not _OWNER.fullmatch(owner):
            report.add(child(where, "owner"), owner, "an owner is user or user:group", 'Write it like "root:root".')
        if file.get("contentFormat") == "Template" and encoding in ENCODINGS:
            report.warn(child(where, "contentFormat"), "an encoded content is not rendered, in Cluster API neither")
        if encoding in (None, *ENCODINGS):
            _content(file, where, report)


def _content(file: Mapping[str, Any], path: str, report: Report) -> None:
    source, encoding = file.get("contentFrom"), file.get("encoding") or ""
    if source is not None and file.get("content"):
        fix = "Keep content or contentFrom."
        report.add(child(path, "contentFrom"), None, "content and contentFrom exclude each other", fix)
    if source is not None:
        _secret_source(source, child(path, "contentFrom"), report)
    elif encoding == "gzip":
        rule = "gzip is binary, which text in a manifest cannot be"
        report.add(child(path, "encoding"), encoding, rule, "Use gzip+base64, or contentFrom a Secret.")
    elif encoding:
        try:
            decode_content((file.get("content") or "").encode(), encoding)
        except ValueError as error:
            report.add(
                child(path, "content"), None, str(error), f"Encode the content as {encoding}, or correct encoding."
            )


def _secret_source(source: Mapping[str, Any], path: str, report: Report) -> None:
    for key in ("name", "key"):
        if not (source.get("secret") or {}).get(key):
            where = child(path, "secret", key)
            report.add(
                where,
                None,
                f"the reference to a Secret has no {key}",
                "Give the Secret's name and the key in its data.",
            )


def _users(config: Mapping[str, Any], path: str, report: Report) -> None:
    seen: set[str] = set()
    for index, user in enumerate(config.get("users") or []):
        where = item(child(path, "users"), index)
        name = user.get("name") or ""
        if not _USER.fullmatch(name):
            fix = "Use at most 32 letters, digits, '_', '-' and '.', beginning with a letter, a digit or '_', and not digits alone."
            report.add(child(where, "name"), name or None, "this is not a user name", fix)
        elif name in seen:
            report.add(child(where, "name"), name, "another entry of users has the same name", "Merge the two.")
        seen.add(name)
        for field in ("homeDir", "shell"):
            if user.get(field) and not user[field].startswith("/"):
                report.add(child(where, field), user[field], "this path is not absolute", "Begin it with '/'.")
        if user.get("passwdFrom") is not None:
            if user.get("passwd"):
                fix = "Keep one of them."
                report.add(child(where, "passwdFrom"), None, "passwd and passwdFrom exclude each other", fix)
            _secret_source(user["passwdFrom"], child(where, "passwdFrom"), report)
        for field in ("passwd", "gecos", "homeDir", "shell"):
            if re.search(r"[:\n]", user.get(field) or ""):
                report.add(
                    child(where, field), None, "':' and line breaks would break the user database", "Remove them."
                )


def _component_config(config: Any, path: str, api_version: str, kind: str, report: Report) -> None:
    for key, expected in (("apiVersion", api_version), ("kind", kind)):
        if config is not None and config.get(key, expected) != expected:
            shown = config[key] if isinstance(config[key], str) else None
            report.add(
                child(path, key),
                shown,
                f"this document is a {kind} of {api_version}",
                f"Write {expected}, or leave it out.",
            )
