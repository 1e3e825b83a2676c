# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the module machine shows of what it changes, in check mode the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from actions import run_action
from stored_cluster import stored_cluster

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.records.cluster_objects import MACHINE
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.file.store import FileStore


@pytest.fixture(name="store")
def _store(tmp_path: Path) -> FileStore:
    """A cluster of two machines; the finalizers that they have keep what is marked."""
    stored_cluster(tmp_path, "v1.20.2", {}, {}, dict.fromkeys("ab", "localhost"))
    store = FileStore(str(tmp_path))
    for name in "ab":
        store.modify(MACHINE, "default", name, lambda each: each["metadata"].update(finalizers=["machine"]))
    return store


def machine(store: FileStore, check: bool = False, **arguments: Any) -> dict[str, Any]:
    """Run the module."""
    return run_action("machine", check=check, cluster="prod", store={"path": store.directory}, **arguments)


def test_a_machine_that_is_marked_shows_as_such(store: FileStore) -> None:
    told = machine(store, check=True, name="b", state="absent")
    assert not (store.get(MACHINE, "default", "b") or {})["metadata"].get("deletionTimestamp")
    done = machine(store, name="b", state="absent")
    assert (store.get(MACHINE, "default", "b") or {})["metadata"].get("deletionTimestamp")
    assert told["changed"] and done["changed"] and told["diff"] == done["diff"]
    assert done["diff"] == {"before": {"machines": ["a", "b"]}, "after": {"machines": ["a", "b (marked for deletion)"]}}
    again = machine(store, name="b", state="absent")
    assert not again["changed"] and "diff" not in again


def test_a_machine_that_is_there_is_no_change_also_in_check_mode(store: FileStore) -> None:
    there = machine(store, check=True, name="a", kind="join")
    assert not there["changed"] and "diff" not in there
    new = machine(store, check=True, name="c", kind="join")
    assert new["changed"] and new["diff"]["after"]["machines"] == ["a", "b", "c"]
    assert machine(store, check=True, kind="join")["diff"]["after"]["machines"] == ["a", "a new one", "b"]
    assert store.get(MACHINE, "default", "c") is None
