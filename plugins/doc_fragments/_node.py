# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: it may change in any release.

from __future__ import annotations


class ModuleDocFragment:
    """Options of every module that runs on a machine; keep in step with module_utils/node/arguments.py."""

    DOCUMENTATION = r"""
options:
  machine_id:
    description:
      - The systemd machine-id (C(/etc/machine-id)) that the machine must have.
      - Another machine is refused before anything is done, so that a wrong address, delegation or
        C(ansible_connection=local) does no harm.
    type: str
attributes:
  action_group:
    description: Use C(group/kubeadm.control_plane.node) in C(module_defaults) to set defaults for this module.
    support: full
    membership:
      - kubeadm.control_plane.node
"""

    FENCING = r"""
options:
  fencing:
    description:
      - The number of the run's lock on the cluster. The machine keeps the highest that it has seen, in
        C(/var/lib/kubeadm-control-plane/fencing), and refuses a lower one - that run has lost its lock to another.
    type: int
"""
