# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An external etcd asked as kube-apiserver and kubeadm ask it: real processes, real TLS, and what users get wrong."""

from __future__ import annotations

import dataclasses
import socket
import typing as t
from pathlib import Path

import pytest
from cryptography.x509.oid import ExtendedKeyUsageOID
from etcd_cluster import Authority, EtcdCluster, free_port, until

from ansible_collections.kubeadm.control_plane.plugins.module_utils.node.host import external_etcd
from ansible_collections.kubeadm.control_plane.plugins.module_utils.node.host.external_etcd import ExternalEtcd, Pem


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> t.Iterator[EtcdCluster]:
    """Three members with mutual TLS."""
    made = EtcdCluster(tmp_path_factory.mktemp("external"), 3)
    try:
        yield made.wait_ready()
    finally:
        made.end()


def pem(path: str) -> Pem:
    return Pem(Path(path).read_text(), path)


def of(cluster: EtcdCluster, **changes: t.Any) -> ExternalEtcd:
    """The cluster as a client with its certificates sees it."""
    files = cluster.credentials
    made = ExternalEtcd(
        tuple(member.client_url for member in cluster.members),
        pem(files.ca_file),
        pem(files.certificate_file),
        pem(files.key_file),
    )
    return dataclasses.replace(made, **changes)


def test_all_is_well(cluster: EtcdCluster) -> None:
    found = external_etcd.look(of(cluster))
    assert (found["reachable"], found["message"]) == (True, "")
    assert len(found["endpoints"]) == 3 and all(each["healthy"] and each["version"] for each in found["endpoints"])
    assert found["certificateNotAfter"].endswith("Z")


def test_one_member_is_down(cluster: EtcdCluster) -> None:
    """kubeadm refuses to work while an endpoint of its list does not answer; which one is said."""
    gone = f"https://127.0.0.1:{free_port()}"
    found = external_etcd.look(of(cluster, endpoints=(*(member.client_url for member in cluster.members[:2]), gone)))
    assert found["reachable"] is False
    assert found["message"].startswith(f"1 of 3 endpoints: {gone} does not answer")


def test_nobody_answers(cluster: EtcdCluster) -> None:
    found = external_etcd.look(of(cluster, endpoints=(f"https://127.0.0.1:{free_port()}",)))
    assert found["reachable"] is False and "does not answer: Connection refused" in found["message"]


def test_another_ca(cluster: EtcdCluster, tmp_path: Path) -> None:
    """The servers' certificates were not signed by the CA that is trusted."""
    other = Authority(tmp_path / "other")
    found = external_etcd.look(of(cluster, ca=pem(other.ca_file)))
    assert found["reachable"] is False
    assert f"the CA {other.ca_file} did not sign it" in found["message"]


def test_a_client_certificate_of_another_ca(cluster: EtcdCluster, tmp_path: Path) -> None:
    """etcd refuses the client."""
    certificate, key = Authority(tmp_path / "other").issue("client", (ExtendedKeyUsageOID.CLIENT_AUTH,))
    found = external_etcd.look(of(cluster, certificate=pem(certificate), key=pem(key)))
    assert found["reachable"] is False
    assert f"does not accept the client certificate ({certificate})" in found["message"]


def test_an_expired_client_certificate(cluster: EtcdCluster) -> None:
    certificate, key = cluster.authority.issue("expired", (ExtendedKeyUsageOID.CLIENT_AUTH,), ended=True)
    found = external_etcd.look(of(cluster, certificate=pem(certificate), key=pem(key)))
    assert found["reachable"] is False
    assert (
        found["message"]
        .split("; ", maxsplit=1)[0]
        .split("the client certificate ")[1]
        .startswith(f"{certificate} expired at 20")
    )


def test_files_that_are_no_certificates(cluster: EtcdCluster) -> None:
    for changes in (
        {"ca": Pem("", "no-such-file")},
        {"ca": Pem("nonsense", "ca.crt")},
        {"key": Pem("x", "client.key")},
    ):
        found = external_etcd.look(of(cluster, **changes))
        assert found["reachable"] is False and found["endpoints"] == []
        assert "can't be used" in found["message"]
        assert "nonsense" not in found["message"]


def test_keys_below_a_prefix_are_counted(cluster: EtcdCluster) -> None:
    assert external_etcd.count_keys(of(cluster)) == 0
    for key in (b"/registry/a", b"/registry/b", b"/registryx", b"/other/c"):
        assert cluster.put(key, b"1") == 200
    assert external_etcd.count_keys(of(cluster)) == 2
    assert external_etcd.count_keys(of(cluster), "/other/") == 1
    assert external_etcd.count_keys(of(cluster, endpoints=(f"https://127.0.0.1:{free_port()}",))) is None


def test_a_member_that_hangs_is_seen_when_it_comes_back(cluster: EtcdCluster) -> None:
    """One look proves nothing: what answers the next time is well."""
    member = cluster.members[2]
    member.pause()
    looks: list[bool] = []

    def look(etcd: ExternalEtcd) -> bool:
        found = external_etcd.look(etcd, 0.5)
        looks.append(found["reachable"])
        member.resume()
        return bool(found["reachable"])

    until("every endpoint serves", lambda: look(of(cluster)))
    assert looks[0] is False


def test_what_the_api_server_uses_is_read_from_its_manifest(tmp_path: Path) -> None:
    (tmp_path / "ca.crt").write_text("CA\n")
    manifest = (
        "    - kube-apiserver\n    - --etcd-servers=https://10.0.0.1:2379,https://10.0.0.2:2379\n"
        f"    - --etcd-cafile={tmp_path}/ca.crt\n    - --etcd-certfile={tmp_path}/missing.crt\n"
    )
    found = external_etcd.of_api_server(manifest)
    assert found is not None and found.endpoints == ("https://10.0.0.1:2379", "https://10.0.0.2:2379")
    assert found.ca == Pem("CA", f"{tmp_path}/ca.crt") and found.certificate == Pem("", f"{tmp_path}/missing.crt")
    assert found.key is None and "CA" not in repr(found)
    assert external_etcd.of_api_server("    - --etcd-servers=https://127.0.0.1:2379\n") is None
    assert external_etcd.of_api_server("") is None


def test_without_tls(tmp_path: Path) -> None:
    """http endpoints need no certificates at all."""
    found = external_etcd.look(ExternalEtcd((f"http://127.0.0.1:{free_port()}",)))
    assert found["reachable"] is False and "refused" in found["message"]


def test_beside_certificates_nothing_is_asked_in_plain_text(cluster: EtcdCluster) -> None:
    """As kubeadm refuses it: who answers there proved nothing."""
    with socket.create_server(("127.0.0.1", 0)) as plain:
        plain.setblocking(False)
        url = f"http://127.0.0.1:{plain.getsockname()[1]}"
        for certificates in (of(cluster), of(cluster, certificate=None, key=None)):
            etcd = dataclasses.replace(certificates, endpoints=(url, "http://a b:1"))
            found = external_etcd.look(etcd)
            assert [f"{each} is not asked" in found["message"] for each in etcd.endpoints] == [True, True]
            assert external_etcd.count_keys(etcd) is None
        with pytest.raises(BlockingIOError):
            plain.accept()


def test_an_endpoint_that_is_no_url_is_told_and_the_others_are_asked() -> None:
    endpoints = ("http://a b:1", "http://[", "127.0.0.1:2379", f"http://127.0.0.1:{free_port()}")
    found = external_etcd.look(ExternalEtcd(endpoints))
    said = [each["message"] for each in found["endpoints"]]
    assert ["is not asked" in each for each in said] == [True, True, True, False]
