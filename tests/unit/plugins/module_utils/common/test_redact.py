# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Secrets in every form in which they appear in output, and what must stay readable."""

from __future__ import annotations

import base64
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.kubeadm.control_plane.plugins.module_utils.common import redact as module
from ansible_collections.kubeadm.control_plane.plugins.module_utils.common.redact import redact
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.pki import certificates

TOKEN = "abcdef.0123456789abcdef"
CERTIFICATE_KEY = "f8902e114ef118304e561c3ecd4d0b543adc226b7a07f675f56564185ffe0c07"
HASH = "7c2e69131a36ae2a042a339b33381c6d0d43887e2de83720eff5359e26aec866"
PAIR = certificates.new_ca("kubernetes", "2026-06-01T12:00:00Z", "ECDSA-P256")
KEY_LINES = PAIR.key.split("\n")[1:-2]
ENCODED_KEY = base64.b64encode(PAIR.key.encode()).decode()
ENCODED_CRT = base64.b64encode(PAIR.crt.encode()).decode()

KUBEADM = f"""
You can now join any number of the control-plane node running the following command on each as root:

  kubeadm join 192.168.0.200:6443 --token {TOKEN} \\
    --discovery-token-ca-cert-hash sha256:{HASH} \\
    --control-plane --certificate-key {CERTIFICATE_KEY}

Please note that the certificate-key gives access to cluster sensitive data, keep it secret!
[upload-certs] Using certificate key:
{CERTIFICATE_KEY}
[bootstrap-token] Using token: {TOKEN}
"""

SECRETS = {
    "kubeadm": (KUBEADM, [TOKEN, "0123456789abcdef", CERTIFICATE_KEY]),
    "kubeadm config": (
        f"certificateKey: {CERTIFICATE_KEY}\nbootstrapTokens:\n- token: {TOKEN}\n",
        [TOKEN, CERTIFICATE_KEY],
    ),
    "json config": (
        f'{{"certificateKey":"{CERTIFICATE_KEY}","tlsBootstrapToken":"{TOKEN}"}}',
        [TOKEN, CERTIFICATE_KEY],
    ),
    "flag on the next line": (f"--certificate-key \\\n  {CERTIFICATE_KEY}", [CERTIFICATE_KEY]),
    "pem": (f"x {PAIR.key} y", KEY_LINES),
    "pem in json": (f'{{"k": "{PAIR.key}"}}'.replace("\n", "\\n"), KEY_LINES),
    "pem indented": ("content: |\n" + "".join(f"    {line}\n" for line in PAIR.key.split("\n")), KEY_LINES),
    "pem cut at the end": (PAIR.key[:-40], KEY_LINES[:-1]),
    "pem cut at the beginning": ("\n".join(PAIR.key.split("\n")[1:]), KEY_LINES),
    "pem cut within a line": (PAIR.key[50:], [PAIR.key[50:60], *KEY_LINES[1:]]),
    "openssh": ("-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNz\n-----END OPENSSH PRIVATE KEY-----", ["b3BlbnNz"]),
    "plain header": ("-----BEGIN PRIVATE KEY-----\nMIIEvQ\n-----END PRIVATE KEY-----", ["MIIEvQ"]),
    "encrypted header": (
        "-----BEGIN ENCRYPTED PRIVATE KEY-----\nMIIFHD\n-----END ENCRYPTED PRIVATE KEY-----",
        ["MIIFHD"],
    ),
    "two keys": (PAIR.key + "between" + PAIR.key, KEY_LINES),
    "kubeconfig": (f"    client-key-data: {ENCODED_KEY}\n", [ENCODED_KEY[60:]]),
    "kubeconfig token": ("    token: ZXhhbXBsZS10b2tlbi1leGFtcGxlLXRva2Vu\n", ["ZXhhbXBsZS10b2tlbi"]),
    "secret": (f"data:\n  tls.key: {ENCODED_KEY}\n", [ENCODED_KEY[60:]]),
    "base64 somewhere": (f"writing {ENCODED_KEY} to disk", [ENCODED_KEY[60:]]),
    "jwt": (
        "got eyJhbGciOiJSUzI1NiIsImtpZCI6IiJ9.eyJpc3MiOiJrdWJlcm5ldGVzIn0.c2lnbmF0dXJl ok",
        ["eyJpc3Mi", "c2lnbmF0dXJl"],
    ),
    "bearer": ("Authorization: Bearer abcdefghijkl", ["abcdefghijkl"]),
    "basic": ("Authorization: Basic dXNlcjpwYXNz", ["dXNlcjpwYXNz"]),
    "password": ("password: hunter2\n", ["hunter2"]),
    "password with blanks": ('password: "hunter2 and more" next', ["hunter2", "and more"]),
    "password in json": ('{"password": "hun\\"ter2", "user": "bob"}', ["ter2"]),
    "password assignment": ("DB_PASSWORD=hunter2", ["hunter2"]),
    "passwd": ("passwd: $6$salt$hashhashhash", ["hashhash"]),
    "hash in a line": ("root:$6$salt$hashhashhash:19000", ["hashhash"]),
    "url": ("proxy http://bob:hunter2@proxy:3128/", ["hunter2"]),
    "flag": ("--token=hunter2 --password hunter3", ["hunter2", "hunter3"]),
    "token at the end of a sentence": (f"the token {TOKEN}.", ["0123456789abcdef"]),
}


@pytest.mark.parametrize("name", SECRETS)
def test_secrets_go(name):
    text, hidden = SECRETS[name]
    result = redact(text)
    assert [each for each in hidden if each in result] == []
    assert "[redacted" in result


@pytest.mark.parametrize("name", SECRETS)
def test_what_was_redacted_stays_so(name):
    once = redact(SECRETS[name][0])
    assert redact(once) == once


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[wait-control-plane] Waiting for the kubelet to boot up the control plane as static Pods",
        f"--discovery-token-ca-cert-hash sha256:{HASH}",
        PAIR.crt,
        f"certificate-authority-data: {ENCODED_CRT}\nclient-certificate-data: {ENCODED_CRT}",
        certificates.new_service_account("ECDSA-P256").crt,
        f"containerd://{HASH}: CrashLoopBackOff",
        "error: token: expired; the secret: not found",
        'couldn\'t validate the identity of the API Server: token id "abcdef" is invalid for this cluster or it has expired',
        "k8s.gcr.io/kube-apiserver:v1.20.2 node-1.example.org 10.0.0.1:6443 https://10.0.0.1:6443/healthz?timeout=10s",
        "etcd cluster 8e9e05c52164694d: member fd422379fda50e48 added; apiserver-etcd-client.key written to /etc/kubernetes/pki",
        "Using existing ca certificate authority, private key in /etc/kubernetes/pki/ca.key",
    ],
)
def test_what_helps_stays(text):
    assert redact(text) == text


def test_the_words_around_stay():
    result = redact(KUBEADM)
    assert f"--discovery-token-ca-cert-hash sha256:{HASH}" in result
    assert "kubeadm join 192.168.0.200:6443 --token [redacted: bootstrap token]" in result
    assert redact('{"password": "x y", "user": "bob"}') == '{"password": [redacted], "user": "bob"}'
    assert redact(f"before\n{PAIR.key}after") == "before\n[redacted: private key]\nafter"


@given(
    st.text(st.sampled_from("abf09. \n\"':=-_\\"), max_size=60),
    st.text(st.sampled_from(" \n\"'(:=-.,"), max_size=5),
    st.text(st.sampled_from(" \n\"',;)]}."), min_size=1, max_size=5),
)
@settings(max_examples=300)
def test_a_token_anywhere_goes(before, opening, closing):
    result = redact(f"{before}{opening or ' '}{TOKEN}{closing}{before}")
    assert "0123456789abcdef" not in result
    assert redact(result) == result


@given(st.text(max_size=200))
@settings(max_examples=300)
def test_any_text_is_taken(text):
    once = redact(text)
    assert redact(once) == once


@pytest.mark.parametrize(
    "unit",
    [
        "a",
        "eyJ",
        "abcdef.",
        "-----BEGIN PRIVATE KEY",
        "-----BEGIN PRIVATE KEY-----",
        "-----END PRIVATE KEY-----",
        "password: ",
        "://a:",
        "MIIE\n",
        "LS0tLS1CRUdJTi",
        "token=",
        "$6$",
        "Bearer ",
        '"',
        "certificate-key ",
    ],
)
def test_hostile_text_takes_no_longer_than_its_length(unit):
    # Quadratic time would take hours here and the run's own bound would end it.
    assert isinstance(redact(unit * (1_000_000 // len(unit))), str)


def test_it_needs_nothing_but_the_standard_library():
    code = f"import runpy, sys; sys.exit(runpy.run_path({module.__file__!r})['redact']('{TOKEN}') != '[redacted: bootstrap token]')"
    assert subprocess.run([sys.executable, "-I", "-S", "-c", code], check=False).returncode == 0
