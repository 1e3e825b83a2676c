# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Shared options of the provider's modules, and the objects they become.

Keep in step with doc_fragments/_nspawn.py.
"""

from __future__ import annotations

import os
import typing as t

from .addresses import DEFAULT_BRIDGE, DEFAULT_POD_SUBNET, DEFAULT_SUBNET, Network, network_of
from .errors import NspawnError
from .layout import DEFAULT_DIRECTORY, Cache, Layout

DIRECTORY_ARGUMENTS: dict[str, t.Any] = {"directory": {"type": "path", "default": DEFAULT_DIRECTORY}}
CACHE_ARGUMENTS: dict[str, t.Any] = {"cache": {"type": "path", "default": "~/.cache/kubeadm-control-plane"}}
NETWORK_ARGUMENTS: dict[str, t.Any] = {
    "bridge": {"type": "str", "default": DEFAULT_BRIDGE},
    "subnet": {"type": "str", "default": DEFAULT_SUBNET},
    "pod_subnet": {"type": "str", "default": DEFAULT_POD_SUBNET},
}
# These separate the folders in an overlay's mount options, and arguments in systemd-nspawn's --bind.
FORBIDDEN = ":,\\\n "
# haproxy's socket has to fit into the kernel's 108 bytes: folder, two DNS labels, file name.
DIRECTORY_LIMIT = 60


def layout_of(params: t.Mapping[str, t.Any]) -> Layout:
    """Return the layout for a module's parameters.

    Raises:
        NspawnError: the folder's name can't be used.
    """
    directory = _checked("directory", str(params["directory"]))
    if len(directory) > DIRECTORY_LIMIT:
        raise NspawnError(
            f"directory {directory!r} is longer than {DIRECTORY_LIMIT} characters: a socket below it would not fit. Use a shorter path."
        )
    return Layout(directory)


def cache_of(params: t.Mapping[str, t.Any]) -> Cache:
    """Return the cache for a module's parameters.

    Raises:
        NspawnError: the folder's name can't be used.
    """
    return Cache(_checked("cache", str(params["cache"])))


def network_from(params: t.Mapping[str, t.Any]) -> Network:
    """Return the network for a module's parameters."""
    return network_of(str(params["bridge"]), str(params["subnet"]), str(params["pod_subnet"]))


def _checked(option: str, path: str) -> str:
    if not os.path.isabs(path) or any(each in path for each in FORBIDDEN):
        raise NspawnError(
            f"{option} {path!r}: give an absolute path without colons, commas, backslashes and spaces (mount options separate by them)."
        )
    return os.path.normpath(path)
