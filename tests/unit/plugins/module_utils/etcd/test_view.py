# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Views and evidence from made-up witnesses: what no real cluster can be brought to say on demand."""

from __future__ import annotations

import dataclasses
import http.server
import json
import threading
import typing as t

import pytest

from ansible_collections.kubeadm.control_plane.plugins.module_utils.etcd import membership
from ansible_collections.kubeadm.control_plane.plugins.module_utils.etcd.gateway import Credentials
from ansible_collections.kubeadm.control_plane.plugins.module_utils.etcd.membership import MembershipError
from ansible_collections.kubeadm.control_plane.plugins.module_utils.etcd.types import Alarm, Member, MemberList, Status
from ansible_collections.kubeadm.control_plane.plugins.module_utils.etcd.view import (
    View,
    Witness,
    client_url,
    look_again,
    members_view,
    put_together,
)

MEMBERS = tuple(
    Member(number, f"m{number}", (f"https://10.0.0.{number}:2380",), (f"https://10.0.0.{number}:2379",), False)
    for number in (1, 2, 3)
)


def witness(identity: int, members: tuple[Member, ...] = MEMBERS, *, leader: int = 1, term: int = 5) -> Witness:
    status = Status(99, identity, "3.5.1", 1, 1, leader, term, 10, 10, False, ())
    return Witness(f"https://10.0.0.{identity}:2379", MemberList(99, members), status, (), True)


def evidence(view: View, monkeypatch: pytest.MonkeyPatch) -> MembershipError:
    cluster = membership.Cluster([], None)
    monkeypatch.setattr(membership.Cluster, "patient_view", lambda _self: view)
    with pytest.raises(MembershipError) as refused:
        membership.remove_member(cluster, name="m3")
    return refused.value


def test_members_that_agree_are_one_view() -> None:
    view = put_together({number: witness(number) for number in (1, 2, 3)})
    assert view.agrees is True
    assert view.leader == 1
    assert [view.unhealthy(member) for member in view.members] == ["", "", ""]


def test_members_that_disagree_are_named_with_what_they_list(monkeypatch: pytest.MonkeyPatch) -> None:
    view = put_together({1: witness(1), 2: witness(2), 3: witness(3, MEMBERS[:2])})
    assert view.agrees is False
    assert view.members == MEMBERS
    assert "0000000000000003 list 0000000000000001, 0000000000000002 (cluster" in view.disagreement
    refused = evidence(view, monkeypatch)
    assert refused.reason == "ViewsDisagree"
    assert "Nothing was changed" in str(refused)


def test_one_list_of_three_voters_is_no_agreement(monkeypatch: pytest.MonkeyPatch) -> None:
    view = put_together({1: witness(1), 2: Witness("https://10.0.0.2:2379", message="no answer within 3 s")})
    assert view.agrees is None
    refused = evidence(view, monkeypatch)
    assert refused.reason == "ViewsDisagree"
    assert "1 of 3 voters" in str(refused) and "no answer within 3 s" in str(refused)


def test_a_single_voter_agrees_with_itself() -> None:
    assert put_together({1: witness(1, MEMBERS[:1])}).agrees is True


def test_a_leader_of_an_older_term_does_not_count() -> None:
    view = put_together(
        {1: witness(1, leader=1, term=5), 2: witness(2, leader=2, term=6), 3: witness(3, leader=2, term=6)}
    )
    assert view.leader == 2
    split = put_together({1: witness(1, leader=1, term=6), 2: witness(2, leader=2, term=6)})
    assert split.leader == 0


def test_a_member_is_unhealthy_without_leader_reads_or_with_an_alarm() -> None:
    silent = dataclasses.replace(witness(2), reads=False, message="etcdserver: request timed out")
    alarmed = dataclasses.replace(witness(3), alarms=(Alarm(3, "NOSPACE"),))
    view = put_together({1: witness(1, leader=0), 2: silent, 3: alarmed})
    assert [view.unhealthy(member) for member in view.members] == [
        "it knows of no leader",
        "etcdserver: request timed out",
        "alarm NOSPACE",
    ]
    assert view.document()["alarms"] == [{"memberID": "0000000000000003", "alarm": "NOSPACE"}]


def test_two_members_of_one_name_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    twins = (*MEMBERS[:2], MEMBERS[2], Member(4, "m3", (), ("https://10.0.0.4:2379",), False))
    view = put_together({number: witness(number, twins) for number in (1, 2, 3, 4)})
    refused = evidence(view, monkeypatch)
    assert refused.reason == "AmbiguousName"
    assert "0000000000000003, 0000000000000004" in str(refused)


@pytest.mark.parametrize(("sick", "looked"), [(0, 1), (1, 2), (2, 3), (9, 3)])
def test_what_seems_dead_is_looked_at_again_and_no_oftener_than_told(sick: int, looked: int) -> None:
    well = put_together({1: witness(1, MEMBERS[:1])})
    views = iter([View(message="dead")] * sick + [well] * 9)
    count = 0

    def look() -> View:
        nonlocal count
        count += 1
        return next(views)

    assert look_again(look, 3, 0.0).reachable is (sick < 3)
    assert count == looked


def test_how_often_a_member_looked_dead_is_told() -> None:
    """m3 is dead in the first two of three looks, and m2 is not listed in the first."""
    silent = Witness("https://10.0.0.3:2379", message="no answer within 3 s")
    two = tuple(member for member in MEMBERS if member.id != 2)
    views = [
        put_together({1: witness(1, two), 3: silent}),
        put_together({1: witness(1), 2: witness(2), 3: silent}),
        put_together({1: witness(1), 2: witness(2), 3: witness(3)}),
    ]
    taken = iter(views)
    statuses = look_again(lambda: next(taken), 3, 0.0).document()["statuses"]
    counts = {identity[-1]: (each["looks"], each["failedLooks"]) for identity, each in statuses.items()}
    assert counts == {"1": (3, 0), "2": (2, 0), "3": (3, 2)}
    assert statuses["0000000000000003"]["healthy"] is True


def test_a_single_view_is_one_look() -> None:
    view = put_together({1: witness(1), 2: witness(2), 3: Witness("https://10.0.0.3:2379", message="refused")})
    counts = [(each["looks"], each["failedLooks"]) for each in view.document()["statuses"].values()]
    assert counts == [(1, 0), (1, 0), (1, 1)]


class OneOfThree(http.server.BaseHTTPRequestHandler):
    """A healthy first member that lists two more, one of them with the client URLs of the test."""

    urls: t.ClassVar[list[str]] = []
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        """Answer as etcd's gateway does."""
        own = f"http://127.0.0.1:{self.server.server_address[1]}"
        named = (("1", [own]), ("2", [own]), ("3", self.urls))
        members = [{"ID": identity, "name": f"m{identity}", "clientURLs": urls} for identity, urls in named]
        document = {"header": {"cluster_id": "9", "member_id": "1"}, "leader": "1", "raftTerm": "2", "members": members}
        self.rfile.read(int(self.headers["Content-Length"]))
        body = json.dumps(document).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_unused: t.Any) -> None:
        """Say nothing."""


@pytest.mark.parametrize(
    "urls",
    [["http://a b:1"], ["http://a\r\nb:1", "http://x:99999"], ["", "\x00", "\ud800"], ["http://[::1"], ["//a"]],
    ids=["space", "newline", "nothing", "bracket", "no scheme"],
)
def test_whatever_a_member_published_as_its_url_it_alone_is_unhealthy_for_it(
    urls: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where another one publishes a URL that isn't its own: the answer is evidence about the member that gave it."""
    monkeypatch.setattr(OneOfThree, "urls", urls)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), OneOfThree) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        view = members_view([f"http://127.0.0.1:{server.server_address[1]}"], None)
        server.shutdown()
    first, second, third = (view.unhealthy(member) for member in view.members)
    assert first == ""
    assert "answers as member 0000000000000001, the list says 0000000000000002" in second
    assert "is not asked: it is not a URL" in third


def test_what_nobody_may_ask_in_plain_text_is_skipped_for_what_may_be_asked() -> None:
    """Of several URLs of a member the first that is encrypted counts where there are credentials."""
    urls = ("http://10.0.0.3:2379", "https://127.0.0.1:1")
    member = Member(3, "m3", (), urls, False)
    assert client_url(member, Credentials("a", "b", "c")) == urls[1]
    assert client_url(member, None) == urls[0]
