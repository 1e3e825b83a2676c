# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Client of etcd's v3 JSON gateway, with the standard library alone.

For etcd 3.4 and later.
Facts and their measurements: docs/reference/etcd.md. The member is always asked for what *it* knows: in etcd 3.4
a member list is never linearizable, and later versions answer the same way unless told otherwise.
"""

from __future__ import annotations

import base64
import hashlib
import http.client
import json
import os
import time
import typing as t
from dataclasses import dataclass

from ..common import settings
from ..common.bounded_yaml import read_json
from ..common.https import HttpClient, NotAsked, Unreachable, client_context, split_url
from ..common.legible import one_line
from ..workload_api.untrusted import mapping, sequence
from .certificates_dir import certificates_dir
from .types import UNIMPLEMENTED, Alarm, EtcdError, Member, MemberList, Snapshot, Status

_SHA256_BYTES = 32
# bbolt writes whole pages, and no page is smaller; what is left over is the hash that etcd puts behind the database.
_PAGE_BYTES = 512
# etcd sends pieces of 32 KiB; base64 and JSON make less than 48 KiB of one.
_LONGEST_LINE = 4 * 1024 * 1024
_LONGEST_NUMBER = 20
# A name is a Node's, a URL holds one; etcd's own errors are sentences.
_LONGEST_TEXT = 1024


@dataclass(frozen=True)
class Credentials:
    """Files of a client's certificate and key, and of the trusted CA."""

    ca_file: str
    certificate_file: str
    key_file: str


def kubeadm_credentials(folder: str = "") -> Credentials:
    """Return the files of kubeadm's health check of this machine's etcd.

    They are below the folder of kubeadm's certificates, by default this machine's.
    """
    folder = os.path.join(folder or certificates_dir(), "etcd")
    return Credentials(
        *(os.path.join(folder, name) for name in ("ca.crt", "healthcheck-client.crt", "healthcheck-client.key"))
    )


def refusal(url: str, credentials: t.Optional[Credentials]) -> str:
    """Return why a client URL isn't asked, "" where it is.

    A member may publish any URL. With credentials the cluster speaks TLS: an answer in plain text there proves
    nothing, so it is no evidence.
    """
    try:
        scheme, _host, _port = split_url(url)
    except ValueError as error:
        return str(error)
    if scheme == "http" and credentials is not None:
        return "it is plain HTTP, and this etcd is asked with a client certificate"
    if scheme == "https" and credentials is None:
        return "it needs a client certificate"
    return ""


class Gateway:
    """Gateway of one member, over one connection.

    Not for several threads at once.

    Args:
        url: a client URL of the member, ``https://10.0.0.1:2379``.
        credentials: None only for an etcd without TLS (``http://``).
        timeout: seconds for each call.

    Every method raises :class:`EtcdError` where etcd answered with an error and ``Unreachable`` where it didn't answer;
    after the latter, a change that was asked for may have happened.

    Raises:
        NotAsked: :func:`refusal` says why. Unreachable: the certificate files can't be used.
    """

    def __init__(
        self, url: str, credentials: t.Optional[Credentials], timeout: float = settings.ANSWER_SECONDS
    ) -> None:
        context = None
        problem = refusal(url, credentials)
        if problem:
            raise NotAsked(url, problem)
        if credentials is not None:
            try:
                context = client_context(
                    ca_file=credentials.ca_file,
                    certificate_file=credentials.certificate_file,
                    key_file=credentials.key_file,
                )
            except (OSError, ValueError) as error:
                files = f"{credentials.ca_file}, {credentials.certificate_file}, {credentials.key_file}"
                raise Unreachable(url, f"the client's certificate files ({files}) can't be used: {error}") from error
        self._http = HttpClient(url, context, timeout)
        self._context = context
        self.url = self._http.url

    def __enter__(self) -> Gateway:
        return self

    def __exit__(self, *unused: object) -> None:
        self._http.close()

    def member_list(self) -> MemberList:
        """Return the members that the asked member itself lists.

        A learner refuses (UNAVAILABLE).
        """
        return self._member_list("member list", "/v3/cluster/member/list", {})

    def member_add(self, peer_urls: t.Sequence[str], *, learner: bool = False) -> tuple[Member, MemberList]:
        """Add a member; return it with the list that follows.

        It votes at once unless ``learner``.
        """
        answer = self._post("member add", "/v3/cluster/member/add", {"peerURLs": list(peer_urls), "isLearner": learner})
        return self._member(answer.get("member", {})), self._as_list("member add", answer)

    def member_remove(self, member_id: int) -> MemberList:
        """Remove a member, unchecked; return the members that are left.

        ``membership.remove_member`` is the safe way.
        """
        return self._member_list("member remove", "/v3/cluster/member/remove", {"ID": str(member_id)})

    def member_promote(self, member_id: int) -> MemberList:
        """Promote a learner to a voter; return the members.

        FAILED_PRECONDITION while it lags; a missing ID times out instead of NOT_FOUND.
        """
        return self._member_list("member promote", "/v3/cluster/member/promote", {"ID": str(member_id)})

    def status(self) -> Status:
        """Return the asked member's own status; a learner answers too."""
        answer = self._post("status", "/v3/maintenance/status", {})
        header = mapping(answer.get("header"))
        return Status(
            cluster_id=_integer(header.get("cluster_id")),
            member_id=_integer(header.get("member_id")),
            version=_text(answer.get("version")),
            db_size=_integer(answer.get("dbSize")),
            db_size_in_use=_integer(answer.get("dbSizeInUse")),
            leader=_integer(answer.get("leader")),
            raft_term=_integer(answer.get("raftTerm")),
            raft_index=_integer(answer.get("raftIndex")),
            raft_applied_index=_integer(answer.get("raftAppliedIndex")),
            is_learner=answer.get("isLearner") is True,
            errors=tuple(_text(error) for error in sequence(answer.get("errors"))),
        )

    def alarms(self) -> tuple[Alarm, ...]:
        """Return the raised alarms of all members."""
        return self._alarms({"action": "GET"})

    def disarm(self, alarm: Alarm) -> tuple[Alarm, ...]:
        """Disarm an alarm; return those that were disarmed."""
        return self._alarms({"action": "DEACTIVATE", "memberID": str(alarm.member_id), "alarm": alarm.alarm})

    def move_leader(self, target_id: int) -> None:
        """Hand leadership to a member.

        Only the leader itself can: FAILED_PRECONDITION from any other member.
        """
        self._post("transfer leadership", "/v3/maintenance/transfer-leadership", {"targetID": str(target_id)})

    def linearizable_read(self) -> int:
        """Read through the leader, as etcd's health check does; return the revision.

        Proves a working quorum.
        """
        key = base64.b64encode(b"health").decode()
        answer = self._post("linearizable read", "/v3/kv/range", {"key": key, "count_only": True})
        return _integer(mapping(answer.get("header")).get("revision"))

    def hash(self) -> int:
        """Return the hash of this member's key space."""
        return _integer(self._post("hash", "/v3/maintenance/hash", {}).get("hash"))

    def compact(self, revision: int) -> None:
        """Compact etcd up to a revision.

        Etcd forgets what was overwritten or deleted before it; OUT_OF_RANGE where that was done already.
        """
        self._post("compaction", "/v3/kv/compaction", {"revision": str(revision), "physical": True})

    def defragment(self) -> None:
        """Defragment this member's database.

        It serves nothing meanwhile: give the gateway a long timeout.
        """
        self._post("defragment", "/v3/maintenance/defragment", {})

    def snapshot_save(self, path: str) -> Snapshot:
        """Save this member's snapshot as a 0600 file, complete and verified.

        Or not at all: the file is written beside its final place and renamed once its hash, which etcd puts behind the
        database, was found right. It needs memory for one piece only, and no quorum.

        Args:
            path: the file, on a file system with room for it.

        Raises:
            EtcdError, Unreachable: it did not come whole; nothing is left. OSError: the file can't be written.
        """
        status = self.status()
        partial = f"{path}.partial"
        database = hashlib.sha256()
        whole = hashlib.sha256()
        size = 0
        tail = b""
        descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
        try:
            with os.fdopen(descriptor, "wb") as file:
                os.fchmod(file.fileno(), 0o600)
                for blob in self._snapshot_blobs(time.monotonic() + settings.SNAPSHOT_SECONDS):
                    file.write(blob)
                    whole.update(blob)
                    size += len(blob)
                    pending = tail + blob
                    database.update(pending[:-_SHA256_BYTES])
                    tail = pending[-_SHA256_BYTES:]
                file.flush()
                os.fsync(file.fileno())
            if size % _PAGE_BYTES != _SHA256_BYTES or database.digest() != tail:
                detail = f"the snapshot of {size} bytes is not whole: its hash does not match"
                raise EtcdError("snapshot", self.url, 15, detail, 200, "Take it again.")
            os.rename(partial, path)
        except BaseException:
            os.unlink(partial)
            raise
        return Snapshot(path, size, whole.hexdigest(), status.member_id)

    def _snapshot_blobs(self, deadline: float) -> t.Iterator[bytes]:
        remaining = 1
        left = deadline - time.monotonic()
        headers = {"Content-Type": "application/json"}
        with HttpClient(self.url, self._context, settings.SNAPSHOT_SILENCE_SECONDS) as client:
            response = client.stream("POST", "/v3/maintenance/snapshot", b"{}", headers, left)
            while True:
                try:
                    line = response.readline(_LONGEST_LINE)
                except (OSError, http.client.HTTPException) as error:
                    if time.monotonic() > deadline:
                        text = f"the snapshot takes too long: {remaining} bytes were still to come"
                        raise Unreachable(self.url, text) from error
                    reason = str(error) or type(error).__name__
                    raise Unreachable(self.url, f"the snapshot broke off ({reason})") from error
                if not line:
                    break
                message = self._decode("snapshot", response.status, line)
                result = mapping(message.get("result"))
                remaining = _integer(result.get("remaining_bytes"))
                try:
                    yield base64.b64decode(str(result.get("blob", "")), validate=True)
                except ValueError as error:
                    detail = "a piece of the snapshot is not base64"
                    raise EtcdError("snapshot", self.url, 15, detail, 200, "Take it again.") from error
        if remaining:
            raise Unreachable(self.url, f"the snapshot broke off with {remaining} bytes to come")

    def _alarms(self, body: t.Mapping[str, t.Any]) -> tuple[Alarm, ...]:
        answer = self._post("alarm", "/v3/maintenance/alarm", body)
        entries = [mapping(entry) for entry in sequence(answer.get("alarms"))]
        return tuple(Alarm(_integer(entry.get("memberID")), _text(entry.get("alarm")) or "NONE") for entry in entries)

    def _member_list(self, operation: str, path: str, body: t.Mapping[str, t.Any]) -> MemberList:
        return self._as_list(operation, self._post(operation, path, body))

    def _as_list(self, operation: str, answer: t.Mapping[str, t.Any]) -> MemberList:
        header = mapping(answer.get("header"))
        members = [self._member(entry) for entry in sequence(answer.get("members"))]
        if not members:
            raise EtcdError(operation, self.url, 13, "the answer holds no members", 200)
        return MemberList(_integer(header.get("cluster_id")), tuple(sorted(members, key=lambda member: member.id)))

    @staticmethod
    def _member(entry: t.Any) -> Member:
        fields = mapping(entry)
        return Member(
            _integer(fields.get("ID")),
            _text(fields.get("name")),
            tuple(_text(url) for url in sequence(fields.get("peerURLs"))),
            tuple(_text(url) for url in sequence(fields.get("clientURLs"))),
            fields.get("isLearner") is True,
        )

    def _post(self, operation: str, path: str, body: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
        answer = self._http.request("POST", path, json.dumps(body).encode(), {"Content-Type": "application/json"})
        return self._decode(operation, answer.status, answer.body)

    def _decode(self, operation: str, status: int, body: bytes) -> dict[str, t.Any]:
        try:
            answer = read_json(body)
        except ValueError:
            answer = None
        if not isinstance(answer, dict):
            hint = ""
            if status == 404:
                hint = "Its JSON gateway is off or older than 3.4: remove --enable-grpc-gateway=false."
            text = _text(body[:200].decode(errors="replace").strip())
            raise EtcdError(operation, self.url, UNIMPLEMENTED, f"not a JSON answer: {text!r}", status, hint)
        error = answer if status >= 400 else answer.get("error")
        if error is None:
            return answer
        fields = error if isinstance(error, dict) else {"message": error}
        detail = _text(fields.get("message")) or _text(fields.get("error")) or "no reason given"
        hint = ""
        if "bad certificate" in detail or "authentication handshake failed" in detail:
            hint = (
                "The gateway shows etcd's server certificate as its own client certificate: it needs the extended key"
                " usages serverAuth and clientAuth, as kubeadm's has."
            )
        code = _integer(fields.get("code") or fields.get("grpc_code"))
        raise EtcdError(operation, self.url, code, detail, status, hint)


def _text(value: t.Any) -> str:
    # A member says what it likes: one legible line of bounded length, "" for what is no text.
    return one_line(value[:_LONGEST_TEXT]) if isinstance(value, str) else ""


def _integer(value: t.Any) -> int:
    # The gateway writes 64-bit numbers as text and leaves zeros out; gRPC's codes are numbers.
    if isinstance(value, str) and len(value) <= _LONGEST_NUMBER and value.isascii() and value.isdigit():
        value = int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**64 else 0
