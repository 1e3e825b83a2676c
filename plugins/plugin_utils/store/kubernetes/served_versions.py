# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Versions in which a Kubernetes API serves other providers' kinds.

This collection's own kinds have one version each. Another provider's are of any, and a reference in Cluster API's v1beta2 names none: the
API server is asked, once for each group. Where these credentials may not ask, they are refused once.
"""

from __future__ import annotations

import typing as t

from ...crds import crd_names, definitions
from ...objects import kinds
from .. import base
from ..base import KindRef
from ..file.layout import identity
from .requests import KubernetesApi


class ServedVersions:
    """Versions that one API server serves, as far as asked for."""

    def __init__(self, api: KubernetesApi) -> None:
        self._api = api
        self._known: dict[KindRef, str] = {}
        self._served: dict[KindRef, list[str]] = {}
        self._groups: dict[str, tuple[dict[str, frozenset[str]], bool]] = {}

    def of(self, kind_ref: KindRef) -> str:
        """Return the version to use for a kind.

        The API server's preferred one of those that have it. "" for this collection's own kinds, and where none has it: the request for
        its objects then says so.
        """
        group, kind = kind_ref
        if not group or definitions.is_known(kind):
            return ""
        if kind_ref not in self._known:
            found = self._asked(group, crd_names.plural(kind))
            if found is None:
                # It may be installed meanwhile.
                return ""
            self._served[kind_ref], self._known[kind_ref] = found, found[0] if found else ""
        return self._known[kind_ref]

    def prefer(self, obj: base.Object) -> bool:
        """Use an object's version for its kind; return whether that is new.

        The API server converts what is stored; one that doesn't serve the version is not asked for it.
        """
        kind_ref, version = base.kind_ref_of(obj), str(obj["apiVersion"]).rpartition("/")[2]
        used = self.of(kind_ref)
        if not used or version == used or version not in self._served[kind_ref]:
            return False
        self._known[kind_ref] = version
        return True

    def identity(self, obj: base.Object) -> tuple[KindRef, str, str]:
        """Return kind, namespace and name of an object to write.

        One of a version that isn't served is refused: its fields may have other meanings, and only its provider can convert them.
        """
        kind_ref, namespace, name = identity(obj)
        used, written = self.of(kind_ref), str(obj["apiVersion"]).rpartition("/")[2]
        if used and written != used:
            served = ", ".join(self._served[kind_ref])
            raise base.StoreError(
                f"{base.describe(kind_ref, namespace, name)} is of the version {written}",
                self._api.host,
                f"the API server serves this kind as {served}, and what a field means in another version only its provider knows",
                f"Nothing was written. Write the object for apiVersion {kind_ref[0]}/{used} in the manifest.",
            )
        return kind_ref, namespace, name

    def _asked(self, group: str, plural: str) -> t.Optional[list[str]]:
        """Return the versions that have a resource, None where none has it.

        Empty where it is in none that may be read: to ask again would be refused again.
        """
        base.check_kind_ref((group, kinds.CLUSTER))
        known = self._groups.get(group)
        if known is None or not (known[1] or _having(known[0], plural)):
            # What a group had before may lack a kind that was installed since.
            known = self._groups[group] = self._discovered(group)
        resources, refused = known
        serving = _having(resources, plural)
        return serving if serving or refused else None

    def _discovered(self, group: str) -> tuple[dict[str, frozenset[str]], bool]:
        """Return the resources of each version of a group, preferred first.

        With it: whether some of them may not be read.
        """
        root = f"/apis/{group}"
        answer = self._api.send("get", root, accepted=(403, 404))
        refused = answer.status == 403
        preferred = (answer.document.get("preferredVersion") or {}).get("version")
        versions = [str(each.get("version")) for each in answer.document.get("versions") or []]
        resources: dict[str, frozenset[str]] = {}
        for version in sorted(versions, key=lambda each: each != preferred):
            answer = self._api.send("get", f"{root}/{version}", accepted=(403, 404))
            resources[version] = frozenset(str(each.get("name")) for each in answer.document.get("resources") or [])
            refused = refused or answer.status == 403
        return resources, refused


def _having(resources: t.Mapping[str, frozenset[str]], plural: str) -> list[str]:
    """Return the versions that have a resource, in their order."""
    return [version for version, names in resources.items() if plural in names]
