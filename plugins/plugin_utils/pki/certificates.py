# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Certificate authorities, service account keys and client certificates, as kubeadm's.

Source: docs/reference/cluster_api.md, "Certificates".

Runs on the controller with ``cryptography``. PEM goes in and out as text, times as RFC 3339 in UTC. Nothing here
writes a file or prints; errors never hold key material.
"""

from __future__ import annotations

import contextlib
import hashlib
import typing as t
import warnings
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone

from ...module_utils.common import kubernetes_facts
from ...module_utils.common.values import format_moment, read_moment
from ..store.base import StoreError

CRYPTOGRAPHY_IMPORT_ERROR: ImportError | None = None
try:
    from cryptography import x509
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec, rsa
    from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
except ImportError as _error:
    CRYPTOGRAPHY_IMPORT_ERROR = _error

# kubeadm's encryptionAlgorithm (docs/reference/kubeadm.md, "Encryption algorithms"); the first is the default.
ALGORITHMS = ("RSA-2048", "RSA-3072", "RSA-4096", "ECDSA-P256", "ECDSA-P384")
# The names that kubeadm gives its authorities, by the purpose in the Secret's name.
CA_COMMON_NAMES = {"ca": "kubernetes", "etcd": "etcd-ca", "proxy": "front-proxy-ca"}
# A machine whose clock is a little behind must not find a new certificate "not yet valid"; kubeadm takes as much.
BACKDATE = timedelta(minutes=5)


class PkiError(StoreError):
    """Certificate or key that is missing, wrong or can't be made."""


@dataclass(frozen=True)
class KeyPair:
    """Certificate (or public key) and its private key, as PEM.

    ``key`` is secret and may be absent.
    """

    crt: str
    key: str | None

    def __repr__(self) -> str:
        """Return a text without the key.

        A repr is shown in tracebacks.
        """
        return f"KeyPair(crt={len(self.crt)} characters, key={'present' if self.key else 'absent'})"


@dataclass(frozen=True)
class CertificateInfo:
    """Public facts of a certificate.

    Times are RFC 3339, ``fingerprint`` is the SHA-256 of its DER form in hexadecimal.
    """

    common_name: str
    is_ca: bool
    not_before: str
    not_after: str
    fingerprint: str


def new_ca(
    common_name: str, now: str, algorithm: str = ALGORITHMS[0], days: int = kubernetes_facts.CA_VALIDITY_DAYS
) -> KeyPair:
    """Return a new self-signed authority with kubeadm's key usages.

    Its certificate names itself as DNS name too. ``now`` is RFC 3339.
    """
    need_cryptography()
    key = _new_key(algorithm)
    begin = read_moment(now)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])
    builder = (
        _builder(name, name, key.public_key(), begin - BACKDATE, begin + timedelta(days=days))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(_key_usage(signs_certificates=True), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(common_name)]), critical=False)
    )
    return KeyPair(_pem(builder.sign(key, _digest_for(key))), _private_pem(key))


def new_service_account(algorithm: str = ALGORITHMS[0]) -> KeyPair:
    """Return a new key pair for service account tokens.

    ``crt`` is the PEM public key, as in Cluster API's Secret.
    """
    need_cryptography()
    key = _new_key(algorithm)
    return KeyPair(_public_pem(key.public_key()), _private_pem(key))


def new_client_certificate(
    ca: KeyPair,
    common_name: str,
    organizations: t.Sequence[str],
    now: str,
    algorithm: str = ALGORITHMS[0],
    days: int = kubernetes_facts.CERTIFICATE_VALIDITY_DAYS,
) -> KeyPair:
    """Return a new client certificate signed by ``ca``.

    It never outlives the authority. Raises :class:`PkiError`.
    """
    need_cryptography()
    if ca.key is None:
        raise PkiError(
            "a client certificate can't be signed",
            f"certificate for {common_name}",
            "the CA has no key",
            "Give the key.",
        )
    authority = load_certificates(ca.crt)[0]
    signer = _load_key(ca.key)
    if not isinstance(signer, (rsa.RSAPrivateKey, ec.EllipticCurvePrivateKey)):
        raise _unreadable(
            "a CA's private key", "tls.key is neither an RSA nor an ECDSA key, and kubeadm reads no other"
        )
    key = _new_key(algorithm)
    begin = read_moment(now)
    subject = x509.Name(
        [
            *(x509.NameAttribute(NameOID.ORGANIZATION_NAME, each) for each in organizations),
            x509.NameAttribute(NameOID.COMMON_NAME, common_name),
        ]
    )
    ends = min(begin + timedelta(days=days), _not_after(authority))
    with parts_of_a_certificate():
        issuer, identifier = authority.subject, _authority_identifier(authority)
    builder = (
        _builder(subject, issuer, key.public_key(), max(begin - BACKDATE, _not_before(authority)), ends)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_key_usage(signs_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH]), critical=False)
        .add_extension(identifier, critical=False)
    )
    return KeyPair(_pem(builder.sign(signer, _digest_for(signer))), _private_pem(key))


def ca_cert_hash(pem: str | bytes) -> str:
    """Return kubeadm's discovery-token-ca-cert-hash of the first certificate.

    ``sha256:`` and the hash of its public key.
    """
    return ca_cert_hashes(pem)[0]


def ca_cert_hashes(pem: str | bytes) -> list[str]:
    """Return the discovery-token-ca-cert-hash of every certificate of a bundle.

    In its order. Raises :class:`PkiError`.
    """
    with parts_of_a_certificate():
        return [f"sha256:{hashlib.sha256(_spki(each.public_key())).hexdigest()}" for each in load_certificates(pem)]


def certificate_info(pem: str | bytes) -> CertificateInfo:
    """Return the public facts of the first certificate. Raises :class:`PkiError`."""
    certificate = load_certificates(pem)[0]
    with parts_of_a_certificate():
        names = certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    der = certificate.public_bytes(serialization.Encoding.DER)
    return CertificateInfo(
        common_name=str(names[0].value) if names else "",
        is_ca=_is_ca(certificate),
        not_before=format_moment(_not_before(certificate)),
        not_after=format_moment(_not_after(certificate)),
        fingerprint=hashlib.sha256(der).hexdigest(),
    )


def check_pair(crt: str | bytes, key: str | bytes) -> bool:
    """Return whether a private key belongs to a certificate.

    Or to a public key. Both are PEM. Raises :class:`PkiError`.
    """
    public = _load_public(crt)
    return _spki(_load_key(key).public_key()) == _spki(public)


def check_ca(crt: str, key: str | None, now: str) -> list[str]:
    """Return the problems with an authority, each a sentence.

    A missing key is no problem.
    """
    try:
        certificate = load_certificates(crt)[0]
        problems = (
            [] if _is_ca(certificate) else ["the certificate is not a CA's (basicConstraints CA:TRUE, keyCertSign)"]
        )
        if read_moment(now) >= _not_after(certificate):
            problems.append(f"the certificate expired at {format_moment(_not_after(certificate))}")
        if read_moment(now) + BACKDATE < _not_before(certificate):
            problems.append(f"the certificate is valid only from {format_moment(_not_before(certificate))} on")
        return problems + _key_problems(crt, key)
    except PkiError as error:
        return [error.why]


def check_key_pair(crt: str, key: str | None, name: str = "tls.crt") -> list[str]:
    """Return the problems with a pair that needs both halves.

    Such as service account keys and client certificates.
    """
    try:
        _load_public(crt)
        return _key_problems(crt, key) if key else [f"it has no tls.key, which belongs to {name}"]
    except PkiError as error:
        return [error.why]


def load_certificates(pem: str | bytes) -> list[x509.Certificate]:
    """Return the certificates of a PEM text, at least one. Raises :class:`PkiError`."""
    need_cryptography()
    try:
        with warnings.catch_warnings():
            # kubeadm gave its authorities the serial number 0 before 1.22: nobody can act on that now.
            warnings.simplefilter("ignore")
            found = x509.load_pem_x509_certificates(_bytes(pem))
    except (ValueError, x509.InvalidVersion) as error:
        raise _unreadable("a certificate", f"tls.crt holds no certificate in PEM form ({error})") from None
    if not found:
        raise _unreadable("a certificate", "tls.crt holds no certificate in PEM form")
    return found


def need_cryptography() -> None:
    """Raise :class:`PkiError` where the Python package cryptography is missing."""
    if CRYPTOGRAPHY_IMPORT_ERROR is not None:
        raise PkiError(
            "the Python package cryptography is missing",
            "the Python that runs ansible-core on this controller",
            f"certificates are made and read with it ({CRYPTOGRAPHY_IMPORT_ERROR})",
            "Install it there: python -m pip install cryptography. Nodes don't need it.",
        )


def _key_problems(crt: str, key: str | None) -> list[str]:
    return [] if not key or check_pair(crt, key) else ["the key in tls.key does not belong to tls.crt"]


def _new_key(algorithm: str) -> rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey:
    if algorithm not in ALGORITHMS:
        raise PkiError(
            "keys of this algorithm can't be made",
            f"clusterConfiguration.encryptionAlgorithm {algorithm!r}",
            f"known are {', '.join(ALGORITHMS)}",
            "Nothing was made. Choose one of them.",
        )
    if algorithm.startswith("RSA-"):
        return rsa.generate_private_key(public_exponent=65537, key_size=int(algorithm.partition("-")[2]))
    return ec.generate_private_key(ec.SECP256R1() if algorithm == "ECDSA-P256" else ec.SECP384R1())


def _builder(
    subject: x509.Name, issuer: x509.Name, public_key: t.Any, begins: datetime, ends: datetime
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(public_key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(begins)
        .not_valid_after(ends)
    )


def _key_usage(signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=True,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs_certificates,
        crl_sign=False,
        encipher_only=False,
        decipher_only=False,
    )


def _authority_identifier(authority: x509.Certificate) -> x509.AuthorityKeyIdentifier:
    try:
        known = authority.extensions.get_extension_for_class(x509.SubjectKeyIdentifier)
        return x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(known.value)
    except x509.ExtensionNotFound:
        return x509.AuthorityKeyIdentifier.from_issuer_public_key(t.cast(t.Any, authority.public_key()))


def _is_ca(certificate: x509.Certificate) -> bool:
    try:
        if not certificate.extensions.get_extension_for_class(x509.BasicConstraints).value.ca:
            return False
        return certificate.extensions.get_extension_for_class(x509.KeyUsage).value.key_cert_sign
    except x509.ExtensionNotFound as missing:
        # Without keyUsage every use is allowed (RFC 5280); without basicConstraints it is no CA.
        return missing.oid == x509.KeyUsage.oid
    except ValueError as error:
        raise _unreadable("a certificate", f"its extensions can't be read ({error})") from None


def _digest_for(key: t.Any) -> hashes.SHA256 | hashes.SHA384:
    return hashes.SHA384() if isinstance(key, ec.EllipticCurvePrivateKey) and key.key_size > 256 else hashes.SHA256()


def _not_after(certificate: x509.Certificate) -> datetime:
    # cryptography before 42 knows only the form without a time zone.
    known = getattr(certificate, "not_valid_after_utc", None)
    return known or certificate.not_valid_after.replace(tzinfo=timezone.utc)


def _not_before(certificate: x509.Certificate) -> datetime:
    known = getattr(certificate, "not_valid_before_utc", None)
    return known or certificate.not_valid_before.replace(tzinfo=timezone.utc)


def _load_key(pem: str | bytes) -> t.Any:
    try:
        return serialization.load_pem_private_key(_bytes(pem), password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        encrypted = " without a passphrase" if isinstance(error, TypeError) else ""
        # Not from the library's error: it may quote what it read.
        raise _unreadable("a private key", f"tls.key holds no private key in PEM form{encrypted}") from None


def _load_public(pem: str | bytes) -> t.Any:
    need_cryptography()
    data = _bytes(pem)
    if b"-----BEGIN CERTIFICATE-----" in data:
        with parts_of_a_certificate():
            return load_certificates(data)[0].public_key()
    try:
        return serialization.load_pem_public_key(data)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        raise _unreadable("a public key", "tls.crt holds no certificate and no public key in PEM form") from None


def _bytes(pem: str | bytes) -> bytes:
    # Half a surrogate pair, which JSON may hold, is in no PEM text.
    return pem.encode(errors="replace") if isinstance(pem, str) else pem


@contextlib.contextmanager
def parts_of_a_certificate() -> t.Iterator[None]:
    """Raise :class:`PkiError` for a certificate's unreadable part.

    For whatever the library raises for a part that it reads only when it is asked for.
    """
    need_cryptography()
    try:
        yield
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise _unreadable("a certificate", f"a part of the one in tls.crt can't be read ({error})") from None


def _unreadable(what: str, why: str) -> PkiError:
    return PkiError(f"{what} can't be read", "PEM text", why, "Nothing was changed. Give it in PEM form.")


def _spki(public_key: t.Any) -> bytes:
    return bytes(public_key.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo))


def _pem(certificate: x509.Certificate) -> str:
    return certificate.public_bytes(serialization.Encoding.PEM).decode()


def _public_pem(public_key: t.Any) -> str:
    data: bytes = public_key.public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    return data.decode()


def _private_pem(key: rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey) -> str:
    # kubeadm writes and expects "RSA PRIVATE KEY" and "EC PRIVATE KEY".
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
    ).decode()
