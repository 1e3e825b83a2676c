# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Imports all of plugins/module_utils and compiles all of plugins/modules with the Python that runs this.

The interpreter is a bare one, without PyYAML or cryptography, like a node's: what nodes run must need nothing else.
Usage: import_node_code.py ROOT, with the parent of ROOT's ansible_collections in PYTHONPATH.
"""

from __future__ import annotations

import importlib
import sys
import traceback
from pathlib import Path


def main(root: Path) -> int:
    problems = 0
    files = sorted((root / "plugins" / "module_utils").rglob("*.py"))
    for file in files:
        parts = file.relative_to(root).with_suffix("").parts
        name = ".".join(("ansible_collections", "kubeadm", "control_plane", *parts))
        try:
            importlib.import_module(name[: -len(".__init__")] if name.endswith(".__init__") else name)
        except ModuleNotFoundError as error:
            # ansible-core's own part travels with every module; a bare interpreter doesn't have it.
            if error.name is None or error.name.split(".")[0] != "ansible":
                problems += 1
                traceback.print_exc()
        except Exception:
            problems += 1
            traceback.print_exc()
    for file in sorted((root / "plugins" / "modules").glob("*.py")):
        files.append(file)
        try:
            compile(file.read_text(encoding="utf-8"), str(file), "exec")
        except SyntaxError:
            problems += 1
            traceback.print_exc()
    print(f"{len(files)} files, {problems} problems, Python {sys.version.split()[0]}")
    return 1 if problems or not files else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
