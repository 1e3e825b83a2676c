# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The admin kubeconfig over its life."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import stat

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from random_snapshots import with_an_odd_field

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects.user_annotations import FROM_MANIFEST
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.pki import certificates, kubeconfig, secrets
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.pki import kubeconfig_text as texts
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.pki.certificates import KeyPair, PkiError
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.pki.kubeconfig import ensure_kubeconfig
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.pki.kubeconfig_text import kubeconfig_text

SECRET = ("", "Secret")
ENDPOINT = {"host": "10.0.0.10", "port": 6443}
FAST = "ECDSA-P256"


@pytest.fixture
def with_ca(store, cluster, control_plane, now):
    secrets.ensure_certificates(store, cluster, control_plane, now, False)


def parsed(store, cluster):
    return yaml.safe_load(kubeconfig.read_kubeconfig(store, cluster))


def client(config):
    return base64.b64decode(config["users"][0]["user"]["client-certificate-data"]).decode()


def test_made_with_cluster_apis_names(store, cluster, control_plane, with_ca, now, openssl, tmp_path):
    result = ensure_kubeconfig(store, cluster, control_plane, ENDPOINT, now)
    assert (result.changed, result.state, result.reason) == (True, "created", "")
    secret = store.get(SECRET, "default", "prod-kubeconfig")
    assert secret["type"] == "cluster.x-k8s.io/secret" and list(secret["data"]) == ["value"]
    assert secret["metadata"]["labels"] == {"cluster.x-k8s.io/cluster-name": "prod"}
    assert secrets.is_controlled_by(secret, control_plane)
    config = parsed(store, cluster)
    assert config["current-context"] == "prod-admin@prod"
    assert config["contexts"] == [{"name": "prod-admin@prod", "context": {"cluster": "prod", "user": "prod-admin"}}]
    assert config["users"][0]["name"] == "prod-admin"
    assert config["clusters"][0]["cluster"]["server"] == "https://10.0.0.10:6443"
    ca = secrets.read_pair(store, cluster, "ca")
    assert base64.b64decode(config["clusters"][0]["cluster"]["certificate-authority-data"]).decode() == ca.crt
    assert "Subject: O = system:masters, CN = kubernetes-admin" in openssl(
        "x509", "-noout", "-text", text=client(config)
    )
    (tmp_path / "ca").write_text(ca.crt)
    (tmp_path / "client").write_text(client(config))
    openssl("verify", "-attime", "1780315200", "-CAfile", tmp_path / "ca", tmp_path / "client")
    key = base64.b64decode(config["users"][0]["user"]["client-key-data"]).decode()
    assert certificates.check_pair(client(config), key)
    assert secrets.certificate_facts(store, cluster)["kubeconfig"] == {
        "present": True,
        "notAfter": "2027-06-01T12:00:00Z",
    }


def test_kept_until_half_a_year_is_left_then_renewed_with_its_server(store, cluster, control_plane, with_ca, now):
    ensure_kubeconfig(store, cluster, control_plane, ENDPOINT, now)
    before = parsed(store, cluster)
    elsewhere = {"host": "10.0.0.99", "port": 443}
    kept = ensure_kubeconfig(store, cluster, control_plane, elsewhere, "2026-12-01T00:00:00Z")
    assert (kept.changed, kept.state) == (False, "present")
    assert parsed(store, cluster) == before
    renewed = ensure_kubeconfig(store, cluster, control_plane, elsewhere, "2026-12-01T00:00:01Z")
    assert (renewed.changed, renewed.state) == (True, "renewed")
    after = parsed(store, cluster)
    assert certificates.certificate_info(client(after)).not_after == "2027-12-01T00:00:01Z"
    assert after["clusters"] == before["clusters"]


def test_renewed_after_it_expired_or_was_damaged(store, cluster, control_plane, with_ca, now):
    ensure_kubeconfig(store, cluster, control_plane, ENDPOINT, now)
    assert ensure_kubeconfig(store, cluster, control_plane, ENDPOINT, "2030-01-01T00:00:00Z").state == "renewed"
    store.modify(SECRET, "default", "prod-kubeconfig", lambda found: found["data"].update(value="eDogWw=="))
    assert ensure_kubeconfig(store, cluster, control_plane, ENDPOINT, "2030-01-01T00:00:00Z").state == "renewed"
    assert parsed(store, cluster)["clusters"][0]["cluster"]["server"] == "https://10.0.0.10:6443"


@pytest.mark.parametrize("text", ["the user's own", "", "x: ["])
def test_a_users_own_is_never_touched(store, cluster, control_plane, with_ca, put_secret, now, text):
    mine = put_secret("prod-kubeconfig", value=text)
    result = ensure_kubeconfig(store, cluster, control_plane, ENDPOINT, now)
    assert (result.changed, result.state) == (False, "userSupplied")
    assert store.get(SECRET, "default", "prod-kubeconfig") == mine
    assert ("Its key 'value' has no kubeconfig" in result.message) is (not text)
    assert secrets.certificate_facts(store, cluster)["kubeconfig"] == {"present": True, "notAfter": None}


def foreign(store, owners):
    """The cluster's kubeconfig as somebody else's: of Cluster API's type, with these owners."""

    def change(found):
        found["metadata"].pop("ownerReferences", None)
        found["metadata"].update({"ownerReferences": owners} if owners else {})

    return store.modify(SECRET, "default", "prod-kubeconfig", change)


STRANGER = {"apiVersion": "v1", "kind": "X", "name": "x", "uid": "1", "controller": True}


@pytest.mark.parametrize("owners", [[], [STRANGER]])
def test_of_cluster_apis_type_it_becomes_ours_and_is_renewed(store, cluster, control_plane, with_ca, now, owners):
    """As upstream's adoptKubeconfigSecret does: an import, or clusterctl move, leaves it so, and nobody else would renew it."""
    ensure_kubeconfig(store, cluster, control_plane, ENDPOINT, now)
    before = foreign(store, owners)
    kept = ensure_kubeconfig(store, cluster, control_plane, ENDPOINT, now)
    assert (kept.changed, kept.state) == (True, "present")
    after = store.get(SECRET, "default", "prod-kubeconfig")
    assert secrets.is_controlled_by(after, control_plane) and after["data"] == before["data"]
    assert ensure_kubeconfig(store, cluster, control_plane, ENDPOINT, now).changed is False
    foreign(store, owners)
    assert ensure_kubeconfig(store, cluster, control_plane, ENDPOINT, "2027-05-01T00:00:00Z").state == "renewed"


def test_one_of_cluster_apis_type_without_a_kubeconfig_is_made(store, cluster, control_plane, with_ca, put_secret, now):
    """As long as it has none, every pass wants to make it; what else it holds stays."""
    put_secret("prod-kubeconfig", type="cluster.x-k8s.io/secret", value="", other="x")
    assert not secrets.certificate_facts(store, cluster)["kubeconfig"]["present"]
    assert ensure_kubeconfig(store, cluster, control_plane, ENDPOINT, now).state == "renewed"
    assert secrets.certificate_facts(store, cluster)["kubeconfig"]["present"]
    assert "other" in store.get(SECRET, "default", "prod-kubeconfig")["data"]
    assert ensure_kubeconfig(store, cluster, control_plane, ENDPOINT, now).changed is False


@pytest.mark.parametrize("text", ["apiVersion: v1\nkind: Config\n", "x: ["])
def test_a_foreign_one_without_a_client_certificate_is_left_alone(
    store, cluster, control_plane, with_ca, put_secret, now, text
):
    """It signs in another way (a token, a plugin): a certificate in its place would be another person."""
    mine = put_secret("prod-kubeconfig", type="cluster.x-k8s.io/secret", value=text)
    assert ensure_kubeconfig(store, cluster, control_plane, ENDPOINT, now).state == "userSupplied"
    assert store.get(SECRET, "default", "prod-kubeconfig") == mine


@pytest.mark.parametrize("ours", [False, True])
def test_one_of_the_manifest_is_not_renewed(store, cluster, control_plane, with_ca, now, ours):
    """The next run would write the manifest's back; a Secret that was made here and copied into the manifest is one, too."""
    ensure_kubeconfig(store, cluster, control_plane, ENDPOINT, now)
    if not ours:
        foreign(store, [])
    note = {FROM_MANIFEST: "{}"}
    mine = store.modify(SECRET, "default", "prod-kubeconfig", lambda found: found["metadata"].update(annotations=note))
    later = ensure_kubeconfig(store, cluster, control_plane, ENDPOINT, "2027-05-01T00:00:00Z")
    assert (later.changed, later.state) == (False, "userSupplied")
    assert store.get(SECRET, "default", "prod-kubeconfig") == mine
    assert not secrets.is_controlled_by(mine, control_plane), "and no rotation writes it"


@pytest.mark.parametrize("endpoint", [None, {}, {"host": "", "port": 0}])
def test_it_waits_for_the_endpoint(store, cluster, control_plane, with_ca, now, endpoint):
    result = ensure_kubeconfig(store, cluster, control_plane, endpoint, now)
    assert (result.changed, result.state, result.reason) == (False, "waiting", "EndpointMissing")
    assert store.get(SECRET, "default", "prod-kubeconfig") is None


def test_it_waits_for_the_authority(store, cluster, control_plane, now):
    result = ensure_kubeconfig(store, cluster, control_plane, ENDPOINT, now)
    assert (result.state, result.reason) == ("waiting", "CertificateAuthorityMissing")
    assert "prod-ca" in result.message


def test_an_authority_without_key_asks_for_a_kubeconfig(store, cluster, control_plane, put_secret, now):
    put_secret("prod-ca", tls_crt=certificates.new_ca("mine", now, FAST).crt)
    result = ensure_kubeconfig(store, cluster, control_plane, ENDPOINT, now)
    assert (result.changed, result.state, result.reason) == (False, "waiting", "CertificateAuthorityKeyMissing")
    assert (
        "prod-kubeconfig" in result.message
        and "system:masters" in result.message
        and "prod-ca has no tls.key" in result.message
    )


def test_ipv6_and_default_port(store, cluster, control_plane, with_ca, now):
    ensure_kubeconfig(store, cluster, control_plane, {"host": "fd00::1"}, now)
    assert parsed(store, cluster)["clusters"][0]["cluster"]["server"] == "https://[fd00::1]:6443"


def test_a_bundle_of_authorities_is_trusted_whole(store, cluster, control_plane, put_secret, now):
    first, second = certificates.new_ca("one", now, FAST), certificates.new_ca("two", now, FAST)
    put_secret("prod-ca", tls_crt=first.crt + second.crt, tls_key=first.key)
    ensure_kubeconfig(store, cluster, control_plane, ENDPOINT, now)
    config = parsed(store, cluster)
    assert (
        base64.b64decode(config["clusters"][0]["cluster"]["certificate-authority-data"]).decode()
        == first.crt + second.crt
    )


def test_written_to_a_file(store, cluster, control_plane, with_ca, now, tmp_path):
    path = tmp_path / "kubeconfig"
    assert kubeconfig.write_kubeconfig(store, cluster, str(path)) is False
    assert not path.exists()
    ensure_kubeconfig(store, cluster, control_plane, ENDPOINT, now)
    assert kubeconfig.write_kubeconfig(store, cluster, str(path)) is True
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    assert path.read_text() == kubeconfig.read_kubeconfig(store, cluster)
    assert kubeconfig.write_kubeconfig(store, cluster, str(path)) is False
    path.chmod(0o644)
    assert kubeconfig.write_kubeconfig(store, cluster, str(path)) is True
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600


OWN = """
apiVersion: v1
kind: Config
clusters: [{name: a, cluster: {server: "https://192.0.2.9:6443"}}, {name: prod, cluster: {server: "https://10.0.0.10:6443"}}]
contexts: [{name: a, context: {cluster: a, user: a}}, {name: prod, context: {cluster: prod, user: a}}]
users: [{name: a, user: {}}]
current-context: prod
"""


def test_no_other_file_is_overwritten(store, cluster, control_plane, with_ca, now, tmp_path):
    """Another cluster's, or a person's own contexts: whoever uses that file works on the cluster that was in it before."""
    path = tmp_path / "kubeconfig"
    ensure_kubeconfig(store, cluster, control_plane, ENDPOINT, now)
    other = certificates.new_ca("other", now, FAST)
    anothers = kubeconfig_text("prod", "https://192.0.2.9:6443", other.crt, other)
    for text in (anothers, OWN, "my notes"):
        path.write_text(text)
        with pytest.raises(PkiError, match=r"no kubeconfig of this cluster alone.*inventory_hostname"):
            kubeconfig.write_kubeconfig(store, cluster, str(path))
        assert path.read_text() == text


def test_its_own_older_one_is_overwritten(store, cluster, control_plane, with_ca, now, tmp_path):
    """The endpoint has moved, or the authorities were rotated; or the file was made for it and is empty."""
    path = tmp_path / "kubeconfig"
    ensure_kubeconfig(store, cluster, control_plane, ENDPOINT, now)
    kept = kubeconfig.read_kubeconfig(store, cluster)
    server = parsed(store, cluster)["clusters"][0]["cluster"]["server"]
    other = certificates.new_ca("rotated", now, FAST)
    for text in (
        kubeconfig_text("prod", server, other.crt, other),
        kept.replace(server, "https://192.0.2.9:6443"),
        "",
    ):
        path.write_text(text)
        assert kubeconfig.write_kubeconfig(store, cluster, str(path)) is True
        assert path.read_text() == kept


def test_results_hold_no_secret(store, cluster, control_plane, with_ca, now):
    result = ensure_kubeconfig(store, cluster, control_plane, ENDPOINT, now)
    assert "LS0t" not in str(result) and "PRIVATE" not in str(result)


@settings(max_examples=300)
@given(st.data())
def test_whatever_a_kubeconfig_holds_it_is_read_or_none(data):
    """One of a user's own, or what cluster-info has: any field may be missing or of another type."""
    whole = kubeconfig_text("prod", "https://10.0.0.10:6443", "CA", KeyPair("crt", "key"))
    config = yaml.safe_load(whole)
    for _time in range(data.draw(st.integers(1, 2))):
        with_an_odd_field(data.draw, config)
    found = yaml.safe_dump(config) if data.draw(st.booleans()) else json.dumps(config)
    for call in (texts.changed, texts.with_authorities):
        with contextlib.suppress(ValueError):
            assert texts.authorities(call(found, "NEW")) in ("", "NEW")
    with contextlib.suppress(ValueError):
        assert texts.client_certificate(texts.changed(found, "", KeyPair("other", "key"))) == "other"
    assert isinstance(texts.authorities(found), str)
    assert texts.is_of_the_same_cluster(found, whole) in (True, False)
    assert isinstance(texts.client_certificate(found), (str, type(None)))
    assert isinstance(texts.server_url(found), (str, type(None)))
