# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Cgroup drivers of containerd and the kubelet, to be the same."""

from __future__ import annotations

import re

from ...common import guard, kubernetes_facts
from ...common.kubernetes_versions import read_version

CONTAINERD_CONFIG = "/etc/containerd/config.toml"
FIX = "Give both the same: SystemdCgroup there, or cgroupDriver in the kubelet's configuration."


def differ(version: str, named: str, path: str) -> str:
    """Return how the two drivers differ, "" where they don't.

    Also "" where one of them is not known. ``named`` is the kubelet's, "" for kubeadm's default in this version.
    """
    configuration = guard.read_text(path)
    default = read_version(version) is not None and kubernetes_facts.sets_systemd_cgroups(version)
    kubelets = named or ("systemd" if default else "")
    runtimes = "systemd" if has_systemd_cgroups(configuration) else "cgroupfs"
    if not configuration or kubelets in ("", runtimes):
        return ""
    why = "" if named else ", kubeadm's default since 1.22"
    return f"containerd has the cgroup driver {runtimes} ({path}), and the kubelet {kubelets}{why}"


def has_systemd_cgroups(configuration: str) -> bool:
    """Return whether containerd's configuration has the cgroup driver systemd.

    Its TOML may have the key in a table of its own, or in one on a line.
    """
    found = re.search(r"^[^#\n]*\bSystemdCgroup[\"']?\s*=\s*(true|false)", configuration, re.MULTILINE)
    return found is not None and found.group(1) == "true"
