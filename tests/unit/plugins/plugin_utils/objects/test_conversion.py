# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Objects between Cluster API versions, against manifests written by hand from Cluster API's types."""

from __future__ import annotations

import copy
import json
import pathlib
from typing import Any, Callable

import pytest
import yaml

from ansible_collections.kubeadm.control_plane.plugins.module_utils.common.violations import ManifestError, Violation
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects.convert import whole_objects
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects.manifest.reader import ClusterManifest

GOLDEN = pathlib.Path(__file__).parent / "golden"
OLDER = ("v1alpha3", "v1alpha4", "v1beta1")
ANNOTATION = "cluster.x-k8s.io/conversion-data"
Object = dict[str, Any]

CONFIG = "spec.kubeadmConfigSpec"
NEVER = {
    ("KubeadmControlPlane", f"{CONFIG}.initConfiguration.timeouts.etcdAPICallSeconds"),
    ("KubeadmControlPlane", f"{CONFIG}.joinConfiguration.timeouts.tlsBootstrapSeconds"),
    ("Machine", "spec.minReadySeconds"),
}
SINCE_V1BETA1 = NEVER | {
    ("Cluster", "status.conditions"),
    *(
        ("Cluster", f"status.controlPlane.{name}")
        for name in ("desiredReplicas", "replicas", "readyReplicas", "availableReplicas", "upToDateReplicas")
    ),
    ("Cluster", "status.workers.desiredReplicas"),
    ("Cluster", "status.workers.replicas"),
    ("KubeadmControlPlane", "spec.machineTemplate.spec.readinessGates"),
    ("KubeadmControlPlane", "spec.machineTemplate.spec.taints"),
    ("KubeadmControlPlane", "spec.machineTemplate.spec.deletion.nodeVolumeDetachTimeoutSeconds"),
    ("KubeadmControlPlane", "spec.machineTemplate.spec.deletion.nodeDeletionTimeoutSeconds"),
    ("KubeadmControlPlane", "spec.rollout.before.certificatesExpiryDays"),
    *(
        ("KubeadmControlPlane", f"spec.remediation.{name}")
        for name in ("maxRetry", "retryPeriodSeconds", "minHealthyPeriodSeconds")
    ),
    ("KubeadmControlPlane", "spec.machineNaming.template"),
    ("KubeadmControlPlane", f"{CONFIG}.files[0].append"),
    ("KubeadmControlPlane", f"{CONFIG}.users[0].passwdFrom.secret.name"),
    ("KubeadmControlPlane", f"{CONFIG}.users[0].passwdFrom.secret.key"),
    ("KubeadmControlPlane", f"{CONFIG}.clusterConfiguration.etcd.local.extraEnvs"),
    ("KubeadmControlPlane", f"{CONFIG}.clusterConfiguration.apiServer.extraEnvs"),
    *(
        ("KubeadmControlPlane", f"{CONFIG}.clusterConfiguration.{name}")
        for name in ("encryptionAlgorithm", "certificateValidityPeriodDays", "caCertificateValidityPeriodDays")
    ),
    ("KubeadmControlPlane", f"{CONFIG}.initConfiguration.nodeRegistration.imagePullPolicy"),
    ("KubeadmControlPlane", f"{CONFIG}.initConfiguration.nodeRegistration.imagePullSerial"),
    *(
        ("KubeadmControlPlane", f"{CONFIG}.{part}.{name}")
        for part in ("initConfiguration", "joinConfiguration")
        for name in ("skipPhases", "patches.directory")
    ),
    *(
        ("KubeadmControlPlane", f"status.{name}")
        for name in ("versions", "readyReplicas", "availableReplicas", "upToDateReplicas", "conditions")
    ),
    *(("KubeadmControlPlane", f"status.lastRemediation.{name}") for name in ("machine", "time", "retryCount")),
    ("Machine", "spec.readinessGates"),
    ("Machine", "spec.taints"),
    ("Machine", "spec.deletion.nodeVolumeDetachTimeoutSeconds"),
    ("Machine", "spec.deletion.nodeDeletionTimeoutSeconds"),
    ("Machine", "status.certificatesExpiryDate"),
    ("Machine", "status.deletion.nodeDrainStartTime"),
    ("Machine", "status.conditions"),
    ("KubeadmConfig", "status.conditions"),
}
SINCE_V1ALPHA4 = SINCE_V1BETA1 | {
    ("KubeadmControlPlane", "spec.machineTemplate.metadata.labels.a"),
    ("KubeadmControlPlane", "spec.machineTemplate.metadata.annotations.c"),
    ("KubeadmControlPlane", f"{CONFIG}.initConfiguration.nodeRegistration.ignorePreflightErrors"),
    ("KubeadmControlPlane", "status.version"),
    ("Machine", "status.nodeInfo.kubeletVersion"),
}
# What Cluster API's types of a version have no place for, from the golden object.
LOST = {"v1beta1": NEVER, "v1alpha4": SINCE_V1BETA1, "v1alpha3": SINCE_V1ALPHA4}


def golden(version: str) -> list[Object]:
    files = sorted((GOLDEN / version).glob("*.yaml"))
    return [yaml.safe_load(file.read_text(encoding="utf-8")) for file in files]


@pytest.fixture
def hub() -> dict[str, Object]:
    """The golden objects by kind."""
    return {document["kind"]: document for document in golden("v1beta2")}


@pytest.mark.parametrize("version", OLDER)
def test_every_field_is_where_the_older_version_has_it(version: str) -> None:
    for written, expected in zip(golden("v1beta2"), golden(version)):
        before = copy.deepcopy(written)
        assert whole_objects.from_hub(written, version, keep=False).object == expected
        assert written == before


@pytest.mark.parametrize("version", OLDER)
def test_what_has_no_place_is_told_by_its_path(version: str) -> None:
    found: set[tuple[str, str]] = set()
    for document in golden("v1beta2"):
        losses = whole_objects.from_hub(document, version).losses
        found |= {(document["kind"], loss.path) for loss in losses}
        assert all(version in loss.rule and "or leave the field out" in loss.fix for loss in losses)
    assert found == LOST[version]


@pytest.mark.parametrize("version", OLDER)
def test_with_conversion_data_nothing_is_lost(version: str) -> None:
    for document in golden("v1beta2"):
        older = whole_objects.from_hub(document, version).object
        assert whole_objects.object_to_hub(older) == document


@pytest.mark.parametrize("version", OLDER)
def test_an_older_object_comes_back_as_it_was(version: str) -> None:
    for document in golden(version):
        converted = whole_objects.from_hub(whole_objects.object_to_hub(document), version)
        assert converted.object == document
        assert converted.losses == ()


def test_the_hub_form_stays_as_it_is() -> None:
    for document in golden("v1beta2"):
        converted = whole_objects.from_hub(document, "v1beta2")
        assert converted.object == document == whole_objects.object_to_hub(document)
        assert converted.losses == ()


def test_a_loss_names_value_rule_and_where_the_field_came(hub: dict[str, Object]) -> None:
    losses = {loss.path: loss for loss in whole_objects.from_hub(hub["KubeadmControlPlane"], "v1alpha3").losses}
    drain = losses["spec.machineTemplate.spec.deletion.nodeDeletionTimeoutSeconds"]
    assert (drain.object, drain.value) == ("KubeadmControlPlane team/prod-cp", 3661)
    assert drain.fix.startswith("It came with v1beta1")
    assert losses[f"{CONFIG}.initConfiguration.nodeRegistration.ignorePreflightErrors"].fix.startswith(
        "It came with v1alpha4"
    )


def test_a_repeated_flag_is_a_loss_and_not_taken_back(hub: dict[str, Object]) -> None:
    control_plane = hub["KubeadmControlPlane"]
    flags = [{"name": "v", "value": "1"}, {"name": "a", "value": "x"}, {"name": "a", "value": "y"}]
    control_plane["spec"]["kubeadmConfigSpec"]["clusterConfiguration"]["scheduler"]["extraArgs"] = flags
    converted = whole_objects.from_hub(control_plane, "v1beta1")
    written = converted.object["spec"]["kubeadmConfigSpec"]["clusterConfiguration"]["scheduler"]["extraArgs"]
    assert written == {"v": "1", "a": "y"}
    loss = next(loss for loss in converted.losses if loss.path.endswith("scheduler.extraArgs"))
    assert "repeated" in loss.rule
    with pytest.raises(ManifestError, match=r"scheduler\.extraArgs.*has the same name"):
        whole_objects.object_to_hub(converted.object)


def test_secret_values_are_never_told(hub: dict[str, Object]) -> None:
    control_plane = hub["KubeadmControlPlane"]
    control_plane["spec"]["unknown"] = {"token": "hunter2", "content": ["hunter2"]}
    control_plane["spec"]["kubeadmConfigSpec"]["users"][0]["unknown"] = {"passwd": "hunter2"}
    converted = whole_objects.from_hub(control_plane, "v1beta1")
    paths = {loss.path for loss in converted.losses}
    assert {"spec.unknown.token", f"{CONFIG}.users[0].unknown.passwd"} <= paths
    assert "hunter2" not in "".join(loss.text() for loss in converted.losses)


def restored(hub: Object, version: str, change: Callable[[Object], Any]) -> Object:
    """What comes back when someone changes the older object in between."""
    older = whole_objects.from_hub(hub, version).object
    change(older)
    return whole_objects.object_to_hub(older)


def test_a_change_in_the_older_object_wins_and_the_rest_is_restored(hub: dict[str, Object]) -> None:
    control_plane = hub["KubeadmControlPlane"]

    def change(older: Object) -> None:
        older["spec"]["replicas"] = 5
        older["spec"]["kubeadmConfigSpec"]["files"][0]["path"] = "/etc/other"
        del older["spec"]["kubeadmConfigSpec"]["clusterConfiguration"]["etcd"]

    back = restored(control_plane, "v1alpha4", change)
    expected = copy.deepcopy(control_plane)
    config = expected["spec"]["kubeadmConfigSpec"]
    expected["spec"]["replicas"] = 5
    # The file that was changed is another file: what belonged to the old one does not come back.
    config["files"][0] = {key: value for key, value in config["files"][0].items() if key != "append"}
    config["files"][0]["path"] = "/etc/other"
    # Nor what stood below something that is gone.
    del config["clusterConfiguration"]["etcd"]
    assert back == expected
    assert ANNOTATION not in (back["metadata"].get("annotations") or {})


def test_a_removed_flag_stays_removed(hub: dict[str, Object]) -> None:
    scheduler = hub["KubeadmControlPlane"]["spec"]["kubeadmConfigSpec"]["clusterConfiguration"]["scheduler"]
    scheduler["extraArgs"] = [{"name": "a", "value": "x"}, {"name": "a", "value": "y"}]

    def change(older: Object) -> None:
        older["spec"]["kubeadmConfigSpec"]["clusterConfiguration"]["scheduler"]["extraArgs"] = {"a": "z"}

    back = restored(hub["KubeadmControlPlane"], "v1beta1", change)
    found = back["spec"]["kubeadmConfigSpec"]["clusterConfiguration"]["scheduler"]["extraArgs"]
    assert found == [{"name": "a", "value": "z"}]


def test_conversion_data_of_cluster_api_itself_are_read(hub: dict[str, Object]) -> None:
    """Cluster API's webhooks write spec and status without saying what object they are of."""
    older = whole_objects.from_hub(hub["KubeadmControlPlane"], "v1beta1", keep=False).object
    kept = {key: hub["KubeadmControlPlane"][key] for key in ("spec", "status")}
    older["metadata"]["annotations"] = {ANNOTATION: json.dumps(kept)}
    assert whole_objects.object_to_hub(older) == hub["KubeadmControlPlane"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "1",
        '{"spec": 1}',
        '{"spec": {"noSuchField": true}}',
        "[" * 100_000,
        '{"apiVersion": "x/v9", "spec": {}}',
    ],
)
def test_conversion_data_that_cannot_be_read_are_left_alone(hub: dict[str, Object], text: str) -> None:
    older = whole_objects.from_hub(hub["Machine"], "v1beta1", keep=False).object
    expected = whole_objects.object_to_hub(older)
    older["metadata"]["annotations"] = {ANNOTATION: text}
    back = whole_objects.object_to_hub(older)
    back["metadata"].pop("annotations", None)
    assert back["spec"] == expected["spec"] and back["status"] == expected["status"]


def test_a_manifest_takes_what_its_conversion_data_keep(
    documents: list[Object], read: Callable[..., ClusterManifest], refused: Callable[..., list[Violation]]
) -> None:
    documents[1]["spec"]["rollout"]["before"] = {"certificatesExpiryDays": 30}
    documents[1]["spec"]["machineTemplate"]["metadata"] = {"labels": {"a": "b"}}
    older = [whole_objects.from_hub(whole_objects.object_to_hub(document), "v1alpha3").object for document in documents]
    assert read(older) == read(documents)
    kept = older[1]["metadata"]["annotations"]
    kept[ANNOTATION] = kept[ANNOTATION].replace('"certificatesExpiryDays":30', '"certificatesExpiryDays":3')
    (violation,) = refused(older)
    assert violation.path.startswith(f'metadata.annotations["{ANNOTATION}"]') and "not 7 or more" in violation.rule


def test_the_version_of_infrastructure_is_a_choice(hub: dict[str, Object]) -> None:
    cluster = whole_objects.from_hub(hub["Cluster"], "v1beta1", "v1alpha3").object
    assert cluster["spec"]["infrastructureRef"]["apiVersion"] == "infrastructure.cluster.x-k8s.io/v1alpha3"
    own = whole_objects.from_hub(hub["NspawnCluster"], "v1beta1", "v1alpha3").object
    assert own["apiVersion"] == "infrastructure.cluster.x-k8s.io/v1alpha3"
    other = {**hub["NspawnCluster"], "kind": "AcmeCluster", "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2"}
    assert whole_objects.from_hub(other, "v1beta1", "v1alpha3").object == other == whole_objects.object_to_hub(other)


def test_what_only_this_collection_has_is_named(hub: dict[str, Object]) -> None:
    control_plane = hub["KubeadmControlPlane"]
    control_plane["spec"]["kubeadmConfigSpec"]["kubeletConfiguration"] = {"failSwapOn": False}
    older = whole_objects.from_hub(control_plane, "v1beta1")
    assert older.extensions == (f"{CONFIG}.kubeletConfiguration",)
    assert older.object["spec"]["kubeadmConfigSpec"]["kubeletConfiguration"] == {"failSwapOn": False}
    assert f"{CONFIG}.clusterConfiguration.networking" in whole_objects.from_hub(control_plane, "v1beta2").extensions


@pytest.mark.parametrize(
    ("obj", "version", "path"),
    [
        ({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a"}}, "v1beta1", "kind"),
        ({"apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "Cluster", "metadata": {}}, "v1beta1", "metadata.name"),
        ({"apiVersion": "cluster.x-k8s.io/v9", "kind": "Cluster", "metadata": {"name": "a"}}, "v1beta1", "apiVersion"),
        ({"apiVersion": 3, "kind": "Cluster", "metadata": {"name": "a"}}, "v1beta1", "apiVersion"),
        ({"kind": None, "metadata": None}, "v1beta1", "kind"),
        ({"apiVersion": "acme.example/v1beta1", "kind": "Machine", "metadata": {"name": "a"}}, "v1beta1", "apiVersion"),
        (
            {
                "apiVersion": "cluster.x-k8s.io/v1beta1",
                "kind": "Machine",
                "metadata": {"name": "a"},
                "spec": {"bootstrap": {"data": "x"}},
            },
            "v1beta1",
            "spec.bootstrap.data",
        ),
        (
            {"apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "Cluster", "metadata": {"name": "a"}, "spec": []},
            "v1beta1",
            "spec",
        ),
    ],
)
def test_what_cannot_be_converted_is_refused(obj: Object, version: str, path: str) -> None:
    with pytest.raises(ManifestError) as error:
        whole_objects.object_to_hub(obj)
    assert path in {violation.path for violation in error.value.violations}


@pytest.mark.parametrize("version", [*OLDER, "v1beta2"])
@pytest.mark.parametrize(
    ("status", "path"),
    [
        ([], "status"),
        ({"initialization": "yes"}, "status.initialization"),
        ({"deprecated": {"v1beta1": []}}, "status.deprecated.v1beta1"),
        ({"v1beta2": 1}, "status.v1beta2"),
        ({"failureDomains": ["a"]}, "status.failureDomains[0]"),
        ({"failureDomains": {"a": 1}}, "status.failureDomains.a"),
        ({"readyReplicas": "3"}, "status.readyReplicas"),
    ],
)
def test_a_status_of_another_shape_is_refused(status: Any, path: str, version: str) -> None:
    for kind in ("Cluster", "KubeadmControlPlane", "NspawnCluster"):
        written = next(document for document in golden(version) if document["kind"] == kind)
        with pytest.raises(ManifestError) as error:
            whole_objects.object_to_hub({**written, "status": status})
        assert {violation.path for violation in error.value.violations} == {path}


def test_an_unknown_version_is_refused(hub: dict[str, Object]) -> None:
    with pytest.raises(ManifestError, match="v1alpha3, v1alpha4, v1beta1, v1beta2"):
        whole_objects.from_hub(hub["Cluster"], "v1alpha2")
