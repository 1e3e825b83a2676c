#!/usr/bin/python
# -*- coding: utf-8 -*-

# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: nspawn_host
short_description: Prepare this host for local machines, or remove all their remains
version_added: 0.1.0
author:
  - kubeadm.control_plane contributors (@kubeadm-control-plane)
description:
  - With O(state=present) installs the Debian packages that local machines need and that are missing. A service that such a package would start (haproxy) is
    masked before it is installed.
  - Installing systemd-container brings systemd itself to the version of the same release, if it is older.
  - With O(state=absent) removes all machines, endpoints, the bridge and the folder, also after crashes. The image cache and the packages stay.
options:
  state:
    description: Whether this host is ready for machines, or free of them.
    type: str
    choices: [present, absent]
    default: present
  build_tools:
    description: Whether to install what building Kubernetes from Debian's source package needs too (Go, a C compiler and the like).
    type: bool
    default: false
extends_documentation_fragment:
  - kubeadm.control_plane._nspawn
  - kubeadm.control_plane._nspawn.cache
  - kubeadm.control_plane._attributes
attributes:
  check_mode:
    support: full
  diff_mode:
    support: none
  idempotent:
    support: full
"""

EXAMPLES = r"""
- name: Prepare this host
  kubeadm.control_plane.nspawn_host:

- name: Remove every trace of machines
  kubeadm.control_plane.nspawn_host:
    state: absent
"""

RETURN = r"""
packages:
  description: The packages that were missing.
  returned: O(state=present)
  type: list
  elements: str
removed:
  description: What was there, by kind.
  returned: O(state=absent)
  type: dict
  contains:
    machines:
      description: Names of machines.
      type: list
      elements: str
    endpoints:
      description: Endpoints, by namespace and cluster.
      type: list
      elements: str
    bridges:
      description: Names of bridges.
      type: list
      elements: str
"""

import os
import typing as t

from ..module_utils.node.module import NodeModule
from ..module_utils.nspawn import clean, host
from ..module_utils.nspawn.arguments import CACHE_ARGUMENTS, DIRECTORY_ARGUMENTS, cache_of, layout_of
from ..module_utils.nspawn.errors import NspawnError
from ..module_utils.nspawn.image import kubernetes_source
from ..module_utils.nspawn.programs import Progress


def execute(params: t.Mapping[str, t.Any], check_mode: bool) -> dict[str, t.Any]:
    """Prepare or clean the host; return the module's result."""
    host.require_root()
    layout = layout_of(params)
    if params["state"] == "absent":
        removed = clean.present(layout) if check_mode else clean.everything(layout)
        return {"changed": any(removed.values()), "removed": removed}
    wanted = [*host.MACHINE_PACKAGES, *(kubernetes_source.BUILD_PACKAGES if params["build_tools"] else ())]
    if check_mode:
        missing = host.missing_packages(wanted)
    else:
        missing = host.ensure_packages(wanted, Progress(os.path.join(cache_of(params).logs, "packages.log")))
    return {"changed": bool(missing), "packages": missing}


def main() -> None:
    """Run the module."""
    arguments = {
        "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
        "build_tools": {"type": "bool", "default": False},
    }
    module = NodeModule(argument_spec={**DIRECTORY_ARGUMENTS, **CACHE_ARGUMENTS, **arguments})
    os.umask(0o022)
    with module.failing(NspawnError, OSError):
        module.exit_json(**execute(module.params, module.check_mode))


if __name__ == "__main__":
    main()
