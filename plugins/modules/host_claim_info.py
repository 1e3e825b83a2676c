#!/usr/bin/python
# -*- coding: utf-8 -*-

# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: host_claim_info
short_description: Show the ownership claim of a host and a cluster's remains
version_added: 0.4.0
author:
  - kubeadm.control_plane contributors (@kubeadm-control-plane)
description:
  - Reads the host's claim (see M(kubeadm.control_plane.host_claim)) and searches for what kubeadm made on the host.
extends_documentation_fragment:
  - kubeadm.control_plane._node
  - kubeadm.control_plane._attributes
  - kubeadm.control_plane._attributes.info_module
seealso:
  - module: kubeadm.control_plane.host_claim
"""

EXAMPLES = r"""
- name: Ask whose the hosts of the pool are
  kubeadm.control_plane.host_claim_info:
  become: true
  register: host
"""

RETURN = r"""
claim:
  description: Whose the host is - C(id), C(cluster), C(namespace), C(machine), C(machineID) and C(claimedAt); null for a host without a claim.
  returned: success
  type: dict
machineID:
  description: The host's machine-id.
  returned: success
  type: str
traces:
  description: What a cluster left on the host, and the parts of a control plane that run there.
  returned: success
  type: list
  elements: str
carries:
  description:
    - What keeps the host from being claimed for another machine, as M(kubeadm.control_plane.host_claim) says it, with C(check), C(message) and C(fix).
    - C(check) is V(Claim), or V(ForeignCluster) for what an unclaimed host carries - a cluster's machine, or what one, a restore or a recovery left.
    - It is null for a host that is free.
  returned: success
  type: dict
  version_added: 0.10.0
caCertHash:
  description: The hash of the CA of the cluster that the host carries, "" where it carries none.
  returned: success
  type: str
"""

from ..module_utils.common import guard
from ..module_utils.common.guard import NodeError
from ..module_utils.node import arguments
from ..module_utils.node.host import claim as host_claim
from ..module_utils.node.host import host_facts
from ..module_utils.node.module import NodeModule


def main() -> None:
    """Run the module."""
    module = NodeModule(argument_spec=dict(arguments.MACHINE), supports_check_mode=True)
    places = host_facts.HostPlaces()
    try:
        arguments.check(module.params, check_mode=True)
        claim = host_claim.read_claim(places)
        carries = host_claim.carries(claim, places)
    except NodeError as error:
        module.fail_json(msg=str(error), machineID=guard.read_text(places.machine_id))
    module.exit_json(
        changed=False,
        claim=claim.document() if claim else None,
        machineID=guard.read_text(places.machine_id),
        traces=host_facts.evidence(places),
        carries=carries.document() if carries else None,
        caCertHash=host_facts.ca_cert_hash(places),
    )


if __name__ == "__main__":
    main()
