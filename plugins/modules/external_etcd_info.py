#!/usr/bin/python

# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: external_etcd_info
short_description: Check that an external etcd serves this machine
version_added: 0.4.0
author:
  - kubeadm.control_plane contributors (@kubeadm-control-plane)
description:
  - Asks every endpoint of an etcd that does not run on the control plane machines, from a machine that is or will be a control
    plane node, with the client certificate that kube-apiserver uses or will use.
  - Says of each endpoint whether it is healthy and of which version, and what is wrong - no connection, a server certificate that
    the CA did not sign, a client certificate that etcd does not accept or that has expired.
  - By default it asks what the kube-apiserver of this machine uses. Before there is one, give O(endpoints) and, for
    C(https), O(ca), O(certificate) and O(key).
options:
  endpoints:
    description: The client URLs. Left out, those of this machine's kube-apiserver, with its certificates.
    type: list
    elements: str
    default: []
  ca:
    description: The CA certificate that signed the servers' certificates, as PEM.
    type: str
  certificate:
    description: The client's certificate, as PEM.
    type: str
  key:
    description: The client's key, as PEM.
    type: str
  names:
    description: What messages call O(ca), O(certificate) and O(key), by these names.
    type: dict
    default: {}
  prefix:
    description: Below which key Kubernetes keeps its data. RV(key_count) counts what is there.
    type: str
    default: /registry
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
- name: Ask the etcd that this control plane node uses
  kubeadm.control_plane.external_etcd_info:
  become: true
  register: external

- name: Ask one that a cluster is to use
  kubeadm.control_plane.external_etcd_info:
    endpoints:
      - https://etcd-1.example.org:2379
      - https://etcd-2.example.org:2379
      - https://etcd-3.example.org:2379
    ca: "{{ lookup('ansible.builtin.file', 'etcd-ca.crt') }}"
    certificate: "{{ lookup('ansible.builtin.file', 'apiserver-etcd-client.crt') }}"
    key: "{{ lookup('ansible.builtin.file', 'apiserver-etcd-client.key') }}"
  become: true
  register: external
"""

RETURN = r"""
etcd:
  description: What the endpoints answered; null where this machine's kube-apiserver uses an etcd of its own.
  returned: success
  type: dict
  contains:
    reachable:
      description: Whether every endpoint serves. kubeadm refuses to work while one does not.
      type: bool
      returned: success
    message:
      description: What is wrong; empty where nothing is.
      type: str
      returned: success
    endpoints:
      description: Each endpoint with C(url), C(healthy), C(version) and C(message).
      type: list
      elements: dict
      returned: success
    certificateNotAfter:
      description: Until when the client's certificate is valid; null without one.
      type: str
      returned: success
key_count:
  description: How many keys are below O(prefix); null where that is unknown.
  returned: success
  type: int
"""

import typing as t

from ..module_utils.common import settings
from ..module_utils.common.guard import NodeError, read_text
from ..module_utils.node.host import external_etcd
from ..module_utils.node.machine_module import MachineModule
from ..module_utils.workload_api.api import MANIFESTS_DIRECTORY


def main() -> None:
    """Run the module."""
    module = MachineModule(
        argument_spec={
            "endpoints": {"type": "list", "elements": "str", "default": []},
            "ca": {"type": "str"},
            "certificate": {"type": "str"},
            "key": {"type": "str", "no_log": True},
            "names": {"type": "dict", "default": {}},
            "prefix": {"type": "str", "default": external_etcd.DEFAULT_PREFIX},
            "timeout": {"type": "float", "default": settings.ANSWER_SECONDS},
        },
        fencing=False,
        required_together=[("certificate", "key")],
    )
    params = module.params
    with module.failing(NodeError):
        module.check()
    etcd = given(params) or external_etcd.of_api_server(read_text(f"{MANIFESTS_DIRECTORY}/kube-apiserver.yaml"))
    answer, keys = None, None
    if etcd is not None:
        timeout = max(0.1, params["timeout"])
        answer = external_etcd.look(etcd, timeout)
        keys = external_etcd.count_keys(etcd, params["prefix"], timeout) if answer["reachable"] else None
    module.exit_json(changed=False, etcd=answer, key_count=keys)


def given(params: dict[str, t.Any]) -> t.Optional[external_etcd.ExternalEtcd]:
    """Return the etcd that the arguments describe, None where they describe none."""
    if not params["endpoints"]:
        return None
    pems = (
        external_etcd.Pem(params[name], str(params["names"].get(name, name))) if params[name] else None
        for name in ("ca", "certificate", "key")
    )
    return external_etcd.ExternalEtcd(tuple(params["endpoints"]), *pems)


if __name__ == "__main__":
    main()
