# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A world as a snapshot: what the collection observes of it, in full, in part, or contradicting itself."""

from __future__ import annotations

import copy
import json
from collections.abc import Collection
from functools import cache
from typing import Any, Optional

from builders import at, cluster

from model.configuration import Configuration
from model.resource_set import resource_set
from model.world import (
    ABSENT,
    ACTION,
    BROKEN,
    DELETE,
    HEALED,
    JOINED,
    JOINING,
    LEARNER,
    NEW,
    NODE,
    OPEN,
    ROTATION,
    RUNNING,
    UNNAMED,
    UP,
    WORKS,
    Host,
    World,
    api,
    figures,
    has_quorum,
    members,
    serves,
)

Object = dict[str, Any]
# How long ago what changed last changed, in seconds: a moment ago, or longer than every patience but a retry period.
FRESH, LASTING = 10, 2000
_MOST_NAMED = 6
_COMPONENTS = ("kube-apiserver", "kube-controller-manager", "kube-scheduler", "etcd")
_STATES = {NEW: "", RUNNING: "Running", JOINED: "Succeeded", "failed": "Failed"}
_CONTROL_PLANE = "controlplane.cluster.x-k8s.io"
OLD_VERSION = "v1.19.9"
_BESIDE = {ACTION: "unfinishedAction", ROTATION: "unfinishedRotation"}


def name_of(index: int) -> str:
    """The name of the machine at that place."""
    return f"m{index + 1}"


def node_of(configuration: Configuration, index: int) -> str:
    """The name of the Node and the member of the machine at that place."""
    return name_of(index) + configuration.suffix


def index_of(name: str) -> int:
    """The place of the machine of that name."""
    return int(name[1:]) - 1


def id_of(index: int) -> str:
    """The ID of the member of the machine at that place."""
    return f"{index + 1:016x}"


def stray_id(index: int) -> str:
    """The ID of a member without a machine."""
    return f"{index + 0x1001:016x}"


@cache
def _owners(configuration: Configuration, globals_: World, age: int, leavers: tuple[int, ...]) -> Object:
    """Everything of a snapshot that does not come from machines."""
    builder = cluster(globals_.replicas)
    if not globals_.infrastructure:
        builder.bare()
    snapshot = builder.snapshot
    for facts in snapshot["certificates"].values():
        facts["present"] = globals_.certificates
    control_plane = snapshot["controlPlane"]
    spec, annotations = control_plane["spec"], control_plane["metadata"]["annotations"]
    spec["rollout"] = {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": configuration.surge}}}
    spec["remediation"] = {"retryPeriodSeconds": configuration.retry_period}
    if configuration.counts:
        spec["remediation"]["maxRetry"] = configuration.max_retry
    spec["kubeadmConfigSpec"] = _config(configuration)
    if configuration.versions:
        spec["version"] = globals_version(globals_)
    if configuration.min_ready:
        annotations["kubeadm.control-plane/min-ready-seconds"] = str(configuration.min_ready)
    if globals_.record:
        # Newer than every machine while it is open; older than the youngest one when it is stale.
        stamp = at(age) if globals_.record == OPEN else at(50_000)
        gone = name_of(leavers[0]) if leavers else "gone"
        record = {"machine": gone, "timestamp": stamp, "retryCount": globals_.retries}
        annotations[f"{_CONTROL_PLANE}/remediation-in-progress"] = json.dumps(record)
    if globals_.rollout:
        control_plane["status"]["rollout"] = {"replicas": globals_.rollout}
    if globals_.latched:
        for owner in (snapshot["cluster"], control_plane):
            owner["status"].setdefault("initialization", {})["controlPlaneInitialized"] = True
    if globals_.beside:
        snapshot[_BESIDE[globals_.beside]] = {"name": "x", "action": "x", "authorities": []}
    snapshot.update(resourceSets=[resource_set(globals_.sets)] if globals_.sets else [])
    snapshot["policy"] = {"replace": configuration.replace, "approved": configuration.approved}
    if configuration.consent:
        snapshot["policy"]["consent"] = [f"recoverSingleVoter:{name_of(index)}" for index in range(_MOST_NAMED)]
    if configuration.gate:
        snapshot["readinessGates"] = [{"name": "users", "status": configuration.gate, "message": ""}]
    if configuration.windows:
        opens = 3000 if globals_.window else -9000
        snapshot["maintenance"] = {
            "open": globals_.window,
            "message": "",
            "opensAt": at(opens),
            "closesAt": at(-12_000),
        }
    return snapshot


def globals_version(world: World) -> str:
    """The version that is wanted, where the spec's flips are flips of the version."""
    return "v1.20.2" if world.rising else OLD_VERSION


@cache
def _entry(
    configuration: Configuration, host: Host, index: int, age: int, youngest: bool, count: int, version: str
) -> Object:
    builder = cluster(3)
    builder.wants(kubeadmConfigSpec=_config(configuration))
    for place in range(index):
        builder.machine(f"other-{place}", "")
    name = name_of(index)
    # A stale record is older than the youngest machine and newer than the others.
    created = 40_000 if youngest else 100_000 - 1000 * index
    builder.machine(name, "", age=created, init=host.first)
    entry = builder.entry(name)
    machine = entry["machine"]
    machine["status"] = {}
    if host.boot != NEW:
        started = age if youngest or host.boot == RUNNING else created
        machine["status"]["bootstrap"] = {"state": _STATES[host.boot], "message": "", "startedAt": at(started)}
    if host.boot == RUNNING and not host.dead:
        builder.says(name, "" if host.mute else "Running")
    if host.boot == JOINED:
        machine["status"]["nodeRef"] = {"name": node_of(configuration, index)}
    if host.deleting:
        machine["metadata"]["deletionTimestamp"] = at(30 + count - index)
    machine["spec"]["version"] = version
    if host.old and not configuration.versions:
        entry["infrastructureMachine"]["metadata"]["annotations"]["cluster.x-k8s.io/cloned-from-name"] = "before"
    if host.mark == DELETE:
        machine["metadata"]["annotations"]["cluster.x-k8s.io/delete-machine"] = ""
    elif host.mark == HEALED:
        builder.stored("HealthCheckSucceeded", "True", LASTING, name).stored("OwnerRemediated", "False", LASTING, name)
    elif host.mark:
        if host.mark == "remediate":
            machine["metadata"]["annotations"]["cluster.x-k8s.io/remediate-machine"] = ""
        builder.marked(name, seconds=LASTING)
    if host.retry >= 0:
        record = {"machine": "gone", "timestamp": at(age), "retryCount": host.retry}
        machine["metadata"]["annotations"][f"{_CONTROL_PLANE}/remediation-for"] = json.dumps(record)
    if host.dead:
        entry["infrastructureMachine"]["status"]["state"] = "dead"
    return entry


def _config(configuration: Configuration) -> Object:
    spec = copy.deepcopy(cluster(3).spec["kubeadmConfigSpec"])
    if configuration.external:
        spec.setdefault("clusterConfiguration", {})["etcd"] = {"external": {"endpoints": ["https://etcd:2379"]}}
    for kind in ("initConfiguration", "joinConfiguration") if configuration.suffix else ():
        spec[kind]["nodeRegistration"]["name"] = "{{ ds.meta_data.local_hostname }}" + configuration.suffix
    return spec


@cache
def _node(name: str, ready: str, version: str, suffix: str = "") -> Object:
    node: Object = cluster(1).node(name, ready).workload["nodes"][0]
    node.update(name=name + suffix, kubeletVersion=version)
    return node


@cache
def _pods(configuration: Configuration, host: Host) -> Object:
    found: Object = {
        each: {"phase": "Running", "ready": True, "waitingReason": "", "lastExitCode": None} for each in _COMPONENTS
    }
    if configuration.external:
        del found["etcd"]
    elif host.member != UP:
        found["etcd"].update(ready=False, waitingReason="CrashLoopBackOff", lastExitCode=1)
    if host.parts in (BROKEN, ""):
        found[configuration.component].update(ready=False, waitingReason="CrashLoopBackOff", lastExitCode=1)
    return found


def _member(identity: str, name: str, state: str, address: str) -> Object:
    return {
        "id": identity,
        "name": "" if state in (UNNAMED, JOINING) else name,
        "peerURLs": [f"https://{address}:2380"],
        "clientURLs": [],
        "isLearner": state in (JOINING, LEARNER),
    }


def leaders(world: World) -> list[int]:
    """The machines whose member may lead: an observation tries whichever is asked for, the decision must not depend on it."""
    return [index for index, host in enumerate(world.hosts) if host.member == UP and not host.dead]


def observe(
    configuration: Configuration,
    world: World,
    age: int = FRESH,
    leader: Optional[int] = None,
    stored: Optional[Object] = None,
) -> Object:
    """The snapshot of a world, whole and true. `stored`: the decision whose status the store holds, as old as `age`."""
    leavers = tuple(index for index, host in enumerate(world.hosts) if host.remedied)
    plain = world._replace(hosts=(), strays=(), initialized=False, faults=0)
    snapshot = dict(_owners(configuration, plain, age, leavers))
    count = len(world.hosts)
    entries = []
    for index, host in enumerate(world.hosts):
        version = _version_of(configuration, world, host, snapshot)
        entries.append(_entry(configuration, host, index, age, index == count - 1, count, version))
    snapshot["machines"] = entries
    if world.infrastructure:
        snapshot["workload"] = _workload(configuration, world, leader, entries)
    if stored is not None:
        _remember(snapshot, stored, at(age))
    return snapshot


def _version_of(configuration: Configuration, world: World, host: Host, snapshot: Object) -> str:
    wanted: str = snapshot["controlPlane"]["spec"]["version"]
    if not configuration.versions or not host.old:
        return wanted
    return OLD_VERSION if wanted != OLD_VERSION else "v1.20.2"


def _remember(snapshot: Object, stored: Object, since: str) -> None:
    conditions, removed = stored["conditions"], stored["removedConditions"].get("machines", {})

    def merged(obj: Object, written: list[Object], gone: Collection[str] = ()) -> Object:
        status = dict(obj.get("status") or {})
        kinds = {each["type"] for each in written}.union(gone)
        kept = [each for each in status.get("conditions") or [] if each["type"] not in kinds]
        status["conditions"] = kept + [{**each, "lastTransitionTime": since} for each in written]
        return {**obj, "status": status}

    snapshot["cluster"] = merged(snapshot["cluster"], conditions["cluster"])
    snapshot["controlPlane"] = merged(snapshot["controlPlane"], conditions["controlPlane"])
    entries = []
    for entry in snapshot["machines"]:
        name = entry["machine"]["metadata"]["name"]
        machine = merged(entry["machine"], conditions["machines"].get(name) or [], removed.get(name) or ())
        entries.append({**entry, "machine": machine})
    snapshot["machines"] = entries
    strays = stored["status"]["controlPlane"].get("strayMembers") or ()
    status = {**snapshot["controlPlane"]["status"], "strayMembers": [{**each, "since": since} for each in strays]}
    snapshot["controlPlane"] = {**snapshot["controlPlane"], "status": status}


def _workload(configuration: Configuration, world: World, leader: Optional[int], entries: list[Object]) -> Object:
    answers = api(world, *configuration.api)
    asked = _serving(configuration, world)
    workload: Object = {
        "reachable": False,
        "via": None,
        "message": "no machine answers",
        "endpoint": {"answers": answers, "message": ""},
        "initialized": None,
        "kubeadmConfig": {"clusterConfiguration": None, "clusterStatus": None},
        "nodes": [],
        "pods": {},
        "etcd": None,
        "addons": {},
        "workerNodes": [],
        "workerVersions": {},
        "witnesses": [],
    }
    if not asked:
        if not configuration.external:
            workload.update(_left(world, entries))
        return workload
    workload.update(reachable=True, message="", via=name_of(asked[0]), initialized=world.initialized)
    for index, host in enumerate(world.hosts):
        if host.node:
            ready = "True" if host.parts == WORKS or (host.parts == BROKEN and not host.dead) else "Unknown"
            version = entries[index]["machine"]["spec"]["version"]
            workload["nodes"].append(_node(name_of(index), ready, version, configuration.suffix))
            workload["pods"][node_of(configuration, index)] = _pods(configuration, host)
    for index, stray in enumerate(world.strays):
        if stray.endswith(NODE):
            name = f"stray{index + 1}"
            workload["nodes"].append(_node(name, "True", "v1.20.2"))
            workload["pods"][name] = {}
    if configuration.external:
        workload["etcd"] = None
        return workload
    workload["etcd"] = _etcd(configuration, world, leader, entries)
    if needs_witness(world):
        workload["witnesses"] = [
            {"machine": name_of(index), "reachable": True, "message": "", "etcd": workload["etcd"]}
            for index in _witnesses(configuration, world)[:1]
        ]
    return workload


def _left(world: World, entries: list[Object]) -> Object:
    """What a machine tells on which no API server answers, nor etcd: whom its etcd's database lists."""
    via = next(
        (index for index, host in enumerate(world.hosts) if host.boot == JOINED and not host.dead and host.parts), -1
    )
    if via < 0 or world.hosts[via].member == ABSENT:
        return {}
    listed = [
        _member(
            id_of(index), "", host.member, entries[index]["infrastructureMachine"]["status"]["addresses"][0]["address"]
        )
        for index, host in enumerate(world.hosts)
        if host.member != ABSENT
    ]
    listed += [
        _member(stray_id(index), "", stray.rstrip(NODE), f"10.9.0.{index + 1}")
        for index, stray in enumerate(world.strays)
    ]
    works = {id_of(index) for index, host in enumerate(world.hosts) if host.member == UP and not host.dead}
    for member in listed:
        member["listens"] = member["id"] in works
    return {"via": name_of(via), "storedMembers": listed}


def needs_witness(world: World) -> bool:
    """Whether a second machine is asked: something about etcd looks dead, or a machine is to go."""
    return figures(members(world)).up < len(members(world)) or any(host.deleting or host.mark for host in world.hosts)


def _witnesses(configuration: Configuration, world: World) -> list[int]:
    """The machines that can be a second witness, those that nobody suspects first."""
    able = [
        (host.deleting or bool(host.mark) or host.member != UP, index)
        for index, host in enumerate(world.hosts)
        if host.boot == JOINED and not host.dead and host.parts
    ]
    asked = _serving(configuration, world)[:1]
    return [index for _suspected, index in sorted(able) if index not in asked]


def _serving(configuration: Configuration, world: World) -> list[int]:
    """The machines whose API server answers, the one that is asked first."""
    return [i for i, host in enumerate(world.hosts) if host.boot == JOINED and serves(world, host, *configuration.api)]


def _etcd(configuration: Configuration, world: World, leader: Optional[int], entries: list[Object]) -> Object:
    listed, statuses = [], {}
    version = "3.6.11" if configuration.modern else "3.4.23"
    for index, host in enumerate(world.hosts):
        if host.member != ABSENT:
            address = entries[index]["infrastructureMachine"]["status"]["addresses"][0]["address"]
            listed.append(_member(id_of(index), node_of(configuration, index), host.member, address))
            statuses[id_of(index)] = _status(host.member, version)
    for index, stray in enumerate(world.strays):
        state = stray.rstrip(NODE)
        listed.append(_member(stray_id(index), f"stray{index + 1}", state, f"10.9.0.{index + 1}"))
        statuses[stray_id(index)] = _status(state, version)
    able = leaders(world)
    leads = id_of(leader if leader is not None else able[-1]) if able and has_quorum(world) else None
    if leads is None and has_quorum(world):
        leads = next(stray_id(index) for index, stray in enumerate(world.strays) if stray.rstrip(NODE) == UP)
    return {
        "reachable": True,
        "message": "",
        "members": listed,
        "memberListAgrees": True,
        "leader": leads,
        "clusterID": "00000000000000cc",
        "alarms": [],
        "statuses": statuses,
    }


@cache
def _status(state: str, version: str) -> Object:
    if state not in (UP, LEARNER):
        return {"healthy": False, "message": "context deadline exceeded", "looks": 3, "failedLooks": 3}
    return {"healthy": True, "message": "", "version": version, "looks": 3, "failedLooks": 0}
