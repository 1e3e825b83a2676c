# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What keeps a cluster from being made: named at once, and nothing is left of it."""

from __future__ import annotations

import socket

from traces import traces
from workspace import Workspace


def test_missing_image_is_named(workspace: Workspace) -> None:
    """A template that names an image that isn't there and can't be made: the name, and what to do; no machine."""
    workspace.manifest("lab-image", replicas=1, machine={"image": "no-such-image"})
    run = workspace.playbook("reconcile", "--limit", "lab-image").failed()
    assert "no-such-image" in run.text and "Safe now?" in run.text
    assert not [trace for trace in traces("lab-image") if "systemd-nspawn" in trace]
    workspace.playbook("delete", "--limit", "lab-image", "-e", "control_plane_delete=lab-image").succeeded()
    (workspace.folder / "clusters" / "lab-image.yaml").unlink()


def test_endpoint_port_taken_is_named(workspace: Workspace) -> None:
    """Somebody else listens on the endpoint's port on every address: the address and port are named, nothing is stopped."""
    with socket.socket() as other:
        other.bind(("0.0.0.0", 7443))
        other.listen()
        documents = workspace.manifest("lab-port", replicas=1)
        text = documents.read_text().replace(
            "clusterNetwork:", "controlPlaneEndpoint:\n    host: 10.222.0.250\n    port: 7443\n  clusterNetwork:"
        )
        documents.write_text(text)
        run = workspace.playbook("reconcile", "--limit", "lab-port").failed()
        assert "7443" in run.text and "10.222.0.250" in run.text
    workspace.playbook("delete", "--limit", "lab-port", "-e", "control_plane_delete=lab-port").succeeded()
    documents.unlink()
