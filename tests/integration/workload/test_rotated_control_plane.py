# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A real etcd, API server and controller manager, run from kubeadm's own manifests, through every stage of a rotation.

What a rotation relies on is seen in them: what they trust and show, who is let in, what they publish, with what they sign.
"""

from __future__ import annotations

import base64
import contextlib
import os
import signal
import subprocess
import time
import typing as t
from pathlib import Path

import pytest
import yaml
from api_server import find_binary
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from etcd_cluster import find_etcd, free_port
from kubeadm_files import KUBEADM, PKI, Node, materials_of
from lab_kubernetes import API, VERSION

from ansible_collections.kubeadm.control_plane.plugins.module_utils.common.guard import NodeError
from ansible_collections.kubeadm.control_plane.plugins.module_utils.common.https import (
    HttpClient,
    Unreachable,
    client_context,
)
from ansible_collections.kubeadm.control_plane.plugins.module_utils.common.values import now_rfc3339
from ansible_collections.kubeadm.control_plane.plugins.module_utils.node.certificates import proof
from ansible_collections.kubeadm.control_plane.plugins.module_utils.node.certificates.service_account_tokens import (
    Accounts,
    fingerprints,
)
from ansible_collections.kubeadm.control_plane.plugins.module_utils.workload_api.api import ApiClient, read_access
from ansible_collections.kubeadm.control_plane.plugins.module_utils.workload_api.compare_and_swap import (
    Read,
    read,
    write,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.kubeadm.certificate_files import (
    AUTHORITIES,
    CA,
    ETCD,
    FRONT_PROXY,
    SERVICE_ACCOUNT,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.operator.rotate_certificate_authorities import (
    published_authorities,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.operator.rotate_certificate_authorities.stages import (
    DROP,
    ISSUE,
    NEW,
    OLD,
    TRUST,
    trusted,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.pki import certificates, reissue

BINARIES = {name: find_binary(name) for name in ("kube-apiserver", "kube-controller-manager", "kubectl")}
pytestmark = [
    pytest.mark.skipif(None in (*BINARIES.values(), KUBEADM), reason="no Kubernetes binaries on this machine"),
    pytest.mark.skipif(os.geteuid() != 0, reason="kubeadm writes to /etc/kubernetes: a mount of one's own needs root"),
]
BOUND_SECONDS = 120.0
# In the order in which they start.
COMPONENTS = ("etcd", "kube-apiserver", "kube-controller-manager")
ADDRESS = "10.0.0.1"
CSRS = "/apis/certificates.k8s.io/v1/certificatesigningrequests"


def until(what: str, condition: t.Callable[[], t.Any]) -> t.Any:
    """Poll until a condition holds; what does not answer yet holds not yet."""
    deadline = time.monotonic() + BOUND_SECONDS
    while time.monotonic() < deadline:
        try:
            found = condition()
        except (Unreachable, NodeError, OSError):
            found = None
        if found:
            return found
        time.sleep(0.1)
    raise AssertionError(f"not within {BOUND_SECONDS:g} s: {what}")


class ControlPlane:
    """The components of one node's manifests as processes, with the node's /etc/kubernetes."""

    def __init__(self, folder: Path) -> None:
        self.ports = {name: free_port() for name in ("api", "etcd", "peer", "manager")}
        etcd = f"https://127.0.0.1:{self.ports['etcd']}"
        peer = f"https://127.0.0.1:{self.ports['peer']}"
        config: list[dict[str, t.Any]] = [
            {
                "apiVersion": API,
                "kind": "InitConfiguration",
                "localAPIEndpoint": {"advertiseAddress": ADDRESS, "bindPort": self.ports["api"]},
                "nodeRegistration": {"name": "cp-1"},
            },
            {
                "apiVersion": API,
                "kind": "ClusterConfiguration",
                "kubernetesVersion": VERSION,
                "apiServer": {
                    "certSANs": ["127.0.0.1"],
                    "extraArgs": {
                        "bind-address": "127.0.0.1",
                        "etcd-servers": etcd,
                        "endpoint-reconciler-type": "none",
                        "disable-admission-plugins": "ServiceAccount",
                    },
                },
                "controllerManager": {
                    "extraArgs": {"leader-elect": "false", "secure-port": str(self.ports["manager"])}
                },
                "etcd": {
                    "local": {
                        "dataDir": str(folder / "etcd"),
                        "extraArgs": {
                            "listen-client-urls": etcd,
                            "advertise-client-urls": etcd,
                            "listen-peer-urls": peer,
                            "initial-advertise-peer-urls": peer,
                            "initial-cluster": f"cp-1={peer}",
                            "listen-metrics-urls": f"http://127.0.0.1:{free_port()}",
                        },
                    }
                },
            },
        ]
        self.node = Node(folder / "node", config=config).make()
        # kubeadm takes no address of the loopback.
        for path in (*self.node.etc.glob("*.conf"), *(self.node.etc / "manifests").iterdir()):
            path.write_text(path.read_text().replace(ADDRESS, "127.0.0.1"))
        self.programs = {**BINARIES, "etcd": find_etcd()}
        self.folder = folder
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self.servers = proof.Servers(
            pki=self.node.at(PKI),
            manifests=self.node.at("/etc/kubernetes/manifests"),
            kubeconfig=self.node.at("/etc/kubernetes/admin.conf"),
            etcd_url=etcd,
            kubectl=str(BINARIES["kubectl"]),
        )
        self.url = f"https://127.0.0.1:{self.ports['api']}"

    def restart(self, components: t.Sequence[str] = COMPONENTS) -> None:
        """End components, and start them from their manifests as they are now."""
        for component in reversed(components):
            self.end(component)
        for component in components:
            manifest = yaml.safe_load(self.node.text(f"/etc/kubernetes/manifests/{component}.yaml"))
            words = manifest["spec"]["containers"][0]["command"]
            command = self.node.within(" ".join([str(self.programs[component]), *(f"'{each}'" for each in words[1:])]))
            with (self.folder / f"{component}.log").open("ab") as log:
                self.processes[component] = subprocess.Popen(
                    command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
                )
            if component == "kube-apiserver":
                until("the API server is ready", lambda: self.status("/readyz") == 200)

    def end(self, component: str) -> None:
        process = self.processes.pop(component, None)
        if process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def client(self) -> ApiClient:
        access = read_access(self.servers.kubeconfig, self.servers.kubectl)
        return ApiClient(access, self.url, 10.0)

    def status(self, path: str) -> int:
        with self.client() as client:
            return client.send("GET", path).status

    def bearer(self, token: str, authorities: str) -> int:
        """What the API server answers to a token; its own certificate is verified."""
        with HttpClient(self.url, client_context(ca_pem=authorities), 10.0) as client:
            return client.request("GET", "/api", None, {"Authorization": f"Bearer {token}"}).status

    def signed(self, name: str) -> str:
        """A client certificate that the controller manager signs now."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        request = x509.CertificateSigningRequestBuilder().subject_name(subject).sign(key, hashes.SHA256())
        pem = request.public_bytes(serialization.Encoding.PEM)
        spec = {
            "request": base64.b64encode(pem).decode(),
            "signerName": "kubernetes.io/kube-apiserver-client",
            "usages": ["client auth"],
        }
        with self.client() as client:
            made = client.checked(client.send("POST", CSRS, {"metadata": {"name": name}, "spec": spec}), CSRS)
            condition = {"type": "Approved", "status": "True", "reason": "Test", "message": "by the test"}
            made["status"] = {"conditions": [condition]}
            client.checked(client.send("PUT", f"{CSRS}/{name}/approval", made), CSRS)

        def certificate() -> str:
            with self.client() as client:
                return str(((client.get(f"{CSRS}/{name}") or {}).get("status") or {}).get("certificate") or "")

        return base64.b64decode(until("the controller manager has signed", certificate)).decode()


@pytest.fixture(scope="module")
def control_plane(tmp_path_factory: pytest.TempPathFactory) -> t.Iterator[ControlPlane]:
    made = ControlPlane(tmp_path_factory.mktemp("rotated"))
    try:
        made.restart()
        yield made
    finally:
        for component in list(made.processes):
            made.end(component)


def test_what_a_real_control_plane_does_at_every_stage(control_plane: ControlPlane) -> None:
    node, servers = control_plane.node, control_plane.servers
    materials = materials_of(node)
    old_ca, new_ca = materials.pair(CA, OLD).crt, materials.pair(CA, NEW).crt
    identity = {each: reissue.key_id(materials.pair(SERVICE_ACCOUNT, each).crt) for each in (OLD, NEW)}
    probes = {
        (authority, each): certificates.new_client_certificate(
            materials.pair(authority, each), "probe", [], now_rfc3339(), "ECDSA-P256"
        )
        for authority in (CA, ETCD)
        for each in (OLD, NEW)
    }

    def accepted(server: str, authority: str, generation: str) -> bool:
        pair = probes[authority, generation]
        return proof.accepts(server, pair.crt, str(pair.key), servers)

    def published(stage: str) -> bool:
        """Whether every namespace and every token's Secret has the authorities of a stage."""
        wanted = materials.fingerprints(CA, trusted(stage))
        with control_plane.client() as client:
            accounts = Accounts(client)
            held = [each["authorities"] for each in (*accounts.secrets(), *accounts.roots())]
        return len(held) >= 8 and all(set(each) == wanted for each in held)

    def tokens() -> dict[str, t.Optional[str]]:
        with control_plane.client() as client:
            return {f"{each['namespace']}/{each['name']}": each["key_id"] for each in Accounts(client).secrets()}

    def default_token() -> str:
        with control_plane.client() as client:
            for each in client.list("/api/v1/namespaces/default/secrets"):
                if each["type"] == "kubernetes.io/service-account-token":
                    return base64.b64decode((each.get("data") or {}).get("token") or "").decode()
        return ""

    until("there is a token in every namespace", lambda: len(tokens()) >= 4)
    old_token = until("there is a token", default_token)
    assert control_plane.bearer(old_token, old_ca) == 200
    assert set(tokens().values()) == {identity[OLD]}
    assert proof.key_ids(servers) == [identity[OLD]]
    assert reissue.issued_by(control_plane.signed("before"), old_ca)
    assert (accepted("kube-apiserver", CA, OLD), accepted("kube-apiserver", CA, NEW)) == (True, False)
    assert (accepted("etcd", ETCD, OLD), accepted("etcd", ETCD, NEW)) == (True, False)

    node.stage(materials, TRUST)
    control_plane.restart()
    assert proof.key_ids(servers) == sorted(identity.values())
    assert proof.shown("kube-apiserver", servers) == reissue.fingerprints(node.text(f"{PKI}/apiserver.crt"))[0]
    assert proof.shown("etcd", servers) == reissue.fingerprints(node.text(f"{PKI}/etcd/server.crt"))[0]
    for generation in (OLD, NEW):
        assert accepted("kube-apiserver", CA, generation)
        assert accepted("etcd", ETCD, generation)
    assert reissue.issued_by(control_plane.signed("trusting"), old_ca)
    until("the controller manager has published both", lambda: published(TRUST))

    def authentication(stage: str) -> bool:
        with control_plane.client() as client:
            found = read(client, [Read(published_authorities.AUTHENTICATION, ("data",))])
            plan = published_authorities.authentication(found, materials, AUTHORITIES, stage)
            assert stage == DROP or not plan.writes
            return bool(plan.facts["done"]) and not (plan.writes and write(client, plan.writes).count)

    until("the API server has published both", lambda: authentication(TRUST))

    node.stage(materials, ISSUE)
    control_plane.restart()
    # Who knows the old authority alone still verifies the server, and is let in.
    assert control_plane.bearer(old_token, old_ca) == 200
    assert control_plane.bearer(old_token, new_ca) == 200
    assert accepted("kube-apiserver", CA, OLD)
    assert reissue.issued_by(control_plane.signed("issuing"), new_ca)
    mount = {"name": "web", "namespace": "default"}
    [mounted] = [name.partition("/")[2] for name in tokens() if name.startswith("default/")]
    volume = {"name": mounted, "secret": {"secretName": mounted}}
    container = {"name": "web", "image": "example.invalid/web", "volumeMounts": [{"name": mounted, "mountPath": "/t"}]}
    pods = "/api/v1/namespaces/default/pods"
    spec = {"containers": [container], "volumes": [volume], "nodeName": "nowhere"}
    with control_plane.client() as client:
        client.checked(client.send("POST", pods, {"metadata": mount, "spec": spec}), pods)
        before = set(tokens())
        accounts = Accounts(client)
        renewed, kept = accounts.renew([identity[NEW]], BOUND_SECONDS, lambda: None)
        # What a pod mounts stays as it is and valid; pods to come get another one.
        assert kept == [f"default/{mounted}"]
        assert set(renewed) == before - set(kept)
        assert control_plane.bearer(old_token, new_ca) == 200
        [added] = set(tokens()) - before
        account = client.get("/api/v1/namespaces/default/serviceaccounts/default")
        assert account is not None
        assert [each["name"] for each in account["secrets"]] == [added.partition("/")[2]]
        assert accounts.renew([identity[NEW]], BOUND_SECONDS, lambda: None) == ([], kept)
        [pod] = accounts.pods("9999")
        assert (pod["name"], pod["mounts_secret"], pod["owner"]) == ("web", True, "")
        client.checked(client.send("DELETE", f"{pods}/web?gracePeriodSeconds=0"), pods)
        assert accounts.renew([identity[NEW]], BOUND_SECONDS, lambda: None) == (kept, [])
        assert accounts.renew([identity[NEW]], BOUND_SECONDS, lambda: None) == ([], [])
    # An API server lets nobody in with a token that its Secret does not hold any more; for ten seconds it remembers whom it let in.
    until("the old token is refused", lambda: control_plane.bearer(old_token, new_ca) == 401)
    assert set(tokens()) == {*before, added}
    assert set(tokens().values()) == {identity[NEW]}
    new_token = until("there is a token", default_token)
    assert control_plane.bearer(new_token, new_ca) == 200

    materials.stale_pods = ["shop/web"]
    node.stage(materials, DROP)
    control_plane.restart()
    assert proof.key_ids(servers) == [identity[NEW]]
    assert (accepted("kube-apiserver", CA, OLD), accepted("kube-apiserver", CA, NEW)) == (False, True)
    assert (accepted("etcd", ETCD, OLD), accepted("etcd", ETCD, NEW)) == (False, True)
    assert control_plane.bearer(old_token, new_ca) == 401
    assert control_plane.bearer(new_token, new_ca) == 200
    # A pod that was never restarted: it knows the old authority, and has the new token in its volume.
    assert control_plane.bearer(new_token, old_ca) == 200
    until("the controller manager has published the new one alone", lambda: published(DROP))
    with control_plane.client() as client:
        held = client.get(published_authorities.AUTHENTICATION)
    assert held is not None
    # API servers take nothing out of it, which is why it is done for them.
    both = materials.fingerprints(FRONT_PROXY, (OLD, NEW))
    assert set(fingerprints(held["data"]["requestheader-client-ca-file"])) == both
    until("the old ones are gone from it", lambda: authentication(DROP))
    # It would be the API server that puts them there again.
    control_plane.restart(["kube-apiserver"])
    assert authentication(DROP)
    assert reissue.issued_by(control_plane.signed("dropped"), new_ca)

    materials.stale_pods = []
    node.stage(materials, DROP)
    control_plane.restart(["kube-apiserver"])
    with pytest.raises(Unreachable, match="not trusted"):
        control_plane.bearer(new_token, old_ca)
    assert control_plane.bearer(new_token, new_ca) == 200
