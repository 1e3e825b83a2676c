# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Module that works on a machine of a cluster."""

from __future__ import annotations

import typing as t

from . import arguments
from .module import NodeModule


class MachineModule(NodeModule):
    """Module with the options of every machine call, and their check.

    ``fencing`` is whether it changes something, and so has the number of the run's lock.
    """

    def __init__(self, argument_spec: t.Mapping[str, t.Any], *, fencing: bool = True, **rules: t.Any) -> None:
        super().__init__({**argument_spec, **arguments.MACHINE, **(arguments.FENCING if fencing else {})}, **rules)

    def check(self, *, ask_cluster: bool = True) -> None:
        """Refuse the wrong machine, then a run that lost its lock.

        See :func:`arguments.check`, whose errors it raises.
        """
        arguments.check(self.params, check_mode=self.check_mode, ask_cluster=ask_cluster)
