# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Observer of clusters' statuses: one after another, or spread over processes.

Nothing is written but a kubeconfig that is asked for, and no lock is taken.
"""

from __future__ import annotations

import json
import math
import os
import typing as t

from ansible import constants as C
from ansible.errors import AnsibleError

from ....module_utils.common import settings
from ....module_utils.common.legible import visible
from ....module_utils.common.redact import redact
from ....module_utils.common.values import now_rfc3339
from ....module_utils.common.violations import ManifestError
from ...base_classes.control_plane_action import CLUSTER_SPEC, ControlPlaneAction
from ...calls.failure import ControlPlaneFailure
from ...calls.machine_connection import REFUSED
from ...decision.decide import decide
from ...observe.observation import observe
from ...pki.certificates import PkiError
from ...pki.kubeconfig import read_kubeconfig, write_kubeconfig
from ...processes.forked import spread
from ...records.cluster_objects import ClusterObjects
from ...records.journal_entries import last_failure
from ...store import opening
from ...store.base import StoreError
from ..glance import Glance
from .data import status_data
from .fleet import not_observed

Object = dict[str, t.Any]
Arguments = dict[str, t.Any]
# A table has the first line of an error.
_REFUSED = {
    401: "the store's API does not accept the credentials (401): mend kubeconfig or token of control_plane_store\n",
    403: "the store's API grants too little to the credentials (403): mend their Role, or kubeconfig of control_plane_store\n",
}
SPEC: Arguments = {**CLUSTER_SPEC, "kubeconfig": {"type": "path"}}


def observed_status(action: ControlPlaneAction, arguments: Arguments, host: str) -> tuple[Object, ClusterObjects]:
    """Observe and decide; return the status data, and the objects.

    Args:
        action: opens the store and reaches the machines.
        arguments: name the cluster and its store.
        host: the cluster's host in the inventory.
    """
    objects = action.open_objects(arguments)
    snapshot = observe(objects, action.machine_caller(arguments, objects), now_rfc3339())
    return status_data(snapshot, decide(snapshot), host, last_failure(action.journal(arguments))), objects


def keep_kubeconfig(objects: ClusterObjects, path: str, data: Object, writes: bool) -> bool:
    """Write the administrator's kubeconfig; return whether the file changed.

    ``data`` gets its path. A cluster that has none yet is left out.

    Raises:
        PkiError: the file holds anything but a kubeconfig of this cluster.
    """
    if not path or read_kubeconfig(objects.store, objects.cluster) is None:
        return False
    where = os.path.abspath(path)
    changed = writes and write_kubeconfig(objects.store, objects.cluster, where)
    data["kubeconfig"] = where
    return changed


class Observer(Glance):
    """Observer of clusters, with the variables of their hosts."""

    PATIENCE_SECONDS = settings.STORE_PATIENCE_SECONDS
    CALL_SECONDS = math.inf

    def refuse_beforehand(self, arguments: t.Mapping[str, t.Any]) -> None:
        """Refuse a store's options alone: who may only read is shown everything."""
        opening.check(arguments["store"])

    def observe_all(
        self, hosts: t.Sequence[str], hostvars: t.Any, processes: int, waits: t.Callable[[int], None]
    ) -> list[Object]:
        """Return the status data of each host, in their order.

        Of one that can't be observed it is what :func:`not_observed` returns.

        Args:
            hosts: the clusters' hosts.
            hostvars: the variables of the inventory's hosts.
            processes: so many clusters are observed at once.
            waits: called with the number of clusters that were observed, after each time in which none was.
        """
        self.begin(hostvars)
        folder = os.path.join(C.DEFAULT_LOCAL_TMP, "kubeadm-status")
        os.makedirs(folder, mode=0o700, exist_ok=True)
        # Neighbours share what is read of their namespace.
        ordered = sorted(hosts, key=lambda each: (str(hostvars.raw_get(each).get("control_plane_namespace")), each))

        def work(number: int) -> str:
            # A status is more than one piece of a pipe.
            with open(os.path.join(folder, f"{number}.json"), "w", encoding="utf-8") as stream:
                json.dump(self._status_of(ordered[number]), stream)
            return "observed"

        found: dict[str, Object] = {}
        for each in spread(work, len(ordered), processes, settings.PROGRESS_SECONDS):
            if each is None:
                waits(len(found))
                continue
            with open(os.path.join(folder, f"{each[0]}.json"), encoding="utf-8") as stream:
                found[ordered[each[0]]] = json.load(stream)
        ended = "the process that observed it has ended"
        return [found.get(each) or self._not_observed(each, ended) for each in hosts]

    def _status_of(self, host: str) -> Object:
        try:
            arguments = self.enter(host, "status", SPEC)
            data, objects = observed_status(self, arguments, host)
            keep_kubeconfig(objects, arguments["kubeconfig"] or "", data, not self._task.check_mode)
        except (AnsibleError, ControlPlaneFailure, ManifestError, PkiError, StoreError) as error:
            # An API's refusal has its HTTP status (store/kubernetes/requests.py).
            return self._not_observed(host, f"{_REFUSED.get(getattr(error, 'status', 0), '')}{error}")
        except Exception as error:  # one cluster's fault must not keep the others from being shown
            return self._not_observed(host, f"{type(error).__name__}: {error}")
        return data

    def _not_observed(self, host: str, why: str) -> Object:
        own = self._hostvars.raw_get(host)
        names = [str(own.get(f"control_plane_{each}") or "") for each in ("namespace", "cluster")]
        return not_observed(host, names[0], names[1], visible(redact(str(own.get(REFUSED) or why))))
