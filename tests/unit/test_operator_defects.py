# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The defects of the kubeadm operator's proof of concept: each is absent here, and these tests say so.

Source: docs/reference/kubeadm_operator.md, "Defects".
"""

from __future__ import annotations

import ast
import re
import typing as t
from pathlib import Path

import pytest

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.operator import command_type
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.operator.catalogue import COMMANDS
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.operator.planner_types import NodeFacts

TESTS = Path(__file__).resolve().parents[1]
OPERATOR = "unit/plugins/plugin_utils/operator"
STORE = "unit/plugins/plugin_utils/operator/test_stored.py"
RECORDS = "unit/plugins/plugin_utils/operator/test_records.py"
CONTEXT = "unit/plugins/plugin_utils/operator/test_context.py"
ACTION = "unit/plugins/action/test_operator.py"
PLAYBOOKS = "integration/test_operator.py"
# Number -> (the defect, the tests that fail where it is there).
DEFECTS: dict[int, tuple[str, tuple[tuple[str, str], ...]]] = {
    1: (
        "the pause of Controlled is overwritten by the Action's own",
        ((STORE, "test_controlled_stops_before_each_task_and_keeps_its_stop_from_the_users_pause"),),
    ),
    2: (
        "a Task that is created paused runs",
        (
            (STORE, "test_controlled_stops_before_each_task_and_keeps_its_stop_from_the_users_pause"),
            (PLAYBOOKS, "test_controlled_stops_before_each_task_until_it_is_approved_or_rejected"),
        ),
    ),
    3: (
        "an index beyond the last command is an error that is gone on with",
        (
            (ACTION, "test_an_index_out_of_range_is_told_and_runs_nothing"),
            (STORE, "test_skip_goes_on_with_the_next_command_and_the_last_one_ends_the_task"),
        ),
    ),
    4: (
        "two groups have the same order",
        ((f"{OPERATOR}/test_freeze.py", "test_order_numbers_are_unique_dense_and_in_the_order_of_the_list"),),
    ),
    5: (
        "a custom list runs in the order of its names",
        (
            (f"{OPERATOR}/test_freeze.py", "test_order_numbers_are_unique_dense_and_in_the_order_of_the_list"),
            (PLAYBOOKS, "test_an_action_runs_node_by_node_in_the_order_of_the_list"),
        ),
    ),
    6: (
        "a hundred groups break the order",
        (
            (f"{OPERATOR}/test_freeze.py", "test_order_numbers_are_unique_dense_and_in_the_order_of_the_list"),
            (f"{OPERATOR}/test_freeze.py", "test_nodes_are_in_alphabetical_order"),
        ),
    ),
    7: (
        "the first node is another one when a node comes",
        (
            (STORE, "test_nodes_that_come_or_go_pause_it_and_can_be_left_out"),
            (f"{OPERATOR}/test_freeze.py", "test_head_is_the_first_node_and_tail_the_others"),
            (f"{OPERATOR}/test_freeze.py", "test_the_nodes_of_a_plan_come_back_as_they_were"),
        ),
    ),
    8: (
        "a node that was deleted blocks for ever",
        (
            (STORE, "test_nodes_that_come_or_go_pause_it_and_can_be_left_out"),
            (STORE, "test_a_task_that_was_made_for_a_node_that_is_left_out_ends"),
        ),
    ),
    9: (
        "an empty plan is a success without a word",
        (
            (STORE, "test_a_plan_with_nothing_to_do_ends_with_that_reason"),
            (f"{OPERATOR}/test_freeze.py", "test_a_selector_that_matches_nothing_is_refused"),
        ),
    ),
    10: (
        "two Actions run at once",
        (
            (STORE, "test_a_second_action_pauses_the_first"),
            (ACTION, "test_the_same_request_without_a_name_goes_on_with_the_one_under_way"),
            (PLAYBOOKS, "test_what_is_refused_starts_nothing"),
        ),
    ),
    11: (
        "a request that was edited goes on",
        (
            (f"{OPERATOR}/test_freeze.py", "test_the_hashes_hold_what_was_asked_and_what_was_planned"),
            (STORE, "test_what_is_edited_behind_its_back_pauses_it"),
            (STORE, "test_an_edited_plan_is_told"),
        ),
    ),
    12: (
        "the second of two members of a one-of is ignored",
        (("unit/plugins/plugin_utils/objects/test_actions.py", "test_an_action_asks_for_exactly_one_known_thing"),),
    ),
    13: (
        "a stub is a success",
        (
            (
                "unit/plugins/plugin_utils/operator/test_registry.py",
                "test_there_is_no_command_that_succeeds_because_nobody_wrote_it",
            ),
            (ACTION, "test_a_command_of_another_release_is_no_success"),
        ),
    ),
    14: ("a failure is told as 'something failed'", ((STORE, "test_a_failure_pauses_at_once_and_is_told_upwards"),)),
    15: (
        "no output is kept",
        (
            (RECORDS, "test_a_command_has_its_start_and_end_attempt_notes_and_outputs"),
            (CONTEXT, "test_a_program_is_run_and_kept"),
            (PLAYBOOKS, "test_an_action_runs_node_by_node_in_the_order_of_the_list"),
        ),
    ),
    16: (
        "only one of the control plane's labels counts",
        (("unit/plugins/plugin_utils/objects/test_actions.py", "test_both_labels_of_the_control_plane_mean_it"),),
    ),
    17: (
        "what is required is looked for at the wrong place",
        (
            (ACTION, "test_what_an_action_needs_must_be_given"),
            ("unit/test_operator_defects.py", "test_what_a_command_needs_is_missed_by_its_own_name"),
        ),
    ),
    18: (
        "records are deleted",
        (
            (ACTION, "test_actions_outlive_their_cluster"),
            (STORE, "test_one_group_after_another_and_node_by_node"),
            ("unit/test_operator_defects.py", "test_nothing_deletes_an_object_of_the_operator"),
        ),
    ),
}


def test_every_defect_has_a_test() -> None:
    """All eighteen of them."""
    assert sorted(DEFECTS) == list(range(1, 19))
    assert all(tests for _defect, tests in DEFECTS.values())


@pytest.mark.parametrize(
    ("file", "name"), sorted({test for _defect, tests in DEFECTS.values() for test in tests}), ids=str
)
def test_what_is_named_exists(file: str, name: str) -> None:
    """In the file that it is said to be in."""
    assert re.search(rf"^def {name}\(", (TESTS / file).read_text(), re.MULTILINE), f"{file} has no {name}"


NEEDS = [
    (name, each)
    for name, command in COMMANDS.items()
    for each in command.parameters
    if command.parameters[each].required
]


def valid(parameter: command_type.Parameter) -> t.Any:
    """Some value that a parameter takes."""
    text = parameter.choices[0] if parameter.choices else "x"
    mapping = {"a": "b"}
    tried = [text, [text], [mapping], mapping, 100, [100], True, "0644", "/x", "a.b.c", "v1.21.0"]
    return next(each for each in tried if parameter.errors(each, "") == [])


@pytest.mark.parametrize(("name", "missing"), sorted(NEEDS))
def test_what_a_command_needs_is_missed_by_its_own_name(name: str, missing: str) -> None:
    """Whatever else is given, or is not: each of a command's needs is looked for in its own place."""
    command = COMMANDS[name]
    others = {key: valid(each) for key, each in command.parameters.items() if key != missing}
    assert [each.path for each in command.errors(others, "command")] == [f"command.{missing}"]
    assert f"command.{missing}" in [each.path for each in command.errors({}, "command")]


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_what_a_command_does_not_need_may_be_left_out(name: str) -> None:
    """With its needs alone a command can be told, so nothing that it can't do without is missing among them."""
    command = COMMANDS[name]
    given = {key: valid(each) for key, each in command.parameters.items() if each.required}
    if command.errors(given, "command") == []:
        lines = command.describe(command.complete(given), NodeFacts("node-1", True))
        assert lines and not [each for each in lines if "None" in each]


def deleted(path: Path) -> list[str]:
    """The kinds, as they are written, of the objects that a file's code has a store delete."""
    calls = [each for each in ast.walk(ast.parse(path.read_text())) if isinstance(each, ast.Call) and each.args]
    names = {"delete": 0, "delete_finally": 1}
    found = []
    for call in calls:
        name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
        if name in names and len(call.args) > 1:
            found.append(ast.unparse(call.args[names[name]]))
    return found


def test_nothing_deletes_an_object_of_the_operator() -> None:
    """Actions, TaskGroups and Tasks stay: of what belongs to an Action only its Secrets go, and nobody else deletes the three kinds."""
    plugins = TESTS.parent / "plugins"
    by_file = {path: deleted(path) for path in plugins.rglob("*.py")}
    own = {path: kinds for path, kinds in by_file.items() if "operator" in str(path.relative_to(plugins))}
    assert len(own) > 40
    assert {kind for kinds in own.values() for kind in kinds} == {"SECRET"}
    # A move carries them, and takes away in one store what it has verified in the other.
    [mover] = [path for path in by_file if path.name == "copied_objects.py"]
    everything = {kind for path, kinds in by_file.items() for kind in kinds if path != mover}
    assert {"MACHINE", "reference"} <= everything
    assert [each for each in everything if re.search(r"operator|ACTION|TASK|kind_ref\b|Action|Task", each)] == []
