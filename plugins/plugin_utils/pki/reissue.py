# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Certificates signed again by another authority, with their names and uses.

Source: docs/reference/kubeadm.md, "Certificates", "Authorities".

Runs on the controller with ``cryptography``. PEM goes in and out as text; nothing here writes a file or prints.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import typing as t

from ...module_utils.common.values import read_moment
from . import certificates
from .certificates import BACKDATE, CRYPTOGRAPHY_IMPORT_ERROR, KeyPair, PkiError, load_certificates

if CRYPTOGRAPHY_IMPORT_ERROR is None:
    from cryptography import x509
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa


def common_name(old_crt: str, purpose: str, now: str) -> str:
    """Return the common name of an authority that replaces another.

    It is kubeadm's for its purpose (``ca``, ``etcd``, ``proxy``).
    Clients distinguish two authorities of one name by their key identifiers. Where the old one has none (kubeadm before
    1.20), the new one gets another name.
    """
    name = certificates.CA_COMMON_NAMES[purpose]
    try:
        with certificates.parts_of_a_certificate():
            load_certificates(old_crt)[0].extensions.get_extension_for_class(x509.SubjectKeyIdentifier)
    except x509.ExtensionNotFound:
        return f"{name}-{read_moment(now):%Y%m%d}"
    return name


@certificates.parts_of_a_certificate()
def reissue(pem: str, ca: KeyPair, now: str, link: str = "") -> KeyPair:
    """Return a certificate with a new key, signed by ``ca``.

    It replaces the first of ``pem``, with the same subject, names, uses and length of life, and never outlives the
    authority. ``link`` is appended to the certificate: see :func:`link_certificate`.

    Raises:
        PkiError: a certificate or key can't be read, or the authority has no key.
    """
    certificates.need_cryptography()
    model = load_certificates(pem)[0]
    authority = load_certificates(ca.crt)[0]
    signer = _signer(ca)
    key = _new_key_like(model.public_key())
    begin = read_moment(now)
    life = certificates._not_after(model) - certificates._not_before(model)
    builder = (
        x509.CertificateBuilder()
        .subject_name(model.subject)
        .issuer_name(authority.subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(max(begin - BACKDATE, certificates._not_before(authority)))
        .not_valid_after(min(begin - BACKDATE + life, certificates._not_after(authority)))
    )
    for extension in model.extensions:
        if extension.oid in (x509.OID_AUTHORITY_KEY_IDENTIFIER, x509.OID_SUBJECT_KEY_IDENTIFIER):
            continue
        builder = builder.add_extension(extension.value, critical=extension.critical)
    builder = builder.add_extension(certificates._authority_identifier(authority), critical=False)
    crt = certificates._pem(builder.sign(signer, certificates._digest_for(signer)))
    return KeyPair(crt + link, certificates._private_pem(key))


@certificates.parts_of_a_certificate()
def link_certificate(new_crt: str, old: KeyPair, now: str) -> str:
    """Return the new authority's certificate signed by the old one (PEM).

    A server that shows it behind its own certificate is trusted by clients that know the old authority alone: those
    that read their trust when they were started, and are not restarted for the sake of a rotation (RFC 4210 §4.4,
    "NewWithOld").
    """
    certificates.need_cryptography()
    new, authority = load_certificates(new_crt)[0], load_certificates(old.crt)[0]
    signer = _signer(old)
    builder = (
        x509.CertificateBuilder()
        .subject_name(new.subject)
        .issuer_name(authority.subject)
        .public_key(new.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(max(read_moment(now) - BACKDATE, certificates._not_before(authority)))
        .not_valid_after(min(certificates._not_after(new), certificates._not_after(authority)))
    )
    for extension in new.extensions:
        if extension.oid != x509.OID_AUTHORITY_KEY_IDENTIFIER:
            builder = builder.add_extension(extension.value, critical=extension.critical)
    builder = builder.add_extension(certificates._authority_identifier(authority), critical=False)
    return certificates._pem(builder.sign(signer, certificates._digest_for(signer)))


@certificates.parts_of_a_certificate()
def issued_by(pem: str, authority_crt: str) -> bool:
    """Return whether an authority's key signed the first certificate of ``pem``."""
    certificates.need_cryptography()
    certificate, authority = load_certificates(pem)[0], load_certificates(authority_crt)[0]
    key: t.Any = authority.public_key()
    digest = certificate.signature_hash_algorithm
    if certificate.issuer != authority.subject or digest is None:
        return False
    try:
        if isinstance(key, rsa.RSAPublicKey):
            key.verify(certificate.signature, certificate.tbs_certificate_bytes, padding.PKCS1v15(), digest)
        else:
            key.verify(certificate.signature, certificate.tbs_certificate_bytes, ec.ECDSA(digest))
    except (InvalidSignature, TypeError):
        return False
    return True


def fingerprints(pem: str) -> tuple[str, ...]:
    """Return the SHA-256 of each certificate or public key of a bundle.

    Of its DER form, in hexadecimal, in the bundle's order.
    """
    return tuple(hashlib.sha256(der).hexdigest() for der in blocks(pem))


def certificates_of(pem: str) -> tuple[str, ...]:
    """Return the certificates of a PEM text one by one, as PEM."""
    found = []
    for part in pem.split("-----BEGIN CERTIFICATE-----")[1:]:
        body, end, _rest = part.partition("-----END CERTIFICATE-----")
        if end:
            found.append(f"-----BEGIN CERTIFICATE-----{body}{end}\n")
    return tuple(found)


def first(pem: str) -> str:
    """Return the first certificate of a PEM text alone, or ""."""
    return next(iter(certificates_of(pem)), "")


def blocks(pem: str) -> tuple[bytes, ...]:
    """Return the DER forms of a PEM text's blocks, in order.

    What is no PEM is left out.
    """
    found = []
    for part in pem.split("-----BEGIN ")[1:]:
        body = part.partition("-----")[2].partition("-----END")[0]
        with contextlib.suppress(ValueError):
            found.append(base64.b64decode("".join(body.split())))
    return tuple(found)


def key_id(public_pem: str) -> str:
    """Return the ``kid`` that Kubernetes gives a service account key.

    From its public key in PEM (pkg/serviceaccount: keyIDFromPublicKey). Raises :class:`PkiError`.
    """
    certificates.need_cryptography()
    try:
        key = serialization.load_pem_public_key(public_pem.encode())
    except (ValueError, TypeError):
        raise PkiError(
            "a service account key can't be read", "PEM text", "it holds no public key", "Nothing was changed."
        ) from None
    digest = hashlib.sha256(certificates._spki(key)).digest()
    return base64.urlsafe_b64encode(digest).decode().rstrip("=")


def _signer(ca: KeyPair) -> t.Any:
    if ca.key is None:
        raise PkiError(
            "a certificate can't be signed",
            "certificate authority",
            "its key is missing",
            "Give the Secret its tls.key.",
        )
    return certificates._load_key(ca.key)


def _new_key_like(public: t.Any) -> t.Any:
    if isinstance(public, rsa.RSAPublicKey):
        return rsa.generate_private_key(public_exponent=65537, key_size=max(2048, public.key_size))
    if isinstance(public, ec.EllipticCurvePublicKey):
        return ec.generate_private_key(public.curve)
    raise PkiError(
        "a certificate can't be signed again",
        "certificate",
        "its key is neither RSA nor ECDSA",
        "Nothing was changed. kubeadm makes no others.",
    )
