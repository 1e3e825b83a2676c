# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The whole plan of a rotation carried out on one real control plane in namespaces: real kubeadm, etcd, API server and the rest.

Every command of the plan is run as a Task's is, and what it asks of the node, real modules do there. A real machine has Ansible,
systemd, containers and a kubelet besides, and a cluster more than one node: the lab has those.
"""

from __future__ import annotations

import base64
import json
import sys
import typing as t
from pathlib import Path

import pytest
from aggregated_server import serving_pair
from namespaced_node import ADDRESS, NAME, SUPPORT, NamespacedNode, missing
from steady_client import Credentials
from task_context import CommandRun, StandInAction, ended

from ansible_collections.kubeadm.control_plane.plugins.module_utils.common.values import now_rfc3339
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.kubeadm.certificate_files import AUTHORITIES
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.operator.planner_types import (
    ClusterFacts,
    NodeFacts,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.operator.rotate_certificate_authorities import plan
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.operator.tasks.context import CommandFailure
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.operator.tasks.health_gate import judge
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.pki import kubeconfig, secrets
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.file.store import FileStore

Object = dict[str, t.Any]
pytestmark = [pytest.mark.full, pytest.mark.skipif(bool(missing()), reason=missing())]
PKI = "/etc/kubernetes/pki"
PARKED = "/etc/kubernetes/kubeadm-control-plane"
SERVICE = "10.96.7.7"
REGISTRATION = "apiregistration.k8s.io"
AUTHENTICATION = "extension-apiserver-authentication"
PURPOSES = {"ca": "ca", "etcd": "etcd/ca", "proxy": "front-proxy-ca", "sa": "sa"}


class Killed(Exception):
    """A run that ended in the middle of a command."""


class PowerCut(Killed):
    """One after which neither etcd nor the API server comes back by itself."""


class Operator:
    """Runs plans on the node, as if its Tasks were run; the store is one for all of them."""

    def __init__(self, node: NamespacedNode, folder: Path) -> None:
        self.node = node
        self._folder = folder
        self._count = 0
        self.store = FileStore(str(folder / "store"))
        self.facts = ClusterFacts("prod", "v1.20.2", (NodeFacts(NAME, True, inventory_host=NAME),))
        # How many more calls of modules that change a node are carried out before the run is killed; None: all.
        self.calls: t.Optional[int] = None
        self.power_cut = False
        self.killed = self.cuts = 0
        self.notes: list[str] = []

    def answer(self, name: str, module: str, arguments: Object) -> Object:
        """What the node answers to a call."""
        assert name == NAME
        if module == "node_command":
            done = self.node.run(*arguments["argv"], check=False, timeout=900)
            return ended(done.returncode, done.stdout + done.stderr)
        if module == "preflight":
            return {"checks": []}
        if self.calls is not None and (arguments.get("changes") or arguments.get("state") == "renewed"):
            self.calls -= 1
            if self.calls < 0:
                self._end(list(arguments.get("changes") or []))
        return self.node.module(module, arguments)

    def _end(self, changes: list[Object]) -> None:
        """End the run in the middle of a call: with some of its changes made, or by a power cut with all of them and etcd about to restart."""
        if len(changes) < 10 or not self.power_cut:
            self.node.module("node_certificates", {"changes": changes[: len(changes) // 2]})
            raise Killed
        self.node.module("node_certificates", {"changes": changes})
        self.node.run("mkdir", "-p", PARKED)
        for name in ("kube-apiserver", "etcd"):
            self.node.run("mv", f"/etc/kubernetes/manifests/{name}.yaml", f"{PARKED}/{name}.yaml")
            self.node.until(
                f"{name} has ended", lambda name=name: self.node.run("pgrep", "-x", name, check=False).returncode
            )
        raise PowerCut

    def command(self, descriptor: Object, looks: int = 600) -> CommandRun:
        self._count += 1
        action = StandInAction(self.answer, looks=looks, real=True)
        run = CommandRun(self._folder / str(self._count), self.facts, NAME, descriptor, action)
        run.objects.store = self.store
        assert run.objects.control_plane is not None
        run.objects.control_plane["metadata"]["uid"] = "u-control-plane"
        return run

    def carry_out(self, kills: bool = False, given_up_in: str = "", **spec: t.Any) -> None:
        """Run every command of a rotation in its order, as its Tasks are: one that was killed is gone on with.

        Args:
            kills: whether each command is killed at each of its calls that change the node, by a power cut too.
            given_up_in: the command in the middle of which it is killed and not gone on with.
        """
        for group in plan.plan({"acceptOutage": True, **spec}, self.facts):
            for descriptor in group.commands:
                name = next(iter(descriptor))
                if name == given_up_in:
                    self.calls, self.power_cut = 0, False
                    with pytest.raises(Killed):
                        self.command(dict(descriptor)).run()
                    return
                self._until_done(dict(descriptor), kills)

    def _until_done(self, descriptor: Object, kills: bool) -> None:
        attempt, done = 0, False
        while not done:
            self.calls, self.power_cut = (max(0, attempt - 1), attempt == 1) if kills else (None, False)
            run = self.command(descriptor)
            try:
                run.run()
                done = True
            except PowerCut:
                self.cuts += 1
                self.calls = None
                self.command(descriptor).run()
                done = True
            except Killed:
                self.killed += 1
            finally:
                self.notes += [f"{next(iter(descriptor))}: {each}" for each in run.notes()]
            attempt += 1
            assert attempt < 10, self.notes[-10:]

    def fill_store(self) -> None:
        """The Secrets that a cluster of this node has in the store."""
        objects = self.command({"preflight": {}}).objects
        cluster, control_plane = objects.cluster, objects.control_plane
        assert control_plane is not None
        for purpose, name in PURPOSES.items():
            crt = self.text(f"{PKI}/{name}.{'pub' if purpose == 'sa' else 'crt'}")
            pair = {"tls.crt": crt, "tls.key": self.text(f"{PKI}/{name}.key")}
            self.store.create(secrets.new_secret(cluster, control_plane, purpose, pair))
        endpoint = {"host": ADDRESS, "port": 6443}
        kubeconfig.ensure_kubeconfig(self.store, cluster, control_plane, endpoint, now_rfc3339())

    def text(self, path: str) -> str:
        return self.node.run("cat", path).stdout

    def kubeconfig(self) -> str:
        objects = self.command({"preflight": {}}).objects
        return str(kubeconfig.read_kubeconfig(self.store, objects.cluster))

    def get(self, credentials: str) -> int:
        """What the API server answers to a kubeconfig; its certificate is verified."""
        self.node.write("/run/asked.conf", credentials)
        words = ("kubectl", "--kubeconfig", "/run/asked.conf", "--request-timeout=10s", "get", "--raw", "/version")
        done = self.node.run(*words, check=False)
        if done.returncode == 0:
            return 200
        assert "nauthorized" in done.stderr or "logged in" in done.stderr, done.stderr
        return 401

    def well(self) -> bool:
        """Whether the gate finds nothing."""
        return judge(self.node.module("node_observe", {"look_again": False}).get("observation"), NAME) == []


@pytest.fixture(name="operator", scope="module")
def _operator(tmp_path_factory: pytest.TempPathFactory) -> t.Iterator[Operator]:
    """A control plane that kubeadm has just made, and a store that knows it."""
    node = NamespacedNode(tmp_path_factory.mktemp("node"))
    try:
        node.make()
        node.run("mkdir", "-p", "/var/lib/kubelet/pods")
        made = Operator(node, tmp_path_factory.mktemp("tasks"))
        made.fill_store()
        node.until("all is well", made.well)
        yield made
    finally:
        node.stop()


def files(operator: Operator) -> dict[str, str]:
    found = operator.node.run("sh", "-c", f"find {PKI} /etc/kubernetes/manifests -type f -exec sha256sum {{}} +").stdout
    return {line.split()[1]: line.split()[0] for line in found.splitlines()}


def test_everything_is_replaced_though_the_run_is_killed_again_and_again(operator: Operator) -> None:
    before, old = files(operator), operator.kubeconfig()
    # An aborted Action: the next one takes up its authorities, from the first stage on.
    operator.carry_out(given_up_in="issueFromNewAuthorities")
    operator.carry_out(kills=True)
    assert operator.killed >= 6 and operator.cuts >= 3, (operator.killed, operator.cuts)
    after = files(operator)
    assert set(after) == set(before)
    same = {path for path in before if after[path] == before[path]}
    assert same == {
        f"/etc/kubernetes/manifests/{each}.yaml"
        for each in ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler")
    }
    operator.node.until("all is well", operator.well)
    new = operator.kubeconfig()
    assert operator.get(new) == 200
    # The old certificate with the new trust: it is the client that is refused.
    refused = old.replace(_field(old, "certificate-authority-data"), _field(new, "certificate-authority-data"))
    assert operator.get(refused) == 401
    assert Credentials.of(new).authorities.strip() == operator.text(f"{PKI}/ca.crt").strip()
    held = {each["metadata"]["name"] for each in operator.store.list(secrets.SECRET, "default", {})}
    assert held == {f"prod-{each}" for each in (*PURPOSES, "kubeconfig")}
    info = json.loads(operator.node.kubectl("-n", "kube-public", "get", "configmap", "cluster-info", "-o", "json"))
    assert _field(info["data"]["kubeconfig"], "certificate-authority-data") == _field(new, "certificate-authority-data")
    operator.node.run("kubeadm", "certs", "check-expiration")
    assert not [each for each in operator.notes if "PRIVATE KEY" in each]


def test_the_same_again_is_another_rotation(operator: Operator) -> None:
    """Two authorities alone, and the others stay as they are."""
    before = files(operator)
    operator.carry_out(authorities=["etcd", "frontProxy"])
    after = files(operator)
    changed = {path.removeprefix(f"{PKI}/") for path in before if after[path] != before[path]}
    pairs = (
        "apiserver-etcd-client",
        "etcd/ca",
        "etcd/healthcheck-client",
        "etcd/peer",
        "etcd/server",
        "front-proxy-ca",
        "front-proxy-client",
    )
    assert changed == {f"{each}.{suffix}" for each in pairs for suffix in ("crt", "key")}
    operator.node.until("all is well", operator.well)


def test_an_api_server_behind_this_one_that_reads_whom_it_trusts_only_once(operator: Operator) -> None:
    """It would refuse the front proxy after Issue: the rotation stops before, until somebody has restarted it."""
    node, named = operator.node, {"authorities": ["frontProxy"]}
    node.run("ip", "address", "add", f"{SERVICE}/32", "dev", "lo")
    documents: list[Object] = [
        {"kind": "Service", "apiVersion": "v1", "spec": {"clusterIP": SERVICE, "ports": [{"port": 443}]}},
        {
            "kind": "Endpoints",
            "apiVersion": "v1",
            "subsets": [{"addresses": [{"ip": ADDRESS}], "ports": [{"port": 443}]}],
        },
    ]
    for each in documents:
        each["metadata"] = {"name": "web", "namespace": "default"}
    certificate, key = serving_pair("web.default.svc")
    node.write("/run/web.crt", certificate)
    node.write("/run/web.key", key)
    service: Object = {"group": "web.example", "version": "v1", "groupPriorityMinimum": 1000, "versionPriority": 15}
    bundle = base64.b64encode(certificate.encode()).decode()
    service.update(service={"namespace": "default", "name": "web"}, caBundle=bundle)
    metadata = {"name": "v1.web.example"}
    documents.append({"kind": "APIService", "apiVersion": f"{REGISTRATION}/v1", "metadata": metadata, "spec": service})
    node.write("/run/web.json", "\n".join(json.dumps(each) for each in documents))

    def serve(trusted: str) -> None:
        node.run("sh", "-c", "[ ! -f /run/web.pid ] || kill $(cat /run/web.pid)")
        words = f"{sys.executable} {SUPPORT}/aggregated_server.py {SERVICE} 443 /run/web.crt /run/web.key {trusted}"
        node.run("sh", "-c", f"setsid {words} < /dev/null > /run/web.log 2>&1 & echo $! > /run/web.pid")
        node.until("it answers through the API server", answers)

    def answers() -> bool:
        return "APIResourceList" in node.kubectl("get", "--raw", "/apis/web.example/v1", check=False)

    node.run("cp", f"{PKI}/front-proxy-ca.crt", "/run/trusted-old.crt")
    node.kubectl("create", "-f", "/run/web.json")
    serve("/run/trusted-old.crt")
    for descriptor in ({"createCertificateAuthorities": named}, {"trustNewAuthorities": named}, {"waitHealthy": {}}):
        operator.command(descriptor).run()
    publish = {"publishAuthorities": {**named, "stage": "Trust"}}
    with pytest.raises(CommandFailure, match=r"would refuse every request after the stage Issue: v1\.web\.example"):
        operator.command(publish, looks=15).run()
    node.until("what it trusts is the old one", answers)
    config = json.loads(node.kubectl("-n", "kube-system", "get", "configmap", AUTHENTICATION, "-o", "json"))
    node.write("/run/trusted-both.crt", config["data"]["requestheader-client-ca-file"])
    serve("/run/trusted-both.crt")
    published = operator.command(publish, looks=15)
    published.run()
    assert "1 API servers behind this one trust both: v1.web.example" in published.notes()
    operator.carry_out(**named)
    node.until("it answers through the API server", answers)
    node.kubectl("delete", "apiservice", "v1.web.example")


def test_drop_is_refused_before_everything_is_issued(operator: Operator) -> None:
    """A person who skips Tasks can't cut anybody off."""
    before = files(operator)
    operator.command({"createCertificateAuthorities": {"authorities": list(AUTHORITIES)}}).run()
    with pytest.raises(CommandFailure, match=r"the stage Drop was not begun on this node: .*is not the new"):
        operator.command({"dropOldAuthorities": {"authorities": list(AUTHORITIES)}}, looks=1).run()
    with pytest.raises(
        CommandFailure, match=r"the stage Issue was not begun on this node: .*does not trust new and old alone"
    ):
        operator.command({"issueFromNewAuthorities": {"authorities": list(AUTHORITIES)}}, looks=1).run()
    with pytest.raises(
        CommandFailure, match="has begun a rotation of ca, etcd, frontProxy, serviceAccount, which is not over"
    ):
        operator.command({"createCertificateAuthorities": {"authorities": ["ca"]}}).run()
    assert files(operator) == before


def _field(text: str, name: str) -> str:
    return next(line.partition(": ")[2].strip() for line in text.splitlines() if line.strip().startswith(name))
