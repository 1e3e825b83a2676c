# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A fleet in a real API server: all of it in one run or in slices, with broken clusters and thousands of other people's objects in it.

Its clusters were recorded of one that the playbooks made, and what their machines answer is replayed.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import typing as t
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import yaml
from api_proxy import ApiProxy, requests_of_a_pass
from api_server import ApiServer
from locks import as_run
from recorded_fleet import FleetWorkspace, Recording, ending_kubeconfig, name_of
from runner_jobs import sliced
from store_objects import machine, secret
from workspace import Run

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects.actions import API_VERSION
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.records.cluster_objects import (
    BOOTSTRAP_TOKEN_ANNOTATION,
    CLUSTER,
    CONTROL_PLANE,
    KUBEADM_CONFIG,
    MACHINE,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.file.store import FileStore
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.kubernetes.requests import KubernetesApi
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.kubernetes.store import KubernetesStore
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.lock.any_store import FileLocks
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.lock.lease_lock import LeaseLocks

COUNT, FOREIGN = 4, 5000
Object = dict[str, t.Any]


@pytest.fixture(scope="session")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Recording:
    """One cluster of one machine."""
    before = dict(os.environ)
    try:
        return Recording.make(tmp_path_factory.mktemp("recorded") / "workspace", os.environ, replicas=1)
    finally:
        os.environ.clear()
        os.environ.update(before)


@pytest.fixture
def fleet(empty_server: ApiServer, recording: Recording, tmp_path: Path) -> FleetWorkspace:
    """A user's folder, and its clusters in the API."""
    recording.fill_api(empty_server, COUNT)
    return FleetWorkspace(tmp_path / "fleet", recording, empty_server.kubeconfig)


def names(*numbers: int) -> list[str]:
    return [name_of(number) for number in numbers]


def test_a_broken_cluster_stops_no_other(fleet: FleetWorkspace, server: ApiServer) -> None:
    """Nor does one that another run works on; the summary tells of both, and of nobody else."""
    api = KubernetesApi({"kubeconfig": server.kubeconfig})
    with_permanent_warning(KubernetesStore(api), 0)
    fleet.inventory(machines=False)
    metrics = fleet.folder / "metrics"
    metrics.mkdir()
    fleet.playbook("reconcile", "-f", "4", "-e", f"control_plane_metrics_directory={metrics}").succeeded()
    # Whether a glance was enough or not.
    assert len(list(metrics.glob("*.prom"))) == 2 * COUNT and len(list(metrics.glob("*.run.prom"))) == COUNT
    # Some twice, as a glance can't tell that nothing is to be written: Machines of the last seconds are not counted yet.
    assert sorted(set(fleet.observed())) == names(0, 1, 2, 3)
    plane = (CONTROL_PLANE, "default", f"{name_of(1)}-control-plane")
    KubernetesStore(api).modify(*plane, lambda found: found["spec"].update(replicas=2))
    with subprocess.Popen(["sleep", "600"]) as sleeping:
        holder = as_run(sleeping, user="alice", host="ctrl1")
        LeaseLocks(api, fleet.connection).acquire("default", name_of(2), holder=holder)
        run = fleet.playbook("reconcile", "-f", "2").failed()
        sleeping.kill()
    # What can't be as it is wished, and what another run works on, is asked no machine for.
    assert sorted(set(fleet.observed())) == names(0, 3)
    assert run.recap(name_of(1))["failed"] == run.recap(name_of(2))["failed"] == 1
    assert "SUMMARY of reconcile: 4 clusters: 2 failed, 2 with nothing to do" in run.text
    told = [line.split()[:2] for line in run.output.partition("SUMMARY")[2].splitlines()[1:3]]
    assert told == [["failed", name_of(1)], ["failed", name_of(2)]]
    # The warning is given whether a glance was enough or not.
    assert "files[0].content: the comment" in run.text
    assert "is locked by another run" in run.text and run.output.index("SUMMARY") < run.output.index("PLAY RECAP")


def test_one_cluster_with_nothing_to_do_is_one_task(recording: Recording, tmp_path: Path) -> None:
    """Its machine is asked once; where something else is wished, none is asked for the glance. What is left alone is told, too."""
    fleet = FileFleet(tmp_path / "fleet", recording, 2)
    pool = f"\n---\napiVersion: cluster.x-k8s.io/v1beta2\nkind: MachinePool\nmetadata: {{name: p}}\nspec: {{clusterName: {name_of(1)}}}"
    fleet.write(name_of(1), recording.manifest_of(1) + pool)
    said = fleet.playbook("reconcile", "--limit", name_of(1)).succeeded().output
    assert "1 of 1 replicas, all up to date; not managed by this collection: 1 MachinePool\n" in said
    assert said.count("TASK [") == 1 and fleet.observed() == names(1)
    fleet.write(name_of(1), recording.manifest_of(1).replace("replicas: 1", "replicas: 2"))
    refused = fleet.playbook("reconcile", "--limit", name_of(1)).failed()
    assert "spec.replicas" in refused.text and fleet.observed() == []


@pytest.mark.full
def test_a_cluster_that_was_not_planned_is_not_acted_on(recording: Recording, tmp_path: Path) -> None:
    """Those with nothing to do are in no plan of a fleet; one that needs something by the time of reconcile is refused, and the others are well."""
    fleet = FileFleet(tmp_path / "fleet", recording, COUNT)
    fleet.environment["ANSIBLE_SHOW_CUSTOM_STATS"] = "true"
    planned = fleet.playbook("plan").succeeded()
    approved = json.loads(re.findall(r"RUN: (\{.*\})", planned.output)[-1])["control_plane_plan"]
    assert approved == {}
    fleet.write(name_of(1), recording.manifest_of(1).replace("replicas: 1", "replicas: 3"))
    given = ("-e", json.dumps({"control_plane_plan": approved}))
    run = fleet.playbook("reconcile", *given).failed()
    assert f"no plan of {name_of(1)} was approved" in run.text
    assert "SUMMARY of reconcile: 4 clusters: 1 failed, 3 with nothing to do" in run.text
    alone = fleet.playbook("reconcile", *given, "--limit", name_of(2)).succeeded()
    assert f"{name_of(2)}: nothing to do" in alone.text
    assert "was approved" in fleet.playbook("reconcile", *given, "--limit", name_of(1)).failed().text


def test_a_pass_asks_as_often_as_the_page_says(fleet: FleetWorkspace, server: ApiServer, tmp_path: Path) -> None:
    """Counted between the run and the API server. The first of two passes may still have something to write down."""
    proxy = ApiProxy(server, tmp_path)
    try:
        task = {"cluster": name_of(0), "store": {**fleet.connection, "kubeconfig": proxy.kubeconfig}}
        fleet.write_playbook("pass.yml", {"kubeadm.control_plane.decide": task, "loop": [1, 2]}, hosts="localhost")
        own = ["env", *(f"{key}={value}" for key, value in fleet.environment.items()), "ansible-playbook"]
        fleet.run([*own, "-i", "localhost,", "pass.yml"], fleet.folder).succeeded()
        asked = [(each.method, each.path) for each in proxy.counted() if not each.renews]
    finally:
        proxy.end()
    second = max(number for number, (_method, path) in enumerate(asked) if path.endswith(f"/clusters/{name_of(0)}"))
    shown = "\n".join(" ".join(each) for each in asked[second:])
    assert len(asked) - second == requests_of_a_pass() and {each[0] for each in asked[second:]} == {"GET"}, shown


def with_permanent_warning(store: KubernetesStore, number: int) -> None:
    """Give an applied cluster and its machine a file of which each run warns."""

    def add(found: Object) -> None:
        spec = found["spec"].get("kubeadmConfigSpec", found["spec"])
        spec["files"] = [{"path": "/etc/note", "content": "{# note #}"}]

    store.modify(CONTROL_PLANE, "default", f"{name_of(number)}-control-plane", add)
    for each in store.list(KUBEADM_CONFIG, "default", {"cluster.x-k8s.io/cluster-name": name_of(number)}):
        store.modify(KUBEADM_CONFIG, "default", each["metadata"]["name"], add)


def test_slices_cover_all_clusters_once(fleet: FleetWorkspace, tmp_path: Path) -> None:
    """As AWX slices a job: every run has an inventory in which the other runs' hosts don't exist. All run at once."""
    fleet.inventory(machines=False)
    listed = subprocess.run(
        ["ansible-inventory", "-i", "inventory.clusters.yml", "--list", "--export"],
        cwd=fleet.folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=True,
    )
    whole = json.loads(listed.stdout)
    slices = [sliced(whole, number, 3) for number in range(3)]
    assert sorted(host for each in slices for host in each["control_planes"]["hosts"]) == names(0, 1, 2, 3)
    runs = []
    for number, document in enumerate(slices):
        script = tmp_path / f"slice-{number}"
        script.write_text(f"#!/bin/sh\ncat <<'END'\n{json.dumps(document)}\nEND\n")
        script.chmod(0o755)
        command = fleet.command("reconcile", "-vv")
        command[command.index("inventory.clusters.yml")] = str(script)
        runs.append(command)
    with ThreadPoolExecutor(len(runs)) as pool:
        done = list(pool.map(lambda command: fleet.run(command, fleet.folder), runs))
    assert sorted(set(fleet.observed())) == names(0, 1, 2, 3)
    for document, run in zip(slices, done):
        run.succeeded()
        mine = document["control_planes"]["hosts"]
        assert f"{len(mine)} with nothing to do" in run.text or run.recap(mine[0])["changed"] == 0
        assert "is locked by another run" not in run.text and "the lock is held by" not in run.text
        assert ("SUMMARY" in run.output) is (len(mine) > 1)
        assert not any(other in run.output for other in set(names(0, 1, 2, 3)) - set(mine))


class FileFleet(FleetWorkspace):
    """A user's folder with clusters in a store of files, and a manifest of each."""

    def __init__(self, folder: Path, recording: Recording, count: int) -> None:
        super().__init__(folder, recording)
        self.recording = recording
        recording.fill_folder(folder / "store", count)
        for number in range(count):
            self.write(name_of(number), recording.manifest_of(number))
        self.files = FileStore(str(folder / "store"))

    def modify(self, kind: tuple[str, str], name: str, change: t.Callable[[Object], t.Any]) -> None:
        """Change an object as somebody else would."""
        self.files.modify(kind, "default", name, change)

    def evict_from(self, number: int) -> str:
        """Give a cluster and its machines a taint that evicts, which their Nodes lack yet; return the manifest without it."""
        name, taint = name_of(number), {"key": "example.com/burn-in", "effect": "NoExecute", "propagation": "Always"}
        taints = {"taints": [{**taint, "value": "yes"}]}
        manifest = self.recording.manifest_of(number)
        documents = list(yaml.safe_load_all(manifest))
        plane = next(each for each in documents if each["kind"] == CONTROL_PLANE[1])
        plane["spec"].setdefault("machineTemplate", {}).setdefault("spec", {}).update(taints)
        self.write(name, yaml.safe_dump_all(documents))

        def wish(found: Object) -> None:
            found["spec"]["machineTemplate"] = plane["spec"]["machineTemplate"]
            # A run has seen it already, but could not write to the Node.
            found["status"]["observedGeneration"] = found["metadata"]["generation"] + 1

        self.modify(CONTROL_PLANE, f"{name}-control-plane", wish)
        for each in self.files.list(MACHINE, "default"):
            if each["metadata"]["name"].startswith(name):
                self.modify(MACHINE, each["metadata"]["name"], lambda found: found["spec"].update(taints))
        return manifest

    def content(self) -> dict[str, bytes]:
        """Every file of the store."""
        folder = self.folder / "store"
        return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def one_by_one(run: Run) -> list[str]:
    """The clusters that a run looked at itself, after the glance."""
    found = [line for line in run.output.splitlines() if line.strip().startswith("observed one by one now: ")]
    return found[0].partition(": ")[2].split(", ") if found else []


def test_a_glance_leaves_to_the_playbook_whatever_it_can_not_tell(recording: Recording, tmp_path: Path) -> None:
    """A cluster for each reason; the others are known to have nothing to do, and nobody writes, locks or asks twice for that."""
    fleet = FileFleet(tmp_path / "fleet", recording, 10)
    machine_of = sorted(str(each["metadata"]["name"]) for each in fleet.files.list(MACHINE, "default"))
    assert [each.startswith(name_of(number)) for number, each in enumerate(machine_of)] == [True] * 10
    fleet.write(name_of(1), recording.manifest_of(1).replace("replicas: 1", "replicas: 3"))
    with subprocess.Popen(["true"]) as ended:
        holder = as_run(ended, user="alice", host="ctrl1")
    FileLocks(str(fleet.folder / "store")).take("default", name_of(2), holder=holder)
    fleet.modify(CONTROL_PLANE, f"{name_of(3)}-control-plane", lambda found: found["status"].update(readyReplicas=0))
    role = {"node-role.kubernetes.io/gold": ""}
    fleet.modify(MACHINE, machine_of[4], lambda found: found["metadata"].setdefault("labels", {}).update(role))
    token = {BOOTSTRAP_TOKEN_ANNOTATION: "abcdef"}
    fleet.modify(
        KUBEADM_CONFIG, machine_of[5], lambda found: found["metadata"].setdefault("annotations", {}).update(token)
    )
    next(
        path for path in (fleet.folder / "store").rglob(f"*{machine_of[6]}*.yaml") if "acmemachine" in str(path).lower()
    ).unlink()
    action = machine("up", labels={"cluster.x-k8s.io/cluster-name": name_of(0)})
    action.update(apiVersion=API_VERSION, kind="Action", status={"plan": {"groups": []}, "phase": "Failed"})
    fleet.files.create(action)
    fleet.modify(CLUSTER, name_of(7), lambda found: found["spec"].update(paused=True))
    (fleet.folder / "host_vars").mkdir()
    (fleet.folder / "host_vars" / f"{name_of(8)}.yml").write_text("control_plane_replase: never\n")
    before = fleet.content()
    run = fleet.playbook("reconcile", "--check").failed()
    assert one_by_one(run) == names(*range(9)), run.output
    assert "Action up has not ended (Failed)" in run.text
    assert fleet.content() == before
    assert run.recap(name_of(8))["failed"] == 1 and "did you mean control_plane_replace?" in run.text
    assert not re.search(rf"^({name_of(9)})\s+:", run.output, re.MULTILINE)


def test_what_a_glance_writes_is_when_the_cluster_answered_last(recording: Recording, tmp_path: Path) -> None:
    """Once in five minutes, as a run does (docs/contract.md); everything else of the store stays as it is, and no lock is taken."""
    fleet = FileFleet(tmp_path / "fleet", recording, 3)
    long_ago = "2026-01-01T00:00:00Z"
    for number in (1, 2):
        fleet.modify(CLUSTER, name_of(number), lambda found: found["status"].update(lastProbeSuccessTime=long_ago))
    fleet.modify(("", "Secret"), f"{name_of(2)}-kubeconfig", ending_kubeconfig(days=20))
    manifest, before = fleet.evict_from(0), fleet.content()
    run = fleet.playbook("plan").succeeded()
    ends = f"the client certificate in Secret {name_of(2)}-kubeconfig ends "
    # Of taints that would evict a plan says so.
    assert f"[default/{name_of(0)}] reconcile would set the taint example.com/burn-in:NoExecute on Node " in run.text
    assert "2 of 3 clusters have" in run.text and one_by_one(run) == names(0) and run.text.count(ends) == 1
    assert fleet.content() == before and fleet.observed() == sorted(names(0, 1, 2))
    fleet.write(name_of(0), manifest)
    recording.fill_folder(fleet.folder / "store", 1)
    before = fleet.content()
    run = fleet.playbook("reconcile").succeeded()
    assert "SUMMARY of reconcile: 3 clusters: 3 with nothing to do" in run.text and run.text.count(ends) == 1
    after = fleet.content()
    changed = [path for path in {*before, *after} if before.get(path) != after.get(path)]
    assert sorted(Path(path).stem for path in changed) == names(1, 2), changed
    for path in changed:
        old, new = yaml.safe_load(before[path]), yaml.safe_load(after[path])
        assert new["status"].pop("lastProbeSuccessTime") > old["status"].pop("lastProbeSuccessTime") == long_ago
        assert old["metadata"].pop("resourceVersion") != new["metadata"].pop("resourceVersion") and old == new
    assert "3 of 3" in fleet.playbook("health_check").succeeded().text or one_by_one(run) == []


def test_the_status_of_a_fleet(recording: Recording, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One table, worst first, and one document; a cluster that can't be observed keeps no other from being shown; nothing is written."""
    fleet = FileFleet(tmp_path / "fleet", recording, 4)
    fleet.modify(CONTROL_PLANE, f"{name_of(2)}-control-plane", lambda found: found["spec"].update(replicas=3))
    (fleet.folder / "host_vars").mkdir()
    (fleet.folder / "host_vars" / f"{name_of(3)}.yml").write_text("control_plane_replase: never\n")
    before = fleet.content()
    run = fleet.playbook("status", "-e", "control_plane_output_file=status.json").failed()
    lines = [line.strip() for line in run.output.splitlines()]
    table = lines[lines.index("4 clusters: 1 not observed, 1 outdated, 2 healthy") + 1 :][:5]
    assert [line.split()[0] for line in table] == ["CLUSTER", *names(3, 2, 0, 1)], run.output
    assert f"CLUSTER default/{name_of(2)}   OUTDATED: 1 of 3 machines exist" in lines
    assert f"{name_of(3)} could not be observed: no role or playbook" in run.text and fleet.content() == before
    document = json.loads((fleet.folder / "status.json").read_text())
    assert [each["host"] for each in document["clusters"]] == names(3, 2, 0, 1)
    monkeypatch.setenv("ANSIBLE_STDOUT_CALLBACK", "kubeadm.control_plane.progress")
    asked = (
        "--limit",
        ":".join(names(0, 1)),
        "-e",
        "control_plane_output=json",
        "-e",
        "control_plane_fail_when=unhealthy",
    )
    shown = json.loads(fleet.playbook("status", *asked).succeeded().output)
    assert [(each["host"], each["trouble"]["unhealthy"]) for each in shown["clusters"]] == [
        (each, []) for each in names(0, 1)
    ]
    watched = fleet.playbook("status_watch", "--limit", ":".join(names(0, 1)), "-e", "control_plane_until=settled")
    lines = watched.succeeded().output.splitlines()
    assert [line.split()[1:3] for line in lines] == [[f"{each}:", "HEALTHY:"] for each in names(0, 1)], lines


@pytest.mark.full
def test_thousands_of_other_peoples_objects(
    fleet: FleetWorkspace, recording: Recording, server: ApiServer, tmp_path: Path
) -> None:
    """In the same namespace, of the same kinds and of others: neither more clusters nor more requests, and nothing of them is touched."""
    foreign: list[tuple[str, Object]] = []
    for number in range(FOREIGN):
        name = f"foreign-{number:04}"
        if number % 5:
            foreign.append(("/apis/cluster.x-k8s.io/v1beta2/namespaces/default/machines", machine(name)))
        else:
            foreign.append(("/api/v1/namespaces/default/secrets", secret(name)))
    for _path, each in foreign:
        each["metadata"]["labels"] = {"example.org/foreign": "yes"}

    def create(part: t.Sequence[tuple[str, Object]]) -> None:
        with server.client() as client:
            for path, each in part:
                client.checked(client.send("POST", path, each), path)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(create, [foreign[each::4] for each in range(4)]))
    store = KubernetesStore(KubernetesApi({"kubeconfig": server.kubeconfig}))
    proxy = ApiProxy(server, tmp_path)
    try:
        before = [(each["metadata"]["name"], each["metadata"]["resourceVersion"]) for each in _foreign(store)]
        assert len(before) == FOREIGN - FOREIGN // 5
        fleet.connection["kubeconfig"] = proxy.kubeconfig
        fleet.inventory(namespaces=["default"])
        words = ["ansible", "-i", "inventory.clusters.yml", "all", "--list-hosts"]
        listed = fleet.run(words, fleet.folder).succeeded()
        assert f"hosts ({COUNT * (1 + recording.machines)})" in listed.output
        # Each kind is read once, the Machines page by page.
        assert len(proxy.counted()) <= requests_of_a_pass() + FOREIGN // 500
        fleet.inventory(machines=False)
        task = {"cluster": name_of(0), "store": fleet.connection}
        fleet.write_playbook("pass.yml", {"kubeadm.control_plane.decide": task}, hosts="localhost")
        own = ["env", *(f"{key}={value}" for key, value in fleet.environment.items()), "ansible-playbook"]
        for _time in range(2):
            # The first one may still have something to write down.
            proxy.counted()
            fleet.run([*own, "-i", "localhost,", "pass.yml"], fleet.folder).succeeded()
        asked = [each for each in proxy.counted() if not each.renews]
        assert len(asked) == requests_of_a_pass() and {each.method for each in asked} == {"GET"}, "\n".join(
            each.path for each in asked
        )
        run = fleet.playbook("reconcile", "--limit", name_of(0)).succeeded()
        assert run.recap(name_of(0))["changed"] == 0
        assert [(each["metadata"]["name"], each["metadata"]["resourceVersion"]) for each in _foreign(store)] == before
    finally:
        proxy.end()
        for path in sorted({path for path, _each in foreign}):
            _delete_all(store, path)


def _delete_all(store: KubernetesStore, path: str) -> None:
    # In parts: all at once may take longer than anybody waits for an answer.
    part = {"labelSelector": "example.org/foreign=yes", "limit": 250}
    while store.api.send("list", path, query=part).document["items"]:
        store.api.send("delete", path, {"apiVersion": "v1", "kind": "DeleteOptions"}, part)


def _foreign(store: KubernetesStore) -> list[Object]:
    return store.list(("cluster.x-k8s.io", "Machine"), "default", {"example.org/foreign": "yes"})
