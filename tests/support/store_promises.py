# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of what every store promises (``store/base.py``): of files in tests/unit, of a real API server in tests/integration."""

from __future__ import annotations

import copy
import json
import typing as t

import pytest
from store_objects import MACHINE, SECRET, machine, secret

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store import base
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.base import Object, Store
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.kubernetes.applied import RECORD

WHERE = (MACHINE, "default", "m-1")


class StorePromises:
    """Tests that a store passes; the fixture ``store`` gives an empty one."""

    def test_what_is_not_there(self, store: Store) -> None:
        assert store.get(*WHERE) is None
        assert store.list(MACHINE) == []
        for call in (
            lambda: store.delete(*WHERE),
            lambda: store.update(machine(resourceVersion="1")),
            lambda: store.modify(*WHERE, lambda found: None),
        ):
            with pytest.raises(base.NotFound, match="Machine default/m-1 does not exist"):
                call()

    def test_create_sets_the_stores_own_fields(self, store: Store) -> None:
        created = store.create(
            machine(uid="mine", resourceVersion="7", generation=9, deletionTimestamp="2020-01-01T00:00:00Z")
        )
        metadata = created["metadata"]
        assert metadata["uid"] != "mine" and len(metadata["uid"]) == 36
        assert metadata["resourceVersion"] != "7"
        assert metadata["generation"] == 1
        assert metadata["creationTimestamp"].endswith("Z")
        assert "deletionTimestamp" not in metadata
        assert store.get(*WHERE) == created

    def test_create_keeps_the_status(self, store: Store) -> None:
        created = store.create({**machine(), "status": {"phase": "Running"}})
        assert created["status"] == {"phase": "Running"}
        assert store.get(*WHERE) == created

    def test_create_twice_is_refused(self, store: Store) -> None:
        created = store.create(machine())
        with pytest.raises(base.AlreadyExists, match="Machine default/m-1 exists already"):
            store.create(machine())
        assert store.get(*WHERE) == created

    def test_what_is_returned_is_a_copy(self, store: Store) -> None:
        store.create(machine())["spec"]["version"] = "changed by the caller"
        found = store.get(*WHERE)
        assert found is not None and found["spec"]["version"] == "v1.20.2"
        found["spec"]["version"] = "changed by the caller"
        assert store.list(MACHINE)[0]["spec"]["version"] == "v1.20.2"

    def test_update_moves_generation_only_with_spec(self, store: Store) -> None:
        created = store.create(machine())
        created["status"] = {"phase": "Running"}
        updated = store.update(created)
        assert updated["status"] == {"phase": "Running"}
        assert updated["metadata"]["generation"] == 1
        assert updated["metadata"]["resourceVersion"] != created["metadata"]["resourceVersion"]
        updated["spec"]["version"] = "v1.21.0"
        assert store.update(updated)["metadata"]["generation"] == 2
        assert store.get(*WHERE)["status"] == {"phase": "Running"}  # type: ignore[index]

    def test_spec_status_and_metadata_in_one_update(self, store: Store) -> None:
        created = store.create(machine(labels={"a": "1"}))
        created["status"] = {"phase": "Running"}
        created["spec"]["version"] = "v1.21.0"
        created["metadata"]["labels"] = {"b": "2"}
        updated = store.update(created)
        assert (updated["status"], updated["spec"]["version"]) == ({"phase": "Running"}, "v1.21.0")
        assert updated["metadata"]["labels"] == {"b": "2"}
        assert store.get(*WHERE) == updated

    def test_what_a_status_does_not_have_any_more_is_gone(self, store: Store) -> None:
        store.create({**machine(), "status": {"phase": "Running", "nodeRef": {"name": "n"}}})
        store.modify(*WHERE, lambda found: found["status"].pop("nodeRef"))
        assert store.get(*WHERE)["status"] == {"phase": "Running"}  # type: ignore[index]

    def test_update_that_changes_nothing_writes_nothing(self, store: Store) -> None:
        created = store.create({**machine(labels={"a": "1"}), "status": {"phase": "Running"}})
        reordered = dict(reversed(list(copy.deepcopy(created).items())))
        reordered["metadata"]["generation"] = 55
        assert store.update(reordered) == created
        assert store.modify(*WHERE, lambda found: found["spec"].get("version")) == created

    @pytest.mark.parametrize("part", ["spec", "status", "metadata"])
    def test_update_of_an_old_version_is_a_conflict(self, store: Store, part: str) -> None:
        created = store.create(machine())
        store.update({**created, "status": {"phase": "Running"}})
        late = copy.deepcopy(created)
        late.setdefault(part, {}).update(
            {"spec": {"version": "v2"}, "status": {"phase": "Failed"}}.get(part, {"labels": {"a": "b"}})
        )
        with pytest.raises(base.Conflict, match="was changed by someone else"):
            store.update(late)
        found = store.get(*WHERE)
        assert found is not None and found["status"] == {"phase": "Running"} and found["spec"] == created["spec"]

    def test_update_without_a_version_is_a_conflict(self, store: Store) -> None:
        store.create(machine())
        with pytest.raises(base.Conflict, match=r"names no metadata\.resourceVersion"):
            store.update(machine())

    def test_update_of_an_object_made_anew_is_a_conflict(self, store: Store) -> None:
        old = store.create(machine())
        store.delete(*WHERE)
        new = store.create(machine())
        assert new["metadata"]["resourceVersion"] != old["metadata"]["resourceVersion"]
        forged = copy.deepcopy(old)
        forged["metadata"]["resourceVersion"] = new["metadata"]["resourceVersion"]
        with pytest.raises(base.Conflict, match="deleted and created again"):
            store.update(forged)

    def test_modify_takes_changes_in_place_and_whole_objects_only(self, store: Store) -> None:
        store.create(machine())
        in_place = store.modify(*WHERE, lambda found: found["spec"].pop("version"))
        assert in_place["spec"] == {"clusterName": "prod"}
        returned = store.modify(*WHERE, lambda found: {**found, "spec": {"clusterName": "other"}})
        assert returned["spec"] == {"clusterName": "other"}

    def test_modify_meets_a_change_made_meanwhile(self, store: Store) -> None:
        store.create(machine(annotations={"some": "thing"}))
        seen: list[str] = []

        def change(found: Object) -> None:
            if not seen:
                store.modify(*WHERE, lambda other: other["metadata"]["annotations"].update(other="here"))
            seen.append(found["metadata"]["resourceVersion"])
            found["metadata"]["annotations"]["mine"] = "too"

        annotations = store.modify(*WHERE, change)["metadata"]["annotations"]
        assert annotations == {"some": "thing", "other": "here", "mine": "too"}
        assert len(seen) == 2

    def test_what_came_from_a_template_is_known_again(self, store: Store) -> None:
        """By an annotation: as it was written in files, by the managed fields in an API (store/applied.py)."""
        gate, mine = {"conditionType": "Agent"}, {"conditionType": "Mine"}
        rack = {"key": "example.com/rack", "effect": "NoSchedule", "propagation": "Always"}
        taints = [rack, {**rack, "effect": "NoExecute", "value": "7"}]
        made = machine(labels={"a": "1", "team": "a"}, annotations={"b": "2", "cost": "7"})
        made["spec"].update(
            deletion={"nodeDrainTimeoutSeconds": 60}, readinessGates=[mine, gate], minReadySeconds=5, taints=taints
        )
        record = {"annotations": ["cost"], "deletion": ["nodeDrainTimeoutSeconds"], "labels": ["team"]}
        record.update(
            minReadySeconds=["minReadySeconds"], readinessGates=["Agent"], taints=["example.com/rack:NoExecute"]
        )
        made["metadata"]["annotations"][RECORD] = json.dumps(record)
        created = store.create(made)
        assert created["metadata"]["annotations"] == made["metadata"]["annotations"]
        assert created["metadata"]["labels"] == made["metadata"]["labels"]
        assert {key: created["spec"][key] for key in made["spec"]} == made["spec"]
        assert store.get(*WHERE) == created and store.list(MACHINE) == [created]
        assert store.modify(*WHERE, lambda found: None) == created

        def change(found: Object) -> None:
            del found["metadata"]["labels"]["team"], found["spec"]["deletion"], found["spec"]["minReadySeconds"]
            found["spec"].update(readinessGates=[mine], taints=[rack])
            found["metadata"]["annotations"].update({"cost": "8", RECORD: json.dumps({"annotations": ["cost"]})})
            found["spec"]["version"] = "v1.21.0"
            found["status"] = {"phase": "Running"}

        changed = store.modify(*WHERE, change)
        assert changed["metadata"]["labels"] == {"a": "1"}
        assert changed["metadata"]["annotations"] == {
            "b": "2",
            "cost": "8",
            RECORD: json.dumps({"annotations": ["cost"]}),
        }
        assert changed["spec"] == {
            "clusterName": "prod",
            "version": "v1.21.0",
            "readinessGates": [mine],
            "taints": [rack],
        }
        assert changed["status"] == {"phase": "Running"} and store.get(*WHERE) == changed
        late = copy.deepcopy(created)
        late["metadata"]["annotations"]["cost"] = "9"
        with pytest.raises(base.Conflict):
            store.update(late)

        def nothing(found: Object) -> None:
            del found["metadata"]["annotations"]["cost"], found["metadata"]["annotations"][RECORD]

        assert store.modify(*WHERE, nothing)["metadata"]["annotations"] == {"b": "2"}
        assert store.get(*WHERE)["metadata"]["annotations"] == {"b": "2"}  # type: ignore[index]

    def test_delete(self, store: Store) -> None:
        created = store.create(machine())
        with pytest.raises(base.Conflict):
            store.delete(*WHERE, resource_version="1")
        assert store.delete(*WHERE, created["metadata"]["resourceVersion"]) is None
        assert store.get(*WHERE) is None
        with pytest.raises(base.NotFound):
            store.delete(*WHERE)

    def test_finalizers_keep_a_deleted_object(self, store: Store) -> None:
        created = store.create(machine(finalizers=["example.org/a", "example.org/b"]))
        marked = store.delete(*WHERE)
        assert marked is not None and marked["metadata"]["deletionTimestamp"].endswith("Z")
        assert marked["metadata"]["generation"] == created["metadata"]["generation"] + 1
        assert store.delete(*WHERE) == marked
        fewer = store.modify(*WHERE, lambda found: found["metadata"].update(finalizers=["example.org/b"]))
        assert store.get(*WHERE) == fewer
        store.modify(*WHERE, lambda found: found["metadata"].update(finalizers=[]))
        assert store.get(*WHERE) is None

    def test_the_last_finalizer_goes_with_a_status(self, store: Store) -> None:
        store.create(machine(finalizers=["example.org/a"]))
        store.delete(*WHERE)

        def end(found: Object) -> None:
            found["status"] = {"phase": "Deleted"}
            found["metadata"].pop("finalizers")

        store.modify(*WHERE, end)
        assert store.get(*WHERE) is None

    @pytest.mark.parametrize("deletion", ["2026-01-01T00:00:00Z", None])
    def test_deletion_is_not_a_matter_of_updates(self, store: Store, deletion: t.Optional[str]) -> None:
        store.create(machine(finalizers=["example.org/a"]))
        if deletion is None:
            store.delete(*WHERE)
        with pytest.raises(base.StoreError, match=r"deletionTimestamp.*Call delete"):
            store.modify(*WHERE, lambda found: found["metadata"].update(deletionTimestamp=deletion))

    def test_list_orders_and_selects(self, store: Store) -> None:
        for namespace, name, labels in (
            ("b", "x", {"k": "1"}),
            ("a", "z", {"k": "1", "l": ""}),
            ("a", "y", {"k": "2"}),
            ("a", "n", None),
        ):
            store.create(machine(name, namespace, **({"labels": labels} if labels else {})))
        store.create(secret())

        def listed(*arguments: t.Any) -> list[str]:
            return [
                f"{each['metadata']['namespace']}/{each['metadata']['name']}"
                for each in store.list(MACHINE, *arguments)
            ]

        assert listed() == ["a/n", "a/y", "a/z", "b/x"]
        assert listed("a") == ["a/n", "a/y", "a/z"]
        assert listed(None, {"k": "1"}) == ["a/z", "b/x"]
        assert listed("a", {"l": ""}) == ["a/z"]
        assert listed("nowhere") == []
        assert store.list(MACHINE, "a")[0] == store.get(MACHINE, "a", "n")

    def test_a_secret(self, store: Store) -> None:
        created = store.create(secret())
        assert store.get(SECRET, "default", "prod-ca") == created
        changed = store.modify(SECRET, "default", "prod-ca", lambda found: found["data"].update({"tls.crt": "YQ=="}))
        assert changed["data"] == {"tls.key": "c2VjcmV0", "tls.crt": "YQ=="}
        assert store.delete(SECRET, "default", "prod-ca") is None

    @pytest.mark.parametrize(
        "name",
        [
            *("", ".", "..", "../x", "a/b", "A", "a_b", "-a", "a-", "a..b", "a\n", "a\0", "ä", "a" * 254, "x.yaml/.."),
            None,
            7,
        ],
    )
    def test_names_that_are_no_names(self, store: Store, name: t.Any) -> None:
        for call in (
            lambda: store.get(MACHINE, "default", name),
            lambda: store.get(MACHINE, name, "m-1"),
            lambda: store.list(MACHINE, name if name is not None else ".."),
            lambda: store.delete(MACHINE, "default", name),
            lambda: store.create(machine(name=name)),
            lambda: store.create(machine(namespace=name)),
        ):
            with pytest.raises(base.StoreError, match="not valid"):
                call()

    @pytest.mark.parametrize(
        "kind_ref", [("..", "Machine"), ("a/b", "Machine"), ("", "../x"), ("", ""), ("", "machine"), ("x.io", "A/B")]
    )
    def test_kinds_that_are_no_kinds(self, store: Store, kind_ref: tuple[str, str]) -> None:
        with pytest.raises(base.StoreError, match="not valid"):
            store.get(kind_ref, "default", "m-1")
        with pytest.raises(base.StoreError, match="not valid"):
            store.list(kind_ref)
