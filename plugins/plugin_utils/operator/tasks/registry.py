# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Registry of the functions that run commands, by the command's name.

Each kind of Action has a REGISTRY of its own, in ``run.py`` of its folder.
"""

from __future__ import annotations

from .. import kinds
from .context import Run

REGISTRY: dict[str, Run] = {name: run for module in kinds.modules("run") for name, run in module.REGISTRY.items()}
