# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Paths and names."""

from __future__ import annotations

import pytest

from ansible_collections.kubeadm.control_plane.plugins.module_utils.nspawn import arguments
from ansible_collections.kubeadm.control_plane.plugins.module_utils.nspawn.errors import NspawnError
from ansible_collections.kubeadm.control_plane.plugins.module_utils.nspawn.layout import Layout

LAYOUT = Layout("/var/lib/x")


def test_everything_of_a_machine_is_in_its_folder():
    machine = LAYOUT.machine("demo-1")
    for path in (
        machine.record,
        machine.upper,
        machine.work,
        machine.root,
        machine.containerd,
        machine.kubelet,
        machine.etcd,
    ):
        assert path.startswith("/var/lib/x/machines/demo-1/")


@pytest.mark.parametrize("name", ["", "Demo", "a_b", "../etc", "-a", "a-", "a" * 64, "a/b", "a.b", "a\n"])
def test_a_name_that_is_no_host_name_is_refused(name):
    with pytest.raises(NspawnError, match="machine name"):
        LAYOUT.machine(name)


def test_no_two_clusters_share_an_endpoint_folder():
    assert LAYOUT.endpoint("a", "b-c").path != LAYOUT.endpoint("a-b", "c").path


@pytest.mark.parametrize("path", ["relative", "/with:colon", "/with,comma", "/with space", "/" + "x" * 70])
def test_a_directory_that_mount_options_or_sockets_cannot_name_is_refused(path):
    with pytest.raises(NspawnError, match="directory"):
        arguments.layout_of({"directory": path})


def test_a_directory_is_normalised():
    assert arguments.layout_of({"directory": "/var/lib//x/"}).directory == "/var/lib/x"
