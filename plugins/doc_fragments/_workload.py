# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: it may change in any release.

from __future__ import annotations


class ModuleDocFragment:
    """Options of the modules that edit objects of a workload cluster.

    Keep it in step with plugin_utils/base_classes/workload_action.py.

    Named before _store: what the first fragment says of an option counts, so that store is needed with cluster only.
    """

    DOCUMENTATION = r"""
options:
  cluster:
    description:
      - Name of the Cluster in O(store). The objects are then reached through one of its machines, the next one being tried
        when one does not answer, and what is left out here comes from its KubeadmControlPlane.
      - Without it, the module runs on the play's host, a control plane node.
    type: str
  namespace:
    description: Namespace of the Cluster.
    type: str
    default: default
  store:
    description: Where the clusters' objects are kept. Needs O(cluster).
    type: dict
    required: false
  machine_id:
    description:
      - The systemd machine-id (C(/etc/machine-id)) that the play's host must have. Another machine is refused before
        anything is done. With O(cluster), the machine-id that the store knows is used.
    type: str
  fencing:
    description:
      - The number of the run's lock on the cluster, as M(kubeadm.control_plane.run) returns it. A machine
        that has seen a higher one refuses, and so does the cluster.
    type: int
attributes:
  action:
    description: Has an action plugin of the same name. The text is parsed and worked out on the controller, the node compares and swaps.
    support: full
  action_group:
    description: Use C(group/kubeadm.control_plane.workload) in C(module_defaults) to set defaults for this module.
    support: full
    membership:
      - kubeadm.control_plane.control_plane
      - kubeadm.control_plane.workload
  check_mode:
    description: Can run in check mode and return the changed status it predicts without modifying the target.
    support: full
  diff_mode:
    description: Returns details on what has changed, or would change in check mode, when in diff mode. Secrets are never part of it.
    support: full
  idempotent:
    description:
      - When run twice in a row outside check mode, with the same arguments, the second run indicates no change.
      - This assumes that what the module controls or queries has not changed in a relevant way in between.
    support: full
"""

    KUBECONFIG = r"""
options:
  kubeconfig:
    description:
      - The kubeconfig, on the node, to use. With the default one, that node's own API server is asked, whatever server it
        names; with another one, the server that it names.
    type: path
    default: /etc/kubernetes/admin.conf
"""
