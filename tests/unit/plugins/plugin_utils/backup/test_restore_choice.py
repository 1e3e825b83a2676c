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
    choose,
    of_document,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.calls.failure import ControlPlaneFailure

NAMES = ("a", "b", "c")


def info(revision: t.Optional[int] = None, *snapshots: int, leader: t.Optional[str] = None) -> dict[str, t.Any]:
    """What a machine says of itself."""
    return {
        "etcd": {"answers": leader is not None, "leader": leader, "members": []},
        "data": {"revision": revision, "message": ""},
        "snapshots": [{"path": f"/kept/{each}.db", "revision": each, "taken_at": "then"} for each in snapshots],
    }


def backup(revision: t.Optional[int], name: str = "home.db") -> dict[str, t.Any]:
    """A file of the controller's."""
    return {"path": f"/backups/{name}", "revision": revision, "taken_at": "then"}


def chosen(infos: dict[str, t.Any], *backups: dict[str, t.Any], **options: str) -> Choice:
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
            "prod:everythingAfterRevision:60:insteadOf:90:etcdThatWorks:etcdOf:b,c",
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
    assert ("there is something newer" in text) == ("insteadOf" in consent)


@pytest.mark.parametrize(
    ("infos", "backups", "options", "words"),
    [
        ({}, [backup(60)], {}, "no machine of prod can be reached"),
        ({"a": info()}, [], {}, "there is nothing to restore"),
        ({"a": info()}, [backup(None)], {}, "there is nothing to restore"),
        ({"a": info(9)}, [], {"machine": "b"}, "it can't be reached"),
        ({"a": info(9)}, [], {"machine": "x"}, "has no such machine"),
        ({"a": info(9, 8)}, [backup(7)], {"snapshot": "a:/kept/1.db"}, "revision 8: a:/kept/8.db"),
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
