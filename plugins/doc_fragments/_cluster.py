# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: it may change in any release.

from __future__ import annotations


class ModuleDocFragment:
    """Options of every module that works on a cluster's stored objects.

    Keep it, with _store.py, in step with plugin_utils/base_classes/control_plane_action.py.
    """

    DOCUMENTATION = r"""
options:
  cluster:
    description: Name of the Cluster.
    type: str
    required: true
  namespace:
    description: Namespace of the Cluster and of everything that belongs to it.
    type: str
    default: default
  fencing:
    description:
      - The number of this run's lock, as M(kubeadm.control_plane.run) returns it. Nothing is written to the store, and no machine does anything, once
        the lock is another run's. Without it only the objects' own versions are compared.
    type: int
"""

    # Of what writes to the run's journal.
    RUN = r"""
options:
  run:
    description: The run's name in the journal, as M(kubeadm.control_plane.run) returns it.
    type: str
    default: ""
"""

    # Of what reads a manifest.
    PROVIDERS = r"""
options:
  providers:
    description: The infrastructure providers' roles by the kind of template or cluster that they serve.
    type: dict
    default: {}
  unknown_documents:
    description:
      - What is done with documents of the manifest that this collection doesn't manage, such as MachinePools, or MachineDeployments
        of another provider. With V(report) they are left alone and counted in one line. With V(refuse) the manifest is refused.
    type: str
    choices: [report, refuse]
    default: report
    version_added: 0.10.0
"""
