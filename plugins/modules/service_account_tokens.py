#!/usr/bin/python

# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: service_account_tokens
short_description: Show which keys signed service account tokens, and renew the tokens
version_added: 0.6.0
author:
  - kubeadm.control_plane contributors (@kubeadm-control-plane)
description:
  - A token's header names the key that signed it. With O(volumes), returns it for every token in the volumes of the pods of this
    machine, as the kubelet keeps them, and of those that network plugins have left in kubeconfigs below C(/etc/cni/net.d); that needs
    no API and works on every node.
  - With O(api), returns it for every Secret of the type C(kubernetes.io/service-account-token), and which certificate authorities each
    of those Secrets and each ConfigMap C(kube-root-ca.crt) holds. That works on a control plane node.
  - With O(state=renewed), sees to it that every service account with tokens in Secrets has one that one of O(key_ids) signed. A
    Secret that no pod mounts gets another token in its place. API servers refuse the token before it at once; so of a Secret that is
    mounted, the service account gets another one, for pods that are started from now on, and RV(mounted) names it.
  - No token is returned, and none leaves its node.
options:
  state:
    description: Whether to read only, or to have old tokens written again.
    type: str
    choices: [read, renewed]
    default: read
  key_ids:
    description: The IDs of the keys whose tokens stay; needed with O(state=renewed).
    type: list
    elements: str
    default: []
  api:
    description: Whether to ask the API.
    type: bool
    default: true
  volumes:
    description: Whether to look at the volumes of this machine's pods, and at its network plugins' kubeconfigs.
    type: bool
    default: false
  pods_before:
    description: Return the pods that have a token and run since before this time (RFC 3339, UTC).
    type: str
    default: ""
  mounting:
    description:
      - Return the pods that have something at or below these folders of their node mounted, other than the static pods that kubeadm
        makes. Such a pod may have a certificate or a kubeconfig of kubeadm's in memory.
    type: list
    elements: path
    default: []
  timeout:
    description: How many seconds the controller manager may take to write tokens again.
    type: int
    default: 120
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
  - module: kubeadm.control_plane.node_certificates
"""

EXAMPLES = r"""
- name: Which keys signed the tokens that the pods of a node have?
  kubeadm.control_plane.service_account_tokens:
    api: false
    volumes: true
  become: true
  register: tokens

- name: Have every token in a Secret signed with the new key
  kubeadm.control_plane.service_account_tokens:
    state: renewed
    key_ids: ["{{ new_key_id }}"]
  become: true
"""

RETURN = r"""
renewed:
  description: The Secrets whose token was written again, or would be, each as C(namespace/name).
  returned: success
  type: list
  elements: str
mounted:
  description: The Secrets with an old token that pods mount, each as C(namespace/name).
  returned: success
  type: list
  elements: str
secrets:
  description: >-
    Every Secret with a token - C(namespace), C(name), C(service_account), C(key_id) (null without a token) and C(authorities) (the
    SHA-256 of each certificate).
  returned: with O(api)
  type: list
  elements: dict
roots:
  description: Every ConfigMap C(kube-root-ca.crt) - C(namespace) and C(authorities).
  returned: with O(api)
  type: list
  elements: dict
volumes:
  description: Every token in a volume of this machine's pods - C(uid) of the pod, C(volume), C(key_id) and C(age) in seconds.
  returned: with O(volumes)
  type: list
  elements: dict
kubeconfigs:
  description: >-
    Every kubeconfig of a network plugin - C(path), C(key_ids) of its tokens and C(authorities) (the SHA-256 of each certificate).
  returned: with O(volumes)
  type: list
  elements: dict
pods:
  description: >-
    The pods that have a token and may run since before O(pods_before) - C(namespace), C(name), C(node), C(uid), C(started_at) (empty
    while no container runs), C(owner) (what makes it again, such as C(daemonset/kube-proxy)) and C(mounts_secret) (whether its token
    is one in a Secret).
  returned: with O(pods_before)
  type: list
  elements: dict
mounting:
  description: >-
    The pods that have something below O(mounting) mounted - C(namespace), C(name), C(node), C(path) (the first that they mount) and
    C(started_at) (empty while no container runs).
  returned: with O(mounting)
  type: list
  elements: dict
msg:
  description: Why it failed.
  returned: failure
  type: str
"""

import typing as t

from ..module_utils.common.guard import NodeError
from ..module_utils.common.https import Unreachable
from ..module_utils.node import arguments
from ..module_utils.node.certificates import plugin_kubeconfigs
from ..module_utils.node.certificates.service_account_tokens import Accounts, fingerprints, key_id, volumes
from ..module_utils.node.machine_module import MachineModule
from ..module_utils.workload_api.api import ApiError, own_client


def main() -> None:
    """Run the module."""
    module = MachineModule(
        argument_spec={
            "state": {"type": "str", "choices": ["read", "renewed"], "default": "read"},
            "key_ids": {"type": "list", "elements": "str", "default": [], "no_log": False},
            "api": {"type": "bool", "default": True},
            "volumes": {"type": "bool", "default": False},
            "pods_before": {"type": "str", "default": ""},
            "mounting": {"type": "list", "elements": "path", "default": []},
            "timeout": {"type": "int", "default": 120},
        },
    )
    params = module.params
    with module.failing(NodeError, ApiError, Unreachable):
        module.check()
        if params["state"] == "renewed" and not (params["key_ids"] and params["api"]):
            raise NodeError("state=renewed needs key_ids and the API.", "Nothing was changed.")
        result: dict[str, t.Any] = {"changed": False, "renewed": [], "mounted": []}
        if params["volumes"]:
            result["volumes"] = volumes()
            result["kubeconfigs"] = [
                {
                    "path": each["path"],
                    "key_ids": [identity for text in each["tokens"] if (identity := key_id(text)) is not None],
                    "authorities": fingerprints(each["authorities"]),
                }
                for each in plugin_kubeconfigs.read()
            ]
        if params["api"]:
            result.update(ask(params, check=module.check_mode))
    module.exit_json(**result)


def ask(params: t.Mapping[str, t.Any], *, check: bool) -> dict[str, t.Any]:
    """Return the tokens' state from this machine's API server.

    Old tokens are renewed before where the parameters ask for it.
    """

    def still_allowed() -> None:
        arguments.check(params, check_mode=check)

    result: dict[str, t.Any] = {}
    with own_client(timeout=10.0) as client:
        accounts = Accounts(client)
        if params["state"] == "renewed":
            renewed, mounted = accounts.renew(params["key_ids"], params["timeout"], still_allowed, check=check)
            result.update(renewed=renewed, mounted=mounted, changed=bool(renewed or mounted))
        secrets = accounts.secrets()
        result["secrets"] = [{name: each[name] for name in each if name != "resource_version"} for each in secrets]
        result["roots"] = accounts.roots()
        if params["pods_before"]:
            result["pods"] = accounts.pods(params["pods_before"])
        if params["mounting"]:
            result["mounting"] = accounts.mounting(params["mounting"])
    return result


if __name__ == "__main__":
    main()
