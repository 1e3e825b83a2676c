# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Existing hosts that machines are to be made of: nothing is changed while too few of them fit.

The fault: docs/faults.md, "images are missing where none can be pulled".
"""

from __future__ import annotations

import typing as t

import pytest
from builders import Builder, cluster, healthy

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.decide import decide
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.plan.document import make_plan

Object = dict[str, t.Any]
IMAGE = {
    "check": "ImagePull",
    "message": "images are not there (k8s.gcr.io/etcd:3.4.13-0), and k8s.gcr.io can't be reached from here",
    "fix": "Load them.",
}
SWAP = {"check": "Swap", "message": "swap is on", "fix": "swapoff -a"}
OLD = {"check": "KubeletVersion", "message": "kubelet is v1.20.2, and v1.20.3 is wanted", "fix": "Install v1.20.3."}
CLAIMED = {"check": "Claim", "message": "claimed by cluster default/other, machine m", "fix": "Take another host."}
ACTIONS = ["createInfrastructure", "createCertificates", "initialize", "join", "join"]


def pool(builder: Builder, domains: str = "", used: t.Sequence[str] = (), **hosts: list[dict[str, str]]) -> Builder:
    """What hosts lack; ``domains`` has a letter for each host, and of ``used`` each has a machine of the cluster, m1 and so on."""
    builder.snapshot["pool"] = {"group": "pool", "failureDomains": sorted(set(domains))}
    builder.snapshot["hosts"] = [
        {"name": name, "missing": missing, "failureDomain": domains[index : index + 1], "machine": ""}
        for index, (name, missing) in enumerate(hosts.items())
    ] + [{"name": f"host-of-{name}", "missing": [OLD], "failureDomain": "", "machine": name} for name in used]
    return builder


def result(decision: Object) -> str:
    """What the check says."""
    [found] = [each["result"] for each in decision["preflight"] if each["check"] == "HostsAvailable"]
    return str(found)


def planned(builder: Builder) -> tuple[list[str], str, str]:
    """The plan's steps, what it ends with and why."""
    document = make_plan(builder.build(), "2026-01-31T12:00:00Z")
    end = document["end"]
    return [each["action"] for each in document["steps"]], end["action"], end["reasons"][0]["message"]


def fresh(replicas: int) -> Builder:
    """A control plane of which there is nothing yet but its foundation."""
    return cluster(replicas).endpoint(False)


def rollout(surge: int) -> Builder:
    """Three machines of which each is to be replaced by one of another version."""
    builder = healthy(3).wants(version="v1.20.3")
    builder.spec["rollout"] = {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": surge}}}
    return builder


@pytest.mark.parametrize("builder", [cluster(3).bare(), fresh(3), healthy(1, replicas=3)], ids=["bare", "init", "join"])
def test_too_few_hosts_that_fit_stop_everything(builder: Builder) -> None:
    decision = decide(pool(builder, cp1=[], cp2=[IMAGE], cp3=[SWAP], cp4=[IMAGE, SWAP]).build())
    [reason] = [each for each in decision["blockedOn"] if each["reason"] in ("ImagesMissing", "HostsMissing")]
    needed = 2 if builder.snapshot["machines"] else 3
    assert (decision["action"], result(decision)) == ("blocked", "fail")
    assert reason["message"].startswith(
        f"{needed} free hosts of the inventory group pool are needed, and 1 fits. cp2: images are not there (k8s.gcr.io/etcd:3.4.13-0)"
    )
    if needed == 2:
        # With its images one more would fit: for the join that is enough, and then that is what is said.
        assert reason["reason"] == "ImagesMissing" and reason["fix"].startswith("Load them. Or add a host")
        assert "cp3" not in reason["message"] and "cp4" not in reason["message"]
    else:
        assert reason["reason"] == "HostsMissing" and "cp3: swap is on (Swap)" in reason["message"]
        assert "reached from here (ImagePull); swap is on (Swap)" in reason["message"]
        assert reason["fix"].startswith("Mend one of these hosts, or add a host to the group.")
    assert "check_hosts" in reason["fix"]


def test_what_is_nearest_to_fitting_is_said_first() -> None:
    decision = decide(pool(fresh(1), cp1=[IMAGE, SWAP], cp2=[SWAP]).build())
    message = decision["blockedOn"][0]["message"]
    assert message.index("cp2: ") < message.index("cp1: ")


def test_failure_domains_of_which_no_host_says_that_it_is_in_one() -> None:
    """Declared for the cluster, and the template names no variable."""
    builder = pool(fresh(1).domains("a"), cp1=[])
    decision = decide(builder.build())
    assert decision["action"] == "blocked" and decision["blockedOn"][0]["fix"].startswith("Name the variable")


@pytest.mark.parametrize(
    ("builder", "action"),
    [
        (cluster(3).bare(), "createInfrastructure"),
        (fresh(1), "initialize"),
        (healthy(1, replicas=3), "join"),
        # Every machine more makes etcd stronger here, also where there is no host for the last ones.
        (healthy(2, replicas=5), "join"),
        (healthy(1, replicas=5), "join"),
    ],
)
def test_enough_hosts_fit(builder: Builder, action: str) -> None:
    replicas = builder.spec["replicas"]
    hosts = {f"cp{number}": [] for number in range(2, 5 if replicas == 3 and action.startswith("create") else 4)}
    decision = decide(pool(builder, cp1=[IMAGE], **hosts).build())
    assert decision["action"] == action
    if not action.startswith("create"):
        assert result(decision) == "pass"


def test_where_no_host_was_asked_nothing_is_said_of_them() -> None:
    decision = decide(healthy(1, replicas=3).build())
    assert (decision["action"], result(decision)) == ("join", "skip")


def test_a_control_plane_that_cannot_be_completed_is_not_begun() -> None:
    """Five replicas on four hosts; with a fifth the plan comes to its end."""
    four: dict[str, list[Object]] = {f"cp{number}": [] for number in range(1, 5)}
    steps, end, why = planned(pool(cluster(5).bare(), **four))
    assert (steps, end) == ([], "blocked")
    assert why == "5 free hosts of the inventory group pool are needed, and 4 fit"
    steps, end, _why = planned(pool(cluster(5).bare(), **four, cp5=[]))
    assert (steps, end) == ([*ACTIONS, "join", "join"], "none")


def test_growing_by_two_with_one_host() -> None:
    """The fourth alone would make etcd weaker; with an external etcd it does not."""
    builder = pool(healthy(3, replicas=5), cp4=[])
    assert planned(builder)[:2] == ([], "blocked")
    for spec in (
        builder.spec["kubeadmConfigSpec"],
        *(each["kubeadmConfig"]["spec"] for each in builder.snapshot["machines"]),
    ):
        spec["clusterConfiguration"]["etcd"] = {"external": {}}
    steps, end, why = planned(builder)
    assert (steps, end) == (["join"], "blocked") and why.startswith("1 free host of")


def test_each_failure_domain_needs_its_own() -> None:
    """Where they go is decided by the pool's failure domains, before the infrastructure has recorded them."""
    hosts: dict[str, list[Object]] = {f"cp{number}": [] for number in range(1, 5)}
    steps, end, why = planned(pool(cluster(3).bare(), "aabb", **hosts))
    assert (steps, end) == (ACTIONS, "none")
    steps, end, why = planned(pool(cluster(3).bare(), "aabb", **{**hosts, "cp3": [SWAP], "cp4": [SWAP]}))
    assert (steps, end) == ([], "blocked")
    assert "1 in the failure domain b, where none fits. cp3: swap is on (Swap). cp4: " in why


def test_the_plan_says_where_each_machine_goes_before_the_infrastructure_is_there() -> None:
    hosts: dict[str, list[Object]] = {f"cp{number}": [] for number in range(1, 4)}
    document = make_plan(pool(cluster(3).bare(), "abc", **hosts).build(), "2026-01-31T12:00:00Z")
    assert [each["target"]["failureDomain"] for each in document["steps"][2:]] == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("surge", "free", "action"), [(1, [], "join"), (1, [IMAGE], "blocked"), (0, [], "remove"), (0, [IMAGE], "blocked")]
)
def test_a_rollout_does_not_begin_without_a_host_for_its_first_machine(
    surge: int, free: list[dict[str, str]], action: str
) -> None:
    """Without surge nothing is taken away for a machine that can't be made."""
    assert decide(pool(rollout(surge), cp9=free).build())["action"] == action


def test_a_rollout_needs_a_spare_host() -> None:
    """With maxSurge 1 the new machine is made first."""
    builder = pool(rollout(1), used=["m1", "m2", "m3"])
    assert "maxSurge 0" in decide(builder.build())["blockedOn"][0]["fix"]
    steps, end, why = planned(builder)
    assert (steps, end) == ([], "blocked") and why == "1 free host of the inventory group pool is needed, and none fits"


@pytest.mark.parametrize(("surge", "steps"), [(1, ["join", "remove"]), (0, ["remove"])])
def test_a_plan_ends_where_the_host_that_was_given_back_does_not_fit(surge: int, steps: list[str]) -> None:
    """It has the old version until a person has upgraded it; once all of them have the new one, the plan comes to its end."""
    builder = pool(rollout(surge), used=["m1", "m2", "m3"], **({"cp4": []} if surge else {}))
    taken, end, why = planned(builder)
    assert (taken, end) == (steps, "blocked")
    assert "host-of-m1: kubelet is v1.20.2, and v1.20.3 is wanted (KubeletVersion)" in why
    for each in builder.snapshot["hosts"]:
        each["missing"] = []
    taken, end, _why = planned(builder)
    assert (taken[:6], end) == ((["join", "remove"] if surge else ["remove", "join"]) * 3, "none")


def test_without_surge_images_that_its_own_host_cannot_have_stop_it() -> None:
    """Versions can be installed once the host was given back."""
    builder = pool(rollout(0), used=["m1", "m2", "m3"])
    assert decide(builder.build())["action"] == "remove"
    for each in builder.snapshot["hosts"]:
        each["missing"] = [OLD, IMAGE]
    decision = decide(builder.build())
    assert (decision["action"], decision["reasons"][0]["reason"]) == ("blocked", "ImagesMissing")


def test_the_removal_that_ends_a_replacement_is_not_held_back() -> None:
    builder = healthy(4, replicas=3).wants(version="v1.20.3")
    builder.entry("m4")["machine"]["spec"]["version"] = "v1.20.3"
    builder.snapshot["controlPlane"]["status"]["rollout"] = {"replicas": 3}
    assert decide(pool(builder, cp9=[IMAGE]).build())["action"] == "remove"


def test_a_machine_that_is_ill_goes_whether_or_not_there_is_a_host_for_the_next() -> None:
    """What follows is said in the plan."""
    builder = healthy(3)
    builder.entry("m3")["machine"]["metadata"]["annotations"]["cluster.x-k8s.io/remediate-machine"] = ""
    steps, end, _why = planned(pool(builder, cp9=[SWAP]))
    assert (steps, end) == (["remove"], "blocked")


def hostless(builder: Builder, name: str, domain: str = "") -> Builder:
    """A machine that was made in the store, and for which no host was found."""
    builder.machine(name, state="", domain=domain, init=not builder.snapshot["machines"])
    builder.entry(name)["infrastructureMachine"]["status"] = {"claim": {}}
    return builder


@pytest.mark.parametrize(("domain", "blocked"), [("", False), ("a", False), ("b", True)])
def test_a_machine_that_was_begun_without_a_host_needs_one_too(domain: str, blocked: bool) -> None:
    """In the failure domain that it was made for; who gives it up may have it made elsewhere."""
    builder = pool(hostless(fresh(1), "m1", domain), "ab", cp1=[], cp2=[SWAP])
    both = [{"name": each, "controlPlane": True} for each in "ab"]
    builder.snapshot["infrastructureCluster"]["status"]["failureDomains"] = both
    decision = decide(builder.build())
    assert (decision["action"], result(decision)) == (("blocked", "fail") if blocked else ("initialize", "pass"))
    if blocked:
        assert "remediate with --limit CLUSTER -e control_plane_machines=m1" in decision["blockedOn"][0]["fix"]
        builder.entry("m1")["machine"]["metadata"]["annotations"]["cluster.x-k8s.io/remediate-machine"] = ""
        assert decide(builder.build())["action"] == "remove"


def test_a_machine_that_has_its_host_is_gone_on_with() -> None:
    builder = hostless(healthy(3, replicas=5), "m4")
    builder.entry("m4")["infrastructureMachine"]["status"] = {"claim": {"inventoryHost": "cp4", "state": "Claiming"}}
    decision = decide(pool(builder, cp5=[SWAP]).build())
    assert (decision["action"], decision["target"]["machine"]) == ("join", "m4")


def test_hosts_of_machines_prepared_ahead_are_there() -> None:
    builder = healthy(1, replicas=3)
    metadata = {"name": "ahead", "annotations": {"kubeadm.control-plane/prepared-failure-domain": ""}}
    claim = {"claim": {"inventoryHost": "cp2", "state": "Claimed"}}
    builder.snapshot["preparedMachines"] = [{"kind": "InventoryMachine", "metadata": metadata, "status": claim}]
    assert decide(pool(builder, cp3=[]).build())["action"] == "join"
    assert decide(pool(builder, cp3=[SWAP]).build())["action"] == "blocked"


@pytest.mark.parametrize("builder", [healthy(1, replicas=3), rollout(1)], ids=["growing", "rollout"])
def test_no_host_is_missing_where_all_machines_are_prepared_ahead(builder: Builder) -> None:
    """A pool of exactly as many hosts as replicas has none left then."""
    metadata = {"annotations": {"kubeadm.control-plane/prepared-failure-domain": ""}}
    builder.snapshot["preparedMachines"] = [
        {
            "kind": "InventoryMachine",
            "metadata": {"name": f"ahead-{host}", **metadata},
            "status": {"claim": {"inventoryHost": host, "state": "Claimed"}},
        }
        for host in ("cp2", "cp3")
    ]
    decision = decide(pool(builder, cp2=[CLAIMED], cp3=[CLAIMED]).build())
    assert (decision["action"], result(decision)) == ("join", "pass")


@pytest.mark.parametrize(
    ("builder", "action"),
    [
        (cluster(3).bare(), "blocked"),
        (fresh(3), "blocked"),
        (healthy(1, replicas=3), "blocked"),
        # Also who removes a machine that works, so that another one can be made.
        (rollout(1), "blocked"),
        (rollout(0), "blocked"),
    ],
)
def test_what_was_found_beforehand_stops_whoever_wants_to_make_a_machine(builder: Builder, action: str) -> None:
    builder.snapshot["obstacles"] = [{"reason": "HostPoolInvalid", "message": "no group pol", "fix": "Correct it."}]
    decision = decide(builder.build())
    assert (decision["action"], decision["blockedOn"][0]["reason"]) == (action, "HostPoolInvalid")


def test_nobody_else_is_stopped_by_it() -> None:
    builder = healthy(3)
    builder.snapshot["obstacles"] = [{"reason": "HostPoolInvalid", "message": "no group pol", "fix": "Correct it."}]
    assert decide(builder.build())["action"] == "none"
