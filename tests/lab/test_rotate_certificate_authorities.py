# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""All certificate authorities and service account keys of a running cluster replaced, under a client that never stops asking."""

from __future__ import annotations

import base64
import http.client
import json
import ssl
import time
import typing as t
from pathlib import Path

import pytest
from host_pool import HostPool
from machines import CURL, Machines
from steady_client import Credentials, SteadyClient
from workspace import Run, Workspace, kill_run

NAME, SINGLE = "lab-rotation", "lab-rotation-single"
PKI = "/etc/kubernetes/pki"
# A rotation restarts the whole control plane of each node three times: longer than the core of the lab has time for.
pytestmark = pytest.mark.full
AUTHORITIES = ("ca.crt", "etcd/ca.crt", "front-proxy-ca.crt", "sa.pub")
KUBECTL = "kubectl --kubeconfig /etc/kubernetes/admin.conf"


class Lab:
    """A cluster, and what a person looks at before and after."""

    def __init__(self, workspace: Workspace, name: str, folder: Path) -> None:
        self.workspace = workspace
        self.name = name
        self.machines = Machines(workspace, name)
        self.pool = HostPool(folder, f"{name}-worker")
        self.workers: list[str] = []
        self.inventory: t.Optional[Path] = None

    def make(self, replicas: int, workers: int) -> None:
        """Make the cluster with its workers, which join as a person has them join."""
        self.workspace.manifest(self.name, replicas=replicas)
        self.workspace.playbook("reconcile", "--limit", self.name).succeeded()
        if not workers:
            return
        self.workers = self.pool.make(workers)
        join = self.control_plane("kubeadm token create --print-join-command 2>/dev/null").strip().splitlines()[-1]
        ignore = "".join(f" --ignore-preflight-errors={each}" for each in self.pool.needs["ignorePreflightErrors"])
        for name in self.workers:
            self.pool.ssh(name, f"{join}{ignore} 2>&1")
        self.control_plane(f"{KUBECTL} wait --for=condition=Ready node --all --timeout=50s")
        group = f"{self.name.replace('-', '_')}_workers"
        self.inventory = self.pool.inventory(group)

    def control_plane(self, command: str) -> str:
        """Run a command on a control plane machine."""
        return self.machines.ssh(self.machines.names()[0], command)

    def everywhere(self, command: str) -> dict[str, str]:
        """Run a command on every node."""
        found = {name: self.machines.ssh(name, command) for name in self.machines.names()}
        return {**found, **{name: self.pool.ssh(name, command) for name in self.workers}}

    def command(self, playbook: str, *more: str) -> tuple[str, ...]:
        """What a person types behind a playbook's name."""
        inventory = ("-i", str(self.inventory)) if self.inventory else ()
        return (*inventory, "--limit", self.name, *more)

    def rotate(self, name: str, **spec: t.Any) -> tuple[str, ...]:
        """What a person types to begin a rotation, or to go on with it."""
        wanted = {"operator_action": name, "operator_spec": {"rotateCertificateAuthorities": spec}}
        return self.command("action", "-e", json.dumps(wanted))

    def run(self, name: str, **spec: t.Any) -> Run:
        """Rotate to the end."""
        return self.workspace.playbook("action", *self.rotate(name, **spec), timeout=2400)

    def kubeconfig(self) -> Credentials:
        """The admin's credentials as the store has them now."""
        return Credentials.of(self.secret("kubeconfig", "value"))

    def secret(self, purpose: str, key: str) -> str:
        """A value of one of the cluster's Secrets in the store."""
        [found] = [
            each for each in self.workspace.objects("Secret") if each["metadata"]["name"] == f"{self.name}-{purpose}"
        ]
        return base64.b64decode(found["data"][key]).decode()

    def tasks(self) -> dict[str, dict[str, t.Any]]:
        """The Tasks in the store, by their names."""
        return {each["metadata"]["name"]: each for each in self.workspace.objects("Task")}

    def fingerprints(self) -> dict[str, str]:
        """What every node trusts."""
        files = " ".join(f"{PKI}/{each}" for each in AUTHORITIES)
        return self.everywhere(f"sha256sum {files} 2>/dev/null; true")

    def api_servers(self) -> list[str]:
        """The address of each API server itself."""
        return [
            f"https://{self.machines.infrastructure(name)['status']['connection']['host']}:6443"
            for name in self.machines.names()
        ]

    def token(self) -> str:
        """The token of the service account kube-system/default, as its Secret has it; "" where there is none."""
        text = self.control_plane(
            f"{KUBECTL} -n kube-system get secrets -o json --field-selector type=kubernetes.io/service-account-token"
        )
        for each in json.loads(text)["items"]:
            if each["metadata"]["annotations"]["kubernetes.io/service-account.name"] == "default":
                return base64.b64decode(each["data"]["token"]).decode()
        return ""

    def remove(self) -> None:
        """Remove what the workspace doesn't know."""
        self.pool.remove()


def status(credentials: Credentials, server: str, token: str = "") -> int:
    """What an API server answers to somebody: with his certificate, or with a token."""
    headers = {}
    if token:
        headers["Authorization"] = f"Bearer {token}"
        context = ssl.create_default_context(cadata=credentials.authorities)
        host, _colon, port = server.removeprefix("https://").partition(":")
        connection = http.client.HTTPSConnection(host, int(port), timeout=10, context=context)
    else:
        connection = credentials.connect(server, 10)
    try:
        connection.request("GET", "/api", headers=headers)
        return connection.getresponse().status
    finally:
        connection.close()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("rotation")


def wait_for_task(lab: Lab, suffix: str, bound: float = 900) -> None:
    """Wait until the Task whose name ends so runs, or is over."""
    deadline = time.monotonic() + bound
    while time.monotonic() < deadline:
        for name, task in lab.tasks().items():
            if name.endswith(suffix) and (task.get("status") or {}).get("startTime"):
                return
        time.sleep(0.5)
    raise AssertionError(f"no Task *{suffix} has begun: {sorted(lab.tasks())}")


def check_after(lab: Lab, before: dict[str, str], old: Credentials, old_token: str) -> None:
    """Everything is new, everywhere; what was old is refused by every API server and every etcd."""
    after = lab.fingerprints()
    for node, text in before.items():
        lines, changed = text.splitlines(), after[node].splitlines()
        assert len(lines) == len(changed) and not set(lines) & set(changed), (node, text, after[node])
    assert len({text.splitlines()[0].split()[0] for text in after.values()}) == 1, "one CA on every node"
    new = lab.kubeconfig()
    assert new.authorities != old.authorities
    assert new.authorities == lab.secret("ca", "tls.crt")
    for server in lab.api_servers():
        assert status(new, server) == 200
        # Its own server is verified by the new authority: it is the client that is refused.
        refused = Credentials(old.server, new.authorities, old.certificate, old.key)
        assert status(refused, server) == 401, server
        if old_token:
            assert status(new, server, old_token) == 401, server
            assert status(new, server, lab.token()) in (200, 403), server
    for name in lab.machines.names():
        answer = lab.machines.ssh(name, f"{CURL} https://127.0.0.1:2379/health")
        assert json.loads(answer)["health"] == "true"
        assert lab.machines.ssh(name, f"ls {PKI}/ca-signing-* 2>/dev/null; true") == ""
        said = lab.machines.ssh(
            name, "kubeadm certs check-expiration 2>&1 || kubeadm alpha certs check-expiration 2>&1"
        )
        assert "apiserver" in said
    assert lab.machines.ready_nodes() == sorted([*lab.machines.names(), *lab.workers])
    names = [each["metadata"]["name"] for each in lab.workspace.objects("Secret")]
    assert f"{lab.name}-authority-rotation" not in names


# It goes before the next cluster is made: each takes from the other's time.
@pytest.fixture
def single(workspace: Workspace, folder: Path) -> t.Iterator[Lab]:
    made = Lab(workspace, SINGLE, folder)
    made.make(1, 0)
    yield made
    made.workspace.playbook("delete", "--limit", SINGLE, "-e", f"control_plane_delete={SINGLE}").succeeded()
    (workspace.folder / "clusters" / f"{SINGLE}.yaml").unlink()


def test_a_single_node(single: Lab, record_property: t.Callable[[str, object], None]) -> None:
    """One node: nobody answers while it restarts, and everything is new afterwards; the same Action never runs again."""
    before, old, token = single.fingerprints(), single.kubeconfig(), single.token()
    assert "acceptOutage: true" in single.run("unasked").failed().text and single.fingerprints() == before
    begin = time.monotonic()
    single.run("first", acceptOutage=True).succeeded()
    record_property("seconds", round(time.monotonic() - begin, 1))
    check_after(single, before, old, token)
    again = single.run("first", acceptOutage=True).succeeded()
    assert "never runs again" in again.text
    said = single.workspace.playbook("reconcile", "--limit", SINGLE).succeeded()
    assert said.recap(SINGLE)["changed"] == 0


@pytest.fixture(scope="module")
def lab(workspace: Workspace, folder: Path) -> t.Iterator[Lab]:
    made = Lab(workspace, NAME, folder)
    try:
        made.make(3, 1)
        yield made
    finally:
        made.remove()


def test_everything_at_once_under_a_client_that_never_stops(lab: Lab, artefacts: Path) -> None:
    """Three nodes and a worker; the run is killed in each stage, and what comes next goes on with it."""
    before, old, token = lab.fingerprints(), lab.kubeconfig(), lab.token()
    proxies = running_since(lab)
    with SteadyClient(lab.kubeconfig) as client:
        for suffix in (
            f"trust-control-plane-{lab.machines.names()[1]}",
            f"issue-control-plane-{lab.machines.names()[0]}",
            f"drop-control-plane-{lab.machines.names()[2]}",
        ):
            process = lab.workspace.start("action", *lab.rotate("all"))
            wait_for_task(lab, suffix)
            # In the middle of it: the node's own work goes on, or stops anywhere.
            time.sleep(3)
            kill_run(process)
        lab.run("all").succeeded()
    (artefacts / "rotation-client.json").write_text(json.dumps(vars(client.count), indent=2))
    check_after(lab, before, old, token)
    # Their tokens were in Secrets, and pods that mount those get another one only with a restart: that was done for kubeadm's own.
    assert not set(running_since(lab).values()) & set(proxies.values())
    address = lab.control_plane(
        f"{KUBECTL} create service clusterip rotated --tcp=80 -o jsonpath={{.spec.clusterIP}}"
    ).strip()
    deadline = time.monotonic() + 120
    while any(address not in text for text in lab.everywhere("iptables-save -t filter; iptables-save -t nat").values()):
        assert time.monotonic() < deadline, "kube-proxy does not hear of the Service"
        time.sleep(1)
    said = lab.workspace.playbook("reconcile", "--limit", NAME).succeeded()
    assert said.recap(NAME)["changed"] == 0
    assert client.count.failed == [], client.count
    assert client.count.asked > 1000


def running_since(lab: Lab) -> dict[str, str]:
    """Since when each pod of kube-proxy runs."""
    items = json.loads(lab.control_plane(f"{KUBECTL} -n kube-system get pods -l k8s-app=kube-proxy -o json"))["items"]
    return {
        each["metadata"]["name"]: each["status"]["containerStatuses"][0]["state"]["running"]["startedAt"]
        for each in items
    }


def test_bad_wishes(lab: Lab) -> None:
    """What can't be is refused with the reason, and nothing is started."""
    before = lab.fingerprints()
    for spec, reason in (
        ({"authorities": ["everything"]}, "is none of the authorities"),
        ({"authorities": []}, "must be a list of at least one"),
        ({"authority": ["ca"]}, "there is no such field"),
    ):
        run = lab.run("bad", **spec).failed()
        assert reason in run.text
    assert lab.fingerprints() == before
