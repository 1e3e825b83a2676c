# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Actions, TaskGroups and Tasks, purely: what an Action needs on which node, in which order, and what comes next.

Source: the kubeadm operator's proposal.
"""
