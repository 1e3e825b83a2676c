# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a person reads of a plan."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Callable, Optional

import pytest
from builders import NOW, Builder, cluster, healthy
from rules import runs, upgrade

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.plan.document import make_plan
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.plan.text import WIDTH, plan_text

PAGE = Path(__file__).parents[5].joinpath("docs", "plan.md").read_text(encoding="utf-8")


def named() -> Callable[[str], str]:
    left = [f"prod-{each}" for each in "abcdefgh"]
    return lambda domain: left.pop(0)


def text(builder: Builder, file: Optional[str] = None, fixed: bool = False, **policy: Any) -> str:
    snapshot = builder.build()
    if policy:
        snapshot["policy"] = policy
    return plan_text(make_plan(snapshot, NOW, named() if fixed else None), file)


def lines(builder: Builder, **options: Any) -> list[str]:
    return text(builder, **options).splitlines()


def three(replicas: int = 3) -> Builder:
    builder = cluster(replicas).domains("a", "b", "c")
    for number, domain in enumerate("abc", start=1):
        builder.machine(f"m{number}", age=7200 - number, domain=domain)
    return builder


def too_few_hosts() -> Builder:
    """A new cluster over a pool of three hosts, of which one doesn't fit."""
    builder = cluster(3).bare()
    kubelet = {"check": "KubeletVersion", "message": "kubelet is v1.19.8, and v1.20.2 is wanted"}
    lacks = {"b": [{**kubelet, "fix": "Install v1.20.2 of kubeadm and kubelet, and kubectl."}]}
    builder.snapshot["pool"] = {"group": "kubeadm_pool", "failureDomains": ["a", "b", "c"]}
    builder.snapshot["hosts"] = [
        {"name": f"cp-{number}", "failureDomain": domain, "machine": "", "missing": lacks.get(domain, [])}
        for number, domain in enumerate("abc", start=1)
    ]
    return builder


@pytest.mark.parametrize(
    ("title", "builder", "options"),
    [
        ("a new cluster", cluster(3).bare().domains("a", "b", "c"), {}),
        (
            "a rollout",
            upgrade(runs(three(), "k8s.gcr.io/kube-proxy:v1.20.2")),
            {"fixed": True, "file": "prod.plan.json"},
        ),
        ("nothing to do", three(), {}),
        ("blocked", healthy(3, replicas=2), {}),
        ("too few hosts", too_few_hosts(), {}),
    ],
)
def test_the_examples_in_the_documentation_are_what_is_printed(
    title: str, builder: Builder, options: dict[str, Any]
) -> None:
    blocks = dict(re.findall(r"<!-- example: (.*?) -->\n```text\n(.*?)\n```", PAGE, re.S))
    assert blocks[title] == text(builder, **options)


def test_steps_are_numbered_and_say_target_domain_quorum_and_order() -> None:
    found = lines(cluster(3).bare().domains("a", "b", "c"))
    assert found[0] == "PLAN default/prod   v1.20.2, 3 replicas wanted, no machine exists"
    assert [line for line in found if re.match(r" +\d", line)] == [
        "   1  create the cluster's infrastructure and endpoint",
        "   2  create certificate authorities, keys and the kubeconfig",
        "   3  initialize the control plane on a new machine in failure domain a",
        "   4  join a new machine in failure domain b",
        "   5  join a new machine in failure domain c",
    ]
    assert (
        "      etcd    2 voters, 2 healthy, quorum 2, tolerance 0 -> 3 voters, 2 healthy, quorum 2, tolerance 0"
        in found
    )
    assert found[-1] == "  Then nothing is left to do: 3 of 3 replicas, all up to date."


def test_leadership_and_fixed_names_are_said() -> None:
    found = text(upgrade(healthy(3)), fixed=True, file="prod.plan.json")
    assert "   1  join new machine prod-a\n" in found
    assert "      leader  m1 leads and stays the leader\n" in found
    assert re.search(r"leader  m1 leads; leadership moves to \S+ first", found)


def test_placeholders_are_not_shown_as_names() -> None:
    assert "-new-" not in text(upgrade(healthy(3)))


def test_a_plan_that_is_blocked_says_by_what_and_what_to_do() -> None:
    found = text(healthy(3, replicas=2))
    assert "BLOCKED, a person must act:" in found
    assert "(ReplicasInvalid)" in found
    assert re.search(r"to do +Set spec.replicas to an odd number", found)


def test_a_plan_that_waits_says_for_what() -> None:
    found = text(healthy(3).unreachable())
    assert "It waits here for what changes by itself:" in found and "(APIUnreachable)" in found


def test_consent_is_asked_for_with_what_to_type() -> None:
    found = text(upgrade(healthy(3)), replace="ask")
    assert "needs your consent" in found
    assert "keep the plan (plan with -e control_plane_plan_file=FILE)" in " ".join(found.split())
    kept = " ".join(text(upgrade(healthy(3)), file="/x/p.json", fixed=True, replace="ask").split())
    assert "reconcile with -e control_plane_plan_file=/x/p.json." in kept


def test_lines_are_short_and_plain() -> None:
    for builder in (cluster(5).bare().domains("a"), upgrade(healthy(5)), healthy(3).leads("m2").marked("m2")):
        for line in lines(builder):
            assert len(line) <= WIDTH and line.isprintable(), line


def test_what_hosts_say_cannot_break_the_text() -> None:
    builder: Any = healthy(2, replicas=3).machine("m3", "Failed")
    builder.entry("m3")["machine"]["status"]["bootstrap"]["message"] = "line\nnext\x1b[2J{{ x }}" + "y" * 100_000
    found = text(builder)
    assert len(found) < 6000
    assert all(line.isprintable() for line in found.splitlines())
