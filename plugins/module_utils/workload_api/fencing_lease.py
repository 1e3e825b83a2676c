# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lease with a cluster's highest fencing number, in that cluster (docs/store.md, "The fencing number").

It is ``kube-system/kubeadm-control-plane``, ``spec.leaseTransitions``. It is read from etcd's majority (a GET without a
resourceVersion), so that every machine that can change the cluster knows of a run on another one. Without an API that
answers there is nothing to read: a machine then knows only the runs on itself (``guard.py``).
"""

from __future__ import annotations

import os
import ssl
import typing as t

from ..common.guard import Fenced, NodeError
from ..common.https import Unreachable, client_context
from ..common.values import now_microtime
from .api import ADMIN_KUBECONFIG, MERGE_PATCH, ApiAccess, ApiClient, ApiError, own_server, read_access
from .bootstrap_token import GROUP

NAMESPACE, NAME = "kube-system", "kubeadm-control-plane"
LEASES = f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases"
SEEN_BY = f"the cluster has seen (Lease {NAMESPACE}/{NAME})"
_RBAC = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{NAMESPACE}"
_READER = f"{NAME}:fencing"
_ATTEMPTS = 20


def hold(client: ApiClient, number: int, *, write: bool = True, run: str = "") -> bool:
    """Refuse a number below the Lease's; write a greater one to it.

    Two stores with one cluster give the same number twice. An observation names its run, and the same number of another
    run is refused as well: the run that observes next takes a greater one, and the other run's steps are refused by it.

    Args:
        client: an API server of the cluster, with the rights of admin.conf.
        number: the number of a run's lock.
        write: whether the Lease is made or raised (not in check mode).
        run: the name of the run, for an observation.

    Returns:
        whether the Lease was made or raised.

    Raises:
        Fenced: the Lease has a greater number, or this one by another run.
        ApiError: the API refused. Unreachable: it did not answer.
    """
    for _attempt in range(_ATTEMPTS):
        lease = client.get(f"{LEASES}/{NAME}")
        highest, holder = _number(lease), _holder(lease)
        if number < highest:
            raise Fenced(number, highest, SEEN_BY)
        if number == highest and run and holder and holder != run:
            raise Fenced(number, highest, f"{SEEN_BY}, of another store,")
        if (lease is not None and number == highest and run in ("", holder)) or not write:
            return False
        if _written(client, lease, number, run):
            return True
    raise ApiError(409, f"{LEASES}/{NAME}", "other runs were faster, again and again")


def require(number: int, *, write: bool = True, kubeconfig: str = ADMIN_KUBECONFIG) -> None:
    """Refuse an older run's number with this machine's admin credentials.

    It calls :func:`hold` on the machine's own API server, or where that does not answer on the server of the
    kubeconfig. It does nothing where no API server answers, or the machine has no credentials.

    Raises:
        Fenced: the Lease has a greater number.
    """
    if not os.path.exists(kubeconfig):
        return
    try:
        access = read_access(kubeconfig)
    except NodeError:
        return
    own = own_server() if kubeconfig == ADMIN_KUBECONFIG else None
    for server in dict.fromkeys([own or access.server, access.server]):
        try:
            with ApiClient(access, server) as client:
                hold(client, number, write=write)
            return
        except (ApiError, Unreachable, ValueError):
            continue


def require_as_joining(number: int, server: str, token: str, authority: str) -> None:
    """Refuse an older run's number on a machine that will join.

    It reads the Lease with the bootstrap token and only compares. It does nothing where the API does not answer, or
    does not let the token read the Lease: the machine can't join either then, or the cluster's RBAC was changed.

    Args:
        number: the number of a run's lock.
        server: ``host:port`` of the control plane endpoint.
        token: a bootstrap token.
        authority: the cluster's CA as PEM.

    Raises:
        Fenced: the Lease has a greater number.
    """
    try:
        access = ApiAccess(f"https://{server}", client_context(ca_pem=authority), {"Authorization": f"Bearer {token}"})
        with ApiClient(access, access.server) as client:
            hold(client, number, write=False)
    except (ApiError, Unreachable, ValueError, ssl.SSLError):
        return


def let_joining_machines_read(client: ApiClient) -> None:
    """Grant joining machines the right to read this one Lease.

    They have a bootstrap token and nothing else.

    Raises:
        ApiError: the API refused. Unreachable: it did not answer.
    """
    path = f"{_RBAC}/rolebindings"
    if client.get(f"{path}/{_READER}") is not None:
        return
    group = "rbac.authorization.k8s.io"
    metadata = {"name": _READER, "namespace": NAMESPACE}
    rule = {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "resourceNames": [NAME], "verbs": ["get"]}
    role = {"metadata": metadata, "rules": [rule]}
    binding = {
        "metadata": metadata,
        "roleRef": {"apiGroup": group, "kind": "Role", "name": _READER},
        "subjects": [{"apiGroup": group, "kind": "Group", "name": GROUP}],
    }
    for where, document in ((f"{_RBAC}/roles", role), (path, binding)):
        answer = client.send("POST", where, document)
        if answer.status != 409:
            client.checked(answer, where)


def _number(lease: t.Optional[t.Mapping[str, t.Any]]) -> int:
    found = ((lease or {}).get("spec") or {}).get("leaseTransitions")
    return found if isinstance(found, int) else 0


def _holder(lease: t.Optional[t.Mapping[str, t.Any]]) -> str:
    return str(((lease or {}).get("spec") or {}).get("holderIdentity") or "")


def _written(client: ApiClient, lease: t.Optional[t.Mapping[str, t.Any]], number: int, run: str) -> bool:
    """Write the Lease by compare-and-swap; return False where another run was faster."""
    now = now_microtime()
    spec = {"leaseTransitions": number, "acquireTime": now, "renewTime": now, "holderIdentity": run or None}
    if lease is None:
        path = LEASES
        annotations = {
            "kubeadm.control-plane/about": "The number of the newest run of kubeadm.control_plane; older runs are refused."
        }
        metadata = {"name": NAME, "namespace": NAMESPACE, "annotations": annotations}
        answer = client.send("POST", path, {"metadata": metadata, "spec": spec})
    else:
        path = f"{LEASES}/{NAME}"
        version = (lease.get("metadata") or {}).get("resourceVersion")
        change = {"metadata": {"resourceVersion": version}, "spec": spec}
        answer = client.send("PATCH", path, change, MERGE_PATCH)
    if answer.status in (404, 409):
        return False
    client.checked(answer, path)
    return True
