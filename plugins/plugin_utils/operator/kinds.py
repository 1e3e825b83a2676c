# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Kinds of Actions, each in a folder of its own.

A folder has the name of the field that requests its kind: ``renewCertificates`` is in ``renew_certificates``. The
fields are objects.actions.ACTIONS. Every folder has ``plan.py`` (validate, plan), ``commands.py`` (COMMANDS) and
``run.py`` (REGISTRY).
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Mapping
from types import ModuleType
from typing import Any, Callable, NamedTuple

from ..objects.actions import ACTIONS, FieldError
from .planner_types import ClusterFacts, GroupPlan


class Planner(NamedTuple):
    """Functions of a kind's ``plan.py``.

    ``validate`` takes the field's value and its path, and returns the value's errors, whatever the cluster; ``plan``
    takes the value and the cluster, returns the TaskGroups in their order, and raises RefusedAction.
    """

    validate: Callable[[Mapping[str, Any], str], list[FieldError]]
    plan: Callable[[Mapping[str, Any], ClusterFacts], tuple[GroupPlan, ...]]


def planner_of(kind: str) -> Planner:
    """Return the planner of a kind of Action, such as "upgrade"."""
    module = _module(kind, "plan")
    return Planner(module.validate, module.plan)


def modules(name: str) -> tuple[ModuleType, ...]:
    """Return each kind's module of that name, in the order of ACTIONS."""
    return tuple(_module(kind, name) for kind in ACTIONS)


def folder_of(kind: str) -> str:
    """Return the name of a kind's folder."""
    return re.sub("[A-Z]", lambda letter: "_" + letter.group().lower(), kind)


def _module(kind: str, name: str) -> ModuleType:
    # Imported by name, so that a new kind is a line in ACTIONS alone.
    return importlib.import_module(f"{__package__}.{folder_of(kind)}.{name}")
