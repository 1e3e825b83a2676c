# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Arguments of the etcd modules that give access to etcd.

Keep in step with plugins/doc_fragments/_etcd.py.
"""

from __future__ import annotations

import typing as t

from ..common import settings
from .gateway import Credentials, kubeadm_credentials
from .membership import Cluster
from .types import LOCAL_MEMBER

CREDENTIALS: dict[str, dict[str, t.Any]] = {
    name: {"type": "path"} for name in ("ca_file", "certificate_file", "key_file")
}
ETCD: dict[str, dict[str, t.Any]] = {
    "endpoints": {"type": "list", "elements": "str", "default": [LOCAL_MEMBER]},
    **CREDENTIALS,
    "timeout": {"type": "float", "default": settings.ANSWER_SECONDS},
    "looks": {"type": "int", "default": settings.LOOKS},
    "interval": {"type": "float", "default": settings.LOOK_INTERVAL_SECONDS},
}


def credentials(params: t.Mapping[str, t.Any]) -> Credentials:
    """Return the files that a module's parameters name, else kubeadm's."""
    made = kubeadm_credentials()
    return Credentials(
        params["ca_file"] or made.ca_file,
        params["certificate_file"] or made.certificate_file,
        params["key_file"] or made.key_file,
    )


def cluster(params: t.Mapping[str, t.Any]) -> Cluster:
    """Return the access to etcd that a module's parameters describe."""
    return Cluster(
        endpoints=params["endpoints"],
        credentials=credentials(params),
        timeout=max(0.1, params["timeout"]),
        looks=max(1, params["looks"]),
        interval=max(0.0, params["interval"]),
    )
