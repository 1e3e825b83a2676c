# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Wrong rules about workers, as in mutants.py: the name, the file, the right text, the wrong one, and the configuration that shows it."""

from __future__ import annotations

_WORKERS = "plugin_utils/decision/workers/"
WRONG_RULES: tuple[tuple[str, ...], ...] = (
    (
        "workers are made beyond maxSurge",
        _WORKERS + "numbers.py",
        "    room = wanted + surge - total\n",
        "    room = wanted + surge + 1 - total\n",
        "workers",
    ),
    (
        "workers that are going aren't counted",
        _WORKERS + "numbers.py",
        "wanted, total = deployment.replicas, len(deployment.machines)",
        "wanted, total = deployment.replicas, len(live)",
        "workers",
    ),
    (
        "more current workers than are wanted are made",
        _WORKERS + "numbers.py",
        "max(0, min(room, wanted - len(new))) if rolls",
        "max(0, room) if rolls",
        "workers",
    ),
    (
        "available workers go below maxUnavailable",
        _WORKERS + "numbers.py",
        "max(0, least) - waiting)",
        "max(0, least) - waiting + 1)",
        "workers",
    ),
    (
        "a template that doesn't work takes over all workers",
        _WORKERS + "numbers.py",
        "max(0, least) - waiting)",
        "max(0, least))",
        "workers",
    ),
    (
        "a worker joins that is newer than the control plane",
        _WORKERS + "held_back.py",
        "    if limit is None or not limit < wanted:\n",
        "    if limit is None or wanted:\n",
        "workers beside their control plane",
    ),
    (
        "workers come before their control plane has its version",
        _WORKERS + "held_back.py",
        "        found += _not_stable(view, deployment) if",
        "        found += [] if",
        "workers beside their control plane",
    ),
    (
        "a worker is replaced while the control plane is changed",
        _WORKERS + "decide_workers.py",
        "    if sick and (stops := never_joins(view, deployment)):\n",
        "    if not sick and (stops := never_joins(view, deployment)):\n",
        "workers beside their control plane, marked",
    ),
    (
        "workers come before a control plane's repair",
        "plugin_utils/decision/decide.py",
        "    if outcome.acts or outcome.action == terms.WAIT or",
        "    if outcome.action == terms.WAIT or",
        "workers beside their control plane",
    ),
    (
        "outdated workers go, and nothing may come in their place",
        _WORKERS + "decide_workers.py",
        "    troubles = holds or replacement_policy(view)[0]\n",
        "    troubles = replacement_policy(view)[0]\n",
        "workers beside their control plane",
    ),
    (
        "workers are replaced without consent",
        _WORKERS + "decide_workers.py",
        "    troubles = holds or replacement_policy(view)[0]\n",
        "    troubles = holds\n",
        "workers with consent",
    ),
    (
        "the second half of a replacement needs no consent",
        _WORKERS + "numbers.py",
        "        found.surplus = max(0, len(old) - wanted)\n",
        "        found.surplus = max(0, len(left) + len(old) - wanted)\n",
        "workers with consent",
    ),
    (
        "unhealthy workers are replaced without consent",
        _WORKERS + "decide_workers.py",
        "    policy = replacement_policy(view)[0] if joined else []\n",
        "    policy = []\n",
        "workers with consent",
    ),
    (
        "workers are made for a replacement without consent",
        _WORKERS + "decide_workers.py",
        "    if make and not policy:\n",
        "    if make:\n",
        "workers with consent",
    ),
    (
        "a paused deployment's workers are touched",
        _WORKERS + "decide_workers.py",
        "for each in workers.deployments if not each.paused]\n    joins",
        "for each in workers.deployments]\n    joins",
        "workers beside Actions",
    ),
    (
        "remediations at once aren't limited",
        _WORKERS + "remediation.py",
        "    return found[:room], found[room:]\n",
        "    return found, []\n",
        "workers, one remediated at a time",
    ),
    (
        "a marked worker's end is never recorded",
        _WORKERS + "unfinished_bootstraps.py",
        "    if machine.deleting or machine.infrastructure_gone or not_made(",
        "    if machine.deleting or machine.infrastructure_gone or marked(machine) or not_made(",
        "workers beside their control plane, marked",
    ),
    (
        "OnDelete takes outdated workers that are wanted",
        _WORKERS + "numbers.py",
        "        surplus = max(0, len(left) + len(old) - wanted)\n",
        "        surplus = len(old)\n",
        "workers, OnDelete",
    ),
    (
        "a worker that can't be removed is tried again and again",
        _WORKERS + "decide_workers.py",
        "        if failed is not None:\n",
        "        if failed is not None and not machine.deleting:\n",
        "workers that can't be removed",
    ),
    (
        "what is planned of workers is not what is done",
        _WORKERS + "prediction.py",
        '    workers["machines"] = [each for each in workers["machines"] if each not in going]\n',
        '    workers["machines"] = list(workers["machines"])\n',
        "workers",
    ),
)
