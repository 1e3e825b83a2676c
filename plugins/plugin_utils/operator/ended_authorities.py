# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Refusal of an Action where a certificate authority has ended.

It would renew or replace nothing.
"""

from __future__ import annotations

from collections.abc import Collection

from ..kubeadm.certificate_files import CA, ETCD, FRONT_PROXY
from ..objects.advice import AUTHORITY_ENDED
from .planner_types import EXTRA_NOW, ClusterFacts, RefusedAction

# kubeadm's names of the authorities, as ``ClusterFacts.certificates`` has them.
_NAMES = {CA: "ca", ETCD: "etcd-ca", FRONT_PROXY: "front-proxy-ca"}


def require_valid(path: str, cluster: ClusterFacts, authorities: Collection[str] = tuple(_NAMES)) -> None:
    """Check that none of these authorities has ended on a Node.

    ``path`` is the field of the request; the service account's key has no end. An end that is unknown is no end.

    Raises:
        RefusedAction: one has.
    """
    names = {_NAMES[each] for each in authorities if each in _NAMES}
    now = str(cluster.extra.get(EXTRA_NOW) or "")
    for key, end in sorted(cluster.certificates.items()):
        node, _slash, name = key.partition("/")
        # RFC 3339 times in UTC with seconds sort as text.
        if name in names and now and end and end <= now:
            rule = f"the certificate authority {name} of {node} has ended {end}, and what it signs is worth nothing"
            raise RefusedAction(path, None, rule, AUTHORITY_ENDED)
