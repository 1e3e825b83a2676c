# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The planner of each kind of Action, by the field of an Action's spec that asks for it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Callable

from ansible_collections.kubeadm.control_plane.plugins.module_utils.operator import (
    change_configuration,
    custom,
    renew_certificates,
    rotate_certificate_authorities,
    upgrade,
)
from ansible_collections.kubeadm.control_plane.plugins.module_utils.operator.plans import (
    ClusterFacts,
    FieldError,
    GroupPlan,
)

# (the field's value, the cluster) -> the TaskGroups in their order. Raises RefusedAction.
Plan = Callable[[Mapping[str, Any], ClusterFacts], tuple[GroupPlan, ...]]
# (the field's value, its path) -> what is wrong with it, whatever the cluster.
Validate = Callable[[Mapping[str, Any], str], list[FieldError]]

PLANNERS: Mapping[str, tuple[Validate, Plan]] = {
    "changeConfiguration": (change_configuration.validate, change_configuration.plan),
    "custom": (custom.validate, custom.plan),
    "renewCertificates": (renew_certificates.validate, renew_certificates.plan),
    "rotateCertificateAuthorities": (rotate_certificate_authorities.validate, rotate_certificate_authorities.plan),
    "upgrade": (upgrade.validate, upgrade.plan),
}
