# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter from_kubeadm."""

from __future__ import annotations

DOCUMENTATION = r"""
name: from_kubeadm
short_description: Read kubeadm's configuration of any API version
version_added: 0.2.0
author: kubeadm.control_plane contributors (@kubeadm-control-plane)
description:
  - Reads documents of kubeadm's in C(v1beta1) to C(v1beta4) and returns one form for all of them, that of a C(KubeadmConfigSpec) of Cluster API
    C(v1beta2), with arguments as lists and durations in seconds or days.
  - Everything that is wrong is reported at once, with its path and its line.
  - Fields that the document's API version doesn't have are kept below C(unconverted) of the structure they came from, with a warning.
    P(kubeadm.control_plane.to_kubeadm#filter) writes them back into the same API version and refuses to lose them in another.
positional: _input
options:
  _input:
    description:
      - YAML text of at most 1 MiB, a list of documents, or one document.
      - A mapping that is in the returned form already, or a C(KubeadmConfigSpec) of an older Cluster API, is understood too.
    type: raw
    required: true
notes:
  - Bootstrap tokens and certificate keys are returned as they are. Set C(no_log) on tasks that hold them.
seealso:
  - plugin: kubeadm.control_plane.to_kubeadm
    plugin_type: filter
"""

EXAMPLES = r"""
- name: Read the cluster's stored configuration, whatever version kubeadm wrote it in
  ansible.builtin.set_fact:
    stored: "{{ text | kubeadm.control_plane.from_kubeadm }}"
  vars:
    # As kubectl prints it: -n kube-system get configmap kubeadm-config -o jsonpath='{.data.ClusterConfiguration}'
    text: |
      apiVersion: kubeadm.k8s.io/v1beta2
      kind: ClusterConfiguration
      kubernetesVersion: v1.20.2
      apiServer:
        extraArgs:
          audit-log-maxage: "30"
        timeoutForControlPlane: 4m0s

- name: Use it
  ansible.builtin.assert:
    that:
      - stored.clusterConfiguration.kubernetesVersion == 'v1.20.2'
      - stored.clusterConfiguration.apiServer.extraArgs[0].name == 'audit-log-maxage'
      - stored.initConfiguration.timeouts.controlPlaneComponentHealthCheckSeconds == 240
"""

RETURN = r"""
_value:
  description:
    - C(initConfiguration), C(clusterConfiguration), C(clusterStatus), C(joinConfiguration), C(resetConfiguration),
      C(upgradeConfiguration), each where the input has it.
    - C(kubeletConfiguration) and C(kubeProxyConfiguration) are the documents as they were.
  type: dict
"""

import typing as t

from ..plugin_utils.filters import kubeadm
from ..plugin_utils.kubeadm.configuration import any_form

NAME = "from_kubeadm"


def from_kubeadm(value: t.Any) -> dict[str, t.Any]:
    """Return kubeadm's configuration of any version in hub form; see DOCUMENTATION."""
    source = kubeadm.plain(value)
    with kubeadm.explained():
        found = any_form.read(source)
    kubeadm.warn(NAME, found.warnings)
    return found.hub


class FilterModule:
    """Filter plugin with the filter from_kubeadm."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """Return the filters by name."""
        return {NAME: from_kubeadm}
