# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a view knows, and what it must not believe to know."""

from __future__ import annotations

import typing as t

import pytest
from store_objects import MACHINE, machine

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.read_once import OF_ALL, OF_NAMESPACE, View

LABELS = {"k": "1"}


def names(found: t.Optional[list[t.Any]]) -> t.Optional[list[str]]:
    return None if found is None else [each["metadata"]["name"] for each in found]


def test_nothing_is_known_at_first() -> None:
    view = View()
    assert not view.knows(MACHINE, "default", "m-1")
    assert view.list(MACHINE, "default", None) is None
    assert view.widened("default", LABELS) == ("default", LABELS)


def test_an_object_and_its_absence() -> None:
    view = View()
    view.keep(MACHINE, machine())
    view.keep_missing(MACHINE, "default", "m-2")
    assert view.knows(MACHINE, "default", "m-1") and view.knows(MACHINE, "default", "m-2")
    assert view.get(MACHINE, "default", "m-1") == machine()
    assert view.get(MACHINE, "default", "m-2") is None
    assert view.list(MACHINE, "default", None) is None, "one object is no list"


def test_what_is_returned_is_a_copy() -> None:
    view = View()
    view.keep_list(MACHINE, "default", None, [machine()])
    for found in (view.get(MACHINE, "default", "m-1"), view.list(MACHINE, "default", None)[0]):  # type: ignore[index]
        assert found is not None
        found["spec"]["version"] = "changed by the caller"
    assert view.get(MACHINE, "default", "m-1") == machine()


def test_a_list_by_labels_says_nothing_of_objects_without_them() -> None:
    view = View()
    view.keep_list(MACHINE, "default", LABELS, [machine(labels=LABELS)])
    assert names(view.list(MACHINE, "default", LABELS)) == ["m-1"]
    assert not view.knows(MACHINE, "default", "m-2")
    assert view.list(MACHINE, "default", {"k": "2"}) is None
    assert view.list(MACHINE, "default", None) is None


@pytest.mark.parametrize("namespace", ["default", None])
def test_a_whole_kind_answers_everything_about_it(namespace: t.Optional[str]) -> None:
    view = View(OF_ALL if namespace is None else OF_NAMESPACE)
    assert view.reads_whole_kinds and view.widened("default", LABELS) == (namespace, None)
    view.keep_list(MACHINE, namespace, None, [machine("b", labels=LABELS), machine("a")])
    assert names(view.list(MACHINE, "default", LABELS)) == ["b"]
    assert names(view.list(MACHINE, "default", None)) == ["a", "b"]
    assert view.knows(MACHINE, "default", "c") and view.get(MACHINE, "default", "c") is None
    assert view.knows(MACHINE, "other", "c") is (namespace is None)
    assert view.list(MACHINE, "other", None) == ([] if namespace is None else None)


def test_what_this_store_wrote_is_in_the_lists_that_follow() -> None:
    view = View()
    view.keep_list(MACHINE, "default", LABELS, [machine(labels=LABELS)])
    view.keep(MACHINE, {**machine(labels=LABELS), "status": {"phase": "Running"}}, written=True)
    assert view.list(MACHINE, "default", LABELS)[0]["status"] == {"phase": "Running"}  # type: ignore[index]
    view.keep(MACHINE, machine("m-2", labels=LABELS), written=True)
    assert view.list(MACHINE, "default", LABELS) is None, "it has to be asked again"


@pytest.mark.parametrize("change", ["label", "gone", "deleted"])
def test_what_leaves_a_list_is_not_in_it(change: str) -> None:
    view = View()
    view.keep_list(MACHINE, "default", LABELS, [machine(labels=LABELS)])
    if change == "label":
        view.keep(MACHINE, machine(labels={}), written=True)
    elif change == "gone":
        view.keep_missing(MACHINE, "default", "m-1")
    else:
        view.keep(MACHINE, machine(labels=LABELS, deletionTimestamp="2026-01-01T00:00:00Z"), written=True)
        assert view.get(MACHINE, "default", "m-1") is None, "its last finalizer was taken off"
    assert view.list(MACHINE, "default", LABELS) is None


def test_an_object_that_waits_for_its_finalizers_is_there() -> None:
    view = View()
    waiting = machine(deletionTimestamp="2026-01-01T00:00:00Z", finalizers=["example.org/a"])
    view.keep(MACHINE, waiting, written=True)
    assert view.get(MACHINE, "default", "m-1") == waiting


def test_forgotten_is_unknown() -> None:
    view = View()
    view.keep_list(MACHINE, "default", None, [machine()])
    view.forget()
    assert not view.knows(MACHINE, "default", "m-1") and view.list(MACHINE, "default", None) is None


def test_lists_by_one_label_after_another() -> None:
    """Of a whole kind; an object that was read again with another value is found by that."""
    view = View(OF_ALL)
    view.keep_list(MACHINE, None, None, [machine(name, labels={"k": name, "l": "1"}) for name in ("a", "b")])
    for name in ("a", "b"):
        assert names(view.list(MACHINE, "default", {"k": name, "l": "1"})) == [name]
    assert names(view.list(MACHINE, "default", {"k": "c"})) == []
    assert names(view.list(MACHINE, "default", {"k": "a", "l": "2"})) == []
    view.keep(MACHINE, machine("a", labels={"k": "c"}))
    assert names(view.list(MACHINE, "default", {"k": "c"})) == ["a"]
    assert names(view.list(MACHINE, "default", {"k": "a"})) == []
