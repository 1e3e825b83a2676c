# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What extensions/awx makes in AWX: the modules take it, each playbook has a template, and surveys ask for what roles have.

awx_awx_24.6.1.json has the argument specifications of awx.awx 24.6.1, read from its modules. What AWX itself says of the values is not tested.
"""

from __future__ import annotations

import functools
import json
import re
import typing as t
from collections import Counter
from pathlib import Path

import pytest
import yaml
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects import actions
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.operator import validate

ROOT = Path(__file__).parents[4]
AWX = ROOT / "extensions" / "awx"
Object = dict[str, t.Any]
YES_OR_NO = {"false", "true"}
Calls = list[tuple[str, Object]]
Templates = dict[str, Object]
TEMPLAR = Templar(loader=DataLoader())
NOT_GIVEN = "not given"


def loaded(path: Path) -> t.Any:
    """A file as Ansible loads it: its strings may be templates."""
    return DataLoader().load_from_file(str(path), trusted_as_template=True)


def rendered(value: t.Any, variables: Object) -> t.Any:
    """A value with its templates resolved."""
    # The one engine compiles a template once.
    TEMPLAR.available_variables = variables
    return TEMPLAR.template(value)


@pytest.fixture(scope="module")
def tables() -> Object:
    """The variables of configure.yml for somebody who says everything that can be said."""
    own = {
        "awx_project_url": "https://git.example/fleet.git",
        "awx_image": "example/image:1",
        "awx_kubeconfig": "apiVersion: v1",
        "awx_slices": 4,
        "awx_notifications": [
            {"name": "hook", "notification_type": "webhook", "notification_configuration": {"url": "x"}}
        ],
    }
    play = loaded(AWX / "configure.yml")[0]
    return {**loaded(AWX / "configuration.yml"), **play["vars"], **own, "omit": NOT_GIVEN}


@pytest.fixture(scope="module")
def calls(tables: Object) -> Calls:
    """Each call of a module of awx.awx, as Ansible makes it: the module and its arguments."""
    found = []
    for task in loaded(AWX / "configure.yml")[0]["tasks"]:
        for key in task:
            if key.startswith("awx.awx."):
                for item in rendered(task["loop"], tables) if "loop" in task else [None]:
                    given = rendered(task[key], {**tables, "item": item})
                    said = {name: each for name, each in given.items() if each != NOT_GIVEN}
                    found.append((key.rpartition(".")[2], json.loads(json.dumps(said))))
    return found


@pytest.fixture
def templates(calls: Calls) -> Templates:
    """The job templates by their names."""
    return {given["name"]: given for module, given in calls if module == "job_template"}


def questions(template: Object) -> list[Object]:
    """What a template's survey asks."""
    return list(template["survey_spec"].get("spec") or [])


@functools.cache
def specs_of(role: str) -> Object:
    """The argument specifications of a role's entry points."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    text = (ROOT / "roles" / role / "meta" / "argument_specs.yml").read_text()
    return dict(yaml.load(text, Loader=loader)["argument_specs"])


def options(verb: str) -> Object:
    """What the roles of a playbook take, by the entry point that it calls."""
    found: Object = {}
    for play in yaml.safe_load((ROOT / "playbooks" / f"{verb}.yml").read_text()):
        if "ansible.builtin.import_playbook" in play:
            found.update(options(play["ansible.builtin.import_playbook"].removesuffix(".yml")))
        for task in play.get("tasks") or []:
            called = task.get("ansible.builtin.import_role") or task.get("ansible.builtin.include_role")
            if called:
                specs = specs_of(called["name"].rpartition(".")[2])
                found.update(specs[called.get("tasks_from", "main")]["options"])
    return found


def test_the_modules_take_the_arguments(calls: Calls) -> None:
    specs = json.loads((Path(__file__).parent / "awx_awx_24.6.1.json").read_text())
    made = Counter(module for module, _given in calls)
    assert set(made) == set(specs) and made["job_template"] > 20
    for module, given in calls:
        assert ArgumentSpecValidator(specs[module]).validate(given).error_messages == [], given


def test_what_awx_is_to_fill_in_reaches_it(calls: Calls) -> None:
    found = dict(calls)["credential_type"]
    assert found["injectors"]["env"] == {"K8S_AUTH_KUBECONFIG": "{{ tower.filename.kubeconfig }}"}


def test_a_second_run_gives_awx_nothing_that_it_would_take_for_a_change(calls: Calls) -> None:
    """awx.awx reports a change for settings and for secrets that it can't compare whatever was there; that of workflows docs/awx.md tells."""
    assert "settings" not in dict(calls)
    (credential,) = (given for module, given in calls if module == "credential")
    assert credential["update_secrets"] is False


def test_hosts_are_clusters_and_are_read_again_before_each_job(calls: Calls) -> None:
    """A slice is a share of the hosts, and a host's variables name files of the job's own copy of the project."""
    sources = [given for module, given in calls if module == "inventory_source"]
    assert sources and all(each["update_on_launch"] and each["overwrite"] for each in sources)
    assert {each["source_path"] for each in sources} == {"inventory.clusters.yml"}
    assert yaml.safe_load((AWX / "inventory.clusters.yml").read_text())["machines"] is False
    assert dict(calls)["project"]["scm_update_on_launch"] is True


def test_each_playbook_has_a_template_or_a_reason(templates: Templates) -> None:
    page = (ROOT / "docs" / "awx.md").read_text()
    table = page[page.index("| no template |") :].partition("\n\n")[0]
    without = set(re.findall(r"`(\w+)`", "".join(line.split("|")[1] for line in table.splitlines()[2:])))
    playbooks = {path.stem for path in (ROOT / "playbooks").glob("*.yml")}
    verbs = {each["extra_vars"]["verb"] for each in templates.values()}
    assert verbs | without == playbooks and not verbs & without
    for each in templates.values():
        assert (AWX / each["playbook"]).exists()
        assert not each["ask_variables_on_launch"], "whoever gives variables gives another verb"


def test_a_survey_asks_for_what_the_playbook_takes(tables: Object, templates: Templates) -> None:
    own = set(re.findall(r"\baction_\w+", (AWX / "action.yml").read_text()))
    asked = 0
    for name, template in templates.items():
        known = options(template["extra_vars"]["verb"]) if questions(template) else {}
        for question in questions(template):
            asked += 1
            variable, given = question["variable"], question["type"]
            if template["playbook"] == "action.yml" and variable in own:
                continue
            assert variable in known, (name, variable)
            kind, choices = known[variable]["type"], known[variable].get("choices")
            fits = {
                "bool": given == "multiplechoice" and set(question.get("choices") or ()) == YES_OR_NO,
                "int": given == "integer",
                "str": given in ("text", "multiplechoice"),
                "path": given == "text",
                "raw": given == "text",
            }
            assert fits[kind], (name, variable, kind, given)
            if choices:
                assert set(question["choices"]) == {each for each in choices if each}, (name, variable)
            default = str(known[variable].get("default", "")).lower()
            if default and question.get("default") is not None:
                assert str(question["default"]) == default, (name, variable)
    assert asked > 30
    every = {each["variable"] for template in templates.values() for each in questions(template)}
    assert every == {each["variable"] for each in tables["awx_questions"]}


def test_workers_are_deleted_by_a_template_that_can_not_delete_their_cluster(templates: Templates) -> None:
    [name] = (each for each in templates if each.endswith("delete workers"))
    asked = {each["variable"]: each["required"] for each in questions(templates[name])}
    assert asked == {"control_plane_delete": True, "control_plane_deployment": True}


@pytest.mark.parametrize(
    "answers", [{}, {"action_drain": "true", "action_authorities": ["ca"], "action_accept_outage": "true"}]
)
def test_answers_make_an_action(templates: Templates, answers: Object) -> None:
    wrapper = loaded(AWX / "action.yml")[0]
    kinds = set()
    for template in templates.values():
        if template["playbook"] != "action.yml":
            continue
        asked = {each["variable"]: each["default"] for each in questions(template) if each.get("default") is not None}
        given = {**asked, **template["extra_vars"], "action_version": "v1.33.4", **answers}
        spec = json.loads(json.dumps(rendered(wrapper["vars"]["operator_spec"], {**wrapper["vars"], **given})))
        kinds |= set(spec)
        document = {"apiVersion": actions.API_VERSION, "kind": "Action", "metadata": {"name": "x"}, "spec": spec}
        made, errors = actions.to_hub(document)
        assert [*errors, *validate.validate(made)] == []
    assert kinds == set(wrapper["vars"]["action_specs"])


def test_what_runs_by_itself_asks_nothing(calls: Calls, templates: Templates) -> None:
    """A schedule, or a node of the workflow, of a template that needs an answer would fail each time."""
    (workflow,) = (given for module, given in calls if module == "workflow_job_template")
    nodes = {each["identifier"]: each for each in workflow["workflow_nodes"]}
    assert [each["unified_job_template"]["type"] for each in nodes.values()] == [
        "job_template",
        "workflow_approval",
        "job_template",
    ]
    called = [each["unified_job_template"]["name"] for each in (nodes["plan"], nodes["reconcile"])]
    assert templates[called[1]]["extra_vars"] == {"verb": "reconcile", "control_plane_plan": {}}
    assert {templates[name]["job_slice_count"] for name in called} == {1}
    called += [given["unified_job_template"] for module, given in calls if module == "schedule"]
    assert len(called) == 2 + 3
    for name in called:
        assert not [each for each in questions(templates[name]) if each["required"] and each.get("default") is None]


def test_the_image_has_an_ansible_that_the_collection_takes() -> None:
    needed = yaml.safe_load((ROOT / "meta" / "runtime.yml").read_text())["requires_ansible"]
    definition = yaml.safe_load((AWX / "execution-environment.yml").read_text())
    assert definition["version"] == 3
    assert definition["dependencies"]["ansible_core"]["package_pip"].partition(",")[0] == f"ansible-core{needed}"[:-2]
