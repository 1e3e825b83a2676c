# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The command that starts a machine."""

from __future__ import annotations

import pytest

from ansible_collections.kubeadm.control_plane.plugins.module_utils.nspawn.layout import Layout
from ansible_collections.kubeadm.control_plane.plugins.module_utils.nspawn.machine import start_command


@pytest.fixture
def start():
    return start_command.Start(
        name="demo-1",
        machine_id="0123456789abcdef0123456789abcdef",
        bridge="kcp0",
        layout=Layout("/var/lib/x").machine("demo-1"),
        lower=("/cache/image/rootfs", "/cache/base"),
        cgroup_version=1,
    )


def test_nspawn_asks_no_systemd_of_the_host_for_anything(start):
    arguments = start_command.nspawn_arguments(start)
    assert {"--register=no", "--keep-unit", "--boot"} <= set(arguments)


def test_the_machine_gets_its_id_so_that_it_can_be_found_again(start):
    assert "--uuid=01234567-89ab-cdef-0123-456789abcdef" in start_command.nspawn_arguments(start)


def test_the_folders_that_an_overlay_cannot_hold_are_bound(start):
    arguments = start_command.nspawn_arguments(start)
    for name in ("containerd", "kubelet", "etcd"):
        assert f"--bind=/var/lib/x/machines/demo-1/{name}:/var/lib/{name}" in arguments


def test_the_image_lies_over_the_base(start):
    assert start_command.overlay_options(start) == (
        "lowerdir=/cache/image/rootfs:/cache/base,upperdir=/var/lib/x/machines/demo-1/upper,workdir=/var/lib/x/machines/demo-1/work"
    )


@pytest.mark.parametrize(("version", "value"), [(1, "0"), (2, "1")])
def test_the_machine_sees_the_hosts_kind_of_cgroups(start, version, value):
    found = start_command.nspawn_environment(start_command.Start(**{**vars(start), "cgroup_version": version}))
    assert found == {"SYSTEMD_NSPAWN_UNIFIED_HIERARCHY": value}


def test_the_launcher_is_told_its_groups_before_anything_else(start):
    groups = ["/sys/fs/cgroup/cpu/g", "/sys/fs/cgroup/memory/g"]
    launch = start_command.launch_command(start, groups)
    assert launch[:2] == ["/bin/sh", "-c"]
    assert launch[4:8] == ["2", *groups, start_command.overlay_options(start)]
    assert launch[9] == "systemd-nspawn"
