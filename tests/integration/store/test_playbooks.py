# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The playbooks as a user runs them with a Kubernetes store: a real API server, stand-ins for machines."""

from __future__ import annotations

import copy
import json
import subprocess
import typing as t
from pathlib import Path

import pytest
from api_proxy import ApiProxy, requests_of_a_pass
from api_server import ApiServer
from killed_runs import KilledRuns, orphans, under_way
from locks import as_run
from management import admin_token, kubeconfig_of, runner_binding_of
from management_workspace import KINDS, ManagementWorkspace, RecordedCluster
from workspace import Run

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.management import roles
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.kubernetes.requests import KubernetesApi
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.lock.lease_lock import LeaseLocks

NAME = "prod"
CONSENT = ("-e", f"control_plane_delete={NAME}")
ANOTHER_SPEC = {"preKubeadmCommands": ["true"]}
# What an outward call leaves behind, and what the store's own writes do.
OUTWARD = r"(join|remove) > .*after (node|task)"
WRITES = r"(join|remove) > .*after store write (Machine|KubeadmConfig|AcmeMachine)"


@pytest.fixture
def workspace(server: ApiServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ManagementWorkspace:
    """A user's folder; its store is empty."""
    return ManagementWorkspace.over(server, tmp_path / "workspace", monkeypatch)


class Made(t.NamedTuple):
    """A cluster of three machines as reconcile left it, and what came after that: two passes alone and another reconcile, nothing to do."""

    cluster: RecordedCluster
    runs: list[Run]
    asked: list[list[t.Any]]


@pytest.fixture(scope="module")
def made(server: ApiServer, tmp_path_factory: pytest.TempPathFactory) -> t.Iterator[Made]:
    """Made once; whatever is recorded of it is judged by the test that it is for."""
    folder = tmp_path_factory.mktemp("three")
    proxy = ApiProxy(server, folder)
    try:
        with pytest.MonkeyPatch.context() as patch:
            workspace = ManagementWorkspace.over(server, folder / "workspace", patch)
            workspace.options({"kubeconfig": proxy.kubeconfig})
            workspace.manifest(NAME, replicas=3)
            workspace.playbook("reconcile").succeeded()
            whole(workspace, 3)
            cluster = RecordedCluster(workspace, folder / "recorded")
            store = {"type": "kubernetes", "path": str(workspace.store), "kubeconfig": proxy.kubeconfig}
            task = {"kubeadm.control_plane.decide": {"cluster": NAME, "store": store}}
            workspace.write_playbook("pass.yml", {**task, "register": "decided"}, hosts="localhost")
            alone = ["ansible-playbook", "-i", "localhost,", "pass.yml", "-v"]
            runs, asked = [], []
            for command in (alone, alone, workspace.command("reconcile")):
                counted(proxy)
                runs.append(workspace.run(command, workspace.folder))
                asked.append(counted(proxy))
        yield Made(cluster, runs, asked)
    finally:
        proxy.end()


@pytest.fixture
def three(made: Made) -> RecordedCluster:
    """A cluster of three machines, to be put into the API."""
    return made.cluster


@pytest.fixture
def proxy(server: ApiServer, tmp_path: Path) -> t.Iterator[ApiProxy]:
    """What stands between a run and the API server."""
    made = ApiProxy(server, tmp_path)
    yield made
    made.end()


def whole(workspace: ManagementWorkspace, count: int) -> list[str]:
    """As many machines as wanted, each a voter and a Node; nothing has happened that must not. Returns their names."""
    names = sorted(each["metadata"]["name"] for each in workspace.objects("Machine"))
    world, cloud = workspace.world(), workspace.cloud()
    assert world["violations"] == []
    assert len(names) == count and orphans(workspace, "AcmeMachine") == []
    assert sorted(cloud["machines"]) == sorted(each["name"] for each in world["members"]) == names
    assert not workspace.locked(NAME) and under_way(workspace.store, NAME) == []
    return names


def kubectl(server: ApiServer, *arguments: str) -> str:
    """What a person types."""
    command = [server.kubectl, "--kubeconfig", server.kubeconfig, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout


def leave_out_replicas(manifest: Path) -> None:
    """The number of machines is somebody else's to say."""
    manifest.write_text(manifest.read_text().replace("  replicas: 3\n", ""))


# What kubectl asks for, a pass without work and deletion are in shorter tests below, the other playbooks in the file store's.
@pytest.mark.full
def test_a_run_with_nothing_to_do_is_four_tasks(made: Made) -> None:
    """Whether a cluster is selected; the start of the run; observing and deciding; its end. The provider isn't called."""
    recap = made.runs[2].recap(NAME)
    assert (recap["ok"], recap["changed"], recap["skipped"], recap["failed"]) == (4, 0, 1, 0)


def test_a_whole_life(workspace: ManagementWorkspace, server: ApiServer) -> None:
    """Made, shown, planned, scaled by kubectl and by the playbook, rolled out, checked, deleted: with nothing of it in a folder."""
    leave_out_replicas(workspace.manifest(NAME))
    workspace.playbook("reconcile").succeeded()
    whole(workspace, 1)
    assert not [each for each in workspace.store.rglob("*.yaml") if each.name != "store.yaml"]
    kubectl(server, "scale", f"kcp/{NAME}-control-plane", "--replicas=3")
    assert "3 replicas wanted" in workspace.playbook("plan").succeeded().text
    workspace.playbook("reconcile").succeeded()
    first = whole(workspace, 3)
    assert "Nothing to do" in workspace.playbook("plan").succeeded().text
    assert workspace.status(NAME)["replicas"]["ready"] == 3
    workspace.playbook("backup", "-e", "control_plane_backup_directory=backups").succeeded()
    assert len(list((workspace.folder / "backups" / "default" / NAME).glob("*.db"))) == 1
    run = workspace.playbook("scale", "-e", "control_plane_replicas=1").succeeded()
    assert "was changed in the store" in run.text
    assert workspace.playbook("scale", "-e", "control_plane_replicas=1").succeeded().recap(NAME)["changed"] == 0
    leave_out_replicas(workspace.manifest(NAME, kubeadm=ANOTHER_SPEC))
    workspace.playbook("reconcile").succeeded()
    assert not set(whole(workspace, 1)) & set(first)
    assert "there is nothing to check" not in workspace.playbook("health_check").succeeded().text
    workspace.playbook("delete", *CONSENT).succeeded()
    assert workspace.cloud()["machines"] == {}
    assert [kind.name for kind in KINDS if workspace.objects(kind.name)] == []
    assert [each for each in workspace.objects("Secret") if each["metadata"]["name"].startswith(NAME)] == []


@pytest.mark.full
def test_a_pass_in_which_nothing_is_to_be_done_asks_little(made: Made) -> None:
    """Counted between the run and the API server; what other clusters there are doesn't matter."""
    for run in made.runs:
        run.succeeded()
    # The first pass may still have something to write down.
    _first, alone, reconcile = made.asked
    assert '"act": false' in made.runs[1].text
    assert len(alone) == requests_of_a_pass() and {each.method for each in alone} == {"GET"}, "\n".join(
        each.path for each in alone
    )
    assert [each for each in reconcile if each.method != "GET"] == []
    assert len(reconcile) <= 4 * requests_of_a_pass(), "\n".join(each.path for each in reconcile)


def counted(proxy: ApiProxy) -> list[t.Any]:
    """What was asked since the last time, without the lock, which is a Lease of its own."""
    return [each for each in proxy.counted() if not each.renews]


def test_check_mode_writes_nothing(workspace: ManagementWorkspace, proxy: ApiProxy) -> None:
    """Neither objects nor a lock nor a journal."""
    workspace.options({"kubeconfig": proxy.kubeconfig})
    workspace.manifest(NAME, replicas=3)
    run = workspace.playbook("reconcile", "--check").succeeded()
    assert "PLAN" in run.output and run.recap(NAME)["changed"] > 0
    # Whether the run that is rehearsed may write is asked by a POST that stores nothing.
    assert {each.method for each in proxy.counted() if "selfsubjectaccessreviews" not in each.path} == {"GET"}
    assert not workspace.store.exists()


@pytest.mark.full
# kubeadm is about to be started; a machine is being made
@pytest.mark.parametrize("when", ["PUT .*/kubeadmconfigs/.*/status", "POST .*/machines", "PUT .*/machines/.*/status"])
def test_an_api_that_goes_down_in_mid_pass(
    workspace: ManagementWorkspace, server: ApiServer, proxy: ApiProxy, when: str
) -> None:
    """The run ends and says what was under way, by the journal on this controller; the next one goes on."""
    workspace.options({"kubeconfig": proxy.kubeconfig})
    workspace.manifest(NAME, replicas=1)
    proxy.goes_down_at(when)
    run = workspace.playbook("reconcile").failed()
    assert "Kubernetes API did not answer" in run.text and "Run again when the API answers" in run.text
    assert "Under way: initialize" in run.text and "Traceback" not in run.output
    proxy.comes_back()
    workspace.playbook("reconcile").succeeded()
    whole(workspace, 1)


@pytest.mark.full
def test_a_token_that_ends_in_mid_pass(workspace: ManagementWorkspace, server: ApiServer, proxy: ApiProxy) -> None:
    """By the environment variables that kubernetes.core has; the token is in no output and in no file."""
    token = admin_token(server)
    workspace.options({})
    environment = {
        "K8S_AUTH_HOST": proxy.url,
        "K8S_AUTH_API_KEY": token,
        "K8S_AUTH_SSL_CA_CERT": server.authority.ca_file,
    }
    workspace.environment.update(environment)
    workspace.manifest(NAME, replicas=1)
    proxy.before("POST .*/machines", proxy.refuse_tokens)
    run = workspace.playbook("reconcile", "-vvv").failed()
    assert "the credentials are not accepted: a token or certificate that has ended" in run.text
    assert "Under way: initialize" in run.text
    assert token not in run.output
    proxy.accept_tokens()
    run = workspace.playbook("reconcile", "-vvv").succeeded()
    whole(workspace, 1)
    assert token not in run.output
    assert [
        path for path in workspace.folder.rglob("*") if path.is_file() and token in path.read_text(errors="replace")
    ] == []


@pytest.mark.full
def test_one_verb_that_is_forbidden(workspace: ManagementWorkspace, server: ApiServer) -> None:
    """With the Role of install less one verb: the error names verb and resource. With the whole Role it goes on."""
    role = roles.runner_role("default", KINDS)
    rules = copy.deepcopy(role["rules"])
    for rule in role["rules"]:
        if "machines/status" in rule["resources"]:
            rule["resources"].remove("machines/status")
    admin = KubernetesApi({"kubeconfig": server.kubeconfig})
    rbac = "/apis/rbac.authorization.k8s.io/v1/namespaces/default"
    for kind, made in (("roles", role), ("rolebindings", runner_binding_of("default", "limited"))):
        admin.send("delete", f"{rbac}/{kind}/{made['metadata']['name']}", {}, accepted=(404,))
        admin.send("create", f"{rbac}/{kind}", made)
    workspace.options({"kubeconfig": kubeconfig_of(server, "limited")}, namespaces=["default"])
    workspace.manifest(NAME, replicas=1)
    run = workspace.playbook("reconcile").failed()
    assert "these credentials may not update there" in run.text
    assert 'cannot update resource "machines/status" in API group "cluster.x-k8s.io"' in run.text
    path = f"{rbac}/roles/{role['metadata']['name']}"
    admin.send("update", path, {**admin.send("get", path).document, "rules": rules})
    workspace.playbook("reconcile").succeeded()
    whole(workspace, 1)
    workspace.playbook("delete", *CONSENT).succeeded()


@pytest.mark.full
def test_an_object_that_somebody_edits_meanwhile(
    workspace: ManagementWorkspace, server: ApiServer, proxy: ApiProxy
) -> None:
    """Just before it is written: both changes are there, and the run goes on."""
    workspace.options({"kubeconfig": proxy.kubeconfig})
    workspace.manifest(NAME, replicas=1)
    plane = f"kcp/{NAME}-control-plane"
    proxy.before(
        f"PUT .*/kubeadmcontrolplanes/{NAME}-control-plane/status",
        lambda: kubectl(server, "annotate", plane, "example.org/somebody=here"),
    )
    proxy.before(
        "PUT .*/machines/.*/status", lambda: kubectl(server, "label", "machine", "--all", "example.org/other=too")
    )
    workspace.playbook("reconcile").succeeded()
    [machine] = workspace.objects("Machine")
    [control_plane] = workspace.objects("KubeadmControlPlane")
    assert control_plane["metadata"]["annotations"]["example.org/somebody"] == "here"
    assert machine["metadata"]["labels"]["example.org/other"] == "too"
    assert control_plane["status"]["readyReplicas"] == 1 and machine["status"]["nodeRef"]["name"]
    whole(workspace, 1)


@pytest.mark.full
def test_an_object_that_somebody_edits_between_observing_and_acting(
    workspace: ManagementWorkspace, server: ApiServer, proxy: ApiProxy, three: RecordedCluster
) -> None:
    """A pause that comes while the machines are asked holds the step that was just decided on."""
    three.put(server, workspace)
    workspace.options({"kubeconfig": proxy.kubeconfig})
    leave_out_replicas(workspace.manifest(NAME))
    plane = f"kcp/{NAME}-control-plane"
    kubectl(server, "scale", plane, "--replicas=1")
    proxy.before(r"GET .*/secrets\?", lambda: kubectl(server, "annotate", plane, "cluster.x-k8s.io/paused="))
    run = workspace.playbook("reconcile").succeeded()
    assert "the cluster's objects were edited while it was observed" in run.text
    whole(workspace, 3)
    kubectl(server, "annotate", plane, "cluster.x-k8s.io/paused-")
    workspace.playbook("reconcile").succeeded()
    whole(workspace, 1)


def three_made(three: RecordedCluster, server: ApiServer, workspace: ManagementWorkspace) -> list[str]:
    """The cluster of three machines in the API, and its manifest. Returns the machines' names."""
    three.put(server, workspace)
    workspace.manifest(NAME, replicas=3)
    return whole(workspace, 3)


@pytest.mark.full
def test_a_machine_whose_finalizer_somebody_removed(
    workspace: ManagementWorkspace, server: ApiServer, three: RecordedCluster
) -> None:
    """Deleted like that the object is gone at once: its machine is removed as every machine is, and replaced."""
    names = three_made(three, server, workspace)
    for each in names[:2]:
        kubectl(server, "patch", "machine", each, "--type=merge", "-p", '{"metadata":{"finalizers":null}}')
    kubectl(server, "delete", "machine", names[0])
    assert len(workspace.objects("Machine")) == 2
    workspace.playbook("reconcile").succeeded()
    assert names[0] not in whole(workspace, 3)
    assert all(each["metadata"]["finalizers"] for each in workspace.objects("Machine"))
    assert any("node_drain" in each for each in workspace.world()["calls"])


@pytest.mark.full
def test_a_machine_that_is_deleted_by_kubectl(
    workspace: ManagementWorkspace, server: ApiServer, three: RecordedCluster
) -> None:
    """It waits for its finalizer, is removed in order and replaced."""
    names = three_made(three, server, workspace)
    kubectl(server, "delete", "machine", names[1], "--wait=false")
    workspace.playbook("reconcile").succeeded()
    assert names[1] not in whole(workspace, 3)


@pytest.mark.full
def test_every_machine_was_deleted_by_kubectl(
    workspace: ManagementWorkspace, server: ApiServer, three: RecordedCluster
) -> None:
    """Nothing is taken out where no other machine is to stay; taken back as the documentation tells, nothing is to be done."""
    names = three_made(three, server, workspace)
    kubectl(server, "delete", "machine", "--all", "--wait=false")
    run = workspace.playbook("reconcile").failed()
    assert "CannotBeRemediated" in run.text and "The last machine" in run.text
    kubectl(server, "patch", "cluster", NAME, "--type=merge", "-p", '{"spec":{"paused":true}}')
    for name in names:
        was = json.loads(kubectl(server, "get", "machine", name, "-o", "json"))
        kubectl(server, "patch", "machine", name, "--type=merge", "-p", '{"metadata":{"finalizers":null}}')
        metadata = {key: value for key, value in was["metadata"].items() if key not in OF_THE_SERVER}
        put(server, {**was, "metadata": metadata}, "create")
        now = json.loads(kubectl(server, "get", "machine", name, "-o", "json"))
        status = {key: value for key, value in was["status"].items() if key != "deletion"}
        path = f"/apis/cluster.x-k8s.io/v1beta2/namespaces/default/machines/{name}/status"
        put(server, {**now, "status": status}, "replace", "--raw", path)
    kubectl(server, "patch", "cluster", NAME, "--type=merge", "-p", '{"spec":{"paused":null}}')
    assert "Nothing to do" in workspace.playbook("plan").succeeded().text
    workspace.playbook("reconcile").succeeded()
    assert whole(workspace, 3) == names


OF_THE_SERVER = ("deletionTimestamp", "deletionGracePeriodSeconds", "uid", "resourceVersion", "creationTimestamp")


def put(server: ApiServer, document: dict[str, t.Any], *words: str) -> None:
    """What a person pipes into kubectl."""
    command = [server.kubectl, "--kubeconfig", server.kubeconfig, *words, "-f", "-"]
    subprocess.run(command, input=json.dumps(document), check=True, capture_output=True, text=True, timeout=60)


def test_another_run_at_work(workspace: ManagementWorkspace, server: ApiServer) -> None:
    """The second one changes nothing and says who holds the Lease; when that run is dead, the next one takes it."""
    workspace.manifest(NAME, replicas=1)
    with subprocess.Popen(["sleep", "600"]) as sleeping:
        locks = LeaseLocks(workspace.api, workspace.connection)
        locks.acquire("default", NAME, holder=as_run(sleeping, user="alice", host="ctrl1"))
        run = workspace.playbook("reconcile").failed()
        assert "is locked by another run" in run.text and "held by alice on host ctrl1" in run.text
        assert workspace.objects("Cluster") == []
        sleeping.kill()
    assert workspace.locked(NAME)
    workspace.playbook("reconcile").succeeded()
    whole(workspace, 1)


@pytest.mark.full
@pytest.mark.parametrize("how", ["kill", "kill-main"])
def test_a_machine_joins_and_another_goes_with_every_run_killed(
    workspace: ManagementWorkspace, tmp_path: Path, how: str
) -> None:
    """As with the file store: one machine is replaced by another, each run is killed after the next outward call."""
    workspace.manifest(NAME, replicas=1)
    workspace.playbook("reconcile").succeeded()
    [first] = whole(workspace, 1)
    workspace.manifest(NAME, replicas=1, kubeadm=ANOTHER_SPEC)
    only = OUTWARD if how == "kill" else WRITES
    record = KilledRuns(workspace, workspace.command("reconcile"), tmp_path / "roll", how, only).until_converged()
    assert whole(workspace, 1) != [first] and record.failures == []
    assert len(record.points) >= 5


def test_credentials_of_the_pod_only_when_asked_for(workspace: ManagementWorkspace, tmp_path: Path) -> None:
    """As in a pod, without a kubeconfig: nothing is asked of that API, and what is missing is said."""
    (tmp_path / "home").mkdir()
    workspace.options({})
    workspace.environment.update(
        HOME=str(tmp_path / "home"), KUBECONFIG="", KUBERNETES_SERVICE_HOST="127.0.0.1", KUBERNETES_SERVICE_PORT="1"
    )
    workspace.manifest(NAME, replicas=1)
    run = workspace.playbook("reconcile").failed()
    assert "there are no credentials for the store's Kubernetes API" in run.text and "store.in_cluster" in run.text
