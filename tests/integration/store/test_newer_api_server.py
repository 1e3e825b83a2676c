# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The definitions and their rules in CEL in an API server of a current Kubernetes: what older ones can't evaluate, and what newer ones add.

The part of kube-apiserver that serves custom resources is asked, with kubectl of the same release (newer_api_server.py). Secrets, Leases,
Events and roles are those of the kube-apiserver 1.20 behind it. The other tests of this folder ask this server, too, in the full lab.
"""

from __future__ import annotations

import copy
import json
import time
import typing as t

import pytest
from management import Kubectl, control_plane, kubeconfig_of
from newer_api_server import NewerApiServer, missing, newer_api_server
from rule_cases import CASES, CHANGES, EXTERNAL, ODD, SURGE, etcd, surge

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.crds import (
    crd_names,
    definitions,
    structural_schema,
    webhook_rules,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.management import installation
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects import kinds
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.kubernetes.layout import object_path
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.kubernetes.requests import (
    KubernetesApi,
    Refused,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.kubernetes.store import KubernetesStore

pytestmark = [pytest.mark.full, pytest.mark.skipif(bool(missing()), reason=missing())]

Object = dict[str, t.Any]
CONTROL_PLANE = (kinds.GROUP_CONTROL_PLANE, kinds.KUBEADM_CONTROL_PLANE)
PROD = (CONTROL_PLANE, "default", "prod")
PATH = object_path(*PROD)
WISH = installation.Wish(definitions.KINDS, ["default"], [{"kind": "User", "name": "runner"}])
DEFINITION = f"{installation.DEFINITIONS}/kubeadmcontrolplanes.controlplane.cluster.x-k8s.io"
SCALER: Object = {
    "apiVersion": "rbac.authorization.k8s.io/v1",
    "kind": "Role",
    "metadata": {"name": "scaler", "namespace": "default"},
    "rules": [
        {"apiGroups": [CONTROL_PLANE[0]], "resources": ["kubeadmcontrolplanes"], "verbs": ["get"]},
        {
            "apiGroups": [CONTROL_PLANE[0]],
            "resources": ["kubeadmcontrolplanes/scale"],
            "verbs": ["get", "update", "patch"],
        },
    ],
}


@pytest.fixture(scope="module")
def newer(tmp_path_factory: pytest.TempPathFactory) -> t.Iterator[NewerApiServer]:
    """A newer API server in which `install` was run."""
    server = newer_api_server(tmp_path_factory.mktemp("newer"))
    try:
        api = KubernetesApi({"kubeconfig": server.wait_ready().kubeconfig})
        installation.carry_out(api, installation.plan(api, WISH), lambda line: None)
        yield server
    finally:
        server.end()


@pytest.fixture
def api(newer: NewerApiServer) -> KubernetesApi:
    return KubernetesApi({"kubeconfig": newer.kubeconfig})


@pytest.fixture
def store(api: KubernetesApi) -> KubernetesStore:
    """The store, without the control plane prod."""
    api.send("delete", PATH, {}, accepted=(404,))
    return KubernetesStore(api)


@pytest.fixture
def kubectl(newer: NewerApiServer, store: KubernetesStore) -> Kubectl:
    return Kubectl(newer)


def refusal(call: t.Callable[[], t.Any]) -> str:
    """What the API server says when it refuses a change as invalid."""
    with pytest.raises(Refused) as caught:
        call()
    assert caught.value.status == 422, str(caught.value)
    return str(caught.value)


def test_it_evaluates_rules_and_keeps_them(api: KubernetesApi) -> None:
    assert installation.server_minor(api) >= webhook_rules.CEL_SINCE_MINOR
    (version,) = api.send("get", DEFINITION).document["spec"]["versions"]
    kept = version["schema"]["openAPIV3Schema"]["properties"]["spec"]["x-kubernetes-validations"]
    assert [part for part in (ODD, SURGE) for rule in kept if part in rule["message"]] == [ODD, SURGE]


@pytest.mark.parametrize("kind", definitions.KINDS, ids=lambda kind: kind.name)
def test_every_definition_is_established(api: KubernetesApi, kind: definitions.Kind) -> None:
    """A schema that isn't structural is served all the same, and without pruning, defaults or server-side apply."""
    name = crd_names.crd_name(definitions.group_of(kind.name), kind.name)
    stored = api.send("get", f"{installation.DEFINITIONS}/{name}").document
    conditions = {each["type"]: each["status"] for each in stored["status"]["conditions"]}
    assert conditions["Established"] == conditions["NamesAccepted"] == "True"
    assert {kind for kind, status in conditions.items() if status == "True"} == {"Established", "NamesAccepted"}


def test_the_second_time_nothing_is_changed(api: KubernetesApi) -> None:
    """Whatever a newer server fills in; also once it was asked to change something."""
    assert installation.plan(api, WISH) == []
    changed = api.send("get", DEFINITION).document
    changed["spec"]["versions"][0]["additionalPrinterColumns"].pop()
    api.send("update", DEFINITION, changed)
    installation.carry_out(api, installation.plan(api, WISH), lambda line: None)
    assert installation.plan(api, WISH) == []


def test_a_rule_of_an_unknown_field_would_be_refused(api: KubernetesApi) -> None:
    """That the rules are compiled when they are stored: with the schema's types."""
    changed = copy.deepcopy(api.send("get", DEFINITION).document)
    spec = changed["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    spec["x-kubernetes-validations"][0]["rule"] = "self.replica > 0"
    assert "undefined field 'replica'" in refusal(lambda: api.send("update", DEFINITION, changed))


@pytest.mark.parametrize(("spec", "refused"), CASES.values(), ids=CASES.keys())
def test_what_is_created(store: KubernetesStore, spec: Object, refused: frozenset[str]) -> None:
    if not refused:
        assert store.create(control_plane(**spec))["spec"]["replicas"] == spec["replicas"]
        return
    said = refusal(lambda: store.create(control_plane(**spec)))
    assert [part for part in (ODD, SURGE) if part in said] == [part for part in (ODD, SURGE) if part in refused]
    assert store.get(*PROD) is None


@pytest.mark.parametrize(("spec", "refused"), CASES.values(), ids=CASES.keys())
def test_what_is_changed(store: KubernetesStore, spec: Object, refused: frozenset[str]) -> None:
    """Every case by an update of an object that was right, with the etcd that it goes on to have."""
    external = "etcd" in str(spec) and "external" in str(spec)
    before = etcd({"external": EXTERNAL}, replicas=5) if external else {"replicas": 5}
    store.create(control_plane(**before))
    if not refused:
        store.modify(*PROD, lambda found: found["spec"].update(copy.deepcopy(spec)))
        return
    said = refusal(lambda: store.modify(*PROD, lambda found: found["spec"].update(copy.deepcopy(spec))))
    assert all(part in said for part in refused)
    stored = store.get(*PROD)
    assert stored is not None and stored["spec"]["replicas"] == 5


@pytest.mark.parametrize(("before", "spec", "refused"), CHANGES.values(), ids=CHANGES.keys())
def test_what_was_there_before_is_compared(
    store: KubernetesStore, before: Object, spec: Object, refused: frozenset[str]
) -> None:
    store.create(control_plane(**before))

    def change(found: Object) -> None:
        found["spec"].pop("kubeadmConfigSpec", None)
        found["spec"].update(copy.deepcopy(spec))

    if not refused:
        store.modify(*PROD, change)
        return
    said = refusal(lambda: store.modify(*PROD, change))
    assert all(part in said for part in refused)


def test_what_is_scaled(store: KubernetesStore, kubectl: Kubectl) -> None:
    """Through the subresource; its server asks the rules of the whole object."""
    store.create(control_plane(**surge("0", replicas=3)))
    assert ODD in refusal(lambda: store.scale(*PROD, 4))
    assert SURGE in refusal(lambda: store.scale(*PROD, 1))
    assert ODD in kubectl("scale", "kcp/prod", "--replicas=2", code=1)
    assert "spec.replicas" in kubectl("scale", "kcp/prod", "--replicas=0", code=1)
    store.scale(*PROD, 5)
    assert "scaled" in kubectl("scale", "kcp/prod", "--replicas=7", "--current-replicas=5")
    stored = store.get(*PROD)
    assert stored is not None and stored["spec"]["replicas"] == 7 and stored["metadata"]["generation"] == 3


def test_an_even_number_beside_an_external_etcd_is_scaled(store: KubernetesStore, kubectl: Kubectl) -> None:
    store.create(control_plane(**etcd({"external": EXTERNAL}, replicas=3)))
    assert "scaled" in kubectl("scale", "kcp/prod", "--replicas=2")
    store.scale(*PROD, 4)


def test_who_may_only_scale(newer: NewerApiServer, api: KubernetesApi, store: KubernetesStore) -> None:
    """The right on the subresource is enough, and gives no other."""
    store.create(control_plane(replicas=3))
    rbac = "/apis/rbac.authorization.k8s.io/v1/namespaces/default"
    api.send("create", f"{rbac}/roles", SCALER)
    binding = {
        **SCALER,
        "kind": "RoleBinding",
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "scaler"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "scaler"}],
    }
    del binding["rules"]
    api.send("create", f"{rbac}/rolebindings", binding)
    newer.until_allowed("scaler", "update", CONTROL_PLANE[0], "kubeadmcontrolplanes/scale")
    own = KubernetesStore(KubernetesApi({"kubeconfig": kubeconfig_of(newer, "scaler")}))
    own.scale(*PROD, 5)
    assert ODD in refusal(lambda: own.scale(*PROD, 4))
    with pytest.raises(Refused, match="cannot update resource"):
        own.modify(*PROD, lambda found: found["spec"].update(replicas=7))


def test_what_kubectl_of_the_same_release_shows_and_says(kubectl: Kubectl, store: KubernetesStore) -> None:
    """The columns, the refusal as a person reads it, and what the server itself finds in an object before it takes it."""
    kubectl.apply(control_plane(replicas=3))
    header, line = kubectl("get", "kcp").splitlines()
    assert header.split()[:4] == ["NAME", "CLUSTER", "AVAILABLE", "DESIRED"] and line.split()[:2] == ["prod", "prod"]
    said = kubectl("apply", "-f", "-", stdin=json.dumps(control_plane(replicas=4)), code=1)
    assert ODD in said and "spec: Invalid value" in said
    assert 'unknown field "spec.replica"' in kubectl(
        "apply", "-f", "-", stdin=json.dumps(control_plane(replica=4)), code=1
    )


def test_what_was_stored_before_the_limits_can_be_written(api: KubernetesApi, store: KubernetesStore) -> None:
    """Its status, its finalizers and what is within them; what is changed has to keep to the limits."""
    (kind,) = [each for each in definitions.KINDS if each.name == kinds.KUBEADM_CONFIG]
    where = f"{installation.DEFINITIONS}/{crd_names.crd_name(kinds.GROUP_BOOTSTRAP, kind.name)}"

    key = ((kinds.GROUP_BOOTSTRAP, kind.name), "default", "older")
    made = {
        "apiVersion": kinds.api_version(kind.name),
        "kind": kind.name,
        "metadata": {"name": "older", "namespace": "default", "finalizers": ["kubeadm.control-plane/it"]},
        "spec": {
            "clusterConfiguration": {
                "apiServer": {"extraArgs": [{"name": "v", "value": "1" * 2000}] * 2},
                "dns": {},
                "certificatesDir": "",
            },
            "users": [{"name": ""}],
            "format": "yaml",
        },
    }

    def admitted() -> bool:
        path = object_path(*key).rpartition("/")[0]
        return api.send("create", path, made, {"dryRun": "All"}, accepted=(409, 422)).status != 422

    def define(minor: int) -> None:
        """Replace the definition, until the server goes by it."""
        stored = api.send("get", where).document
        stored["spec"] = definitions.definition(kind, minor)["spec"]
        api.send("update", where, stored)
        end = time.monotonic() + 60
        while admitted() is (minor >= structural_schema.LIMITS_SINCE_MINOR):
            assert time.monotonic() < end, "the definition is not in force after a minute"

    define(webhook_rules.CEL_SINCE_MINOR)
    store.create(made)
    define(structural_schema.LIMITS_SINCE_MINOR)
    store.modify(*key, lambda found: found.update(status={"dataSecretName": "older"}))
    store.modify(*key, lambda found: found["spec"].update(verbosity=5))
    stored = store.get(*key)
    assert stored is not None and stored["status"] == {"dataSecretName": "older"} and stored["spec"]["verbosity"] == 5

    def change(found: Object) -> None:
        found["spec"]["clusterConfiguration"]["apiServer"]["extraArgs"].append({"name": "a", "value": "b" * 1025})

    assert "Too long" in refusal(lambda: store.modify(*key, change))
    store.modify(*key, lambda found: found["metadata"].pop("finalizers"))
    api.send("delete", object_path(*key), {}, accepted=(404,))


@pytest.mark.parametrize(
    ("spec", "part"),
    [
        ({"extraArgs": [{"name": "v", "value": "1"}, {"name": "v", "value": "2"}]}, "no two entries"),
        ({"extraArgs": [{"name": "v", "value": "1" * 1025}]}, "Too long"),
        ({"extraArgs": [{"name": "v"}]}, "value"),
        ({"certSANs": []}, "at least 1 items"),
        ({}, "apiServer"),
    ],
)
def test_what_is_beyond_a_limit(store: KubernetesStore, spec: Object, part: str) -> None:
    said = refusal(
        lambda: store.create(control_plane(kubeadmConfigSpec={"clusterConfiguration": {"apiServer": spec}}, replicas=1))
    )
    assert part in said and "apiServer" in said
