# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter to_cluster_api."""

from __future__ import annotations

DOCUMENTATION = r"""
name: to_cluster_api
short_description: Write Cluster API objects in another version
version_added: 0.2.0
author: kubeadm.control_plane contributors (@kubeadm-control-plane)
description:
  - Converts objects of Cluster API, in whatever version they are, to C(v1alpha3), C(v1alpha4), C(v1beta1) or C(v1beta2).
  - Nothing is lost silently. What the version has no place for is an error that names each path, or is kept in an annotation as Cluster API
    itself does, see O(on_loss).
  - Fields that only this collection has, such as C(kubeletConfiguration), are written and named in a warning, since Cluster API would drop them.
positional: _input, version
options:
  _input:
    description: What P(kubeadm.control_plane.from_cluster_api#filter) takes, and what it returns.
    type: raw
    required: true
  version:
    description: The Cluster API version to write.
    type: str
    required: true
    choices: [v1alpha3, v1alpha4, v1beta1, v1beta2]
  on_loss:
    description:
      - What is done where the version has no place for something.
      - V(fail) ends with an error that names every path.
      - V(keep) writes the whole newer object but for its metadata to the annotation C(cluster.x-k8s.io/conversion-data), from which this
        collection and Cluster API take it when the object is converted back.
    type: str
    choices: [fail, keep]
    default: fail
  infrastructure_version:
    description:
      - The API version of infrastructure kinds. It is written in references, which have one before C(v1beta2), and to this collection's own
        infrastructure objects. Those of other providers stay as they are.
    type: str
    default: v1beta1
  output:
    description: V(text) returns one YAML text, V(objects) a list.
    type: str
    choices: [text, objects]
    default: text
notes:
  - The result holds Secrets, tokens and file contents where the input does, and with O(on_loss=keep) a second time in the annotation. Write it
    with mode V(0600), and set C(no_log).
seealso:
  - plugin: kubeadm.control_plane.from_cluster_api
    plugin_type: filter
"""

EXAMPLES = r"""
- name: A control plane as Cluster API v1beta1 has it
  ansible.builtin.assert:
    that:
      - older.apiVersion == 'controlplane.cluster.x-k8s.io/v1beta1'
      - older.spec.rolloutAfter == '2026-01-31T10:00:00Z'
      - older.spec.machineTemplate.nodeDrainTimeout == '10m0s'
  vars:
    older: "{{ control_plane | kubeadm.control_plane.to_cluster_api('v1beta1') | from_yaml }}"
    control_plane: &control_plane
      apiVersion: controlplane.cluster.x-k8s.io/v1beta2
      kind: KubeadmControlPlane
      metadata:
        name: prod
      spec:
        replicas: 3
        version: v1.31.4
        rollout:
          after: "2026-01-31T10:00:00Z"
          before:
            certificatesExpiryDays: 21
        machineTemplate:
          spec:
            infrastructureRef:
              apiGroup: infrastructure.cluster.x-k8s.io
              kind: NspawnMachineTemplate
              name: prod
            deletion:
              nodeDrainTimeoutSeconds: 600

- name: What v1alpha4 has no place for is kept, and comes back
  ansible.builtin.assert:
    that:
      - older[0].spec.rolloutBefore is not defined
      - (older | kubeadm.control_plane.from_cluster_api)[0].spec.rollout.before.certificatesExpiryDays == 21
  vars:
    older: "{{ control_plane | kubeadm.control_plane.to_cluster_api('v1alpha4', on_loss='keep', output='objects') }}"
    control_plane: *control_plane
"""

RETURN = r"""
_value:
  description: The objects in the version asked for, in the order of the input, as text or as a list.
  type: raw
"""

import re
import typing as t

from ansible.errors import AnsibleFilterError

from ..module_utils.common.violations import ManifestError
from ..plugin_utils.filters import cluster_api, kubeadm
from ..plugin_utils.kubeadm.configuration.yaml_documents import documents_text
from ..plugin_utils.objects import kinds
from ..plugin_utils.objects.convert import whole_objects

NAME = "to_cluster_api"
_CHOICES = {"on_loss": ("fail", "keep"), "output": ("text", "objects"), "version": kinds.MANIFEST_VERSIONS}


def to_cluster_api(
    value: t.Any,
    version: t.Any,
    on_loss: t.Any = "fail",
    infrastructure_version: t.Any = whole_objects.DEFAULT_INFRASTRUCTURE_VERSION,
    output: t.Any = "text",
) -> t.Any:
    """Return Cluster API objects in another version; see DOCUMENTATION."""
    for name, given in (("version", version), ("on_loss", on_loss), ("output", output)):
        if not isinstance(given, str) or given not in _CHOICES[name]:
            raise AnsibleFilterError(f"{name} is one of {', '.join(_CHOICES[name])}, not {str(given)[:80]!r}.")
    if not isinstance(infrastructure_version, str) or not re.fullmatch(
        r"v[0-9]+((alpha|beta)[0-9]+)?", infrastructure_version
    ):
        shown = str(infrastructure_version)[:80]
        raise AnsibleFilterError(f"infrastructure_version is an API version like v1beta1, not {shown!r}.")
    with kubeadm.explained():
        hubs = cluster_api.hub_objects(NAME, value)
        converted = [
            whole_objects.from_hub(hub, str(version), str(infrastructure_version), keep=on_loss == "keep")
            for hub in hubs
        ]
        losses = [loss for each in converted for loss in each.losses]
        if losses and on_loss == "fail":
            raise ManifestError(losses)
        kubeadm.warn(
            NAME,
            [
                f"{kinds.label_of(each.object)}: {path} is this collection's own; Cluster API {version} does not have it."
                for each in converted
                for path in each.extensions
            ],
        )
        objects = [each.object for each in converted]
        return documents_text(objects) if output == "text" else objects


class FilterModule:
    """Filter plugin with the filter to_cluster_api."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """Return the filters by name."""
        return {NAME: to_cluster_api}
