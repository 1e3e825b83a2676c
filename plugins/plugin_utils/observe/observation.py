# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Observation of a cluster as one document, the snapshot (docs/reference/snapshot.md).

From the store and from one healthy machine in one call.
"""

from __future__ import annotations

import http.client
import socket
import ssl
import typing as t

from ...module_utils.common import settings
from ...module_utils.common.values import now_rfc3339, parse_time, read_moment
from ...module_utils.workload_api.wanted import MAX_OBJECTS
from ..calls.machine_connection import Answer, Machine
from ..decision.removal.left_behind import removed_machines_nodes
from ..decision.snapshot.unreached import unreached
from ..decision.terms import RUNNING, UNKNOWN
from ..objects import actions as operator
from ..objects import origin
from ..objects.conditions import READY, is_true
from ..pki.secrets import certificate_facts
from ..records import stored_deletion
from ..records.actions_under_way import unfinished_rotation
from ..records.cluster_objects import CLUSTER_LABEL, ClusterObjects, Object
from ..records.resource_sets import stored_resource_sets
from ..records.workers import stored_workers
from ..store import opening
from ..store.journal import Journal
from . import additional_facts
from .maintenance_window import maintenance
from .parse import described_node, machine_facts, parse
from .readiness_gates import Gates
from .witnesses import witnesses

SNAPSHOT_VERSION = "v1"
# Of how many removed machines it is asked whether they have left a Node.
MOST_LEFT_BEHIND = 5


class Caller(t.Protocol):
    """Interface of :class:`MachineCaller` that observation needs."""

    def call(self, machine: Machine, module: str, arguments: dict[str, t.Any]) -> Answer:
        """Run a module of this collection on a machine."""


def observe(
    objects: ClusterObjects,
    caller: Caller,
    now: str,
    look_again: bool = True,
    policy: t.Optional[Object] = None,
    settle: bool = False,
    detached: bool = True,
) -> Object:
    """Return the snapshot of a cluster.

    Args:
        objects: the cluster's objects, just read.
        caller: reaches the machines.
        now: the controller's time; the workload API's own takes its place where that answers.
        look_again: whether the node checks again (three times over five seconds) at what seems dead.
        policy: the run's own ``{replace, approved}``, put into the snapshot as it is.
        settle: whether a machine that has only just joined is given a few seconds to come up before it is observed.
        detached: whether TaskGroups and Tasks that stand by themselves are asked for, which are in the way of steps only; where not,
            :func:`add_detached` is called before one is taken.
    """
    objects.ask_for_secrets()
    last_action = _last_action(objects)
    gates = Gates(objects.control_plane)
    room = max(0, MAX_OBJECTS - 1 - len(gates.wanted()))
    left = removed_machines_nodes(objects.control_plane, objects.all_machines)[: min(room, MOST_LEFT_BEHIND)]
    asked = [*gates.wanted(), *({"apiVersion": "v1", "kind": "Node", "name": each} for each in left), *_itself(objects)]
    workers = stored_workers.facts(objects, lambda machine: _bootstrap_unit(objects, caller, machine))
    workload = _workload(objects, caller, look_again, asked, now, settle, bool(workers))
    answered = workload.pop("now", None)
    wanted = workload.pop("wanted", None)
    found = (wanted or [])[len(gates.wanted()) :][: len(left)]
    workload["leftBehind"] = [described_node(each["object"]) for each in found if each.get("object")]
    workload["staticPodDrift"] = additional_facts.drift(objects, workload.pop("staticPodFlags", None))
    config = workload["kubeadmConfig"]
    config["asWanted"] = additional_facts.configuration_as_wanted(objects, config["clusterConfiguration"])
    if answered:
        workload["clockSkewSeconds"] = seconds_between(answered, now_rfc3339())
    return {
        "snapshotVersion": SNAPSHOT_VERSION,
        "now": answered or now,
        "observedAt": _not_before(now, last_action),
        "lastAction": last_action,
        **({"policy": policy} if policy is not None else {}),
        **({"pause": objects.pause} if objects.pause else {}),
        **({"keepsItself": True} if _keeps_itself(objects, wanted) else {}),
        **({"sharedWith": other} if objects.going and (other := stored_deletion.shared_with(objects)) else {}),
        **_unfinished(objects, operator.KINDS if detached else (operator.ACTION,)),
        **_resource_sets(objects),
        **workers,
        "readinessGates": gates.results(wanted, str(workload.get("message") or "")),
        "maintenance": maintenance(objects.control_plane, answered or now),
        "cluster": objects.cluster,
        "controlPlane": objects.control_plane,
        "infrastructureCluster": objects.infrastructure_cluster,
        "machineTemplate": objects.machine_template,
        "certificates": certificate_facts(objects.store, objects.cluster),
        "machines": [
            {
                "machine": machine,
                "infrastructureMachine": objects.infrastructure_machines.get(machine["metadata"]["name"]),
                "kubeadmConfig": objects.kubeadm_configs.get(machine["metadata"]["name"]),
                **_bootstrap_unit(objects, caller, machine),
            }
            for machine in objects.all_machines
        ],
        "preparedMachines": objects.prepared_machines(),
        "workload": workload,
    }


def _bootstrap_unit(objects: ClusterObjects, caller: Caller, machine: Object) -> Object:
    """Return ``bootstrapUnit`` of a machine whose bootstrap is Running, else {}.

    Its end is not recorded yet, so the machine is asked.
    """
    if ((machine.get("status") or {}).get("bootstrap") or {}).get("state") != RUNNING:
        return {}
    answer = caller.call(objects.reach(str(machine["metadata"]["name"])), "node_observe", {"look_again": False})
    if answer.failed:
        return {"bootstrapUnit": {"answers": False, "state": "", "message": answer.message}}
    said = machine_facts(answer.result["observation"])["bootstrap"]
    if said["state"] == UNKNOWN:
        # A machine whose own record can't be read says as little of kubeadm as one that is silent.
        return {"bootstrapUnit": {"answers": False, "state": "", "message": said["message"]}}
    return {"bootstrapUnit": {"answers": True, "state": said["state"], "message": said["message"]}}


def add_detached(objects: ClusterObjects, snapshot: Object) -> bool:
    """Add an unfinished standalone TaskGroup or Task to a snapshot.

    For a snapshot that was made without them. Returns whether there is one.
    """
    found = {} if snapshot.get("unfinishedAction") else _under_way(objects, (operator.TASK_GROUP, operator.TASK))
    snapshot.update(found)
    return bool(found)


def _unfinished(objects: ClusterObjects, of_kinds: t.Sequence[str]) -> Object:
    """Return the unfinished operations and the unfinished rotation of authorities.

    Authorities are certificate authorities; {} where there is neither.
    """
    rotation = unfinished_rotation(objects)
    return {**({} if rotation is None else {"unfinishedRotation": rotation}), **_under_way(objects, of_kinds)}


def _under_way(objects: ClusterObjects, of_kinds: t.Sequence[str]) -> Object:
    found = [
        each
        for kind in of_kinds
        for each in objects.store.list(operator.kind_ref(kind), objects.namespace, {CLUSTER_LABEL: objects.name})
        if operator.detached(each) and operator.under_way(each, origin.uid(objects.cluster))
    ]
    if not found:
        return {}
    phase = str(found[0]["status"].get("phase") or "")
    return {"unfinishedAction": {"name": operator.label(found[0]), "phase": phase}}


def _itself(objects: ClusterObjects) -> list[Object]:
    """Return the query for the cluster's own Cluster object, else [].

    Asked of the cluster's own API where the cluster is to be deleted: the object is there where the cluster keeps its
    own objects.
    """
    if not objects.going or not objects.store.host():
        return []
    return [
        {
            "apiVersion": objects.cluster["apiVersion"],
            "kind": "Cluster",
            "namespace": objects.namespace,
            "name": objects.name,
        }
    ]


def _resource_sets(objects: ClusterObjects) -> Object:
    gone = stored_resource_sets.went_with_etcd(objects)
    found = stored_resource_sets.facts(objects.store, objects.cluster, gone)
    return {"resourceSets": found} if found else {}


def _keeps_itself(objects: ClusterObjects, answers: t.Optional[t.Sequence[Object]]) -> bool:
    """Return whether the cluster's objects are in its own API.

    By its address, or by what that API has, whatever the store calls it.
    """
    found = (answers[-1].get("object") or {}) if answers and _itself(objects) else {}
    uid = (found.get("metadata") or {}).get("uid") if found.get("kind") == "Cluster" else None
    return opening.keeps_itself(objects.store, objects.cluster) or uid == objects.cluster["metadata"].get("uid", "")


def seconds_between(first: str, second: str) -> float:
    """Return the seconds from one RFC 3339 time to another."""
    return (read_moment(second) - read_moment(first)).total_seconds()


def _last_action(objects: ClusterObjects) -> t.Optional[Object]:
    directory = objects.store.journal_directory()
    found = Journal(directory, objects.namespace, objects.name).last_action() if directory else None
    # A damaged journal never stops a run: it is for people.
    return found if found and parse_time(found["at"]) is not None else None


def _not_before(now: str, last_action: t.Optional[Object]) -> str:
    """Return an observation's start time, not before the last action's.

    It starts after that action, whatever two controllers' clocks state; only where they differ by more than is
    tolerated anywhere it stays as it is, and the snapshot is refused for it.
    """
    then = str((last_action or {}).get("at") or now)
    ahead = (parse_time(then) or 0) - (parse_time(now) or 0)
    return then if 0 < ahead <= settings.CLOCK_SKEW_SECONDS else now


def _workload(
    objects: ClusterObjects,
    caller: Caller,
    look_again: bool,
    wanted: list[Object],
    now: str,
    settle: bool,
    workers: bool,
) -> Object:
    # The newest machine first: only on its own machine can a component be asked itself, and of the newest the kubelet knows least.
    ordered = [*reversed(objects.bootstrapped_machines()), *reversed(objects.failed_machines())]
    candidates = [str(each["metadata"]["name"]) for each in ordered]
    # Where none is recorded yet, the one that will be: what answers there already is somebody else's.
    endpoint = objects.wanted_endpoint()
    if not candidates:
        return unreachable("no machine has been bootstrapped yet", endpoint)
    if not objects.bootstrapped_machines():
        # Only machines on which kubeadm failed: whether there is a control plane is told by what answers on them, or by the endpoint.
        found, failures = _ask(objects, caller, candidates, wanted, look_again=False)
        return found if found is not None and found.get("reachable") else unreachable("; ".join(failures), endpoint)
    # A first round takes what answers at once; only what seems dead is looked at for longer, before it is called so.
    ends: dict[str, Object] = {}
    seconds = _settle_seconds(objects, candidates[0], now) if settle else 0
    found, failures = _ask(
        objects, caller, candidates, wanted, look_again=False, ends=ends, settle=seconds, workers=workers
    )
    if look_again and not (found is not None and _whole(found)):
        again = candidates if found is None or not found.get("reachable") else [str(found["via"])]
        found, failures = _ask(objects, caller, again, wanted, look_again=True, ends=ends, workers=workers)
    if found is None:
        return unreachable("; ".join(failures))
    if failures and not found.get("reachable"):
        found["message"] = "; ".join(failures)

    def ask(name: str, look_again: bool) -> tuple[t.Optional[Object], str]:
        answer, why = _ask(objects, caller, [name], [], look_again, ends=ends)
        return answer, "; ".join(why)

    found["witnesses"] = witnesses(objects, found, ask)
    for name in additional_facts.perhaps_ended(objects, found, now) if found.get("reachable") else ():
        if name not in ends:
            ask(name, False)
    found["machineCertificates"] = ends
    return found


def _ask(
    objects: ClusterObjects,
    caller: Caller,
    candidates: t.Sequence[str],
    wanted: list[Object],
    look_again: bool,
    ends: t.Optional[dict[str, Object]] = None,
    settle: int = 0,
    workers: bool = False,
) -> tuple[t.Optional[Object], list[str]]:
    """Ask candidates in turn until an API server answers.

    Returns the best answer and what failed.

    The first one is given ``settle`` seconds to come up. ``ends`` is given when the certificates of each machine that answered end, by file.
    """
    failures: list[str] = []
    partial: t.Optional[Object] = None
    endpoint = objects.endpoint()
    for name in candidates:
        arguments: dict[str, t.Any] = {"look_again": look_again}
        if settle and name == candidates[0]:
            arguments["settle"] = settle
        if endpoint:
            arguments["endpoint"] = f"{endpoint['host']}:{endpoint['port']}"
        if wanted:
            arguments["objects"] = wanted
        if workers:
            arguments["workers"] = True
        workload = _parsed(objects, name, caller.call(objects.reach(name), "node_observe", arguments), failures)
        if workload is None:
            continue
        if ends is not None:
            ends[name] = workload["machine"]["certificates"]
        if workload.get("reachable"):
            return workload, failures
        failures.append(f"{name}: {workload.get('message', 'its API server does not answer')}")
        partial = partial or workload
    return partial, failures


def _settle_seconds(objects: ClusterObjects, name: str, now: str) -> int:
    """Return the seconds to wait for a newly joined machine.

    0 where it is known to have worked, or should have come up long ago.
    """
    machine = objects.machine(name) or {}
    started = parse_time(((machine.get("status") or {}).get("bootstrap") or {}).get("startedAt"))
    if started is None or is_true(machine, READY):
        return 0
    return settings.OBSERVATION_WAIT_SECONDS if (parse_time(now) or 0) - started < settings.BOOTSTRAP_BOUND else 0


def _whole(workload: Object) -> bool:
    """Return whether an answer shows API server, endpoint and etcd healthy."""
    etcd = workload.get("etcd")
    members = all(each.get("healthy") for each in (etcd.get("statuses") or {}).values()) if etcd else True
    return bool(
        workload.get("reachable")
        and workload["endpoint"].get("answers")
        and members
        and (not etcd or etcd.get("reachable"))
    )


def _parsed(objects: ClusterObjects, name: str, answer: Answer, failures: list[str]) -> t.Optional[Object]:
    if answer.failed:
        failures.append(f"{name}: {answer.message}")
        return None
    raw = answer.result["observation"]
    return {**parse(raw, name), **additional_facts.facts(raw, additional_facts.wanted_endpoints(objects))}


def unreachable(message: str, endpoint: t.Optional[Object] = None) -> Object:
    """Return the workload part for a cluster without a machine to ask.

    The endpoint is probed from here.
    """
    answers, said = probe_endpoint(str(endpoint["host"]), int(endpoint["port"])) if endpoint else (None, "not asked")
    return {**unreached(message, answers, said), "workerVersions": {}, "witnesses": []}


def probe_endpoint(host: str, port: int) -> tuple[t.Optional[bool], str]:
    """Check whether a Kubernetes API answers at an address, without credentials.

    Nor with any trust.

    Used only before there is a machine to ask: an answering endpoint then means that the store is not this cluster's
    (docs/reference/invariants.md, "An empty store proves nothing"). Returns (True, what answered), (False, why not) or
    (None, not to be known from here).
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    connection = http.client.HTTPSConnection(host, port, timeout=settings.ENDPOINT_ANSWER_SECONDS, context=context)
    try:
        connection.request("GET", "/version")
        response = connection.getresponse()
        body = response.read(65536)
        if b"gitVersion" in body or b'"kind":"Status"' in body.replace(b" ", b"").replace(b"\n", b""):
            return True, f"a Kubernetes API answers at {host}:{port} (HTTP {response.status})"
        return False, f"{host}:{port} answers, but not as a Kubernetes API (HTTP {response.status})"
    except (ConnectionError, ssl.SSLError, http.client.HTTPException) as error:
        return False, f"no API behind {host}:{port} ({type(error).__name__})"
    except (socket.timeout, OSError) as error:
        return None, f"{host}:{port} can't be reached from here ({error})"
    finally:
        connection.close()
