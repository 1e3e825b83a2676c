#!/usr/bin/python

# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: node_adoption_info
short_description: Read facts for adopting a cluster from one of its machines
version_added: 0.4.0
author:
  - kubeadm.control_plane contributors (@kubeadm-control-plane)
description:
  - Gives, in one call, the observation that M(kubeadm.control_plane.node_observe) gives, and how the control plane was made -
    its certificate authorities and keys, the arguments that kubeadm wrote for the kubelet, and whether Cluster API manages
    machines from within the cluster.
  - Of a machine without a control plane, what tells whose worker it is and how its kubelet was started.
  - Private keys are returned sealed with O(transport_key) and can be read only by who gave it. Nothing else that is returned is
    secret. It changes nothing.
  - The playbook C(adopt) uses it through M(kubeadm.control_plane.cluster_adoption).
options:
  transport_key:
    description: 32 random bytes in hexadecimal, made for this one call.
    type: str
    required: true
  controller_time:
    description: The controller's time in seconds since the epoch, with which the host's clock is compared.
    type: float
  timeout:
    description: Seconds for each request.
    type: float
    default: 3.0
extends_documentation_fragment:
  - kubeadm.control_plane._node
  - kubeadm.control_plane._attributes
  - kubeadm.control_plane._attributes.info_module
"""

EXAMPLES = r"""
- name: Read how a control plane was made
  kubeadm.control_plane.node_adoption_info:
    transport_key: "{{ transport_key }}"
  become: true
  register: made
"""

RETURN = r"""
observation:
  description: As M(kubeadm.control_plane.node_observe) returns it.
  returned: success
  type: dict
adoption:
  description: How the control plane was made; null where this machine carries none that answers.
  returned: success
  type: dict
  contains:
    certificatesDir:
      description: Where kubeadm keeps the certificates.
      type: str
      returned: success
    public:
      description: Certificates and the service account's public key as PEM, by purpose.
      type: dict
      returned: success
    sealed:
      description: The private keys, sealed.
      type: str
      returned: success
    withKey:
      description: The purposes that have a private key.
      type: list
      elements: str
      returned: success
    kubeletArguments:
      description: The kubelet's arguments that kubeadm wrote, each a pair of name and value.
      type: list
      elements: list
      returned: success
    clusterAPI:
      description: Whether the cluster serves Cluster API's kinds, and the Machine objects in it.
      type: dict
      returned: success
    claim:
      description: Whose the host is, as M(kubeadm.control_plane.host_claim) returns it; null where it has no claim.
      type: dict
      returned: success
    missing:
      description: What the host lacks, each with C(check), C(message) and C(fix).
      type: list
      elements: dict
      returned: success
    otherEtcd:
      description: Which etcd is on the host that kubeadm did not make; empty without one. Such a host is never reset.
      type: str
      returned: success
worker:
  description: What is needed to adopt the machine as a worker; null where it carries a control plane.
  returned: success
  type: dict
  contains:
    caCertHash:
      description: The hash of the cluster's CA, as C(kubeadm join --discovery-token-ca-cert-hash) takes it; empty where kubeadm joined it to no cluster.
      type: str
      returned: success
    kubeletArguments:
      description: As RV(adoption.kubeletArguments).
      type: list
      elements: list
      returned: success
    claim:
      description: As RV(adoption.claim).
      type: dict
      returned: success
    missing:
      description: As RV(adoption.missing).
      type: list
      elements: dict
      returned: success
    otherEtcd:
      description: As RV(adoption.otherEtcd).
      type: str
      returned: success
"""

from ..module_utils.common import settings
from ..module_utils.common.guard import NodeError
from ..module_utils.common.sealed import SealError
from ..module_utils.node.machine_module import MachineModule
from ..module_utils.observe import adoption_facts
from ..module_utils.observe.collect import Looks, collect


def main() -> None:
    """Run the module."""
    module = MachineModule(
        argument_spec={
            "transport_key": {"type": "str", "required": True, "no_log": True},
            "controller_time": {"type": "float"},
            "timeout": {"type": "float", "default": settings.ANSWER_SECONDS},
        },
        fencing=False,
    )
    params = module.params
    timeout = max(0.1, params["timeout"])
    with module.failing(NodeError, SealError):
        module.check()
        observation = collect(Looks(1, 0.0, timeout), workers=True)
        config = (observation["objects"] or {}).get("kubeadmConfig")
        adoption, worker = None, None
        if "kube-apiserver" not in observation["machine"]["staticPodManifests"]:
            worker = adoption_facts.worker(observation, params["controller_time"])
        if config is not None:
            text = str(config["data"].get("ClusterConfiguration") or "")
            adoption = {
                **adoption_facts.read(text, params["transport_key"], timeout),
                **adoption_facts.fitness(observation, params["controller_time"]),
            }
    module.exit_json(changed=False, observation=observation, adoption=adoption, worker=worker)


if __name__ == "__main__":
    main()
