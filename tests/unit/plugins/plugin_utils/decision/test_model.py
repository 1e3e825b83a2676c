# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The model checker, bounded: no counter-example, enough states, old counter-examples stay gone, wrong rules are found.

The complete check and all wrong rules: `make test-model` (docs/model_checking.md).
"""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pytest
from model import mutants
from model.explore import Result
from model.run import BOUNDED, FULL, explorer, line, main
from model.world import (
    DOWN,
    JOINED,
    JOINING,
    LEARNER,
    UNNAMED,
    UP,
    WORKS,
    Host,
    World,
    canonical,
    figures,
    grants_add,
    grants_remove,
    has_quorum,
)

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.plan.steps import plan
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.snapshot.typed_snapshot import (
    check_snapshot,
)

FOLDER = Path(mutants.__file__).parent / "counterexamples"
STATES = 10_000
# The others are hunted by make test-model.
QUICK = (
    "the quorum is off by one",
    "a learner counts as a voter",
    "unknown is taken for healthy",
    "the last voter may go",
    "a rollout removes before it adds",
    "the wrong member goes with a machine",
    "trouble is waited for without an end",
    "what is planned is not what is done",
    "available workers go below maxUnavailable",
    "a worker joins that is newer than the control plane",
)


@pytest.fixture(name="results", scope="module")
def _results() -> dict[str, Result]:
    """Every bounded configuration, explored once."""
    return {each.name: explorer(each.name).run() for each in BOUNDED}


@pytest.mark.parametrize("name", [each.name for each in BOUNDED])
def test_no_counter_example(results: dict[str, Result], name: str) -> None:
    result = results[name]
    assert result.complete
    if result.failures:
        pytest.fail(f"{line(result)}\n{result.failures[0].text()}\n{json.dumps(result.failures[0].snapshot)}")


def test_enough_was_looked_at(results: dict[str, Result]) -> None:
    assert sum(result.states for result in results.values()) >= STATES
    reached = {action for result in results.values() for action, count in result.endings.items() if count}
    assert reached == {"none", "wait", "postponed", "blocked"}


def test_configurations_have_names_of_their_own() -> None:
    names = [each.name for each in FULL]
    assert len(names) == len(set(names))
    assert set(names) >= {each.name for each in BOUNDED}


def test_a_configuration_of_no_such_name_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["--configuration", FULL[0].name, "--configuration", "create 11"])
    assert "'create 11' (choose from" in capsys.readouterr().err


def _examples() -> list[Path]:
    found = sorted(FOLDER.glob("*.json"))
    assert found
    return found


@pytest.mark.parametrize("path", _examples(), ids=lambda path: path.stem)
def test_a_counter_example_stays_gone(path: Path) -> None:
    example: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    assert check_snapshot(example["snapshot"]) == []
    steps = plan(example["snapshot"])
    actions = [step["action"] for step in steps]
    assert actions[: len(example["plan"])] == example["plan"], example["assertion"]
    said = steps[0]["blockedOn"] or steps[0]["reasons"]
    assert example["reason"] in {each["reason"] for each in said}


@pytest.mark.parametrize("name", QUICK)
def test_a_wrong_rule_is_found(name: str, tmp_path: Path) -> None:
    (mutant,) = mutants.named([name])
    found, output = mutants.hunt(mutant, tmp_path)
    assert found, output


@pytest.mark.parametrize("mutant", mutants.MUTANTS, ids=lambda mutant: mutant.name)
def test_a_wrong_rule_can_still_be_planted(mutant: mutants.Mutant) -> None:
    assert mutants.mutated(mutant)


def test_a_rule_that_was_rewritten_is_no_silent_pass() -> None:
    stale = mutants.Mutant("stale", (("module_utils/common/quorum.py", "no such text", ""),), ("create 1",))
    with pytest.raises(mutants.NotApplicable, match="0 times"):
        mutants.mutated(stale)


@pytest.mark.parametrize(
    ("states", "voters", "held"),
    [
        ([UP], 1, True),
        ([UP, DOWN], 2, False),
        ([UP, UNNAMED], 2, False),
        ([UP, JOINING], 1, True),
        ([UP, LEARNER], 1, True),
        ([UP, UP, DOWN], 3, True),
        ([UP, UP, DOWN, DOWN], 4, False),
        ([], 0, False),
    ],
)
def test_the_world_counts_as_etcd_does(states: list[str], voters: int, held: bool) -> None:
    assert (figures(states).voters, figures(states).held) == (voters, held)


def test_the_world_s_etcd_refuses_what_etcd_refuses() -> None:
    assert not grants_remove([UP], UP)
    assert not grants_remove([UP, UP, DOWN], UP)
    assert grants_remove([UP, UP, DOWN], DOWN)
    assert not grants_remove([UP, DOWN], DOWN)
    assert not grants_add([UP, UP, DOWN], learner=True)
    assert not grants_add([UP, UP, UP, UP, DOWN], learner=True, modern=False)
    assert grants_add([UP, UP, UP, UP, DOWN], learner=True)
    assert not grants_add([UP, UP, LEARNER], learner=True)


_STATES = (UP, DOWN, UNNAMED, JOINING, LEARNER)
_CLUSTERS = [list(states) for size in range(1, 7) for states in itertools.combinations_with_replacement(_STATES, size)]


def test_what_etcd_itself_grants_never_costs_the_quorum() -> None:
    """So a fault between a decision and its act does no harm: the call that would is refused.

    Why: docs/reference/invariants.md, "What etcd itself refuses".
    """
    for states in _CLUSTERS:
        for state in set(states):
            left = list(states)
            left.remove(state)
            if grants_remove(states, state):
                assert figures(left).held, states
        if grants_add(states, learner=False) and figures(states).voters > 1:
            assert figures([*states, UNNAMED]).held, states


def test_worlds_that_differ_in_names_only_are_one() -> None:
    well, old = Host(JOINED, UP, WORKS, True), Host(JOINED, UP, WORKS, True, old=True)
    one, other = World(hosts=(well, old)), World(hosts=(old, well))
    assert canonical(one, merged=True, counts=False) == canonical(other, merged=True, counts=False)
    assert canonical(one, merged=False, counts=False) != canonical(other, merged=False, counts=False)
    assert has_quorum(one)
