# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Versions that may not meet in one cluster (the Kubernetes version skew policy).

Source: docs/reference/cluster_api.md, "Admission rules", "Preflight checks".
"""

from __future__ import annotations

import pytest
from builders import Builder, at, cluster, healthy
from rules import ALLOW_PATCH_DOWNGRADE, check, etcd_version, external, outdate, reasons, says, upgrade

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.decide import decide


def running(*versions: str) -> Builder:
    """A control plane of machines of these versions, the last one's wanted."""
    builder = cluster(len(versions), versions[-1])
    for number, version in enumerate(versions, start=1):
        builder.machine(f"m{number}", age=9000 - number)
        builder.entry(f"m{number}")["machine"]["spec"]["version"] = version
        builder.workload["nodes"][-1]["kubeletVersion"] = version
    return builder


def with_workers(builder: Builder, versions: dict[str, int]) -> Builder:
    """So many workers whose kubelets have these versions."""
    names = [f"w{number}" for number in range(sum(versions.values()))]
    builder.workload.update(workerVersions=versions, workerNodes=names)
    return builder


# What runs, what is wanted, and whether the replacement may be made.
STEPS: list[tuple[tuple[str, ...], str, str]] = [
    (("v1.20.2",), "v1.20.3", ""),
    (("v1.20.2",), "v1.21.0", ""),
    (("v1.20.2",), "v1.21.9", ""),
    (("v1.20.2",), "v1.22.0", "VersionSkew"),
    (("v1.20.2",), "v2.0.0", "VersionSkew"),
    (("v1.20.2",), "v1.20.1", "VersionDowngrade"),
    (("v1.20.2",), "v1.19.9", "VersionDowngrade"),
    (("v2.0.0",), "v1.20.2", "VersionDowngrade"),
    (("v1.9.9",), "v1.10.0", ""),
    (("v1.20.2", "v1.20.2", "v1.21.0"), "v1.21.0", ""),
    (("v1.20.2", "v1.20.2", "v1.21.0"), "v1.21.1", ""),
    (("v1.20.2", "v1.20.2", "v1.21.0"), "v1.22.0", "VersionSkew"),
    (("v1.20.2", "v1.20.2", "v1.21.0"), "v1.20.2", "VersionDowngrade"),
    (("v1.20.2", "v1.20.2", "v1.21.0"), "v1.20.5", "VersionDowngrade"),
    (("v1.21.0-rc.1",), "v1.21.0", ""),
    (("v1.21.0-alpha.10",), "v1.21.0-beta.1", ""),
    (("v1.21.0-alpha.9",), "v1.21.0-alpha.10", ""),
    (("v1.21.0",), "v1.21.0-rc.1", "VersionDowngrade"),
    (("v1.21.0-rc.2",), "v1.21.0-rc.1", "VersionDowngrade"),
    (("v1.20.2",), "v1.21.0-alpha.1", ""),
    (("v1.20.2",), "v1.22.0-alpha.1", "VersionSkew"),
    (("v1.21.0-rc.1",), "v1.22.0", ""),
    (("v1.20.2+first",), "v1.20.2+second", ""),
]


@pytest.mark.parametrize(("there", "wanted", "refused"), STEPS)
@pytest.mark.parametrize("etcd", ["stacked", "external"])
def test_steps(there: tuple[str, ...], wanted: str, refused: str, etcd: str) -> None:
    builder = upgrade(running(*there), wanted)
    if etcd == "external":
        external(builder)
    decision = decide(builder.build())
    if refused:
        assert says(decision) == ("blocked", refused)
        assert decision["blockedOn"][0]["fix"]
        assert check(decision, "VersionSkew") == "fail"
    else:
        assert (decision["action"], check(decision, "VersionSkew")) == ("join", "pass")


@pytest.mark.parametrize(
    ("there", "wanted", "allowed"),
    [
        ("v1.20.2", "v1.20.1", True),
        ("v1.21.0", "v1.21.0-rc.1", True),
        ("v1.20.2", "v1.19.9", False),
        ("v1.21.0-rc.1", "v1.20.9", False),
    ],
)
def test_a_user_may_go_back_within_a_minor(there: str, wanted: str, allowed: bool) -> None:
    decision = decide(upgrade(running(there), wanted).annotate(ALLOW_PATCH_DOWNGRADE, "true").build())
    assert says(decision) == (("join", "RollingOut") if allowed else ("blocked", "VersionDowngrade"))


@pytest.mark.parametrize(
    ("there", "wanted", "workers", "allowed"),
    [
        ("v1.20.2", "v1.21.0", {}, True),
        ("v1.20.2", "v1.21.0", {"v1.20.2": 5}, True),
        ("v1.20.2", "v1.21.0", {"v1.19.0": 5}, True),
        ("v1.20.2", "v1.21.0", {"v1.18.20": 1, "v1.20.2": 99}, False),
        ("v1.26.0", "v1.27.0", {"v1.25.0": 1}, True),
        ("v1.26.0", "v1.27.0", {"v1.24.0": 1}, False),
        ("v1.27.0", "v1.28.0", {"v1.25.0": 1}, True),
        ("v1.27.0", "v1.28.0", {"v1.24.9": 1}, False),
        ("v1.20.2", "v1.20.3", {"v1.21.0": 1}, False),
        ("v1.20.2", "v1.21.0", {"v1.22.0": 1}, False),
        ("v1.20.2", "v1.21.0", {"v1.21.0": 1}, True),
    ],
)
def test_workers(there: str, wanted: str, workers: dict[str, int], allowed: bool) -> None:
    builder = with_workers(upgrade(running(there), wanted), workers)
    assert says(decide(builder.build())) == (("join", "RollingOut") if allowed else ("blocked", "VersionSkew"))


def test_workers_that_were_not_asked_for_stop_nothing() -> None:
    assert decide(upgrade(running("v1.20.2")).build())["action"] == "join"


def test_every_new_machine_is_checked_not_only_a_rollouts() -> None:
    builder = with_workers(healthy(1, replicas=3), {"v1.22.0": 3})
    assert says(decide(builder.build())) == ("blocked", "VersionSkew")


def test_nothing_is_checked_where_nothing_joins() -> None:
    builder = with_workers(healthy(5, replicas=3), {"v1.29.0": 3})
    assert decide(builder.build())["action"] == "remove"
    builder = with_workers(healthy(2, replicas=3).machine("m3", "Running", age=20), {"v1.29.0": 3})
    assert decide(builder.build())["action"] == "join"


def test_another_cause_of_a_rollout_passes_the_check() -> None:
    decision = decide(outdate(healthy(3), "m1").build())
    assert (decision["action"], check(decision, "VersionSkew")) == ("join", "pass")


@pytest.mark.parametrize("text", ["", "latest", "{{ version }}", "v1", "1.20", "x" * 100000])
def test_a_workers_version_that_is_none_is_just_text(text: str) -> None:
    builder = with_workers(healthy(1, replicas=3), {text: 3})
    assert decide(builder.build())["action"] in ("join", "blocked", "wait")


@pytest.mark.parametrize("text", ["", "unknown"])
def test_a_machines_version_that_is_none_is_no_downgrade(text: str) -> None:
    builder = healthy(3)
    builder.entry("m2")["machine"]["spec"]["version"] = text
    decision = decide(upgrade(builder).build())
    assert "VersionDowngrade" not in reasons(decision)


def with_etcd(builder: Builder, *releases: str) -> Builder:
    """The members of m1, m2, ... give these versions; "" gives none."""
    for number, release in enumerate(releases, start=1):
        etcd_version(builder, release or None, f"m{number}")
    return builder


def with_tag(builder: Builder, tag: str) -> Builder:
    """The spec names another image of etcd."""
    builder.spec["kubeadmConfigSpec"].setdefault("clusterConfiguration", {})["etcd"] = {"local": {"imageTag": tag}}
    return builder


# Kubernetes and etcd that run, the version that is wanted, and whether a machine of it may be made (etcd's upgrade guides).
ETCD_STEPS: list[tuple[str, tuple[str, ...], str, bool]] = [
    ("v1.33.0", ("3.5.19",), "v1.34.0", False),
    ("v1.33.0", ("3.5.20",), "v1.34.0", True),
    ("v1.33.0", ("3.5.24", "3.5.24", "3.5.9"), "v1.34.0", False),
    ("v1.33.0", ("3.6.4", "3.5.24", "3.5.24"), "v1.34.0", True),
    ("v1.33.0", ("3.6.4", "3.5.15", "3.5.24"), "v1.34.0", False),
    ("v1.33.0", ("3.4.13",), "v1.34.0", False),
    ("v1.33.0", ("3.5.15",), "v1.33.5", True),
    ("v1.36.0", ("3.6.10",), "v1.37.0", False),
    ("v1.36.0", ("3.6.11",), "v1.37.0", True),
    ("v1.37.0", ("3.7.0",), "v1.38.0", True),
    # A member that gives no version: what its machine's kubeadm chose.
    ("v1.33.0", ("",), "v1.34.0", True),
    ("v1.36.0", ("",), "v1.37.0", False),
]


@pytest.mark.parametrize(("there", "releases", "wanted", "allowed"), ETCD_STEPS)
@pytest.mark.parametrize("surge", [1, 0])
def test_an_etcd_that_is_too_old_for_the_next_one(
    there: str, releases: tuple[str, ...], wanted: str, allowed: bool, surge: int
) -> None:
    count = 3 if surge == 0 else len(releases)
    builder = upgrade(with_etcd(running(*([there] * count)), *(releases * count)[:count]), wanted)
    builder.wants(rollout={"strategy": {"rollingUpdate": {"maxSurge": surge}}})
    decision = decide(builder.build())
    if allowed:
        assert (decision["action"], check(decision, "VersionSkew")) == ("join" if surge else "remove", "pass")
    else:
        assert says(decision) == ("blocked", "EtcdTooOld")
        assert check(decision, "VersionSkew") == "fail"
        assert "imageTag" in decision["blockedOn"][0]["fix"]


def test_the_etcd_that_a_spec_names_is_judged_not_the_versions_own() -> None:
    older = with_tag(upgrade(with_etcd(running("v1.33.0"), "3.5.15"), "v1.34.0"), "3.5.24-0")
    assert decide(older.build())["action"] == "join"
    newer = with_tag(with_etcd(running("v1.33.0"), "3.5.15"), "3.6.4-0")
    assert says(decide(newer.build())) == ("blocked", "EtcdTooOld")
    unread = with_tag(upgrade(with_etcd(running("v1.33.0"), "3.5.15"), "v1.34.0"), "our-build")
    assert says(decide(unread.build())) == ("blocked", "EtcdTooOld")


def test_an_etcd_that_is_not_the_machines_own_is_not_judged_here() -> None:
    builder = external(upgrade(with_etcd(running("v1.33.0"), "3.5.9"), "v1.34.0"))
    assert decide(builder.build())["action"] == "join"


def test_a_machine_that_was_made_is_not_started_beside_an_etcd_that_is_too_old() -> None:
    """Its objects may come from a release that did not ask, or from before the members were restored."""
    builder = upgrade(with_etcd(running("v1.33.0", "v1.33.0", "v1.33.0"), "3.5.15", "3.5.15", "3.5.15"), "v1.34.0")
    builder.machine("m4", "", age=20).snapshot["controlPlane"]["status"]["rollout"] = {"replicas": 3}
    assert says(decide(builder.build())) == ("blocked", "EtcdTooOld")
    builder.entry("m4")["machine"]["status"] = {"bootstrap": {"state": "Running", "startedAt": at(20)}}
    assert decide(builder.build())["action"] == "join"


def test_a_scale_up_is_asked_too() -> None:
    """A control plane of 1.34 whose etcd was left behind (an upgrade with etcdUpgrade: false)."""
    builder = with_etcd(running("v1.34.0"), "3.5.15").wants(replicas=3)
    assert says(decide(builder.build())) == ("blocked", "EtcdTooOld")
