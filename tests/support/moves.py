# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A whole cluster in a store, to be moved, and what must hold of it wherever it is."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import traceback
import typing as t
from pathlib import Path

from actions import run_action, vault_secrets
from ansible.parsing.vault import VaultLib
from killed_runs import Group
from operator_cases import Walk, action, begun, group
from operator_workspace import NAME, OperatorWorkspace

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.move import copied_objects, graph
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.operator.tasks.progress import Executions
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.processes import failpoints
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store import opening
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.base import KindRef, Object, Store
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.file.store import FileStore
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.lock import marks

CLUSTER: KindRef = ("cluster.x-k8s.io", "Cluster")
CONTROL_PLANE: KindRef = ("controlplane.cluster.x-k8s.io", "KubeadmControlPlane")
MACHINE: KindRef = ("cluster.x-k8s.io", "Machine")
SECRET: KindRef = ("", "Secret")
AT = ("default", NAME)
ACTION = "under-way"
OLD = "2024-05-06T07:08:09Z"


def make(folder: Path) -> dict[str, t.Any]:
    """A cluster in files with everything that one can have, an Action in its middle; returns the store's options."""
    workspace = OperatorWorkspace(folder)
    workspace.create()
    path = str(workspace.store)
    # Made long ago: an API server can't be told so.
    store = FileStore(path, clock=lambda: OLD)
    control_plane = next(each for each in store.list(CONTROL_PLANE, "default"))
    reference = {"apiVersion": control_plane["apiVersion"], "kind": control_plane["kind"], "controller": True}
    owner = {**reference, "name": control_plane["metadata"]["name"], "uid": control_plane["metadata"]["uid"]}
    infrastructure = ("infrastructure.cluster.x-k8s.io", "AcmeMachine")
    for kind in (MACHINE, infrastructure, ("bootstrap.cluster.x-k8s.io", "KubeadmConfig"), SECRET):
        for each in store.list(kind, "default", {"cluster.x-k8s.io/cluster-name": NAME}):
            store.delete(kind, "default", each["metadata"]["name"])
            each["metadata"]["ownerReferences"] = [owner]
            store.create(each)
    _more(store)
    where = Executions(store, "default", NAME)
    walk = Walk(where, begun(where, action(group("a", "preflight", "pass"), name=ACTION)))
    execution, step = walk.look()
    walk.task(execution, step.tasks[0])
    walk.look()
    return {"type": "file", "path": path}


def _more(store: FileStore) -> None:
    """What is only named, what is a person's, and another cluster's."""

    def secret(name: str) -> Object:
        return {"apiVersion": "v1", "kind": "Secret", "metadata": _metadata(name), "data": {"a": "Yg=="}}

    store.create(secret("registry"))
    store.create(secret("nobodys"))
    store.create(_check("prod-check", NAME))
    store.create(_check("other-check", "other"))

    def change(each: Object) -> None:
        files = [{"path": "/etc/a", "contentFrom": {"secret": {"name": "registry", "key": "a"}}}]
        each["spec"]["kubeadmConfigSpec"]["files"] = files

    store.modify(CONTROL_PLANE, "default", f"{NAME}-control-plane", change)
    store.create(
        {"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "metadata": _metadata("other"), "spec": {}}
    )


def _check(name: str, cluster: str) -> Object:
    spec = {"clusterName": cluster, "selector": {"matchLabels": {"a": "b"}}}
    return {
        "apiVersion": "cluster.x-k8s.io/v1beta2",
        "kind": "MachineHealthCheck",
        "metadata": _metadata(name),
        "spec": spec,
    }


def _metadata(name: str) -> Object:
    return {"name": name, "namespace": "default"}


def opened(options: t.Mapping[str, t.Any], password: str = "") -> Store:
    """The store of these options."""
    vault = VaultLib(vault_secrets(password)) if password else None
    return opening.open_store(
        {"encrypt_secrets": False, **options}, vault.encrypt if vault else None, vault.decrypt if vault else None
    )


def mark(store: Store, kind: KindRef, name: str) -> None:
    """Have an object be deleted that somebody has still to do with."""
    store.modify(kind, "default", name, lambda each: each["metadata"].update(finalizers=["a.b/c"]))
    store.delete(kind, "default", name)


def marked(store: Store) -> list[str]:
    """The Machines that are being deleted."""
    machines = store.list(MACHINE, "default")
    return [each["metadata"]["name"] for each in machines if each["metadata"].get("deletionTimestamp")]


def everything(store: Store) -> dict[t.Any, Object]:
    """Each object of the cluster, by kind and name."""
    return graph.Graph(store, *AT).by_key()


def missing(store: Store, objects: t.Mapping[t.Any, Object]) -> list[str]:
    """What of these objects isn't in a store, or isn't as it was; whether the Cluster is paused doesn't matter."""
    found = everything(store)
    wrong = []
    for key, obj in objects.items():
        stored = found.get(key)
        differs = "all of it" if stored is None else copied_objects.difference(_content(obj), _content(stored))
        if differs is not None:
            wrong.append(f"{key[0][1]} {key[1]}: {differs}")
    return wrong


def _content(obj: Object) -> Object:
    content = {key: value for key, value in obj.items() if key not in ("metadata", "apiVersion", "kind")}
    if obj["kind"] == "Cluster":
        content = {**content, "spec": {key: value for key, value in obj["spec"].items() if key != "paused"}}
    metadata = obj["metadata"]
    return {**content, "labels": metadata.get("labels"), "finalizers": metadata.get("finalizers")}


def keepers(*sides: t.Mapping[str, t.Any]) -> list[int]:
    """Which of the stores a run would work with now: it gets their lock."""
    found = []
    for number, options in enumerate(sides):
        locks = opening.open_locks(options)
        with contextlib.suppress(marks.Marked):
            locks.acquire(*AT)
            found.append(number)
        locks.release_own(*AT)
    return found


def move(source: t.Mapping[str, t.Any], target: t.Mapping[str, t.Any], **more: t.Any) -> Object:
    """Move the cluster as a task does."""
    return run_action("cluster_move", cluster=NAME, store=dict(source), to=dict(target), **more)


def killed(
    folder: Path, number: int, points: list[str], what: t.Callable[[], Object], only: str = "after (store|lock)"
) -> t.Optional[Object]:
    """Do something in a process that is killed at the first point that is not among ``points``; the point is added to them.

    Only points that a regular expression matches count.

    Returns what it returned where it came through, None where it was killed.
    """
    group = Group(f"kubeadm-move-{os.getpid()}-{number}")
    setting, trace, result = (folder / f"{name}-{number}" for name in ("setting", "trace", "result"))
    stop = {"how": "kill", "only": only, "except": points, "cgroup": str(group.path)}
    setting.write_text(json.dumps({"trace": str(trace), "stop": stop}))
    pid = os.fork()
    if pid == 0:
        try:
            (t.cast(Path, group.path) / "cgroup.procs").write_text(str(os.getpid()))
            os.environ[failpoints.VARIABLE] = str(setting)
            result.write_text(json.dumps(what()))
        except BaseException:
            traceback.print_exc(file=sys.stderr)
        finally:
            os._exit(0)
    os.waitpid(pid, 0)
    group.remove()
    stopped = Path(f"{trace}.stopped")
    if stopped.exists():
        points.append(stopped.read_text())
        return None
    done: Object = json.loads(result.read_text())
    return done
