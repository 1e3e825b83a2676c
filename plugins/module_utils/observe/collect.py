# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Observation of one machine in one call.

It is raw public text and JSON; the controller parses it (parse.py).
"""

from __future__ import annotations

import os
import re
import time
import typing as t
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from ..common import guard, timed_command
from ..common.https import Unreachable
from ..common.kubernetes_facts import STATIC_PODS
from ..common.values import now_rfc3339
from ..etcd import local
from ..etcd.certificates_dir import certificates_dir
from ..etcd.gateway import Credentials, kubeadm_credentials
from ..etcd.restore import single_voter_unit
from ..etcd.types import LOCAL_MEMBER
from ..etcd.view import View, look_again, members_view
from ..node.bootstrap import bootstrap_unit as bootstrap
from ..node.bootstrap import etcd_folders
from ..node.certificates import end_dates
from ..node.components.component_health import component_health
from ..node.host import external_etcd
from ..workload_api import fencing_lease, static_pod_flags, trim
from ..workload_api.api import (
    ADMIN_KUBECONFIG,
    MANIFESTS_DIRECTORY,
    ApiAccess,
    ApiClient,
    ApiError,
    own_server,
    read_access,
)
from ..workload_api.wanted import Wanted, read_wanted

OBSERVATION_VERSION = "v1"

_SYSTEM = "/api/v1/namespaces/kube-system"
_APPS = "/apis/apps/v1/namespaces/kube-system"
_RBAC = "/apis/rbac.authorization.k8s.io/v1"
_PUBLIC_RBAC = f"{_RBAC}/namespaces/kube-public"
# What a new Node needs to register: the phases bootstrap-token and kubelet-start of kubeadm init make it.
# Source: docs/reference/kubeadm.md, "RBAC".
_BOOTSTRAP_OBJECTS = {
    "clusterInfoRole": f"{_PUBLIC_RBAC}/roles/kubeadm:bootstrap-signer-clusterinfo",
    "clusterInfoRoleBinding": f"{_PUBLIC_RBAC}/rolebindings/kubeadm:bootstrap-signer-clusterinfo",
    "kubeletBootstrap": f"{_RBAC}/clusterrolebindings/kubeadm:kubelet-bootstrap",
    "autoapproveBootstrap": f"{_RBAC}/clusterrolebindings/kubeadm:node-autoapprove-bootstrap",
}


@dataclass(frozen=True)
class Places:
    """Paths, programs and addresses of a control plane node; tests use others."""

    kubeconfig: str = ADMIN_KUBECONFIG
    manifests: str = MANIFESTS_DIRECTORY
    pki: str = field(default_factory=certificates_dir)
    kubectl: str = "kubectl"
    etcd_url: str = LOCAL_MEMBER
    etcd_credentials: Credentials = field(default_factory=kubeadm_credentials)
    bootstrap: bootstrap.Places = field(default_factory=bootstrap.Places)


@dataclass(frozen=True)
class Looks:
    """Repetition of checks that fail.

    `count` is their number, `interval` the seconds between two of them, and `timeout` the seconds for each request.
    """

    count: int = 3
    interval: float = 2.5
    timeout: float = 3.0


def collect(
    looks: Looks,
    endpoint: t.Optional[str] = None,
    places: t.Optional[Places] = None,
    wanted: t.Sequence[Wanted] = (),
    number: t.Optional[int] = None,
    run: str = "",
    workers: bool = False,
) -> dict[str, t.Any]:
    """Return one machine's observation.

    Args:
        looks: number, interval and timeout of the checks.
        endpoint: ``host:port`` of the control plane endpoint; by default the server that admin.conf names.
        places: where things are.
        wanted: further objects to read through the API, see :func:`wanted.read_wanted`.
        number: the number of the run's lock, which the cluster's Lease gets before anything is observed: what an
            earlier run still does is done before that, and observed, or refused (``workload_api/fencing_lease.py``).
        run: the name of that run.
        workers: whether the Nodes of workers are returned, too; they are only named and counted otherwise.

    Nothing in it is secret but what the user asks for with ``wanted``. A part that did not answer carries its reason in
    words, after ``looks.count`` checks. A machine without a control plane is asked once: nothing there can be dead.

    Returns:
        ``observationVersion``, ``machine`` (this machine's own facts), ``api``, ``endpoint``, ``etcd`` (the snapshot's
        form; None where the API server's etcd is external), ``externalEtcd`` (:func:`external.look`, None where it is not),
        ``objects`` (Kubernetes objects cut down by ``trim``) and ``wanted``; the last two are None where the API server did
        not answer.

    Raises:
        Fenced: the cluster has seen a run with a greater number, or another run with this one.
    """
    where = places or Places()
    with ThreadPoolExecutor(max_workers=5) as pool:
        kubeadm = pool.submit(_output, ["kubeadm", "version", "-o", "short"])
        kubelet = pool.submit(_output, ["kubelet", "--version"])
        manifests = [name for name in STATIC_PODS if os.path.exists(os.path.join(where.manifests, f"{name}.yaml"))]
        etcd = pool.submit(_etcd, "etcd" in manifests, looks, where)
        elsewhere = pool.submit(_external_etcd, looks, where)
        cluster = (
            _cluster(looks, endpoint, where, wanted, number, run, workers)
            if "kube-apiserver" in manifests
            else _no_cluster(where)
        )
        if cluster.pop("raised", False):
            # Both may have been observed before the number was raised.
            etcd.result(), elsewhere.result()
            etcd = pool.submit(_etcd, "etcd" in manifests, looks, where)
            elsewhere = pool.submit(_external_etcd, looks, where)
        disk = os.statvfs("/var/lib")
        machine = {
            "machineID": guard.read_text(guard.MACHINE_ID_FILE),
            "bootID": guard.read_text(guard.BOOT_ID_FILE),
            "hostname": os.uname().nodename,
            "clock": now_rfc3339(),
            "kubeadmVersion": kubeadm.result(),
            "kubeletVersion": kubelet.result().replace("Kubernetes ", "", 1),
            "staticPodManifests": manifests,
            "etcdData": bool(etcd_folders.data(where.bootstrap)),
            "diskFreeBytes": disk.f_bavail * disk.f_frsize,
            "certificates": end_dates.expiry(where.pki, os.path.dirname(where.manifests)),
            "componentHealth": component_health(manifests),
            "bootstrap": bootstrap.read_state(where.bootstrap),
            "storedMembers": _stored_members(etcd.result(), where),
            "recovery": single_voter_unit.read_state(local.Places(state=where.bootstrap.state)),
        }
        found = {"etcd": etcd.result(), "externalEtcd": elsewhere.result(), **cluster}
        return {"observationVersion": OBSERVATION_VERSION, "machine": machine, **found}


def _output(words: list[str]) -> str:
    try:
        done = timed_command.run(words, seconds=5)
    except guard.NodeError:
        return ""
    return done.stdout.strip()[:200] if done.returncode == 0 else ""


def _etcd(expected: bool, looks: Looks, where: Places) -> t.Optional[dict[str, t.Any]]:
    if not expected:
        servers = re.search(r"--etcd-servers=(\S+)", guard.read_text(f"{where.manifests}/kube-apiserver.yaml"))
        if servers and not re.search(r"127\.0\.0\.1|\[::1\]|localhost", servers.group(1)):
            return None
        return View(message=f"no etcd manifest in {where.manifests}: no etcd runs on this machine").document()

    def look() -> View:
        return members_view([where.etcd_url], where.etcd_credentials, looks.timeout)

    return look_again(look, looks.count, looks.interval).document()


def _stored_members(etcd: t.Optional[dict[str, t.Any]], where: Places) -> t.Optional[list[dict[str, t.Any]]]:
    """Return the members in the database of an unreachable etcd.

    Without a quorum, etcd answers nothing once it was restarted. None where etcd answers, or no member could be read.
    """
    if etcd is None or etcd["reachable"]:
        return None
    places = local.Places(
        kubernetes=os.path.dirname(where.manifests), etcd_url=where.etcd_url, credentials=where.etcd_credentials
    )
    try:
        return local.told_members(places) or None
    except guard.NodeError:
        return None


def _external_etcd(looks: Looks, where: Places) -> t.Optional[dict[str, t.Any]]:
    used = external_etcd.of_api_server(guard.read_text(f"{where.manifests}/kube-apiserver.yaml"))
    return external_etcd.look_again(used, looks.count, looks.interval, looks.timeout) if used is not None else None


def _no_cluster(where: Places, reason: str = "") -> dict[str, t.Any]:
    message = reason or f"no kube-apiserver manifest in {where.manifests}: this machine is no control plane node"
    return {
        "api": {"answers": False, "server": None, "date": "", "message": message},
        "endpoint": {"answers": None, "message": f"not asked: {message}"},
        "objects": None,
        "wanted": None,
    }


def _cluster(
    looks: Looks,
    endpoint_address: t.Optional[str],
    where: Places,
    wanted: t.Sequence[Wanted],
    number: t.Optional[int],
    run: str,
    workers: bool,
) -> dict[str, t.Any]:
    try:
        access = read_access(where.kubeconfig, where.kubectl)
    except guard.NodeError as error:
        return _no_cluster(where, str(error))
    with ThreadPoolExecutor(max_workers=1) as pool:
        server = f"https://{endpoint_address}" if endpoint_address else access.server
        endpoint = pool.submit(_again, lambda: _endpoint(access, server, looks.timeout), looks)
        own = own_server(where.manifests) or access.server
        raised: list[bool] = []
        result = _again(lambda: _api(access, own, looks.timeout, wanted, number, run, raised, workers), looks)
        return {**result, "endpoint": endpoint.result(), "raised": any(raised)}


def _again(look: t.Callable[[], dict[str, t.Any]], looks: Looks) -> dict[str, t.Any]:
    for left in reversed(range(looks.count)):
        begun = time.monotonic()
        answer = look()
        if answer.get("answers") or (answer.get("api") or {}).get("answers"):
            break
        if left:
            time.sleep(max(0.0, begun + looks.interval - time.monotonic()))
    return answer


def _endpoint(access: ApiAccess, server: str, timeout: float) -> dict[str, t.Any]:
    """Check the control plane endpoint's /readyz.

    Its certificate is checked against this cluster's CA: another cluster's answer fails.
    """
    message = ""
    try:
        with ApiClient(access, server, timeout) as client:
            answer = client.send("GET", "/readyz")
        if answer.status != 200:
            message = f"{server}/readyz says HTTP {answer.status}: {answer.body[:200].decode(errors='replace')}"
    except (Unreachable, ValueError) as error:
        message = str(error)
    return {"answers": not message, "message": message, "server": server}


def _api(
    access: ApiAccess,
    server: str,
    timeout: float,
    wanted: t.Sequence[Wanted],
    number: t.Optional[int],
    run: str,
    raised: list[bool],
    workers: bool,
) -> dict[str, t.Any]:
    api: dict[str, t.Any] = {"answers": False, "server": server, "date": "", "message": ""}
    objects: t.Optional[dict[str, t.Any]] = None
    read: t.Optional[list[dict[str, t.Any]]] = None
    try:
        with ApiClient(access, server, timeout) as client:
            if number is not None:
                raised.append(fencing_lease.hold(client, number, run=run))
            objects = _objects(client, workers)
            api.update(answers=True, date=client.date, ready=client.send("GET", "/readyz").status == 200)
            read = read_wanted(client, wanted)
    except (Unreachable, ApiError, ValueError) as error:
        # A list that can't be read is no list: decisions must not take a part of the picture for the whole.
        api["message"] = str(error)
    return {"api": api, "objects": objects, "wanted": read}


def _objects(client: ApiClient, with_workers: bool) -> dict[str, t.Any]:
    nodes = client.list("/api/v1/nodes")
    pods = client.list(f"{_SYSTEM}/pods", "tier=control-plane")
    config = client.get(f"{_SYSTEM}/configmaps/kubeadm-config")
    proxy = client.get(f"{_APPS}/daemonsets/kube-proxy")
    dns = client.get(f"{_APPS}/deployments/coredns")
    corefile = client.get(f"{_SYSTEM}/configmaps/coredns") if dns is not None else None
    info = client.get("/api/v1/namespaces/kube-public/configmaps/cluster-info")
    found: dict[str, t.Any] = {}
    for name, path in _BOOTSTRAP_OBJECTS.items():
        item = client.get(path)
        found[name] = trim.binding(item) if item is not None else None
    workers = [item for item in nodes if not trim.is_control_plane(item)]
    return {
        "nodes": [trim.node(item) for item in nodes if trim.is_control_plane(item)],
        "workerNodes": sorted(item["metadata"]["name"] for item in workers),
        **({"workers": [trim.node(item) for item in workers]} if with_workers else {}),
        # Counted here: without MachineDeployments nothing else is needed of a worker, and there may be hundreds.
        "workerVersions": dict(Counter(map(trim.kubelet_version, workers))),
        "pods": [trim.pod(item) for item in pods],
        "staticPodFlags": [static_pod_flags.flags(item) for item in pods],
        "kubeadmConfig": trim.kubeadm_config_map(config) if config is not None else None,
        "kubeProxy": trim.workload(proxy) if proxy is not None else None,
        "dns": trim.workload(dns) if dns is not None else None,
        "corefile": corefile is not None,
        "bootstrap": {"clusterInfo": info is not None, "kubeconfig": trim.kubeconfig(info), **found},
    }
