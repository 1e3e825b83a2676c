# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Machines that leave the endpoint while a Task stops their API server.

A load balancer's own checks notice within seconds that an API server has stopped, or no longer reaches its etcd; until
then its clients wait in vain. A machine that leaves beforehand costs no request, as when it is removed
(docs/removing_a_machine.md). No I/O.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..objects.actions import Object
from . import catalogue, freeze


def leaving(plan: Mapping[str, Any], tasks: Sequence[Object]) -> tuple[str, ...]:
    """Return the machines that leave the endpoint while these Tasks run.

    Those of control plane Nodes whose API server the Tasks stop, where another Node can answer instead. None where no
    API server answered when the plan was frozen: no client would notice.
    """
    control_planes = {each.name: each.machine for each in freeze.nodes_of(plan) if each.control_plane}
    stopped = [
        name
        for name, commands in ((each["spec"].get("nodeName"), each["spec"].get("commands")) for each in tasks)
        if name in control_planes and catalogue.stops_api_server(commands or ())
    ]
    if not plan["facts"]["apiAnswers"] or set(stopped) >= set(control_planes):
        return ()
    return tuple(control_planes[name] for name in sorted(set(stopped)) if control_planes[name])
