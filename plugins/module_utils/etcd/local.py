# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Etcd on this machine: its static pod manifest and its members.

The members are found also where it does not answer.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import socket
import typing as t
from dataclasses import asdict, dataclass, field

from ..common import guard
from ..common.guard import NodeError
from ..common.https import Unreachable, split_url
from ..workload_api.api import ADMIN_KUBECONFIG
from .data_dir import DATA_DIR, etcd_data
from .gateway import Credentials, Gateway, kubeadm_credentials
from .restore.task_files import recovery_record
from .snapshot import database
from .types import LOCAL_MEMBER, EtcdError, Member

FLAG = "--force-new-cluster"
_FLAG_LINE = re.compile(r"^\s*- [\"']?" + FLAG, re.MULTILINE)
_OWN_URLS = re.compile(r"--initial-advertise-peer-urls=([^\s\"']+)")


@dataclass(frozen=True)
class Places:
    """Paths, URL and credentials on a control plane node.

    Tests use other ones. ``kubelet`` is the unit that starts static pods, "" for none.
    """

    state: str = guard.STATE_DIRECTORY
    kubernetes: str = "/etc/kubernetes"
    kubeconfig: str = ADMIN_KUBECONFIG
    etcd_url: str = LOCAL_MEMBER
    credentials: t.Optional[Credentials] = field(default_factory=kubeadm_credentials)
    kubelet: str = "kubelet"

    @property
    def record(self) -> str:
        """File with the durable state of the recovery."""
        return recovery_record(self.state)

    def text(self) -> str:
        """Return the places as JSON text, for the unit's program."""
        return json.dumps(asdict(self))

    @property
    def manifests(self) -> str:
        """The kubelet's folder of static pods.

        Nothing but a whole manifest may ever be in it.
        """
        return os.path.join(self.kubernetes, "manifests")

    @property
    def manifest(self) -> str:
        """Path of etcd's static pod manifest."""
        return os.path.join(self.manifests, "etcd.yaml")


def with_flag(manifest: str) -> str:
    """Return the manifest with --force-new-cluster among etcd's arguments.

    One that has it is returned unchanged. Raises NodeError where it names no --data-dir.
    """
    etcd_data(manifest)
    if _FLAG_LINE.search(manifest):
        return manifest
    return DATA_DIR.sub(lambda found: f"{found.group(1)}{FLAG}\n{found.group(0)}", manifest, count=1)


def flagged(manifest: str) -> bool:
    """Return whether a manifest starts etcd with --force-new-cluster."""
    return _FLAG_LINE.search(manifest) is not None


@dataclass(frozen=True)
class Membership:
    """Members of this machine's etcd, by itself or by its database.

    ``own`` is the own ID (0: none of them), ``answered`` whether etcd answered. If not, the members are the database's,
    without the names of those that were added later; ``leader`` and ``cluster_id`` are 0 then.
    """

    own: int
    members: tuple[Member, ...]
    answered: bool = False
    leader: int = 0
    cluster_id: int = 0

    @property
    def voters(self) -> tuple[Member, ...]:
        """Members with a vote.

        Where etcd did not answer, those of its database that it calls learners, too: etcd 3.5.1 to 3.5.19 keep who was promoted as a
        learner there (github.com/etcd-io/etcd, issue 19557).
        """
        return tuple(each for each in self.members if not (self.answered and each.is_learner))

    def addresses(self, member_id: int) -> list[tuple[str, int]]:
        """Return the hosts and ports at which a member may be listening.

        In order, from its peer and client URLs; one that is no URL is left out.
        """
        found = set()
        for url in (
            url for each in self.members if each.id == member_id for url in (*each.peer_urls, *each.client_urls)
        ):
            with contextlib.suppress(ValueError):
                found.add(split_url(url)[1:])
        return sorted(found)


def membership(places: Places, timeout: float = 3.0) -> Membership:
    """Return this machine's etcd membership, from etcd or its database.

    The database is read where etcd does not answer.

    Raises:
        NodeError: neither can be read.
    """
    try:
        with Gateway(places.etcd_url, places.credentials, timeout) as gateway:
            status, listed = gateway.status(), gateway.member_list()
        return Membership(status.member_id, listed.members, True, status.leader, status.cluster_id)
    except (EtcdError, Unreachable):
        manifest = guard.read_text(places.manifest)
        if not manifest:
            raise NodeError(
                f"{places.manifest} is not there: no etcd runs on this machine.",
                "Name a control plane node with an etcd of kubeadm's.",
            ) from None
        return stored_membership(manifest, os.path.join(etcd_data(manifest), "member"))


def stored_membership(manifest: str, member: str) -> Membership:
    """Return the membership by the database of an etcd that doesn't run.

    Args:
        manifest: its static pod manifest, whose peer URL tells which member it is.
        member: the folder ``member`` of its data.

    Raises:
        NodeError: the database can't be read.
    """
    members = database.stored_members(os.path.join(member, "snap", "db"))
    found = _OWN_URLS.search(manifest)
    urls = set(found.group(1).split(",")) if found else set()
    own = [each.id for each in members if urls & set(each.peer_urls)]
    return Membership(own[0] if len(own) == 1 else 0, members)


def listens(addresses: t.Iterable[tuple[str, int]], seconds: float = 2.0) -> str:
    """Return the first address that accepts a connection, "" for none.

    As ``host:port``; ``seconds`` is the timeout for each.
    """
    for host, port in addresses:
        with contextlib.suppress(OSError), socket.create_connection((host, port), seconds):
            return f"{host}:{port}"
    return ""


def told_members(places: Places) -> list[dict[str, t.Any]]:
    """Return the members in the database of an etcd that doesn't answer.

    In the snapshot's form, each with ``listens``, whether it listens; none where etcd answers.

    Raises:
        NodeError: the database can't be read, or this machine has no etcd.
    """
    seen = membership(places)
    return [
        {**member.document(), "listens": bool(listens(seen.addresses(member.id)))}
        for member in ([] if seen.answered else seen.members)
    ]
