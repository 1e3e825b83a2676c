# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a run makes of a number that is higher than its own."""

from __future__ import annotations

import importlib
import typing as t
from pathlib import Path

import pytest
import yaml

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.calls import fence
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.calls.fence import Fence
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.lock import file_lock
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.lock.any_store import FileLocks, Taken

AT = ("default", "prod")
PACKAGE = "ansible_collections.kubeadm.control_plane.plugins.modules"
MODULES = Path(__file__).resolve().parents[5] / "plugins" / "modules"


@pytest.fixture
def locks(tmp_path: Path) -> FileLocks:
    """The locks of a store that was made anew."""
    return FileLocks(str(tmp_path / "store"))


def test_an_observation_raises_the_number_above_what_was_seen(locks: FileLocks) -> None:
    """The store was restored; the run goes on with a number that the next tasks find."""
    mine, next_task = (Fence(locks, *AT, locks.take(*AT).fencing) for _task in range(2))
    assert mine.answer(41, 1, observing=True) and mine.number == 42
    assert next_task.number == 1 and next_task.answer(42, 1, observing=False) and next_task.number == 42


def test_an_observation_raises_it_above_the_same_number_of_another_run(locks: FileLocks) -> None:
    """A copy of the store gave it the same; a step never does so."""
    mine = Fence(locks, *AT, locks.take(*AT).fencing)
    assert mine.run == t.cast(Taken, locks.own(*AT)).run != ""
    with pytest.raises(file_lock.LockError, match="two stores"):
        mine.answer(1, 1, observing=False)
    assert mine.answer(1, 1, observing=True) and mine.number == 2


def test_a_step_never_raises_it(locks: FileLocks) -> None:
    """Whoever did since the observation may have changed what it was decided on."""
    mine = Fence(locks, *AT, locks.take(*AT).fencing)
    with pytest.raises(
        file_lock.LockError, match=r"since it was observed.*number 1, newest 41.*two stores.*locks/prod"
    ):
        mine.answer(41, 1, observing=False)
    assert locks.check(*AT, 1) == 1


def test_a_number_that_no_run_can_have_had_is_not_believed(locks: FileLocks) -> None:
    """A hostile machine must not use up the numbers."""
    mine = Fence(locks, *AT, locks.take(*AT).fencing)
    with pytest.raises(file_lock.LockError, match="no run can have had"):
        mine.answer(fence.HIGHEST + 1, 1, observing=True)
    assert locks.check(*AT, 1) == 1


@pytest.mark.parametrize("observing", [True, False])
def test_a_run_that_lost_its_lock_ends(locks: FileLocks, observing: bool) -> None:
    """Nothing is raised for it."""
    mine = Fence(locks, *AT, locks.take(*AT).fencing)
    locks.release_own(*AT)
    assert locks.take(*AT).fencing == 2
    with pytest.raises(file_lock.LostLock):
        mine.answer(2, 1, observing=observing)
    assert locks.check(*AT, 2) == 2


@pytest.mark.parametrize(
    ("module", "arguments", "check_mode", "expected"),
    [
        ("node_observe", {}, False, True),
        ("etcd_restore_info", {}, False, True),
        ("etcd_member", {"state": "absent"}, False, False),
        ("workload_objects", {"read": [{}]}, False, True),
        ("workload_objects", {"read": [{}], "write": [{}]}, False, False),
        ("host_claim", {"state": "present"}, True, True),
        ("host_claim", {"state": "present"}, False, False),
    ],
)
def test_what_observes(module: str, arguments: dict[str, object], check_mode: bool, expected: bool) -> None:
    """What changes nothing."""
    assert fence.is_observing(module, arguments, check_mode) is expected


def test_every_module_that_takes_the_number_gets_it() -> None:
    """What changes a machine or its cluster takes it; what is asked alone, only where decisions are taken from it."""
    takes, asks = set(), set()
    for path in MODULES.glob("*.py"):
        text = importlib.import_module(f"{PACKAGE}.{path.stem}").DOCUMENTATION
        fragments = yaml.safe_load(text).get("extends_documentation_fragment") or []
        if "kubeadm.control_plane._node.fencing" in fragments:
            takes.add(path.stem)
        elif "kubeadm.control_plane._node" in fragments:
            asks.add(path.stem)
    assert takes == fence.FENCED
    # An adoption that is refused leaves no trace in a cluster that may be another store's. A host of host_packages and host_firewall is of no cluster.
    assert asks == {
        "etcd_member_info",
        "etcd_snapshot_file",
        "external_etcd_info",
        "host_claim_info",
        "host_firewall",
        "host_images",
        "host_packages",
        "node_adoption_info",
        "preflight",
    }
