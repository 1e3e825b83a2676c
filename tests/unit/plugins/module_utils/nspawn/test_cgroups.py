# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The host's control groups, told from text; and groups made in a folder that looks like a hierarchy."""

from __future__ import annotations

import pytest

from ansible_collections.kubeadm.control_plane.plugins.module_utils.nspawn.errors import NspawnError
from ansible_collections.kubeadm.control_plane.plugins.module_utils.nspawn.machine import cgroups

HYBRID = """\
22 1 254:0 / / rw,relatime - ext4 /dev/vda rw
25 22 0:22 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755
26 25 0:23 / /sys/fs/cgroup/cpu,cpuacct rw,relatime - cgroup cgroup rw,cpu,cpuacct
27 25 0:24 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory
28 25 0:25 / /sys/fs/cgroup/systemd rw,relatime - cgroup cgroup rw,xattr,name=systemd
29 25 0:26 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw,nsdelegate
"""
UNIFIED = "26 25 0:23 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"


def test_a_hybrid_host_is_version_1_with_every_hierarchy():
    found = cgroups.parse_mountinfo(HYBRID)
    assert found.version == 1
    assert dict(found.legacy)["/sys/fs/cgroup/cpu,cpuacct"] == ("cpu", "cpuacct")
    assert found.unified == "/sys/fs/cgroup/unified"
    # The unified one counts too: systemd-nspawn takes a machine's place in all of them from it.
    assert found.groups("abc") == [
        "/sys/fs/cgroup/cpu,cpuacct/kubeadm-control-plane/abc",
        "/sys/fs/cgroup/memory/kubeadm-control-plane/abc",
        "/sys/fs/cgroup/systemd/kubeadm-control-plane/abc",
        "/sys/fs/cgroup/unified/kubeadm-control-plane/abc",
    ]


def test_a_host_with_cgroup_v2_alone_is_version_2():
    found = cgroups.parse_mountinfo(UNIFIED)
    assert (found.version, found.groups("abc")) == (2, ["/sys/fs/cgroup/kubeadm-control-plane/abc"])


def test_a_host_without_cgroups_is_an_error():
    with pytest.raises(NspawnError, match="no cgroup hierarchy is mounted"):
        cgroups.parse_mountinfo("22 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n")


def test_a_cpuset_is_filled_from_above_level_by_level(tmp_path):
    machine = tmp_path / "kubeadm-control-plane" / "abc"
    machine.mkdir(parents=True)
    for folder, value in ((tmp_path, "0-1\n"), (machine.parent, "\n"), (machine, "\n")):
        (folder / "cpuset.cpus").write_text(value)
        (folder / "cpuset.mems").write_text(value.replace("-1", ""))
    assert cgroups.make(cgroups.Hierarchies(((str(tmp_path), ("cpuset",)),), None), "abc") == [str(machine)]
    assert (machine / "cpuset.cpus").read_text() == "0-1\n"
    assert (machine / "cpuset.mems").read_text() == "0\n"


def test_a_cpuset_that_has_a_value_keeps_it(tmp_path):
    machine = tmp_path / "kubeadm-control-plane" / "abc"
    machine.mkdir(parents=True)
    for folder, value in ((tmp_path, "0-1\n"), (machine.parent, "0-1\n"), (machine, "1\n")):
        (folder / "cpuset.cpus").write_text(value)
    cgroups.make(cgroups.Hierarchies(((str(tmp_path), ("cpuset",)),), None), "abc")
    assert (machine / "cpuset.cpus").read_text() == "1\n"


def test_on_v2_every_controller_is_handed_down(tmp_path):
    for folder in (tmp_path, tmp_path / "kubeadm-control-plane"):
        folder.mkdir(exist_ok=True)
        (folder / "cgroup.controllers").write_text("cpu\n")
        (folder / "cgroup.subtree_control").write_text("")
    cgroups.make(cgroups.Hierarchies((), str(tmp_path)), "abc")
    for folder in (tmp_path, tmp_path / "kubeadm-control-plane"):
        assert (folder / "cgroup.subtree_control").read_text() == "+cpu"


def test_processes_are_found_at_every_depth(tmp_path):
    deep = tmp_path / "group" / "system.slice" / "x.service"
    deep.mkdir(parents=True)
    (tmp_path / "group" / "cgroup.procs").write_text("11\n0\n")
    (deep / "cgroup.procs").write_text("12\n13\n")
    assert cgroups.processes([str(tmp_path / "group"), str(tmp_path / "gone")]) == {11, 12, 13}


def test_removal_goes_bottom_up_and_takes_the_empty_parent_along(tmp_path):
    group = tmp_path / "kubeadm-control-plane" / "abc"
    (group / "a" / "b").mkdir(parents=True)
    assert cgroups.remove([str(group)]) == []
    assert list(tmp_path.iterdir()) == []


def test_removal_tells_what_is_still_busy_and_leaves_other_machines_alone(tmp_path):
    group = tmp_path / "kubeadm-control-plane" / "abc"
    other = tmp_path / "kubeadm-control-plane" / "def"
    (group / "busy").mkdir(parents=True)
    other.mkdir()
    (group / "busy" / "a-process").write_text("")
    assert str(group / "busy") in cgroups.remove([str(group)])
    assert other.is_dir()


def test_frozen_groups_are_thawed(tmp_path):
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "freezer.state").write_text("FROZEN")
    (tmp_path / "cgroup.freeze").write_text("1")
    cgroups.thaw([str(tmp_path)])
    assert (tmp_path / "deep" / "freezer.state").read_text() == "THAWED"
    assert (tmp_path / "cgroup.freeze").read_text() == "0"
