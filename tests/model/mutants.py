# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Deliberately wrong rules: each is put into a copy of the collection's decision code, and the checker has to find it.

A mutant is made of substitutions in the source, each of a text that occurs exactly once: one that no longer applies is an
error and not a silent pass. The copy is a tree of its own, used by a process of its own; nothing is patched in memory.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision as original
from model.workers import mutants as workers

_SOURCE = Path(next(iter(original.__path__))).parents[1]
_INSIDE = Path("ansible_collections", "kubeadm", "control_plane", "plugins")
SECONDS = 300


@dataclass(frozen=True)
class Mutant:
    """A wrong rule: what is wrong in words, the substitutions (file, old text, new text), and the configurations that show it."""

    name: str
    changes: tuple[tuple[str, str, str], ...]
    configurations: tuple[str, ...]


def _one(name: str, file: str, old: str, new: str, *configurations: str) -> Mutant:
    return Mutant(name, ((file, old, new),), configurations)


MUTANTS: tuple[Mutant, ...] = (
    _one(
        "the quorum is off by one",
        "module_utils/common/quorum.py",
        "        return self.voters // 2 + 1\n",
        "        return self.voters // 2\n",
        "three machines",
    ),
    _one(
        "a learner counts as a voter",
        "module_utils/common/quorum.py",
        "[member for member in members if not member.learner]",
        "list(members)",
        "create 3",
    ),
    _one(
        "unknown is taken for healthy",
        "module_utils/common/quorum.py",
        'status.get("healthy") is True and identity',
        'status.get("healthy") is not False and identity',
        "three machines, partly seen",
        "three machines",
    ),
    _one(
        "an alarm is ignored",
        "module_utils/common/quorum.py",
        "identity not in alarmed and",
        "True and",
        "three machines, partly seen",
        "three machines",
    ),
    _one(
        "the new voter counts as healthy",
        "module_utils/common/quorum.py",
        "(1 if now.voters <= 1 else 0)",
        "1",
        "five machines, three faults",
    ),
    _one(
        "the victim counts in its own quorum",
        "module_utils/common/quorum.py",
        "figures([member for member in members if member.id != member_id])",
        "figures(members)",
        "three machines",
    ),
    Mutant(
        "the last voter may go",
        (
            ("module_utils/common/quorum.py", "    if after.voters < 1:\n", "    if after.voters < 0:\n"),
            (
                "module_utils/common/quorum.py",
                '    if not after.has_quorum:\n        return Verdict(False, before, after, f"without',
                '    if after.voters and not after.has_quorum:\n        return Verdict(False, before, after, f"without',
            ),
            (
                "plugin_utils/decision/removal/one_machine.py",
                "    if not healthy and (",
                "    if others and not healthy and (",
            ),
        ),
        ("one machine",),
    ),
    _one(
        "a member goes without a known leader",
        "module_utils/common/quorum.py",
        "    if leader is None:\n",
        "    if leader == 0:\n",
        "three machines, partly seen",
        "three machines",
    ),
    _one(
        "a change begins beside an unfinished one",
        "module_utils/common/quorum.py",
        "    if unsettled and victim.settled:\n",
        "    if unsettled and not victim:\n",
        "create 3",
        "three machines, partly seen",
        "three machines",
    ),
    _one(
        "a stray member goes beside a machine that joins",
        "plugin_utils/decision/conditions/control_plane.py",
        "    if any(may_own(view, machine) for machine in view.known):\n",
        "    if not view.known:\n",
        "three machines, oddities",
    ),
    Mutant(
        "a member is known by its machine's name alone",
        (
            (
                "plugin_utils/decision/snapshot/typed_snapshot.py",
                "return str(seen or expected_node_name(self.machine, self.config, self.infrastructure))",
                "return str(seen or self.name)",
            ),
            (
                "plugin_utils/decision/snapshot/typed_snapshot.py",
                "hosts = {host_of(url): member for member in loose for url in",
                "hosts = {host_of(url): member for member in loose if not member.name for url in",
            ),
            (
                "plugin_utils/decision/creation/bootstrap.py",
                "known = not machine.joined and (machine.node_known or is_certain_name(machine.config))",
                "known = bool(machine.name)",
            ),
        ),
        ("Nodes of other names",),
    ),
    _one(
        "a stray member goes on one sample",
        "plugin_utils/decision/removal/stray.py",
        "    if not stray_lasts(view, member):\n",
        "    if not view.now:\n",
        "three machines, oddities",
    ),
    _one(
        "a stray member goes although its Node is there",
        "plugin_utils/decision/removal/stray.py",
        "    if has_node:\n",
        "    if has_node is None:\n",
        "three machines, oddities",
    ),
    _one(
        "two machines join at once",
        "plugin_utils/decision/decide.py",
        "    running = [machine for machine in view.machines if under_way(view, machine)]\n",
        "    running = [machine for machine in view.machines if not machine.name]\n",
        "create 3",
    ),
    _one(
        "a machine goes while kubeadm may still run on it",
        "plugin_utils/decision/creation/bootstrap.py",
        "    return not (machine.silent and view.now - clock_difference(view) >= machine.ends_at)\n",
        "    return not machine.silent\n",
        "growth that nobody sees",
    ),
    Mutant(
        "a machine that is being deleted is ignored",
        (
            (
                "plugin_utils/decision/decide.py",
                "        return first\n    going = sorted(\n        (machine for machine in view.machines if machine.deleting),",
                "        return first\n    going = sorted(\n        (machine for machine in view.machines if not machine.name),",
            ),
            (
                "plugin_utils/decision/checks/preflight.py",
                "if each.deleting and each is not machine]",
                "if each.deleting and not machine]",
            ),
        ),
        ("three machines",),
    ),
    _one(
        "a remediation ignores what etcd says",
        "plugin_utils/decision/remediation/replacement.py",
        'gate("EtcdQuorum", None if verdict.allowed else',
        'gate("EtcdQuorum", None if verdict else',
        "three machines, partly seen",
        "three machines",
    ),
    _one(
        "a remediation ignores that nobody else works",
        "plugin_utils/decision/remediation/replacement.py",
        'gate("AnotherMachineHealthy", None if healthy else',
        'gate("AnotherMachineHealthy", None if context else',
        "three machines",
        "external etcd",
    ),
    _one(
        "a remediation ignores the one before",
        "plugin_utils/decision/remediation/replacement.py",
        "    if record is not None and not (_must_go_first(view, picked) or _holds_up_rotation(context, picked)):\n",
        "    if record == 0:\n",
        "three machines",
    ),
    _one(
        "the witness is ignored",
        "plugin_utils/decision/checks/second_witness.py",
        "        if theirs != own:\n",
        "        if theirs == 0:\n",
        "three machines, partly seen",
        "three machines",
    ),
    _one(
        "retries are not limited",
        "plugin_utils/decision/remediation/retry.py",
        "earlier.retry_count >= limit",
        "earlier.retry_count > limit + 9",
        "retries",
    ),
    _one(
        "member lists that differ are ignored",
        "plugin_utils/decision/checks/trouble.py",
        "    if agrees is not True:\n",
        "    if agrees == 0 and view is None:\n",
        "create 3",
        "three machines, partly seen",
        "three machines",
    ),
    _one(
        "a rollout removes before it adds",
        "plugin_utils/decision/rollout/scaling.py",
        "    if count < size + surge:\n",
        "    if count < size:\n",
        "windows",
    ),
    _one(
        "no other machine has to be well before one goes by choice",
        "plugin_utils/decision/checks/preflight.py",
        "    _health(context, result, excluding)\n    if fresh:",
        "    if adding:\n        _health(context, result, excluding)\n    if fresh:",
        "three machines, partly seen",
        "three machines",
    ),
    _one(
        "the first machine is initialized at an endpoint that may be in use",
        "plugin_utils/decision/creation/growth.py",
        "view.endpoint_answers is not False and not",
        "view.endpoint_answers is True and not",
        "create 1",
    ),
    _one(
        "a downgrade is accepted",
        "plugin_utils/decision/rollout/skew.py",
        "    if wanted < newest:\n",
        "    if wanted is None:\n",
        "versions",
    ),
    _one(
        "the maintenance window is ignored",
        "plugin_utils/decision/rollout/gates.py",
        '    if window.get("open") is True:\n',
        '    if window.get("open") is not None:\n',
        "windows",
    ),
    _one(
        "consent is not asked for",
        "plugin_utils/decision/rollout/gates.py",
        'if wish == terms.REPLACE_ASK and policy.get("approved") is True:',
        "if wish == terms.REPLACE_ASK:",
        "ask",
    ),
    _one(
        "a readiness gate that is unknown is met",
        "plugin_utils/decision/rollout/gates.py",
        '        if gate.get("status") != terms.TRUE:\n',
        '        if gate.get("status") == terms.FALSE:\n',
        "gate not met",
    ),
    _one(
        "the wrong member goes with a machine",
        "plugin_utils/decision/rollout/scaling.py",
        "        identity = victim.member.id if",
        "        identity = view.members[-1].id if",
        "scaling",
    ),
    _one(
        "the leader goes without handing over",
        "plugin_utils/decision/removal/leadership.py",
        "    if not leads(view, machine) or machine.member is None:\n",
        "    if machine.member is not None:\n",
        "three machines",
    ),
    _one(
        "trouble is waited for without an end",
        "module_utils/common/settings.py",
        "\nPATIENCE = 60\n",
        "\nPATIENCE = 10**9\n",
        "one machine",
    ),
    _one(
        "what is planned is not what is done",
        "plugin_utils/decision/plan/predict_removal.py",
        '[entry for entry in snapshot["machines"] if entry not in gone]',
        'list(snapshot["machines"])',
        "scaling, five",
    ),
    _one(
        "a step is taken beside an Action",
        "plugin_utils/decision/rollout/in_place.py",
        "held = outcome.acts\n",
        'held = outcome.acts and found["reason"] == ROTATION_UNFINISHED\n',
        "beside Actions",
    ),
    _one(
        "a machine is made amid a rotation",
        "plugin_utils/decision/rollout/in_place.py",
        "held = held and not (_takes_out(outcome) or outcome.action == terms.APPLY_RESOURCE_SETS)",
        "held = False",
        "beside Actions",
    ),
    _one(
        "a machine goes by choice amid a rotation",
        "plugin_utils/decision/rollout/in_place.py",
        "in (ROLLING_OUT, SCALING_DOWN)",
        "in ()",
        "scaling beside Actions",
    ),
    _one(
        "what has failed stays amid a rotation",
        "plugin_utils/decision/rollout/in_place.py",
        "held = held and not (_takes_out(outcome) or outcome.action == terms.APPLY_RESOURCE_SETS)",
        "held = held and outcome.action != terms.APPLY_RESOURCE_SETS",
        "beside Actions",
    ),
    _one(
        "a silent kubelet counts as healthy",
        "plugin_utils/decision/conditions/machine.py",
        '    if machine.node.get("ready") == terms.UNKNOWN:\n        return condition(\n            kind,\n            terms.UNKNOWN,',
        '    if machine.node.get("ready") == terms.UNKNOWN:\n        return condition(\n            kind,\n            terms.TRUE,',
        "three machines, partly seen",
    ),
    *(_one(*each) for each in workers.WRONG_RULES),
)


class NotApplicable(Exception):
    """A mutant's text is not in the source exactly once: the rule was rewritten, and the mutant has to follow."""


def mutated(mutant: Mutant) -> dict[str, str]:
    """The text of each file that the mutant changes."""
    texts: dict[str, str] = {}
    for file, old, new in mutant.changes:
        text = texts.get(file) or (_SOURCE / file).read_text(encoding="utf-8")
        if text.count(old) != 1:
            raise NotApplicable(f"{mutant.name}: {file} has {text.count(old)} times {old!r}")
        texts[file] = text.replace(old, new)
    return texts


def plant(mutant: Mutant, folder: Path) -> Path:
    """A tree with the mutated code; returns what has to be on PYTHONPATH."""
    texts = mutated(mutant)
    shutil.copytree(_SOURCE, folder / _INSIDE, ignore=shutil.ignore_patterns("__pycache__"))
    for file, text in texts.items():
        (folder / _INSIDE / file).write_text(text, encoding="utf-8")
    return folder


def hunt(mutant: Mutant, folder: Path) -> tuple[bool, str]:
    """Whether the checker finds the mutant, and what it printed."""
    tree = plant(mutant, folder)
    here = Path(__file__).resolve().parents[1]
    paths = [str(tree), str(here), str(here / "support")]
    command = [sys.executable, "-m", "model", "--processes", "1", "--stop"]
    for name in mutant.configurations:
        command += ["--configuration", name]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=SECONDS, check=False
    )
    return done.returncode == 1 and "COUNTER-EXAMPLE" in done.stdout, done.stdout + done.stderr


def named(names: Sequence[str]) -> list[Mutant]:
    """The mutants of these names."""
    return [mutant for mutant in MUTANTS if mutant.name in names]
