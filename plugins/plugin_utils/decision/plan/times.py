# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Times of predictions, for what has been or stays so for long."""

from __future__ import annotations

FAR_FUTURE = "9999-12-31T23:59:59Z"
LONG_AGO = "1970-01-01T00:00:00Z"
