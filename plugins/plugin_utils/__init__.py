# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Bytecode of what runs on the controller is kept between runs.

Ansible's loader of collections compiles each file in each run (docs/measured.md). Below this package and ``module_utils`` Python's own loader is
asked first. It keeps bytecode in Ansible's home folder, not in the collection: ``ansible-galaxy collection verify`` refuses what was not installed.
"""

from __future__ import annotations

import os
import sys
import typing as t
from importlib.machinery import FileFinder, ModuleSpec, SourceFileLoader
from types import CodeType

_BELOW = (f"{__name__}.", f"{__name__.rpartition('.')[0]}.module_utils.")


class _Loader(SourceFileLoader):
    folder = ""

    def get_code(self, fullname: str) -> CodeType | None:
        before = sys.pycache_prefix
        sys.pycache_prefix = before or self.folder
        try:
            return super().get_code(fullname)
        finally:
            sys.pycache_prefix = before


class _Finder:
    _folders: dict[str, FileFinder] = {}

    @classmethod
    def find_spec(cls, name: str, path: t.Sequence[str] | None, target: t.Any = None) -> ModuleSpec | None:
        if not name.startswith(_BELOW) or path is None or len(path) != 1:
            return None
        (folder,) = path
        if folder not in cls._folders:
            cls._folders[folder] = FileFinder(folder, (_Loader, [".py"]))
        return cls._folders[folder].find_spec(name, target)


# Both by their names, as what is here works without Ansible, too, where Python's own loader is the only one.
_home = getattr(sys.modules.get("ansible.constants"), "ANSIBLE_HOME", None)
for _place, _each in enumerate(sys.meta_path):
    if _home and type(_each).__name__ == "_AnsibleCollectionFinder":
        _Loader.folder = os.path.join(_home, "kubeadm.control_plane", "pycache")
        sys.meta_path.insert(_place, _Finder)
        break
