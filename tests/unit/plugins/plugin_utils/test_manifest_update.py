# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a changed manifest may change of what is stored, from its files to the store."""

from __future__ import annotations

import copy
import typing as t
from pathlib import Path

import pytest
import yaml

from ansible_collections.kubeadm.control_plane.plugins.module_utils.objects.errors import ManifestError, Violation
from ansible_collections.kubeadm.control_plane.plugins.module_utils.objects.manifest import read_cluster
from ansible_collections.kubeadm.control_plane.plugins.module_utils.store.file import FileStore
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils import cluster_records
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.cluster_objects import CLUSTER, CONTROL_PLANE

EXAMPLES = Path(__file__).parents[4] / "examples" / "manifests"
CONFIGURATION = "spec.kubeadmConfigSpec.clusterConfiguration"
ALLOW_DOWNGRADE = "kubeadm.control-plane/allow-patch-downgrade"
Documents = list[dict[str, t.Any]]


def example(form: str) -> Documents:
    """The documents of an example."""
    text = (EXAMPLES / f"cluster-{form}.yaml").read_text(encoding="utf-8")
    return [document for document in yaml.safe_load_all(text) if document]


class Kept:
    """A store, and the manifests that are brought into it."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "manifest.yaml"
        self.folder = folder / "store"
        self.store = FileStore(str(self.folder))
        self.documents = example("v1beta2")

    @property
    def spec(self) -> dict[str, t.Any]:
        """The KubeadmControlPlane's spec in the manifest."""
        return t.cast("dict[str, t.Any]", self.documents[1]["spec"])

    @property
    def configuration(self) -> dict[str, t.Any]:
        """Its clusterConfiguration."""
        return t.cast("dict[str, t.Any]", self.spec["kubeadmConfigSpec"]["clusterConfiguration"])

    def apply(self, documents: t.Optional[Documents] = None, **options: t.Any) -> list[str]:
        """Bring the documents into the store."""
        self.file.write_text(yaml.safe_dump_all(documents or self.documents, sort_keys=False), encoding="utf-8")
        manifest = read_cluster([str(self.file)], "default", "my-cluster")
        return cluster_records.apply_manifest(self.store, manifest, **options)

    def refused(self, **options: t.Any) -> dict[str, Violation]:
        """The violations by path; the store must be as it was."""
        before = self.files()
        with pytest.raises(ManifestError) as error:
            self.apply(**options)
        assert self.files() == before
        return {violation.path: violation for violation in error.value.violations}

    def files(self) -> dict[str, bytes]:
        """Every file of the store."""
        return {str(path): path.read_bytes() for path in sorted(self.folder.rglob("*.yaml"))}

    def initialized(self) -> None:
        """As after the first machine."""
        status = {"initialization": {"controlPlaneInitialized": True}}
        self.store.modify(CONTROL_PLANE, "default", "my-control-plane", lambda stored: stored.update(status=status))


@pytest.fixture
def kept(tmp_path: Path) -> Kept:
    """A store that holds the example."""
    found = Kept(tmp_path)
    found.apply()
    return found


@pytest.mark.parametrize("form", ["v1alpha3", "v1beta1", "v1beta2"])
def test_the_same_content_in_another_form_is_no_change(kept: Kept, form: str) -> None:
    """Changing a manifest's API version changes nothing in the store."""
    before = kept.files()
    assert kept.apply(example(form)) == []
    assert kept.files() == before


def test_defaults_written_out_and_flags_in_another_order_are_no_change(kept: Kept) -> None:
    """What a tool or a person spells out must not replace machines."""
    flags = [{"name": "v", "value": "2"}, {"name": "audit-log-path", "value": "-"}]
    kept.configuration["apiServer"]["extraArgs"] = flags
    assert kept.apply() == [
        f"change KubeadmControlPlane default/my-control-plane: {CONFIGURATION}.apiServer.extraArgs",
    ]
    before, plain = kept.files(), copy.deepcopy(kept.documents)
    flags.reverse()
    kept.configuration.update(
        certificatesDir="/etc/kubernetes/pki",
        caCertificateValidityPeriodDays=3650,
        etcd={"local": {"dataDir": "/var/lib/etcd"}},
        clusterName="my-cluster",
        kubernetesVersion="v1.20.2",
        networking={"podSubnet": "192.168.0.0/16", "serviceSubnet": "10.96.0.0/12", "dnsDomain": "cluster.local"},
    )
    kept.spec["rollout"]["strategy"]["rollingUpdate"]["maxSurge"] = "1"
    kept.spec["kubeadmConfigSpec"]["joinConfiguration"]["nodeRegistration"]["imagePullPolicy"] = "IfNotPresent"
    kept.documents[0]["spec"]["paused"] = False
    assert kept.apply() == []
    assert kept.files() == before
    # And back: a store in which they are written out keeps them.
    kept.store.modify(
        CONTROL_PLANE,
        "default",
        "my-control-plane",
        lambda stored: stored["spec"]["kubeadmConfigSpec"]["clusterConfiguration"].update(kept.configuration),
    )
    assert kept.apply(plain) == []


MUTABLE: list[tuple[str, t.Callable[[Kept], t.Any]]] = [
    ("replicas", lambda kept: kept.spec.update(replicas=5)),
    ("version", lambda kept: kept.spec.update(version="v1.21.3")),
    ("rollout.after", lambda kept: kept.spec["rollout"].update(after="2026-01-31T10:00:00Z")),
    ("remediation", lambda kept: kept.spec.update(remediation={"maxRetry": 3})),
    ("machineNaming", lambda kept: kept.spec.update(machineNaming={"template": "{{ .cluster.name }}-{{ .random }}"})),
    ("machineTemplate.metadata", lambda kept: kept.spec["machineTemplate"].update(metadata={"labels": {"a": "b"}})),
    (
        "machineTemplate.spec.deletion",
        lambda kept: kept.spec["machineTemplate"]["spec"].update(deletion={"nodeDrainTimeoutSeconds": 1}),
    ),
    *(
        (
            f"kubeadmConfigSpec.{name}",
            lambda kept, name=name, value=value: kept.spec["kubeadmConfigSpec"].update({name: value}),
        )
        for name, value in {
            "files": [{"path": "/etc/a", "content": "a"}],
            "users": [{"name": "a"}],
            "verbosity": 4,
            "preKubeadmCommands": ["true"],
            "postKubeadmCommands": ["true"],
        }.items()
    ),
    *(
        (
            f"kubeadmConfigSpec.clusterConfiguration.{name}",
            lambda kept, name=name, value=value: kept.configuration.update({name: value}),
        )
        for name, value in {
            "apiServer": {"certSANs": ["a.example"]},
            "controllerManager": {"extraArgs": [{"name": "v", "value": "3"}]},
            "scheduler": {"extraArgs": [{"name": "v", "value": "3"}]},
            "etcd": {"local": {"imageTag": "3.4.14-0"}},
            "dns": {"imageTag": "1.8.0"},
            "imageRepository": "registry.example",
            "featureGates": {"IPv6DualStack": True},
        }.items()
    ),
    (
        "kubeadmConfigSpec.initConfiguration.bootstrapTokens",
        lambda kept: kept.spec["kubeadmConfigSpec"]["initConfiguration"].update(bootstrapTokens=[{"ttlSeconds": 60}]),
    ),
    (
        "kubeadmConfigSpec.joinConfiguration.caCertPath",
        lambda kept: kept.spec["kubeadmConfigSpec"]["joinConfiguration"].update(caCertPath="/etc/ca.crt"),
    ),
]


@pytest.mark.parametrize(("path", "change"), MUTABLE, ids=[path for path, _change in MUTABLE])
def test_what_may_change(kept: Kept, path: str, change: t.Callable[[Kept], t.Any]) -> None:
    """The allow-list, also on a running cluster."""
    kept.initialized()
    change(kept)
    changes = kept.apply()
    assert len(changes) == 1 and f"spec.{path}" in changes[0]


def test_everything_else_is_refused_by_path_with_old_and_new_value(kept: Kept) -> None:
    """All at once, in the manifest's own terms, and nothing is written, not even what may change."""
    kept.spec["replicas"] = 5
    kept.configuration.update(
        certificatesDir="/etc/other",
        caCertificateValidityPeriodDays=100,
        clusterName="a",
        controlPlaneEndpoint="api.example:6443",
    )
    found = kept.refused()
    assert set(found) == {
        f"{CONFIGURATION}.{name}"
        for name in ("certificatesDir", "caCertificateValidityPeriodDays", "clusterName", "controlPlaneEndpoint")
    }
    first = found[f"{CONFIGURATION}.certificatesDir"]
    assert first.value == "/etc/other"
    assert first.source.startswith(str(kept.file) + ":")
    name = found[f"{CONFIGURATION}.clusterName"]
    assert name.value == "a" and "it was 'my-cluster'" in name.rule
    assert "new cluster" in name.fix


def test_a_removed_field_is_named_with_its_old_value(tmp_path: Path) -> None:
    """Removing counts as changing."""
    kept = Kept(tmp_path)
    kept.configuration["controlPlaneEndpoint"] = "api.example:6443"
    kept.apply()
    del kept.configuration["controlPlaneEndpoint"]
    found = kept.refused()[f"{CONFIGURATION}.controlPlaneEndpoint"]
    assert "removed" in found.rule and "'api.example:6443'" in found.rule and found.value is None


def test_paths_are_told_as_they_are_written(kept: Kept) -> None:
    """In an older form the field's own name there is told."""
    kept.documents = example("v1beta1")
    kept.spec["kubeadmConfigSpec"]["clusterConfiguration"]["networking"] = {"podSubnet": "10.1.0.0/16"}
    found = kept.refused()
    assert found[f"{CONFIGURATION}.networking.podSubnet"].value == "10.1.0.0/16"
    assert "'192.168.0.0/16'" in found[f"{CONFIGURATION}.networking.podSubnet"].rule


def test_component_configurations_are_not_shown(kept: Kept) -> None:
    """Free-form documents may hold anything; they are refused without a value."""
    kept.spec["kubeadmConfigSpec"]["kubeletConfiguration"] = {"staticPodURLHeader": {"Authorization": ["hunter2"]}}
    with pytest.raises(ManifestError) as error:
        kept.apply()
    assert "hunter2" not in str(error.value)
    assert "kubelet ConfigMap" in str(error.value)


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


def migration(old: str, new: str) -> str:
    """A table that knows one pair."""
    return "" if (old, new) == ("1.7.0", "1.8.0") else f"no way from {old} to {new}"


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("1.7.0", "v1.8.0", ""),
        ("1.7.0", "1.9.3", "no way from 1.7.0 to 1.9.3"),
        ("v1.8.0", "1.7.0", "not downgraded"),
        ("v9.9.9", "v9.9.9-build.2", ""),
        ("1.7.0", "latest", "not a version"),
        ("master", "1.8.0", "'master'"),
        (None, "1.9.3", ""),
        ("1.7.0", None, ""),
    ],
)
def test_coredns_is_changed_only_where_its_configuration_can_be_migrated(
    kept: Kept, old: t.Optional[str], new: t.Optional[str], says: str
) -> None:
    """Equal versions and unknown ones on one side pass; the annotation leaves CoreDNS to the user."""
    if old:
        kept.configuration["dns"] = {"imageTag": old}
        kept.apply()
    kept.configuration["dns"] = {"imageTag": new} if new else {}
    if says:
        violation = kept.refused(dns_migration=migration)[f"{CONFIGURATION}.dns.imageTag"]
        assert says in violation.rule
        kept.documents[1]["metadata"]["annotations"] = {"controlplane.cluster.x-k8s.io/skip-coredns": ""}
    kept.apply(dns_migration=migration)


def test_replicas_follow_the_same_rules_as_on_creation(kept: Kept) -> None:
    """0 and even numbers, as the scale subresource refuses them."""
    for replicas in (0, 2):
        kept.spec["replicas"] = replicas
        assert "spec.replicas" in kept.refused()


def test_the_clusters_references_stay(kept: Kept) -> None:
    """Another control plane under the same Cluster would leave the first one behind."""
    kept.documents[0]["spec"]["controlPlaneRef"]["name"] = "other"
    kept.documents[1]["metadata"]["name"] = "other"
    found = kept.refused()
    assert list(found) == ["spec.controlPlaneRef.name"]
    assert "'my-control-plane'" in found["spec.controlPlaneRef.name"].rule


def test_the_network_can_be_corrected_until_there_is_a_control_plane(kept: Kept) -> None:
    """Before initialization a wrong network is corrected; after it, it is what the machines have."""
    network = kept.documents[0]["spec"]["clusterNetwork"]
    network["pods"]["cidrBlocks"] = ["10.1.0.0/16"]
    assert kept.apply() == ["change Cluster default/my-cluster: spec.clusterNetwork.pods.cidrBlocks"]
    kept.initialized()
    network["pods"]["cidrBlocks"] = ["10.2.0.0/16"]
    found = kept.refused()["spec.clusterNetwork.pods.cidrBlocks"]
    assert found.value == "10.2.0.0/16" and "'10.1.0.0/16'" in found.rule


def test_the_endpoint_that_the_infrastructure_gave_may_be_written_down(kept: Kept) -> None:
    """Leaving it out keeps it, stating it changes nothing, another one is refused."""
    endpoint = {"host": "10.88.0.2", "port": 6443}
    kept.store.modify(
        CLUSTER, "default", "my-cluster", lambda stored: stored["spec"].update(controlPlaneEndpoint=endpoint)
    )
    kept.initialized()
    assert kept.apply() == []
    kept.documents[0]["spec"]["controlPlaneEndpoint"] = dict(endpoint)
    assert kept.apply() == []
    kept.configuration["controlPlaneEndpoint"] = "10.88.0.2:6443"
    kept.apply()
    del kept.configuration["controlPlaneEndpoint"]
    kept.documents[0]["spec"]["controlPlaneEndpoint"]["port"] = 443
    found = kept.refused()
    assert found["spec.controlPlaneEndpoint.port"].value == 443


def secret(key: str, certificate: str) -> dict[str, t.Any]:
    """A CA of the user's own."""
    metadata = {"name": "my-cluster-ca", "namespace": "default"}
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": metadata,
        "stringData": {"tls.crt": certificate, "tls.key": key},
    }


def test_the_ca_of_a_running_cluster_stays(kept: Kept) -> None:
    """Its certificate may be renewed, its key not be replaced; neither is ever shown."""
    kept.documents.append(secret("hunter2", "first"))
    kept.apply()
    kept.documents[-1] = secret("hunter3", "first")
    assert kept.apply() == ["change Secret default/my-cluster-ca: data.tls.key"]
    kept.initialized()
    kept.documents[-1] = secret("hunter3", "renewed")
    assert kept.apply() == ["change Secret default/my-cluster-ca: data.tls.crt"]
    kept.documents[-1] = secret("hunter4", "other")
    found = kept.refused()
    assert list(found) == ['data["tls.key"]'] and found['data["tls.key"]'].value is None
    assert "hunter" not in str(found)


def test_a_template_changed_under_its_name_is_told(kept: Kept) -> None:
    """It is no violation, and it replaces no machine, which people expect."""
    kept.documents[2]["spec"]["template"]["spec"]["image"] = "other"
    kept.file.write_text(yaml.safe_dump_all(kept.documents), encoding="utf-8")
    manifest = read_cluster([str(kept.file)], "default", "my-cluster")
    warnings = cluster_records.update_warnings(kept.store, manifest)
    assert len(warnings) == 1 and "new name" in warnings[0]
    assert len(cluster_records.apply_manifest(kept.store, manifest)) == 1
    assert cluster_records.update_warnings(kept.store, manifest) == []
