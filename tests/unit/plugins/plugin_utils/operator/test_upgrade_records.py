# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a plan of an upgrade records, and when."""

from __future__ import annotations

import dataclasses
import typing as t

from upgrade_cases import NEW, OLD, THREE, cluster, control_plane, shape, worker

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.operator.planner_types import NodeFacts
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.operator.upgrade.plan import plan


def test_a_version_that_was_not_recorded_is_recorded() -> None:
    """An upgrade that ended before its record is completed by the next one, and nothing else is done."""
    labels = {"rack": "1"}
    done = (control_plane("cp-a", NEW, NEW, labels=labels), control_plane("cp-b", NEW, NEW))

    def planned(recorded: str, *more: NodeFacts, **spec: t.Any) -> list[tuple[str, tuple[str, ...]]]:
        facts = cluster(*done, worker("w", NEW), *more, lowest=NEW, configured=NEW, extra={"recordedVersion": recorded})
        return shape(plan({"targetVersion": NEW, **spec}, facts))

    assert planned(OLD) == [("record", ("cp-b",))]
    assert planned(OLD, nodeSelector={"matchLabels": labels}) == [("record", ("cp-a",))]
    assert planned(OLD, control_plane("cp-c")) == [("upgrade-cp-n", ("cp-c",)), ("record", ("cp-c",))]
    assert planned(OLD, control_plane("cp-c"), nodeSelector={"matchLabels": labels}) == []
    # A newer one is wanted by now: it is not taken back.
    assert planned(NEW) == planned("v1.22.0") == planned("") == []


def test_what_the_store_says_follows() -> None:
    """Each Machine as its components are new; the control plane's version only when all of its Nodes are, so that no rollout follows."""
    some = {"targetVersion": NEW, "nodeSelector": {"matchLabels": {"first": "true"}}}
    nodes = (control_plane("cp-a", labels={"first": "true"}), *THREE[1:])
    groups = plan(some, cluster(*nodes))
    assert [each.name for each in groups] == ["upgrade-cp-1"]
    assert {"recordMachine": {"version": NEW, "certificates": True}} in groups[0].commands
    kept = plan({**some, "certificateRenewal": False}, cluster(*nodes))
    assert {"recordMachine": {"version": NEW}} in kept[0].commands


def test_what_the_store_says_of_workers_follows() -> None:
    """At the end, on no worker; also where an earlier upgrade ended before it, and not where some workers stay behind for good."""
    done: tuple[NodeFacts, ...] = (control_plane("cp-a", NEW, NEW),)
    label = {"cluster.x-k8s.io/deployment-name": "md"}
    new, old, other = worker("w-1", NEW, labels=label), worker("w-2", labels=label), worker("x-1", labels={"pool": "x"})
    record = ("record-w", ("cp-a",))

    def planned(recorded: str, *workers: NodeFacts, **spec: t.Any) -> list[tuple[str, tuple[str, ...]]]:
        extra = {"deployments": {"md": recorded, "empty": OLD}}
        return shape(
            plan({"targetVersion": NEW, **spec}, cluster(*done, *workers, lowest=NEW, configured=NEW, extra=extra))
        )

    assert planned(OLD, new, old) == [("upgrade-w", ("w-2",)), record]
    assert planned(OLD, new) == [record]
    assert planned(NEW, new) == planned("v1.22.0", new) == []
    assert planned(OLD, new, old, other, nodeSelector={"matchLabels": {"pool": "x"}}) == [("upgrade-w", ("x-1",))]
    down = dataclasses.replace(done[0], ready=False)
    done = (down, control_plane("cp-b", NEW, NEW))
    pool = {"nodeSelector": {"matchLabels": label}}
    assert planned(OLD, old, **pool) == [("upgrade-w", ("w-2",)), ("record-w", ("cp-b",))]
