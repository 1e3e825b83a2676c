# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: it may change in any release.

from __future__ import annotations


class ModuleDocFragment:
    """Options of every module that runs on a machine.

    Keep it in step with module_utils/node/arguments.py.
    """

    DOCUMENTATION = r"""
options:
  machine_id:
    description:
      - The systemd machine-id (C(/etc/machine-id)) that the machine must have.
      - Another machine is refused before anything is done, so that a wrong address, delegation or
        C(ansible_connection=local) does no harm.
    type: str
  claim_id:
    description:
      - The claim (M(kubeadm.control_plane.host_claim)) that an existing host was taken with. A host that was given back since, or has another claim, is
        refused before anything is done.
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
      - The number of the run's lock on the cluster. A smaller one than the greatest that was seen is refused, before anything is done -
        that run has lost its lock to another.
      - The cluster keeps it in the Lease C(kube-system/kubeadm-control-plane), which is read from etcd's majority in the same call.
      - Where no API server answers, the machine compares with the greatest that it has seen itself, in
        C(/var/lib/kubeadm-control-plane/fencing).
    type: int
"""

    # Keep it in step with module_utils/workload_api/node_identity.py.
    IDENTITY = r"""
options:
  identity:
    description:
      - Whose Node it is. A Node of that name that is another's is left as it is, such as one of a host that was installed again or took the name over.
      - The machine-id decides where it is known on both sides, and else the providerID. Left out, any Node of that name is meant.
    type: dict
    version_added: 0.10.0
    suboptions:
      machine_id:
        description: The machine-id of the machine.
        type: str
        default: ''
      provider_id:
        description: The C(spec.providerID) of the Machine.
        type: str
        default: ''
      uid:
        description: The UID of the Node object.
        type: str
        default: ''
"""

    IMAGES = r"""
options:
  images:
    type: dict
    suboptions:
      repository:
        description: The registry that kubeadm takes its images from. Without it, kubeadm's default.
        type: str
        default: ""
      etcdRepository:
        description: The registry of etcd's image, where it is another one.
        type: str
        default: ""
      etcdTag:
        description: The tag of etcd's image, where it is another one than kubeadm's.
        type: str
        default: ""
      dnsRepository:
        description: The registry of CoreDNS's image, where it is another one.
        version_added: 0.10.0
        type: str
        default: ""
      dnsTag:
        description: The tag of CoreDNS's image, where it is another one than kubeadm's.
        version_added: 0.10.0
        type: str
        default: ""
      externalEtcd:
        description: Whether no etcd is to run on the host.
        type: bool
        default: false
      pull:
        description: Whether what is missing may be pulled.
        type: bool
        default: true
      criSocket:
        description: The container runtime's socket. Without it, the only one that is there.
        type: str
        default: ""
"""
