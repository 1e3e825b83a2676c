# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Progress display while the module nspawn_image runs."""

from __future__ import annotations

from ..plugin_utils.calls.build_progress import BuildProgressAction


class ActionModule(BuildProgressAction):
    """Action plugin of the module kubeadm.control_plane.nspawn_image; see its documentation."""
