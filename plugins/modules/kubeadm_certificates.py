#!/usr/bin/python

# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: kubeadm_certificates
short_description: Read a node's certificate expiry, and renew its kubelet's client certificate
version_added: 0.6.0
author:
  - kubeadm.control_plane contributors (@kubeadm-control-plane)
description:
  - Returns when each of kubeadm's certificates on this node ends, the kubeconfigs' and the kubelet's included. No API is asked.
  - With O(state=renewed), gives the kubelet of a control plane node a new client certificate, also where the old one has expired and
    no API server answers. kubeadm issues it with the CA's key of this node; the new key never leaves the node.
  - With O(state=bootstrapped), lets the kubelet of a worker, which has no such key, ask the API for a new one with a bootstrap token.
  - With O(state=prepared), writes C(/run/kubeadm/renew.yaml), with which C(kubeadm certs renew all --config=/run/kubeadm/renew.yaml)
    renews everything else without asking an API.
  - With O(state=unlinked), removes the link from the API server's file that a rotation of the authorities left there for running pods. With it,
    kubeadm neither renews certificates nor upgrades the node.
options:
  state:
    description:
      - Whether to look only, to write kubeadm's configuration, to renew the kubelet's client certificate, one way or the other, or to remove a rotation's link.
    type: str
    choices: [read, prepared, renewed, bootstrapped, unlinked]
    default: read
  node_name:
    description: The Node's name; needed for O(state=prepared) and O(state=renewed).
    type: str
    default: ""
  configuration:
    description: The cluster's ClusterConfiguration as YAML. Without it, what the node's own files tell.
    type: str
    default: ""
  token:
    description: A bootstrap token; needed for O(state=bootstrapped). It is taken off this node again.
    type: str
    default: ""
  once:
    description: A name for this renewal. One that was carried out under this name is not carried out again.
    type: str
    default: ""
extends_documentation_fragment:
  - kubeadm.control_plane._node
  - kubeadm.control_plane._node.fencing
  - kubeadm.control_plane._attributes
  - kubeadm.control_plane._attributes.action_group
attributes:
  check_mode:
    support: full
  diff_mode:
    support: full
  idempotent:
    support: partial
    details:
      - With O(state=renewed) and O(state=bootstrapped), only with O(once).
seealso:
  - module: kubeadm.control_plane.static_pod
"""

EXAMPLES = r"""
- name: When do the certificates end?
  kubeadm.control_plane.kubeadm_certificates:
  become: true
  register: certificates

- name: Let a kubelet whose certificate has expired back into its cluster
  kubeadm.control_plane.kubeadm_certificates:
    state: renewed
    node_name: "{{ inventory_hostname }}"
  become: true
"""

RETURN = r"""
certificates:
  description: When each certificate ends (RFC 3339, UTC), by kubeadm's names; C(kubelet.conf) is the kubelet's client certificate.
  returned: success
  type: dict
  sample: {"apiserver": "2027-11-21T19:00:00Z", "kubelet.conf": "2027-11-21T19:00:00Z"}
configuration_file:
  description: The file that was written; empty where none was.
  returned: success
  type: str
msg:
  description: What was done, or why it was not.
  returned: always
  type: str
"""

from ..module_utils.common.guard import NodeError
from ..module_utils.node.certificates.kubeadm_renewal import NodeCertificates, Places, run
from ..module_utils.node.machine_module import MachineModule


def main() -> None:
    """Run the module."""
    module = MachineModule(
        argument_spec={
            "state": {
                "type": "str",
                "choices": ["read", "prepared", "renewed", "bootstrapped", "unlinked"],
                "default": "read",
            },
            "node_name": {"type": "str", "default": ""},
            "configuration": {"type": "str", "default": ""},
            "token": {"type": "str", "default": "", "no_log": True},
            "once": {"type": "str", "default": ""},
        },
        required_if=[
            ("state", "prepared", ["node_name"]),
            ("state", "renewed", ["node_name"]),
            ("state", "bootstrapped", ["token"]),
        ],
    )
    params = module.params
    node = NodeCertificates(Places(), run)
    changed, written, said = False, "", "read"
    before: dict[str, str] = {}
    with module.failing(NodeError):
        module.check()
        before = node.ends()
        if params["state"] == "prepared":
            changed = True
            written = Places().configuration
            said = f"{written} was written"
            if not module.check_mode:
                written = node.prepare(params["node_name"], params["configuration"])
        elif params["state"] == "renewed":
            changed = node.renew_kubelet_client(
                params["node_name"],
                params["configuration"],
                once=params["once"],
                check=module.check_mode,
                before_change=module.check,
            )
            done = "was renewed" if changed else "was already renewed"
            said = f"the client certificate of the kubelet of {params['node_name']} {done}"
        elif params["state"] == "unlinked":
            changed = node.remove_link(check=module.check_mode, before_change=module.check)
            said = "the link was removed from the API server's file" if changed else "the API server's file has no link"
        elif params["state"] == "bootstrapped":
            changed = node.bootstrap_kubelet(
                params["token"], once=params["once"], check=module.check_mode, before_change=module.check
            )
            said = "the kubelet has a new client certificate" if changed else "the kubelet already has a new one"
        after = node.ends()
    diff = {"before": before, "after": after} if before != after else {}
    module.exit_json(changed=changed, certificates=after, configuration_file=written, msg=said, diff=diff)


if __name__ == "__main__":
    main()
