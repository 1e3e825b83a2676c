# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which machine goes: five levels, then the failure domain, then the oldest.

Source: docs/reference/cluster_api.md, "Selection of a machine".
"""

from __future__ import annotations

import pytest
from builders import Builder, cluster, healthy
from rules import DELETE_MACHINE, external, lasting, outdate, says, upgrade, victim, walked

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.decide import decide


def marked(marks: dict[str, str]) -> Builder:
    """Five machines of which three are wanted. o: outdated, d: delete annotation, f: its scheduler fails, u: nobody knows."""
    builder = healthy(5)
    for name, letters in marks.items():
        if "o" in letters:
            outdate(builder, name)
        if "d" in letters:
            builder.annotate(DELETE_MACHINE, "", name)
        if "f" in letters:
            builder.pod(name, "kube-scheduler", phase="Failed")
        if "u" in letters:
            builder.node(name, ready="Unknown")
    return builder.wants(replicas=3)


@pytest.mark.parametrize(
    ("marks", "chosen"),
    [
        ({}, "m1"),
        ({"m4": "o"}, "m4"),
        ({"m2": "o", "m4": "o"}, "m2"),
        ({"m2": "o", "m4": "of"}, "m4"),
        ({"m2": "o", "m4": "d"}, "m4"),
        ({"m2": "d", "m4": "d"}, "m2"),
        ({"m2": "of", "m4": "d"}, None),
        ({"m2": "o", "m3": "d", "m4": "od"}, "m4"),
        ({"m3": "od", "m4": "od"}, "m3"),
        ({"m3": "odf", "m2": "o"}, "m3"),
        ({"m3": "df"}, "m3"),
    ],
)
def test_five_levels(marks: dict[str, str], chosen: object) -> None:
    assert victim(marked(marks)) == chosen


def test_an_up_to_date_machine_in_trouble_is_not_preferred_and_stops_it() -> None:
    decision = decide(lasting(marked({"m4": "f"})).build())
    assert decision["action"] in ("wait", "blocked")
    assert says(decision)[1] == "ComponentFailed"


@pytest.mark.parametrize(
    ("component", "facts"),
    [
        ("kube-apiserver", {"phase": "Failed"}),
        ("kube-controller-manager", {"phase": "Pending"}),
        ("kube-scheduler", {}),
        ("etcd", {"phase": "Failed"}),
        ("member", {}),
    ],
)
def test_every_component_that_is_false_counts(component: str, facts: dict[str, str]) -> None:
    builder = marked({"m2": "o", "m4": "o"})
    if component == "member":
        builder.sick_member("m4")
    else:
        builder.pod("m4", component, **facts)
    assert victim(builder) == "m4"


def test_unknown_is_not_false_here() -> None:
    # Were m4 chosen, nothing else would be wrong and it would go; m2 is, and m4 stops the step.
    decision = decide(marked({"m2": "o", "m4": "ou"}).build())
    assert says(decision) == ("wait", "ComponentUnknown")
    assert victim(marked({"m4": "od", "m2": "of"})) is None


def test_a_node_that_is_not_ready_does_not_count() -> None:
    assert victim(marked({"m2": "o", "m4": "o"}).node("m4", ready="False")) == "m2"


def placed(domains: str, places: list[str], old: str = "", wanted: int = 3) -> Builder:
    """Machines m1 (the oldest), m2, ... in these failure domains; ``old`` lists the numbers of those that are outdated."""
    builder = cluster(len(places))
    if domains:
        builder.domains(*domains)
    for number, domain in enumerate(places, start=1):
        builder.machine(f"m{number}", age=9000 - number, domain=domain)
    return outdate(builder, *(f"m{number}" for number in old)).wants(replicas=wanted)


@pytest.mark.parametrize(
    ("what", "domains", "places", "old", "chosen"),
    [
        ("most candidates", "ab", ["a", "a", "b", "b", "b"], "", "m3"),
        ("most candidates, not most machines", "ab", ["a", "b", "b", "b", "a"], "15", "m1"),
        ("as many candidates, more machines", "abc", ["a", "b", "b", "b", "c"], "13", "m3"),
        ("as many of both, first by name", "ab", ["b", "b", "a", "a"], "", "m3"),
        ("oldest within the domain", "ab", ["a", "b", "b", "b", "a"], "43", "m3"),
        ("a domain that is gone", "ab", ["a", "a", "b", "gone", "b"], "", "m4"),
        ("the oldest of those in domains that are gone", "ab", ["a", "a", "x", "y", "y"], "", "m3"),
        ("no domain", "ab", ["a", "a", "b", "", "b"], "", "m4"),
        ("a domain that is gone does not beat the level", "ab", ["a", "b", "gone", "b", "a"], "2", "m2"),
        ("no domain known", "", ["a", "b", "b", "b", "b"], "", "m1"),
        ("no domain anywhere", "", ["", "", "", "", ""], "", "m1"),
    ],
)
def test_failure_domains(what: str, domains: str, places: list[str], old: str, chosen: str) -> None:
    wanted = 3 if len(places) == 5 else 1
    assert victim(placed(domains, places, old, wanted)) == chosen


@pytest.mark.parametrize("domains", ["", "ab"])
def test_the_domain_is_told_where_there_is_one(domains: str) -> None:
    told = decide(placed(domains, list("abbba") if domains else [""] * 5).build())["quorum"]["whyThisOrder"]
    assert ("in failure domain" in told, "in failure domain b" in told) == (bool(domains), bool(domains))
    assert "not up to date" not in told, "that is why a rollout removes it"


def test_a_domain_that_takes_no_control_planes_any_more_is_gone() -> None:
    builder = placed("ab", ["a", "a", "b", "c", "b"])
    listed = builder.snapshot["infrastructureCluster"]["status"]["failureDomains"]
    listed.append({"name": "c", "controlPlane": False})
    assert victim(builder) == "m4"


def test_equally_old_machines_go_by_name() -> None:
    builder = cluster(3).machine("m3").machine("m2").machine("m1").wants(replicas=1)
    assert victim(builder) == "m1"


def test_the_rollout_takes_from_the_largest_domain_too() -> None:
    builder = placed("ab", ["a", "b", "b"], wanted=3)
    assert victim(walked(upgrade(builder), 1)) == "m2"


@pytest.mark.parametrize("marks", [{}, {"m4": "d"}])
def test_external_etcd_is_no_difference(marks: dict[str, str]) -> None:
    assert victim(external(marked(marks))) == ("m4" if marks else "m1")
