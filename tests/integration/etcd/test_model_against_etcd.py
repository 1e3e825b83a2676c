# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The etcd of the model checker's world, compared with a real one: each kind of change of the membership, and each refusal.

What depends on the release: since 3.5.30 and 3.6.11 a member may be added beside a silent voter
(docs/reference/invariants.md, "A silent voter blocks an addition"). The rule that is compared is
the one of the etcd that is found here: PyPI's is an older one, tests/tools/newer.sh has a newer one, and the full lab asks both.
"""

from __future__ import annotations

import contextlib
import re
import subprocess
import time
import typing as t

import pytest
from etcd_cluster import EtcdCluster, find_etcd, until
from model.world import (
    DOWN,
    JOINING,
    LEARNER,
    UNNAMED,
    UNSETTLED,
    UP,
    figures,
    grants_add,
    grants_promote,
    grants_remove,
)

from ansible_collections.kubeadm.control_plane.plugins.module_utils.common.https import Unreachable
from ansible_collections.kubeadm.control_plane.plugins.module_utils.etcd.types import EtcdError, Member

Make = t.Callable[..., EtcdCluster]
# How long a refusal must last to be one: etcd's members have been connected for long when it is asked.
REFUSED_SECONDS = 1.5
# A grant comes at once, or as soon as etcd counts its members as connected: five seconds, and more on a busy machine.
GRANTED_SECONDS = 30.0
PAUSE_SECONDS = 0.1
# A change: add (an unstarted voter or learner), remove (a member in that state), promote (a member in that state).
Change = tuple[str, str]
NEW_URL = "https://127.0.0.1:1"


def release() -> tuple[int, ...]:
    """The version of the etcd that is tested."""
    said = subprocess.run([find_etcd(), "--version"], capture_output=True, text=True, check=True).stdout
    return tuple(int(part) for part in re.findall(r"\d+", said)[:3])


def modern() -> bool:
    """Whether it adds beside a silent voter."""
    version = release()
    return version >= (3, 6, 11) or ((3, 5, 30) <= version < (3, 6))


class Subject:
    """A cluster with members in these states; the first one is up, and is the one that is asked."""

    def __init__(self, make_cluster: Make, states: t.Sequence[str]) -> None:
        self.states = list(states)
        self.cluster = make_cluster(sum(1 for state in states if state not in UNSETTLED))
        settled = iter(list(self.cluster.members))
        # One change that is taken shows that the members count as connected.
        self.granted(("add", JOINING), patience=GRANTED_SECONDS)
        self.undo()
        self.members = []
        for number, state in enumerate(states):
            if state in UNSETTLED:
                new = self.cluster.add(f"new{number}", learner=state != UNNAMED, start=state == LEARNER)
                self.members.append(new)
            else:
                self.members.append(next(settled))
        if LEARNER in states:
            until("the learner has started", lambda: any(each.name.startswith("new") for each in self.listed()))
        # Without a majority nothing can even be listed; any ID does then, as it is refused all the same.
        listed = self.listed() if figures([UP if each == DOWN else each for each in states]).held else []
        self.ids = {each.peer_urls[0]: each.id for each in listed}
        for member, state in zip(self.members, states):
            if state == DOWN:
                member.kill()

    def listed(self) -> list[Member]:
        """What the first member lists."""
        with self.cluster.gateway(self.cluster.members[0]) as gateway:
            return list(gateway.member_list().members)

    def granted(self, change: Change, patience: float = REFUSED_SECONDS) -> bool:
        """Whether etcd makes a change within so many seconds."""
        kind, state = change
        deadline = time.monotonic() + patience
        while True:
            try:
                with self.cluster.gateway(self.cluster.members[0], timeout=3.0) as gateway:
                    if kind == "add":
                        gateway.member_add([NEW_URL], learner=state == JOINING)
                    elif kind == "remove":
                        gateway.member_remove(self.id_of(state))
                    else:
                        gateway.member_promote(self.id_of(state))
                return True
            except (EtcdError, Unreachable):
                # An answer may be lost to a busy machine, and the change made all the same.
                if self.made(change):
                    return True
                if time.monotonic() > deadline:
                    return False
            # Asked without a pause, etcd and this test took a processor each.
            time.sleep(PAUSE_SECONDS)

    def made(self, change: Change) -> bool:
        """Whether the members are as they are after a change."""
        kind, state = change
        with contextlib.suppress(EtcdError, Unreachable):
            there = {each.id: each for each in self.listed()}
            if kind == "add":
                return any(each.peer_urls == (NEW_URL,) for each in there.values())
            identity = self.id_of(state)
            if kind == "remove":
                # Where nothing could be listed before, no ID is known that could be gone.
                return identity in self.ids.values() and identity not in there
            return identity in there and not there[identity].is_learner
        return False

    def id_of(self, state: str) -> int:
        """The ID of the last member in that state: not of the one that is asked, where there is another."""
        number = len(self.states) - 1 - self.states[::-1].index(state)
        return self.ids.get(self.members[number].peer_url, 1)

    def undo(self) -> None:
        """Take an added member out again."""
        identity = next(each.id for each in self.listed() if each.peer_urls == (NEW_URL,))

        def removed() -> bool:
            with contextlib.suppress(EtcdError, Unreachable), self.cluster.gateway(self.cluster.members[0]) as gateway:
                gateway.member_remove(identity)
                return True
            return False

        until("the added member is gone", removed)

    def works(self) -> bool:
        """Whether a linearizable read is served within the time that an election takes."""
        deadline = time.monotonic() + 8.0
        while time.monotonic() < deadline:
            with (
                contextlib.suppress(EtcdError, Unreachable),
                self.cluster.gateway(self.cluster.members[0], 2.0) as gateway,
            ):
                gateway.linearizable_read()
                return True
        return False


def expected(states: list[str], change: Change) -> bool:
    """What the model says of a change."""
    kind, state = change
    if kind == "add":
        return grants_add(states, state == JOINING, modern())
    return grants_remove(states, state) if kind == "remove" else grants_promote(states, state)


def after(states: list[str], change: Change) -> list[str]:
    """The members' states once the change is made."""
    kind, state = change
    left = list(states)
    if kind != "add":
        left.remove(state)
    return left if kind == "remove" else [*left, UP if kind == "promote" else state]


def changes(states: list[str]) -> list[Change]:
    """Every kind of change that there is in these states."""
    kinds = sorted(set(states))
    promotions = [("promote", state) for state in kinds if state in (LEARNER, JOINING)]
    return [("add", JOINING), ("add", UNNAMED), *(("remove", state) for state in kinds), *promotions]


CASES: t.Final = [
    [UP],
    [UP, UP],
    [UP, DOWN],
    [UP, UNNAMED],
    [UP, UP, UP],
    [UP, UP, DOWN],
    [UP, DOWN, DOWN],
    [UP, UP, UNNAMED],
    [UP, UP, UP, UNNAMED],
    [UP, UP, JOINING],
    [UP, UP, LEARNER],
    [UP, UP, UP, UP, DOWN],
]


def _chosen() -> t.Iterator[t.Any]:
    """Each case once for each change that can't be taken back; a case without one once."""
    for states in CASES:
        last = [each for each in changes(states) if expected(states, each) and each[0] != "add"]
        if states == [UP]:
            last = [("add", UNNAMED)]
        for change in last or [None]:
            yield pytest.param(states, change, id="-".join(states) + (f": {change[0]} {change[1]}" if change else ""))


@pytest.mark.parametrize(("states", "last"), list(_chosen()))
def test_etcd_grants_and_refuses_what_the_model_says(
    make_cluster: Make, states: list[str], last: t.Optional[Change]
) -> None:
    subject = Subject(make_cluster, states)
    assert subject.works() is figures(states).held
    for change in changes(states):
        if not expected(states, change):
            assert not subject.granted(change), change
        elif change[0] == "add" and change != last and figures(after(states, change)).held:
            assert subject.granted(change, GRANTED_SECONDS), change
            subject.undo()
    if last is not None:
        assert subject.granted(last, GRANTED_SECONDS), last
        # The model's count is etcd's: it goes on serving exactly where the model says that it has its majority.
        assert subject.works() is figures(after(states, last)).held


def test_an_addition_beside_a_silent_voter(make_cluster: Make) -> None:
    """3.5.30, 3.6.11 and later, which tests/tools/newer.sh brings, grant it where four of five answer; those before refuse it."""
    patience = GRANTED_SECONDS if modern() else REFUSED_SECONDS
    assert Subject(make_cluster, [UP, UP, UP, UP, DOWN]).granted(("add", JOINING), patience) is modern()
