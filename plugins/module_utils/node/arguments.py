# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Options of every module that runs on a machine; keep in step with plugins/doc_fragments/_node.py."""

from __future__ import annotations

import typing as t

from ansible_collections.kubeadm.control_plane.plugins.module_utils.node import guard

MACHINE: dict[str, dict[str, t.Any]] = {"machine_id": {"type": "str"}}
FENCING: dict[str, dict[str, t.Any]] = {"fencing": {"type": "int"}}
# What a spec says of the static pods' images (kubeadm/bootstrap.py, image_facts).
IMAGES: dict[str, t.Any] = {
    "type": "dict",
    "options": {
        "repository": {"type": "str", "default": ""},
        "etcdRepository": {"type": "str", "default": ""},
        "etcdTag": {"type": "str", "default": ""},
        "externalEtcd": {"type": "bool", "default": False},
        "pull": {"type": "bool", "default": True},
        "criSocket": {"type": "str", "default": ""},
    },
}


def check(params: t.Mapping[str, t.Any], *, check_mode: bool) -> None:
    """Refuse the wrong machine, then a run that lost its lock, before anything else. Raises ``guard.NodeError``."""
    guard.require_machine(params["machine_id"])
    if "fencing" in params:
        guard.require_fencing(params["fencing"], keep=not check_mode)
