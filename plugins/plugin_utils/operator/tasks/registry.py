# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Registry of the functions that run commands, by the command's name.

Each family of commands has one file with a REGISTRY of its own.
"""

from __future__ import annotations

from ..change_configuration import run
from ..custom import run as custom
from ..renew_certificates import run as certificates
from ..rotate_certificate_authorities import run as rotation
from ..upgrade import run as upgrade
from .context import Run

REGISTRY: dict[str, Run] = {
    **custom.REGISTRY,
    **upgrade.REGISTRY,
    **certificates.REGISTRY,
    **rotation.REGISTRY,
    **run.REGISTRY,
}
