# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Options of every module that runs on a machine, and their checks.

Keep in step with plugins/doc_fragments/_node.py.
"""

from __future__ import annotations

import contextlib
import typing as t

from ..common import guard
from ..workload_api import fencing_lease
from ..workload_api.api import ADMIN_KUBECONFIG, ApiClient

MACHINE: dict[str, dict[str, t.Any]] = {"machine_id": {"type": "str"}, "claim_id": {"type": "str"}}
FENCING: dict[str, dict[str, t.Any]] = {"fencing": {"type": "int"}}
# What a spec says of the static pods' images (objects/bootstrap_data.py, image_facts).
IMAGES: dict[str, t.Any] = {
    "type": "dict",
    "options": {
        "repository": {"type": "str", "default": ""},
        "etcdRepository": {"type": "str", "default": ""},
        "etcdTag": {"type": "str", "default": ""},
        "dnsRepository": {"type": "str", "default": ""},
        "dnsTag": {"type": "str", "default": ""},
        "externalEtcd": {"type": "bool", "default": False},
        "pull": {"type": "bool", "default": True},
        "criSocket": {"type": "str", "default": ""},
    },
}


def check(
    params: t.Mapping[str, t.Any], *, check_mode: bool, ask_cluster: bool = True, must_keep: bool = True
) -> t.Optional[guard.Unwritable]:
    """Refuse the wrong machine, then a run that lost its lock.

    A module calls it before anything else.

    Args:
        params: the module's.
        check_mode: whether nothing may be changed, the numbers that are kept included.
        ask_cluster: whether the cluster's Lease is read and raised as well (``workload_api/fencing_lease.py``).
        must_keep: whether a number that this machine can't keep, as its disk is full, is refused. Only a call that can do without says no:
            until the number is kept, here or in the cluster's Lease, an older run is not refused on this machine.

    Returns:
        why the number can't be kept, where it need not be; None where it is kept, or there is nothing to keep.

    Raises:
        guard.NodeError: it is refused.
    """
    guard.require_machine(params["machine_id"])
    if params.get("claim_id"):
        guard.require_claim(params["claim_id"])
    number = params.get("fencing")
    if number is None:
        return None
    unkept: t.Optional[guard.Unwritable] = None
    try:
        guard.require_fencing(number, keep=not check_mode)
    except guard.Unwritable as error:
        if must_keep:
            raise
        unkept = error
    if ask_cluster:
        with remembering(check_mode=check_mode):
            fencing_lease.require(number, write=not check_mode, kubeconfig=params.get("kubeconfig") or ADMIN_KUBECONFIG)
    return unkept


def hold(client: ApiClient, params: t.Mapping[str, t.Any], *, check_mode: bool) -> None:
    """Refuse a run that lost its lock by the cluster's Lease.

    For a module that asks an API server anyway (``ask_cluster`` false).

    Raises:
        guard.Fenced: it lost its lock. ApiError: the API refused. Unreachable: it did not answer.
    """
    if params["fencing"] is not None:
        with remembering(check_mode=check_mode):
            fencing_lease.hold(client, params["fencing"], write=not check_mode)


@contextlib.contextmanager
def remembering(*, check_mode: bool) -> t.Iterator[None]:
    """Store on this machine a higher fencing number that the cluster reports.

    The cluster's API may not answer the next time.
    """
    try:
        yield
    except guard.Fenced as error:
        # That it is refused counts, also where the machine can't keep why.
        with contextlib.suppress(guard.Unwritable):
            guard.require_fencing(error.highest, keep=not check_mode)
        raise
