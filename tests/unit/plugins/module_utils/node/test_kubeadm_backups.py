# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What kubeadm's upgrades leave on a node is kept in bounds."""

from __future__ import annotations

import os
from pathlib import Path

from ansible_collections.kubeadm.control_plane.plugins.module_utils.node.host.kubeadm_backups import prune

# As kubeadm 1.15 to 1.36 names them; the newest of each kind last.
ETCD = [f"kubeadm-backup-etcd-2024-0{month}-11-21-00-07" for month in (1, 2, 3, 4)]
MANIFESTS = [f"kubeadm-backup-manifests-202{year}-12-31-23-59-59" for year in (3, 4)]
KUBELET = ["kubeadm-kubelet-config3172", "kubeadm-kubelet-config11", "kubeadm-kubelet-config2094"]
OTHERS = ["kubeadm-init-dryrun77", "kubeadm-backup-etcd-mine", "kubeadm-backup-etcd-2024-01-11", "notes"]


def left_by_upgrades(folder: Path) -> None:
    """A node on which much was upgraded, and where somebody keeps something of their own."""
    for age, name in enumerate([*reversed(ETCD), *MANIFESTS, *reversed(KUBELET), *OTHERS]):
        (folder / name / "etcd").mkdir(parents=True)
        (folder / name / "etcd" / "db").write_text("x")
        # A copy's own time tells nothing of etcd's, whose newest is the oldest here; the random names have no other.
        os.utime(folder / name, (10**9 - age, 10**9 - age))
    (folder / "kubeadm-backup-etcd-2020-01-01-00-00-00").write_text("a file")
    (folder / "kubeadm-backup-etcd-2020-01-02-00-00-00").symlink_to(folder / "notes")


def names(folder: Path) -> set[str]:
    return {each.name for each in folder.iterdir()}


def test_the_newest_of_each_kind_stay_and_whatever_is_not_kubeadms(tmp_path: Path) -> None:
    """By the time in their names where they have one, by their own where they don't."""
    left_by_upgrades(tmp_path)
    before = names(tmp_path)
    gone = {*ETCD[:2], *KUBELET[:1]}
    assert prune(2, folder=str(tmp_path), check=True) == sorted(str(tmp_path / each) for each in gone)
    assert names(tmp_path) == before, "check mode deletes nothing"
    assert prune(2, folder=str(tmp_path)) == sorted(str(tmp_path / each) for each in gone)
    assert names(tmp_path) == before - gone
    assert (tmp_path / "notes" / "etcd" / "db").exists(), "a link is not followed"
    assert prune(2, folder=str(tmp_path)) == [], "run again: no change"


def test_a_node_that_was_never_upgraded(tmp_path: Path) -> None:
    """There is no such folder before kubeadm's first upgrade."""
    assert prune(folder=str(tmp_path / "none")) == []
