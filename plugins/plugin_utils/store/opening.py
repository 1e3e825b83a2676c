# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Opening of the store that options name: objects, locks and journals (docs/store.md)."""

from __future__ import annotations

import errno
import importlib
import json
import os
import typing as t
import urllib.parse

from . import lasting
from .base import Store, StoreError
from .file.store import Cipher, FileStore
from .lock.any_store import FileLocks, Locks

FILE, KUBERNETES = "file", "kubernetes"
FORBIDDEN, NOT_FOUND = 403, 404
Options = t.Mapping[str, t.Any]

# kubernetes.core's names; what isn't given is taken from its environment variables.
CONNECTION_SPEC: dict[str, t.Any] = {
    "kubeconfig": {"type": "path"},
    "context": {"type": "str"},
    "host": {"type": "str"},
    "api_key": {"type": "str", "no_log": True},
    "username": {"type": "str"},
    "password": {"type": "str", "no_log": True},
    "client_cert": {"type": "path", "aliases": ["cert_file"]},
    "client_key": {"type": "path", "no_log": False, "aliases": ["key_file"]},
    "ca_cert": {"type": "path", "aliases": ["ssl_ca_cert"]},
    "validate_certs": {"type": "bool", "aliases": ["verify_ssl"]},
    "proxy": {"type": "str"},
    "no_proxy": {"type": "str"},
    "proxy_headers": {
        "type": "dict",
        "options": {
            "proxy_basic_auth": {"type": "str", "no_log": True},
            "basic_auth": {"type": "str", "no_log": True},
            "user_agent": {"type": "str"},
        },
    },
    "impersonate_user": {"type": "str"},
    "impersonate_groups": {"type": "list", "elements": "str"},
    "persist_config": {"type": "bool"},
    "in_cluster": {"type": "bool", "default": False},
}
# Every name by which an option is known.
NAMES = {each: name for name, option in CONNECTION_SPEC.items() for each in (name, *option.get("aliases", ()))}
STORE_SPEC: dict[str, t.Any] = {
    "type": "dict",
    "required": True,
    "options": {
        "type": {"type": "str", "default": FILE, "choices": [FILE, KUBERNETES]},
        "path": {"type": "path"},
        "encrypt_secrets": {"type": "bool", "default": False},
        "export": {"type": "path"},
        **CONNECTION_SPEC,
    },
}


_NOT_WRITABLE = (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT)
# Less than the objects of any cluster take.
_ROOM = 16 * 1024


def open_store(
    options: Options,
    encrypt: t.Optional[Cipher] = None,
    decrypt: t.Optional[Cipher] = None,
    patience_seconds: float = 0.0,
) -> Store:
    """Return the store that the options name.

    Args:
        options: as STORE_SPEC has them.
        encrypt: encrypts a Secret's file.
        decrypt: the reverse.
        patience_seconds: for how long an API that doesn't answer is asked again.

    Raises:
        StoreError: the options contradict each other, or there are no credentials.
    """
    check(options)
    if not is_kubernetes(options):
        return FileStore(options["path"], encrypt=encrypt, decrypt=decrypt)
    return t.cast(
        Store, _module("kubernetes.store").KubernetesStore(_api(options, patience_seconds), journal_directory(options))
    )


def open_locks(options: Options, patience_seconds: float = 0.0, owner: str = "") -> Locks:
    """Return the locks of the store's clusters.

    ``patience_seconds`` is as of :func:`open_store`; ``owner`` is the inventory host that takes them.
    """
    check(options)
    if not is_kubernetes(options):
        return FileLocks(options["path"], owner)
    locks = _module("lock.lease_lock").LeaseLocks(_api(options, patience_seconds), connection(options), owner=owner)
    return t.cast(Locks, locks)


def refuse_others(options: Options, patience_seconds: float = 0.0) -> None:
    """Raise StoreError where Cluster API's controllers manage the same objects.

    They run in the store's API. Called when a run starts.
    """
    if is_kubernetes(options):
        package = "ansible_collections.kubeadm.control_plane.plugins.plugin_utils.management.recognition"
        importlib.import_module(package).refuse_cluster_api(_api(options, patience_seconds))


def unwritable(options: Options, namespace: str) -> str:
    """Return why the store's folder is not writable, "" where it is.

    For objects in an API that folder holds the journals.
    """
    folder = journal_directory(options)
    parent = os.path.dirname(folder)
    if not os.path.isdir(parent):
        # It may be a file system that isn't mounted: a run makes no such folder.
        return f"nothing can be written to the store {folder}: the folder {parent} does not exist"
    places = [each for each in (folder, os.path.join(folder, namespace)) if os.path.lexists(each)] or [parent]
    for place in places:
        why = _refuses_files(place)
        if why:
            return f"nothing can be written to the store {folder} ({place}: {why})"
    return ""


def _refuses_files(folder: str) -> str:
    if not os.path.isdir(folder):
        return "it is not a folder"
    try:
        # A file without a name, which leaves no trace: rights alone say nothing of a file system that is mounted read-only, or is full.
        file = os.open(folder, getattr(os, "O_TMPFILE", os.O_RDONLY) | os.O_WRONLY, 0o600)
        try:
            os.write(file, bytes(_ROOM))
        finally:
            os.close(file)
    except OSError as error:
        if error.errno in _NOT_WRITABLE:
            return str(error.strerror)
        # Not every file system has such files.
        return "" if os.access(folder, os.W_OK | os.X_OK) else os.strerror(errno.EACCES)
    return ""


def require_writable(options: Options, namespace: str, patience_seconds: float = 0.0) -> None:
    """Raise StoreError where these credentials can't write to the store.

    For callers that only report what a run would do.
    """
    check(options)
    lasting.require(options)
    fix = "Nothing was done. Name another folder in the inventory's option store, or make this one writable for the user who runs Ansible."
    problem = unwritable(options, namespace)
    if problem:
        raise StoreError(
            problem, "store.path", "a run keeps the cluster's objects, its lock and its journal there", fix
        )
    if not is_kubernetes(options):
        return
    api = _api(options, patience_seconds)
    # What a run writes first of all is its lock.
    asked = {"namespace": namespace, "verb": "create", "group": "coordination.k8s.io", "resource": "leases"}
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": asked},
    }
    path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    answer = api.send("create", path, review, accepted=(FORBIDDEN, NOT_FOUND))
    if answer.status in (FORBIDDEN, NOT_FOUND) or (answer.document.get("status") or {}).get("allowed") is not False:
        return
    raise StoreError(
        f"these credentials may not write to the store's Kubernetes API in the namespace {namespace}",
        str(api.host),
        "a run can't even take its lock there (create leases.coordination.k8s.io)",
        "Nothing was done. Give the credentials of a runner (playbook kubeadm.control_plane.install with control_plane_install_runners).",
    )


def require_namespace(options: Options, namespace: str, patience_seconds: float = 0.0) -> None:
    """Raise StoreError where the store's API is known to lack a namespace.

    Nothing can be created there. For callers that only report what a run would do.

    Credentials that may not read namespaces, such as a runner's with the Role of ``install``, get no error.
    """
    if not is_kubernetes(options):
        return
    api = _api(options, patience_seconds)
    if api.send("get", f"/api/v1/namespaces/{namespace}", accepted=(FORBIDDEN, NOT_FOUND)).status == NOT_FOUND:
        raise StoreError(
            f"the store's Kubernetes API has no namespace {namespace}",
            str(api.host),
            "the cluster's objects can't be made there",
            "Nothing was done. Run the playbook kubeadm.control_plane.install, which makes the namespaces of the inventory's clusters "
            "(or those in control_plane_install_namespaces), or correct metadata.namespace in the manifest.",
        )


def journal_directory(options: Options) -> str:
    """Return the folder of the journals on this controller.

    It is a file store's own folder; for another store it holds nothing else.
    """
    return os.path.abspath(os.path.expanduser(str(options["path"])))


def exists(options: Options) -> bool:
    """Return whether the store may hold anything to read.

    A folder that isn't there yet is an empty store, and reading creates none. Whatever else is at its path is refused by who reads it.
    """
    return is_kubernetes(options) or os.path.lexists(options["path"])


def is_not_installed(error: StoreError) -> bool:
    """Return whether a Kubernetes API lacks the kinds, by its error."""
    return getattr(error, "status", None) == NOT_FOUND


def describe(options: Options) -> str:
    """Return the store's name for messages."""
    if not is_kubernetes(options):
        return str(options["path"])
    setting = _module("kubernetes.options").setting
    named = [str(found) for found in (setting(options, each) for each in ("host", "context", "kubeconfig")) if found]
    return f"in the Kubernetes API{f' ({named[0]})' if named else ''}"


def export_directory(options: Options) -> t.Optional[str]:
    """Return the folder of a Kubernetes store's exported copy, or None.

    The copy is kept as a file store; None where none is kept.
    """
    return os.path.abspath(os.path.expanduser(str(options["export"]))) if options.get("export") else None


def host(options: Options) -> str:
    """Return the URL of a Kubernetes store's API; "" for another store."""
    return str(_api(options).host) if is_kubernetes(options) else ""


def title(options: Options) -> str:
    """Return the store's permanent name: its folder or its API's URL."""
    return (
        f"the Kubernetes API {host(options)}"
        if is_kubernetes(options)
        else os.path.realpath(journal_directory(options))
    )


def keeps_itself(store: Store, cluster: t.Mapping[str, t.Any]) -> bool:
    """Return whether a stored Cluster's endpoint is the store's own API."""
    endpoint = (cluster.get("spec") or {}).get("controlPlaneEndpoint") or {}
    url = urllib.parse.urlsplit(store.host())
    if not url.hostname or not endpoint.get("host"):
        return False
    same_name = url.hostname == str(endpoint["host"]).strip("[]").lower()
    return same_name and (url.port or 443) == int(endpoint.get("port") or 6443)


def is_kubernetes(options: Options) -> bool:
    """Return whether the objects are in a Kubernetes API."""
    return str(options.get("type") or FILE) == KUBERNETES


def connection(options: Options) -> dict[str, t.Any]:
    """Return the connection options that are given, as plain values."""
    return {name: _plain(options[name]) for name in CONNECTION_SPEC if options.get(name) not in (None, "", [], {})}


def check(options: Options) -> None:
    """Refuse options that are missing or meaningless for the store's type.

    Nothing is asked of an API.
    """
    if not options.get("path"):
        raise StoreError(
            "the store's path is missing",
            "store.path",
            "it is the folder of the store, or, where the objects are in a Kubernetes API, that of the journals on this controller",
            "Nothing was read or written. Give it.",
        )
    if is_kubernetes(options):
        if options.get("encrypt_secrets"):
            raise _refused(
                "encrypt_secrets",
                "it is the file store's: in a Kubernetes API the API server encrypts Secrets (its EncryptionConfiguration)",
            )
        return
    if options.get("export"):
        raise _refused("export", "it is for objects that are in a Kubernetes API; a file store is its own copy")
    given = [name for name in CONNECTION_SPEC if options.get(name) not in (None, "", [], {}, False)]
    if given:
        raise _refused(given[0], "it says how a Kubernetes API is reached, and the store is a folder")


def of_inventory(given: Options, folder: str) -> dict[str, t.Any]:
    """Return an inventory file's store options in the form for tasks.

    Every path is absolute, and of the connection only what is given is in it.

    Args:
        given: the option ``store``, aliases and all.
        folder: the file's folder, to which relative paths refer.

    Raises:
        StoreError: an option, or the store's type, is not known, or a path is none.
    """
    made: dict[str, t.Any] = {
        "type": given.get("type", FILE),
        "path": _path("path", given.get("path", "store"), folder),
        "encrypt_secrets": bool(given.get("encrypt_secrets", False)),
    }
    if given.get("export"):
        made["export"] = _path("export", given["export"], folder)
    unknown = sorted(str(each) for each in set(given) - set(made) - set(NAMES) - {"export"})
    if unknown or made["type"] not in (FILE, KUBERNETES):
        wrong = f"store.{unknown[0]}" if unknown else f"store.type {made['type']!r}"
        raise StoreError(
            f"{wrong} is not known",
            "the inventory's option store",
            "it says nothing that is understood, and might have been meant to say something",
            "See ansible-doc -t inventory kubeadm.control_plane.clusters.",
        )
    for name, value in given.items():
        option = NAMES.get(name)
        if option is not None and value not in (None, "", [], {}):
            made[option] = _path(option, value, folder) if CONNECTION_SPEC[option]["type"] == "path" else value
    return made


def _path(option: str, value: t.Any, folder: str) -> str:
    if not isinstance(value, str):
        raise StoreError(
            f"store.{option} is no path",
            "the inventory's option store",
            "it names a file; content is not taken",
            "Write it to a file, readable for its owner alone, and give its path.",
        )
    # Several kubeconfigs are separated as in PATH.
    each = value.split(os.pathsep) if option == "kubeconfig" else [value]
    return os.pathsep.join(os.path.join(folder, os.path.expanduser(path)) for path in each if path or len(each) == 1)


# By process: a connection must not be used by two, and Ansible's workers are forks.
_apis: dict[tuple[int, str], t.Any] = {}


def _api(options: Options, patience_seconds: float = 0.0) -> t.Any:
    given = connection(options)
    key = (os.getpid(), json.dumps([given, patience_seconds], sort_keys=True))
    if key not in _apis:
        for other in [each for each in _apis if each[0] != os.getpid()]:
            del _apis[other]
        _apis[key] = _module("kubernetes.requests").KubernetesApi(given, patience_seconds)
    return _apis[key]


def _module(name: str) -> t.Any:
    # Only who has such a store waits for the client to be loaded.
    return importlib.import_module(f"ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.{name}")


def _refused(option: str, why: str) -> StoreError:
    return StoreError(
        f"the store's option {option} has no meaning here",
        f"store.{option}",
        why,
        "Nothing was read or written. Leave it out, or correct store.type.",
    )


def _plain(value: t.Any) -> t.Any:
    # Ansible's texts carry tags, and are of a class of their own.
    if isinstance(value, bool):
        return value
    if isinstance(value, (list, tuple)):
        return [str(each) for each in value]
    if isinstance(value, dict):
        return {str(name): str(each) for name, each in value.items() if each not in (None, "")}
    return str(value)
