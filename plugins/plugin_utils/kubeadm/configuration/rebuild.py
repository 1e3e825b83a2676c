# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""KubeadmConfigSpec, rebuilt from the KubeadmConfigs of existing machines.

Source: docs/reference/cluster_api.md, "Adoption".

Pure. The same function tells the plan what follows an adoption and the adoption what to write.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

Object = dict[str, Any]

CONFIGURATIONS = ("clusterConfiguration", "initConfiguration", "joinConfiguration")
# Said of one machine or of one moment: it means nothing for the machines that come.
_OF_ONE_INIT = ("bootstrapTokens", "certificateKey", "localAPIEndpoint")
_OF_ONE_JOIN = ("discovery", "caCertPath")


def has_configuration(spec: Mapping[str, Any] | None) -> bool:
    """Return whether a KubeadmConfigSpec has any of kubeadm's configuration.

    A format or an empty part is none.
    """
    return any((spec or {}).get(key) for key in CONFIGURATIONS)


def rebuild(specs: Sequence[Mapping[str, Any]]) -> Object:
    """Return the KubeadmConfigSpec that the machines with these specs came from.

    The specs are ordered oldest first; what they don't hold stays unknown.

    clusterConfiguration and initConfiguration come from the oldest that has them, joinConfiguration from the newest; where
    no machine has the first two, only joinConfiguration is there
    (docs/reference/cluster_api.md, "Adoption"). Everything else (files, users, commands, ...)
    comes from the newest, since that is what the next machine would have been made from. What belongs to one machine or to
    one moment is left out: addresses, bootstrap tokens, discovery, the Node's name.
    """
    result: Object = {}
    for spec in reversed(specs):
        for key, value in spec.items():
            if key not in CONFIGURATIONS:
                result.setdefault(key, copy.deepcopy(value))
    for key, ordered in (
        ("clusterConfiguration", specs),
        ("initConfiguration", specs),
        ("joinConfiguration", list(reversed(specs))),
    ):
        found = next((spec[key] for spec in ordered if spec.get(key)), None)
        if found is not None:
            result[key] = _shared(copy.deepcopy(dict(found)), key)
    return result


def _shared(configuration: Object, key: str) -> Object:
    if key == "initConfiguration":
        for field in _OF_ONE_INIT:
            configuration.pop(field, None)
    elif key == "joinConfiguration":
        for field in _OF_ONE_JOIN:
            configuration.pop(field, None)
        control_plane = configuration.get("controlPlane")
        if isinstance(control_plane, dict):
            for field in ("localAPIEndpoint", "certificateKey"):
                control_plane.pop(field, None)
    registration = configuration.get("nodeRegistration")
    # A template ({{ ds.meta_data.local_hostname }}) is every machine's; a name is one's.
    if isinstance(registration, dict) and "{{" not in str(registration.get("name") or ""):
        registration.pop("name", None)
    return configuration
