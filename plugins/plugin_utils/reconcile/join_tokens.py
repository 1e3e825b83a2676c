# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Bootstrap tokens of joins: created, written to the workload cluster, deleted.

Made on the controller, written through a machine, deleted once used.
"""

from __future__ import annotations

import typing as t

from ...module_utils.common import settings
from ...module_utils.common.redact import redact
from ...module_utils.workload_api import bootstrap_token
from ..calls.failure import ControlPlaneFailure
from ..decision.terms import SUCCEEDED
from ..observe.observation import Caller
from ..records.cluster_objects import BOOTSTRAP_TOKEN_ANNOTATION, KUBEADM_CONFIG, ClusterObjects, Object


def mint(objects: ClusterObjects, caller: Caller, name: str, limit: int) -> str:
    """Create and return the bootstrap token for a machine's join. Secret.

    Its ID is recorded on the machine's KubeadmConfig. It outlives the bootstrap, which the machine ends after ``limit`` seconds: what
    kubeadm waits for there, the user's commands and the images, may take nearly as long.

    Made here and handed over: what a module returns, -vvv shows as it came over the connection.

    Raises:
        ControlPlaneFailure: no machine could write it to the workload cluster.
    """
    token = bootstrap_token.new_token()

    def remember(stored: Object) -> None:
        annotations = stored["metadata"].setdefault("annotations", {})
        annotations[BOOTSTRAP_TOKEN_ANNOTATION] = token.split(".", maxsplit=1)[0]

    objects.kubeadm_configs[name] = objects.store.modify(KUBEADM_CONFIG, objects.namespace, name, remember)
    call = {"state": "present", "token": token, "ttl": limit + settings.BOOTSTRAP_TOKEN_SECONDS}
    failures = _call_one(objects, caller, call)
    if failures is None:
        return token
    raise ControlPlaneFailure(
        f"no control plane machine could make a bootstrap token for {name}: {'; '.join(failures) or 'none has been bootstrapped'}. "
        "Nothing was started. Mend what is named, then run again."
    )


def delete_used(objects: ClusterObjects, caller: Caller) -> None:
    """Delete the bootstrap tokens of machines that have joined.

    Called at a moment in which nothing waits for it: their deletion is not urgent.

    One that no machine can delete is forgotten: it expires by itself. Nothing is done while the
    cluster is paused or deleted.
    """
    for name, token_id in used(objects).items():
        _call_one(objects, caller, {"state": "absent", "token_id": token_id})
        objects.kubeadm_configs[name] = objects.store.modify(KUBEADM_CONFIG, objects.namespace, name, _forget)


def used(objects: ClusterObjects) -> dict[str, str]:
    """Return the token IDs of machines that have joined, by machine.

    None of a paused or deleted cluster.
    """
    if objects.paused or objects.going:
        return {}
    found = {}
    joined = [each for each in objects.workers if _state(each) == SUCCEEDED]
    for machine in [*objects.bootstrapped_machines(), *joined]:
        name = str(machine["metadata"]["name"])
        annotations = (objects.kubeadm_configs.get(name) or {}).get("metadata", {}).get("annotations") or {}
        if annotations.get(BOOTSTRAP_TOKEN_ANNOTATION):
            found[name] = str(annotations[BOOTSTRAP_TOKEN_ANNOTATION])
    return found


def _call_one(objects: ClusterObjects, caller: Caller, call: dict[str, t.Any]) -> t.Optional[list[str]]:
    """Call machines in turn until one succeeds; return the failures, else None."""
    failures = []
    for each in objects.bootstrapped_machines():
        answer = caller.call(objects.reach(each["metadata"]["name"]), "bootstrap_token", call)
        if not answer.failed:
            return None
        failures.append(f"{each['metadata']['name']}: {redact(answer.message)}")
    return failures


def _state(machine: Object) -> str:
    return str(((machine.get("status") or {}).get("bootstrap") or {}).get("state") or "")


def _forget(stored: Object) -> None:
    (stored["metadata"].get("annotations") or {}).pop(BOOTSTRAP_TOKEN_ANNOTATION, None)
