# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Display of texts on the controller's terminal.

It is the only place that has Ansible's Display.
"""

from __future__ import annotations

from ansible.utils.display import Display

from ...module_utils.common.legible import visible


class Screen:
    """Ansible's Display for texts from hosts, manifests and Actions."""

    def display(self, text: str) -> None:
        """Show lines."""
        Display().display(visible(text))

    def warning(self, text: str) -> None:
        """Show a warning."""
        Display().warning(visible(text))
