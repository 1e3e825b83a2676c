# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Fields of a control plane or MachineDeployment, where they are stated.

A field is kept in the manifest that states it, else in the store.
"""

from __future__ import annotations

import contextlib
import os
import stat
import typing as t
from dataclasses import dataclass

from ...module_utils.common.violations import ManifestError, Violation
from ..calls.failure import ControlPlaneFailure
from ..documents.edit import Edit, is_template, set_scalar
from ..documents.yaml_files import Document, read_files, read_text
from ..objects import defaults, kinds
from ..objects.manifest.related import Index, control_plane_reference
from ..store import lasting
from ..store.file import disk

Keys = tuple[str, ...]
# How the field is written: in v1beta2, and in the versions before, whose names are read side by side.
_HUB: t.Mapping[str, tuple[Keys, ...]] = {
    defaults.REPLICAS: (("spec", "replicas"),),
    defaults.ROLLOUT_AFTER: (("spec", "rollout", "after"),),
    defaults.VERSION: (("spec", "version"),),
    defaults.WORKER_VERSION: (("spec", "template", "spec", "version"),),
}
_CLASSIC: t.Mapping[str, tuple[Keys, ...]] = {
    defaults.REPLICAS: (("spec", "replicas"),),
    defaults.ROLLOUT_AFTER: (("spec", "rolloutAfter"), ("spec", "upgradeAfter")),
    defaults.VERSION: (("spec", "version"),),
    defaults.WORKER_VERSION: (("spec", "template", "spec", "version"),),
}
_WORK_TREES = {".git": "git", ".hg": "hg", ".svn": "svn", ".bzr": "bzr", ".jj": "jj"}


@dataclass(frozen=True)
class WorkTree:
    """Work tree: a folder under version control, with its system."""

    root: str
    system: str


def control_plane_document(paths: t.Sequence[str], namespace: str, cluster: str) -> t.Optional[Document]:
    """Return the KubeadmControlPlane's document of a cluster, None without one.

    Raises ManifestError for bad YAML.
    """
    documents, problems = read_files(list(dict.fromkeys(paths)))
    if problems:
        raise ManifestError(problems)
    index = Index(documents)
    found = index.get(kinds.CLUSTER, namespace, cluster)
    if found is None:
        return None
    return index.get(kinds.KUBEADM_CONTROL_PLANE, namespace, control_plane_reference(found).get("name"))


def deployment_document(paths: t.Sequence[str], namespace: str, cluster: str, name: str) -> t.Optional[Document]:
    """Return the document of a cluster's MachineDeployment, None without one.

    Raises ManifestError for bad YAML.
    """
    documents, problems = read_files(list(dict.fromkeys(paths)))
    if problems:
        raise ManifestError(problems)
    found = Index(documents).get(kinds.MACHINE_DEPLOYMENT, namespace, name)
    return found if found is not None and _value(found.data, ("spec", "clusterName")) == cluster else None


def refuse_template(document: Document, field: str) -> None:
    """Refuse a field whose value is a template.

    What fills it in later would overwrite any edit.
    """
    for keys in (*_HUB[field], *_CLASSIC[field]):
        value = _value(document.data, keys)
        if is_template(value):
            path = ".".join(keys)
            rule = "the value is a template's: this file is not the manifest, but what it is made from"
            fix = "Change the value where the template takes it from. Give the files that are made of it as manifests."
            raise ManifestError([Violation(document.label, path, None, rule, fix, document.locate(path))])


def stated_at(document: Document, field: str) -> t.Optional[Keys]:
    """Return the keys at which a document states the field, else None."""
    forms = _HUB if document.api_version.endswith("/v1beta2") else _CLASSIC
    return next((keys for keys in forms[field] if _value(document.data, keys) is not None), None)


def _value(data: t.Any, keys: Keys) -> t.Any:
    for key in keys:
        data = data.get(key) if isinstance(data, dict) else None
    return data


def edited(document: Document, field: str, value: t.Union[int, str]) -> tuple[Edit, bytes]:
    """Return the manifest edit that sets the field, and the file's bytes.

    Nothing is written yet; the bytes are those the edit was made to.
    """
    with open(document.file, "rb") as stream:
        raw = stream.read()
    text = raw.decode("utf-8-sig")
    documents, _problems = read_text(text, document.file)
    same = [each for each in documents if each.label == document.label]
    keys = stated_at(document, field)
    if len(same) != 1 or same[0].data != document.data:
        raise ControlPlaneFailure(f"{document.file} was changed while it was read; nothing was written. Run it again.")
    if keys is None:
        raise ControlPlaneFailure(
            f"{document.locate('metadata.annotations')}: {document.label}: {field} is stated by the annotation "
            "cluster.x-k8s.io/conversion-data, which a conversion left. Nothing was written. Write the field itself, and run it again."
        )
    return set_scalar(text, same[0], keys, value), raw


def write(edit: Edit, raw: bytes) -> None:
    """Write the edited manifest file whole, with its mode and owner.

    Fails where the file is not the one that was read.
    """
    path = os.path.realpath(edit.file)
    current = os.stat(path)
    with open(path, "rb") as stream:
        if stream.read() != raw:
            raise ControlPlaneFailure(f"{edit.file} was changed meanwhile; nothing was written. Run it again.")
    mark = b"\xef\xbb\xbf" if raw.startswith(b"\xef\xbb\xbf") else b""
    disk.write_file(path, mark + edit.after.encode("utf-8"), stat.S_IMODE(current.st_mode))
    with contextlib.suppress(OSError):
        os.chown(path, current.st_uid, current.st_gid)


def refuse_lost(edit: Edit) -> None:
    """Refuse an edit of a file that is lost with the job.

    As that of a project's copy in AWX is.
    """
    why = lasting.what_is_lost(edit.file)
    if why:
        raise ControlPlaneFailure(
            f"{edit.file}:{edit.line}: {edit.path} is to become {edit.new} instead of {edit.old}, but nothing would be left of that: {why}. Nothing was "
            f"written. Commit this change to the project, or leave {edit.path} out of the manifest and keep the objects in a Kubernetes store "
            "(the inventory's option store: type: kubernetes), where it can be set from here."
        )


def work_tree(file: str) -> t.Optional[WorkTree]:
    """Return the version control work tree of a file, None without one."""
    folder = os.path.dirname(os.path.realpath(file))
    while True:
        for name, system in _WORK_TREES.items():
            if os.path.lexists(os.path.join(folder, name)):
                return WorkTree(folder, system)
        parent = os.path.dirname(folder)
        if parent == folder:
            return None
        folder = parent
