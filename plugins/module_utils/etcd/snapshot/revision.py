# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Revision and cluster of an etcd database or snapshot.

Read without etcd and its tools.
etcd keeps every version of every key in the bucket ``key``, by revision (8 bytes, "_", 8 bytes), as a mvccpb.KeyValue whose first field
is the key. What a snapshot has behind the database, its hash, is no part of any page.
"""

from __future__ import annotations

import base64
import os
import re
import struct
import typing as t
from dataclasses import dataclass

from ...common.guard import NodeError
from ..types import Member
from .database import Database, stored_members
from .take import matches_its_hash

_REVISION = struct.Struct(">Q")
_REVISION_BYTES = 17
# Every kubeadm cluster has both, from its first minute on; the second is written anew with every token.
_AUTHENTICATION = b"/configmaps/kube-system/extension-apiserver-authentication"
_CLUSTER_INFO = b"/configmaps/kube-public/cluster-info"
_CERTIFICATE = re.compile(rb"-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----", re.DOTALL)


class ContentsError(NodeError):
    """Snapshot that can't be restored here.

    ``reason`` is a stable name: Missing, NotWhole, Unreadable, OtherCluster, NotTold, OtherRevision.
    """

    def __init__(self, reason: str, what: str, fix: str = "") -> None:
        super().__init__(what, fix)
        self.reason = reason
        self.fields = {"reason": reason}


@dataclass(frozen=True)
class Contents:
    """Revision and members of a database.

    ``own`` says whether it is of the cluster with that CA; None: it does not tell.
    """

    revision: int
    members: tuple[Member, ...]
    own: t.Optional[bool] = None


def revision(path: str) -> int:
    """Return the revision of the last change in a database or snapshot.

    Raises:
        ContentsError: it can't be read, or is no database of etcd's.
    """
    try:
        with open(path, "rb") as file:
            key = Database(file.fileno()).last_key(b"key")
    except FileNotFoundError as error:
        raise ContentsError("Missing", f"{path} is not there.") from error
    except (OSError, struct.error, ValueError) as error:
        raise ContentsError("Unreadable", f"{path} is no database of etcd's: {error}.") from error
    if key and len(key) < _REVISION_BYTES:
        raise ContentsError("Unreadable", f"{path} holds no revisions where etcd keeps them.")
    return int(_REVISION.unpack_from(key)[0]) if key else 1


def of_cluster(path: str, ca: bytes) -> t.Optional[bool]:
    """Return whether a database is of the cluster with these CA certificates.

    ``ca`` is PEM. None where the database holds nothing that tells.

    Raises:
        ContentsError: it can't be read.
    """
    found: t.Optional[bool] = None
    proofs = [match.group() for match in _CERTIFICATE.finditer(ca)]
    # cluster-info carries the file as base64; how it ends depends on the line break behind it.
    proofs += [base64.b64encode(ca.strip())[: len(ca.strip()) // 3 * 4]] if ca.strip() else []
    try:
        with open(path, "rb") as file:
            for _revision, value in Database(file.fileno()).bucket(b"key"):
                # The key is near the beginning; looking there first spares most of a large database.
                head = value[:256]
                if _AUTHENTICATION in head or _CLUSTER_INFO in head:
                    if any(proof in value for proof in proofs):
                        return True
                    if _CERTIFICATE.search(value) or b"certificate-authority-data" in value:
                        found = False
    except (OSError, struct.error, ValueError) as error:
        raise ContentsError("Unreadable", f"{path} is no database of etcd's: {error}.") from error
    return found


def require_whole(path: str) -> None:
    """Refuse a snapshot that does not end with its hash.

    That is the hash of what is before it, as etcd wrote it.

    Raises:
        ContentsError: Missing, NotWhole.
    """
    if not os.path.isfile(path):
        raise ContentsError("Missing", f"{path} is not there.")
    if not matches_its_hash(path):
        raise ContentsError(
            "NotWhole",
            f"{path} is truncated or damaged: it does not end with the hash of what is before it.",
            "Take another snapshot.",
        )


def verified(path: str, ca: bytes, wanted: int) -> Contents:
    """Return a snapshot's contents if it may be restored here.

    It is whole, and :func:`verified_data` returns it.

    Raises:
        ContentsError: it is not; nothing is to be restored from it.
    """
    require_whole(path)
    return verified_data(path, ca, wanted)


def verified_data(path: str, ca: bytes, wanted: int) -> Contents:
    """Return a database's contents if it may be restored here.

    It is of the cluster with that CA (PEM), and of the wanted revision. An etcd's own data has no hash.

    Raises:
        ContentsError: it is not; nothing is to be restored from it.
    """
    found = revision(path)
    own = of_cluster(path, ca)
    if own is False:
        raise ContentsError(
            "OtherCluster",
            f"{path} is of another cluster: it carries another certificate authority than this cluster's.",
            "Nothing of it is restored here.",
        )
    if own is None:
        raise ContentsError(
            "NotTold",
            f"{path} does not tell whose it is: neither ConfigMap kube-public/cluster-info nor"
            " kube-system/extension-apiserver-authentication can be read in it, as where ConfigMaps are encrypted at rest.",
            "Nothing of it is restored here; if you are sure whose it is, restore it by hand (docs/etcd_snapshots.md).",
        )
    if found != wanted:
        raise ContentsError(
            "OtherRevision",
            f"{path} is of revision {found}, and revision {wanted} was meant.",
            "Nothing of it is restored.",
        )
    return Contents(found, stored_members(path), own)
