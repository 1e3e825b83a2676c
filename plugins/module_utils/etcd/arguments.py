# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Arguments of the etcd modules that give access to etcd.

Keep in step with plugins/doc_fragments/_etcd.py.
"""

from __future__ import annotations

import typing as t

from ..common import settings
from .gateway import KUBEADM_CREDENTIALS, Credentials
from .membership import Cluster
from .types import LOCAL_MEMBER

ETCD: dict[str, dict[str, t.Any]] = {
    "endpoints": {"type": "list", "elements": "str", "default": [LOCAL_MEMBER]},
    "ca_file": {"type": "path", "default": KUBEADM_CREDENTIALS.ca_file},
    "certificate_file": {"type": "path", "default": KUBEADM_CREDENTIALS.certificate_file},
    "key_file": {"type": "path", "default": KUBEADM_CREDENTIALS.key_file},
    "timeout": {"type": "float", "default": settings.ANSWER_SECONDS},
    "looks": {"type": "int", "default": settings.LOOKS},
    "interval": {"type": "float", "default": settings.LOOK_INTERVAL_SECONDS},
}


def cluster(params: t.Mapping[str, t.Any]) -> Cluster:
    """Return the access to etcd that a module's parameters describe."""
    return Cluster(
        endpoints=params["endpoints"],
        credentials=Credentials(params["ca_file"], params["certificate_file"], params["key_file"]),
        timeout=max(0.1, params["timeout"]),
        looks=max(1, params["looks"]),
        interval=max(0.0, params["interval"]),
    )
