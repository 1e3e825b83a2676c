# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Versions in which a Kubernetes API serves other providers' kinds.

This collection's own kinds have one version each. Another provider's are of any, and a reference in Cluster API's v1beta2 names none: the
API server is asked, a group and a version once each, and only what a kind needs. Where these credentials may not ask, they are
refused once.
"""

from __future__ import annotations

import typing as t

from ...crds import crd_names, definitions
from ...objects import infrastructure_versions, kinds
from .. import base
from ..base import KindRef
from ..file.layout import identity
from .requests import KubernetesApi

# What serves one version may be broken: an aggregated API without its server, say.
_BROKEN = (500, 502, 503, 504)


class ServedVersions:
    """Versions that one API server serves, as far as asked for.

    Args:
        api: the API.
        changed: is called with a kind whose version becomes another one than was used.
    """

    def __init__(self, api: KubernetesApi, changed: t.Callable[[KindRef], None] = lambda _kind_ref: None) -> None:
        self._api, self._changed = api, changed
        self._used: dict[KindRef, str] = {}
        self._noted: dict[KindRef, str] = {}
        # Of each group, preferred first, and of each of its versions the resources; None where they may not be read.
        self._versions: dict[str, t.Optional[list[str]]] = {}
        self._resources: dict[tuple[str, str], t.Optional[frozenset[str]]] = {}

    def of(self, kind_ref: KindRef) -> str:
        """Return the version to use for a kind.

        The one noted on the Cluster where it has the kind or where these credentials may not ask, else the API server's preferred one of
        those that have it. "" for this collection's own kinds, and where none has it: the request for its objects then says so.
        """
        if not kind_ref[0] or definitions.is_own(kind_ref):
            return ""
        if kind_ref not in self._used:
            found = self._serving(kind_ref, self._noted.get(kind_ref, ""))
            if found is None:
                # It may be installed meanwhile.
                return ""
            self._used[kind_ref] = found or self._noted.get(kind_ref, "")
        return self._used[kind_ref]

    def note(self, cluster: base.Object) -> None:
        """Note the versions that a Cluster's manifest had (``infrastructure_versions.py``)."""
        self._noted.update(infrastructure_versions.noted(cluster))

    def prefer(self, obj: base.Object) -> None:
        """Use an object's version for its kind, or refuse it.

        The API server converts between versions that it serves. In another one the fields may have other meanings, and only the provider
        can convert them. Where these credentials may not ask what is served, the version is used as it is.

        Args:
            obj: the object; apiVersion and kind are enough.
        """
        kind_ref, version = base.kind_ref_of(obj), str(obj["apiVersion"]).rpartition("/")[2]
        if self.lacks(kind_ref):
            raise self._undefined(obj, kind_ref)
        before = self._used.get(kind_ref)
        if not kind_ref[0] or definitions.is_own(kind_ref) or before == version:
            return
        found = self._serving(kind_ref, version)
        if found and found != version:
            # It may be served since.
            self._forget(kind_ref[0])
            found = self._serving(kind_ref, version)
        if found is None or (found and found != version):
            raise self._not_served(obj, kind_ref, version)
        self._used[kind_ref] = version
        if before is not None:
            self._changed(kind_ref)

    def lacks(self, kind_ref: KindRef) -> bool:
        """Return whether an API server has no definition of a later kind.

        There are no objects of it then. False where these credentials may not ask.
        """
        if kind_ref not in definitions.LATER:
            return False
        group, version = kind_ref[0], definitions.version_of(kind_ref[1])
        self._answers(group, version, needed=True)
        resources = self._resources[group, version]
        return resources is not None and crd_names.plural(kind_ref[1]) not in resources

    def identity(self, obj: base.Object) -> tuple[KindRef, str, str]:
        """Prefer an object's version; return kind, namespace and name."""
        self.prefer(obj)
        return identity(obj)

    def has_status_apart(self, kind_ref: KindRef) -> bool:
        """Return whether a kind's status is a subresource.

        It is of own kinds. Where a provider's definition has none, the status is a field like any other.
        """
        group, version = kind_ref[0], self.of(kind_ref)
        if not version or not self._answers(group, version, needed=False):
            return True
        resources = self._resources[group, version]
        return resources is None or f"{crd_names.plural(kind_ref[1])}/status" in resources

    def _serving(self, kind_ref: KindRef, first: str) -> t.Optional[str]:
        """Return the first version that has a kind.

        ``first`` is asked before the preferred one. None where none has the kind, "" where versions may not be read: to ask again would be refused again.
        """
        base.check_kind_ref((kind_ref[0], kinds.CLUSTER))
        known = self._is_known(kind_ref[0])
        found = self._searched(kind_ref, first)
        if found is None and known:
            # What a group had before may lack a kind that was installed since.
            self._forget(kind_ref[0])
            found = self._searched(kind_ref, first)
        return found

    def _searched(self, kind_ref: KindRef, first: str) -> t.Optional[str]:
        group, plural = kind_ref[0], crd_names.plural(kind_ref[1])
        # It is needed, whatever the others have, and mostly has the kind: which others there are is then not asked.
        asked = base.is_subdomain(first) and self._answers(group, first, needed=True)
        if asked and plural in (self._resources[group, first] or ()):
            return first
        versions = self._versions_of(group)
        if versions is None:
            return ""
        silent, refused = [], False
        for version in versions:
            if not self._answers(group, version, needed=False):
                silent.append(version)
                continue
            resources = self._resources[group, version]
            refused = refused or resources is None
            if plural in (resources or ()):
                return version
        for version in silent:
            # None of the others has the kind.
            self._answers(group, version, needed=True)
            if plural in (self._resources[group, version] or ()):
                return version
        return "" if refused else None

    def _versions_of(self, group: str) -> t.Optional[list[str]]:
        if group not in self._versions:
            answer = self._api.send("get", f"/apis/{group}", accepted=(403, 404))
            preferred = (answer.document.get("preferredVersion") or {}).get("version")
            versions = [str(each.get("version")) for each in answer.document.get("versions") or []]
            versions.sort(key=lambda each: each != preferred)
            self._versions[group] = None if answer.status == 403 else versions
        return self._versions[group]

    def _answers(self, group: str, version: str, needed: bool) -> bool:
        """Read a version's resources once; return whether it answers.

        One that is ``needed`` is asked again for a while, and then its error is raised.
        """
        if (group, version) not in self._resources:
            accepted = (403, 404) if needed else (403, 404, *_BROKEN)
            answer = self._api.send("get", f"/apis/{group}/{version}", accepted=accepted)
            if answer.status in _BROKEN:
                return False
            names = frozenset(str(each.get("name")) for each in answer.document.get("resources") or [])
            self._resources[group, version] = None if answer.status == 403 else names
        return True

    def _is_known(self, group: str) -> bool:
        return group in self._versions or any(each[0] == group for each in self._resources)

    def _forget(self, group: str) -> None:
        self._versions.pop(group, None)
        for key in [each for each in self._resources if each[0] == group]:
            del self._resources[key]

    def _undefined(self, obj: base.Object, kind_ref: KindRef) -> base.StoreError:
        metadata = obj["metadata"]
        return base.StoreError(
            f"{base.describe(kind_ref, metadata.get('namespace') or 'default', metadata['name'])} can't be stored",
            self._api.host,
            f"the API server has no definition of the kind {kind_ref[1]}, which this release added",
            "It was not written. Run this release's playbook kubeadm.control_plane.install, which adds the definition and the runner's right "
            "to it.",
        )

    def _not_served(self, obj: base.Object, kind_ref: KindRef, version: str) -> base.StoreError:
        group, kind = kind_ref
        metadata = obj.get("metadata") or {}
        what = base.describe(kind_ref, metadata.get("namespace", "default"), metadata["name"]) if metadata else kind
        versions = [each for each in self._versions_of(group) or [] if self._answers(group, each, needed=False)]
        serving = [each for each in versions if crd_names.plural(kind) in (self._resources[group, each] or ())]
        if serving:
            why = f"serves this kind as {', '.join(serving)}, and what a field means in another version only its provider knows"
            fix = (
                f"Install definitions of the provider that serve {version}: what is moved from another store stays in its version. In a "
                f"manifest apiVersion {group}/{serving[0]} can be written instead, with the fields of that version."
            )
        else:
            why = f"serves no kind {kind} in the group {group}"
            fix = (
                "Install the provider's definitions, or correct apiVersion and kind where a manifest has them. Where the provider brings none, run the "
                "playbook kubeadm.control_plane.install with the provider in control_plane_more_providers."
            )
        return base.StoreError(
            f"{what} is of the version {version} of {group}",
            self._api.host,
            f"the API server {why}",
            f"It was not written. {fix}",
        )
