# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Python's bytecode of the collection is kept between runs.

Ansible's loader of collections compiles each file in each run, which a run with nothing to do spent a sixth of its time on (docs/measured.md). Below
this package and ``module_utils`` Python's own loader is asked first: it keeps ``__pycache__`` beside the files, as for any other package.
"""

from __future__ import annotations

import os
import sys
import typing as t
from importlib.machinery import FileFinder, ModuleSpec, SourceFileLoader

_BELOW = (f"{__name__}.", f"{__name__.rpartition('.')[0]}.module_utils.")


class _Loader(SourceFileLoader):
    def set_data(self, path: str, data: t.Any, *, _mode: int = 0o666) -> None:
        # In another user's folder it would be in the way of that user's next installation.
        if os.stat(os.path.dirname(self.path)).st_uid == os.geteuid():
            super().set_data(path, data, _mode=_mode)


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


# By its name, as what is here works without Ansible, too, where Python's own loader is the only one.
for _place, _each in enumerate(sys.meta_path):
    if type(_each).__name__ == "_AnsibleCollectionFinder":
        sys.meta_path.insert(_place, _Finder)
        break
