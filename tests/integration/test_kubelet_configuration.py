# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A kubelet's configuration on one machine: what it takes to count as well, and the way back; stand-ins for kubelet, kubeadm and API."""

from __future__ import annotations

import base64
import http.server
import json
import re
import shlex
import ssl
import subprocess
import threading
import typing as t
from pathlib import Path

import pytest
from cryptography.x509.oid import ExtendedKeyUsageOID
from etcd_cluster import Authority

from ansible_collections.kubeadm.control_plane.plugins.module_utils.common.values import now_rfc3339
from ansible_collections.kubeadm.control_plane.plugins.module_utils.node.components.configuration_change import (
    FAILED,
    ROLLED_BACK,
    SUCCEEDED,
    Places,
)
from ansible_collections.kubeadm.control_plane.plugins.module_utils.node.components.kubelet_change import KubeletChange
from ansible_collections.kubeadm.control_plane.plugins.module_utils.node.components.rendered_manifests import Tools

NODE = "/api/v1/nodes/node"
OLD, NEW, BAD = "maxPods: 110\n", "maxPods: 120\n", "maxPods: many\n"
# What a kubelet writes that gives up: its reason, then the stacks of all its goroutines.
STACKS = "".join(f"goroutine {number} [select]:\nk8s.io/klog.init.0(0xc0005)\n" for number in range(300))
JOURNAL = f"""\
Started kubelet.service - kubelet: The Kubernetes Node Agent.
E1121 10:00:00.000000     100 kubelet.go:2264] node not found
F1121 10:00:00.000000     100 server.go:198] failed to load Kubelet config file: maxPods: many
{STACKS}\
kubelet.service: Main process exited, code=exited, status=255/EXCEPTION
kubelet.service: Failed with result 'exit-code'.
Stopped kubelet.service - kubelet: The Kubernetes Node Agent.
Started kubelet.service - kubelet: The Kubernetes Node Agent.
"""


class Kubelet:
    """Stands in for the kubelet, systemd and the API: with a configuration that it can't read it ends again and again."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.restarts: list[str] = []
        self.commands: list[list[str]] = []
        self.journal: list[str] = []
        self.ready = True
        # Whether the kubelet tells the API after a restart.
        self.tells = True
        self._ended = 0
        self._heartbeat = "2020-01-01T00:00:00Z"
        authority = Authority(folder / "pki", "kubernetes")
        server = authority.issue("server", (ExtendedKeyUsageOID.SERVER_AUTH,))
        client = authority.issue("client", (ExtendedKeyUsageOID.CLIENT_AUTH,))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*server)
        self._servers = [self._serve(None), self._serve(context)]
        self.port = self._servers[0].server_port
        data = {name: base64.b64encode(Path(path).read_bytes()).decode() for name, path in zip(("crt", "key"), client)}
        cluster = {
            "server": f"https://127.0.0.1:{self._servers[1].server_port}",
            "certificate-authority-data": base64.b64encode(Path(authority.ca_file).read_bytes()).decode(),
        }
        user = {"client-certificate-data": data["crt"], "client-key-data": data["key"]}
        view = json.dumps({"clusters": [{"cluster": cluster}], "users": [{"user": user}]})
        self.kubectl = self._program("kubectl", f"echo {shlex.quote(view)}")
        self.kubeadm = self._program("kubeadm", f"cp {folder}/wanted {folder}/kubelet/config.yaml")
        (folder / "kubelet").mkdir()
        self.config.write_text(self.with_port(OLD))

    @property
    def config(self) -> Path:
        """The kubelet's configuration in use."""
        return self.folder / "kubelet" / "config.yaml"

    def with_port(self, text: str) -> str:
        """A configuration with the port at which this kubelet tells its health; it is no kubelet's default."""
        return f"{text}healthzPort: {self.port}\n"

    def uses(self) -> str:
        """The configuration in use, without that port."""
        return re.sub(r"healthzPort: \d+\n", "", self.config.read_text())

    def __call__(self, words: t.Sequence[str]) -> subprocess.CompletedProcess[str]:
        """Answer as systemctl and journalctl do."""
        self.commands.append(list(words))
        text = ""
        if words[:2] == ["systemctl", "restart"]:
            self.restarts.append(self.uses())
            if self.tells:
                self._heartbeat = now_rfc3339()
        elif words[:2] == ["systemctl", "show"]:
            if self.broken:
                self._ended += 1
            text = f"NRestarts={self._ended}\n"
        elif words[0] == "journalctl":
            self.journal = [each for each in words if each.startswith("--since=@")]
            lines = next(int(each.partition("=")[2]) for each in words if each.startswith("--lines="))
            text = "\n".join(JOURNAL.splitlines()[-lines:])
        return subprocess.CompletedProcess(list(words), 0, text, "")

    @property
    def broken(self) -> bool:
        """Whether it can't read its configuration."""
        return bool(self.restarts) and self.restarts[-1] == BAD

    def stop(self) -> None:
        """End the servers."""
        for each in self._servers:
            each.shutdown()
            each.server_close()

    def _program(self, name: str, line: str) -> str:
        path = self.folder / name
        path.write_text(f"#!/bin/sh\n{line}\n")
        path.chmod(0o755)
        return str(path)

    def _serve(self, context: t.Optional[ssl.SSLContext]) -> http.server.ThreadingHTTPServer:
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                """Health, or the Node."""
                condition = {
                    "type": "Ready",
                    "status": "True" if outer.ready else "False",
                    "message": "PLEG is not healthy",
                    "lastHeartbeatTime": outer._heartbeat,
                }
                self.send_response(500 if outer.broken else 200)
                self.end_headers()
                body = {"status": {"conditions": [condition]}} if self.path == NODE else {}
                self.wfile.write(json.dumps(body).encode())

            def log_message(self, format: str, *args: t.Any) -> None:
                """Say nothing."""

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        if context is not None:
            server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        return server


@pytest.fixture
def kubelet(tmp_path: Path) -> t.Iterator[Kubelet]:
    """A machine whose kubelet runs with OLD."""
    made = Kubelet(tmp_path)
    yield made
    made.stop()


def work(kubelet: Kubelet, wanted: str, timeout: float = 3) -> dict[str, t.Any]:
    """Bring a configuration to the machine."""
    (kubelet.folder / "wanted").write_text(kubelet.with_port(wanted))
    folder = kubelet.folder / "work"
    folder.mkdir(exist_ok=True)
    request = {"node": "node", "kubeconfig": "/etc/kubernetes/kubelet.conf", "patches": "", "timeout": timeout}
    (folder / "request.json").write_text(json.dumps(request))
    (folder / "record.json").write_text(json.dumps({"state": "Started"}))
    places = Places(
        state=str(kubelet.folder / "state"),
        kubelet=str(kubelet.folder / "kubelet"),
        tools=Tools(kubelet.kubeadm, kubelet.kubectl),
    )
    return KubeletChange(places, str(folder), kubelet).perform()


def test_what_is_new_is_proven(kubelet: Kubelet) -> None:
    """Written by kubeadm, restarted once, heard of since."""
    assert work(kubelet, NEW)["state"] == SUCCEEDED
    assert kubelet.restarts == [NEW]
    assert kubelet.uses() == NEW
    assert (kubelet.folder / "work" / "backup" / "config.yaml").read_text() == kubelet.with_port(OLD)


def test_one_that_tells_no_health_is_proven_by_its_node(kubelet: Kubelet) -> None:
    """Port 0 is none; what the API says counts alone."""
    kubelet.port = 0
    assert work(kubelet, NEW)["state"] == SUCCEEDED
    kubelet.ready = False
    assert "is not Ready" in work(kubelet, OLD, timeout=1)["message"]


def test_a_kubelet_that_cannot_read_it_gets_its_old_one_back(kubelet: Kubelet) -> None:
    """It is not waited for to the end of the time, and the kubelet's own words are told."""
    record = work(kubelet, BAD, timeout=60)
    assert record["state"] == ROLLED_BACK
    assert "ended 2 times with it" in record["message"]
    assert record["message"].endswith("failed to load Kubelet config file: maxPods: many")
    assert len(kubelet.journal) == 1, "not what an earlier one said"
    assert kubelet.restarts == [BAD, OLD]
    assert kubelet.uses() == OLD


def test_a_node_that_is_not_heard_of_since_is_not_well(kubelet: Kubelet) -> None:
    """Ready from before the restart says nothing."""
    kubelet.tells = False
    record = work(kubelet, NEW, timeout=1)
    assert record["state"] == FAILED
    assert "has not been heard of since" in record["message"]
    assert kubelet.uses() == OLD


def test_a_node_that_is_not_ready_is_not_well(kubelet: Kubelet) -> None:
    """Its reason is told."""
    kubelet.ready = False
    record = work(kubelet, NEW, timeout=1)
    assert "is not Ready: PLEG is not healthy" in record["message"]
    assert kubelet.uses() == OLD


def test_where_kubeadm_refuses_nothing_is_restarted(kubelet: Kubelet) -> None:
    """The kubelet goes on as it was."""
    kubelet.kubeadm = kubelet._program("kubeadm", "echo 'couldn'\"'\"'t fetch the ConfigMap' >&2; exit 1")
    record = work(kubelet, NEW)
    assert record["state"] == ROLLED_BACK
    assert "couldn't fetch the ConfigMap" in record["message"]
    assert kubelet.restarts == []


def test_a_rollback_that_was_interrupted_restarts_the_kubelet_with_what_was_put_back(kubelet: Kubelet) -> None:
    """The file may have been put back already: the kubelet that runs has not read it."""
    assert work(kubelet, BAD)["state"] == ROLLED_BACK
    kubelet.restarts.append(BAD)
    folder = kubelet.folder / "work"
    (folder / "record.json").write_text(json.dumps({"state": "Started", "failedAt": "kubelet", "message": "why"}))
    places = Places(
        kubelet=str(kubelet.folder / "kubelet"),
        tools=Tools(kubelet.kubeadm, kubelet.kubectl),
    )
    record = KubeletChange(places, str(folder), kubelet).perform()
    assert (record["state"], record["message"]) == (ROLLED_BACK, "why")
    assert kubelet.restarts[-1] == OLD


def test_all_of_kubeadms_files_go_back(kubelet: Kubelet) -> None:
    """What was not there before is gone again, and what is gone is there again."""
    folder = kubelet.folder / "kubelet"
    (folder / "kubeadm-flags.env").write_text("KUBELET_KUBEADM_ARGS=--v=2\n")
    lines = f"cp {kubelet.folder}/wanted {folder}/config.yaml; echo a > {folder}/instance-config.yaml; rm {folder}/kubeadm-flags.env"
    kubelet.kubeadm = kubelet._program("kubeadm", lines)
    assert work(kubelet, BAD)["state"] == ROLLED_BACK
    assert {each.name: each.read_text() for each in folder.iterdir()} == {
        "config.yaml": kubelet.with_port(OLD),
        "kubeadm-flags.env": "KUBELET_KUBEADM_ARGS=--v=2\n",
    }
