# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: it may change in any release.

from __future__ import annotations


class ModuleDocFragment:
    """Options of the modules for local machines.

    Keep it in step with module_utils/nspawn/arguments.py.
    """

    # Every module of the provider.
    DOCUMENTATION = r"""
options:
  directory:
    description:
      - Folder that holds the machines and the endpoints of this host. It is made when it doesn't exist.
      - Records of machines live here too; whoever uses another folder sees none of these machines.
    type: path
    default: /var/lib/kubeadm-control-plane/nspawn
requirements:
  - Debian 12 or a system that is close to it, on this host
  - root on this host
  - systemd-container, iproute2, haproxy, openssh-client, debootstrap (M(kubeadm.control_plane.nspawn_host) installs them)
"""

    # Modules that need machine images.
    CACHE = r"""
options:
  cache:
    description:
      - Folder that holds base systems, Kubernetes binaries and machine images. It outlives machines and clusters.
      - On the same file system as O(directory) a machine takes no space of its own for its container images.
    type: path
    default: ~/.cache/kubeadm-control-plane
"""

    # Modules that make something on the bridge.
    NETWORK = r"""
options:
  bridge:
    description: Name of the network bridge that machines and endpoints share. It is made when it doesn't exist, and removed with the last machine and endpoint.
    type: str
    default: kcp0
  subnet:
    description: The machines' subnet. Its first address is the bridge's own. It must not overlap a route of this host.
    type: str
    default: 10.222.0.0/24
  pod_subnet:
    description: The subnet of which every machine's pods get a /24. It must overlap neither O(subnet) nor the clusters' service subnets.
    type: str
    default: 10.223.0.0/16
"""
