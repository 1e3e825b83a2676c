# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Planners of Actions, by the field of the spec that requests them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Callable

from ..objects.actions import FieldError
from .change_configuration import plan
from .custom import plan as custom
from .planner import ClusterFacts, GroupPlan
from .renew_certificates import plan as renew_certificates
from .rotate_certificate_authorities import plan as rotate_certificate_authorities
from .upgrade import plan as upgrade

# (the field's value, the cluster) -> the TaskGroups in their order. Raises RefusedAction.
Plan = Callable[[Mapping[str, Any], ClusterFacts], tuple[GroupPlan, ...]]
# (the field's value, its path) -> what is wrong with it, whatever the cluster.
Validate = Callable[[Mapping[str, Any], str], list[FieldError]]

PLANNERS: Mapping[str, tuple[Validate, Plan]] = {
    "changeConfiguration": (plan.validate, plan.plan),
    "custom": (custom.validate, custom.plan),
    "renewCertificates": (renew_certificates.validate, renew_certificates.plan),
    "rotateCertificateAuthorities": (rotate_certificate_authorities.validate, rotate_certificate_authorities.plan),
    "upgrade": (upgrade.validate, upgrade.plan),
}
