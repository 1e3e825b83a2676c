# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""kube-proxy and CoreDNS follow the control plane, only after its last machine, and hold nothing up that nobody asked for."""

from __future__ import annotations

from typing import Any

import pytest
from builders import NOW, Builder, healthy
from rules import runs, upgrade

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.decide import decide
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.decision_text import describe
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.plan.document import make_plan
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.plan.follow import position
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.plan.predict import predict
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.plan.steps import plan
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.snapshot.state_fingerprint import (
    fingerprint,
    state_of,
)

OLD_PROXY = "k8s.gcr.io/kube-proxy:v1.19.7"
PROXY = "k8s.gcr.io/kube-proxy:v1.20.2"
DNS = "k8s.gcr.io/coredns:1.7.0"
DIGEST = "k8s.gcr.io/kube-proxy@sha256:" + "0" * 64
SKIP = "controlplane.cluster.x-k8s.io/skip-"


def configured(builder: Builder, **configuration: Any) -> Builder:
    """clusterConfiguration with these fields besides, of the control plane and of all its machines."""
    for spec in (
        builder.spec["kubeadmConfigSpec"],
        *(each["kubeadmConfig"]["spec"] for each in builder.snapshot["machines"]),
    ):
        spec["clusterConfiguration"].update(configuration)
    return builder


def other_container(builder: Builder) -> Builder:
    """A DaemonSet named kube-proxy without a container of that name."""
    builder.workload["addons"]["kubeProxy"]["image"] = ""
    return builder


def decided(builder: Builder) -> tuple[str, list[str]]:
    """The action, and the add-ons that are its target."""
    decision = decide(builder.build())
    return decision["action"], (decision["target"] or {}).get("addons", [])


@pytest.mark.parametrize(
    ("proxy", "dns", "configuration", "expected"),
    [
        (PROXY, DNS, {}, []),
        (OLD_PROXY, DNS, {}, ["kubeProxy"]),
        (OLD_PROXY, DNS, {"dns": {"imageTag": "1.8.0"}}, ["kubeProxy", "dns"]),
        (PROXY, DNS, {"dns": {"imageTag": "1.8.0"}}, ["dns"]),
        (PROXY, DNS, {"imageRepository": "example.org"}, ["kubeProxy", "dns"]),
        (
            "example.org/kube-proxy:v1.20.2",
            DNS,
            {"imageRepository": "example.org", "dns": {"imageRepository": "k8s.gcr.io"}},
            [],
        ),
        ("", "", {"imageRepository": "example.org", "dns": {"imageTag": "1.8.0"}}, []),
    ],
)
def test_what_runs_is_brought_to_what_is_wanted(
    proxy: str, dns: str, configuration: dict[str, Any], expected: list[str]
) -> None:
    builder = configured(runs(healthy(3), proxy, dns), **configuration)
    assert decided(builder) == ("updateAddons" if expected else "none", expected)


@pytest.mark.parametrize(
    "builder",
    [
        runs(healthy(3), OLD_PROXY).annotate(f"{SKIP}kube-proxy", ""),
        configured(runs(healthy(3), dns=DNS), dns={"imageTag": "1.8.0"}).annotate(f"{SKIP}coredns", ""),
        configured(runs(healthy(3), dns=DNS, corefile=False), dns={"imageTag": "1.8.0"}),
        other_container(runs(healthy(3), OLD_PROXY)),
        # Named by its digest, and nothing is configured that it could contradict.
        runs(healthy(3), dns="k8s.gcr.io/coredns@sha256:" + "0" * 64),
    ],
)
def test_what_is_the_users_own_is_left_alone(builder: Builder) -> None:
    decision = decide(builder.build())
    assert (decision["action"], [each["reason"] for each in decision["reasons"]]) == ("none", ["UpToDate"])


@pytest.mark.parametrize(
    ("builder", "action"),
    [
        (upgrade(runs(healthy(3), PROXY)), "join"),
        (runs(healthy(2, replicas=3), OLD_PROXY), "join"),
        (runs(healthy(5, replicas=3), OLD_PROXY), "remove"),
        (runs(healthy(3), OLD_PROXY).deleting("m3"), "remove"),
        (runs(healthy(3), OLD_PROXY).sick_member("m2"), "wait"),
        (runs(healthy(3), OLD_PROXY).pod("m1", "kube-scheduler"), "wait"),
    ],
)
def test_it_is_the_last_thing_that_is_done(builder: Builder, action: str) -> None:
    assert decided(builder)[0] == action


@pytest.mark.parametrize(
    ("key", "configuration", "expected"),
    [
        ("Corefile-backup", {}, ["dns"]),
        ("Corefile-backup", {"dns": {"imageTag": "1.7.0"}}, ["dns"]),
        ("Corefile", {}, []),
        ("mine", {}, []),
        ("", {}, []),
    ],
)
def test_what_an_upgrade_left_that_was_broken_off_and_taken_back_is_put_back(
    key: str, configuration: dict[str, Any], expected: list[str]
) -> None:
    """CoreDNS runs what is wanted again, and reads its Corefile from the backup that the upgrade made."""
    builder = configured(runs(healthy(3), PROXY, DNS), **configuration)
    builder.workload["addons"]["dns"]["corefileKey"] = key
    assert decided(builder) == ("updateAddons" if expected else "none", expected)
    if expected:
        [done, settled] = plan(builder.build())
        assert "with the key Corefile-backup, as an upgrade left it that was broken off" in describe(done)
        assert settled["action"] == "none"
        assert decided(builder.annotate(f"{SKIP}coredns", "")) == ("none", [])


def test_a_rollout_ends_with_it_once() -> None:
    steps = plan(upgrade(runs(healthy(3), PROXY, DNS)).build())
    assert [step["action"] for step in steps] == [*["join", "remove"] * 3, "updateAddons", "none"]
    assert steps[-2]["target"]["addons"] == ["kubeProxy"]
    assert "kube-proxy runs k8s.gcr.io/kube-proxy:v1.20.2, k8s.gcr.io/kube-proxy:v1.21.1 is wanted" in describe(
        steps[-2]
    )
    assert [each["reason"] for each in steps[-1]["reasons"]] == ["UpToDate"]


@pytest.mark.parametrize(
    ("proxy", "dns", "configuration", "said"),
    [
        (DIGEST, DNS, {}, "kube-proxy continues to run"),
        (PROXY, "k8s.gcr.io/coredns@sha256:" + "0" * 64, {"imageRepository": "k8s.gcr.io"}, "named by its digest"),
    ],
)
def test_what_nobody_asked_for_is_said_and_holds_nothing_up(
    proxy: str, dns: str, configuration: dict[str, Any], said: str
) -> None:
    decision = decide(configured(runs(healthy(3), proxy, dns), **configuration).build())
    assert decision["action"] == "none"
    assert [each["reason"] for each in decision["reasons"]] == ["UpToDate", "AddonNotUpdated"]
    assert said in decision["reasons"][1]["message"]


@pytest.mark.parametrize(
    ("running", "tag", "said"),
    [
        ("k8s.gcr.io/coredns/coredns:v1.8.6", "v1.8.0", "there is no way back for a Corefile"),
        (DNS, "v1.99.0", "none of the releases"),
        ("k8s.gcr.io/coredns:edge", "1.7.0", "'edge' is not a version"),
    ],
)
def test_what_the_user_asked_for_and_cannot_be_is_an_error_once_nothing_else_is_left(
    running: str, tag: str, said: str
) -> None:
    builder = configured(runs(healthy(3), PROXY, running), dns={"imageTag": tag})
    decision = decide(builder.build())
    assert (decision["action"], decision["blockedOn"][0]["reason"]) == ("blocked", "AddonNotUpdated")
    assert said in decision["blockedOn"][0]["message"] and "skip-coredns" in decision["blockedOn"][0]["fix"]
    builder.workload["addons"]["kubeProxy"]["image"] = OLD_PROXY
    assert decided(builder) == ("updateAddons", ["kubeProxy"])
    told = [each["reason"] for each in decide(builder.build())["reasons"]]
    assert told == ["AddonsOutdated", "AddonNotUpdated"]
    assert decide(builder.wants(replicas=5).build())["action"] == "join"


def test_the_fingerprint_tells_what_is_due_and_nothing_else() -> None:
    none, current = healthy(3).build(), runs(healthy(3), PROXY, DNS).build()
    old = runs(healthy(3), OLD_PROXY, DNS).build()
    assert fingerprint(state_of(none)) == fingerprint(state_of(current)) != fingerprint(state_of(old))
    assert state_of(old)["addons"] == {"kubeProxy": "outdated"}
    assert state_of(runs(healthy(3), DIGEST).build())["addons"] == {"kubeProxy": "leftAlone"}
    assert fingerprint(state_of(predict(old, decide(old)))) == fingerprint(state_of(current))


def test_a_plan_is_gone_on_with_where_a_run_was_killed_between_the_two() -> None:
    builder = configured(runs(healthy(3), OLD_PROXY, DNS), dns={"imageTag": "1.8.0"})
    document = make_plan(builder.build(), NOW)
    assert [step["action"] for step in document["steps"]] == ["updateAddons"]
    builder.workload["addons"]["kubeProxy"]["image"] = PROXY
    snapshot = builder.build()
    found = position(document, snapshot, decide(snapshot))
    assert found.step is not None and found.step["step"] == 1
    builder.workload["addons"]["dns"]["image"] = "k8s.gcr.io/coredns:1.8.0"
    snapshot = builder.build()
    assert decide(snapshot)["action"] == "updateAddons", "the old registry has it one folder deeper"
    builder.workload["addons"]["dns"]["image"] = "k8s.gcr.io/coredns/coredns:1.8.0"
    snapshot = builder.build()
    assert position(document, snapshot, decide(snapshot)).ended


def test_what_hosts_say_is_data() -> None:
    decision = decide(runs(healthy(3), "{{ x }}\n\x1b[2J" + "y" * 5000, DNS).build())
    assert decision["action"] == "none"
    assert len(decision["reasons"][1]["message"]) < 1000 and decision["reasons"][1]["message"].isprintable()
