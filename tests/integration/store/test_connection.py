# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How a real API server is reached with what a kubeconfig says: credential plugins, tokens that end, TLS, whom to act as."""

from __future__ import annotations

import base64
import copy
import json
import sys
import threading
import typing as t
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from api_proxy import ApiProxy
from api_server import ApiServer
from connect_proxy import ConnectProxy
from cryptography.x509.oid import ExtendedKeyUsageOID
from etcd_cluster import Authority
from management import Kubectl, admin_token

from ansible_collections.kubeadm.control_plane.plugins.module_utils.common import settings
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.base import StoreError
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.kubernetes.requests import (
    ApiUnavailable,
    KubernetesApi,
    Refused,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.lock.lease_lock import LeaseLocks

Document = dict[str, t.Any]
NAMESPACES = "/api/v1/namespaces"
VERSION = "client.authentication.k8s.io/v1beta1"
CREDENTIAL = {"apiVersion": VERSION, "kind": "ExecCredential"}
FAR = "2999-01-01T00:00:00Z"


class Plugin:
    """A credential plugin: it counts how often it is run, and prints the answers in turn, the last one again and again."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.command = folder / "plugin"
        self.command.write_text(
            f"#!{sys.executable}\n"
            "import os, sys\n"
            "here = os.path.dirname(os.path.abspath(__file__))\n"
            "runs = os.path.join(here, 'runs')\n"
            "number = os.path.getsize(runs) if os.path.exists(runs) else 0\n"
            "open(runs, 'a').write('.')\n"
            "open(os.path.join(here, 'info'), 'w').write(os.environ['KUBERNETES_EXEC_INFO'])\n"
            "while not os.path.exists(os.path.join(here, str(number))): number -= 1\n"
            "sys.stdout.write(open(os.path.join(here, str(number))).read())\n"
        )
        self.command.chmod(0o700)

    def answers(self, *statuses: t.Any) -> None:
        """Print these the next times."""
        for number, status in enumerate(statuses):
            text = status if isinstance(status, str) else json.dumps({**CREDENTIAL, "status": status})
            (self.folder / str(number)).write_text(text)

    @property
    def runs(self) -> int:
        """How often it was run."""
        runs = self.folder / "runs"
        return runs.stat().st_size if runs.exists() else 0


@pytest.fixture
def plugin(tmp_path: Path) -> Plugin:
    """One that answers nothing yet."""
    folder = tmp_path / "plugin"
    folder.mkdir()
    return Plugin(folder)


def kubeconfig(of: ApiServer, folder: Path, user: t.Optional[Document] = None, **cluster: t.Any) -> str:
    """Write the admin's kubeconfig with another user, with fields of the cluster changed; None takes one away."""
    document = copy.deepcopy(json.loads(Path(of.kubeconfig).read_text()))
    if user is not None:
        document["users"][0]["user"] = user
    fields = {**document["clusters"][0]["cluster"], **{key.replace("_", "-"): value for key, value in cluster.items()}}
    document["clusters"][0]["cluster"] = {key: value for key, value in fields.items() if value is not None}
    path = folder / "kubeconfig"
    path.write_text(json.dumps(document))
    return str(path)


def by_plugin(command: str, **more: t.Any) -> Document:
    return {"exec": {"apiVersion": VERSION, "command": command, **more}}


def ask(path: str, **options: t.Any) -> int:
    """Ask for the namespaces, which only administrators may."""
    return KubernetesApi({"kubeconfig": path, **options}).send("list", NAMESPACES).status


SHELL = {"args": ["-c", "echo 'log in again, password=s3cr3t t0ken-of-env' >&2; exit 3"]}
FAILURES: t.Mapping[str, tuple[Document, str]] = {
    "it fails": (
        by_plugin("sh", **SHELL, env=[{"name": "MY_TOKEN", "value": "t0ken-of-env"}]),
        r"getting credentials: credential plugin of user u \(command sh\): it failed with exit code 3, "
        r"and said: log in again, password=\[redacted\] \[redacted\]",
    ),
    "it is ended": (by_plugin("sh", args=["-c", "kill -9 $$"]), r"\(command sh\): it was ended by signal 9"),
    "it is not in PATH": (
        by_plugin("no-such-plugin", installHint="Get it at\nexample.org."),
        r"\(command no-such-plugin\): executable not found, it is not in PATH\. Get it at example\.org\.",
    ),
    "it is not there": (by_plugin("./plugins/none"), "executable not found, /.*/plugins/none is not there"),
    "it can't be started": (by_plugin("/etc/passwd"), "it could not be started: Permission denied"),
    "its arguments are one text": (by_plugin("echo", args="a b"), "its args are no list of texts"),
    "its environment is none": (by_plugin("echo", env=["A=b"]), "its env are no list of names and values"),
    "it prints no JSON": (by_plugin("echo", args=["s3cr3t"]), "what it printed is no JSON"),
    "it prints something else": (by_plugin("echo", args=["{}"]), "what it printed is no ExecCredential"),
    "it prints another version": (
        by_plugin("echo", args=[json.dumps({"kind": "ExecCredential", "apiVersion": "v9"})]),
        "it answers in another apiVersion",
    ),
    "it gives nothing": (
        by_plugin("echo", args=[json.dumps({**CREDENTIAL, "status": {}})]),
        "neither a token nor a certificate",
    ),
    "it gives half": (
        by_plugin("echo", args=[json.dumps({**CREDENTIAL, "status": {"clientKeyData": "s3cr3t"}})]),
        "it gave a certificate or a key, and not both",
    ),
    "it gives two lines": (
        by_plugin("echo", args=[json.dumps({**CREDENTIAL, "status": {"token": "s3cr3t\ns3cr3t"}})]),
        "its token has blanks",
    ),
    "it gives no time": (
        by_plugin("echo", args=[json.dumps({**CREDENTIAL, "status": {"token": "t", "expirationTimestamp": "soon"}})]),
        "an expirationTimestamp that is no time",
    ),
    "it wants a terminal": (by_plugin("echo", interactiveMode="Always"), "it wants a terminal"),
    "it is of another version": ({"exec": {"command": "echo", "apiVersion": "v9"}}, "apiVersion 'v9' is not known"),
}


@pytest.mark.parametrize(("user", "says"), FAILURES.values(), ids=FAILURES.keys())
def test_a_credential_plugin_that_gives_none(server: ApiServer, tmp_path: Path, user: Document, says: str) -> None:
    """Nothing is asked as nobody; the error has the user, the command, how it ended and what it said, without secrets."""
    path = kubeconfig(server, tmp_path, user)
    api = KubernetesApi({"kubeconfig": path})
    with pytest.raises(StoreError, match=says) as caught:
        api.send("list", NAMESPACES)
    text = str(caught.value)
    assert api.requests == 0
    assert (
        path in text
        and "getting credentials" in text
        and f"logging in again (KUBECONFIG={path} kubectl --context u@c" in text
    )
    assert "s3cr3t" not in text and "t0ken-of-env" not in text


def test_a_credential_plugin_that_does_not_end(
    server: ApiServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is stopped with everything that it started, and what it said is told."""
    monkeypatch.setattr(settings, "CREDENTIAL_PLUGIN_SECONDS", 1.0)
    script = "echo 'open https://login.example.org and enter ABC' >&2; sleep 1000"
    path = kubeconfig(server, tmp_path, by_plugin("sh", args=["-c", script]))
    with pytest.raises(StoreError, match="did not end within 1 s and was stopped"):
        ask(path)


def test_kubectl_refuses_what_is_refused_here(server: ApiServer, tmp_path: Path) -> None:
    path = kubeconfig(server, tmp_path, by_plugin("sh", **SHELL))
    assert "exit code 3" in Kubectl(server, path)("get", "namespaces", code=1)


def test_a_token_of_a_plugin_that_is_refused_or_ends(server: ApiServer, tmp_path: Path, plugin: Plugin) -> None:
    """It is got anew within the run: after a 401 once, and at its end; and not for each request."""
    token = admin_token(server)
    api = KubernetesApi({"kubeconfig": kubeconfig(server, tmp_path, by_plugin("./plugin/plugin"))})
    plugin.answers({"token": "ended"}, {"token": token, "expirationTimestamp": FAR})
    assert api.send("list", NAMESPACES).status == 200 and plugin.runs == 2
    assert api.send("list", NAMESPACES).status == 200 and plugin.runs == 2
    assert json.loads((plugin.folder / "info").read_text())["spec"] == {"interactive": False}
    (plugin.folder / "runs").unlink()
    plugin.answers({"token": token, "expirationTimestamp": "2000-01-01T00:00:00Z"}, {"token": token})
    api = KubernetesApi({"kubeconfig": kubeconfig(server, tmp_path, by_plugin(str(plugin.command)))})
    for runs in (1, 2, 2):
        assert api.send("list", NAMESPACES).status == 200 and plugin.runs == runs
    (plugin.folder / "runs").unlink()
    plugin.answers({"token": "ended"}, {"token": "ended-as-well"})
    with pytest.raises(Refused, match=r"the credentials of .*kubeconfig are not accepted"):
        ask(kubeconfig(server, tmp_path, by_plugin(str(plugin.command))))
    assert plugin.runs == 2


def test_a_watch_whose_tokens_are_refused_ends(server: ApiServer, tmp_path: Path, plugin: Plugin) -> None:
    """Also where the plugin gives another one each time: they are got anew once, as for every request."""
    plugin.answers(*({"token": f"ended-{number}"} for number in range(9)))
    api = KubernetesApi({"kubeconfig": kubeconfig(server, tmp_path, by_plugin(str(plugin.command)))})
    with pytest.raises(Refused, match=r"the credentials of .*kubeconfig are not accepted"):
        list(api.stream(NAMESPACES, {"watch": "true"}, 5.0))
    assert plugin.runs == 2
    (plugin.folder / "runs").unlink()
    plugin.answers({"token": "ended"}, {"token": admin_token(server)})
    api = KubernetesApi({"kubeconfig": kubeconfig(server, tmp_path, by_plugin(str(plugin.command)))})
    assert next(api.stream(NAMESPACES, {"watch": "true"}, 5.0))["type"] == "ADDED" and plugin.runs == 2


def test_certificates_of_a_plugin(server: ApiServer, tmp_path: Path, plugin: Plugin) -> None:
    """With the end of one the next is proven; the plugin is told of the cluster where it asks for that."""
    pairs = [server.authority.issue(name, (ExtendedKeyUsageOID.CLIENT_AUTH,)) for name in ("alice", "bob")]
    statuses = [
        {
            "clientCertificateData": Path(certificate).read_text(),
            "clientKeyData": Path(key).read_text(),
            "expirationTimestamp": "2000-01-01T00:00:00Z",
        }
        for certificate, key in pairs
    ]
    plugin.answers(*statuses)
    path = kubeconfig(server, tmp_path, by_plugin(str(plugin.command), provideClusterInfo=True))
    api = KubernetesApi({"kubeconfig": path})
    for name in ("alice", "bob"):
        with pytest.raises(Refused, match=f'User "{name}" cannot list'):
            api.send("list", NAMESPACES)
    told = json.loads((plugin.folder / "info").read_text())["spec"]["cluster"]
    assert told["server"] == server.url
    assert base64.b64decode(told["certificate-authority-data"]) == Path(server.authority.ca_file).read_bytes()


def test_a_token_file_that_is_rotated(server: ApiServer, tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("ended\n")
    api = KubernetesApi({"kubeconfig": kubeconfig(server, tmp_path, {"tokenFile": "token"})})
    with pytest.raises(Refused, match=r"the credentials of .* are not accepted"):
        api.send("list", NAMESPACES)
    token.write_text(admin_token(server) + "\n")
    assert api.send("list", NAMESPACES).status == 200


def test_nobody_is_told_so(server: ApiServer, tmp_path: Path) -> None:
    with pytest.raises(
        Refused, match=r"no credentials that the API server knows.*the user of the kubeconfig's context has none"
    ):
        ask(kubeconfig(server, tmp_path, {}))


def test_whom_a_kubeconfig_acts_as(server: ApiServer, tmp_path: Path) -> None:
    """As kubectl does; what it may not, nobody does with the rights of who it is."""
    user = json.loads(Path(server.kubeconfig).read_text())["users"][0]["user"]
    with pytest.raises(Refused, match='User "carol" cannot list'):
        ask(kubeconfig(server, tmp_path, {**user, "as": "carol"}))
    assert ask(kubeconfig(server, tmp_path, {**user, "as": "carol", "as-groups": ["a, b", "system:masters"]})) == 200


def test_a_server_without_a_scheme_is_verified(server: ApiServer, tmp_path: Path) -> None:
    """By the kubeconfig's authority; another authority is told as what it is."""
    address = server.url.partition("://")[2]
    path = kubeconfig(server, tmp_path, server=address)
    assert ask(path) == 200
    other = base64.b64encode(Path(Authority(tmp_path / "other", "other").ca_file).read_bytes()).decode()
    path = kubeconfig(server, tmp_path, server=address, certificate_authority_data=other)
    with pytest.raises(
        ApiUnavailable, match=r"has a certificate that is not accepted .*Give the authority that issued it"
    ):
        ask(path)


def test_the_name_that_a_certificate_is_for(server: ApiServer, tmp_path: Path) -> None:
    assert ask(kubeconfig(server, tmp_path, tls_server_name="localhost")) == 200
    path = kubeconfig(server, tmp_path, tls_server_name="elsewhere.example.org")
    with pytest.raises(ApiUnavailable, match=r"not accepted .*elsewhere.example.org.*tls-server-name"):
        ask(path)


@pytest.mark.filterwarnings("error")
def test_no_verification_where_it_is_asked_for(server: ApiServer, tmp_path: Path) -> None:
    """And nothing is said each time; the option goes before the kubeconfig."""
    path = kubeconfig(server, tmp_path, certificate_authority_data=None, insecure_skip_tls_verify=True)
    assert ask(path) == 200
    assert ask(server.kubeconfig, validate_certs=False) == 200
    with pytest.raises(ApiUnavailable, match="has a certificate that is not accepted"):
        ask(path, validate_certs=True)


def test_what_is_given_goes_before_the_kubeconfig(server: ApiServer) -> None:
    """Whose certificate would count for more at the API server."""
    assert ask(server.kubeconfig, api_key=admin_token(server)) == 200
    with pytest.raises(Refused, match="are not accepted"):
        ask(server.kubeconfig, api_key="ended")


def test_a_proxy_is_asked_for_the_api(server: ApiServer, tmp_path: Path) -> None:
    """With its name and password; one that refuses, or isn't there, is told as what it is, without the password."""
    proxy = ConnectProxy("n:s3cr3t")
    place = server.url.partition("://")[2]
    try:
        assert ask(kubeconfig(server, tmp_path, proxy_url=f"http://n:s3cr3t@{proxy.address}")) == 200
        assert ask(server.kubeconfig, proxy=proxy.address, proxy_headers={"proxy_basic_auth": "n:s3cr3t"}) == 200
        assert proxy.asked == [place] * 2
        assert ask(kubeconfig(server, tmp_path, proxy_url=f"http://{proxy.address}"), no_proxy="127.0.0.0/8") == 200
        assert proxy.asked == [place] * 2
        with pytest.raises(ApiUnavailable, match=f"by the proxy http://n:.*@{proxy.address}.*407") as caught:
            ask(server.kubeconfig, proxy=f"http://n:wr0ng@{proxy.address}")
        assert "wr0ng" not in str(caught.value)
    finally:
        proxy.end()
    with pytest.raises(ApiUnavailable, match=f"by the proxy http://{proxy.address}.*refused"):
        ask(server.kubeconfig, proxy=proxy.address)


def test_what_answers_is_no_api(server: ApiServer, tmp_path: Path) -> None:
    """A page is no empty list; TLS where there is none, and none where there is, are told."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Length", "13")
            self.end_headers()
            self.wfile.write(b"<html></html>")

        def log_message(self, *_arguments: t.Any) -> None:
            """Nothing."""

    page = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=page.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True).start()
    address = f"127.0.0.1:{page.server_port}"
    try:
        with pytest.raises(StoreError, match="what answers is no Kubernetes API"):
            ask("", host=f"http://{address}")
        with pytest.raises(ApiUnavailable, match="does not speak TLS"):
            ask("", host=address)
    finally:
        page.shutdown()
        page.server_close()
    with pytest.raises(Refused, match="Client sent an HTTP request to an HTTPS server"):
        ask("", host=server.url.replace("https", "http"))


def test_the_lock_s_helper_finds_relative_paths(
    empty_server: ApiServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of the environment too; what it lacks is said."""
    monkeypatch.chdir(tmp_path)
    Path(kubeconfig(empty_server, tmp_path)).rename(tmp_path / "relative")
    monkeypatch.setenv("K8S_AUTH_KUBECONFIG", "./relative")
    locks = LeaseLocks(KubernetesApi({}), {})
    taken = locks.take("default", "connected")
    assert locks.own("default", "connected") == taken
    assert locks.release_own("default", "connected")
    locks = LeaseLocks(KubernetesApi({}), {"kubeconfig": "nowhere"})
    with pytest.raises(StoreError, match=r"could not be started .*it ended with 1: there are no credentials .*nowhere"):
        locks.take("default", "connected")


def test_a_creation_that_was_refused_for_its_token_is_sent_again(
    empty_server: ApiServer, tmp_path: Path, plugin: Plugin
) -> None:
    """Nothing was done of it. Where the plugin has no better token, or none any more, the run ends."""
    proxy = ApiProxy(empty_server, tmp_path)
    document = json.loads(Path(proxy.kubeconfig).read_text())
    document["users"][0]["user"] = by_plugin(str(plugin.command))
    path = tmp_path / "by-plugin"
    path.write_text(json.dumps(document))
    name = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "renewed"}}
    plugin.answers({"token": "ended"}, {"token": admin_token(empty_server)}, {"token": "another"}, "no JSON")
    api = KubernetesApi({"kubeconfig": str(path)})
    try:
        assert api.send("create", NAMESPACES, name).status == 201 and plugin.runs == 2
        proxy.refuse_tokens()
        with pytest.raises(Refused, match="are not accepted"):
            api.send("update", f"{NAMESPACES}/renewed", name)
        assert plugin.runs == 3
        with pytest.raises(StoreError, match=r"getting credentials: .*what it printed is no JSON"):
            api.send("get", f"{NAMESPACES}/renewed")
    finally:
        proxy.end()
