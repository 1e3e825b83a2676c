# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reader of the kubeconfig of a store's API, merged as by kubectl.

The ``kubernetes`` client reads them otherwise: of several files the last ``current-context`` counts, paths of a user are relative to the
cluster's file, a user that isn't there counts as none, and whom to act as is not read.
"""

from __future__ import annotations

import base64
import binascii
import os
import typing as t

from .. import yaml_text

DEFAULT_PATH = "~/.kube/config"
_LISTS = {"clusters": "cluster", "users": "user", "contexts": "context"}


class NoKubeconfig(Exception):
    """Reason why a kubeconfig can't be used, and its ``fix``, if known.

    Its message quotes nothing of the file's content but names.
    """

    def __init__(self, why: str, fix: str = "") -> None:
        super().__init__(why)
        self.fix = fix


class Entry(t.NamedTuple):
    """Cluster, user or context of a kubeconfig, with its file's path."""

    name: str
    fields: t.Mapping[str, t.Any]
    file: str

    def path(self, value: str) -> str:
        """Return a path relative to the folder of the entry's file."""
        return os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(self.file)), value))

    def text(self, field: str) -> str:
        """Return a text field, "" where it isn't given. Raises NoKubeconfig."""
        value = self.fields.get(field)
        if value is None:
            return ""
        if not isinstance(value, str):
            raise NoKubeconfig(f"{field} of {self.name} is no text")
        return value

    def flag(self, field: str) -> bool:
        """Return a boolean field, False where it isn't given. Raises NoKubeconfig."""
        value = self.fields.get(field) or False
        if not isinstance(value, bool):
            raise NoKubeconfig(f"{field} of {self.name} is neither true nor false")
        return value

    def content(self, field: str) -> str:
        """Return the text of ``<field>-data``, or of the file in ``<field>``.

        "" where there is neither. Raises NoKubeconfig.
        """
        encoded = self.text(f"{field}-data")
        if encoded:
            try:
                # Else Python leaves out what is no base64, and nothing may be left: an authority would not count.
                return base64.b64decode("".join(encoded.split()), validate=True).decode()
            except (binascii.Error, ValueError) as error:
                raise NoKubeconfig(f"{field}-data of {self.name} is no base64 of a PEM text") from error
        name = self.text(field)
        return read_text(self.path(name), f"{field} of {self.name}") if name else ""


class Kubeconfig(t.NamedTuple):
    """Chosen context of a kubeconfig, with its cluster and user."""

    where: str
    context: str
    cluster: Entry
    user: Entry


def paths_of(value: t.Optional[str]) -> list[str]:
    """Return the kubeconfig paths of a setting, ``KUBECONFIG``, or the default.

    Several are separated as in PATH.
    """
    listed = value or os.environ.get("KUBECONFIG") or DEFAULT_PATH
    return [os.path.abspath(os.path.expanduser(each)) for each in listed.split(os.pathsep) if each]


def read_text(path: str, what: str) -> str:
    """Return a file's text.

    Raises NoKubeconfig that names the file.
    """
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else type(error).__name__
        raise NoKubeconfig(f"{what} can't be read: {path}: {why}") from error


def read(value: t.Optional[str], context: t.Optional[str] = None) -> Kubeconfig:
    """Read the kubeconfig files and return the chosen context.

    Args:
        value: the file, or several; the environment's or the default one where it isn't given.
        context: its name, where it isn't the current one.

    Raises:
        NoKubeconfig: there is none, or it can't be understood; the first file that sets something wins, as with kubectl.
    """
    paths = paths_of(value)
    found = [path for path in paths if os.path.lexists(path)]
    if not found:
        raise NoKubeconfig(f"there is no such file{'' if value else f': {os.pathsep.join(paths)}'}")
    documents = [(path, _document(path, len(paths) > 1)) for path in found]
    if not any(document for _path, document in documents):
        raise NoKubeconfig("it is empty" if len(found) == 1 else "they are empty")
    entries: dict[str, dict[str, Entry]] = {part: {} for part in _LISTS}
    current = ""
    for path, document in documents:
        for part, key in _LISTS.items():
            for entry in _entries(document, part, key, path):
                entries[part].setdefault(entry.name, entry)
        current = current or Entry("the kubeconfig", document, path).text("current-context")
    name = context or current
    if not name:
        known = ", ".join(sorted(entries["contexts"])) or "none"
        raise NoKubeconfig(f"it has no current-context: give store.context (contexts in it: {known})")
    chosen = _named(entries, "contexts", name, "asked for" if context else "its current-context")
    cluster = _named(entries, "clusters", chosen.text("cluster"), f"of context {name}")
    user = Entry("", {}, chosen.file)
    if chosen.text("user"):
        user = _named(entries, "users", chosen.text("user"), f"of context {name}")
    return Kubeconfig(os.pathsep.join(found), name, cluster, user)


def _document(path: str, several: bool) -> dict[str, t.Any]:
    of_file = f"{path}: " if several else ""
    text = read_text(path, "the file")
    try:
        document = yaml_text.from_yaml(text)
    except yaml_text.NoYaml as error:
        # The error's own text would quote the file, which is full of keys.
        raise NoKubeconfig(f"{of_file}it is no YAML" + (f" (line {error.line})" if error.line else "")) from None
    if document is None:
        return {}
    if not isinstance(document, dict):
        raise NoKubeconfig(f"{of_file}it is no kubeconfig")
    return document


def _entries(document: t.Mapping[str, t.Any], part: str, key: str, path: str) -> t.Iterator[Entry]:
    listed = document.get(part) or []
    if not isinstance(listed, list):
        raise NoKubeconfig(f"it is no kubeconfig: {part} is no list")
    names = set()
    for each in listed:
        fields = each.get(key) or {} if isinstance(each, dict) else None
        if not isinstance(fields, dict) or not each.get("name"):
            raise NoKubeconfig(f"it is no kubeconfig: {part} has an entry without a name, or one whose {key} is none")
        if str(each["name"]) in names:
            raise NoKubeconfig(f"it has the name {each['name']} twice in {part}")
        names.add(str(each["name"]))
        yield Entry(str(each["name"]), fields, path)


def _named(entries: t.Mapping[str, t.Mapping[str, Entry]], part: str, name: str, why: str) -> Entry:
    if name not in entries[part]:
        known = ", ".join(sorted(entries[part])) or "none"
        raise NoKubeconfig(
            f"the {_LISTS[part]} {name or '(without a name)'} ({why}) is not in it ({part} in it: {known})"
        )
    return entries[part][name]
