# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Types of the answers of etcd's JSON gateway.

Identifiers are 64-bit integers inside and 16 hexadecimal digits outside.
"""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

# Where kubeadm has the member of a machine listen for that machine.
LOCAL_MEMBER = "https://127.0.0.1:2379"
# google.golang.org/grpc/codes
GRPC_CODES = {
    1: "CANCELLED",
    2: "UNKNOWN",
    3: "INVALID_ARGUMENT",
    4: "DEADLINE_EXCEEDED",
    5: "NOT_FOUND",
    6: "ALREADY_EXISTS",
    7: "PERMISSION_DENIED",
    8: "RESOURCE_EXHAUSTED",
    9: "FAILED_PRECONDITION",
    10: "ABORTED",
    11: "OUT_OF_RANGE",
    12: "UNIMPLEMENTED",
    13: "INTERNAL",
    14: "UNAVAILABLE",
    15: "DATA_LOSS",
    16: "UNAUTHENTICATED",
}
NOT_FOUND = 5
FAILED_PRECONDITION = 9
UNIMPLEMENTED = 12
UNAVAILABLE = 14


def to_hex(identifier: int) -> str:
    """Return a member or cluster ID as 16 hexadecimal digits.

    As etcdctl prints it, but with leading zeros.
    """
    return f"{identifier:016x}"


def from_hex(text: str) -> int:
    """Return the ID in hexadecimal text.

    Raises:
        ValueError: the text isn't 1 to 16 hexadecimal digits, or is zero, which no member has.
    """
    stripped = text.strip().lower()
    if not 1 <= len(stripped) <= 16 or any(letter not in "0123456789abcdef" for letter in stripped):
        raise ValueError(f"{text!r} is not an etcd ID: 1 to 16 hexadecimal digits, as in 'etcdctl member list'")
    identifier = int(stripped, 16)
    if identifier == 0:
        raise ValueError(f"{text!r} is not an etcd ID: no member and no cluster has the ID 0")
    return identifier


class EtcdError(Exception):
    """Error that etcd answered.

    Attributes:
        operation: what was asked ("member remove").
        url: the member that was asked.
        code: the gRPC code (0 where there is none), ``meaning`` its name.
        detail: etcd's own words.
        http_status: the gateway's HTTP status.
    """

    def __init__(self, operation: str, url: str, code: int, detail: str, http_status: int, hint: str = "") -> None:
        self.operation = operation
        self.url = url
        self.code = code
        self.meaning = GRPC_CODES.get(code, "UNKNOWN")
        self.detail = detail
        self.http_status = http_status
        text = f"etcd at {url} refused '{operation}': {detail} ({self.meaning}, HTTP {http_status})"
        super().__init__(f"{text}. {hint}" if hint else text)


@dataclass(frozen=True)
class Member:
    """One entry of a member list.

    A member that has never started has neither name nor client URLs.
    """

    id: int
    name: str
    peer_urls: tuple[str, ...]
    client_urls: tuple[str, ...]
    is_learner: bool

    @property
    def hex_id(self) -> str:
        """The ID as 16 hexadecimal digits."""
        return to_hex(self.id)

    @property
    def started(self) -> bool:
        """True once the member has published its name."""
        return bool(self.name)

    def document(self) -> dict[str, t.Any]:
        """Return the member in the snapshot's form."""
        return {
            "id": self.hex_id,
            "name": self.name,
            "peerURLs": list(self.peer_urls),
            "clientURLs": list(self.client_urls),
            "isLearner": self.is_learner,
        }


@dataclass(frozen=True)
class MemberList:
    """Members as one of them lists them, in ID order.

    ``cluster_id`` is the ID of their cluster.
    """

    cluster_id: int
    members: tuple[Member, ...]

    def get(self, member_id: int) -> t.Optional[Member]:
        """Return the member with an ID, or None."""
        return next((member for member in self.members if member.id == member_id), None)


@dataclass(frozen=True)
class Status:
    """Status of a member, from itself.

    ``leader`` is 0 where it knows of none; sizes are bytes.
    """

    cluster_id: int
    member_id: int
    version: str
    db_size: int
    db_size_in_use: int
    leader: int
    raft_term: int
    raft_index: int
    raft_applied_index: int
    is_learner: bool
    errors: tuple[str, ...]


@dataclass(frozen=True)
class Alarm:
    """Raised alarm: ``NOSPACE`` or ``CORRUPT``, with its member's ID."""

    member_id: int
    alarm: str

    def document(self) -> dict[str, str]:
        """Return the alarm in the snapshot's form."""
        return {"memberID": to_hex(self.member_id), "alarm": self.alarm}


@dataclass(frozen=True)
class Snapshot:
    """Snapshot file, written and verified.

    ``size`` is in bytes; ``sha256`` is of the whole file, as ``sha256sum`` prints it.
    """

    path: str
    size: int
    sha256: str
    member_id: int
