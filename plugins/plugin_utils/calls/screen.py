# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Display of texts on the controller's terminal.

It is the only place that has Ansible's Display.
"""

from __future__ import annotations

import typing as t

from ansible.utils.display import Display

from ...module_utils.common.legible import visible
from ..progress import channel


class Screen:
    """Ansible's Display for texts from hosts, manifests and Actions.

    Args:
        host: the inventory's name of the task's cluster, for the callback ``progress``.
    """

    def __init__(self, host: str = "") -> None:
        self._host = host

    def display(self, text: str) -> None:
        """Show lines."""
        if not self.send("text", text=text):
            Display().display(visible(text))

    def send(self, event: str, /, **fields: t.Any) -> bool:
        """Send an event to the callback ``progress``; False without it."""
        return channel.send(event, {"host": self._host, **fields})

    def warning(self, text: str) -> None:
        """Show a warning."""
        Display().warning(visible(text))

    def error(self, text: str) -> None:
        """Show an error, once and in one piece."""
        Display().error(visible(text), wrap_text=False)
