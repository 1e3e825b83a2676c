# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter kubeadm_api_version."""

from __future__ import annotations

DOCUMENTATION = r"""
name: kubeadm_api_version
short_description: Return the kubeadm API version that fits a Kubernetes version
version_added: 0.2.0
author: kubeadm.control_plane contributors (@kubeadm-control-plane)
description:
  - Says in which API version kubeadm of a Kubernetes version writes its configuration, for example C(kubeadm.k8s.io/v1beta3) for 1.22 to 1.30.
  - Pre-releases count as their minor. For a Kubernetes version newer than this collection knows it is the newest API version, with a warning.
positional: _input
options:
  _input:
    description: A Kubernetes version with all three numbers, with or without C(v).
    type: str
    required: true
seealso:
  - plugin: kubeadm.control_plane.to_kubeadm
    plugin_type: filter
"""

EXAMPLES = r"""
- name: The API version for a Kubernetes version
  ansible.builtin.assert:
    that:
      - "'v1.21.14' | kubeadm.control_plane.kubeadm_api_version == 'kubeadm.k8s.io/v1beta2'"
      - "'v1.31.0-rc.1' | kubeadm.control_plane.kubeadm_api_version == 'kubeadm.k8s.io/v1beta4'"
"""

RETURN = r"""
_value:
  description: The C(apiVersion) of kubeadm's documents.
  type: str
"""

import typing as t

from ..module_utils.common import kubernetes_versions
from ..module_utils.common.violations import ManifestError, Violation
from ..plugin_utils.filters import kubeadm

NAME = "kubeadm_api_version"


def kubeadm_api_version(value: t.Any) -> str:
    """Return the kubeadm API version of a Kubernetes version; see DOCUMENTATION."""
    text = kubeadm.version(value)
    with kubeadm.explained():
        try:
            choice = kubernetes_versions.api_version_for(text)
        except ValueError as error:
            fix = "Write all three numbers."
            raise ManifestError([Violation("Kubernetes version", "", None, str(error), fix)]) from None
    if not choice.known:
        kubeadm.warn(NAME, [f"Kubernetes {text} is newer than this collection knows; {choice.api_version}"])
    return choice.api_version


class FilterModule:
    """Filter plugin with the filter kubeadm_api_version."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """Return the filters by name."""
        return {NAME: kubeadm_api_version}
