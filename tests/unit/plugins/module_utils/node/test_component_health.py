# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What components answer themselves, and what that is worth beside what the kubelet has written."""

from __future__ import annotations

import datetime
import http.server
import ssl
import threading
import typing as t
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from ansible_collections.kubeadm.control_plane.plugins.module_utils.node.components.component_health import (
    component_health,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.observe.parse import parse

SCHEDULER = "kube-scheduler"


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """A certificate that its server made itself, as a component does."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost@1")])
    now = datetime.datetime.now(datetime.timezone.utc)
    builder = x509.CertificateBuilder(
        name, name, key.public_key(), x509.random_serial_number(), now, now + datetime.timedelta(1)
    )
    pem = builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
    plain = serialization.NoEncryption()
    path = tmp_path / "pair.pem"
    path.write_bytes(key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain) + pem)
    return path


@pytest.fixture
def component(certificate: Path) -> t.Iterator[tuple[int, list[int]]]:
    """A health port over TLS: its number, and a list that holds the status it answers /healthz with."""
    status = [200]

    class Health(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status[0] if self.path == "/healthz" else 404)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *arguments: t.Any) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Health)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server.server_address[1], status
    server.shutdown()
    server.server_close()


def test_a_component_is_asked_itself(component: tuple[int, list[int]]) -> None:
    """200 is healthy, anything else is not."""
    port, status = component
    assert component_health([SCHEDULER], {SCHEDULER: port}) == {SCHEDULER: True}
    status[0] = 500
    assert component_health([SCHEDULER], {SCHEDULER: port}) == {SCHEDULER: False}


def test_no_answer_is_no_evidence(component: tuple[int, list[int]]) -> None:
    """Flags may have moved the port: nobody there means nothing."""
    assert component_health([SCHEDULER], {SCHEDULER: 1}) == {SCHEDULER: None}
    assert component_health([], {SCHEDULER: component[0]}) == {}


def observation(
    pods: list[dict[str, t.Any]], health: dict[str, t.Any], ready: t.Optional[bool] = True
) -> dict[str, t.Any]:
    """An observation of the machine m1 of a control plane of m1 and m2."""
    nodes = [{"metadata": {"name": name}, "status": {"nodeInfo": {"machineID": f"id-{name}"}}} for name in ("m1", "m2")]
    return {
        "machine": {"machineID": "id-m1", "componentHealth": health},
        "api": {"answers": True, "ready": ready, "date": ""},
        "objects": {"nodes": nodes, "pods": pods},
    }


def pod(node: str, started: bool, probe: bool = False) -> dict[str, t.Any]:
    """A scheduler's pod that runs and whose Ready condition the kubelet hasn't written yet."""
    return {
        "metadata": {"name": f"{SCHEDULER}-{node}", "labels": {"component": SCHEDULER}},
        "spec": {"nodeName": node, "containers": [{"name": SCHEDULER, "readinessProbe": probe}]},
        "status": {
            "phase": "Running",
            "conditions": [{"type": "Ready", "status": "False"}],
            "containerStatuses": [{"name": SCHEDULER, "started": started, "state": {"running": {}}}],
        },
    }


def test_an_answer_is_put_beside_the_pod_of_the_machine_that_was_asked() -> None:
    """And beside no other machine's, of which it says nothing."""
    pods = parse(observation([pod("m1", False), pod("m2", False)], {SCHEDULER: True}), "m1")["pods"]
    assert pods["m1"][SCHEDULER]["answers"] is True
    assert "answers" not in pods["m2"][SCHEDULER]


def test_a_component_that_answers_needs_no_mirror_pod_yet() -> None:
    """The kubelet registers a mirror pod only after its Node; a component that is silent has no place without one."""
    pods = parse(observation([], {SCHEDULER: True, "kube-controller-manager": False}), "m1")["pods"]
    assert pods["m1"][SCHEDULER]["answers"] is True
    assert pods["m1"]["kube-apiserver"]["answers"] is True
    assert "kube-controller-manager" not in pods["m1"]


@pytest.mark.parametrize(
    ("started", "probe", "ready"), [(True, False, True), (False, False, False), (True, True, False)]
)
def test_started_is_ready_only_without_a_readiness_probe(started: bool, probe: bool, ready: bool) -> None:
    """A readiness probe that hasn't passed is an answer; where there is none, a started container is ready."""
    pods = parse(observation([pod("m2", started, probe)], {}), "m1")["pods"]
    assert pods["m2"][SCHEDULER]["ready"] is ready
