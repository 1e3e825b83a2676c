# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which new values a changed manifest may have: versions, etcd, CoreDNS, replicas."""

from __future__ import annotations

import copy
import typing as t
from pathlib import Path

import pytest
from stored_manifest import CONFIGURATION, Kept

from ansible_collections.kubeadm.control_plane.plugins.module_utils.common.violations import Report
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects.validate.update import validate_scale
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.records.cluster_objects import CONTROL_PLANE

ALLOW_DOWNGRADE = "kubeadm.control-plane/allow-patch-downgrade"


@pytest.mark.parametrize(
    ("old", "new", "annotated", "says"),
    [
        ("v1.20.2", "v1.20.9", False, ""),
        ("v1.20.2", "1.21.0", False, ""),
        ("v1.20.2", "v1.21.0-rc.1", False, ""),
        ("v1.20.2", "v1.22.0", False, "more than one minor"),
        ("v1.20.2", "v1.22.0-alpha.1", False, "more than one minor"),
        ("v1.20.2", "v1.20.1", False, ALLOW_DOWNGRADE),
        ("v1.20.2", "v1.20.2-rc.0", False, ALLOW_DOWNGRADE),
        ("v1.20.2", "v1.20.1", True, ""),
        ("v1.20.2", "v1.19.9", True, "does not support downgrades"),
        ("v1.20.2", "v1.20.2+build", False, ""),
        ("", "v1.20.2", False, "is no version"),
        ("latest", "v1.20.2", False, "'latest'"),
    ],
)
def test_versions(kept: Kept, old: str, new: str, annotated: bool, says: str) -> None:
    """At most one minor version up, never down but within a minor version by consent."""
    kept.store.modify(
        CONTROL_PLANE, "default", "my-control-plane", lambda stored: stored["spec"].update(version=old or None)
    )
    kept.spec["version"] = new
    if annotated:
        kept.documents[1]["metadata"]["annotations"] = {ALLOW_DOWNGRADE: "true"}
    if says:
        violation = kept.refused()["spec.version"]
        assert says in violation.rule + violation.fix
    else:
        kept.apply()


def test_two_upgrades_are_not_taken_in_one(kept: Kept) -> None:
    """The second waits until no machine runs the version before the first."""
    kept.spec["version"] = "v1.21.3"
    kept.apply()
    kept.store.modify(
        CONTROL_PLANE, "default", "my-control-plane", lambda stored: stored.update(status={"version": "v1.20.2"})
    )
    kept.spec["version"] = "v1.22.0"
    assert "which some of its machines still run" in kept.refused()["spec.version"].rule


@pytest.mark.parametrize(
    ("seen", "taken_back"),
    [
        ([{"version": "v1.20.2", "replicas": 3}], "v1.20.2"),
        ([{"version": "v1.20.2", "replicas": 3}], "v1.20.4"),
        ([], "v1.19.1"),
    ],
)
def test_a_version_that_no_machine_runs_may_be_taken_back(
    kept: Kept, seen: list[dict[str, t.Any]], taken_back: str
) -> None:
    """A typing error must not be for ever: what counts is what is there."""
    kept.spec["version"] = "v1.21.3"
    kept.apply()
    kept.store.modify(
        CONTROL_PLANE, "default", "my-control-plane", lambda stored: stored.update(status={"versions": seen})
    )
    kept.spec["version"] = taken_back
    kept.apply()


def test_what_one_machine_runs_is_not_taken_back(kept: Kept) -> None:
    seen = [{"version": "v1.20.2", "replicas": 3}, {"version": "v1.21.3", "replicas": 1}]
    kept.spec["version"] = "v1.21.3"
    kept.apply()
    kept.store.modify(
        CONTROL_PLANE, "default", "my-control-plane", lambda stored: stored.update(status={"versions": seen})
    )
    kept.spec["version"] = "v1.20.2"
    assert "older than v1.21.3" in kept.refused()["spec.version"].rule


@pytest.mark.parametrize("nulls", [{}, {"a": None}])
def test_null_is_the_same_as_leaving_out(tmp_path: Path, nulls: dict[str, None]) -> None:
    """An API keeps none, a file does, and a cluster can be moved: the stored words stay, and no warning is given."""
    kept, changes = Kept(tmp_path), ["not applied"]
    for each in (nulls, {} if nulls else {"a": None}):
        content = {"conntrack": {"min": 1, **each}, "nodePortAddresses": [{"b": 1, **each}], **each}
        parts = dict.fromkeys(("kubeletConfiguration", "kubeProxyConfiguration"), content)
        kept.spec["kubeadmConfigSpec"].update(copy.deepcopy(parts))
        kept.documents[2]["spec"]["template"]["spec"] = {"image": "i", **each}
        changes = kept.apply()
    assert changes == [] and kept.warnings == []


@pytest.mark.parametrize("part", ["kubeletConfiguration", "kubeProxyConfiguration"])
@pytest.mark.parametrize("empty", [{}, {"b": None}, [], "", 0, False])
def test_an_empty_part_of_a_components_configuration_stays(tmp_path: Path, part: str, empty: t.Any) -> None:
    """Without evictionHard the kubelet has thresholds, with an empty one it has none; every machine would be replaced for it."""
    for stored, stated, verb in ((empty, None, "removed"), (None, empty, "set")):
        kept = Kept(tmp_path / verb)
        kept.folder.mkdir(parents=True)
        kept.spec["kubeadmConfigSpec"][part] = {"a": stored}
        kept.apply()
        kept.spec["kubeadmConfigSpec"][part] = {"a": stated}
        (path, violation), *others = kept.refused().items()
        assert (path, others) == (f"spec.kubeadmConfigSpec.{part}.a", [])
        assert f"cannot be {verb}" in violation.rule and violation.value is None


def test_etcd_stays_where_it_is(kept: Kept) -> None:
    """Local and external are not exchanged, in either direction."""
    local = copy.deepcopy(kept.documents)
    path = f"{CONFIGURATION}.etcd.external"
    kept.configuration["etcd"] = {"external": {"endpoints": ["http://10.0.0.1:2379"]}}
    assert "cannot become external" in kept.refused()[path].rule
    kept.store.modify(
        CONTROL_PLANE,
        "default",
        "my-control-plane",
        lambda stored: stored["spec"]["kubeadmConfigSpec"]["clusterConfiguration"].update(kept.configuration),
    )
    kept.documents = local
    assert "external etcd cannot become" in kept.refused()[path].rule


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("1.7.0", "v1.8.0", ""),
        ("1.7.0", "1.8.1", "none of the releases"),
        ("v1.8.0", "1.7.0", "older"),
        ("v9.9.9", "v9.9.9-build.2", ""),
        ("1.7.0", "latest", "'latest'"),
        ("master", "1.8.0", "'master'"),
        (None, "1.9.3", ""),
        ("1.7.0", None, ""),
    ],
)
def test_coredns_is_changed_only_where_its_configuration_can_be_migrated(
    kept: Kept, old: t.Optional[str], new: t.Optional[str], says: str
) -> None:
    """Equal releases and unknown ones on one side pass; the annotation leaves CoreDNS to the user."""
    if old:
        kept.configuration["dns"] = {"imageTag": old}
        kept.apply()
    kept.configuration["dns"] = {"imageTag": new} if new else {}
    if says:
        violation = kept.refused()[f"{CONFIGURATION}.dns.imageTag"]
        assert says in violation.rule and f"{old!r}" in violation.rule
        kept.documents[1]["metadata"]["annotations"] = {"controlplane.cluster.x-k8s.io/skip-coredns": ""}
    kept.apply()


def test_replicas_follow_the_same_rules_as_on_creation(kept: Kept) -> None:
    """0 and even numbers, as the scale subresource refuses them."""
    for replicas in (0, 2):
        kept.spec["replicas"] = replicas
        assert "spec.replicas" in kept.refused()


@pytest.mark.parametrize(
    ("replicas", "surge", "external", "says"),
    [
        (3, 1, False, ""),
        (1, 1, False, ""),
        (2, 1, True, ""),
        (0, 1, True, "at least one"),
        (-1, 1, False, "at least one"),
        (4, 1, False, "odd"),
        (1, 0, False, "maxSurge 0"),
        (True, 1, False, "whole number"),
        ("3", 1, False, "whole number"),
        (None, 1, False, "whole number"),
    ],
)
def test_scaling_has_the_rules_of_the_scale_subresource(
    kept: Kept, replicas: t.Any, surge: int, external: bool, says: str
) -> None:
    """A number of replicas alone, for a stored control plane."""
    kept.spec["rollout"]["strategy"]["rollingUpdate"]["maxSurge"] = surge
    if external:
        kept.configuration["etcd"] = {"external": {"endpoints": ["http://10.0.0.1:2379"]}}
    report = Report("KubeadmControlPlane default/my-control-plane")
    validate_scale(kept.documents[1], replicas, report)
    assert [violation.path for violation in report.violations] == (["spec.replicas"] if says else [])
    assert all(says in violation.rule for violation in report.violations)
