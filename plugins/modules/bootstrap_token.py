#!/usr/bin/python

# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: bootstrap_token
short_description: Create or delete a bootstrap token for a joining machine
version_added: 0.1.0
author:
  - kubeadm.control_plane contributors (@kubeadm-control-plane)
description:
  - Runs on a control plane node. With O(state=present), makes a bootstrap token in the cluster, as C(kubeadm token
    create) does, but never shows it on a command line, and signs the cluster's public information with it, so that
    C(kubeadm join) finds it at once and doesn't wait for the controller manager to do so.
  - With O(state=absent), deletes a token. Its ID, the part before the point, is enough, and is not secret.
options:
  state:
    description: Whether the token is to exist.
    type: str
    choices: [present, absent]
    default: present
  token:
    description:
      - The token. With O(state=present) and without it, one is made up and returned.
      - A token that is given is not returned, so that it can't be seen in the output of a connection plugin at high
        verbosity.
    type: str
  token_id:
    description: With O(state=absent), the first six characters of the token.
    type: str
  ttl:
    description: Seconds that a new token is good for.
    type: int
    default: 900
extends_documentation_fragment:
  - kubeadm.control_plane._node
  - kubeadm.control_plane._node.fencing
  - kubeadm.control_plane._attributes
attributes:
  check_mode:
    support: full
    details:
      - In check mode no token is made up, so RV(token) is not returned.
  diff_mode:
    support: full
    details:
      - The diff names tokens by their IDs.
  idempotent:
    support: partial
    details:
      - Without O(token), every call with O(state=present) makes another token.
"""

EXAMPLES = r"""
- name: Make a token for a machine that is to join
  kubeadm.control_plane.bootstrap_token:
  become: true
  register: join
  no_log: true

- name: Delete it after the machine has joined
  kubeadm.control_plane.bootstrap_token:
    state: absent
    token_id: "{{ join.token_id }}"
  become: true
"""

RETURN = r"""
token:
  description: The token that was made up. Use C(no_log) on the task.
  returned: O(state=present) without O(token), not in check mode
  type: str
token_id:
  description: The first six characters of the token, which are not secret.
  returned: success, but not in check mode without O(token)
  type: str
expires:
  description: When the token ends, by the API server's clock.
  returned: O(state=present), when a token was made
  type: str
signed:
  description:
    - Whether the cluster's public information, C(cluster-info) in C(kube-public), is signed with the token. False where the
      cluster has none, so that no machine can find it by a token; where the API refused the signature, which a warning tells;
      and where the token was there, and has ended or is not for signing.
  returned: O(state=present), not in check mode
  type: bool
"""

from ..module_utils.common import settings
from ..module_utils.common.guard import NodeError
from ..module_utils.common.https import Unreachable
from ..module_utils.node import arguments
from ..module_utils.node.machine_module import MachineModule
from ..module_utils.workload_api import bootstrap_token, fencing_lease
from ..module_utils.workload_api.api import ApiClient, ApiError, own_client


def main() -> None:
    """Run the module."""
    module = MachineModule(
        argument_spec={
            "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
            "token": {"type": "str", "no_log": True},
            "token_id": {"type": "str", "no_log": False},
            "ttl": {"type": "int", "default": settings.BOOTSTRAP_TOKEN_SECONDS},
        },
        mutually_exclusive=[("token", "token_id")],
        required_if=[("state", "absent", ["token_id"])],
    )
    params = module.params
    with module.failing(NodeError, ApiError, Unreachable, ValueError, before="The bootstrap token is not as wanted: "):
        module.check(ask_cluster=False)
        if params["state"] == "present" and params["token_id"]:
            raise NodeError("token_id is for state=absent.", "Give the whole token, or nothing.")
        with own_client() as client:
            arguments.hold(client, params, check_mode=module.check_mode)
            result = absent(module, client) if params["state"] == "absent" else present(module, client)
    if result["changed"]:
        known = [str(result.get("token_id", "a new one"))]
        before, after = (known, []) if params["state"] == "absent" else ([], known)
        result["diff"] = {"before": {"tokens": before}, "after": {"tokens": after}}
    module.exit_json(**result)


def present(module: MachineModule, client: ApiClient) -> dict[str, object]:
    """Create the token."""
    token = module.params["token"] or bootstrap_token.new_token()
    document = bootstrap_token.secret_document(
        token,
        module.params["ttl"],
        "Made by kubeadm.control_plane for one machine to join",
        bootstrap_token.server_time(client),
    )
    token_id = document["stringData"]["token-id"]
    if module.check_mode:
        known = module.params["token"]
        signs = bootstrap_token.signs(client, token) if known else None
        changed = signs is None or bool(signs and bootstrap_token.unsigned(client, token))
        return {"changed": changed, **({"token_id": token_id} if known else {})}
    if module.params["fencing"] is not None:
        fencing_lease.let_joining_machines_read(client)
    created = bootstrap_token.create(client, document)
    if not created and not module.params["token"]:
        raise NodeError("The token that was made up exists already.", "Run it again.")
    signed = None
    if created or bootstrap_token.signs(client, token):
        try:
            signed = bootstrap_token.sign(client, token)
        except ApiError as error:
            module.warn(
                f"cluster-info was not signed ({error}). Who joins by this token waits until the controller manager has done so."
            )
    result = {"changed": created or bool(signed), "token_id": token_id, "signed": signed is not None}
    if created:
        result["expires"] = document["stringData"]["expiration"]
    if not module.params["token"]:
        result["token"] = token
    return result


def absent(module: MachineModule, client: ApiClient) -> dict[str, object]:
    """Delete the token."""
    token_id = module.params["token_id"]
    if not bootstrap_token.TOKEN_ID_PATTERN.fullmatch(token_id):
        raise NodeError("token_id is not the first part of a bootstrap token.", "Give six of a-z and 0-9.")
    if module.check_mode:
        return {"changed": client.get(bootstrap_token.path_of(token_id)) is not None, "token_id": token_id}
    return {"changed": bootstrap_token.delete(client, token_id), "token_id": token_id}


if __name__ == "__main__":
    main()
