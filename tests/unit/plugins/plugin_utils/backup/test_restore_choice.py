# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is restored, where, and the consent that names what is lost."""

from __future__ import annotations

import json
import typing as t

import pytest

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.backup.restore_choice import (
    Choice,
    History,
    choose,
    of_document,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.calls.failure import ControlPlaneFailure

NAMES = ("a", "b", "c")


THEN = "2026-07-03T14:15:02Z"


def info(
    revision: t.Optional[int] = None, *snapshots: int, leader: t.Optional[str] = None, of: str = ""
) -> dict[str, t.Any]:
    """What a machine says of itself."""
    return {
        "etcd": {"answers": leader is not None, "leader": leader, "members": []},
        "data": {"revision": revision, "message": "", "clusterID": of},
        "snapshots": [{"path": f"/kept/{each}.db", "revision": each, "taken_at": THEN} for each in snapshots],
    }


def backup(revision: t.Optional[int], name: str = "home.db", taken: str = THEN, of: str = "") -> dict[str, t.Any]:
    """A file of the controller's."""
    return {"path": f"/backups/{name}", "revision": revision, "taken_at": taken, "cluster_id": of}


def chosen(infos: dict[str, t.Any], *backups: dict[str, t.Any], **options: t.Any) -> Choice:
    """Choose for the cluster of three."""
    return choose("prod", NAMES, infos, backups, **options)


@pytest.mark.parametrize(
    ("infos", "backups", "options", "where", "consent"),
    [
        ({"b": info(90, 50)}, [backup(60)], {}, "b", "prod:everythingAfterRevision:90:etcdOf:a,c"),
        ({"b": info(90), "c": info(95)}, [], {}, "c", "prod:everythingAfterRevision:95:etcdOf:a,b"),
        (
            {"b": info(90), "c": info(95)},
            [],
            {"machine": "b"},
            "b",
            "prod:everythingAfterRevision:90:insteadOf:95:etcdOf:a,c",
        ),
        ({"b": info(90, 90)}, [backup(90)], {}, "b", "prod:everythingAfterRevision:90:etcdOf:a,c"),
        (
            {"b": info(90, 50), "c": info(70)},
            [],
            {"snapshot": "b:/kept/50.db"},
            "b",
            "prod:everythingAfterRevision:50:insteadOf:90:etcdOf:a,c",
        ),
        # A backup goes to the machine whose own data goes furthest, or where somebody wants it.
        ({"a": info(), "c": info(5)}, [backup(60)], {}, "c", "prod:everythingAfterRevision:60:etcdOf:a,b"),
        (
            {"a": info(), "c": info(5)},
            [backup(60)],
            {"machine": "a"},
            "a",
            "prod:everythingAfterRevision:60:etcdOf:b,c",
        ),
        # Going back in time although etcd works is named too.
        (
            {name: info(90, leader="aa") for name in NAMES},
            [backup(60)],
            {"snapshot": "/backups/home.db"},
            "a",
            "prod:everythingAfterRevision:60:etcdThatWorks:etcdOf:b,c",
        ),
    ],
)
def test_what_goes_furthest_is_taken_and_what_is_lost_is_named(
    infos: t.Any, backups: t.Any, options: t.Any, where: str, consent: str
) -> None:
    choice = chosen(infos, *backups, **options)
    assert (choice.machine, choice.consent) == (where, consent)
    assert of_document(json.loads(json.dumps(choice.document()))) == choice
    text = "\n".join(choice.lines())
    assert f"everything that was written after revision {choice.source.revision}" in text
    assert ("there is something newer" in text) == ("insteadOf" in consent or "etcdThatWorks" in consent)


@pytest.mark.parametrize(
    ("infos", "backups", "going", "where", "told"),
    [
        ({"a": info(90), "b": info(90)}, [], {"a"}, "b", False),
        ({"a": info(), "b": info(), "c": info()}, [backup(60)], {"a", "b"}, "c", False),
        # A machine that never carried etcd can't be restored on.
        ({"a": info(50), "b": info(), "c": info(40)}, [backup(60)], {"a"}, "c", False),
        ({"a": info(50), "b": info()}, [backup(60)], {"a"}, "a", True),
        # What goes furthest is not given up for it.
        ({"a": info(95), "b": info(90)}, [], {"a"}, "a", True),
        ({"a": info(90), "b": info(90)}, [], set(NAMES), "a", True),
    ],
)
def test_a_machine_that_is_marked_for_deletion_comes_last_and_is_named(
    infos: t.Any, backups: t.Any, going: set[str], where: str, told: bool
) -> None:
    """Restored there, no run would replace the others: it is the only one that works, and its own removal comes first."""
    choice = chosen(infos, *backups, going=going)
    assert choice.machine == where
    assert (f"Machine {where} is marked for deletion" in "\n".join(choice.lines())) is told


@pytest.mark.parametrize(
    ("infos", "backups", "options", "words"),
    [
        ({}, [backup(60)], {}, "no machine of prod can be reached"),
        ({"a": info()}, [], {}, "there is nothing to restore"),
        ({"a": info()}, [backup(None)], {}, "there is nothing to restore"),
        ({"a": info(9)}, [], {"machine": "b"}, "it can't be reached"),
        ({"a": info(9)}, [], {"machine": "x"}, "has no such machine"),
        ({"a": info(9, 8)}, [backup(7)], {"snapshot": "a:/kept/1.db"}, "a:/kept/8.db: revision 8, taken 2026"),
        (
            {"a": info(9, 8), "b": info(3)},
            [],
            {"snapshot": "a:/kept/8.db", "machine": "b"},
            "is on another machine than b",
        ),
    ],
)
def test_what_can_not_be_is_said(infos: t.Any, backups: t.Any, options: t.Any, words: str) -> None:
    with pytest.raises(ControlPlaneFailure, match=words):
        chosen(infos, *backups, **options)


NOW, OLD = "00000000000000ff", "00000000000000ee"
MADE = "2026-01-01T00:00:00Z"
BEFORE = "2025-07-03T14:15:02Z"


@pytest.mark.parametrize(
    ("other", "why"),
    [
        # The control plane was deleted and made again on the same hosts: etcd gives its cluster the same ID again.
        (backup(4000, taken=BEFORE, of=NOW), "it was taken before this control plane was made"),
        # A way back in time with a tool that does not let the revisions jump.
        (backup(4000, of=OLD), f"it is of the etcd cluster {OLD}, and this control plane's is {NOW}"),
        (backup(4000, taken=""), "no facts beside it"),
    ],
)
def test_revisions_of_another_history_are_not_compared(other: dict[str, t.Any], why: str) -> None:
    history = History(NOW, MADE)
    own = {"a": info(48, of=NOW.upper())}
    choice = chosen(own, other, backup(40, "new.db", of=NOW), history=history)
    assert (choice.source.title(), choice.newest) == ("the data of machine a's own etcd", 48)
    assert choice.consent == "prod:everythingAfterRevision:48:etcdOf:b,c"
    text = "\n".join(choice.lines())
    assert "How far the machines' own data goes: a 48." in text
    assert "/backups/home.db: revision 4000" in text and why in text
    # It is one's own to name, and then this etcd's own history is what is lost.
    named = chosen(own, other, snapshot="/backups/home.db", history=history)
    assert named.consent == "prod:everythingForOtherHistoryAtRevision:4000:insteadOf:48:etcdOf:b,c"
    assert "Lost: all that this etcd holds" in named.lines()[1] and why in named.lines()[1]
    assert "revision 48: the data of machine a's own etcd" in named.lines()[1]
    assert of_document(json.loads(json.dumps(named.document()))) == named
    # Nor is it taken where there is nothing else.
    with pytest.raises(ControlPlaneFailure, match="known to be of this etcd's history") as caught:
        chosen({"a": info()}, other, history=history)
    assert why in str(caught.value)


def test_the_data_of_a_machine_that_an_earlier_restore_gave_up_is_taken_by_name_alone() -> None:
    infos = {"a": info(32, of=NOW), "b": info(40, of=OLD)}
    choice = chosen(infos, history=History(NOW, MADE))
    assert (choice.machine, choice.newest) == ("a", 32) and "b:data: revision 40" in choice.lines()[-2]
    named = chosen(infos, snapshot="b:data", history=History(NOW, MADE))
    assert (named.machine, named.excluded != "") == ("b", True)
    # Where the recorded ID is not known, none is excluded.
    assert chosen(infos, history=History("", MADE)).machine == "b"
