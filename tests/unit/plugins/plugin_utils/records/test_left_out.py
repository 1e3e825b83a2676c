# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Fields that a manifest leaves out keep what is stored: another one may have set them."""

from __future__ import annotations

import itertools
import typing as t
from pathlib import Path

import pytest
from racing_store import RacingStore
from stored_manifest import Kept, example

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.records.cluster_objects import CONTROL_PLANE

TIME = "2026-01-31T10:00:00Z"


def stored(kept: Kept) -> dict[str, t.Any]:
    """The spec of the stored KubeadmControlPlane."""
    found = kept.store.get(CONTROL_PLANE, "default", "my-control-plane")
    assert found is not None
    return t.cast("dict[str, t.Any]", found["spec"])


def store(kept: Kept, replicas: int, after: t.Optional[str] = None) -> None:
    """Somebody else's change of the stored object."""

    def change(found: dict[str, t.Any]) -> None:
        found["spec"]["replicas"] = replicas
        if after is not None:
            found["spec"]["rollout"]["after"] = after

    kept.store.modify(CONTROL_PLANE, "default", "my-control-plane", change)


@pytest.mark.parametrize("form", ["v1alpha3", "v1beta1", "v1beta2"])
@pytest.mark.parametrize("null", [False, True])
def test_what_is_left_out_is_never_reverted(kept: Kept, form: str, null: bool) -> None:
    """In every API version; a null says nothing either."""
    store(kept, 5, TIME)
    documents = example(form)
    del documents[1]["spec"]["replicas"]
    if null:
        documents[1]["spec"]["replicas"] = None
    before = kept.files()
    assert kept.apply(documents) == []
    assert kept.files() == before and stored(kept)["rollout"]["after"] == TIME


def test_a_scale_in_the_middle_of_an_apply_holds(kept: Kept) -> None:
    """Whenever it comes: the manifest's own change is there too, told once, and nothing is left to do."""
    kept.spec["replicas"] = None
    plain = kept.store

    def scale(replicas: int) -> None:
        plain.modify(
            CONTROL_PLANE, "default", "my-control-plane", lambda found: found["spec"].update(replicas=replicas)
        )

    for number in itertools.count(1):
        scale(3)
        name = f"example.com/turn-{number}"
        kept.documents[1]["metadata"]["annotations"] = {name: ""}
        racing = kept.store = RacingStore(plain.directory, CONTROL_PLANE, number, lambda: scale(5))
        changes = kept.apply()
        if not racing.raced:
            break
        assert [each.partition(":")[0] for each in changes] == ["change KubeadmControlPlane default/my-control-plane"]
        found = plain.get(CONTROL_PLANE, "default", "my-control-plane") or {}
        assert found["spec"]["replicas"] == 5 and name in found["metadata"]["annotations"], number
        assert kept.apply() == []
    assert number > 3


def test_what_is_stated_counts(kept: Kept) -> None:
    """A field of the manifest is the manifest's."""
    store(kept, 5, TIME)
    kept.spec["replicas"] = 1
    kept.spec["rollout"]["after"] = "2026-02-01T00:00:00Z"
    assert kept.apply() == [
        "change KubeadmControlPlane default/my-control-plane: spec.replicas, spec.rollout.after",
    ]
    assert stored(kept)["replicas"] == 1


def test_other_changes_do_not_touch_it(kept: Kept) -> None:
    """A manifest without replicas changes what it states and nothing else."""
    store(kept, 5)
    del kept.spec["replicas"]
    kept.spec["version"] = "v1.20.4"
    assert kept.apply() == ["change KubeadmControlPlane default/my-control-plane: spec.version"]
    assert stored(kept)["replicas"] == 5


def test_the_default_holds_when_a_cluster_is_made(tmp_path: Path) -> None:
    """Only then is one machine what leaving it out means."""
    kept = Kept(tmp_path)
    del kept.spec["replicas"]
    kept.apply()
    assert stored(kept)["replicas"] == 1


def test_rules_judge_the_stored_number(kept: Kept) -> None:
    """maxSurge 0 needs three machines: those that are stored count, not the default of a new cluster."""
    kept.spec["rollout"]["strategy"]["rollingUpdate"]["maxSurge"] = 0
    del kept.spec["replicas"]
    assert kept.apply() == [
        "change KubeadmControlPlane default/my-control-plane: spec.rollout.strategy.rollingUpdate.maxSurge"
    ]
    store(kept, 1)
    refused = kept.refused()
    assert list(refused) == ["spec.rollout.strategy.rollingUpdate.maxSurge"]
    store(kept, 4)
    assert list(kept.refused()) == ["spec.replicas"]


def test_a_new_cluster_is_judged_by_its_default(tmp_path: Path) -> None:
    """maxSurge 0 with one machine is refused as ever."""
    kept = Kept(tmp_path)
    kept.spec["rollout"]["strategy"]["rollingUpdate"]["maxSurge"] = 0
    del kept.spec["replicas"]
    assert list(kept.refused()) == ["spec.rollout.strategy.rollingUpdate.maxSurge"]
