# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The names in a certificate, read without any library for it."""

from __future__ import annotations

import datetime
import ipaddress

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from ansible_collections.kubeadm.control_plane.plugins.module_utils.node.certificates.alternative_names import (
    alternative_names,
)


def certificate(*names: x509.GeneralName, critical: bool = False) -> str:
    """A certificate for these names, as PEM."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "kube-apiserver")])
    now = datetime.datetime.now(datetime.timezone.utc)
    builder = x509.CertificateBuilder().subject_name(subject).issuer_name(subject).public_key(key.public_key())
    builder = builder.serial_number(1).not_valid_before(now).not_valid_after(now + datetime.timedelta(days=1))
    if names:
        builder = builder.add_extension(x509.SubjectAlternativeName(names), critical)
    return builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM).decode()


@pytest.mark.parametrize("critical", [False, True])
def test_names_and_addresses(critical: bool) -> None:
    """Of both families, and whatever else there is is left out."""
    names = [x509.DNSName(f"name-{number}.Example.com") for number in range(30)]
    addresses = [x509.IPAddress(ipaddress.ip_address(each)) for each in ("10.96.0.1", "fd00::1")]
    found = alternative_names(certificate(*names, *addresses, x509.RFC822Name("a@b"), critical=critical))
    assert found == {*(f"name-{number}.example.com" for number in range(30)), "10.96.0.1", "fd00::1"}


def test_none_at_all() -> None:
    """A certificate without names has none."""
    assert alternative_names(certificate()) == frozenset()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no certificate",
        "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n".replace("AAAA", "BgNVHREEAg=="),
    ],
)
def test_what_is_no_certificate(text: str) -> None:
    """Refused, never read as one without names."""
    with pytest.raises(ValueError, match=r"certificate|names|DER"):
        alternative_names(text)
