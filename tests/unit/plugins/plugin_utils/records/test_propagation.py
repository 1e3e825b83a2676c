# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a machine template says of its machines reaches them without a rollout.

Source: docs/reference/cluster_api.md, "Propagation".
"""

from __future__ import annotations

import typing as t

import pytest
from stored_manifest import Kept

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.records import machine_objects as machine_objects
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.records.cluster_objects import (
    KUBEADM_CONFIG,
    MACHINE,
    ClusterObjects,
    Object,
)

RECORD = "kubeadm.control-plane/from-machine-template"


def objects_of(kept: Kept) -> ClusterObjects:
    """The cluster's objects."""
    found = ClusterObjects.read(kept.store, "default", "my-cluster")
    assert found is not None
    return found


def machine(kept: Kept) -> str:
    """Make a machine's three objects and return its name."""
    return machine_objects.create_machine(objects_of(kept), "init", None, "")


def three(kept: Kept, name: str) -> list[Object]:
    """Machine, InfraMachine and KubeadmConfig of a machine."""
    found = objects_of(kept)
    return [t.cast(Object, found.machine(name)), found.infrastructure_machines[name], found.kubeadm_configs[name]]


def template(kept: Kept) -> Object:
    """The manifest's machine template."""
    return t.cast(Object, kept.spec["machineTemplate"])


def give(kept: Kept, **metadata: t.Any) -> list[str]:
    """Write metadata into the machine template of the manifest and apply it."""
    template(kept)["metadata"] = metadata
    return kept.apply()


def forget_record(kept: Kept, name: str) -> None:
    """As the objects of a release without the record are."""
    for reference, obj in zip((MACHINE, None, KUBEADM_CONFIG), three(kept, name)):
        kind = reference or ("infrastructure.cluster.x-k8s.io", obj["kind"])
        kept.store.modify(kind, "default", name, lambda stored: stored["metadata"]["annotations"].pop(RECORD, None))


def test_labels_and_annotations_reach_all_three_objects_once(kept: Kept) -> None:
    """Changed once, and the second time nothing; no new machine."""
    name = machine(kept)
    changes = give(kept, labels={"team": "a"}, annotations={"example.com/cost": "7"})
    assert [change for change in changes if "in place" in change] == [
        f"change {kind} default/{name} in place: metadata.annotations.example.com/cost, metadata.labels.team"
        for kind in ("Machine", "NspawnMachine", "KubeadmConfig")
    ]
    for obj in three(kept, name):
        assert obj["metadata"]["labels"]["team"] == "a"
        assert obj["metadata"]["annotations"]["example.com/cost"] == "7"
    before = kept.files()
    assert kept.apply() == [] and kept.files() == before


def test_what_leaves_the_template_leaves_the_objects_and_the_users_own_stays(kept: Kept) -> None:
    """Only what came from the template is taken away."""
    give(kept, labels={"team": "a", "tier": "gold"})
    name = machine(kept)
    kept.store.modify(MACHINE, "default", name, lambda stored: stored["metadata"]["labels"].update(mine="x"))
    give(kept, labels={"tier": "silver"})
    labels = three(kept, name)[0]["metadata"]["labels"]
    assert labels["tier"] == "silver" and labels["mine"] == "x" and "team" not in labels
    assert labels["cluster.x-k8s.io/cluster-name"] == "my-cluster"
    give(kept)
    for obj in three(kept, name):
        assert "tier" not in obj["metadata"]["labels"] and RECORD not in obj["metadata"]["annotations"]
    assert three(kept, name)[0]["metadata"]["labels"]["mine"] == "x"


def test_objects_of_a_release_without_the_record(kept: Kept) -> None:
    """What they were made with is told from the template as it was stored; the user's own key of that name stays."""
    give(kept, labels={"team": "a", "tier": "gold"})
    name = machine(kept)
    forget_record(kept, name)
    kept.store.modify(MACHINE, "default", name, lambda stored: stored["metadata"]["labels"].update(tier="mine"))
    give(kept)
    found, infrastructure, config = three(kept, name)
    assert "team" not in found["metadata"]["labels"] and found["metadata"]["labels"]["tier"] == "mine"
    assert not {"team", "tier"} & {*infrastructure["metadata"]["labels"], *config["metadata"]["labels"]}


def test_a_cluster_without_template_metadata_is_not_rewritten(kept: Kept) -> None:
    """Taking a new release changes nothing where there is nothing to propagate."""
    name = machine(kept)
    forget_record(kept, name)
    before = kept.files()
    assert kept.apply() == [] and kept.files() == before


def test_timeouts_and_readiness_gates_reach_the_machine(kept: Kept) -> None:
    """They are the Machine's alone; what is taken away is, and a user's own stays."""
    name = machine(kept)
    mine, theirs = {"conditionType": "Mine"}, {"conditionType": "Theirs"}
    kept.store.modify(MACHINE, "default", name, lambda stored: stored["spec"].update(readinessGates=[mine]))
    template(kept)["spec"].update(deletion={"nodeDrainTimeoutSeconds": 60}, readinessGates=[theirs])
    changes = kept.apply()
    spec = three(kept, name)[0]["spec"]
    assert spec["deletion"] == {"nodeDrainTimeoutSeconds": 60} and spec["readinessGates"] == [mine, theirs]
    assert f"change Machine default/{name} in place: spec.deletion, spec.readinessGates" in changes
    del template(kept)["spec"]["readinessGates"]
    template(kept)["spec"]["deletion"] = {"nodeDeletionTimeoutSeconds": 5}
    kept.apply()
    spec = three(kept, name)[0]["spec"]
    assert spec["deletion"] == {"nodeDeletionTimeoutSeconds": 5} and spec["readinessGates"] == [mine]


def test_taints_reach_the_machine_by_key_and_effect(kept: Kept) -> None:
    """Machines that exist and new ones have them; a user's own stays, and what leaves the template leaves the Machine."""
    name = machine(kept)
    mine = {"key": "mine", "effect": "NoExecute", "propagation": "Always"}
    rack = {"key": "example.com/rack", "value": "7", "effect": "NoSchedule", "propagation": "Always"}
    kept.store.modify(MACHINE, "default", name, lambda stored: stored["spec"].update(taints=[mine]))
    template(kept)["spec"]["taints"] = [rack, {**rack, "effect": "NoExecute"}]
    assert f"change Machine default/{name} in place: spec.taints" in kept.apply()
    assert three(kept, name)[0]["spec"]["taints"] == [mine, rack, {**rack, "effect": "NoExecute"}]
    assert three(kept, machine(kept))[0]["spec"]["taints"] == [rack, {**rack, "effect": "NoExecute"}]
    template(kept)["spec"]["taints"] = [{**rack, "value": "8"}]
    kept.apply()
    assert three(kept, name)[0]["spec"]["taints"] == [mine, {**rack, "value": "8"}]
    template(kept)["spec"]["taints"] = []
    kept.apply()
    assert three(kept, name)[0]["spec"]["taints"] == [mine]
    before = kept.files()
    assert kept.apply() == [] and kept.files() == before


def test_min_ready_seconds_reach_the_machine_and_leave_it_again(kept: Kept) -> None:
    """As other fields that need no rollout; the annotation asks for it, as Cluster API has no field for it there."""
    name = machine(kept)
    metadata = kept.documents[1]["metadata"]
    metadata["annotations"] = {"kubeadm.control-plane/min-ready-seconds": "30"}
    assert f"change Machine default/{name} in place: spec.minReadySeconds" in kept.apply()
    assert three(kept, name)[0]["spec"]["minReadySeconds"] == 30
    assert three(kept, machine(kept))[0]["spec"]["minReadySeconds"] == 30
    metadata["annotations"] = {"kubeadm.control-plane/min-ready-seconds": "0"}
    kept.apply()
    assert three(kept, name)[0]["spec"]["minReadySeconds"] == 0
    del metadata["annotations"]
    kept.apply()
    assert not three(kept, name)[0]["spec"].get("minReadySeconds")
    before = kept.files()
    assert kept.apply() == [] and kept.files() == before


def test_a_machine_that_goes_gets_the_timeouts_only(kept: Kept) -> None:
    """Its labels are nobody's business any more, and how long its drain may take is."""
    name = machine(kept)
    kept.store.delete(MACHINE, "default", name)
    template(kept)["spec"]["deletion"] = {"nodeDrainTimeoutSeconds": 60}
    give(kept, labels={"team": "a"})
    found, infrastructure, config = three(kept, name)
    assert found["spec"]["deletion"] == {"nodeDrainTimeoutSeconds": 60}
    assert not any("team" in each["metadata"]["labels"] for each in (found, infrastructure, config))


@pytest.mark.parametrize("switch", ["spec", "annotation"])
def test_nothing_is_propagated_while_paused(kept: Kept, switch: str) -> None:
    """Both switches; it comes when the pause ends."""
    name = machine(kept)
    if switch == "spec":
        kept.documents[0]["spec"]["paused"] = True
    else:
        kept.documents[1]["metadata"]["annotations"] = {"cluster.x-k8s.io/paused": ""}
    give(kept, labels={"team": "a"})
    assert not any("team" in each["metadata"]["labels"] for each in three(kept, name))
    kept.documents[0]["spec"].pop("paused", None)
    kept.documents[1]["metadata"].pop("annotations", None)
    kept.apply()
    assert all(each["metadata"]["labels"]["team"] == "a" for each in three(kept, name))


def test_the_template_does_not_overrule_controllers(kept: Kept) -> None:
    """Which cluster a machine belongs to is not a template's choice."""
    name = machine(kept)
    give(
        kept, labels={"cluster.x-k8s.io/cluster-name": "other"}, annotations={"cluster.x-k8s.io/cloned-from-name": "x"}
    )
    assert not any("in place" in change for change in kept.apply())
    found, infrastructure, _config = three(kept, name)
    assert found["metadata"]["labels"]["cluster.x-k8s.io/cluster-name"] == "my-cluster"
    assert infrastructure["metadata"]["annotations"]["cluster.x-k8s.io/cloned-from-name"] == "my-nspawnmachinetemplate"


def test_a_damaged_record_takes_nothing_away(kept: Kept) -> None:
    """What a person has broken must not delete labels."""
    give(kept, labels={"team": "a"})
    name = machine(kept)
    kept.store.modify(MACHINE, "default", name, lambda stored: stored["metadata"]["annotations"].update({RECORD: "[1"}))
    give(kept)
    assert three(kept, name)[0]["metadata"]["labels"]["team"] == "a"
