# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is said when a run ends, and what is left."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from operator_cases import Walk, action, begun, executions, facts, group, hub, node

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects import actions
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.operator import action_text, freeze
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.operator.action_text import ending
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.operator.tasks.records import Secrets, TaskRecord

CONFIGURATION = """
apiVersion: kubeadm.k8s.io/v1beta2
kind: ClusterConfiguration
kubernetesVersion: v1.20.2
"""
UPGRADE = {"targetVersion": "v1.21.0", "binaries": {"source": "files", "path": "/opt/kubernetes/{version}"}}


def told(folder: Path, place: int) -> str:
    """What an abort says of an upgrade that failed on the second Node at that command."""
    nodes = [node(name, api_server_version="v1.20.2", ready=True) for name in ("cp-a", "cp-b", "cp-c")]
    cluster = facts(*nodes, cluster_configuration=CONFIGURATION, api_answers=True)
    walk = Walk(where := executions(folder), begun(where, action(upgrade=UPGRADE), cluster), {"cp-b": place})
    walk.until_it_ends()
    walk.say("first", abort=True)
    execution, step = walk.look()
    return ending(execution, step, "prod")


@pytest.mark.parametrize(("place", "nodes"), [(2, "cp-a"), (3, "cp-a, cp-b")])
def test_an_aborted_upgrade_tells_who_was_upgraded_and_what_completes_it(
    tmp_path: Path, place: int, nodes: str
) -> None:
    """From the beginning of kubeadm's own upgrade on it is not known how far that came."""
    said = told(tmp_path, place)
    assert f" {nodes}: v1.21.0 whole or in part" in said
    options = said.partition("kubeadm.control_plane.action --limit prod -e '")[2].rstrip("'")
    assert json.loads(options) == {"operator_spec": {"upgrade": UPGRADE}}


DRAINED = "Drained and still cordoned, no pod is scheduled there: kubectl uncordon cp-b"
MAY_STILL_RUN = "a drain that was not completed may still run: kubectl uncordon cp-b ends it within two minutes"


@pytest.mark.parametrize(
    ("place", "skips", "line"),
    [
        (5, False, ""),
        (6, False, MAY_STILL_RUN),
        (6, True, ""),
        (9, False, DRAINED),
        (9, True, DRAINED),
        (10, False, ""),
    ],
)
def test_a_node_that_stays_cordoned_is_named(tmp_path: Path, place: int, skips: bool, line: str) -> None:
    """Whoever comes later leaves it as it is found; and the drain outlives the run that started it."""
    nodes = [node(name, api_server_version="v1.20.2", ready=True) for name in ("cp-a", "cp-b")]
    cluster = facts(*nodes, cluster_configuration=CONFIGURATION, api_answers=True)
    walk = Walk(where := executions(tmp_path), begun(where, action(upgrade=UPGRADE), cluster), {"cp-b": place})
    walk.until_it_ends()
    if skips:
        walk.say("first-02-upgrade-cp-n-cp-b", recoveryMode=actions.SKIP)
    elif place < 10:
        walk.say("first", abort=True)
    walk.until_it_ends()
    said = ending(*walk.look(), "prod")
    assert ("is complete" in said) == (skips or place == 10)
    assert line in said and ("cordon" in said) == bool(line)
    assert said.count("kubectl uncordon") == bool(line)


@pytest.mark.parametrize(
    ("place", "skips", "line"), [(6, False, MAY_STILL_RUN), (6, True, MAY_STILL_RUN), (9, False, "")]
)
def test_a_node_that_was_cordoned_before_is_named_where_its_drain_may_run(
    tmp_path: Path, place: int, skips: bool, line: str
) -> None:
    nodes = [node(name, api_server_version="v1.20.2", ready=True) for name in ("cp-a", "cp-b")]
    before = {"unschedulable": ["cp-b"]}
    cluster = facts(*nodes, cluster_configuration=CONFIGURATION, api_answers=True, extra=before)
    walk = Walk(where := executions(tmp_path), begun(where, action(upgrade=UPGRADE), cluster), {"cp-b": place})
    walk.until_it_ends()
    if skips:
        walk.say("first-02-upgrade-cp-n-cp-b", recoveryMode=actions.SKIP)
    else:
        walk.say("first", abort=True)
    walk.until_it_ends()
    said = ending(*walk.look(), "prod")
    assert line in said and ("kubectl uncordon" in said) == bool(line)


@pytest.mark.parametrize("how", ["killed", "not reached", "skipped", "failed"])
def test_where_an_aborted_action_may_still_run_something_is_told(tmp_path: Path, how: str) -> None:
    """A program outlives its run."""
    where = executions(tmp_path)
    root = begun(where, action(group("a", "pass", "pass")), facts(node("cp-a"), node("cp-b")))
    [name] = where.advance(root)[1].tasks
    record = TaskRecord(where.store, "default", name, Secrets())
    record.begin()
    record.begin_command(0, "pass")
    walk = Walk(where, root, {"cp-a": 1})
    if how in ("not reached", "skipped"):
        record.unobserved(0, "first-01-a-cp-a-1-true")
    if how != "killed":
        record.fail(0, "pass", "it failed")
    if how == "skipped":
        walk.say(name, recoveryMode=actions.SKIP)
        walk.until_it_ends()
    walk.say("first", abort=True)
    said = ending(*walk.look(), "prod")
    assert "was aborted" in said and ("may still run on cp-a, and ends by itself" in said) == (how != "failed")


APT = "apt-mark unhold kubeadm && apt-get update && apt-get install -y 'kubeadm=1.21.0-*' && apt-mark hold kubeadm"
DNF = "dnf install --assumeyes --disableexcludes=all 'kubeadm-1.21.0-*'"


@pytest.mark.parametrize(
    ("system", "lines"),
    [
        ("Ubuntu 24.04.1 LTS", [APT]),
        ("Debian GNU/Linux 12 (bookworm)", [APT]),
        ("Rocky Linux 9.4 (Blue Onyx)", [DNF]),
        ("Red Hat Enterprise Linux 9.4 (Plow)", [DNF]),
        # Another system, or a plan that was frozen without it: the node knows by what its programs were installed.
        ("Flatcar Container Linux", [f"{APT} # where apt installed kubeadm", f"{DNF} # where dnf or yum did"]),
        ("", [f"{APT} # where apt installed kubeadm", f"{DNF} # where dnf or yum did"]),
    ],
)
def test_a_plan_has_the_lines_of_the_nodes_own_package_manager(system: str, lines: list[str]) -> None:
    """A person would type these, in a plan and where a Task is to be approved."""
    nodes = [node(name, api_server_version="v1.20.2", os_image=system) for name in ("cp-a", "cp-b")]
    root = hub(action(upgrade={"targetVersion": "v1.21.0"}))
    plan = freeze.freeze(root, facts(*nodes, cluster_configuration=CONFIGURATION))
    if not system:
        plan["nodes"] = [{key: value for key, value in each.items() if key != "osImage"} for each in plan["nodes"]]
    shown = [line.strip() for line in action_text.plan_text(root, plan).splitlines()]
    assert [each for each in shown if "kubeadm=" in each or "kubeadm-" in each][: len(lines)] == lines
    spec = {"nodeName": "cp-a", "commands": plan["groups"][0]["commands"]}
    task = {"kind": "Task", "metadata": {"name": "one"}, "spec": spec}
    told = [line.strip() for line in action_text.task_text(task, plan).splitlines()]
    assert [each for each in told if "kubeadm=" in each or "kubeadm-" in each] == lines


def test_nothing_is_said_where_nothing_was_upgraded(tmp_path: Path) -> None:
    nodes = [node(name, api_server_version="v1.20.2", ready=True) for name in ("cp-a", "cp-b")]
    cluster = facts(*nodes, cluster_configuration=CONFIGURATION, api_answers=True)
    walk = Walk(where := executions(tmp_path), begun(where, action(upgrade=UPGRADE), cluster), {"cp-a": 0})
    walk.until_it_ends()
    walk.say("first", abort=True)
    assert "whole or in part" not in ending(*walk.look(), "prod")
