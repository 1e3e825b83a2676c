#!/usr/bin/python
# -*- coding: utf-8 -*-

# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: preflight
short_description: Check that a machine can become, or be, a control plane node
version_added: 0.4.0
author:
  - kubeadm.control_plane contributors (@kubeadm-control-plane)
description:
  - Checks everything at once and reports everything that is wrong, before C(kubeadm init) or C(kubeadm join) is started or an existing node is worked on.
    Reads only.
  - Checks have the names of kubeadm's own where it has one, so that O(ignore) takes what C(--ignore-preflight-errors) takes.
  - It checks Python, root, the versions of kubeadm, kubelet and kubectl, the programs and kernel settings that kubeadm insists on, the container runtime,
    swap, the ports and who holds them, what another cluster left, cgroups, CPUs and memory, the disks of etcd and the kubelet, the clock, the Node's name, and
    which images have to be pulled; where they are given, the control plane's endpoint and an external etcd with its client certificate.
options:
  version:
    description: The Kubernetes version, such as V(v1.34.2). Without it, that of the machine's kubeadm.
    type: str
    default: ""
  existing:
    description: Whether the machine is a control plane node already. Then its components have to run and to hold their ports.
    type: bool
    default: false
  node_name:
    description: The Node's name. Without it, the host's.
    type: str
    default: ""
  control_plane_endpoint:
    description: The control plane's endpoint, C(host:port), which has to answer. Not for the first machine of a cluster.
    type: str
    default: ""
  image_repository:
    description: Where kubeadm gets its images. Without it, kubeadm's default.
    type: str
    default: ""
  cri_socket:
    description: The container runtime's socket. Without it, that of an existing node's kubelet, or else those that kubeadm knows are tried.
    type: str
    default: ""
  cgroup_driver:
    description:
      - The kubelet's cgroup driver, as the manifest has it. Without it, that of an existing node's kubelet, or else kubeadm's default.
    type: str
    choices: [cgroupfs, systemd]
    version_added: 0.10.0
  ports:
    description: The ports that the control plane needs.
    type: list
    elements: int
    default: [6443, 10250, 10257, 10259, 2379, 2380]
  etcd_endpoints:
    description: The client URLs of an external etcd.
    type: list
    elements: str
    default: []
  etcd_ca_file:
    description: The CA of the external etcd's certificates, a file on the machine.
    type: path
    default: /etc/kubernetes/pki/etcd/ca.crt
  etcd_certificate_file:
    description: The client certificate for the external etcd, a file on the machine.
    type: path
    default: /etc/kubernetes/pki/apiserver-etcd-client.crt
  etcd_key_file:
    description: The key of O(etcd_certificate_file), a file on the machine.
    type: path
    default: /etc/kubernetes/pki/apiserver-etcd-client.key
  now:
    description:
      - The controller's time in seconds since the epoch, C(now().timestamp()). Clocks further apart than 30 s are an error. Without it, clocks are not
        compared.
    type: float
  timeout:
    description: Seconds for each question to another host.
    type: float
    default: 1.0
  ignore:
    description: Names of checks that are only to warn; V(all) for all.
    type: list
    elements: str
    default: []
  report_only:
    description: Whether the task succeeds also where something is wrong, for a report.
    type: bool
    default: false
extends_documentation_fragment:
  - kubeadm.control_plane._node
  - kubeadm.control_plane._attributes
  - kubeadm.control_plane._attributes.info_module
seealso:
  - module: kubeadm.control_plane.host_claim
  - module: kubeadm.control_plane.external_etcd_info
"""

EXAMPLES = r"""
- name: Is everything there for kubeadm join?
  kubeadm.control_plane.preflight:
    version: v1.34.2
    control_plane_endpoint: cp.example.org:6443
    now: "{{ now().timestamp() }}"
  become: true

- name: A report over all control plane nodes, without failing
  kubeadm.control_plane.preflight:
    existing: true
    report_only: true
  become: true
  register: preflight
"""

RETURN = r"""
msg:
  description: Everything that is wrong, with the remedy.
  returned: always
  type: str
checks:
  description: Every check.
  returned: always
  type: list
  elements: dict
  contains:
    name:
      description: Its name, kubeadm's where it has one.
      type: str
      returned: success
    ok:
      description: Whether it passed.
      type: bool
      returned: success
    severity:
      description: V(error) or V(warning), what it is where it failed.
      type: str
      returned: success
    message:
      description: What was found.
      type: str
      returned: success
    remedy:
      description: The remedy; empty where it passed.
      type: str
      returned: success
fit:
  description: Whether no check of severity V(error) failed.
  returned: always
  type: bool
"""

import typing as t

from ..module_utils.common.guard import NodeError, read_text
from ..module_utils.node.host import fitness
from ..module_utils.node.host.external_etcd import ExternalEtcd, Pem
from ..module_utils.node.host.machine_preflight import ERROR, Check, Wanted, look_at
from ..module_utils.node.machine_module import MachineModule


def main() -> None:
    """Run the module."""
    module = MachineModule(
        argument_spec={
            "version": {"type": "str", "default": ""},
            "existing": {"type": "bool", "default": False},
            "node_name": {"type": "str", "default": ""},
            "control_plane_endpoint": {"type": "str", "default": ""},
            "image_repository": {"type": "str", "default": ""},
            "cri_socket": {"type": "str", "default": ""},
            "cgroup_driver": {"type": "str", "choices": ["cgroupfs", "systemd"]},
            "ports": {"type": "list", "elements": "int", "default": list(fitness.DEFAULT_PORTS)},
            "etcd_endpoints": {"type": "list", "elements": "str", "default": []},
            "etcd_ca_file": {"type": "path", "default": "/etc/kubernetes/pki/etcd/ca.crt"},
            "etcd_certificate_file": {"type": "path", "default": "/etc/kubernetes/pki/apiserver-etcd-client.crt"},
            "etcd_key_file": {"type": "path", "default": "/etc/kubernetes/pki/apiserver-etcd-client.key"},
            "now": {"type": "float"},
            "timeout": {"type": "float", "default": 1.0},
            "ignore": {"type": "list", "elements": "str", "default": []},
            "report_only": {"type": "bool", "default": False},
        },
        fencing=False,
    )
    params = module.params
    with module.failing(NodeError):
        module.check()
    found = look_at(
        Wanted(
            version=params["version"],
            existing=params["existing"],
            node_name=params["node_name"],
            endpoint=params["control_plane_endpoint"],
            etcd=external(params),
            image_repository=params["image_repository"],
            now=params["now"],
            cri_socket=params["cri_socket"],
            cgroup_driver=params["cgroup_driver"] or "",
            ports=params["ports"],
            ignore=params["ignore"],
            timeout=max(0.1, params["timeout"]),
        )
    )
    wrong = [each for each in found if not each.ok and each.severity == ERROR]
    for each in found:
        if not each.ok and each.severity != ERROR:
            module.warn(_line(each))
    result = {"checks": [each.document() for each in found], "fit": not wrong}
    if wrong and not params["report_only"]:
        module.fail_json(msg=f"{len(wrong)} of {len(found)} checks failed: {_lines(wrong)}", **result)
    said = (
        f"{len(wrong)} of {len(found)} checks failed: {_lines(wrong)}" if wrong else f"all {len(found)} checks passed"
    )
    module.exit_json(changed=False, msg=said, **result)


def external(params: t.Mapping[str, t.Any]) -> t.Optional[ExternalEtcd]:
    """Return the external etcd of the parameters, None without one."""
    if not params["etcd_endpoints"]:
        return None
    names = ("etcd_ca_file", "etcd_certificate_file", "etcd_key_file")
    return ExternalEtcd(
        tuple(params["etcd_endpoints"]), *(Pem(read_text(params[name]), params[name]) for name in names)
    )


def _line(check: Check) -> str:
    return f"{check.message} ({check.name}). {check.remedy}"


def _lines(checks: t.Sequence[Check]) -> str:
    return "; ".join(_line(each) for each in checks)


if __name__ == "__main__":
    main()
