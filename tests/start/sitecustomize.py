# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Bytecode of collections is kept between the tests' processes, as Python keeps that of every other module.

Python runs this at its start wherever this folder is in PYTHONPATH (tests/tools/lib.sh). Ansible's loader of collections compiles
each file in each ``ansible-playbook``, a fifth of a run with nothing to do; the tests start a thousand of them.
"""

from __future__ import annotations

import importlib.util
import sys
from importlib.machinery import SourceFileLoader

# At run time not imported: every Python that the tests start reads this file, and typing is half of what it would load.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec
    from types import CodeType, ModuleType
    from typing import Any, Optional

LOADERS = "ansible.utils.collection_loader._collection_finder"


def keep_bytecode(base: Any) -> None:
    """Have Ansible's loaders take a file's bytecode from where Python keeps it; ``base`` is their base class."""
    compiled_here = base.get_code

    def get_code(self: Any, fullname: str) -> Optional[CodeType]:
        # Packages without a file of their own have no path.
        if not self._compiled_code and self._source_code_path:
            self._compiled_code = SourceFileLoader(fullname, self._source_code_path).get_code(fullname)
        return compiled_here(self, fullname)

    base.get_code = get_code


class WhenLoaded:
    """A finder that changes Ansible's loaders once they are imported, and costs a process without Ansible nothing."""

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> Optional[ModuleSpec]:
        """Return the spec of Ansible's module of loaders, which changes them when it has run; of others None."""
        if fullname != LOADERS:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(fullname)
        if spec is None or spec.loader is None:
            return spec
        execute = spec.loader.exec_module

        def exec_module(module: ModuleType) -> None:
            execute(module)
            keep_bytecode(module._AnsibleCollectionPkgLoaderBase)

        spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


sys.meta_path.insert(0, WhenLoaded())
