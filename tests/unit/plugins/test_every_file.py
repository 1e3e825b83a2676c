# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every file of the collection is imported with each ansible-core, as `sanity.sh --once` leaves to this what it asks of one alone."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PLUGINS = Path(__file__).resolve().parents[3] / "plugins"
COLLECTION = "ansible_collections.kubeadm.control_plane"
# As ansible-test does: what is imported says nothing.
PROGRAM = "import importlib, sys; import ansible.cli\nfor name in sys.argv[1:]: importlib.import_module(name)"


def test_each_file_is_imported() -> None:
    files = [each for each in sorted(PLUGINS.rglob("*.py")) if each.name != "__init__.py"]
    assert {each.parts[len(PLUGINS.parts)] for each in files} >= {
        "action",
        "callback",
        "filter",
        "inventory",
        "modules",
    }
    names = [".".join((COLLECTION, "plugins", *each.relative_to(PLUGINS).with_suffix("").parts)) for each in files]
    ran = subprocess.run([sys.executable, "-c", PROGRAM, *names], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")
