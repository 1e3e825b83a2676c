#!/usr/bin/python

# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: node_certificates
short_description: Write a node's certificates, keys and kubeconfigs, and restart their readers
version_added: 0.6.0
author:
  - kubeadm.control_plane contributors (@kubeadm-control-plane)
description:
  - Makes O(changes) in their order, each whole or not at all. One whose result is there already is not made again, so that a
    call that was killed is completed by the same call.
  - With O(restart), restarts each component that runs since before one of its files in O(reads) was written. etcd is restarted
    while its API server is stopped, so that no client meets an API server without etcd.
  - Returns what is public of the files in O(reads), O(paths) and O(changes), since when each component runs, which certificates the API
    server and etcd show in a TLS handshake, whether they accept O(credentials), and what API servers behind this one answer to
    O(front_proxy). Private keys never leave the node; of those
    files a SHA-256 is returned.
  - It is the node's half of a rotation of certificate authorities, an Action of the playbook C(kubeadm.control_plane.action).
options:
  changes:
    description: What files are to hold. Files below C(/etc/kubernetes), C(/var/lib/kubelet) and C(certificatesDir) alone are written, and
      the C(ca.crt) that the kubelet's C(clientCAFile) names.
    type: list
    elements: dict
    default: []
    suboptions:
      path:
        description:
          - The file. One that is a symbolic link, as C(kubelet-client-current.pem), gets a new file beside it to which the link then
            leads.
        type: str
        required: true
      content:
        description: The whole file, or its public part.
        type: str
        default: ""
      secret:
        description: The private part of the file, which follows O(changes[].content).
        type: str
        default: ""
      absent:
        description: Whether the file is to go.
        type: bool
        default: false
      authorities:
        description: Of a kubeconfig, the certificates by which its cluster is known, in PEM.
        type: str
        default: ""
      certificate:
        description: Of a kubeconfig, its user's certificate, in PEM.
        type: str
        default: ""
      key:
        description: Of a kubeconfig, its user's private key, in PEM.
        type: str
        default: ""
      flags:
        description: Of a static pod's manifest, flags that it has, with the values that they are to have.
        type: dict
        default: {}
  reads:
    description:
      - Files by the component that reads them when it starts. Components are V(etcd), V(kube-apiserver),
        V(kube-controller-manager), V(kube-scheduler) and V(kubelet). A static pod's manifest is always one of its files.
    type: dict
    default: {}
  paths:
    description: Further files of which to return what is public.
    type: list
    elements: str
    default: []
  restart:
    description: Whether to restart the components in O(reads) that are older than their files.
    type: bool
    default: false
  timeout:
    description: How many seconds all restarts may take.
    type: int
    default: 300
  pki:
    description: The folder of kubeadm's certificates.
    type: str
    default: /etc/kubernetes/pki
  servers:
    description: The servers whose certificate is to be read.
    type: list
    elements: str
    choices: [kube-apiserver, etcd]
    default: []
  key_ids:
    description: Whether to ask the API server for the IDs of the service account keys that it trusts.
    type: bool
    default: false
  credentials:
    description: Certificates with which a server is asked whether it accepts them.
    type: list
    elements: dict
    default: []
    suboptions:
      server:
        description: Which server is asked.
        type: str
        choices: [kube-apiserver, etcd]
        required: true
      certificate:
        description: The certificate in PEM.
        type: str
        required: true
      secret:
        description: Its private key in PEM.
        type: str
        required: true
  front_proxy:
    description:
      - A certificate of a front proxy, with which every API server behind this one (APIService) is asked, beside the one that the node
        has. An API server that reads whom it trusts only when it starts is recognised by it.
    type: dict
    suboptions:
      certificate:
        description: The certificate in PEM.
        type: str
        required: true
      secret:
        description: Its private key in PEM.
        type: str
        required: true
extends_documentation_fragment:
  - kubeadm.control_plane._node
  - kubeadm.control_plane._node.fencing
  - kubeadm.control_plane._attributes
attributes:
  check_mode:
    support: full
  diff_mode:
    support: none
  idempotent:
    support: full
seealso:
  - module: kubeadm.control_plane.static_pod
"""

EXAMPLES = r"""
- name: Read back what the API server trusts and shows
  kubeadm.control_plane.node_certificates:
    reads:
      kube-apiserver: [/etc/kubernetes/pki/ca.crt, /etc/kubernetes/pki/apiserver.crt]
    servers: [kube-apiserver]
  become: true
  register: found

- name: Trust one more authority, and restart what reads it
  kubeadm.control_plane.node_certificates:
    changes:
      - path: /etc/kubernetes/pki/front-proxy-ca.crt
        content: "{{ both_authorities }}"
    reads:
      kube-apiserver: [/etc/kubernetes/pki/front-proxy-ca.crt]
    restart: true
  become: true
"""

RETURN = r"""
written:
  description: The files that were changed, or would be, in the order of O(changes).
  returned: success
  type: list
  elements: str
restarted:
  description: The components that were restarted, or would be.
  returned: success
  type: list
  elements: str
files:
  description: >-
    By path, what is public of each file - C(public) (certificates and public keys in PEM), C(sha256) of all of it, C(present), and of
    a private key C(matches) (whether the certificate beside it is its own), and of a kubeconfig C(authorities), C(certificate),
    C(counts) (the number of each field with a certificate or key inside) and C(user_files) (the files that its users have instead).
  returned: success
  type: dict
components:
  description: >-
    By component of O(reads), C(running), C(started) (seconds since the epoch), C(changed) (when its newest file was written) and
    C(current) (whether it was started since).
  returned: success
  type: dict
flags:
  description: >-
    By component of O(reads), the flags of its manifest that lead to a file; of the kubelet, C(client-ca-file) as its configuration
    file has it.
  returned: success
  type: dict
shown:
  description: By server of O(servers), the SHA-256 of the certificate that it shows; empty where it does not answer.
  returned: success
  type: dict
trusted_key_ids:
  description: >-
    The IDs of the service account keys that the API server trusts; none where it does not answer, null where it has no way to
    tell, as before Kubernetes 1.20.
  returned: with O(key_ids)
  type: list
  elements: str
accepted:
  description: For each of O(credentials), in their order, whether the server accepts it.
  returned: success
  type: list
  elements: bool
aggregated:
  description: >-
    Of every API server behind this one, the APIService's C(name), and the HTTP status that it answers to the certificate that the node
    has (C(current)) and to O(front_proxy) (C(other)); 0 where it does not answer, and where its APIService wants it not to be verified
    (C(verified) is false), as no certificate is shown to it then.
  returned: with O(front_proxy)
  type: list
  elements: dict
msg:
  description: Why it failed.
  returned: failure
  type: str
"""

import re
import ssl
import typing as t

from ..module_utils.common import guard, settings
from ..module_utils.common.guard import NodeError
from ..module_utils.common.https import Unreachable
from ..module_utils.node import arguments
from ..module_utils.node.certificates import aggregated_servers, certificate_changes, proof
from ..module_utils.node.components.component_age import KUBELET, Components
from ..module_utils.node.components.static_pod import COMPONENTS, StaticPod
from ..module_utils.node.machine_module import MachineModule
from ..module_utils.workload_api.api import ApiError, own_client

SERVERS = ["kube-apiserver", "etcd"]
KUBELET_CONFIGURATION = "/var/lib/kubelet/config.yaml"


def main() -> None:
    """Run the module."""
    text = {"type": "str", "default": ""}
    module = MachineModule(
        argument_spec={
            "changes": {
                "type": "list",
                "elements": "dict",
                "default": [],
                "options": {
                    "path": {"type": "str", "required": True},
                    "content": text,
                    "secret": {"type": "str", "default": "", "no_log": True},
                    "absent": {"type": "bool", "default": False},
                    "authorities": text,
                    "certificate": text,
                    "key": {"type": "str", "default": "", "no_log": True},
                    "flags": {"type": "dict", "default": {}},
                },
            },
            "reads": {"type": "dict", "default": {}},
            "paths": {"type": "list", "elements": "str", "default": []},
            "restart": {"type": "bool", "default": False},
            "timeout": {"type": "int", "default": settings.RENEWAL_SECONDS},
            "pki": {"type": "str", "default": "/etc/kubernetes/pki"},
            "servers": {"type": "list", "elements": "str", "default": [], "choices": SERVERS},
            "key_ids": {"type": "bool", "default": False},
            "credentials": {
                "type": "list",
                "elements": "dict",
                "default": [],
                "options": {
                    "server": {"type": "str", "required": True, "choices": SERVERS},
                    "certificate": {"type": "str", "required": True},
                    "secret": {"type": "str", "required": True, "no_log": True},
                },
            },
            "front_proxy": {
                "type": "dict",
                "options": {
                    "certificate": {"type": "str", "required": True},
                    "secret": {"type": "str", "required": True, "no_log": True},
                },
            },
        },
    )
    with module.failing(NodeError, ApiError, Unreachable, OSError, ssl.SSLError):
        result = run(module.params, check=module.check_mode)
    module.exit_json(**result)


def run(params: t.Mapping[str, t.Any], *, check: bool) -> dict[str, t.Any]:
    """Apply the parameters and return the module's result."""

    def still_allowed() -> None:
        arguments.check(params, check_mode=check)

    still_allowed()
    wanted = [certificate_changes.Change(**each) for each in params["changes"]]
    reads = {str(name): [str(path) for path in paths] for name, paths in params["reads"].items()}
    wrong = sorted(set(reads) - {*COMPONENTS, KUBELET})
    if wrong:
        raise NodeError(f"reads: {wrong[0]!r} is no component of a node.", "Nothing was changed. Correct it.")
    for each in wanted:
        certificate_changes.check_path(each.path)
    if check:
        written = [each.path for each in wanted if certificate_changes.apply(each, check=True)]
    elif wanted:
        with guard.exclusive():
            written = [each.path for each in wanted if certificate_changes.apply(each)]
    else:
        written = []
    components = Components(reads)
    restarted = components.restart_old(params["timeout"], still_allowed, check=check) if params["restart"] else []
    servers = proof.Servers(pki=params["pki"])
    paths = {*params["paths"], *(path for each in reads.values() for path in each), *(each.path for each in wanted)}
    result: dict[str, t.Any] = {
        "changed": bool(written or restarted),
        "written": written,
        "restarted": restarted,
        "files": {path: file(path) for path in sorted(paths)},
        "components": {name: age.document() for name, age in components.ages().items()},
        "flags": {name: files_of(name) for name in reads},
        "shown": {server: proof.shown(server, servers) for server in params["servers"]},
        "accepted": [
            proof.accepts(each["server"], each["certificate"], each["secret"], servers)
            for each in params["credentials"]
        ],
    }
    if params["key_ids"]:
        result["trusted_key_ids"] = proof.key_ids(servers)
    if params["front_proxy"]:
        result["aggregated"] = aggregated(params["pki"], params["front_proxy"])
    return result


def aggregated(pki: str, other: t.Mapping[str, str]) -> list[dict[str, t.Any]]:
    """Return the aggregated API servers' answers to two client certificates.

    One is the node's, the other is given.
    """
    current = tuple(guard.read_text(f"{pki}/front-proxy-client.{suffix}") for suffix in ("crt", "key"))
    with own_client(timeout=10.0) as client:
        return aggregated_servers.answers(client, (current[0], current[1]), (other["certificate"], other["secret"]))


def file(path: str) -> dict[str, t.Any]:
    """Return the public facts about a file."""
    certificate_changes.check_path(path)
    digest = certificate_changes.digest(path)
    found: dict[str, t.Any] = {"present": bool(digest), "sha256": digest, "public": certificate_changes.public(path)}
    if path.endswith(".key"):
        found["matches"] = certificate_changes.matches(path)
    if path.endswith(".conf"):
        found.update(certificate_changes.kubeconfig(path) or {})
    return found


def files_of(component: str) -> dict[str, str]:
    """Return the flags of a static pod that name a file.

    Of the kubelet: its configuration's file of authorities.
    """
    if component == KUBELET:
        found = re.search(
            r"^\s*clientCAFile:\s*[\"']?([^\s\"']+)", guard.read_text(KUBELET_CONFIGURATION), re.MULTILINE
        )
        return {"client-ca-file": found.group(1)} if found else {}
    text = guard.read_text(StaticPod(component).manifest)
    return {name: value for name, value in certificate_changes.flags(text).items() if value.startswith("/")}


if __name__ == "__main__":
    main()
