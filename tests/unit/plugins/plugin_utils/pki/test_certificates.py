# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Certificates as openssl and kubeadm see them."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.pki import certificates, reissue
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.pki.certificates import KeyPair, PkiError

FAST = "ECDSA-P256"


@pytest.fixture(scope="module")
def ca():
    return certificates.new_ca("kubernetes", "2026-06-01T12:00:00Z", FAST)


@pytest.mark.parametrize(
    ("algorithm", "key_said", "header", "digest"),
    [
        ("RSA-2048", "Private-Key: (2048 bit", "RSA PRIVATE KEY", "sha256WithRSAEncryption"),
        ("RSA-3072", "Private-Key: (3072 bit", "RSA PRIVATE KEY", "sha256WithRSAEncryption"),
        ("ECDSA-P256", "prime256v1", "EC PRIVATE KEY", "ecdsa-with-SHA256"),
        ("ECDSA-P384", "secp384r1", "EC PRIVATE KEY", "ecdsa-with-SHA384"),
    ],
)
def test_algorithms(openssl, now, algorithm, key_said, header, digest):
    pair = certificates.new_ca("etcd-ca", now, algorithm)
    assert pair.key.startswith(f"-----BEGIN {header}-----\n")
    assert key_said in openssl("pkey", "-noout", "-text", text=pair.key)
    assert digest in openssl("x509", "-noout", "-text", text=pair.crt)
    public = openssl("pkey", "-pubout", text=pair.key)
    assert openssl("x509", "-noout", "-pubkey", text=pair.crt) == public


def test_the_default_is_rsa_2048(openssl, now):
    assert certificates.ALGORITHMS[0] == "RSA-2048"
    assert "(2048 bit" in openssl("pkey", "-noout", "-text", text=certificates.new_service_account().key)


@pytest.mark.parametrize("algorithm", ["RSA-1024", "", "rsa-2048", "ECDSA-P521", "RSA-x"])
def test_unknown_algorithms_are_refused(now, algorithm):
    with pytest.raises(PkiError, match=r"encryptionAlgorithm.*known are RSA-2048, RSA-3072"):
        certificates.new_ca("kubernetes", now, algorithm)


def test_an_authority_is_as_kubeadm_makes_it(openssl, ca):
    text = openssl("x509", "-noout", "-text", text=ca.crt)
    assert "Version: 3" in text
    assert "Issuer: CN = kubernetes\n" in text and "Subject: CN = kubernetes\n" in text
    assert "Not Before: Jun  1 11:55:00 2026 GMT" in text
    assert "Not After : May 29 12:00:00 2036 GMT" in text
    assert "X509v3 Basic Constraints: critical\n                CA:TRUE\n" in text
    assert "X509v3 Key Usage: critical\n                Digital Signature, Key Encipherment, Certificate Sign\n" in text
    assert "DNS:kubernetes" in text
    assert "X509v3 Subject Key Identifier" in text


def test_serial_numbers_differ(openssl, now):
    assert (
        len({openssl("x509", "-noout", "-serial", text=certificates.new_ca("x", now, FAST).crt) for _draw in range(5)})
        == 5
    )


def test_validity(openssl, now):
    text = openssl("x509", "-noout", "-enddate", text=certificates.new_ca("x", now, FAST, days=10).crt)
    assert text.strip() == "notAfter=Jun 11 12:00:00 2026 GMT"


def test_service_account_keys(openssl):
    pair = certificates.new_service_account(FAST)
    assert pair.crt.startswith("-----BEGIN PUBLIC KEY-----\n")
    assert openssl("pkey", "-pubout", text=pair.key) == pair.crt
    assert certificates.check_key_pair(pair.crt, pair.key) == []


def test_a_client_certificate_verifies(openssl, tmp_path, ca, now):
    client = certificates.new_client_certificate(ca, "kubernetes-admin", ["system:masters"], now, FAST)
    (tmp_path / "ca.crt").write_text(ca.crt)
    (tmp_path / "client.crt").write_text(client.crt)
    at = ("-attime", "1780315200")
    assert "OK" in openssl(
        "verify", *at, "-purpose", "sslclient", "-CAfile", tmp_path / "ca.crt", tmp_path / "client.crt"
    )
    as_server = [
        "openssl",
        "verify",
        *at,
        "-purpose",
        "sslserver",
        "-CAfile",
        tmp_path / "ca.crt",
        tmp_path / "client.crt",
    ]
    assert subprocess.run(as_server, capture_output=True, check=False).returncode != 0
    text = openssl("x509", "-noout", "-text", text=client.crt)
    assert "Subject: O = system:masters, CN = kubernetes-admin" in text
    assert "CA:FALSE" in text and "TLS Web Client Authentication" in text
    assert "X509v3 Key Usage: critical\n                Digital Signature, Key Encipherment\n" in text
    assert "Not After : Jun  1 12:00:00 2027 GMT" in text
    assert certificates.check_pair(client.crt, client.key)


def test_a_client_certificate_never_outlives_its_authority(now):
    short = certificates.new_ca("kubernetes", now, FAST, days=30)
    client = certificates.new_client_certificate(short, "x", [], now, FAST)
    info, authority = certificates.certificate_info(client.crt), certificates.certificate_info(short.crt)
    assert (info.not_after, info.not_before) == (authority.not_after, authority.not_before)


def test_an_authority_without_its_key_signs_nothing(ca, now):
    with pytest.raises(PkiError, match="can't be signed"):
        certificates.new_client_certificate(KeyPair(ca.crt, None), "x", [], now)


def test_the_hash_is_kubeadms(openssl, tmp_path, ca, now):
    # The command of kubeadm's documentation.
    rsa = certificates.new_ca("kubernetes", now)
    for pair in (rsa, ca):
        (tmp_path / "public.pem").write_text(openssl("x509", "-pubkey", "-noout", text=pair.crt))
        openssl("pkey", "-pubin", "-in", tmp_path / "public.pem", "-outform", "der", "-out", tmp_path / "public.der")
        digest = openssl("dgst", "-sha256", "-hex", tmp_path / "public.der").split()[-1]
        assert certificates.ca_cert_hash(pair.crt) == f"sha256:{digest}"
        assert certificates.ca_cert_hash(pair.crt.encode()) == f"sha256:{digest}"
    bundle = certificates.ca_cert_hashes(rsa.crt + ca.crt)
    assert bundle == [certificates.ca_cert_hash(rsa.crt), certificates.ca_cert_hash(ca.crt)]
    assert certificates.ca_cert_hash(rsa.crt + ca.crt) == bundle[0]


def test_facts(openssl, ca):
    info = certificates.certificate_info(ca.crt)
    fingerprint = openssl("x509", "-noout", "-fingerprint", "-sha256", text=ca.crt).split("=")[1].strip()
    assert info.fingerprint == fingerprint.replace(":", "").lower()
    assert (info.common_name, info.is_ca) == ("kubernetes", True)
    assert (info.not_before, info.not_after) == ("2026-06-01T11:55:00Z", "2036-05-29T12:00:00Z")


class TestCheckCa:
    def test_good_ones(self, ca, now):
        assert certificates.check_ca(ca.crt, ca.key, now) == []
        assert certificates.check_ca(ca.crt, None, now) == []

    def test_made_by_openssl(self, tmp_path, openssl):
        key, crt = tmp_path / "key", tmp_path / "crt"
        openssl(
            "req",
            "-x509",
            "-newkey",
            "rsa:2048",
            "-nodes",
            "-subj",
            "/CN=my own",
            "-keyout",
            key,
            "-out",
            crt,
            "-days",
            "10",
        )
        at = certificates.certificate_info(crt.read_text()).not_before
        assert certificates.check_ca(crt.read_text(), key.read_text(), at) == []

    @pytest.mark.parametrize(
        ("at", "said"),
        [
            ("2036-05-29T12:00:00Z", "expired at 2036-05-29T12:00:00Z"),
            ("2026-06-01T11:00:00Z", "valid only from 2026-06-01T11:55:00Z"),
        ],
    )
    def test_at_the_wrong_time(self, ca, at, said):
        assert said in certificates.check_ca(ca.crt, ca.key, at)[0]

    def test_another_key(self, ca, now):
        other = certificates.new_ca("kubernetes", now, FAST)
        assert certificates.check_ca(ca.crt, other.key, now) == ["the key in tls.key does not belong to tls.crt"]

    def test_no_authority(self, ca, now, tmp_path, openssl):
        client = certificates.new_client_certificate(ca, "x", [], now, FAST)
        assert "not a CA's" in certificates.check_ca(client.crt, None, now)[0]
        key, request, crt = tmp_path / "key", tmp_path / "request", tmp_path / "crt"
        openssl("req", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=v1", "-keyout", key, "-out", request)
        openssl("x509", "-req", "-in", request, "-signkey", key, "-out", crt)
        at = certificates.certificate_info(crt.read_text()).not_before
        assert "not a CA's" in certificates.check_ca(crt.read_text(), None, at)[0]

    @pytest.mark.parametrize("crt", ["", "x", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"])
    def test_no_certificate(self, crt, now):
        assert certificates.check_ca(crt, None, now)[0].startswith("tls.crt holds no certificate")

    def test_a_key_that_is_none_or_encrypted(self, ca, now, openssl):
        assert "no private key" in certificates.check_ca(ca.crt, "hunter2", now)[0]
        assert "hunter2" not in certificates.check_ca(ca.crt, "hunter2", now)[0]
        locked = openssl("pkey", "-aes256", "-passout", "pass:hunter2", text=ca.key)
        assert "without a passphrase" in certificates.check_ca(ca.crt, locked, now)[0]

    def test_several_faults_at_once(self, ca, now):
        other = certificates.new_ca("kubernetes", now, FAST)
        client = certificates.new_client_certificate(ca, "x", [], now, FAST)
        assert len(certificates.check_ca(client.crt, other.key, "2040-01-01T00:00:00Z")) == 3


def test_pairs_of_keys(ca, now):
    one, two = certificates.new_service_account(FAST), certificates.new_service_account()
    assert certificates.check_pair(one.crt, one.key) and not certificates.check_pair(one.crt, two.key)
    assert "does not belong" in certificates.check_key_pair(one.crt, two.key)[0]
    assert "no tls.key" in certificates.check_key_pair(one.crt, None)[0]
    assert "no certificate and no public key" in certificates.check_key_pair("x", one.key)[0]


def pem_of(label, der):
    return f"-----BEGIN {label}-----\n{base64.encodebytes(der).decode()}-----END {label}-----\n"


@settings(max_examples=150)
@given(st.data())
def test_whatever_a_certificate_or_key_holds_is_refused_in_words(ca, data):
    """Parts of a certificate are read only when they are asked for: its key, names, version and extensions."""
    pair, mangled = ca, []
    for pem in pair.crt, pair.key:
        der = bytearray(base64.b64decode("".join(pem.splitlines()[1:-1])))
        for at in data.draw(st.lists(st.integers(0, 9999), min_size=1, max_size=3)):
            der[at % len(der)] = data.draw(st.integers(0, 255))
        mangled.append(pem_of(pem.split("-----")[1].removeprefix("BEGIN "), bytes(der)))
    for crt, key in ((mangled[0], pair.key), (pair.crt, mangled[1])):
        for call in (
            lambda crt=crt: certificates.certificate_info(crt),
            lambda crt=crt: certificates.ca_cert_hashes(crt),
            lambda crt=crt, key=key: certificates.check_pair(crt, key),
            lambda crt=crt, key=key: certificates.new_client_certificate(
                KeyPair(crt, key), "x", [], "2026-06-01T12:00:00Z", FAST
            ),
            lambda crt=crt: reissue.common_name(crt, "ca", "2026-06-01T12:00:00Z"),
            lambda crt=crt: reissue.issued_by(pair.crt, crt),
            lambda crt=crt: reissue.issued_by(crt, pair.crt),
            lambda crt=crt: reissue.reissue(crt, pair, "2026-06-01T12:00:00Z"),
            lambda crt=crt: reissue.fingerprints(crt),
        ):
            with contextlib.suppress(PkiError):
                call()
        assert isinstance(certificates.check_ca(crt, key, "2026-06-01T12:00:00Z"), list)
        assert isinstance(certificates.check_key_pair(crt, key), list)


@pytest.mark.parametrize("curve", ["ed25519", "ed448"])
def test_keys_that_kubeadm_does_not_read_sign_nothing(openssl, tmp_path, now, curve):
    key = openssl("genpkey", "-algorithm", curve)
    (tmp_path / "key").write_text(key)
    crt = openssl("req", "-new", "-x509", "-key", tmp_path / "key", "-subj", "/CN=ca", "-days", "30")
    with pytest.raises(PkiError, match="neither an RSA nor an ECDSA key"):
        certificates.new_client_certificate(KeyPair(crt, key), "x", [], now, FAST)


@pytest.mark.parametrize("text", ["\ud800", "-----BEGIN CERTIFICATE-----\n\ud800"])
def test_what_is_no_text_at_all_is_refused_in_words(ca, now, text):
    for call in (certificates.certificate_info, certificates.ca_cert_hash):
        with pytest.raises(PkiError):
            call(text)
    assert certificates.check_ca(text, ca.key, now) and certificates.check_ca(ca.crt, text, now)
    assert reissue.fingerprints(text) in ((), (hashlib.sha256(b"").hexdigest(),))


def test_a_key_is_not_shown(ca):
    assert "PRIVATE" not in repr(ca) and "PRIVATE" not in str({"pair": ca})
