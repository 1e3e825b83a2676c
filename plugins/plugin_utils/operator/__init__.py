# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Planning of Actions, TaskGroups and Tasks, without I/O.

It gives the commands that an Action needs on each Node, their order, and the next step.

Source: the kubeadm operator's proposal.
"""
