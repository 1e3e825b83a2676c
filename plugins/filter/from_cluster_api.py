# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter from_cluster_api."""

from __future__ import annotations

DOCUMENTATION = r"""
name: from_cluster_api
short_description: Read Cluster API objects of any version
version_added: 0.2.0
author: kubeadm.control_plane contributors (@kubeadm-control-plane)
description:
  - Converts objects of Cluster API C(v1alpha3), C(v1alpha4), C(v1beta1) and C(v1beta2) to the form this collection keeps, which is
    C(v1beta2). Metadata and status are converted with them.
  - What the annotation C(cluster.x-k8s.io/conversion-data) keeps of a newer version is put back where the older object has not been changed since.
  - Nothing is defaulted. Everything that is wrong is reported at once, with its path and, for text, its line.
positional: _input
options:
  _input:
    description:
      - YAML text of at most 10 MB, a list of objects, or one object.
      - Kinds are C(Cluster), C(KubeadmControlPlane), C(Machine), C(KubeadmConfig), C(MachineHealthCheck), C(Secret), and any kind of the group
        C(infrastructure.cluster.x-k8s.io). Infrastructure objects of other providers come back as they are.
    type: raw
    required: true
notes:
  - The objects hold Secrets, tokens and file contents as they are. Set C(no_log) on tasks that hold them.
seealso:
  - plugin: kubeadm.control_plane.to_cluster_api
    plugin_type: filter
"""

EXAMPLES = r"""
- name: Read a manifest whatever version it is in
  ansible.builtin.set_fact:
    objects: "{{ text | kubeadm.control_plane.from_cluster_api }}"
  vars:
    text: |
      apiVersion: controlplane.cluster.x-k8s.io/v1alpha3
      kind: KubeadmControlPlane
      metadata:
        name: prod
      spec:
        replicas: 3
        version: v1.20.2
        upgradeAfter: "2026-01-31T10:00:00Z"
        infrastructureTemplate:
          apiVersion: infrastructure.cluster.x-k8s.io/v1alpha3
          kind: NspawnMachineTemplate
          name: prod

- name: Use it
  ansible.builtin.assert:
    that:
      - objects[0].apiVersion == 'controlplane.cluster.x-k8s.io/v1beta2'
      - objects[0].spec.rollout.after == '2026-01-31T10:00:00Z'
      - objects[0].spec.machineTemplate.spec.infrastructureRef.kind == 'NspawnMachineTemplate'
"""

RETURN = r"""
_value:
  description: The objects in C(v1beta2) form, in the order of the input.
  type: list
  elements: dict
"""

import typing as t

from ..plugin_utils.filters import cluster_api, kubeadm

NAME = "from_cluster_api"


def from_cluster_api(value: t.Any) -> list[dict[str, t.Any]]:
    """Return Cluster API objects of any version in hub form; see DOCUMENTATION."""
    with kubeadm.explained():
        return cluster_api.hub_objects(NAME, value)


class FilterModule:
    """Filter plugin with the filter from_cluster_api."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """Return the filters by name."""
        return {NAME: from_cluster_api}
