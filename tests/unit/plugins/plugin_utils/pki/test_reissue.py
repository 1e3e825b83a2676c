# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Certificates signed anew, proven by OpenSSL and by real TLS handshakes."""

from __future__ import annotations

import base64
import datetime
import hashlib
import ipaddress
import ssl
import subprocess
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.pki import certificates, reissue
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.pki.certificates import KeyPair, PkiError

NOW = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
ALGORITHM = "ECDSA-P256"


def server_certificate(ca: KeyPair, days: int = 365) -> str:
    """An API server's certificate as kubeadm makes it."""
    authority = x509.load_pem_x509_certificate(ca.crt.encode())
    signer = serialization.load_pem_private_key(str(ca.key).encode(), None)
    assert isinstance(signer, ec.EllipticCurvePrivateKey)
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    begin = datetime.datetime.now(datetime.timezone.utc)
    names = [x509.DNSName("kubernetes"), x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("10.96.0.1"))]
    usage = dict.fromkeys(
        (
            "content_commitment",
            "data_encipherment",
            "key_agreement",
            "key_cert_sign",
            "crl_sign",
            "encipher_only",
            "decipher_only",
        ),
        False,
    )
    return (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "kube-apiserver")]))
        .issuer_name(authority.subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(begin - datetime.timedelta(days=100))
        .not_valid_after(begin + datetime.timedelta(days=days - 100))
        .add_extension(x509.KeyUsage(digital_signature=True, key_encipherment=True, **usage), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .sign(signer, hashes.SHA256())
        .public_bytes(serialization.Encoding.PEM)
        .decode()
    )


@pytest.fixture(scope="module")
def old() -> KeyPair:
    return certificates.new_ca("kubernetes", NOW, ALGORITHM)


@pytest.fixture(scope="module")
def new() -> KeyPair:
    return certificates.new_ca("kubernetes", NOW, ALGORITHM)


def verified(tmp_path: Path, leaf: str, roots: str) -> bool:
    """What OpenSSL says of a certificate, with what is behind it in its file as intermediates."""
    (tmp_path / "leaf").write_text(leaf)
    (tmp_path / "roots").write_text(roots)
    words = ["openssl", "verify", "-CAfile", "roots", "-untrusted", "leaf", "leaf"]
    return subprocess.run(words, cwd=tmp_path, capture_output=True, check=False).returncode == 0


def test_names_uses_and_life_stay_and_the_key_does_not(old: KeyPair, new: KeyPair) -> None:
    before = x509.load_pem_x509_certificate(server_certificate(old).encode())
    pair = reissue.reissue(server_certificate(old), new, NOW)
    after = x509.load_pem_x509_certificate(pair.crt.encode())
    assert after.subject == before.subject
    for kind in (x509.SubjectAlternativeName, x509.ExtendedKeyUsage, x509.KeyUsage):
        assert (
            after.extensions.get_extension_for_class(kind).value
            == before.extensions.get_extension_for_class(kind).value
        )
    assert (
        after.not_valid_after_utc - after.not_valid_before_utc
        == before.not_valid_after_utc - before.not_valid_before_utc
    )
    assert after.not_valid_before_utc > before.not_valid_before_utc
    assert isinstance(after.public_key(), rsa.RSAPublicKey)
    assert after.public_key() != before.public_key()
    assert certificates.check_pair(pair.crt, str(pair.key))
    assert reissue.issued_by(pair.crt, new.crt)
    assert not reissue.issued_by(pair.crt, old.crt)


def test_it_never_outlives_its_authority(old: KeyPair) -> None:
    short = certificates.new_ca("kubernetes", NOW, ALGORITHM, days=5)
    pair = reissue.reissue(server_certificate(old), short, NOW)
    assert certificates.certificate_info(pair.crt).not_after == certificates.certificate_info(short.crt).not_after


@pytest.mark.parametrize("trust", ["old", "new", "old+new", "new+old"])
def test_every_client_trusts_it_behind_the_link(tmp_path: Path, old: KeyPair, new: KeyPair, trust: str) -> None:
    link = reissue.link_certificate(new.crt, old, NOW)
    pair = reissue.reissue(server_certificate(old), new, NOW, link)
    authorities = {"old": old.crt, "new": new.crt}
    roots = "".join(authorities[each] for each in trust.split("+"))
    assert verified(tmp_path, pair.crt, roots)
    assert handshake(tmp_path, pair, roots)
    without = reissue.reissue(server_certificate(old), new, NOW)
    assert verified(tmp_path, without.crt, roots) is (trust != "old")


def handshake(tmp_path: Path, pair: KeyPair, roots: str) -> bool:
    """A TLS handshake in memory, as Python's clients do it."""
    (tmp_path / "crt").write_text(pair.crt)
    (tmp_path / "key").write_text(str(pair.key))
    serves = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    serves.load_cert_chain(tmp_path / "crt", tmp_path / "key")
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = ssl.create_default_context(cadata=roots).wrap_bio(to_client, to_server, server_hostname="localhost")
    server = serves.wrap_bio(to_server, to_client, server_side=True)
    done: set[ssl.SSLObject] = set()
    for _turn in range(10):
        for side in (client, server):
            try:
                side.do_handshake()
                done.add(side)
            except ssl.SSLWantReadError:
                pass
    return len(done) == 2


def test_the_link_makes_nothing_of_the_old_authority_valid_for_the_new(
    tmp_path: Path, old: KeyPair, new: KeyPair
) -> None:
    """Who trusts the new one alone refuses what the old one signs, whatever stands behind it."""
    link = reissue.link_certificate(new.crt, old, NOW)
    assert not verified(tmp_path, server_certificate(old) + link, new.crt)


def test_an_authority_without_key_identifier_gets_a_successor_of_another_name(old: KeyPair) -> None:
    assert reissue.common_name(old.crt, "ca", NOW) == "kubernetes"
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "kubernetes")])
    begin = datetime.datetime.now(datetime.timezone.utc)
    bare = x509.CertificateBuilder(name, name, key.public_key(), 1, begin, begin + datetime.timedelta(days=1))
    pem = bare.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM).decode()
    assert reissue.common_name(pem, "ca", NOW) == f"kubernetes-{NOW[:10].replace('-', '')}"


def test_the_key_id_is_the_one_that_kubernetes_writes_into_tokens() -> None:
    pair = certificates.new_service_account(ALGORITHM)
    der = base64.b64decode("".join(pair.crt.splitlines()[1:-1]))
    expected = base64.urlsafe_b64encode(hashlib.sha256(der).digest()).decode().rstrip("=")
    assert reissue.key_id(pair.crt) == expected


def test_fingerprints_go_by_the_bundles_order(old: KeyPair, new: KeyPair) -> None:
    both = reissue.fingerprints(old.crt + new.crt)
    assert both == (*reissue.fingerprints(old.crt), *reissue.fingerprints(new.crt))
    assert both[0] == certificates.certificate_info(old.crt).fingerprint


def test_without_a_key_nothing_is_signed(old: KeyPair, new: KeyPair) -> None:
    with pytest.raises(PkiError, match="its key is missing"):
        reissue.reissue(server_certificate(old), KeyPair(new.crt, None), NOW)
