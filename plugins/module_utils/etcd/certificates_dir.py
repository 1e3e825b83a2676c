# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Folder of kubeadm's certificates on this machine: ``ClusterConfiguration.certificatesDir``.

A machine has no ClusterConfiguration of its own: its API server's manifest and its kubelet's configuration name files in that folder. There is neither
before kubeadm has begun nor after its reset, and a restore takes the manifest away; so all three keep a note of a folder that isn't the default.
"""

from __future__ import annotations

import os
import re

from ..common import guard

KUBELET = "/var/lib/kubelet"
# extraArgs may lead the API server's other flags elsewhere (docs/reference/kubeadm.md, "Certificates").
_API_SERVER = re.compile(r"--kubelet-client-certificate=[\"']?([^\s\"']+)/apiserver-kubelet-client\.crt")
_KUBELET = re.compile(r"^\s*clientCAFile:\s*[\"']?([^\s\"']+)/ca\.crt(?![^\s\"'])", re.MULTILINE)


def note(state: str = guard.STATE_DIRECTORY) -> str:
    """Return the path of the note about the folder."""
    return os.path.join(state, "certificates-dir")


def made_by_kubeadm(kubernetes: str = guard.KUBERNETES_DIRECTORY, state: str = guard.STATE_DIRECTORY) -> str:
    """Return the folder that kubeadm has made its files in.

    That is the one in the API server's manifest, else the noted one, else that of a manifest which a restart of the pod has moved out, else "".
    """
    return (
        _in_manifest(os.path.join(kubernetes, "manifests", "kube-apiserver.yaml"))
        or guard.named_path(guard.read_text(note(state)))
        or _in_manifest(os.path.join(kubernetes, guard.PARKED_MANIFESTS, "kube-apiserver.yaml"))
    )


def certificates_dir(
    kubernetes: str = guard.KUBERNETES_DIRECTORY, state: str = guard.STATE_DIRECTORY, kubelet: str = KUBELET
) -> str:
    """Return the folder of kubeadm's certificates on this machine.

    Where a restore has taken the manifests away, it is the kubelet's folder, if that is a control plane node's. kubeadm's default where nothing names one.
    """
    named = made_by_kubeadm(kubernetes, state)
    if named:
        return named
    own = of_kubelet(kubelet)
    # A user may lead the kubelet's own flag elsewhere.
    return own if own and os.path.exists(os.path.join(own, "apiserver.crt")) else os.path.join(kubernetes, "pki")


def of_kubelet(kubelet: str = KUBELET) -> str:
    """Return the folder of the kubelet's CA certificate, "" without one."""
    found = _KUBELET.search(guard.read_text(os.path.join(kubelet, "config.yaml")))
    return guard.named_path(found.group(1) if found else "")


def keep_note(kubernetes: str, state: str, folder: str = "") -> None:
    """Write the note, where the folder isn't the default.

    Without ``folder``, of the one that is named on this machine.
    """
    folder = folder or made_by_kubeadm(kubernetes, state)
    # One that is there already needs no room: a host with a full disk is reset all the same.
    if (
        folder
        and os.path.normpath(folder) != os.path.join(kubernetes, "pki")
        and guard.read_text(note(state)) != folder
    ):
        guard.write_atomically(note(state), f"{folder}\n".encode())


def _in_manifest(path: str) -> str:
    found = _API_SERVER.search(guard.read_text(path))
    return guard.named_path(found.group(1) if found else "")
