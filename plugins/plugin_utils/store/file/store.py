# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The file store: a directory with one YAML file an object (docs/store.md).

``<directory>/<namespace>/<kind>.<group>/<name>.yaml``. Secrets are 0600 in folders of 0700, other files 0640. Readers
take no lock: a file is always whole. Writers of all processes take turns by a lock on ``<directory>/.lock``.
"""

from __future__ import annotations

import contextlib
import os
import stat
import time
import typing as t
import uuid

from ....module_utils.common.values import now_rfc3339
from ...objects import origin
from ...processes.failpoints import around
from .. import base, yaml_text
from ..base import KindRef, Object, Objects
from ..read_once import View
from . import disk
from .layout import OWN_FIELDS, SECRET, identity, kind_folder, object_path, wrong_in

FORMAT_VERSION = 1
FORMAT_FILE = "store.yaml"
LOCK_FILE = ".lock"
VAULT_HEADER = b"$ANSIBLE_VAULT;"

Names = list[str]
# Ansible's VaultLib.encrypt and VaultLib.decrypt fit.
Cipher = t.Callable[[bytes], t.Union[bytes, str]]


class FileStore(base.Store):
    """Store of objects in a directory, which the first write creates.

    Args:
        directory: the store's directory; made on the first write, its parent must exist.
        encrypt: turns the text of a Secret into what is written; plain text where not given.
        decrypt: the reverse; needed as soon as one Secret is encrypted.
        clock: gives the time as RFC 3339 in UTC with seconds, for creationTimestamp and deletionTimestamp.
    """

    def __init__(
        self,
        directory: str,
        encrypt: Cipher | None = None,
        decrypt: Cipher | None = None,
        clock: t.Callable[[], str] | None = None,
    ) -> None:
        self.directory = os.path.abspath(os.path.expanduser(str(directory)))
        self._encrypt = encrypt
        self._decrypt = decrypt
        self._clock = clock or now_rfc3339
        self._format_checked = False
        self._view: View | None = None

    def journal_directory(self) -> str | None:
        """Return the store's own directory."""
        return self.directory

    @contextlib.contextmanager
    def view(self, whole: str | None = None) -> t.Iterator[None]:
        """Read each file once within the view, if ``whole`` is given."""
        if whole is None or self._view is not None:
            yield
            return
        self._view = View(whole)
        try:
            yield
        finally:
            self._view = None

    def get(self, kind_ref: KindRef, namespace: str, name: str) -> Object | None:
        """Return a copy of the object, or None where there is none."""
        path = object_path(self.directory, kind_ref, namespace, name)
        if not self._exists():
            return None
        if self._view is not None and self._in_view(self._view, kind_ref, namespace):
            return self._view.get(kind_ref, namespace, name)
        return self._read(path, kind_ref, namespace, name)

    def list(
        self, kind_ref: KindRef, namespace: str | None = None, labels: t.Mapping[str, str] | None = None
    ) -> Objects:
        """Return the objects of a kind with all of ``labels``, sorted."""
        if self._view is not None and self._in_view(self._view, kind_ref, namespace):
            return self._view.list(kind_ref, namespace, labels) or []
        return self._listed(kind_ref, namespace, labels)

    def _in_view(self, view: View, kind_ref: KindRef, namespace: str | None) -> bool:
        asked_for = view.widened(namespace, None)[0]
        if view.lists(kind_ref, asked_for):
            return True
        if (kind_ref, asked_for) in view.unreadable:
            return False
        try:
            view.keep_list(kind_ref, asked_for, None, self._listed(kind_ref, asked_for, None))
        except base.StoreError:
            # A file that is damaged is told to who asks for what is in it, and to nobody else.
            view.unreadable.add((kind_ref, asked_for))
            return False
        return True

    def _listed(self, kind_ref: KindRef, namespace: str | None, labels: t.Mapping[str, str] | None) -> Objects:
        found = []
        folder_name = kind_folder(kind_ref)
        for each, name in self.names(kind_ref, namespace):
            path = f"{self.directory}/{each}/{folder_name}/{name}.yaml"
            if labels and disk.is_anothers(path, labels):
                continue
            # Gone meanwhile is no error: it was deleted while the folder was read.
            obj = self._read(path, kind_ref, each, name)
            if obj is not None and _has_labels(obj, labels or {}):
                found.append(obj)
        return found

    def names(self, kind_ref: KindRef, namespace: str | None = None) -> t.Sequence[tuple[str, str]]:
        """Return namespace and name of a kind's objects, damaged files included."""
        folder_name = kind_folder(kind_ref)
        if namespace is not None:
            base.check_namespace(namespace)
        if not self._exists():
            return []
        found = []
        for each in [namespace] if namespace is not None else self._namespaces():
            for file_name in disk.names_in(os.path.join(self.directory, each, folder_name)):
                name, extension = os.path.splitext(file_name)
                if extension == ".yaml" and base.is_subdomain(name):
                    found.append((each, name))
        return found

    def create(self, obj: Object) -> Object:
        """Store a new object and return it as stored."""
        obj = base.plain_object(obj)
        kind_ref, namespace, name = identity(obj)
        path = object_path(self.directory, kind_ref, namespace, name)
        (metadata := obj["metadata"]).pop("deletionTimestamp", None)
        # Counted on from the time, so that an object made anew never gets a version that its predecessor had.
        metadata.update(
            uid=str(uuid.uuid4()),
            resourceVersion=str(time.time_ns() // 1000),
            generation=1,
            creationTimestamp=origin.created(metadata) or self._clock(),
        )
        with self.writing():
            if self._read(path, kind_ref, namespace, name) is not None:
                raise base.AlreadyExists(
                    f"{base.describe(kind_ref, namespace, name)} exists already",
                    path,
                    "an object is created once and then updated",
                    "Nothing was written. Read it and update it, or delete it first.",
                )
            self._make_folders(kind_ref, namespace)
            self._write(path, kind_ref, obj)
        return obj

    def update(self, obj: Object) -> Object:
        """Replace an object where it differs, and return it as stored."""
        obj = base.plain_object(obj)
        kind_ref, namespace, name = identity(obj)
        path = object_path(self.directory, kind_ref, namespace, name)
        with self.writing():
            stored = self._read(path, kind_ref, namespace, name)
            if stored is None:
                raise base.not_found(kind_ref, namespace, name)
            metadata, current = obj["metadata"], stored["metadata"]
            base.check_unchanged(kind_ref, stored, metadata.get("resourceVersion"), metadata.get("uid"))
            base.check_deletion_untouched(kind_ref, metadata, current)
            for field in OWN_FIELDS:
                metadata[field] = current[field]
            if obj == stored:
                return stored
            if current.get("deletionTimestamp") and not metadata.get("finalizers"):
                self._remove(path, kind_ref)
                return obj
            if obj.get("spec") != stored.get("spec"):
                metadata["generation"] = int(current["generation"]) + 1
            metadata["resourceVersion"] = str(int(current["resourceVersion"]) + 1)
            self._write(path, kind_ref, obj)
        return obj

    def delete(
        self, kind_ref: KindRef, namespace: str, name: str, resource_version: str | None = None
    ) -> Object | None:
        """Delete an object; return None, or the object awaiting its finalizers."""
        path = object_path(self.directory, kind_ref, namespace, name)
        if not self._exists():
            raise base.not_found(kind_ref, namespace, name)
        with self.writing():
            stored = self._read(path, kind_ref, namespace, name)
            if stored is None:
                raise base.not_found(kind_ref, namespace, name)
            metadata = stored["metadata"]
            if resource_version is not None:
                base.check_unchanged(kind_ref, stored, resource_version, None)
            if not metadata.get("finalizers"):
                self._remove(path, kind_ref)
                return None
            if not metadata.get("deletionTimestamp"):
                metadata.update(
                    deletionTimestamp=self._clock(),
                    generation=int(metadata["generation"]) + 1,
                    resourceVersion=str(int(metadata["resourceVersion"]) + 1),
                )
                self._write(path, kind_ref, stored)
            return stored

    def seal_secrets(self) -> int:
        """Rewrite Secrets that aren't encrypted as configured; return how many."""
        changed = 0
        for secret in self.list(SECRET):
            metadata = secret["metadata"]
            path = object_path(self.directory, SECRET, metadata["namespace"], metadata["name"])
            with self.writing():
                raw = disk.read_file(path)
                current = self._read(path, SECRET, metadata["namespace"], metadata["name"])
                if raw is None or current is None or raw.startswith(VAULT_HEADER) == (self._encrypt is not None):
                    continue
                self._write(path, SECRET, current)
                changed += 1
        return changed

    def _namespaces(self) -> Names:
        return [each for each in disk.names_in(self.directory) if base.is_subdomain(each) and "." not in each]

    def _exists(self) -> bool:
        """Return whether the directory is a store; refuse foreign or newer ones."""
        if self._format_checked:
            return True
        marker = os.path.join(self.directory, FORMAT_FILE)
        raw = disk.read_file(marker)
        if raw is None:
            self._refuse_foreign_directory()
            return False
        try:
            version = int(yaml_text.from_yaml(raw.decode("utf-8"))["formatVersion"])
        except (ValueError, KeyError, TypeError) as error:
            raise base.StoreError(
                "the store's format file can't be read",
                marker,
                f"it must say formatVersion: {FORMAT_VERSION}",
                "Nothing was read or written. Check that the path is a store; if it is, restore that file from a backup.",
            ) from error
        if version != FORMAT_VERSION:
            raise base.StoreError(
                f"the store has format {version}",
                marker,
                f"this release of the collection reads format {FORMAT_VERSION}; another release wrote the store",
                "Nothing was read or written. Use the release of kubeadm.control_plane that wrote it, or a newer one.",
            )
        self._format_checked = True
        return True

    def _refuse_foreign_directory(self) -> None:
        if os.path.lexists(self.directory) and not os.path.isdir(self.directory):
            raise base.StoreError(
                "the store's path is not a directory",
                self.directory,
                "the store is a directory of YAML files",
                "Nothing was read or written. Give the store's directory.",
            )
        others = [each for each in disk.names_in(self.directory) if each not in (LOCK_FILE, "lost+found")]
        # Looked for again, after the names: another run may be making the store, and that file comes first.
        if others and not os.path.lexists(os.path.join(self.directory, FORMAT_FILE)):
            raise base.StoreError(
                "the directory is not a store",
                self.directory,
                f"it has no {FORMAT_FILE} but holds other things, such as {others[0]}",
                "Nothing was read or written. Give the store's own directory, or an empty or new one.",
            )

    @contextlib.contextmanager
    def writing(self) -> t.Iterator[None]:
        """Hold the writers' lock of the store, which is created where missing.

        Not re-entrant: create, update and delete take it themselves. Raises :class:`base.StoreError` after 30 s.
        """
        parent = os.path.dirname(self.directory)
        if not os.path.isdir(parent):
            raise base.StoreError(
                "the store can't be made",
                self.directory,
                f"the folder {parent} does not exist; it isn't made, since it may be a file system that isn't mounted",
                f"Nothing was written. Mount it, correct the path, or make it: mkdir -p {parent}",
            )
        if self._view is not None:
            self._view.forget()
        # Looked at anew: the directory may have been removed, or replaced, since it was read.
        self._format_checked = False
        self._exists()
        disk.make_folder(self.directory, disk.SECRET_FOLDER_MODE)
        with disk.locked(os.path.join(self.directory, LOCK_FILE)):
            if not self._exists():
                disk.remove_leftovers(self.directory)
                text = f"# A store of kubeadm.control_plane: its objects, journals and locks.\nformatVersion: {FORMAT_VERSION}\n"
                disk.write_file(os.path.join(self.directory, FORMAT_FILE), text.encode(), 0o640)
            self._before_write()
            yield

    def _make_folders(self, kind_ref: KindRef, namespace: str) -> None:
        folder = os.path.join(self.directory, namespace)
        disk.make_folder(folder, 0o750)
        mode = disk.SECRET_FOLDER_MODE if kind_ref == SECRET else 0o750
        disk.make_folder(os.path.join(folder, kind_folder(kind_ref)), mode)

    def _write(self, path: str, kind_ref: KindRef, obj: Object) -> None:
        disk.remove_leftovers(os.path.dirname(path))
        data = yaml_text.to_yaml(obj).encode("utf-8")
        if kind_ref == SECRET and self._encrypt is not None:
            sealed = self._encrypt(data)
            data = sealed.encode("utf-8") if isinstance(sealed, str) else sealed
        with around(f"store write {kind_ref[1]}"):
            disk.write_file(path, data, disk.SECRET_FILE_MODE if kind_ref == SECRET else 0o640)

    @staticmethod
    def _remove(path: str, kind_ref: KindRef) -> None:
        with around(f"store remove {kind_ref[1]}"):
            disk.remove_file(path)

    def _read(self, path: str, kind_ref: KindRef, namespace: str, name: str) -> Object | None:
        raw = disk.read_file(path)
        if raw is None:
            return None
        if kind_ref == SECRET:
            _tighten(path)
        if raw.startswith(VAULT_HEADER):
            raw = self._decrypted(raw, path)
        try:
            obj: Object = yaml_text.from_yaml(raw.decode("utf-8"))
        except UnicodeDecodeError as error:
            raise _damaged(path, "it is not UTF-8 text") from error
        except ValueError as error:
            # The parser's words may quote the line, and a Secret's line is secret.
            raise _damaged(path, "it is not valid YAML" if kind_ref == SECRET else str(error)) from None
        if wrong := wrong_in(obj, kind_ref, namespace, name):
            raise _damaged(
                path, f"it is not the {base.describe(kind_ref, namespace, name)} as the store wrote it: {wrong}"
            )
        return obj

    def _decrypted(self, raw: bytes, path: str) -> bytes:
        if self._decrypt is None:
            raise base.StoreError(
                "a Secret of the store is encrypted",
                path,
                "it was written with ansible-vault and this run has no vault password",
                "Nothing was written. Give --vault-password-file, --vault-id or --ask-vault-pass.",
            )
        try:
            opened = self._decrypt(raw)
        except Exception as error:
            # Whatever the vault raises; its words may hold parts of what it decrypted.
            raise base.StoreError(
                "a Secret of the store can't be decrypted",
                path,
                f"the vault refused it ({type(error).__name__}): the password is not the one it was written with, or the file is damaged",
                "Nothing was written. Give the right vault password, or restore the file from a backup.",
            ) from None
        return opened.encode("utf-8") if isinstance(opened, str) else opened


def _has_labels(obj: Object, labels: t.Mapping[str, str]) -> bool:
    own = obj["metadata"].get("labels") or {}
    return all(key in own and own[key] == value for key, value in labels.items())


def _damaged(path: str, why: str) -> base.StoreError:
    return base.StoreError(
        "a file of the store is damaged",
        path,
        why,
        "Nothing was changed. Restore this one file from a backup or version control, or correct it by hand.",
    )


def _tighten(path: str) -> None:
    # Version control and copies loosen modes; a Secret that others can read is made private again.
    with contextlib.suppress(OSError):
        if stat.S_IMODE(os.stat(path).st_mode) & 0o077:
            os.chmod(path, disk.SECRET_FILE_MODE)
