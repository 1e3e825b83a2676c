# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every written form of an Action, a TaskGroup and a Task comes to one; what is wrong with one is told with its field."""

from __future__ import annotations

import typing as t

import pytest
from operator_cases import CONTROL_PLANE, MASTER, action, document, group, hub

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects import actions
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.operator import node_selector as selectors
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.operator import validate

Object = dict[str, t.Any]


def problems(data: Object) -> list[tuple[str, str]]:
    """Fields and rules of everything that is wrong."""
    made, errors = actions.to_hub(data)
    return [(each.path, each.rule) for each in errors or validate.validate(made)]


def test_the_proposals_own_objects_are_read() -> None:
    """As the kubeadm operator's proposal prints them: a command right in the template, or in the Task."""
    template = {"metadata": {"labels": {"app": "a"}}, "alphaCertsRenew": {}}
    selectors = {"nodeSelector": {"matchLabels": {MASTER: ""}}, "selector": {"matchLabels": {"app": "a"}}}
    made = hub(document("TaskGroup", "taskgroup-sample2", {**selectors, "template": template}))
    assert made["spec"]["template"] == {
        "metadata": {"labels": {"app": "a"}},
        "spec": {"commands": [{"kubeadmRenewCertificates": {}}]},
    }
    task = hub(document("Task", "task-sample", {"nodeName": "control-plane-1", "alphaCertsRenew": {}}))
    assert task["spec"] == {"nodeName": "control-plane-1", "commands": [{"kubeadmRenewCertificates": {}}]}
    for data in (made, task):
        assert problems(data) == []


def test_the_proposals_custom_action_is_an_action() -> None:
    """Its list of TaskGroups right in its spec, or under the field that an Action has for it."""
    workflow = [{"name": "one", "nodeSelector": {}, "commands": ["pass"]}]
    made = hub(document("CustomAction", "mine", {"workflow": workflow, "executionMode": "Controlled"}))
    assert made == hub(document("Action", "mine", {"custom": {"workflow": workflow}, "executionMode": "Controlled"}))
    assert made == hub(
        document("CustomAction", "mine", {"custom": {"workflow": workflow}, "executionMode": "Controlled"})
    )
    assert problems(made) == []
    assert problems(document("CustomAction", "mine", {"upgrade": {}})) != []


def test_the_later_names_are_read() -> None:
    inner = {
        "metadata": {"name": "one"},
        "spec": {
            "nodeSelector": {"matchLabels": {MASTER: ""}},
            "nodeFilter": "Tail",
            "createStrategy": "Serial",
            "template": {"spec": {"commands": [{"preflight": {}}, {"wait": {"seconds": 1}}]}},
        },
    }
    made = hub(document("Operation", "old", {"custom": {"workflow": [inner]}, "executionMode": "Controlled"}))
    assert made["kind"] == "Action" and problems(made) == []
    [only] = made["spec"]["custom"]["workflow"]
    assert only["name"] == "one" and only["spec"]["policy"] == "Serial" and only["spec"]["nodeFilter"] == "Tail"
    assert hub(document("RuntimeTaskGroup", "g", inner["spec"]))["kind"] == "TaskGroup"
    commands = [{"upgradeKubeletAndKubeactl": {}}]
    task = hub(document("RuntimeTask", "t", {"nodeName": "a", "commands": commands}))
    assert task["kind"] == "Task" and list(task["spec"]["commands"][0]) == ["upgradeKubeletAndKubectl"]
    upgrade = hub(document("Operation", "up", {"upgrade": {"kubernetesVersion": "v1.21.0"}}))
    assert upgrade["spec"]["upgrade"] == {"targetVersion": "v1.21.0"}


def test_the_one_form_is_read_as_it_is() -> None:
    for data in (
        action(group("one", {"command": {"argv": ["true"]}})),
        document("Task", "t", {"nodeName": "a", "commands": ["pass"]}),
        document(
            "TaskGroup", "g", {"nodeSelector": {}, "commands": ["pass"], "policy": "Parallel", "maxUnavailable": 2}
        ),
    ):
        made = hub(data)
        assert hub(made) == made and problems(data) == []


@pytest.mark.parametrize(
    ("spec", "path", "rule"),
    [
        ({}, "spec", "asks for no action that is known"),
        ({"reboot": {}}, "spec.reboot", "there is no such field"),
        ({"upgrade": {}, "renewCertificates": {}}, "spec", "asks for 2 actions at once (upgrade, renewCertificates)"),
        ({"renewCertificates": []}, "spec.renewCertificates", "must be a mapping"),
        ({"custom": {"workflow": []}}, "spec.custom.workflow", "at least one TaskGroup"),
        ({"custom": {"workflows": [group("a")]}}, "spec.custom.workflows", "there is no such field"),
        (
            {"custom": {"workflow": [group("a")]}, "executionMode": "Manual"},
            "spec.executionMode",
            "must be one of Auto",
        ),
        ({"custom": {"workflow": [group("a")]}, "paused": "yes"}, "spec.paused", "true or false"),
        ({"upgrade": {"targetVersion": "v1.21.0", "kubernetesVersion": "v1.22.0"}}, "spec.upgrade", "two names of one"),
    ],
)
def test_an_action_asks_for_exactly_one_known_thing(spec: Object, path: str, rule: str) -> None:
    """Defect 12: two members of a one-of are refused, not one of them ignored."""
    found = problems(document("Action", "a", spec))
    assert any(each.startswith(path) and rule in text for each, text in found), found


# It includes the role that a variable names, which may be a folder.
OWN_ROLE = "kubeadm.control_plane.machine_inventory"


def own_role(variables: Object) -> Object:
    """A command that runs a role of the user's own."""
    return {"role": {"name": "acme.own.mark", "vars": variables}}


@pytest.mark.parametrize(
    ("more", "path", "rule"),
    [
        ({"commands": []}, ".template.spec.commands", "at least one command"),
        ({"commands": [{}]}, ".commands[0]", "one command's name"),
        ({"commands": [{"pass": {}, "fail": {}}]}, ".commands[0]", "names 2 commands (fail, pass)"),
        ({"commands": [{"reboot": {}}]}, ".commands[0].reboot", "no such command"),
        ({"commands": [{"wait": {}}]}, ".commands[0].wait.seconds", "wait needs it"),
        ({"commands": [{"wait": {"seconds": 0}}]}, ".commands[0].wait.seconds", "at least 1"),
        ({"commands": [{"wait": {"seconds": True}}]}, ".commands[0].wait.seconds", "whole number"),
        ({"commands": [{"pass": {"x": 1}}]}, ".commands[0].pass.x", "no such parameter"),
        ({"commands": [{"pass": 3}]}, ".commands[0].pass", "must be a mapping"),
        ({"commands": [{"role": {"name": "/srv/roles/own"}}]}, ".role.name", "a role's full name"),
        ({"commands": [{"role": {"name": "own"}}]}, ".role.name", "a role's full name"),
        ({"commands": [{"role": {"name": "acme.own.."}}]}, ".role.name", "a role's full name"),
        ({"commands": [{"role": {"name": "acme.own.mark", "tasksFrom": ".."}}]}, ".role.tasksFrom", "a task file"),
        ({"commands": [{"role": {"name": OWN_ROLE}}]}, ".role.name", "works on clusters from the controller"),
        ({"commands": [own_role({"ansible_connection": "local"})]}, ".vars.ansible_connection", "on another host"),
        ({"commands": [own_role({"inventory_hostname": "a"})]}, ".vars.inventory_hostname", "on another host"),
        ({"commands": [own_role({"{{ a }}": "a"})]}, ".vars.{{ a }}", "no variable's name"),
        ({"commands": [{"module": {"name": "../own"}}]}, ".module.name", "a module's full name"),
        ({"nodeFilter": "First"}, ".nodeFilter", "must be one of All, Head, Tail"),
        ({"policy": "Random"}, ".policy", "must be Serial or Parallel"),
        ({"policy": "Parallel"}, ".maxUnavailable", "the disruption budget"),
        ({"maxUnavailable": 3}, ".maxUnavailable", "one Node at a time"),
        ({"policy": "Parallel", "maxUnavailable": 0}, ".maxUnavailable", "at least 1"),
        ({"nodeSelector": {"matchLabel": {}}}, ".nodeSelector.matchLabel", "matchLabels and matchExpressions"),
        ({"nodeSelector": {"matchLabels": {"a": 1}}}, ".nodeSelector.matchLabels", "mapping of texts"),
        ({"name": "Not A Name"}, ".name", "lower-case"),
        ({"nodeNames": "cp-a"}, ".nodeNames", "a list of Nodes' names"),
    ],
)
def test_a_group_is_checked(more: Object, path: str, rule: str) -> None:
    found = problems(action({**group("one"), **more}))
    assert any(each.endswith(path) and rule in text for each, text in found), found


def test_a_group_must_say_which_nodes() -> None:
    without = {key: each for key, each in group("one").items() if key != "nodeSelector"}
    assert any("neither nodeSelector nor nodeNames" in text for _path, text in problems(action(without)))


def test_two_commands_without_a_list_have_no_order() -> None:
    template = {"spec": {"pass": {}, "fail": {}}}
    [(path, rule)] = problems(document("TaskGroup", "g", {"nodeSelector": {}, "template": template}))
    assert path == "spec.template.spec" and "whose order is unknown" in rule


def test_names_of_groups_are_told_apart() -> None:
    assert any("an earlier TaskGroup" in text for _path, text in problems(action(group("one"), group("one"))))


@pytest.mark.parametrize("name", ["", "A", "a b", "-a", "a" * 101, "../a", "a.b"])
def test_a_name_must_be_one(name: str) -> None:
    assert [path for path, _rule in problems(action(group("one"), name=name))] == ["metadata.name"]


@pytest.mark.parametrize(
    ("argv", "meant"),
    [
        (["sh", "-c", "a && b"], "&"),
        (["ls", "*.yaml"], "*"),
        (["cat", "a", "|", "b"], "|"),
        (["echo", "x", ">", "/etc/passwd"], ">"),
        (["echo", "$(id)"], "$("),
        (["echo", "$HOME"], "$H"),
        (["echo", "`id`"], "`"),
        (["rm", "a;b"], ";"),
        (["ls", "~/x"], "~"),
    ],
)
def test_what_only_a_shell_understands_is_refused(argv: list[str], meant: str) -> None:
    [(path, rule)] = problems(action(group("one", {"command": {"argv": argv}})))
    assert ".command.argv[" in path and repr(meant) in rule and "never go through one" in rule
    assert problems(action(group("one", {"command": {"argv": argv, "literal": True}}))) == []


def test_a_command_is_a_list() -> None:
    for argv, rule in (("ls -l", "list of texts"), (["ls -l"], "one text with blanks"), ([], "must name a program")):
        assert any(rule in text for _path, text in problems(action(group("one", {"command": {"argv": argv}}))))


def test_a_file_has_one_source_and_its_content_is_not_shown() -> None:
    def found(**parameters: t.Any) -> list[tuple[str, str]]:
        return problems(action(group("one", {"file": {"path": "/etc/x", **parameters}})))

    assert found(content="a") == [] and found(secret={"name": "a", "key": "b"}) == [] and found(state="absent") == []
    assert any("exactly one of" in text for _path, text in found())
    assert any("exactly one of" in text for _path, text in found(content="a", secret={"name": "a", "key": "b"}))
    assert any("name and key" in text for _path, text in found(secret={"name": "a"}))
    assert any("absolute path" in text for _path, text in found(content="a", path="x"))
    _made, errors = actions.to_hub(action(group("one", {"file": {"path": "/x", "content": ["geheim"]}})))
    assert "geheim" not in str(errors) + str(validate.validate(_made))


def test_an_object_of_another_kind_or_version_is_none() -> None:
    assert problems({**action(group("one")), "kind": "Job"})[0][0] == "kind"
    assert problems({**action(group("one")), "apiVersion": "operator.kubeadm.x-k8s.io/v2"})[0][0] == "apiVersion"
    assert problems(document("Action", "a", t.cast(Object, None)))[0][0] == "spec"


def test_a_status_that_is_written_is_not_believed() -> None:
    assert "status" not in hub({**action(group("one")), "status": {"completionTime": "2026-01-01T00:00:00Z"}})


def test_both_labels_of_the_control_plane_mean_it() -> None:
    """Defect 16 (docs/reference/kubeadm_operator.md, "Defects")."""
    for wanted in (MASTER, CONTROL_PLANE):
        for has in (MASTER, CONTROL_PLANE):
            assert selectors.matches({"matchLabels": {wanted: ""}}, {has: ""})
            expression = {"key": wanted, "operator": "DoesNotExist"}
            assert not selectors.matches({"matchExpressions": [expression]}, {has: ""})


def test_selectors() -> None:
    labels = {"zone": "a", "size": "big"}

    def holds(operator: str, *values: str, key: str = "zone") -> bool:
        expression = {"key": key, "operator": operator, **({"values": list(values)} if values else {})}
        assert selectors.errors({"matchExpressions": [expression]}, "p") == []
        return selectors.matches({"matchExpressions": [expression]}, labels)

    assert holds("In", "a", "b") and not holds("In", "b") and holds("NotIn", "b") and not holds("NotIn", "a")
    assert holds("NotIn", "x", key="other") and holds("Exists") and not holds("Exists", key="other")
    assert holds("DoesNotExist", key="other") and not holds("DoesNotExist") and selectors.matches({}, {})
    assert selectors.matches({"matchLabels": labels}, labels) and not selectors.matches(
        {"matchLabels": {"zone": "b"}}, labels
    )
    for bad in (
        [],
        {"matchExpressions": {}},
        {"matchExpressions": [{"operator": "In"}]},
        {"matchExpressions": [{"key": "a", "operator": "Like"}]},
        {"matchExpressions": [{"key": "a", "operator": "In"}]},
        {"matchExpressions": [{"key": "a", "operator": "Exists", "values": ["x"]}]},
    ):
        assert selectors.errors(bad, "p")
