# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Closing what the journal shows as under way."""

from __future__ import annotations

from ansible_collections.kubeadm.control_plane.plugins.module_utils.store.journal import Journal


def close_intents(journal: Journal, result: str, message: str) -> None:
    """Record the outcome of every step that is open; a pass has at most one, a killed run's is closed by the next."""
    for entry in journal.open_intents():
        journal.outcome(str(entry["id"]), result, message)
