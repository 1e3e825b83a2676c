# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A runner that has the Role of `install` and nothing else: it can do all that a run does, and nothing beyond."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
from actions import run_action
from api_server import ApiServer
from management import control_plane, kubeconfig_of, smallest_spec
from management_workspace import KINDS, define
from store_objects import MACHINE, SECRET, secret

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.crds import definitions
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.management import installation, roles
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.kubernetes import requests
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.kubernetes.layout import kind_path
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.kubernetes.store import KubernetesStore
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.lock import lease_lock

WISH = installation.Wish(definitions.KINDS, ["default", "b"], [{"kind": "User", "name": "runner"}])


@pytest.fixture(scope="module")
def runner(server: ApiServer) -> dict[str, t.Any]:
    """The connection options of a user who has the Role in the namespaces default and b."""
    # Whichever test comes first defines them on the server that all share, and `install` keeps what it knows as its own.
    define(server)
    admin = requests.KubernetesApi({"kubeconfig": server.kubeconfig})
    installation.carry_out(admin, installation.plan(admin, WISH), lambda line: None)
    server.until_allowed("runner", "create", MACHINE[0], "machines", namespace=WISH.namespaces[-1])
    return {"kubeconfig": kubeconfig_of(server, "runner")}


@pytest.fixture
def store(kubernetes_store: KubernetesStore, runner: dict[str, t.Any]) -> KubernetesStore:
    """The empty store, as the runner reaches it."""
    return KubernetesStore(requests.KubernetesApi(runner))


@pytest.mark.parametrize("kind", definitions.KINDS, ids=lambda kind: kind.name)
def test_every_object_and_its_status(store: KubernetesStore, kind: definitions.Kind) -> None:
    kind_ref = (definitions.group_of(kind.name), kind.name)
    made = {
        "apiVersion": f"{kind_ref[0]}/{definitions.version_of(kind.name)}",
        "kind": kind.name,
        "metadata": {"name": "one", "namespace": "default", "finalizers": ["kubeadm.control-plane/test"]},
        "spec": smallest_spec(kind.name),
        **({"status": {"observedGeneration": 1}} if kind.status is not None else {}),
    }
    assert store.create(made).get("status", {}) == made.get("status", {})
    store.modify(kind_ref, "default", "one", lambda found: found["metadata"].update(labels={"a": "b"}))
    assert [each["metadata"]["name"] for each in store.list(kind_ref, "default", {"a": "b"})] == ["one"]
    assert store.delete(kind_ref, "default", "one") is not None
    store.modify(kind_ref, "default", "one", lambda found: found["metadata"].pop("finalizers"))
    assert store.get(kind_ref, "default", "one") is None


def test_scaling(store: KubernetesStore) -> None:
    """By the subresource."""
    store.create(control_plane(replicas=3))
    kind_ref = ("controlplane.cluster.x-k8s.io", "KubeadmControlPlane")
    store.scale(kind_ref, "default", "prod", 5)
    assert (store.get(kind_ref, "default", "prod") or {})["spec"]["replicas"] == 5


def test_who_may_only_scale(server: ApiServer, kubernetes_store: KubernetesStore, tmp_path: Path) -> None:
    """What the playbook `scale` does takes the right to read, and the one on the subresource; another edit takes more."""
    plane = control_plane(replicas=3)
    reference = {"apiGroup": "controlplane.cluster.x-k8s.io", "kind": plane["kind"], "name": "prod"}
    cluster = {"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "metadata": {**plane["metadata"]}}
    kubernetes_store.create({**cluster, "spec": {**smallest_spec("Cluster"), "controlPlaneRef": reference}})
    kubernetes_store.create(plane)
    admin = requests.KubernetesApi({"kubeconfig": server.kubeconfig})
    place = "/apis/rbac.authorization.k8s.io/v1/namespaces/default"
    named = {"metadata": {"name": "scaler", "namespace": "default"}}
    kinds_read = {
        "apiGroups": ["cluster.x-k8s.io", reference["apiGroup"]],
        "resources": ["clusters", "kubeadmcontrolplanes"],
    }
    scaled = {"apiGroups": [reference["apiGroup"]], "resources": ["kubeadmcontrolplanes/scale"]}
    rules = [{**kinds_read, "verbs": ["get", "list"]}, {**scaled, "verbs": ["get", "update"]}]
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "scaler"}
    admin.send("create", f"{place}/roles", {**named, "rules": rules})
    binding = {**named, "roleRef": role, "subjects": [{"kind": "User", "name": "scaler"}]}
    admin.send("create", f"{place}/rolebindings", binding)
    server.until_allowed("scaler", "update", reference["apiGroup"], "kubeadmcontrolplanes/scale")
    where = {"type": "kubernetes", "path": str(tmp_path), "kubeconfig": kubeconfig_of(server, "scaler")}
    assert run_action("control_plane_spec", cluster="prod", store=where, replicas=5)["changed"]
    assert not run_action("control_plane_spec", cluster="prod", store=where, replicas=5)["changed"]
    kind_ref = (reference["apiGroup"], plane["kind"])
    assert (kubernetes_store.get(kind_ref, "default", "prod") or {})["spec"]["replicas"] == 5
    refused = run_action("control_plane_spec", cluster="prod", store=where, rollout_after="now")
    assert refused["failed"] and "update" in refused["msg"] and "kubeadmcontrolplanes" in refused["msg"]


def test_a_rehearsal_tells_who_may_only_read(server: ApiServer, runner: dict[str, t.Any], tmp_path: Path) -> None:
    """As the run would end: it couldn't even take its lock."""

    def rehearsed(kubeconfig: str) -> dict[str, t.Any]:
        where = {"type": "kubernetes", "path": str(tmp_path / "journals"), "kubeconfig": kubeconfig}
        return run_action("run", True, cluster="prod", store=where)

    assert not rehearsed(runner["kubeconfig"]).get("failed")
    refused = rehearsed(kubeconfig_of(server, "reader"))
    assert refused["failed"] and "these credentials may not write" in refused["msg"], refused
    assert "kubeadm.control_plane.install" in refused["msg"] and not (tmp_path / "journals").exists()


def test_secrets(store: KubernetesStore) -> None:
    store.create(secret())
    store.modify(SECRET, "default", "prod-ca", lambda found: found["data"].update({"tls.crt": "YQ=="}))
    assert "prod-ca" in [each["metadata"]["name"] for each in store.list(SECRET, "default")]
    assert store.delete(SECRET, "default", "prod-ca") is None


def test_the_lock(runner: dict[str, t.Any]) -> None:
    locks = lease_lock.LeaseLocks(requests.KubernetesApi(runner), runner)
    taken = locks.acquire("default", "role-test")
    locks.check("default", "role-test", taken.fencing)
    assert locks.release_own("default", "role-test") is True


PODS = "/api/v1/namespaces/default/pods"
OTHERS = [
    ("list", kind_path(MACHINE, "a")),
    ("list", kind_path(MACHINE, None)),
    ("list", "/api/v1/namespaces/kube-system/secrets"),
    ("list", "/api/v1/secrets"),
    ("list", PODS),
    ("create", PODS),
    ("list", "/api/v1/namespaces/default/services"),
    ("list", "/api/v1/namespaces/default/events"),
    ("list", "/apis/coordination.k8s.io/v1/namespaces/default/leases"),
    ("list", "/api/v1/nodes"),
    ("list", "/api/v1/namespaces"),
    ("list", installation.DEFINITIONS),
    ("create", "/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings"),
    ("create", "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles"),
    ("create", "/api/v1/namespaces/default/serviceaccounts"),
    ("delete", kind_path(MACHINE, "default")),
]


@pytest.mark.parametrize(("verb", "path"), OTHERS, ids=[f"{verb} {path}" for verb, path in OTHERS])
def test_nothing_else(runner: dict[str, t.Any], verb: str, path: str) -> None:
    """The refusal names verb and resource and says which Role is missing."""
    body = {"metadata": {"name": "x"}} if verb == "create" else None
    with pytest.raises(requests.Refused, match="these credentials may not") as caught:
        requests.KubernetesApi(runner).send(verb, path, body)
    assert caught.value.status == 403
    assert "kubeadm.control_plane.install" in caught.value.fix


def test_whoever_lists_all_namespaces_is_told_to_name_them(runner: dict[str, t.Any]) -> None:
    """No Role gives that; the one of `install` is a namespace's."""
    api = requests.KubernetesApi(runner)
    with pytest.raises(requests.Refused) as everywhere:
        api.send("list", kind_path(MACHINE, None))
    assert "option namespaces" in everywhere.value.fix
    with pytest.raises(requests.Refused) as elsewhere:
        api.send("list", kind_path(MACHINE, "a"))
    assert "option namespaces" not in elsewhere.value.fix


def test_the_server_lists_the_roles_rules_and_no_others(runner: dict[str, t.Any]) -> None:
    """Asked itself, the API server knows of nothing that the Role doesn't say but what everybody may."""
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectRulesReview",
        "spec": {"namespace": "default"},
    }
    api = requests.KubernetesApi(runner)
    found = api.send("create", "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews", review).document["status"]
    given = roles.runner_role("default", KINDS)["rules"]
    everybodys = [
        {
            "verbs": ["create"],
            "apiGroups": ["authorization.k8s.io"],
            "resources": ["selfsubjectaccessreviews", "selfsubjectrulesreviews"],
        }
    ]

    def plain(rules: t.Iterable[t.Any]) -> list[tuple[t.Any, ...]]:
        return sorted(
            (tuple(each["apiGroups"]), tuple(sorted(each["resources"])), tuple(sorted(each["verbs"]))) for each in rules
        )

    assert plain(found["resourceRules"]) == plain([*given, *everybodys])


def test_installing_is_not_for_a_runner(runner: dict[str, t.Any], tmp_path: Path) -> None:
    """It is told whose credentials are needed, and not to install what it is installing."""
    store = {"type": "kubernetes", "path": str(tmp_path / "journal"), **runner}
    refused = run_action("management_cluster", store=store, namespaces=["default"])
    assert refused["failed"] and "get /apis/apiextensions.k8s.io/v1/customresourcedefinitions" in refused["msg"]
    assert "an administrator's to make" in refused["msg"] and "Run the playbook" not in refused["msg"]
    assert "customresourcedefinitions.apiextensions.k8s.io" in refused["msg"]
