# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Manifest given both ways: applied to the API with kubectl, and read from its file. Both make the same cluster and the same plan."""

from __future__ import annotations

import copy
import re
import typing as t
from pathlib import Path

import pytest
import yaml
from actions import run_action
from api_server import ApiServer
from management import Kubectl

from ansible_collections.kubeadm.control_plane.plugins.filter.from_cluster_api import from_cluster_api
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.crds import definitions
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects import kinds
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects.manifest.reader import read_cluster
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.records import stored_cluster, stored_desired_state
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.base import Store, kind_ref_of
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.file.store import FileStore
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.kubernetes.store import KubernetesStore

Object = dict[str, t.Any]
ROOT = Path(__file__).resolve().parents[3]
# Shows what a refusal looks like.
REFUSED = {"examples/manifests/seed-as-printed.yaml"}
# A health check is shown alone; it is brought in beside this cluster.
BASE = "examples/manifests/cluster-v1beta2.yaml"
SERVED = {
    (f"{definitions.group_of(each.name)}/{definitions.version_of(each.name)}", each.name) for each in definitions.KINDS
}
# What an API server, kubectl and this collection's own records write into metadata.
_OF_THE_STORE = ("uid", "resourceVersion", "creationTimestamp", "generation", "managedFields")
_NOTES = (kinds.ANNOTATION_PREFIX, "kubectl.kubernetes.io/")


def documents(text: str) -> list[Object]:
    return [each for each in yaml.safe_load_all(text) if each]


def manifests() -> dict[str, list[Object]]:
    """The whole manifests of the examples and pages, and those of their parts that can be added to one."""
    found: dict[str, list[Object]] = {}
    for path in sorted((ROOT / "examples").rglob("*.yaml")):
        shown = documents(path.read_text())
        # What belongs to a Cluster by its labels is shown alone, too.
        beside = [] if any(each["kind"] == kinds.CLUSTER for each in shown) else _selected(found[BASE], shown)
        found[path.relative_to(ROOT).as_posix()] = [*beside, *shown]
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
        text = page.read_text()
        blocks = re.findall(r"^```yaml\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
        blocks += re.findall(r"^cat > \S+\.yaml <<'END'\n(.*?)^END$", text, re.MULTILINE | re.DOTALL)
        for number, block in enumerate(blocks, 1):
            shown = [each for each in documents(block) if isinstance(each, dict) and "apiVersion" in each]
            if any(_is_of_another_provider(each) for each in shown):
                continue
            if any(each["kind"] == kinds.CLUSTER for each in shown):
                found[f"{page.name} {number}"] = shown
            elif any(each["kind"] == kinds.MACHINE_HEALTH_CHECK for each in shown):
                found[f"{page.name} {number}"] = [*found[BASE], *map(_for_the_base, shown)]
    return {name: shown for name, shown in found.items() if name not in REFUSED}


def _is_of_another_provider(each: Object) -> bool:
    """Whether it needs definitions that this collection doesn't bring."""
    named = (each.get("spec") or {}).get("infrastructureRef") or {}
    return each["kind"] == kinds.CLUSTER and named.get("kind") not in kinds.OWN_INFRASTRUCTURE


def _selected(base: list[Object], shown: list[Object]) -> list[Object]:
    """The base's documents, whose Cluster these sets select."""
    labels: dict[str, str] = {}
    for each in shown:
        labels.update((each.get("spec") or {}).get("clusterSelector", {}).get("matchLabels", {}))
    return [
        {**each, "metadata": {**each["metadata"], "labels": labels}} if each["kind"] == kinds.CLUSTER else each
        for each in base
    ]


def _for_the_base(check: Object) -> Object:
    return {**check, "spec": {**check["spec"], "clusterName": "my-cluster"}}


MANIFESTS = manifests()


def test_every_kind_of_source_is_found() -> None:
    assert len(MANIFESTS) >= 7, list(MANIFESTS)
    assert {"tutorial.md 1", "health_check.md 1", "examples/existing_hosts/clusters/prod.yaml"} <= {*MANIFESTS}
    assert {path.relative_to(ROOT).as_posix() for path in (ROOT / "examples").rglob("*.yaml")} >= REFUSED


def stored(store: Store, wanted: t.Iterable[Object]) -> dict[str, Object]:
    """The cluster's stored objects without what each store writes itself."""
    found = {}
    for each in wanted:
        metadata = each["metadata"]
        obj = store.get(kind_ref_of(each), metadata.get("namespace") or "default", metadata["name"])
        assert obj is not None, (each["kind"], metadata)
        obj = copy.deepcopy(dict(obj))
        own = obj["metadata"]
        for key in _OF_THE_STORE:
            own.pop(key, None)
        own["annotations"] = {k: v for k, v in (own.get("annotations") or {}).items() if not k.startswith(_NOTES)}
        own["annotations"].update(_consents(obj, each))
        own["labels"] = own.get("labels") or {}
        found[f"{each['kind']} {metadata['name']}"] = obj
    return found


def _consents(obj: Object, written: Object) -> dict[str, str]:
    """Annotations of this collection that the manifest itself has."""
    there = obj["metadata"].get("annotations") or {}
    return {key: there.get(key) for key in written["metadata"].get("annotations") or {}}


@pytest.mark.parametrize("name", MANIFESTS)
def test_the_same_cluster_both_ways(
    name: str, server: ApiServer, kubernetes_store: KubernetesStore, tmp_path: Path
) -> None:
    """Objects, complete and in the stored form, and the plan's steps. What the API doesn't serve is converted first (docs/contract.md)."""
    written = copy.deepcopy(MANIFESTS[name])
    # Nothing listens at the addresses of examples, and how that is noticed differs from one attempt to the next.
    (whole,) = [each for each in written if each["kind"] == kinds.CLUSTER]
    whole["metadata"]["annotations"] = {kinds.ANNOTATION_ENDPOINT_UNUSED: "true"}
    manifest = tmp_path / "manifest.yaml"
    manifest.write_text(yaml.safe_dump_all(written, sort_keys=False))
    cluster = whole["metadata"]["name"]
    served = all((each["apiVersion"], each["kind"]) in SERVED for each in written)
    applied = written if served else from_cluster_api(manifest.read_text())
    # Examples of the newest version are what an API takes: no reader has to convert them.
    assert served or any("v1beta2" not in each["apiVersion"] for each in written if "x-k8s.io" in each["apiVersion"])
    Kubectl(server)("apply", "-f", "-", stdin=yaml.safe_dump_all(applied))
    file_store = FileStore(str(tmp_path / "store"))
    stored_desired_state.settle(kubernetes_store, "default", cluster)
    stored_cluster.apply_manifest(file_store, read_cluster([str(manifest)], "default", cluster))
    assert stored(kubernetes_store, applied) == stored(file_store, applied)
    api = {"type": "kubernetes", "kubeconfig": server.kubeconfig, "path": str(tmp_path / "journal")}
    planned = [
        run_action("plan", show=False, cluster=cluster, store=api),
        run_action(
            "plan", show=False, cluster=cluster, store={"path": str(tmp_path / "store")}, manifests=[str(manifest)]
        ),
    ]
    told = [[plan["msg"], plan.get("specHash"), [each["action"] for each in plan.get("steps", ())]] for plan in planned]
    assert told[0] == told[1]
