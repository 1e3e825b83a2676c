# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A file store that keeps what is explained of its objects, as a Kubernetes API keeps Events."""

from __future__ import annotations

from typing import Any

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.file.store import FileStore


class ExplainedStore(FileStore):
    """`told` is what was explained: kind and name of the object, whether it is a warning, reason and message."""

    def __init__(self, directory: str) -> None:
        super().__init__(directory)
        self.told: list[tuple[str, str, bool, str, str]] = []

    def record(self, obj: dict[str, Any], reason: str, message: str, warning: bool = False) -> None:
        """Keep it."""
        self.told.append((obj["kind"], obj["metadata"]["name"], warning, reason, message))

    def reasons(self) -> list[str]:
        """The reasons alone."""
        return [each[3] for each in self.told]
