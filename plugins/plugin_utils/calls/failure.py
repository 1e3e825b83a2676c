# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Failure of an action, with a message for the user."""

from __future__ import annotations

import typing as t


class ControlPlaneFailure(Exception):
    """Failure of an action, with a message and optionally more result keys.

    The result keys are optional.
    """

    def __init__(self, message: str, **result: t.Any) -> None:
        super().__init__(message)
        self.result = result
