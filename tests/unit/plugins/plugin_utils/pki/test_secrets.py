# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which certificate Secrets are made, kept, refused."""

from __future__ import annotations

import base64
import copy

import pytest

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects.user_annotations import FROM_MANIFEST
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.pki import certificates, secrets
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.pki.certificates import PkiError
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.pki.secrets import ensure_certificates

SECRET = ("", "Secret")
OURS = ["prod-ca", "prod-etcd", "prod-proxy", "prod-sa"]
FAST = "ECDSA-P256"
EXTERNAL = {"etcd": {"external": {"endpoints": ["https://10.0.0.9:2379"]}}}


def stored(store):
    return {each["metadata"]["name"]: each for each in store.list(SECRET)}


def decoded(secret, key):
    return base64.b64decode(secret["data"][key]).decode()


def test_all_are_made_before_the_first_machine(store, cluster, control_plane, now):
    result = ensure_certificates(store, cluster, control_plane, now, False)
    assert (result.changed, result.generated, result.missing, result.problems) == (True, OURS, [], [])
    found = stored(store)
    assert sorted(found) == OURS
    for name, secret in found.items():
        assert secret["type"] == "cluster.x-k8s.io/secret"
        assert secret["metadata"]["labels"] == {"cluster.x-k8s.io/cluster-name": "prod"}
        assert secret["metadata"]["ownerReferences"] == [
            {
                "apiVersion": "controlplane.cluster.x-k8s.io/v1beta2",
                "kind": "KubeadmControlPlane",
                "name": "prod-cp",
                "uid": control_plane["metadata"]["uid"],
                "controller": True,
                "blockOwnerDeletion": True,
            }
        ]
        assert sorted(secret["data"]) == ["tls.crt", "tls.key"]
        assert certificates.check_pair(decoded(secret, "tls.crt"), decoded(secret, "tls.key")), name
    names = [certificates.certificate_info(decoded(found[each], "tls.crt")).common_name for each in OURS[:3]]
    assert names == ["kubernetes", "etcd-ca", "front-proxy-ca"]
    assert decoded(found["prod-sa"], "tls.crt").startswith("-----BEGIN PUBLIC KEY-----")


def test_a_second_time_changes_nothing(store, cluster, control_plane, now):
    ensure_certificates(store, cluster, control_plane, now, False)
    before = stored(store)
    for initialized in (False, True, None):
        result = ensure_certificates(store, cluster, control_plane, now, initialized)
        assert (result.changed, result.generated) == (False, [])
    assert stored(store) == before


def test_only_the_missing_are_made(store, cluster, control_plane, now):
    ensure_certificates(store, cluster, control_plane, now, False)
    kept = stored(store)["prod-ca"]
    store.delete(SECRET, "default", "prod-etcd")
    assert ensure_certificates(store, cluster, control_plane, now, False).generated == ["prod-etcd"]
    assert stored(store)["prod-ca"] == kept


@pytest.mark.parametrize("initialized", [True, None])
def test_never_again_once_initialized(store, cluster, control_plane, now, initialized):
    ensure_certificates(store, cluster, control_plane, now, False)
    store.delete(SECRET, "default", "prod-etcd")
    store.delete(SECRET, "default", "prod-sa")
    before = stored(store)
    result = ensure_certificates(store, cluster, control_plane, now, initialized)
    assert (result.changed, result.generated, result.missing) == (False, [], ["prod-etcd", "prod-sa"])
    assert stored(store) == before
    assert result.facts["etcd"] == {"present": False, "hasKey": False, "notAfter": None, "fingerprint": None}


def test_algorithm_and_validity_are_the_specs(store, cluster, another_control_plane, now):
    control_plane = another_control_plane({"encryptionAlgorithm": "ECDSA-P384", "caCertificateValidityPeriodDays": 100})
    result = ensure_certificates(store, cluster, control_plane, now, False)
    assert {result.facts[each]["notAfter"] for each in ("ca", "etcd", "proxy")} == {"2026-09-09T12:00:00Z"}
    assert len(decoded(stored(store)["prod-ca"], "tls.key")) > len(certificates.new_service_account(FAST).key)


class TestUsersOwn:
    def test_used_untouched(self, store, cluster, control_plane, put_secret, now):
        own = certificates.new_ca("my company", now, FAST)
        mine = put_secret("prod-ca", tls_crt=own.crt, tls_key=own.key)
        result = ensure_certificates(store, cluster, control_plane, now, False)
        assert result.generated == OURS[1:]
        assert stored(store)["prod-ca"] == mine
        assert result.facts["ca"]["fingerprint"] == certificates.certificate_info(own.crt).fingerprint

    def test_without_its_key(self, store, cluster, control_plane, put_secret, now):
        own = certificates.new_ca("my company", now, FAST)
        mine = put_secret("prod-ca", tls_crt=own.crt)
        result = ensure_certificates(store, cluster, control_plane, now, False)
        assert stored(store)["prod-ca"] == mine
        assert (result.facts["ca"]["present"], result.facts["ca"]["hasKey"]) == (True, False)
        assert secrets.read_certificates(store, cluster)["ca"] == {"crt": own.crt, "key": None}

    def test_of_a_manifest_is_untouched_whatever_its_type(self, store, cluster, control_plane, put_secret, now):
        own = certificates.new_ca("kubernetes", now, FAST)
        put_secret("prod-ca", type="cluster.x-k8s.io/secret", tls_crt=own.crt, tls_key=own.key)
        note = {FROM_MANIFEST: "{}"}
        mine = store.modify(SECRET, "default", "prod-ca", lambda found: found["metadata"].update(annotations=note))
        ensure_certificates(store, cluster, control_plane, now, False)
        assert stored(store)["prod-ca"] == mine

    def test_of_another_type_with_an_owner_is_untouched(self, store, cluster, control_plane, put_secret, now):
        own = certificates.new_ca("kubernetes", now, FAST)
        owner = [{"apiVersion": "v1", "kind": "X", "name": "x", "uid": "1", "controller": True}]
        mine = put_secret("prod-ca", owners=owner, tls_crt=own.crt, tls_key=own.key)
        ensure_certificates(store, cluster, control_plane, now, False)
        assert stored(store)["prod-ca"] == mine

    def test_every_fault_is_named_and_nothing_made(self, store, cluster, control_plane, put_secret, now):
        own, other = certificates.new_ca("a", now, FAST), certificates.new_ca("b", now, FAST)
        expired = certificates.new_ca("c", "2016-01-01T00:00:00Z", FAST, days=1)
        put_secret("prod-ca", tls_crt=own.crt, tls_key=other.key)
        put_secret("prod-etcd", tls_crt=expired.crt)
        put_secret("prod-proxy", ca_crt=own.crt)
        put_secret("prod-sa", tls_crt=certificates.new_service_account(FAST).crt)
        before = stored(store)
        with pytest.raises(PkiError) as caught:
            ensure_certificates(store, cluster, control_plane, now, False)
        said = str(caught.value)
        assert "Secret default/prod-ca: the key in tls.key does not belong to tls.crt" in said
        assert "Secret default/prod-etcd: the certificate expired at 2016-01-02" in said
        assert "Secret default/prod-proxy has no tls.crt" in said
        assert "Secret default/prod-sa: it has no tls.key" in said
        assert "Nothing was made" in said and "PRIVATE" not in said
        assert stored(store) == before
        assert len(ensure_certificates(store, cluster, control_plane, now, True).problems) == 4

    @pytest.mark.parametrize("data", ["not base64!", "aGVsbG8=", ""])
    def test_what_is_no_certificate(self, store, cluster, control_plane, put_secret, now, data):
        broken = put_secret("prod-ca", tls_crt="x")
        broken["data"]["tls.crt"] = data
        store.update(broken)
        with pytest.raises(PkiError, match=r"prod-ca.*tls\.crt"):
            ensure_certificates(store, cluster, control_plane, now, False)
        assert secrets.certificate_facts(store, cluster)["ca"]["notAfter"] is None

    def test_a_key_that_can_not_be_read_is_no_missing_key(self, store, cluster, control_plane, put_secret, now):
        broken = put_secret("prod-ca", tls_crt=certificates.new_ca("a", now, FAST).crt)
        broken["data"]["tls.key"] = "%%%"
        store.update(broken)
        with pytest.raises(PkiError, match=r"tls\.key is not base64"):
            ensure_certificates(store, cluster, control_plane, now, False)


@pytest.mark.parametrize("initialized", [False, True, None])
@pytest.mark.parametrize(
    "owners",
    [
        None,
        [{"apiVersion": "v1", "kind": "X", "name": "x", "uid": "1", "controller": True}],
        [{"apiVersion": "v1", "kind": "X", "name": "x", "uid": "1"}],
    ],
)
def test_of_cluster_apis_type_they_become_ours_whoever_had_them(
    store, cluster, control_plane, put_secret, now, owners, initialized
):
    """As upstream's ensureCertificatesOwnerRef does; what they hold stays."""
    own = certificates.new_ca("kubernetes", now, FAST)
    before = put_secret("prod-ca", type="cluster.x-k8s.io/secret", owners=owners, tls_crt=own.crt, tls_key=own.key)
    assert ensure_certificates(store, cluster, control_plane, now, initialized).changed
    after = stored(store)["prod-ca"]
    assert secrets.is_controlled_by(after, control_plane) and after["data"] == before["data"]
    others = [each["kind"] for each in after["metadata"]["ownerReferences"] if not each.get("controller")]
    assert others == [each["kind"] for each in owners or [] if not each.get("controller")]
    assert not ensure_certificates(store, cluster, control_plane, now, None).changed


def test_a_predecessors_secrets_become_ours(store, cluster, control_plane, another_control_plane, now):
    predecessor = another_control_plane()
    ensure_certificates(store, cluster, predecessor, now, False)
    before = stored(store)
    extra = {"apiVersion": "v1", "kind": "X", "name": "x", "uid": "1"}
    store.modify(SECRET, "default", "prod-ca", lambda found: found["metadata"]["ownerReferences"].append(extra))
    result = ensure_certificates(store, cluster, control_plane, now, True)
    assert (result.changed, result.generated) == (True, [])
    for name, secret in stored(store).items():
        controllers = [each["name"] for each in secret["metadata"]["ownerReferences"] if each.get("controller")]
        assert controllers == ["prod-cp"]
        assert secret["data"] == before[name]["data"]
    assert extra in stored(store)["prod-ca"]["metadata"]["ownerReferences"]
    assert ensure_certificates(store, cluster, control_plane, now, True).changed is False


class TestExternalEtcd:
    def test_its_secrets_are_the_users(self, store, cluster, another_control_plane, now):
        with pytest.raises(PkiError) as caught:
            ensure_certificates(store, cluster, another_control_plane(EXTERNAL), now, False)
        said = str(caught.value)
        assert (
            "Secret default/prod-etcd is missing" in said
            and "Secret default/prod-apiserver-etcd-client is missing" in said
        )
        assert stored(store) == {}

    def test_given(self, store, cluster, another_control_plane, put_secret, now):
        etcd = certificates.new_ca("etcd", now, FAST)
        client = certificates.new_client_certificate(etcd, "apiserver", [], now, FAST)
        put_secret("prod-etcd", tls_crt=etcd.crt)
        put_secret("prod-apiserver-etcd-client", tls_crt=client.crt, tls_key=client.key)
        result = ensure_certificates(store, cluster, another_control_plane(EXTERNAL), now, False)
        assert result.generated == ["prod-ca", "prod-proxy", "prod-sa"]
        pair = secrets.read_certificates(store, cluster)["apiserver-etcd-client"]
        assert pair == {"crt": client.crt, "key": client.key}

    def test_an_expired_client(self, store, cluster, another_control_plane, put_secret, now):
        etcd = certificates.new_ca("etcd", now, FAST)
        client = certificates.new_client_certificate(etcd, "apiserver", [], now, FAST, days=1)
        put_secret("prod-etcd", tls_crt=etcd.crt)
        put_secret("prod-apiserver-etcd-client", tls_crt=client.crt, tls_key=client.key)
        with pytest.raises(PkiError, match="apiserver-etcd-client: the certificate expired"):
            ensure_certificates(store, cluster, another_control_plane(EXTERNAL), "2026-06-02T12:00:00Z", False)


def test_facts_are_public(store, cluster, control_plane, now):
    ensure_certificates(store, cluster, control_plane, now, False)
    result = ensure_certificates(store, cluster, control_plane, now, True)
    for secret in stored(store).values():
        for line in decoded(secret, "tls.key").split("\n")[1:-2]:
            assert line not in str(result)
    assert result.facts["kubeconfig"] == {"present": False, "notAfter": None}
    assert result.facts["sa"] == {"present": True, "hasKey": True, "notAfter": None, "fingerprint": None}
    assert result.facts["ca"]["notAfter"] == "2036-05-29T12:00:00Z"


def test_the_objects_given_are_not_changed(store, cluster, control_plane, now):
    before = copy.deepcopy((cluster, control_plane))
    ensure_certificates(store, cluster, control_plane, now, False)
    assert (cluster, control_plane) == before
