# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import base64
import gzip
from typing import Any

import pytest
import yaml

from ansible_collections.kubeadm.control_plane.plugins.module_utils.common.violations import ManifestError
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects import bootstrap_data
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects.instance_data.machine_configuration import (
    machine_configuration,
)

CERTIFICATES = {
    "ca": {"crt": "CA", "key": "CA KEY"},
    "etcd": {"crt": "ETCD", "key": "ETCD KEY"},
    "proxy": {"crt": "PROXY", "key": None},
    "sa": {"crt": "SA PUB", "key": "SA KEY"},
}
SECRETS = {("s", "k"): b"from secret\n", ("s", "gz"): gzip.compress(b"packed"), ("s", "p"): b"$6$hash\n"}
TOKEN = "abcdef.0123456789abcdef"


def resolve(name: str, key: str) -> bytes:
    return SECRETS[name, key]


def arguments(config: dict[str, Any], kind: str, version: str = "v1.20.2", **network: Any) -> dict[str, Any]:
    control_plane = {"metadata": {"name": "kcp"}, "spec": {"version": version, "kubeadmConfigSpec": config}}
    machine = {"metadata": {"name": "kcp-abcde"}, "spec": {"version": version}}
    kept = {"spec": bootstrap_data.config_spec(control_plane, kind)}
    return {
        "cluster": {"metadata": {"name": "c1"}, "spec": {"clusterNetwork": network} if network else {}},
        "control_plane": control_plane,
        "configuration": machine_configuration(kept, machine, None, resolve, "v1.20.2"),
        "machine": machine,
        "endpoint": {"host": "10.0.0.1", "port": 6443},
        "certificates": CERTIFICATES,
        "advertise_address": "10.0.0.7",
    }


def init(
    config: dict[str, Any], version: str = "v1.20.2", **network: Any
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    data = bootstrap_data.init_data(**arguments(config, "init", version, **network))
    return data, list(yaml.safe_load_all(data["config"]))


def join(
    config: dict[str, Any], version: str = "v1.20.2", **network: Any
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    data = bootstrap_data.join_data(
        **arguments(config, "join", version, **network), token=TOKEN, ca_cert_hashes=["sha256:" + "0" * 64]
    )
    return data, list(yaml.safe_load_all(data["config"]))


def contents(data: dict[str, Any]) -> dict[str, tuple[bytes, str, str, bool]]:
    return {
        file["path"]: (base64.b64decode(file["content"]), file["owner"], file["permissions"], file["append"])
        for file in data["files"]
    }


def test_what_the_user_leaves_out_comes_from_the_cluster() -> None:
    network = {
        "apiServerPort": 7443,
        "services": {"cidrBlocks": ["10.1.0.0/16"]},
        "pods": {"cidrBlocks": ["10.2.0.0/16", "fd00::/64"]},
        "serviceDomain": "a.b",
    }
    data, documents = init({}, **network)
    assert documents == [
        {
            "apiVersion": "kubeadm.k8s.io/v1beta2",
            "kind": "InitConfiguration",
            "bootstrapTokens": [{"ttl": "15m0s"}],
            "nodeRegistration": {"name": "kcp-abcde"},
            "localAPIEndpoint": {"advertiseAddress": "10.0.0.7", "bindPort": 7443},
        },
        {
            "apiVersion": "kubeadm.k8s.io/v1beta2",
            "kind": "ClusterConfiguration",
            "networking": {"serviceSubnet": "10.1.0.0/16", "podSubnet": "10.2.0.0/16,fd00::/64", "dnsDomain": "a.b"},
            "kubernetesVersion": "v1.20.2",
            "controlPlaneEndpoint": "10.0.0.1:6443",
            "clusterName": "c1",
        },
    ]
    assert data["kind"] == "init"
    assert data["kubeadmVersion"] == "v1.20.2"
    assert data["kubeadmArgs"] == ["init", "--config", "/run/kubeadm/kubeadm.yaml"]
    assert data["users"] == data["preKubeadmCommands"] == data["postKubeadmCommands"] == []


def test_what_the_user_writes_wins() -> None:
    config = {
        "clusterConfiguration": {
            "clusterName": "mine",
            "controlPlaneEndpoint": "api.example:443",
            "networking": {"podSubnet": "10.9.0.0/16"},
        },
        "initConfiguration": {
            "bootstrapTokens": [{"token": TOKEN, "ttlSeconds": 60}],
            "nodeRegistration": {"name": "n-{{ ds.meta_data.local_hostname }}"},
            "localAPIEndpoint": {"advertiseAddress": "10.0.0.9", "bindPort": 6444},
        },
    }
    _data, documents = init(config, pods={"cidrBlocks": ["10.2.0.0/16"]}, services={"cidrBlocks": ["10.1.0.0/16"]})
    assert documents[0]["bootstrapTokens"] == [{"token": TOKEN, "ttl": "1m0s"}]
    assert documents[0]["nodeRegistration"] == {"name": "n-kcp-abcde"}
    assert documents[0]["localAPIEndpoint"] == {"advertiseAddress": "10.0.0.9", "bindPort": 6444}
    assert documents[1]["clusterName"] == "mine"
    assert documents[1]["controlPlaneEndpoint"] == "api.example:443"
    assert documents[1]["networking"] == {"serviceSubnet": "10.1.0.0/16", "podSubnet": "10.9.0.0/16"}


def test_a_join_has_its_material() -> None:
    data, documents = join({"initConfiguration": {"nodeRegistration": {"name": "x"}}, "verbosity": 5})
    assert documents == [
        {
            "apiVersion": "kubeadm.k8s.io/v1beta2",
            "kind": "JoinConfiguration",
            "nodeRegistration": {"name": "kcp-abcde"},
            "discovery": {
                "bootstrapToken": {
                    "token": TOKEN,
                    "apiServerEndpoint": "10.0.0.1:6443",
                    "caCertHashes": ["sha256:" + "0" * 64],
                }
            },
            "controlPlane": {"localAPIEndpoint": {"advertiseAddress": "10.0.0.7"}},
        }
    ]
    assert data["kubeadmArgs"] == ["join", "--config", "/run/kubeadm/kubeadm-join-config.yaml", "--v=5"]
    assert "/etc/kubernetes/pki/ca.key" in contents(data)


def test_discovery_of_the_user_wins() -> None:
    file = {"file": {"kubeConfigPath": "/a"}}
    assert join({"joinConfiguration": {"discovery": file}})[1][0]["discovery"] == file
    unsafe = {"bootstrapToken": {"token": "aaaaaa.0123456789abcdef", "unsafeSkipCAVerification": True}}
    assert join({"joinConfiguration": {"discovery": unsafe}})[1][0]["discovery"]["bootstrapToken"] == {
        "token": "aaaaaa.0123456789abcdef",
        "apiServerEndpoint": "10.0.0.1:6443",
        "unsafeSkipCAVerification": True,
    }


def test_the_spec_kept_with_a_machine() -> None:
    control_plane = {
        "spec": {
            "kubeadmConfigSpec": {
                "clusterConfiguration": {"clusterName": "a"},
                "initConfiguration": {"skipPhases": ["a"]},
                "joinConfiguration": {"skipPhases": ["b"]},
                "verbosity": 1,
            }
        }
    }
    assert bootstrap_data.config_spec(control_plane, "init") == {
        "clusterConfiguration": {"clusterName": "a"},
        "initConfiguration": {"skipPhases": ["a"]},
        "verbosity": 1,
    }
    assert bootstrap_data.config_spec(control_plane, "join") == {
        "clusterConfiguration": {"clusterName": "a"},
        "joinConfiguration": {"skipPhases": ["b"], "controlPlane": {}},
        "verbosity": 1,
    }
    # Cluster API's definitions refuse empty structures.
    assert bootstrap_data.config_spec({"spec": {"kubeadmConfigSpec": {"verbosity": 1}}}, "init") == {"verbosity": 1}
    assert bootstrap_data.config_spec({"spec": {}}, "join") == {"joinConfiguration": {"controlPlane": {}}}


def test_key_material_has_kubeadms_names_and_modes() -> None:
    data, _documents = init({"clusterConfiguration": {"certificatesDir": "/pki/"}})
    assert contents(data) == {
        "/pki/ca.crt": (b"CA", "root:root", "0640", False),
        "/pki/ca.key": (b"CA KEY", "root:root", "0600", False),
        "/pki/etcd/ca.crt": (b"ETCD", "root:root", "0640", False),
        "/pki/etcd/ca.key": (b"ETCD KEY", "root:root", "0600", False),
        "/pki/front-proxy-ca.crt": (b"PROXY", "root:root", "0640", False),
        "/pki/sa.pub": (b"SA PUB", "root:root", "0640", False),
        "/pki/sa.key": (b"SA KEY", "root:root", "0600", False),
    }


def test_external_etcd_gets_its_client_certificate() -> None:
    external = {"endpoints": ["https://a:2379"], "caFile": "/e/ca.crt", "certFile": "/e/c.crt", "keyFile": "/e/c.key"}
    given = arguments({"clusterConfiguration": {"etcd": {"external": external}}}, "init")
    given["certificates"] = {**CERTIFICATES, "apiserver-etcd-client": {"crt": "CRT", "key": "KEY"}}
    found = contents(bootstrap_data.init_data(**given))
    assert found["/e/ca.crt"][0] == b"ETCD"
    assert found["/e/c.crt"][:3] == (b"CRT", "root:root", "0640")
    assert found["/e/c.key"][:3] == (b"KEY", "root:root", "0600")
    assert not [path for path in found if path.startswith("/etc/kubernetes/pki/etcd")]


def test_the_folder_of_etcds_data_goes_along() -> None:
    """A join's own configuration has it not: it is the cluster's."""
    config = {"clusterConfiguration": {"etcd": {"local": {"dataDir": "/data/etcd"}}}}
    for make in (init, join):
        assert make(config)[0]["etcdDataDir"] == "/data/etcd"
        assert "etcdDataDir" not in make({})[0]


def test_the_folder_of_kubeadms_certificates_goes_along() -> None:
    config = {"clusterConfiguration": {"certificatesDir": "/pki"}}
    for make in (init, join):
        assert make(config)[0]["certificatesDir"] == "/pki"
        assert "certificatesDir" not in make({})[0]


def test_where_a_join_writes_the_authority_goes_along() -> None:
    config = {"joinConfiguration": {"caCertPath": "/srv/pki/ca.crt"}}
    assert join(config)[0]["caCertPath"] == "/srv/pki/ca.crt"
    assert "caCertPath" not in join({})[0] and "caCertPath" not in init(config)[0]


def test_files_users_and_commands() -> None:
    config = {
        "files": [
            {
                "path": "/a",
                "content": "{{ ds.meta_data.hostname }} {{ '{{' }} other }}",
                "permissions": "0600",
                "append": True,
            },
            {"path": "/b", "content": base64.b64encode(b"{{ v1.local_hostname }}").decode(), "encoding": "base64"},
            {"path": "/c", "contentFrom": {"secret": {"name": "s", "key": "k"}}, "owner": "etcd:etcd"},
            {"path": "/d", "contentFrom": {"secret": {"name": "s", "key": "gz"}}, "encoding": "gzip"},
            {"path": "/e"},
        ],
        "users": [
            {"name": "u", "passwdFrom": {"secret": {"name": "s", "key": "p"}}, "gecos": "{{ v1.local_hostname }}"}
        ],
        "preKubeadmCommands": ["echo {{ ds.meta_data.local_hostname }}"],
        "postKubeadmCommands": ["echo '{% raw %}{{ mine }}{% endraw %}'"],
    }
    for data, _documents in (init(config), join(config)):
        found = contents(data)
        assert found["/a"] == (b"kcp-abcde {{ other }}", "root:root", "0600", True)
        assert found["/b"] == (b"{{ v1.local_hostname }}", "root:root", "0644", False)
        assert found["/c"] == (b"from secret\n", "etcd:etcd", "0644", False)
        assert found["/d"][0] == b"packed"
        assert found["/e"][0] == b""
        assert data["users"] == [{"name": "u", "gecos": "kcp-abcde", "passwd": "$6$hash"}]
        assert data["preKubeadmCommands"] == ["echo kcp-abcde"]
        assert data["postKubeadmCommands"] == ["echo '{{ mine }}'"]


def test_a_secret_that_is_not_what_encoding_says() -> None:
    file = {"path": "/a", "contentFrom": {"secret": {"name": "s", "key": "k"}}, "encoding": "base64"}
    with pytest.raises(ManifestError, match="not base64") as error:
        init({"files": [file]})
    assert "from secret" not in str(error.value)


@pytest.mark.parametrize("path", ["/etc/kubernetes/pki/ca.key", "/run/kubeadm/kubeadm.yaml"])
def test_files_of_the_bootstrap_itself_are_not_overwritten(path: str) -> None:
    with pytest.raises(ManifestError, match="written by the bootstrap itself"):
        init({"files": [{"path": path, "content": "x"}]})


def test_component_configurations_ride_along_with_init_only() -> None:
    config = {
        "kubeletConfiguration": {"cgroupDriver": "cgroupfs", "failSwapOn": False},
        "kubeProxyConfiguration": {"kind": "KubeProxyConfiguration", "conntrack": {"maxPerCore": 0}},
    }
    assert init(config)[1][2:] == [
        {
            "apiVersion": "kubelet.config.k8s.io/v1beta1",
            "kind": "KubeletConfiguration",
            "cgroupDriver": "cgroupfs",
            "failSwapOn": False,
        },
        {
            "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
            "kind": "KubeProxyConfiguration",
            "conntrack": {"maxPerCore": 0},
        },
    ]
    assert len(join(config)[1]) == 1


@pytest.mark.parametrize(
    ("version", "gates", "expected"),
    [
        ("v1.30.0", None, None),
        ("v1.31.0-rc.0", None, {"ControlPlaneKubeletLocalMode": True}),
        ("v1.35.9", {"NodeLocalCRISocket": True}, {"ControlPlaneKubeletLocalMode": True, "NodeLocalCRISocket": True}),
        ("v1.31.0", {"ControlPlaneKubeletLocalMode": False}, {"ControlPlaneKubeletLocalMode": False}),
        ("v1.36.0", None, None),
    ],
)
def test_kubelet_local_mode(version: str, gates: dict[str, bool] | None, expected: dict[str, bool] | None) -> None:
    config = {"clusterConfiguration": {"featureGates": gates}} if gates else {}
    assert init(config, version)[1][1].get("featureGates") == expected


def test_an_ipv6_endpoint_has_brackets() -> None:
    assert bootstrap_data.host_port({"host": "fd00::1", "port": 6443}) == "[fd00::1]:6443"


def test_the_ca_validity_is_not_kubeadms_business_before_v1beta4() -> None:
    config = {"clusterConfiguration": {"caCertificateValidityPeriodDays": 30}}
    assert "caCertificateValidityPeriod" not in init(config)[1][1]
    assert init(config, "v1.31.0")[1][1]["caCertificateValidityPeriod"] == "720h0m0s"


def test_the_inputs_are_left_as_they_are() -> None:
    given = arguments({"initConfiguration": {"nodeRegistration": {"taints": []}}}, "init")
    before = repr(given)
    bootstrap_data.init_data(**given)
    assert repr(given) == before


@pytest.mark.parametrize(
    ("network", "first", "other", "ports"),
    [
        ({}, {}, {}, [6443, 6443]),
        ({"apiServerPort": 7443}, {}, {}, [7443, 7443]),
        ({"apiServerPort": 7443}, {"bindPort": 8443}, {"bindPort": 9443}, [8443, 9443]),
    ],
)
def test_the_port_of_the_api_server(
    network: dict[str, Any], first: dict[str, Any], other: dict[str, Any], ports: list[int]
) -> None:
    """The configuration of init or join goes before the Cluster's, and that before kubeadm's default."""
    configuration = {
        "initConfiguration": {"localAPIEndpoint": first},
        "joinConfiguration": {"controlPlane": {"localAPIEndpoint": other}},
    }
    cluster = {"spec": {"clusterNetwork": network}}
    assert [bootstrap_data.bind_port(cluster, configuration, kind) for kind in ("init", "join")] == ports
