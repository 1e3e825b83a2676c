# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The table of docs/reference/bootstrap.md, row by row: what is done about a machine, however far its bootstrap came."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import NamedTuple

import pytest
from builders import Builder, at, cluster, healthy, member_id
from rules import REMEDIATE_MACHINE, condition, dead, reasons, says, short

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision import decide as original
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.decide import decide
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.plan.steps import plan

PAGE = Path(original.__file__).parents[3] / "docs" / "reference" / "bootstrap.md"
STATES = {"never started": "", "running": "Running", "failed": "Failed", "succeeded": "Succeeded"}
HOSTS = {"runs": "Running", "ended": "Succeeded", "never started": "Absent", "silent": ""}
AGES = {"within": 1799.0, "over": 1800.0}
WANTED = ("nobody", "health check", "user", "deletion")
WORDS = ("there", "dead", "missing", "off")
CONSENT = "giveUpBootstrap:x"


class Case(NamedTuple):
    """One combination of the table's columns."""

    bootstrap: str
    host: str
    bound: str
    wanted: str
    infrastructure: str


ALL = [Case(*each) for each in itertools.product(STATES, HOSTS, AGES, WANTED, WORDS)]


def rows() -> list[tuple[list[set[str]], str]]:
    """The table's rows: the values of each column, and the step."""
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    start = lines.index("| bootstrap | its host | bound | wanted gone | infrastructure | step |") + 2
    found = []
    for line in itertools.takewhile(lambda text: text.startswith("|"), lines[start:]):
        *cells, step = [cell.strip() for cell in line.strip("|").split("|")]
        columns = [{each[column] for each in ALL} for column in range(5)]
        values = [known if cell == "any" else set(cell.split(", ")) for cell, known in zip(cells, columns)]
        assert all(value <= known for value, known in zip(values, columns)), line
        found.append((values, step))
    return found


def steps_of(case: Case) -> list[str]:
    """The steps that the table has for a combination."""
    return [step for values, step in rows() if all(each in value for each, value in zip(case, values))]


def built(case: Case, builder: Builder) -> Builder:
    """A control plane with a machine x like that."""
    age = AGES[case.bound]
    builder.machine("x", STATES[case.bootstrap], age=age)
    if case.bootstrap == "running":
        builder.says("x", HOSTS[case.host])
    if case.wanted == "health check":
        builder.marked("x")
    elif case.wanted == "user":
        builder.annotate(REMEDIATE_MACHINE, "", "x")
    elif case.wanted == "deletion":
        builder.deleting("x")
    if case.infrastructure in ("dead", "missing"):
        builder.entry("x")["infrastructureMachine"]["status"]["state"] = case.infrastructure
    elif case.infrastructure == "off":
        builder.snapshot["policy"] = {"consent": [CONSENT]}
    return builder


def step_of(builder: Builder) -> str:
    """The table's word for what is decided about x."""
    decision = decide(builder.build())
    target = decision["target"] or {}
    if decision["action"] == "blocked":
        return "blocked"
    if target.get("machine") != "x":
        return "keep"
    if decision["action"] == "join":
        said = decision["reasons"][0]["message"]
        return "ask" if "is under way" in said else "start"
    assert decision["action"] == "remove"
    return "replace" if decision["reasons"][0]["reason"] == "MachineUnhealthy" else "remove"


def test_every_combination_is_in_one_row() -> None:
    assert [(case, found) for case in ALL if len(found := steps_of(case)) != 1] == []
    used = {tuple(map(frozenset, values)) for values, _step in rows()}
    assert len(used) == len(rows())


@pytest.mark.parametrize("bootstrap", STATES)
@pytest.mark.parametrize("wanted", WANTED)
def test_each_step(bootstrap: str, wanted: str) -> None:
    """In a control plane of three, which is to have five."""
    for case in ALL:
        if (case.bootstrap, case.wanted) == (bootstrap, wanted):
            assert [step_of(built(case, healthy(3, replicas=5)))] == steps_of(case), case


def test_the_first_machine_goes_by_the_same_table() -> None:
    """Before there is a control plane, where nobody answers at the endpoint; what has succeeded is a control plane."""
    for case in ALL:
        if case.bootstrap != "succeeded":
            builder = built(case, cluster(1))
            decision = decide(builder.build())
            [step] = steps_of(case)
            if (case.bootstrap, case.host, case.infrastructure, step) == ("running", "silent", "there", "remove"):
                assert says(decision) == ("blocked", "InitializationUnknown"), case
                continue
            assert decision["action"] == ("initialize" if step in ("start", "ask") else step), case


class TestASilentFirstMachine:
    """Its kubeadm init may have succeeded since the last look, and then it is the only copy of the data."""

    def builder(self, wanted: str) -> Builder:
        return built(Case("running", "silent", "over", wanted, "there"), cluster(1))

    @pytest.mark.parametrize("wanted", ["health check", "user", "deletion"])
    def test_it_stays_and_the_way_out_is_said(self, wanted: str) -> None:
        builder = self.builder(wanted).endpoint(False)
        [told] = decide(builder.build())["blockedOn"]
        assert told["reason"] == "InitializationUnknown" and f"-e control_plane_consent={CONSENT}" in told["fix"]
        builder.snapshot["policy"] = {"consent": [CONSENT]}
        assert short(decide(builder.build())) == "-x"

    def test_an_api_that_has_no_control_plane_in_it_is_evidence(self) -> None:
        builder = self.builder("user").endpoint(True)
        builder.workload.update(reachable=True, initialized=False)
        assert short(decide(builder.build())) == "-x"

    def test_one_that_failed_goes_though_it_is_silent(self) -> None:
        builder = built(Case("failed", "silent", "over", "user", "there"), cluster(1)).says("x")
        assert short(decide(builder.build())) == "-x"


def test_what_may_run_comes_before_everything() -> None:
    for case in ALL:
        if steps_of(case) == ["ask"]:
            assert step_of(built(case, healthy(5).marked("m2").deleting("m3").wants(version="v1.20.3"))) == "ask", case


def test_what_is_blocked_holds_up_everything_but_a_bootstrap_that_answers() -> None:
    builder = healthy(3, replicas=7).machine("x", "Running", age=60).says("x").deleting("x")
    assert says(decide(builder.build())) == ("blocked", "BootstrapUnknown")
    builder.machine("y", "Running", age=60).says("y", "Running")
    assert decide(builder.build())["target"]["machine"] == "y"


class TestBlocked:
    """A machine that is to go, does not answer, and on which kubeadm may run."""

    def builder(self) -> Builder:
        """It was started 300 s ago."""
        return healthy(3, replicas=5).machine("x", "Running", age=300).says("x").annotate(REMEDIATE_MACHINE, "", "x")

    def test_it_says_until_when_and_what_ends_it_at_once(self) -> None:
        decision = decide(self.builder().build())
        [told] = decision["blockedOn"]
        assert at(300 - 1800) in told["message"] and "no route to host" in told["message"]
        assert at(300 - 1800) in told["fix"] and f"-e control_plane_consent={CONSENT}" in told["fix"]

    def test_what_was_recorded_at_the_start_counts(self) -> None:
        builder = self.builder()
        builder.entry("x")["machine"]["status"]["bootstrap"]["endsAt"] = at(-7200)
        assert at(-7200) in decide(builder.build())["blockedOn"][0]["fix"]
        builder.entry("x")["machine"]["status"]["bootstrap"]["endsAt"] = at(0)
        assert short(decide(builder.build())) == "-x"

    @pytest.mark.parametrize("difference", [-2400.0, 2400.0])
    def test_it_is_over_where_both_clocks_say_so(self, difference: float) -> None:
        """Its end is recorded by a controller's clock, and compared with the workload cluster's."""
        builder = healthy(3, replicas=5).machine("x", "Running", age=1800).says("x").deleting("x")
        assert short(decide(builder.build())) == "-x"
        builder.workload["clockSkewSeconds"] = difference
        decision = decide(builder.build())
        assert says(decision) == ("blocked", "BootstrapUnknown")
        assert "differ by 2400 s" in decision["blockedOn"][0]["fix"]

    def test_another_machines_consent_is_none(self) -> None:
        builder = self.builder()
        builder.snapshot["policy"] = {"consent": ["giveUpBootstrap:y", "recoverSingleVoter:x"]}
        assert says(decide(builder.build())) == ("blocked", "BootstrapUnknown")


class TestMembers:
    """What goes is never taken for a machine without a member where it has one."""

    @pytest.mark.parametrize("wanted", ["user", "deletion"])
    @pytest.mark.parametrize("facts", [{}, {"healthy": False}, {"unnamed": True}, {"unnamed": True, "learner": True}])
    def test_its_member_goes_with_it(self, facts: dict[str, bool], wanted: str) -> None:
        builder = built(Case("running", "silent", "over", wanted, "there"), healthy(5))
        decision = decide(builder.member("x", **facts).build())
        assert (decision["action"], decision["target"]["memberID"]) == ("remove", member_id("x"))

    def test_not_where_the_quorum_would_go_with_it(self) -> None:
        builder = healthy(4, replicas=5).machine("x", "Running", age=2000).says("x").deleting("x").member("x")
        assert "CannotBeRemediated" in reasons(decide(dead(dead(builder, "m2"), "m3").build()))

    def test_it_counts_as_a_retry(self) -> None:
        decision = decide(built(Case("running", "silent", "over", "user", "there"), healthy(3, replicas=5)).build())
        assert decision["remediation"]["machine"] == "x"
        assert "does not answer" in decision["reasons"][0]["message"]


def test_one_that_is_silent_is_named_while_it_is_asked() -> None:
    decision = decide(built(Case("running", "silent", "within", "nobody", "there"), healthy(3, replicas=5)).build())
    assert decision["action"] == "join" and "BootstrapUnknown" in reasons(decision)
    assert "machine x does not answer: no route to host" in decision["reasons"][-1]["message"]


@pytest.mark.parametrize("bootstrap", ["never started", "running", "failed"])
def test_no_stray_is_named_beside_one_that_may_own_it(bootstrap: str) -> None:
    """One that is to stay may own it, and so may one whose bootstrap may run. The others never will."""
    for case in ALL:
        if case.bootstrap == bootstrap:
            builder = built(case, healthy(3, replicas=5)).member("somebody")
            text = condition(decide(builder.build()), "EtcdClusterHealthy")["message"]
            may_run = case.bootstrap == "running" and steps_of(case) != ["remove"]
            named = case.wanted == "deletion" and not may_run
            assert ("has no corresponding Machine" in text) == named, case


class TestNeverStarted:
    """A machine on which kubeadm was never started carries nothing."""

    @pytest.mark.parametrize("first", [True, False])
    def test_a_failure_domain_that_is_gone(self, first: bool) -> None:
        """Its hosts are gone: the provider would look for one there for ever."""
        builder = (
            (cluster(1) if first else healthy(3, replicas=5)).domains("a", "b").machine("x", "", age=60, domain="c")
        )
        builder.entry("x")["infrastructureMachine"]["status"] = {}
        decision = decide(builder.build())
        assert short(decision) == "-x" and "failure domain c" in decision["reasons"][0]["message"]
        placed = plan(builder.build())[1]["target"]["failureDomain"]
        assert placed in ("a", "b")
        builder.domains("a", "b", "c")
        assert decide(builder.build())["target"]["resume"] is True

    def test_one_that_was_made_there_stays(self) -> None:
        builder = healthy(3, replicas=5).domains("a", "b").machine("x", "", age=60, domain="c")
        assert short(decide(builder.build())) == "~x"

    def test_its_removals_are_counted(self) -> None:
        """A provider whose machines die at once does not make them for ever."""
        builder = built(Case("never started", "runs", "over", "nobody", "dead"), healthy(3, replicas=5))
        decision = decide(builder.build())
        assert decision["remediation"] == {"machine": "x", "timestamp": builder.snapshot["now"], "retryCount": 0}

    @pytest.mark.parametrize(
        ("kept", "wanted", "step"),
        [
            ("{{.State}}", "{% raw %}{{.State}}{% endraw %}", "-x"),
            ("{{ local_hostname }} {{ nope }}", "{{ local_hostname }} {% raw %}{{ nope }}{% endraw %}", "-x"),
            # Another machine would be made with the same text.
            ("{{.State}}", "{{.State}}", "~x"),
            # Filled in from now on, though the release that kept it did not.
            ("{{ region }}", "{{ region }}", "~x"),
            ('{{ "{{" }}', '{{ "{{" }}', "~x"),
        ],
    )
    def test_templates_that_an_earlier_release_kept(self, kept: str, wanted: str, step: str) -> None:
        """Escaping them is no change of the machine, and yet it could never be started."""
        builder = healthy(3, replicas=5).machine("x", "", age=60)
        commands = {"preKubeadmCommands": [wanted]}
        for each in builder.snapshot["machines"]:
            each["kubeadmConfig"]["spec"].update(commands)
        builder.snapshot["controlPlane"]["spec"].setdefault("kubeadmConfigSpec", {}).update(commands)
        builder.entry("x")["kubeadmConfig"]["spec"]["preKubeadmCommands"] = [kept]
        assert short(decide(builder.build())) == step

    @pytest.mark.parametrize("wanted", ["outdated", "marked", "dead"])
    def test_one_that_has_a_member_all_the_same_goes_with_it(self, wanted: str) -> None:
        """A power cut took away what its host had written of the start."""
        builder = healthy(2, replicas=3).machine("x", "", age=60).member("x", healthy=False)
        if wanted == "outdated":
            builder.entry("x")["infrastructureMachine"]["metadata"]["annotations"][
                "cluster.x-k8s.io/cloned-from-name"
            ] = "old"
        elif wanted == "marked":
            builder.annotate(REMEDIATE_MACHINE, "", "x")
        else:
            builder.entry("x")["infrastructureMachine"]["status"]["state"] = "dead"
        decision = decide(builder.build())
        assert (decision["action"], decision["target"]["memberID"]) == ("remove", member_id("x"))
        assert "has an etcd member all the same" in decision["reasons"][0]["message"]
        builder.workload["etcd"]["memberListAgrees"] = False
        assert "CannotBeRemediated" in reasons(decide(builder.build()))
