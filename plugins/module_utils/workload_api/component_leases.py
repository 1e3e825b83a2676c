# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Leader election Leases of controller managers and schedulers, released for removed holders.

Neither component releases its Lease when it ends: the others wait until it was not renewed for its duration, 15 s by
default. Until then no bootstrap token is signed and no kubelet gets its certificate, so that the next ``kubeadm join``
waits.
"""

from __future__ import annotations

import time
import typing as t
from urllib.parse import quote

from ..common import settings
from .api import MERGE_PATCH, ApiClient

ELECTED = ("kube-controller-manager", "kube-scheduler")
HOSTNAME_LABEL = "kubernetes.io/hostname"
_POLL_SECONDS = 0.25
_LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"
# Up to Kubernetes 1.19 the same election is also kept as an annotation of one of these; both would have to change at once.
_OLDER_LOCKS = ("/api/v1/namespaces/kube-system/endpoints", "/api/v1/namespaces/kube-system/configmaps")
_OLDER_ANNOTATION = "control-plane.alpha.kubernetes.io/leader"


def hosts_of(client: ApiClient, node: str) -> set[str]:
    """Return the host names that belong to this Node's components alone.

    Call it before the Node is deleted. A Lease's holder is named after its host, whose name need not be the Node's.
    """
    found = client.get(f"/api/v1/nodes/{quote(node, safe='')}") or {}
    hosts = {node, str(((found.get("metadata") or {}).get("labels") or {}).get(HOSTNAME_LABEL) or node)}
    return {host for host in hosts if not _others(client, host, node)}


def held_by(client: ApiClient, hosts: t.Collection[str]) -> dict[str, dict[str, t.Any]]:
    """Return the Leases held from these hosts, by component name.

    Raises:
        ApiError: the API refused. Unreachable: it did not answer.
    """
    found = {}
    for name in ELECTED:
        lease = client.get(f"{_LEASES}/{name}")
        holder = _holder(lease)
        if lease is not None and holder.rpartition("_")[0] in hosts and not _in_older_lock(client, name, holder):
            found[name] = lease
    return found


def take(
    client: ApiClient,
    hosts: t.Collection[str],
    clock: t.Callable[[], float] = time.monotonic,
    pause: t.Callable[[float], None] = time.sleep,
) -> list[str]:
    """Release the Leases that components no longer renew; return the components' names.

    Args:
        client: an API server that stays.
        hosts: what :func:`hosts_of` returned of a Node whose machine is gone.
        clock, pause: the seconds, and how to let some pass.

    A holder that renews within ``settings.LEASE_SILENT_SECONDS`` is alive, whatever is reported of its machine, and keeps its Lease;
    one that renews after the last check keeps it by the compare-and-swap.

    Raises:
        ApiError: the API refused. Unreachable: it did not answer.
    """
    silent = held_by(client, hosts)
    deadline = clock() + settings.LEASE_SILENT_SECONDS
    while silent and clock() < deadline:
        pause(_POLL_SECONDS)
        again = {name: client.get(f"{_LEASES}/{name}") for name in silent}
        silent = {name: lease for name, lease in silent.items() if _version(again[name]) == _version(lease)}
    taken = []
    for name, lease in silent.items():
        path = f"{_LEASES}/{name}"
        # What client-go's own release of a Lease leaves: no holder, for which nobody waits.
        change = {"metadata": {"resourceVersion": _version(lease)}, "spec": {"holderIdentity": ""}}
        answer = client.send("PATCH", path, change, MERGE_PATCH)
        if answer.status not in (404, 409):
            client.checked(answer, path)
            taken.append(name)
    return taken


def _others(client: ApiClient, host: str, node: str) -> bool:
    nodes = client.list("/api/v1/nodes", selector=f"{HOSTNAME_LABEL}={host}")
    return any(each["metadata"]["name"] != node for each in nodes)


def _in_older_lock(client: ApiClient, name: str, holder: str) -> bool:
    for path in _OLDER_LOCKS:
        lock = client.get(f"{path}/{name}") or {}
        if holder in str(((lock.get("metadata") or {}).get("annotations") or {}).get(_OLDER_ANNOTATION) or ""):
            return True
    return False


def _holder(lease: t.Optional[t.Mapping[str, t.Any]]) -> str:
    return str(((lease or {}).get("spec") or {}).get("holderIdentity") or "")


def _version(lease: t.Optional[t.Mapping[str, t.Any]]) -> str:
    return str(((lease or {}).get("metadata") or {}).get("resourceVersion") or "")
