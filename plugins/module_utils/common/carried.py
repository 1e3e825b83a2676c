# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Copies of this collection's code for systemd units that outlive their module.

Ansible deletes a module's code when the module ends. A task that must continue by itself, and is more than a shell
script can do safely, gets a copy of the sources that its module has loaded.
"""

from __future__ import annotations

import inspect
import os
import shutil
import sys

from . import guard

_ROOT = "ansible_collections.kubeadm.control_plane.plugins.module_utils"
_START = """\
import os
import sys

output = os.open({output!r}, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
os.dup2(output, 1)
os.dup2(output, 2)
sys.dont_write_bytecode = True
sys.path.insert(0, {library!r})
from {module} import {function}

{function}({arguments})
"""


def carry(directory: str, module: str, function: str, *arguments: str) -> str:
    """Write this collection's loaded sources and a program that calls one function.

    Returns the program's path.

    Args:
        directory: a folder for this alone; what is in it is replaced. Readable for its owner alone.
        module: the module below module_utils that holds the function, "etcd.restore.single_voter".
        function: its name; it is called with ``arguments``. Its output goes to ``directory/output``.

    Raises:
        NodeError: a source can't be read.
    """
    shutil.rmtree(directory, ignore_errors=True)
    library = os.path.join(directory, "lib")
    os.makedirs(library, mode=0o700)
    for name, loaded in sorted(sys.modules.items()):
        if name != _ROOT and not name.startswith(_ROOT + "."):
            continue
        if getattr(loaded, "__file__", None) is None:
            continue
        try:
            text = inspect.getsource(loaded)
        except OSError as error:
            # An empty __init__.py has no source to tell.
            if hasattr(loaded, "__path__"):
                text = ""
            else:
                raise guard.NodeError(
                    f"the source of {name} can't be read: {error}.", "Install the collection again."
                ) from error
        parts = name.split(".")
        path = os.path.join(library, *parts, "__init__.py") if hasattr(loaded, "__path__") else ""
        path = path or os.path.join(library, *parts[:-1], f"{parts[-1]}.py")
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        guard.write_atomically(path, text.encode(), 0o600)
    program = os.path.join(directory, "run.py")
    text = _START.format(
        output=os.path.join(directory, "output"),
        library=library,
        module=f"{_ROOT}.{module}",
        function=function,
        arguments=", ".join(repr(each) for each in arguments),
    )
    guard.write_atomically(program, text.encode(), 0o600)
    return program
