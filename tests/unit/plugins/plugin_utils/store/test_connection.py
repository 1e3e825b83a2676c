# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What options, environment and kubeconfig say of a connection, and which of it is refused; no API server is asked."""

from __future__ import annotations

import base64
import copy
import json
import tempfile
import typing as t
from pathlib import Path

import pytest

from ansible_collections.kubeadm.control_plane.plugins.module_utils.common.values import now_rfc3339
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.pki import certificates
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.base import StoreError
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.kubernetes import kubeconfig_reader
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.kubernetes import (
    options as connection_options,
)

pytest.importorskip("kubernetes")
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.kubernetes.connection import Connection

Document = dict[str, t.Any]
SERVER = "https://192.0.2.1:6443"
DOCUMENT: Document = {
    "apiVersion": "v1",
    "kind": "Config",
    "clusters": [{"name": "c", "cluster": {"server": SERVER}}],
    "users": [{"name": "u", "user": {"token": "t0ken-of-file"}}],
    "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
    "current-context": "x",
}


@pytest.fixture(autouse=True)
def no_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What stands in for options is not this machine's."""
    names = [each for listed in connection_options.ENVIRONMENT.values() for each in listed]
    for name in (*names, *connection_options.PROXY_HEADERS.values(), "KUBECONFIG", "HTTPS_PROXY", "https_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))


def written(folder: Path, name: str = "kubeconfig", **changes: t.Any) -> str:
    """Write a kubeconfig, changed, and return its path."""
    path = folder / name
    path.parent.mkdir(exist_ok=True, parents=True)
    path.write_text(json.dumps({**copy.deepcopy(DOCUMENT), **changes}))
    return str(path)


def of_cluster(**fields: t.Any) -> Document:
    return {"clusters": [{"name": "c", "cluster": {"server": SERVER, **fields}}]}


def of_user(**fields: t.Any) -> Document:
    return {"users": [{"name": "u", "user": fields}]}


def headers(**options: t.Any) -> list[tuple[str, str]]:
    return Connection(options).ready()[1]


FAULTS: t.Mapping[str, tuple[Document, str]] = {
    "a user that is not there": ({"users": []}, r"the user u \(of context x\) is not in it \(users in it: none\)"),
    "a cluster that is not there": ({"clusters": []}, "the cluster c .* is not in it"),
    "no current context": ({"current-context": ""}, r"no current-context: give store\.context \(contexts in it: x\)"),
    "a name twice": ({"users": DOCUMENT["users"] * 2}, "the name u twice in users"),
    "a list that is none": ({"clusters": {"c": 1}}, "clusters is no list"),
    "a token that is a number": (of_user(token=5), "token of u is no text"),
    "a token of two lines": (of_user(token="ab\ncd"), "token of user u has blanks"),
    "a certificate without its key": (of_user(**{"client-certificate-data": "bm8="}), "and not both"),
    "a certificate that is not there": (
        of_user(**{"client-certificate": "no.crt", "client-key": "no.key"}),
        "client-certificate of u can't be read: .*/no.crt: No such file",
    ),
    "no base64": (of_cluster(**{"certificate-authority-data": "%"}), "certificate-authority-data of c is no base64"),
    "a name without a password": (of_user(username="n"), "username or password of user u is missing"),
    "a token's file that is not there": (of_user(tokenFile="t"), "tokenFile of user u can't be read: .*/t: No such"),
    "an authority beside no verification": (
        of_cluster(**{"certificate-authority-data": "bm8=", "insecure-skip-tls-verify": True}),
        "has a certificate-authority and insecure-skip-tls-verify: true",
    ),
    "a word for true": (of_cluster(**{"insecure-skip-tls-verify": "yes"}), "neither true nor false"),
    "groups of nobody": (of_user(token="t", **{"as-groups": ["g"]}), "and not as"),
    "a proxy of another kind": (of_cluster(**{"proxy-url": "ftp://p"}), "proxy-url is no URL that can be asked"),
    "a server that can't be asked": (of_cluster(server="ftp://s"), "server of cluster c is no URL that can be asked"),
    "a port that is none": (of_cluster(server="https://s:99999"), "server of cluster c is no URL"),
    "a server with a password": (of_cluster(server="https://n:s3cr3t@s"), "which belong to username and password"),
    "a path that is no server": (of_cluster(server="/etc"), "is no URL of a server"),
}


@pytest.mark.parametrize(("changes", "says"), FAULTS.values(), ids=FAULTS.keys())
def test_a_fault_of_a_kubeconfig_is_named(tmp_path: Path, changes: Document, says: str) -> None:
    path = written(tmp_path, **changes)
    with pytest.raises(StoreError, match=says) as caught:
        Connection({"kubeconfig": path})
    assert path in str(caught.value) and "s3cr3t" not in str(caught.value)


OPTIONS: t.Mapping[str, tuple[Document, str]] = {
    "neither true nor false": ({"validate_certs": "maybe"}, "store.validate_certs is 'maybe'"),
    "a port that is none": ({"host": "https://a:b"}, "store.host is no URL"),
    "another scheme": ({"host": "unix:///a"}, "store.host is no URL that can be asked"),
    "a query": ({"host": "https://a?b"}, "store.host is no URL of a server"),
    "a name without a password": ({"host": SERVER, "username": "n"}, "username or password .* both are needed"),
    "a certificate without its key": ({"host": SERVER, "client_cert": "{pem}"}, "store.client_key is missing"),
    "a key without its certificate": ({"host": SERVER, "client_key": "{pem}"}, "store.client_cert is missing"),
    "an authority that is not there": ({"ca_cert": "no"}, "store.ca_cert can't be read: .*/no: No such file"),
    "an authority that is a folder": ({"ca_cert": "/"}, "store.ca_cert can't be read: /: Is a directory"),
    "an authority that is none": ({"ca_cert": "{pem}"}, "the certificate authority that is given is no PEM"),
    "a certificate that is none": (
        {"host": SERVER, "client_cert": "{pem}", "client_key": "{pem}"},
        "its client certificate or its key can't be used",
    ),
    "groups of nobody": ({"impersonate_groups": ["g"]}, "needs store.impersonate_user"),
    "a proxy that is none": ({"proxy": "http://"}, "store.proxy is no URL of a server"),
    "a token of two lines": ({"host": SERVER, "api_key": "a\nb"}, "store.api_key has blanks"),
    "a host and a kubeconfig that is not there": (
        {"host": SERVER, "kubeconfig": "/nowhere"},
        r"\(/nowhere\): there is no such file",
    ),
    "a pod and a host": ({"in_cluster": True, "host": SERVER}, "from the pod, and store.host is given too"),
    "a kubeconfig that is a folder": ({"kubeconfig": "/"}, "the file can't be read: /: Is a directory"),
}


@pytest.mark.parametrize(("options", "says"), OPTIONS.values(), ids=OPTIONS.keys())
def test_an_option_that_can_not_be_is_named(tmp_path: Path, options: Document, says: str) -> None:
    (tmp_path / "pem").write_text("none\n")
    given = {key: str(tmp_path / "pem") if value == "{pem}" else value for key, value in options.items()}
    with pytest.raises(StoreError, match=says):
        Connection({"kubeconfig": written(tmp_path), **given} if not {"host", "in_cluster"} & set(given) else given)


def test_an_environment_variable_is_named_by_its_name(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """kubernetes.core has two for some options; what is given goes before both."""
    monkeypatch.setenv("K8S_AUTH_KUBECONFIG", written(tmp_path))
    for name in ("K8S_AUTH_VERIFY_SSL", "K8S_AUTH_VALIDATE_CERTS"):
        monkeypatch.setenv(name, "maybe")
        with pytest.raises(StoreError, match=f"{name} is 'maybe'"):
            Connection({})
    for name in ("K8S_AUTH_SSL_CA_CERT", "K8S_AUTH_CA_CERT"):
        monkeypatch.setenv(name, "/nowhere")
        with pytest.raises(StoreError, match=f"{name} can't be read"):
            Connection({"validate_certs": True})


@pytest.mark.parametrize(
    ("server", "host"),
    [
        ("192.0.2.1:6443", SERVER),
        ("cp.example.org", "https://cp.example.org"),
        ("https://a:6443/b/", "https://a:6443/b"),
        ("http://127.0.0.1:8001", "http://127.0.0.1:8001"),
        ("[2001:db8::1]:6443", "https://[2001:db8::1]:6443"),
    ],
)
def test_a_server_without_a_scheme_is_reached_by_tls(tmp_path: Path, server: str, host: str) -> None:
    assert Connection({"kubeconfig": written(tmp_path, **of_cluster(server=server))}).host == host
    assert Connection({"host": server}).host == host


def test_of_several_kubeconfigs_the_first_that_says_something_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As with kubectl, for each entry and for the current context; each entry's paths are relative to its own file."""
    (tmp_path / "two").mkdir()
    (tmp_path / "two" / "token").write_text("of-two\n")
    one = written(tmp_path, "one/k", users=[])
    two = written(tmp_path, "two/k", **of_user(tokenFile="token"), **of_cluster(server="https://other"))
    other = {"contexts": [{"name": "y", "context": {"cluster": "c"}}], "current-context": "y"}
    monkeypatch.setenv("KUBECONFIG", f"{one}:{tmp_path / 'missing'}:{two}:{written(tmp_path, 'three', **other)}")
    connection = Connection({})
    assert connection.host == SERVER
    assert connection.ready()[1] == [("Authorization", "Bearer of-two")]
    assert kubeconfig_reader.read(None).context == "x"
    assert headers(context="y") == []


def test_which_credentials_go_before_which(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kubeconfig = written(tmp_path, **of_user(token="of-file", **{"as": "alice", "as-groups": ["a, b", "c"]}))
    acts_as = [("Impersonate-User", "alice"), ("Impersonate-Group", "a, b"), ("Impersonate-Group", "c")]
    assert headers(kubeconfig=kubeconfig) == [("Authorization", "Bearer of-file"), *acts_as]
    assert headers(kubeconfig=kubeconfig, api_key="given") == [("Authorization", "Bearer given"), *acts_as]
    basic = headers(kubeconfig=kubeconfig, username="n", password="p", impersonate_user="bob")
    assert basic == [("Authorization", "Basic bjpw"), ("Impersonate-User", "bob")]
    assert headers(host=SERVER, kubeconfig=kubeconfig)[0] == ("Authorization", "Bearer of-file")
    assert Connection({"host": "other:1", "kubeconfig": kubeconfig}).host == "https://other:1"
    assert headers(host=SERVER, kubeconfig="/nowhere", api_key="given") == [("Authorization", "Bearer given")]
    monkeypatch.setenv("K8S_AUTH_API_KEY", "of-environment")
    monkeypatch.setenv("K8S_AUTH_IMPERSONATE_USER", "bob")
    monkeypatch.setenv("K8S_AUTH_IMPERSONATE_GROUPS", "a, b")
    bob = [("Impersonate-User", "bob"), ("Impersonate-Group", "a"), ("Impersonate-Group", "b")]
    assert headers(host=SERVER) == [("Authorization", "Bearer of-environment"), *bob]
    assert headers(host=SERVER, api_key="given")[0] == ("Authorization", "Bearer given")


def test_no_pod_is_asked_for_with_others_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment's host is not sent the pod's token."""
    monkeypatch.setenv("K8S_AUTH_HOST", "https://192.0.2.9")
    with pytest.raises(StoreError, match=r"\(store\.in_cluster\): Service host/port is not set"):
        Connection({"in_cluster": True})


def test_a_token_in_a_file_is_read_anew(tmp_path: Path) -> None:
    """Its newline is none of the token; while there is none, the last one counts."""
    token = tmp_path / "token"
    token.write_text("one\n")
    connection = Connection({"kubeconfig": written(tmp_path, **of_user(tokenFile="token", token="older"))})
    assert connection.ready()[1] == [("Authorization", "Bearer one")]
    token.write_text("two")
    assert connection.ready()[1] == [("Authorization", "Bearer two")]
    token.unlink()
    assert connection.ready()[1] == [("Authorization", "Bearer two")]


def test_what_the_clients_provider_of_tokens_lacks_is_said(tmp_path: Path) -> None:
    """It does not go on as nobody."""
    user = {"auth-provider": {"name": "oidc", "config": {"id-token": "none"}}}
    with pytest.raises(StoreError, match="auth-provider of user u gave no token"):
        Connection({"kubeconfig": written(tmp_path, **of_user(**user))}).ready()


JWT = f"e30.{base64.urlsafe_b64encode(b'{}').decode().rstrip('=')}.c2ln"
OIDC = {"name": "oidc", "config": {"id-token": JWT}}


def pair_of_client() -> dict[str, str]:
    """A client certificate and its key, as a kubeconfig has them."""
    authority = certificates.new_ca("ca", now_rfc3339(), "ECDSA-P256")
    made = certificates.new_client_certificate(authority, "n", [], now_rfc3339(), "ECDSA-P256")
    texts = {"client-certificate-data": made.crt, "client-key-data": str(made.key)}
    return {name: base64.b64encode(text.encode()).decode() for name, text in texts.items()}


@pytest.mark.parametrize(
    "more", [{}, {"auth-provider": OIDC}], ids=["a certificate", "a certificate beside a provider"]
)
def test_a_clients_key_is_written_to_no_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, more: Document) -> None:
    """There is no folder for temporary files here: whatever wants one fails."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "gone"))
    kubeconfig = written(tmp_path, **of_user(**pair_of_client(), **more))
    pool, said = Connection({"kubeconfig": kubeconfig}).ready()
    assert pool.connection_pool_kw["ssl_context"] is not None
    assert said == ([("Authorization", f"Bearer {JWT}")] if more else [])


def test_a_key_that_would_be_written_to_a_disk_is_refused(tmp_path: Path) -> None:
    kubeconfig = written(tmp_path, **of_user(**pair_of_client(), **{"auth-provider": OIDC}))
    with pytest.raises(StoreError, match=r"would write the key to a temporary file.*Name the key's file"):
        Connection({"kubeconfig": kubeconfig, "persist_config": True})


@pytest.mark.parametrize(
    "text",
    [
        "a: !!timestamp x",
        "!!int x",
        "&a [*a]",
        "1: x",
        f"a: {'9' * 5000}",
        "[" * 3000,
        "a: [",
        "- a",
        "users: !!set {a}",
        "\ud800",
    ],
)
def test_what_is_no_kubeconfig_is_an_error_in_words(tmp_path: Path, text: str) -> None:
    path = tmp_path / "config"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    with pytest.raises(StoreError, match="credentials for the store's Kubernetes API"):
        Connection({"kubeconfig": str(path)})


def test_a_proxy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The option goes before the kubeconfig's; its name and password are sent to it, and hosts can be reached without it."""
    kubeconfig = written(tmp_path, **of_cluster(**{"proxy-url": "http://of-file:3128"}))

    def proxy(**options: t.Any) -> t.Any:
        return Connection({"kubeconfig": kubeconfig, **options}).ready()[0]

    assert proxy().proxy.host == "of-file"
    found = proxy(proxy="n:p@given:3128")
    assert (found.proxy.scheme, found.proxy.host) == ("http", "given")
    assert found.proxy_headers["proxy-authorization"] == "Basic bjpw"
    monkeypatch.setenv("K8S_AUTH_PROXY_HEADERS_USER_AGENT", "a/1")
    found = proxy(proxy_headers={"proxy_basic_auth": "a:b"})
    assert found.proxy_headers == {"proxy-authorization": "Basic YTpi", "user-agent": "a/1"}
    assert proxy(no_proxy="192.0.2.0/24").proxy is None


def test_a_key_with_a_passphrase_asks_nobody(tmp_path: Path) -> None:
    """Neither at the terminal nor for ever."""
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1()).private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.TraditionalOpenSSL,
        serialization.BestAvailableEncryption(b"passphrase"),
    )
    (tmp_path / "both").write_bytes(key)
    with pytest.raises(StoreError, match="its client certificate or its key can't be used"):
        Connection({"host": SERVER, "client_cert": str(tmp_path / "both")})
