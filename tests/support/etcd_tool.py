# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""etcd's own tool on this host, and none, in the place of the one in a node's image."""

from __future__ import annotations

import contextlib
import os
import typing as t

import pytest
from etcd_cluster import find_etcd

from ansible_collections.kubeadm.control_plane.plugins.module_utils.etcd.snapshot.tool import NoTool, Tool


def own_tool() -> Tool:
    """The tool beside the etcd that the tests run: etcdutl, or etcdctl of an etcd before 3.5."""
    folder = os.path.dirname(find_etcd())
    for name in ("etcdutl", "etcdctl"):
        path = os.path.join(folder, name)
        if os.access(path, os.X_OK):
            return Tool(name, (path,), "")
    pytest.skip("no etcdutl or etcdctl beside etcd")


@contextlib.contextmanager
def on_this_host(folder: str) -> t.Iterator[Tool]:
    """It, with the folder that it is to work in."""
    found = own_tool()
    yield Tool(found.name, found.words, folder)


@contextlib.contextmanager
def none_here(folder: str) -> t.Iterator[Tool]:
    """No tool, as on a node whose image holds none."""
    if folder:
        raise NoTool("the image holds no etcdctl")
    yield own_tool()
