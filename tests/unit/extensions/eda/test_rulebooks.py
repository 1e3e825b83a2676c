# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rulebooks of extensions/eda: their plugins, playbooks, templates and alerts exist, and no event's text is a template's.

ansible-rulebook itself reads them in the full suite (tests/integration/store/test_rulebooks.py). There is no AWX in the tests: of awx.yml the
names and arguments are compared with what extensions/awx makes there, and no job is launched.
"""

from __future__ import annotations

import re
import typing as t
from pathlib import Path

import pytest
import yaml
from event_sources import plugin

ROOT = Path(__file__).parents[4]
EDA, PLAYBOOKS = ROOT / "extensions" / "eda", ROOT / "playbooks"
PREFIX = "kubeadm.control_plane."
RULEBOOKS = sorted((EDA / "rulebooks").glob("*.yml"))
Object = dict[str, t.Any]
# Of ansible-rulebook 1.3.2.
BUILT_IN = {"eda.builtin.webhook": {"host", "port", "token"}}
ARGUMENTS = {"run_playbook": {"name", "lock"}, "run_job_template": {"name", "organization", "include_events", "lock"}}
# Both are checked where an event is made.
FROM_EVENTS = {"event.namespace", "event.cluster"}


def rulesets(path: Path) -> list[Object]:
    """The rulesets of a rulebook."""
    return list(yaml.safe_load(path.read_text(encoding="utf-8")))


def documented(kind: str, name: str) -> set[str]:
    """The options that a plugin documents."""
    text = re.findall(r'DOCUMENTATION = r"""(.*?)"""', (EDA / "plugins" / kind / f"{name}.py").read_text(), re.DOTALL)[
        0
    ]
    return set(yaml.safe_load(text)["options"])


def actions(path: Path) -> t.Iterator[tuple[str, Object]]:
    """The actions of a rulebook, each with its arguments."""
    for ruleset in rulesets(path):
        for rule in ruleset["rules"]:
            for action in rule["actions"]:
                yield from action.items()


@pytest.mark.parametrize("path", RULEBOOKS, ids=lambda path: path.stem)
def test_sources_filters_and_alerts_are_there(path: Path) -> None:
    shipped = yaml.safe_load((ROOT / "extensions" / "monitoring" / "control_plane.rules.yml").read_text())
    alerts = {rule["alert"] for group in shipped["groups"] for rule in group["rules"]}
    for ruleset in rulesets(path):
        for source in ruleset["sources"]:
            [name] = set(source) - {"name", "filters"}
            known = BUILT_IN[name] if name in BUILT_IN else documented("event_source", name.removeprefix(PREFIX))
            assert set(source[name]) <= known
            assert ("filters" in source) == (name in BUILT_IN), "what others send is made anew"
            for each in source.get("filters", []):
                [(filter_name, given)] = each.items()
                assert set(given) <= documented("event_filter", filter_name.removeprefix(PREFIX))
                assert {alert for listed in given.values() for alert in listed} <= alerts


@pytest.mark.parametrize("path", RULEBOOKS, ids=lambda path: path.stem)
def test_what_they_start_is_there(path: Path) -> None:
    configuration = yaml.safe_load(
        (ROOT / "extensions" / "awx" / "configuration.yml").read_text().replace("!unsafe", "")
    )
    templates = {each["name"] for each in configuration["awx_job_templates"]}
    started = []
    for action, given in actions(path):
        assert set(given) <= ARGUMENTS[action]
        if action == "run_playbook":
            assert (PLAYBOOKS / f"{given['name'].removeprefix(PREFIX)}.yml").is_file()
            started.append(given["name"].removeprefix(PREFIX))
        else:
            default, name = re.fullmatch(r"\{\{ awx_prefix \| default\('(.*)'\) \}\}(\w+)", given["name"]).groups()  # type: ignore[union-attr]
            assert default == configuration["awx_prefix"] and name in templates
            assert (
                given["organization"] == f"{{{{ awx_organization | default('{configuration['awx_organization']}') }}}}"
            )
            assert given["include_events"] is False, "its template asks for no variables"
            started.append(name)
    assert started == ["health_check", "remediate", "reconcile"]


@pytest.mark.parametrize("path", RULEBOOKS, ids=lambda path: path.stem)
def test_each_cluster_has_one_run_a_period(path: Path) -> None:
    for ruleset in rulesets(path):
        assert ruleset["execution_strategy"] == "parallel"
        for rule in ruleset["rules"]:
            assert rule["throttle"]["once_within"] == "10 minutes"
            assert set(rule["throttle"]["group_by_attributes"]) == FROM_EVENTS
    for _action, given in actions(path):
        assert given["lock"] == "{{ event.namespace }}/{{ event.cluster }}"


@pytest.mark.parametrize("path", RULEBOOKS, ids=lambda path: path.stem)
def test_templates_have_variables_of_the_page_and_checked_names_alone(path: Path) -> None:
    page = (ROOT / "docs" / "eda.md").read_text()
    for template in re.findall(r"\{\{ (.*?) \}\}", path.read_text()):
        name = template.partition(" ")[0]
        assert name in FROM_EVENTS or f"`{name}`" in page


def test_the_filter_leaves_nothing_of_a_notification() -> None:
    labels = {"alertname": "Broken", "cluster_namespace": "default", "cluster_name": "prod"}
    sent = {"payload": {"alerts": [{"status": "firing", "labels": labels}] * 3}, "meta": {"headers": {"X": "{{ 1 }}"}}}
    told = plugin("event_filter", "alerts")(sent, unhealthy=["Broken"])
    assert [set(each) for each in told] == [{"kind", "name", "namespace", "cluster", "unhealthy", "drift", "meta"}]
    assert plugin("event_filter", "alerts")({"payload": []}, unhealthy=["Broken"]) == []
