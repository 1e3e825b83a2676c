# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter to_kubeadm."""

from __future__ import annotations

DOCUMENTATION = r"""
name: to_kubeadm
short_description: Write kubeadm's configuration for a Kubernetes version
version_added: 0.2.0
author: kubeadm.control_plane contributors (@kubeadm-control-plane)
description:
  - Writes the documents that kubeadm of a Kubernetes version reads, from one form for all versions or from documents of any API version.
  - Nothing is lost silently. A value that the API version can't hold is an error that names its path, the version and the alternative.
    Where kubeadm has a command-line flag that does the same, the flag is returned with O(output=details).
  - kubeadm's own rules are applied before anything touches a machine; everything that is wrong is reported at once.
positional: _input, kubernetes_version
options:
  _input:
    description:
      - What P(kubeadm.control_plane.from_kubeadm#filter) takes and what it returns. YAML text, documents, or a mapping with C(initConfiguration),
        C(clusterConfiguration), C(joinConfiguration) and the like, as in C(kubeadmConfigSpec) of a C(KubeadmControlPlane).
    type: raw
    required: true
  kubernetes_version:
    description: The version of kubeadm that will read the result, which is the Kubernetes version of the machine.
    type: str
    required: true
  command:
    description:
      - The kubeadm command that will read the result. V(init) takes C(initConfiguration), C(clusterConfiguration), C(kubeletConfiguration) and
        C(kubeProxyConfiguration), the others take the configuration of their name.
      - Needed only where the input has the parts of more than one command. Without it everything is written.
    type: str
    choices: [init, join, reset, upgrade]
  api_version:
    description:
      - The API version to write, for example V(v1beta1), where it isn't to be the one that kubeadm of O(kubernetes_version) writes itself.
      - kubeadm of that version has to read it.
    type: str
  allowed_losses:
    description:
      - Paths of values that may be left out where the API version has no place for them, for example
        V(clusterConfiguration.apiServer.extraEnvs). Whatever is below a path is included.
      - Each value that is left out is a warning.
    type: list
    elements: str
    default: []
  validate:
    description: Whether kubeadm's own rules are applied to what is written.
    type: bool
    default: true
  output:
    description:
      - V(text) returns the documents as one YAML text, V(documents) as a list.
      - V(details) returns a mapping with C(text), C(documents), C(flags), C(api_version) and C(warnings).
      - Where flags are needed, only V(details) can carry them; the others end with an error that names the flags.
    type: str
    choices: [text, documents, details]
    default: text
notes:
  - The result holds bootstrap tokens and certificate keys where the input does. Write it with mode V(0600), and set C(no_log).
seealso:
  - plugin: kubeadm.control_plane.from_kubeadm
    plugin_type: filter
  - plugin: kubeadm.control_plane.kubeadm_api_version
    plugin_type: filter
"""

EXAMPLES = r"""
- name: One configuration, written for two versions
  ansible.builtin.assert:
    that:
      - >-
        (config | kubeadm.control_plane.to_kubeadm('v1.30.4') | from_yaml).apiServer
        == {'extraArgs': {'audit-log-maxage': '30'}}
      - >-
        (config | kubeadm.control_plane.to_kubeadm('v1.31.0') | from_yaml).apiServer
        == {'extraArgs': [{'name': 'audit-log-maxage', 'value': '30'}]}
  vars:
    config:
      clusterConfiguration:
        apiServer:
          extraArgs:
            - name: audit-log-maxage
              value: "30"

- name: What older kubeadm takes on its command line
  ansible.builtin.set_fact:
    for_init: "{{ config | kubeadm.control_plane.to_kubeadm('v1.20.2', output='details') }}"
  vars:
    config:
      initConfiguration:
        nodeRegistration:
          taints: []
        skipPhases:
          - addon/kube-proxy

- name: The flags belong to the command
  ansible.builtin.assert:
    that:
      - for_init.api_version == 'kubeadm.k8s.io/v1beta2'
      - for_init.flags.init == ['--skip-phases=addon/kube-proxy']

- name: Bring old documents to today's API version
  ansible.builtin.assert:
    that:
      - new.nodeRegistration.kubeletExtraArgs[0].name == 'v'
      - new.nodeRegistration.kubeletExtraArgs[0].value == '4'
  vars:
    new: "{{ old | kubeadm.control_plane.to_kubeadm('v1.31.0') | from_yaml }}"
    old: |
      apiVersion: kubeadm.k8s.io/v1beta3
      kind: InitConfiguration
      nodeRegistration:
        kubeletExtraArgs:
          v: "4"
"""

RETURN = r"""
_value:
  description: The text, the list of documents, or the mapping described for O(output).
  type: raw
"""

import typing as t

from ansible.errors import AnsibleFilterError

from ..module_utils.common import kubernetes_versions
from ..plugin_utils.filters import kubeadm
from ..plugin_utils.kubeadm.configuration import for_version, kinds

NAME = "to_kubeadm"
OUTPUTS = ("text", "documents", "details")


def to_kubeadm(
    value: t.Any,
    kubernetes_version: t.Any,
    command: t.Optional[str] = None,
    api_version: t.Optional[str] = None,
    allowed_losses: t.Optional[t.Sequence[str]] = None,
    validate: bool = True,
    output: str = "text",
) -> t.Any:
    """Return kubeadm's configuration for a Kubernetes version; see DOCUMENTATION."""
    if command is not None and command not in kinds.COMMANDS:
        raise AnsibleFilterError(f"command is one of {', '.join(kinds.COMMANDS)}, not {command!r}.")
    if output not in OUTPUTS:
        raise AnsibleFilterError(f"output is one of {', '.join(OUTPUTS)}, not {output!r}.")
    if not isinstance(validate, bool):
        raise AnsibleFilterError(f"validate is true or false, not {validate!r}.")
    losses = kubeadm.plain(allowed_losses or [])
    if not isinstance(losses, list) or not all(isinstance(path, str) for path in losses):
        raise AnsibleFilterError("allowed_losses is a list of field paths.")
    version = kubeadm.version(kubernetes_version)
    with kubeadm.explained():
        written = for_version.convert(kubeadm.plain(value), version, _number(api_version), command, losses, validate)
    kubeadm.warn(NAME, written.warnings)
    if output == "details":
        with kubeadm.explained():
            return {
                "text": written.text,
                "documents": list(written.documents),
                "flags": {key: list(flags) for key, flags in written.flags.items()},
                "api_version": written.api_version,
                "warnings": list(written.warnings),
            }
    if written.flags:
        lines = "; ".join(f"kubeadm {key} {' '.join(flags)}" for key, flags in written.flags.items())
        raise AnsibleFilterError(
            f"{written.api_version} has no field for everything; the rest are flags of the command line: {lines}. "
            "Use output='details', which returns the flags too, and give them to the command."
        )
    with kubeadm.explained():
        return list(written.documents) if output == "documents" else written.text


def _number(api_version: t.Any) -> t.Optional[int]:
    if api_version is None:
        return None
    number = kinds.api_number(api_version) if isinstance(api_version, str) else None
    if number is None:
        known = ", ".join(each.api_version for each in kubernetes_versions.APIS)
        raise AnsibleFilterError(f"api_version is one of {known}, not {str(api_version)[:80]!r}.")
    return number


class FilterModule:
    """Filter plugin with the filter to_kubeadm."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """Return the filters by name."""
        return {NAME: to_kubeadm}
