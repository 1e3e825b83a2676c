# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Parser of an observation into the snapshot's ``workload`` part.

Pure, on the controller; the observation is collect.py's.

What a node sent is not trusted to be well-formed: a field of another type than expected counts as missing, and no text
of it is ever taken for anything but text.
"""

from __future__ import annotations

import typing as t

from ...module_utils.common.https import read_date
from ...module_utils.common.kubernetes_facts import STATIC_PODS
from ...module_utils.common.values import condition_in, format_moment, utc_time
from ...module_utils.workload_api import trim
from ...module_utils.workload_api.untrusted import integer as _integer
from ...module_utils.workload_api.untrusted import mapping as _mapping
from ...module_utils.workload_api.untrusted import mappings as _mappings
from ...module_utils.workload_api.untrusted import sequence as _sequence
from ...module_utils.workload_api.untrusted import text as _text
from ...module_utils.workload_api.untrusted import texts as _texts
from ..objects.conditions import READY
from ..workload import api_endpoints
from . import parse_etcd

Object = dict[str, t.Any]
_MAX_CONFIG = 262144
_MAX_INFO = 256
# An API server lets the annotations of one object, names and values together, have no more room.
_MAX_ANNOTATIONS = 262144


def parse(observation: t.Any, via: t.Optional[str]) -> Object:
    """Return the ``workload`` part of a snapshot, with some additional facts.

    ``now``, ``wanted`` and ``machine`` are not in the schema.

    Args:
        observation: what node_observe returned.
        via: the name of the machine that gave it.

    Returns:
        The part as docs/reference/snapshot.md describes it. ``now`` is the workload API's clock (None where the API did
        not answer), ``wanted`` the objects that were asked for, in that order (wanted.py; None where the API did not
        answer), ``machine`` the answering machine's own facts: see :func:`machine_facts`.
    """
    raw = _mapping(observation)
    api = _mapping(raw.get("api"))
    objects = _mapping(raw.get("objects"))
    reachable = api.get("answers") is True and bool(objects)
    config = _mapping(_mapping(objects.get("kubeadmConfig")).get("data"))
    endpoint = _mapping(raw.get("endpoint"))
    answers = endpoint.get("answers")
    etcd = parse_etcd.etcd(raw.get("etcd"))
    message = _text(api.get("message"))
    if not reachable and not message:
        message = "the observation holds no answer of the API"
    return {
        "reachable": reachable,
        "via": via,
        "message": "" if reachable else message,
        "now": _date(api.get("date")) if reachable else None,
        "endpoint": {
            "answers": answers if isinstance(answers, bool) else None,
            "message": _text(endpoint.get("message")),
        },
        "initialized": isinstance(objects.get("kubeadmConfig"), dict) if reachable else None,
        "kubeadmConfig": {
            "clusterConfiguration": _text(config.get("ClusterConfiguration"), _MAX_CONFIG) or None,
            "clusterStatus": _text(config.get("ClusterStatus"), _MAX_CONFIG) or None,
        },
        "nodes": [_node(item) for item in _mappings(objects.get("nodes"))],
        "pods": _with_answers(_pods(_mappings(objects.get("pods"))), raw, etcd),
        "etcd": etcd,
        "addons": _addons(objects, reachable),
        "workerNodes": sorted(name for name in map(_text, _sequence(objects.get("workerNodes"))) if name),
        **({"workers": list(map(_node, _mappings(objects["workers"])))} if "workers" in objects else {}),
        "workerVersions": {
            _text(version): count
            for version, count in sorted(_mapping(objects.get("workerVersions")).items())
            if version and _integer(count) > 0
        },
        "wanted": _wanted(raw.get("wanted")) if reachable else None,
        "machine": machine_facts(raw),
        "storedMembers": parse_etcd.stored_members(raw),
        "recovery": parse_etcd.recovery(raw),
    }


def _wanted(raw: t.Any) -> list[Object]:
    answers = []
    for item in _mappings(raw):
        found = item.get("found")
        known = isinstance(item.get("object"), dict)
        answers.append(
            {
                "found": found if found is False or (found is True and known) else None,
                "object": item["object"] if found is True and known else None,
                "message": _text(item.get("message")),
            }
        )
    return answers


def machine_facts(observation: t.Any) -> Object:
    """Return the answering machine's own facts.

    machineID, bootID, hostname, clock (RFC 3339), kubeadmVersion, kubeletVersion, staticPodManifests (names), etcdData
    (whether a member's data is in its folder), diskFreeBytes, certificates (RFC 3339 end by file name) and bootstrap.
    """
    machine = _mapping(_mapping(observation).get("machine"))
    texts = ("machineID", "bootID", "hostname", "clock", "kubeadmVersion", "kubeletVersion")
    bootstrap = _mapping(machine.get("bootstrap"))
    return {
        **{name: _text(machine.get(name)) for name in texts},
        "staticPodManifests": [name for name in _sequence(machine.get("staticPodManifests")) if name in STATIC_PODS],
        "etcdData": machine.get("etcdData") is True,
        "diskFreeBytes": _integer(machine.get("diskFreeBytes")),
        "certificates": {
            _text(name): end
            for name, told in _mapping(machine.get("certificates")).items()
            if isinstance(name, str) and (end := utc_time(told)) is not None
        },
        "bootstrap": {name: _text(bootstrap.get(name)) for name in ("state", "step", "kind", "stage", "message")},
    }


def described_node(item: t.Any) -> Object:
    """Return an API's Node, whole or cut, in the snapshot's form."""
    return _node(trim.node(_mapping(item)))


def _annotations(value: t.Any) -> dict[str, str]:
    """Return a Node's annotations, cut off where no API server has them.

    A record of what came from a Machine is compared as a whole: cut off, it would never be what it has to be.
    """
    whole = _texts(value, _MAX_ANNOTATIONS)
    room = sum(len(name) + len(each) for name, each in whole.items())
    return whole if room <= _MAX_ANNOTATIONS else _texts(value)


def _node(item: Object) -> Object:
    metadata, spec, status = (_mapping(item.get(name)) for name in ("metadata", "spec", "status"))
    info = _mapping(status.get("nodeInfo"))
    ready = condition_in(_mappings(status.get("conditions")), READY)
    addresses = _mappings(status.get("addresses"))
    internal = next((each.get("address") for each in addresses if each.get("type") == "InternalIP"), None)
    said = ready.get("status")
    return {
        "name": _text(metadata.get("name")),
        "uid": _text(metadata.get("uid")),
        "providerID": _text(spec.get("providerID")),
        "kubeletVersion": _text(info.get("kubeletVersion")),
        "labels": _texts(metadata.get("labels")),
        "taints": [
            {name: _text(taint.get(name)) for name in ("key", "value", "effect") if taint.get(name) is not None}
            for taint in _mappings(spec.get("taints"))
        ],
        "unschedulable": spec.get("unschedulable") is True,
        # A Node whose kubelet never reported has no Ready condition at all.
        "ready": said if said in ("True", "False") else "Unknown",
        "readyReason": _text(ready.get("reason")),
        **({"networkReady": False} if status.get("networkReady") is False else {}),
        "conditions": _conditions(status.get("conditions")),
        "internalIP": _text(internal),
        "machineID": _text(info.get("machineID")),
        "nodeInfo": _node_info(info),
        "creationTimestamp": _text(metadata.get("creationTimestamp")),
        "annotations": _annotations(metadata.get("annotations")),
    }


def _node_info(info: Object) -> Object:
    """Return a Node's nodeInfo, {} where the kubelet reported nothing.

    Every text is there, as Cluster API's schema of a Machine requires.
    """
    if not info:
        return {}
    told: Object = {name: _text(info.get(name), _MAX_INFO) for name in trim.NODE_INFO}
    capacity = _mapping(info.get("swap")).get("capacity")
    return {**told, "swap": {"capacity": _integer(capacity)}} if capacity is not None else told


def _conditions(raw: t.Any) -> list[Object]:
    """Return the valid conditions of an object.

    A time that is none counts as missing, so that nothing is counted from it.
    """
    return [
        {
            "type": _text(item.get("type")),
            "status": item["status"],
            "reason": _text(item.get("reason")),
            "lastTransitionTime": utc_time(item.get("lastTransitionTime")),
        }
        for item in _mappings(raw)
        if _text(item.get("type")) and item.get("status") in ("True", "False", "Unknown")
    ]


def _pods(items: list[Object]) -> Object:
    pods: dict[str, dict[str, Object]] = {}
    for item in items:
        metadata, spec = _mapping(item.get("metadata")), _mapping(item.get("spec"))
        component = _mapping(metadata.get("labels")).get("component")
        node = _text(spec.get("nodeName"))
        # The mirror pod of a static pod is named after both; anything else that carries the labels is somebody else's.
        if component in STATIC_PODS and node and metadata.get("name") == f"{component}-{node}":
            pods.setdefault(node, {})[component] = _pod(item, component)
    return pods


def _with_answers(pods: Object, raw: Object, etcd: t.Optional[Object]) -> Object:
    """Add the components' own answers to the pods' recorded state.

    The kubelet writes that state, possibly late.

    The components of the machine that was asked, and every etcd member. A component that answers has a place here even
    before its mirror pod exists: the kubelet registers that only after its Node.
    """
    machine, api = _mapping(raw.get("machine")), _mapping(raw.get("api"))
    own = {**_mapping(machine.get("componentHealth")), "kube-apiserver": api.get("ready")}
    statuses = _mapping((etcd or {}).get("statuses"))
    members = {
        each["name"]: _mapping(statuses.get(each["id"])).get("healthy") for each in (etcd or {}).get("members", [])
    }
    for item in _mappings(_mapping(raw.get("objects")).get("nodes")):
        name = _text(_mapping(item.get("metadata")).get("name"))
        info = _mapping(_mapping(item.get("status")).get("nodeInfo"))
        here = machine.get("machineID") and info.get("machineID") == machine["machineID"]
        for component, answer in {**(own if here else {}), "etcd": members.get(name)}.items():
            known = _mapping(pods.get(name)).get(component)
            if isinstance(answer, bool) and (answer or known):
                pods.setdefault(name, {})[component] = {**(known or _pod({}, component)), "answers": answer}
    return pods


def _pod(item: Object, component: str) -> Object:
    metadata, spec, status = (_mapping(item.get(name)) for name in ("metadata", "spec", "status"))
    ready = condition_in(_mappings(status.get("conditions")), READY)
    container = _named(status.get("containerStatuses"), component)
    state = _mapping(container.get("state"))
    waiting = _mapping(state.get("waiting"))
    ended = _mapping(state.get("terminated")) or _mapping(_mapping(container.get("lastState")).get("terminated"))
    code = ended.get("exitCode")
    return {
        "phase": _text(status.get("phase")) or "Unknown",
        "ready": ready.get("status") == "True" or _is_ready_in_effect(container, spec, component),
        "waitingReason": _text(waiting.get("reason")),
        "terminated": bool(_mapping(state.get("terminated"))),
        "lastExitCode": code if isinstance(code, int) and not isinstance(code, bool) else None,
        "image": _text(_named(spec.get("containers"), component).get("image")),
        "creationTimestamp": _text(metadata.get("creationTimestamp")),
    }


def _is_ready_in_effect(container: Object, spec: Object, component: str) -> bool:
    # Without a readiness probe a started container is ready. The kubelet says "started" at once, but before 1.21 it
    # writes the Ready condition that follows only with its next full sync, a minute and more later.
    probed = bool(_named(spec.get("containers"), component).get("readinessProbe", True))
    running = "running" in _mapping(container.get("state"))
    return running and container.get("started") is True and not probed


def _named(containers: t.Any, name: str) -> Object:
    return next((each for each in _mappings(containers) if each.get("name") == name), {})


def _addons(objects: Object, reachable: bool) -> Object:
    if not reachable:
        return {}
    proxy, dns = objects.get("kubeProxy"), objects.get("dns")
    proxy_status, dns_status = _mapping(_mapping(proxy).get("status")), _mapping(_mapping(dns).get("status"))
    return {
        "kubeProxy": {
            "present": isinstance(proxy, dict),
            "desired": _integer(proxy_status.get("desiredNumberScheduled")),
            "ready": _integer(proxy_status.get("numberReady")),
            "updated": _updated(proxy, "updatedNumberScheduled"),
            "image": _image(proxy, "kube-proxy"),
        },
        "dns": {
            "present": isinstance(dns, dict),
            "desired": _integer(_mapping(_mapping(dns).get("spec")).get("replicas")),
            "ready": _integer(dns_status.get("readyReplicas")),
            "updated": _updated(dns, "updatedReplicas"),
            "image": _image(dns, "coredns"),
            "corefile": objects.get("corefile") is not False,
            "corefileKey": _corefile_key(dns),
        },
        "bootstrap": _bootstrap_objects(_mapping(objects.get("bootstrap"))),
    }


def _corefile_key(dns: t.Any) -> str:
    """Return the ConfigMap key that CoreDNS reads as Corefile, else "".

    Of ConfigMap coredns; "" where the Deployment doesn't state it.
    """
    files = _mappings(_mapping(_mapping(dns).get("spec")).get("files"))
    found = [each.get("key") for each in files if (each.get("name"), each.get("path")) == ("coredns", "Corefile")]
    return found[0] if len(found) == 1 and isinstance(found[0], str) else ""


# What each object must bind, for a Node that kubeadm joins to be able to register (docs/reference/kubeadm.md, "RBAC").
_BINDINGS = {
    "clusterInfoRoleBinding": ("RoleBinding kube-public/kubeadm:bootstrap-signer-clusterinfo", "system:anonymous"),
    "kubeletBootstrap": (
        "ClusterRoleBinding kubeadm:kubelet-bootstrap",
        "system:bootstrappers:kubeadm:default-node-token",
    ),
    "autoapproveBootstrap": (
        "ClusterRoleBinding kubeadm:node-autoapprove-bootstrap",
        "system:bootstrappers:kubeadm:default-node-token",
    ),
}


def _bootstrap_objects(raw: Object) -> Object:
    info, kubeconfig = raw.get("clusterInfo") is True, raw.get("kubeconfig")
    faults = []
    if not isinstance(raw.get("clusterInfoRole"), dict):
        faults.append("Role kube-public/kubeadm:bootstrap-signer-clusterinfo is missing")
    for name, (title, subject) in _BINDINGS.items():
        if not isinstance(raw.get(name), dict):
            faults.append(f"{title} is missing")
        elif subject not in [each.get("name") for each in _mappings(raw[name].get("subjects"))]:
            faults.append(f"{title} does not bind {subject}")
    said = [*([] if info else ["ConfigMap kube-public/cluster-info is missing"]), *faults]
    return {
        "clusterInfo": info,
        "clusterInfoServer": _text(api_endpoints.server_of(kubeconfig))
        if isinstance(kubeconfig, str) and kubeconfig
        else "",
        "bootstrapTokenRBAC": not faults,
        "message": f"new Nodes can't register: {'; '.join(said)}" if said else "",
    }


def _updated(item: t.Any, field: str) -> int:
    """Return the number of pods of the newest template.

    0 where its controller has not seen that template yet.
    """
    status, metadata = _mapping(_mapping(item).get("status")), _mapping(_mapping(item).get("metadata"))
    seen = _integer(status.get("observedGeneration")) >= _integer(metadata.get("generation"))
    return _integer(status.get(field)) if seen else 0


def _image(item: t.Any, container: str) -> str:
    containers = _mappings(_mapping(_mapping(item).get("spec")).get("containers"))
    return next((_text(each.get("image")) for each in containers if each.get("name") == container), "")


def _date(value: t.Any) -> t.Optional[str]:
    """Turn an HTTP Date header into RFC 3339."""
    moment = read_date(_text(value))
    return format_moment(moment) if moment is not None else None
