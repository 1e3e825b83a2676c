# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A cluster is carried from one store to another: whole, once, and so that a run may be killed anywhere."""

from __future__ import annotations

import base64
import json
import subprocess
import typing as t
from pathlib import Path

import moves
import pytest
from actions import run_action, vault_secrets
from ansible.parsing.vault import VaultLib
from api_server import ApiServer
from locks import as_run
from management import Kubectl, kubeconfig_of
from moves import ACTION, AT, CLUSTER, CONTROL_PLANE, MACHINE, OLD, SECRET, everything, keepers, missing, move, opened
from operator_cases import Walk
from operator_workspace import NAME

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.move.export import Export
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects import origin
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.operator import flow
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.operator.tasks.progress import Executions
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store import opening
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.base import Object
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.lock import marks

Options = dict[str, t.Any]


@pytest.fixture
def files(tmp_path: Path) -> Options:
    """A cluster in files."""
    return moves.make(tmp_path / "workspace")


@pytest.fixture
def kubectl(server: ApiServer) -> Kubectl:
    """A person's kubectl."""
    return Kubectl(server)


def done(result: Object) -> Object:
    """The result of what succeeded."""
    assert not result.get("failed"), result.get("msg")
    return result


def refused(result: Object, *said: str) -> None:
    """It failed, and said so."""
    assert result.get("failed") and all(each in result["msg"] for each in said), result


def fencing(options: Options) -> int:
    """The number that the next run gets."""
    locks = opening.open_locks(options)
    taken = locks.take(*AT)
    locks.release_own(*AT)
    return taken.fencing


def test_from_files_to_an_api_and_back(files: Options, api: Options, tmp_path: Path) -> None:
    """Everything, Secrets and Actions too, as old as it was, with the right owners; nothing of it stays behind."""
    before = everything(opened(files))
    assert len(before) > 20
    number = fencing(files)
    uid = origin.uid(before[CLUSTER, NAME])
    result = done(move(files, api))
    assert result["changed"] and "is kept in the Kubernetes API" in result["msg"]
    there = opened(api)
    assert missing(there, before) == []
    assert everything(opened(files)) == {} and keepers(files, api) == [1]
    assert fencing(api) > number + 1
    cluster = there.get(*(CLUSTER, *AT))
    assert cluster is not None and "paused" not in cluster["spec"] and origin.uid(cluster) == uid
    control_plane = there.get(CONTROL_PLANE, "default", f"{NAME}-control-plane")
    assert control_plane is not None
    for kind in (MACHINE, SECRET):
        for each in there.list(kind, "default", {"cluster.x-k8s.io/cluster-name": NAME}):
            assert each["metadata"]["ownerReferences"][0]["uid"] == control_plane["metadata"]["uid"] != uid
            assert each["metadata"]["creationTimestamp"] == OLD
    assert not done(move(files, api))["changed"]
    for check in (False, True):
        said = run_action("run", check=check, cluster=NAME, store=dict(files))
        refused(said, "is not here any more", "it was moved to the Kubernetes API")
    refused(run_action("cluster_status", cluster=NAME, store=dict(files)), "it was moved to the Kubernetes API")
    again = {"type": "file", "path": str(tmp_path / "again")}
    done(move(api, again))
    assert missing(opened(again), before) == [] and everything(there) == {} and keepers(api, again, files) == [1]
    done(move(again, files))
    assert missing(opened(files), before) == [] and keepers(api, again, files) == [2]
    assert fencing(files) > fencing(again)


def test_what_the_target_would_refuse_is_told_before_anything_is_written(files: Options, api: Options) -> None:
    """Every object and field in one error; a store of files has no definitions, so that it may have what an API server refuses."""
    store = opened(files)
    change = {"version": "1.x", "rollout": {"before": {"certificatesExpiryDays": 1}}}
    store.modify(CONTROL_PLANE, "default", f"{NAME}-control-plane", lambda each: each["spec"].update(change))
    config = store.list(("bootstrap.cluster.x-k8s.io", "KubeadmConfig"), "default")[0]
    config["spec"]["verbosity"] = "hunter2"
    store.update(config)
    before = everything(store)
    for check in (True, False):
        told = move(files, api, check=check)
        name = config["metadata"]["name"]
        refused(told, "spec.version: ", "certificatesExpiryDays: ", f"KubeadmConfig default/{name}: spec.verbosity: ")
        assert "Nothing was written" in told["msg"] and "hunter2" not in told["msg"]
    assert everything(opened(files)) == before and everything(opened(api)) == {}
    assert opening.open_locks(files).mark(*AT) is None


def run_on(options: Options) -> Object:
    """What a run begins with."""
    return run_action("run", cluster=NAME, store=dict(options))


def test_what_is_not_the_clusters_stays(files: Options, api: Options) -> None:
    """Another cluster's objects are not touched; what both may use is there in both stores."""
    done(move(files, api))
    here, there = opened(files), opened(api)
    assert here.get(CLUSTER, "default", "other") is not None
    checks = ("cluster.x-k8s.io", "MachineHealthCheck")
    assert [each["metadata"]["name"] for each in here.list(checks)] == ["other-check"]
    assert [each["metadata"]["name"] for each in there.list(checks)] == ["prod-check"]
    assert {each["metadata"]["name"] for each in here.list(SECRET, "default")} == {"registry", "nobodys"}
    assert there.get(SECRET, "default", "registry") is not None and there.get(SECRET, "default", "nobodys") is None


def test_an_action_goes_on_where_it_was(files: Options, api: Options) -> None:
    """Its plan, its Tasks and what is named after them on the nodes are the same; nothing of it counts as edited."""
    done(move(files, api))
    where = Executions(opened(api), *AT)
    root = where.needed("")
    assert root["metadata"]["name"] == ACTION
    walk = Walk(where, root)
    assert walk.until_it_ends().kind == flow.COMPLETED
    assert [node for _group, node, _index in walk.ran] == ["cp-b", "cp-b", "cp-c", "cp-c"]


def test_a_pause_of_the_users_own_is_kept(files: Options, api: Options) -> None:
    opened(files).modify(*(CLUSTER, *AT), lambda each: each["spec"].update(paused=True))
    done(move(files, api))
    assert opened(api).get(*(CLUSTER, *AT))["spec"]["paused"] is True  # type: ignore[index]


def test_check_mode_moves_nothing(files: Options, api: Options) -> None:
    before = everything(opened(files))
    result = done(move(files, api, check=True))
    assert result["changed"] and f"move Cluster {NAME}" in result["changes"]
    assert everything(opened(files)) == before and everything(opened(api)) == {}
    assert opening.open_locks(files).mark(*AT) is None and opening.open_locks(api).mark(*AT) is None


def test_what_is_refused_changes_nothing(files: Options, api: Options, kubectl: Kubectl) -> None:
    """A cluster of that name, a name that is taken, a deletion under way, the same store under another name."""
    before = everything(opened(files))

    def unchanged() -> None:
        assert everything(opened(files)) == before and keepers(files) == [0]

    there = opened(api)
    there.create(
        {
            "apiVersion": "cluster.x-k8s.io/v1beta2",
            "kind": "Cluster",
            "metadata": {"name": NAME, "namespace": "default"},
            "spec": {},
        }
    )
    refused(move(files, api), f"Cluster default/{NAME} is there already, and is not this one")
    unchanged()
    there.delete(*(CLUSTER, *AT))
    kubectl("create", "secret", "generic", f"{NAME}-ca", "--from-literal=tls.crt=another")
    refused(move(files, api), f"Secret default/{NAME}-ca is there already")
    unchanged()
    kubectl("delete", "secret", f"{NAME}-ca")
    kubectl("create", "secret", "generic", "registry", "--from-literal=a=b")
    done(move(files, api, check=True))
    refused(move(files, {**files, "path": f"{files['path']}/../store"}), "is the store that default/prod is in")
    moves.mark(opened(files), CLUSTER, NAME)
    refused(move(files, api), "is being deleted as a whole: Cluster prod", "Nothing was done")
    assert everything(opened(api)).keys() <= {(SECRET, "registry")}


def test_a_namespace_that_is_not_there(files: Options, api: Options, server: ApiServer) -> None:
    """It is told beforehand, too; of who may not look at namespaces it is told what they lack, and not that there is none."""
    at = {"cluster": NAME, "namespace": "nowhere"}
    for check in (True, False):
        refused(run_action("cluster_move", check, **at, store=dict(files), to=dict(api)), "has no namespace nowhere")
    refused(run_action("run", True, **at, store=dict(api)), "has no namespace nowhere", "install")
    manifest = Path(files["path"]).parent / "clusters" / f"{NAME}.yaml"
    manifest.write_text(manifest.read_text().replace("namespace: default", "namespace: nowhere"))
    providers = {"AcmeMachineTemplate": "acme", "AcmeCluster": "acme"}
    planned = run_action("plan", **at, store=dict(api), manifests=[str(manifest)], providers=providers)
    refused(planned, "has no namespace nowhere")
    nobody = {**api, "kubeconfig": kubeconfig_of(server, "nobody")}
    refused(run_action("run", True, **at, store=nobody), "may not write to the store", "create leases")


def test_the_same_api_by_another_name(files: Options, api: Options, server: ApiServer) -> None:
    """Seen by the locks, whatever the two are called."""
    done(move(files, api))
    port = server.url.rpartition(":")[2]
    other = {**api, **client_of(server), "host": f"https://localhost:{port}", "ca_cert": server.authority.ca_file}
    other.pop("kubeconfig")
    result = move(api, other)
    refused(result, "Nothing was moved")
    assert keepers(api) == [0]


def client_of(server: ApiServer) -> Options:
    """Certificate and key of the administrator, as files."""
    folder = Path(server.kubeconfig).parent
    user = json.loads(Path(server.kubeconfig).read_text())["users"][0]["user"]
    made = {}
    for option, field in (("client_cert", "client-certificate"), ("client_key", "client-key")):
        if f"{field}-data" in user:
            path = folder / f"{option}.pem"
            path.write_bytes(base64.b64decode(user[f"{field}-data"]))
            path.chmod(0o600)
            made[option] = str(path)
        else:
            made[option] = user[field]
    return made


@pytest.mark.parametrize(
    "way",
    [
        "files to files",
        pytest.param("files to api", marks=pytest.mark.full),
        pytest.param("api to files", marks=pytest.mark.full),
    ],
)
def test_killed_at_every_point(files: Options, request: pytest.FixtureRequest, tmp_path: Path, way: str) -> None:
    """After each kill everything is in one of the stores, nobody can work on half of it, and the same call completes it."""
    source, target = files, {"type": "file", "path": str(tmp_path / "other")}
    if "api" in way:
        target = request.getfixturevalue("api")
    if way == "api to files":
        done(move(files, target))
        source, target = target, files
    first, last = sorted(each["metadata"]["name"] for each in opened(source).list(MACHINE, "default"))[::2]
    moves.mark(opened(source), MACHINE, last)
    before = everything(opened(source))
    points: list[str] = []
    result = None
    while result is None:
        result = moves.killed(tmp_path, len(points), points, lambda: move(source, target))
        lost = missing(opened(source), before), missing(opened(target), before)
        assert not lost[0] or not lost[1], (points[-1], lost)
        # A store that has nothing of the cluster keeps nobody out yet: a run there would find its machines, and stop.
        works = [each for each in keepers(source, target) if everything(opened((source, target)[each]))]
        assert len(works) <= 1 and all(not lost[each] for each in works), (points[-1], works, lost)
        assert len(points) < 400
    done(result)
    assert len(points) > 30, points
    assert keepers(source, target) == [1] and everything(opened(source)).keys() <= {(SECRET, "registry")}
    assert moves.marked(opened(target)) == [last] != [first]


def test_taken_back_in_its_middle(files: Options, api: Options, tmp_path: Path) -> None:
    """Nothing of it stays there, and the cluster is worked on where it was."""
    before = everything(opened(files))
    assert moves.killed(tmp_path, 0, [], lambda: move(files, api), only="after store write Machine") is None
    assert keepers(files, api) == [] and everything(opened(api)) != {}
    refused(run_on(files), "is being moved away from here", "control_plane_move_undo")
    refused(run_on(api), "is being moved here")
    refused(move(files, {"type": "file", "path": str(tmp_path / "third")}), "has begun and not ended")
    result = done(move(files, api, undo=True))
    assert result["changed"] and "the cluster stays" in result["changes"][-1]
    assert everything(opened(api)) == {} and keepers(files, api) == [0, 1]
    assert missing(opened(files), before) == []
    assert "paused" not in opened(files).get(*(CLUSTER, *AT))["spec"]  # type: ignore[index]
    done(move(files, api))
    assert missing(opened(api), before) == []
    refused(move(files, api, undo=True), "lives there")


def test_taken_back_from_the_folder_of_the_export(files: Options, tmp_path: Path) -> None:
    """The copy stays: it may be the only place outside the cluster that has its authorities' keys."""
    copy = {"type": "file", "path": str(tmp_path / "export")}
    vault = VaultLib(vault_secrets("word"))
    export = Export(copy["path"], vault.encrypt, vault.decrypt)
    export.keep(opened(files), *AT, 7, "the API")
    name = opened(files).list(MACHINE, "default")[0]["metadata"]["name"]
    opened(files).modify(MACHINE, "default", name, lambda each: each["spec"].update(failureDomain="y"))
    before = everything(opened(files))

    def into(**options: t.Any) -> t.Any:
        return move(files, copy, vault_password="word", **options)

    assert moves.killed(tmp_path, 0, [], into, only="after store write Machine") is None
    assert keepers(files, copy) == []
    done(into(undo=True))
    assert keepers(files, copy) == [0] and missing(opened(copy, "word"), before) == []
    assert "paused" not in opened(copy, "word").get(*(CLUSTER, *AT))["spec"]  # type: ignore[index]
    opened(files).modify(MACHINE, "default", name, lambda each: each["spec"].update(failureDomain="z"))
    assert export.keep(opened(files), *AT, 50, "the API") == [f"change Machine {name}"]


@pytest.mark.full
def test_taken_back_while_the_target_is_dead(files: Options, api: Options, tmp_path: Path) -> None:
    """What makes a store the cluster's is written in the source, so nobody else has to be asked; a new move takes what is left there over."""
    before = everything(opened(files))
    assert moves.killed(tmp_path, 0, [], lambda: move(files, api), only="after store write Machine") is None
    dead = {"type": "kubernetes", "host": "https://127.0.0.1:1", "path": api["path"], "api_key": "none"}
    assert done(move(files, dead, undo=True))["changed"] and keepers(files, api) == [0]
    assert missing(opened(files), before) == []
    done(move(files, api))
    assert missing(opened(api), before) == [] and keepers(files, api) == [1]


def test_what_somebody_edits_meanwhile_is_carried_too(files: Options, api: Options, tmp_path: Path) -> None:
    """By hand, in the source, after its copy was made; what is taken away, too."""
    names = [each["metadata"]["name"] for each in opened(files).list(MACHINE, "default")]
    opened(files).modify(MACHINE, "default", names[2], lambda each: each["spec"].update(failureDomain="y"))
    assert moves.killed(tmp_path, 0, [], lambda: move(files, api), only="after store write Action") is None
    opened(files).modify(MACHINE, "default", names[0], lambda each: each["spec"].update(failureDomain="z"))
    opened(files).modify(MACHINE, "default", names[2], lambda each: each["spec"].pop("failureDomain"))
    opened(files).delete(("bootstrap.cluster.x-k8s.io", "KubeadmConfig"), "default", names[1])
    before = everything(opened(files))
    done(move(files, api))
    there = opened(api)
    assert missing(there, before) == [] and everything(there).keys() == before.keys()
    domains = {each["metadata"]["name"]: each["spec"].get("failureDomain") for each in there.list(MACHINE, "default")}
    assert (domains[names[0]], domains[names[2]]) == ("z", None)


def test_another_run_at_work_in_either_store(files: Options, api: Options) -> None:
    """The move leaves at once, and so does a run while it goes on."""
    for options in (files, api):
        with subprocess.Popen(["sleep", "600"]) as sleeping:
            locks = opening.open_locks(options)
            locks.take(*AT, holder=as_run(sleeping, user="alice"))
            refused(move(files, api), "is locked by another run", "held by alice")
            sleeping.kill()
        locks.take(*AT)
        locks.release_own(*AT)
    assert opening.open_locks(files).mark(*AT) is None
    done(move(files, api))


def test_a_mark_that_can_not_be_read_keeps_everybody_out(files: Options) -> None:
    path = Path(opening.open_locks(files).place(*AT)) / marks.FILE_NAME
    opening.open_locks(files).take(*AT)
    opening.open_locks(files).release_own(*AT)
    path.write_text("{")
    refused(run_on(files), "is being moved here")
