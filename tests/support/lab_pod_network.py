# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The example's pod network in clusters on local machines."""

from __future__ import annotations

import re
from pathlib import Path

from lab_kubernetes import image_named
from workspace import Workspace

# The labels of a Cluster that is to have it.
SELECTED = {"network": "routes"}
# Local machines come with a network; this, in a KubeadmConfigSpec, takes it from them.
WITHOUT = {"preKubeadmCommands": ["rm /etc/cni/net.d/10-bridge.conflist"]}
_EXAMPLE = Path(__file__).parents[2] / "examples" / "manifests" / "pod-network.yaml"


def write_pod_network(workspace: Workspace) -> None:
    """Put the example beside the manifests, with the image that machines have."""
    text = _EXAMPLE.read_text()
    image = re.search(r"image: (\S+)", text)
    assert image
    workspace.write("pod-network", text.replace(image[1], image_named("pause")))
