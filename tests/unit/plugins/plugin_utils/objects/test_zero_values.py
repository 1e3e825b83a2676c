# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Zero values in manifests: the same as none in every API version, but where Go's types have a pointer."""

from __future__ import annotations

import copy
from typing import Any, Callable

import pytest

from ansible_collections.kubeadm.control_plane.plugins.module_utils.common.violations import Violation
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects.convert import zero_values
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects.equivalence import settle
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects.manifest.reader import ClusterManifest

Documents = list[dict[str, Any]]
Read = Callable[..., ClusterManifest]
Refused = Callable[..., list[Violation]]
VERSIONS = ("v1alpha3", "v1alpha4", "v1beta1", "v1beta2")
ENDPOINT = {"advertiseAddress": "", "bindPort": 0}
NODE = {"name": "", "criSocket": "", "kubeletExtraArgs": None, "ignorePreflightErrors": []}
# What a controller of v1alpha3 stored of types without omitempty, and what people leave empty.
ZEROS: dict[str, Any] = {
    "clusterConfiguration": {
        **dict.fromkeys(("certificatesDir", "controlPlaneEndpoint", "imageRepository", "encryptionAlgorithm"), ""),
        "apiServer": {"certSANs": []},
        "controllerManager": {"extraVolumes": []},
        "scheduler": {},
        "dns": {"imageRepository": "", "imageTag": ""},
        "etcd": {"local": {"dataDir": "", "imageTag": ""}},
        "featureGates": {},
        "certificateValidityPeriodDays": 0,
        "caCertificateValidityPeriodDays": 0,
    },
    "initConfiguration": {
        "bootstrapTokens": [],
        "localAPIEndpoint": ENDPOINT,
        "nodeRegistration": NODE,
        "patches": {"directory": ""},
    },
    "joinConfiguration": {
        "caCertPath": "",
        "controlPlane": {"localAPIEndpoint": ENDPOINT},
        "discovery": {
            "bootstrapToken": {"token": "", "apiServerEndpoint": "", "caCertHashes": []},
            "tlsBootstrapToken": "",
        },
        "nodeRegistration": {**NODE, "imagePullPolicy": ""},
        "skipPhases": [],
    },
    "files": [],
    "users": [],
    "format": "",
    "preKubeadmCommands": [],
    "mounts": [],
    "bootCommands": [],
}


def in_version(documents: Documents, version: str) -> Documents:
    """The Cluster and the control plane in a version; the two older ones have v1beta1's names here, too."""
    for document in documents[:2]:
        document["apiVersion"] = f"{document['apiVersion'].split('/')[0]}/{version}"
    return documents


@pytest.fixture(params=VERSIONS)
def of_version(request: pytest.FixtureRequest, documents: Documents, classic: Documents) -> Documents:
    return in_version(documents if request.param == "v1beta2" else classic, request.param)


def test_zero_values_are_none(of_version: Documents, read: Read) -> None:
    plain = copy.deepcopy(of_version)
    plain[1]["spec"]["kubeadmConfigSpec"] = {"joinConfiguration": {"controlPlane": {}}}
    written = of_version
    written[1]["spec"]["kubeadmConfigSpec"] = copy.deepcopy(ZEROS)
    written[0]["spec"]["controlPlaneEndpoint"] = {"host": "", "port": 0}
    written[0]["spec"]["clusterNetwork"].update(apiServerPort=0, serviceDomain="")
    plain[0]["spec"].pop("controlPlaneEndpoint", None)
    plain[0]["spec"]["clusterNetwork"].pop("serviceDomain", None)
    found, wanted = read(written), read(plain)
    assert found.control_plane == wanted.control_plane
    assert found.cluster == wanted.cluster


ENTRIES: dict[str, Any] = {
    "files": [{"path": "/a", "owner": "", "permissions": "", "encoding": "", "content": "", "append": False}],
    "users": [
        {"name": "ops", "gecos": "", "groups": "", "homeDir": "", "shell": "", "passwd": "", "sshAuthorizedKeys": []}
    ],
    "initConfiguration": {"bootstrapTokens": [{"token": "", "description": "", "usages": [], "groups": []}]},
    "clusterConfiguration": {
        "apiServer": {"extraVolumes": [{"name": "a", "hostPath": "/a", "mountPath": "/a", "pathType": ""}]}
    },
}


def test_zero_values_in_entries_are_none(of_version: Documents, read: Read) -> None:
    """The entry itself stays, even where nothing is left in it: bootstrapTokens: [{}] asks for a token of kubeadm's own making."""
    of_version[1]["spec"]["kubeadmConfigSpec"] = copy.deepcopy(ENTRIES)
    config = read(of_version).control_plane["spec"]["kubeadmConfigSpec"]
    assert config["files"] == [{"path": "/a", "append": False}]
    assert config["users"] == [{"name": "ops"}]
    assert config["initConfiguration"] == {"bootstrapTokens": [{}]}
    volume = {"name": "a", "hostPath": "/a", "mountPath": "/a"}
    assert config["clusterConfiguration"] == {"apiServer": {"extraVolumes": [volume]}}


KEPT: list[dict[str, Any]] = [
    {"initConfiguration": {"nodeRegistration": {"taints": []}}},
    {"joinConfiguration": {"controlPlane": {}}},
    {"verbosity": 0},
    {"files": [{"path": "/a", "append": False}]},
]


@pytest.mark.parametrize("config", KEPT, ids=lambda config: next(iter(config)))
def test_zero_values_that_say_something_stay(of_version: Documents, read: Read, config: dict[str, Any]) -> None:
    of_version[1]["spec"]["kubeadmConfigSpec"] = copy.deepcopy(config)
    assert read(of_version).control_plane["spec"]["kubeadmConfigSpec"] == {**config, "format": "cloud-config"}


def test_a_flag_without_a_value_keeps_its_empty_text(classic: Documents, documents: Documents, read: Read) -> None:
    classic[1]["spec"]["kubeadmConfigSpec"] = {"clusterConfiguration": {"scheduler": {"extraArgs": {"a": ""}}}}
    listed = [{"name": "a", "value": ""}]
    documents[1]["spec"]["kubeadmConfigSpec"] = {"clusterConfiguration": {"scheduler": {"extraArgs": listed}}}
    for each in (classic, documents):
        config = read(each).control_plane["spec"]["kubeadmConfigSpec"]
        assert config["clusterConfiguration"] == {"scheduler": {"extraArgs": listed}}


def test_timeouts_and_counts_of_zero_stay(classic: Documents, read: Read) -> None:
    classic[1]["spec"]["machineTemplate"]["nodeDrainTimeout"] = "0s"
    classic[1]["spec"]["remediationStrategy"] = {"maxRetry": 0, "minHealthyPeriod": "0s"}
    spec = read(classic).control_plane["spec"]
    assert spec["machineTemplate"]["spec"]["deletion"] == {"nodeDrainTimeoutSeconds": 0}
    assert spec["remediation"] == {"maxRetry": 0, "minHealthyPeriodSeconds": 0}


@pytest.mark.parametrize(
    ("config", "path"),
    [
        ({"clusterConfiguration": {"etcd": {"external": {}}}}, "clusterConfiguration.etcd.external.endpoints"),
        (
            {"files": [{"path": "/a", "contentFrom": {"secret": {"name": "", "key": ""}}}]},
            "files[0].contentFrom.secret.name",
        ),
        ({"files": [{"path": "/a", "contentFrom": {}}]}, "files[0].contentFrom.secret.name"),
        ({"users": [{"name": "a", "passwdFrom": {}}]}, "users[0].passwdFrom.secret.name"),
        ({"joinConfiguration": {"discovery": {"file": {}}}}, "joinConfiguration.discovery.file.kubeConfigPath"),
        ({"files": [{"path": ""}]}, "files[0].path"),
        ({"users": [{"name": ""}]}, "users[0].name"),
        # An empty structure may be an instruction: cloud-init sets up the time servers of the distribution.
        ({"ntp": {}}, "ntp"),
    ],
)
def test_an_incomplete_structure_is_not_none(
    of_version: Documents, refused: Refused, config: dict[str, Any], path: str
) -> None:
    of_version[1]["spec"]["kubeadmConfigSpec"] = config
    assert f"spec.kubeadmConfigSpec.{path}" in {violation.path for violation in refused(of_version)}


def test_replicas_of_zero_are_a_number(of_version: Documents, refused: Refused) -> None:
    of_version[1]["spec"]["replicas"] = 0
    assert [violation.path for violation in refused(of_version)] == ["spec.replicas"]


def test_what_is_stored_with_zero_values_stays_as_it_is(classic: Documents, read: Read) -> None:
    """A store that an earlier release wrote has empty structures; reading the same manifest again changes no word of it."""
    manifest = read(classic)
    stored = copy.deepcopy(manifest.control_plane["spec"])
    stored["kubeadmConfigSpec"] = {
        **stored["kubeadmConfigSpec"],
        "clusterConfiguration": {
            "apiServer": {},
            "dns": {},
            "etcd": {},
            **stored["kubeadmConfigSpec"].get("clusterConfiguration", {}),
        },
        "users": [],
    }
    assert settle(stored, manifest.control_plane["spec"], manifest.cluster) == stored


def test_the_table_names_the_pointers() -> None:
    """As Cluster API's Go types have them, in v1beta1 and v1beta2."""
    assert {"taints", "controlPlane", "value", "external", "file"} <= zero_values.KEPT
    assert {"bindPort", "certificateValidityPeriodDays", "caCertificateValidityPeriodDays"} <= zero_values.NUMBERS


RETRY = "useExperimentalRetryJoin"


@pytest.mark.parametrize(("value", "told"), [(True, 1), (False, 0), (None, 0)])
@pytest.mark.parametrize("version", VERSIONS[:3])
def test_a_field_without_effect_is_a_warning(
    classic: Documents, read: Read, version: str, value: Any, told: int
) -> None:
    classic = in_version(classic, version)
    plain = read(classic)
    classic[1]["spec"]["kubeadmConfigSpec"][RETRY] = value
    found = read(classic)
    assert found.control_plane == plain.control_plane
    own = [warning for warning in found.warnings if f"spec.kubeadmConfigSpec.{RETRY}: " in warning]
    assert len(own) == told


@pytest.mark.parametrize("value", ["yes", 1, {}])
def test_a_field_without_effect_has_its_type(classic: Documents, refused: Refused, value: Any) -> None:
    classic[1]["spec"]["kubeadmConfigSpec"][RETRY] = value
    assert [violation.path for violation in refused(classic)] == [f"spec.kubeadmConfigSpec.{RETRY}"]


def test_v1beta2_has_no_such_field(documents: Documents, refused: Refused) -> None:
    documents[1]["spec"]["kubeadmConfigSpec"][RETRY] = False
    assert [violation.path for violation in refused(documents)] == [f"spec.kubeadmConfigSpec.{RETRY}"]


@pytest.mark.parametrize(
    ("config", "path"),
    [
        ({"files": {}}, "files"),
        ({"files": ""}, "files"),
        ({"clusterConfiguration": {"dns": []}}, "clusterConfiguration.dns"),
        ({"initConfiguration": {"localAPIEndpoint": {"bindPort": ""}}}, "initConfiguration.localAPIEndpoint.bindPort"),
        (
            {"initConfiguration": {"localAPIEndpoint": {"advertiseAddress": 0}}},
            "initConfiguration.localAPIEndpoint.advertiseAddress",
        ),
        ({"verbosity": ""}, "verbosity"),
    ],
)
def test_a_zero_value_of_another_type_is_refused(
    of_version: Documents, refused: Refused, config: dict[str, Any], path: str
) -> None:
    of_version[1]["spec"]["kubeadmConfigSpec"] = config
    assert [violation.path for violation in refused(of_version)] == [f"spec.kubeadmConfigSpec.{path}"]
