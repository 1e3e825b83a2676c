# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A cluster as a model: what every file of a rotation holds, what each component may have read of it, and who has to trust whom.

A component holds what it read when it started, or anything that was written since, for some files are read again while it runs, and
anything may restart it at any time. An edge holds when it holds for all of that, on both sides.
"""

from __future__ import annotations

import typing as t

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.kubeadm.certificate_files import (
    API_SERVER,
    BUNDLE,
    CA,
    CERTIFICATE,
    CONTROLLER_MANAGER,
    ETCD_SERVER,
    FILES,
    FRONT_PROXY,
    KUBECONFIG,
    KUBELET,
    KUBELET_CLIENT,
    KUBELET_SERVER,
    PKI,
    SCHEDULER,
    SIGNING_KEY,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.operator.planner_types import (
    ClusterFacts,
    NodeFacts,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.operator.rotate_certificate_authorities import (
    stages as rotation,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.operator.rotate_certificate_authorities.plan import (
    plan,
)

CONTROL_PLANE = ("cp-1", "cp-2", "cp-3")
WORKERS = ("worker-1", "worker-2")
STAGE = {
    "trustNewAuthorities": rotation.TRUST,
    "issueFromNewAuthorities": rotation.ISSUE,
    "dropOldAuthorities": rotation.DROP,
}
COMPONENTS = rotation.COMPONENTS
OLD_TRUST, OLD = frozenset({"old"}), "old"


class Value(t.NamedTuple):
    """What a file holds: whom it trusts, and whose certificate or key is in it."""

    trusts: frozenset[str]
    shows: str


class World:
    """The nodes' files, what each component may have in memory, and what the cluster itself holds."""

    def __init__(self, workers: t.Sequence[str] = WORKERS) -> None:
        self.nodes = {**dict.fromkeys(CONTROL_PLANE, True), **dict.fromkeys(workers, False)}
        self.files: dict[tuple[str, str], Value] = {}
        for node, control_plane in self.nodes.items():
            for each in FILES:
                if control_plane or each.on_workers:
                    trusts = OLD_TRUST if each.kind in (BUNDLE, KUBECONFIG) else frozenset()
                    self.files[node, each.path] = Value(trusts, OLD)
        # The controller manager's own pair by its manifest: "" is ca.crt and ca.key.
        self.signer = dict.fromkeys(CONTROL_PLANE, "")
        self.failures: list[str] = []
        self.restarts_mounted = True
        self.down: set[tuple[str, str]] = set()
        self.memory: dict[tuple[str, str], dict[str, set[Value]]] = {}
        self.signers: dict[str, set[str]] = {}
        # The tokens that a controller manager's controllers have in memory.
        self.controllers: dict[str, set[str]] = {}
        for node in self.nodes:
            for component in COMPONENTS:
                self.start(node, component)
        self.cluster_info, self.kubeconfig = OLD_TRUST, Value(OLD_TRUST, OLD)
        # What a pod with admin.conf mounted has read of it, such as one that moves an address.
        self.mounted = OLD
        self.request_header: frozenset[str] = OLD_TRUST
        self.tokens = {OLD}
        # A pod that was started before the rotation and reads its CA never again.
        self.pods: set[frozenset[str]] = {OLD_TRUST}
        self.link = False

    # What happens.

    def start(self, node: str, component: str) -> None:
        self.down.discard((node, component))
        self.memory[node, component] = {
            each.path: {self.files[node, each.path]}
            for each in FILES
            if component in each.readers and (node, each.path) in self.files
        }
        if component == CONTROLLER_MANAGER and node in self.signer:
            self.signers[node] = {self.signs(node)}
            self.controllers[node] = self.signing() or {OLD}

    def signs(self, node: str) -> str:
        """With which authority the controller manager would sign if it were started now; the pair must be one."""
        if self.signer[node]:
            path = rotation.signer(self.signer[node])
            certificate, key = self.files[node, f"{path}.crt"], self.files[node, f"{path}.key"]
        else:
            certificate, key = self.files[node, f"{PKI}/ca.crt"], self.files[node, f"{PKI}/ca.key"]
        if certificate.trusts != {key.shows}:
            self.failures.append(f"{node}: a controller manager started now would not start")
        return key.shows

    def signing(self) -> set[str]:
        """The keys with which API servers sign the tokens that they are asked for now."""
        return set().union(*(self.shown(node, API_SERVER, f"{PKI}/sa.key") for node in self.signer))

    def renew(self) -> None:
        """Every kubelet gets another certificate just now, of the old authority where any controller manager still signs with it."""
        if OLD in set().union(*self.signers.values()):
            for node in self.nodes:
                self.files[node, KUBELET_CLIENT] = value = Value(frozenset(), OLD)
                self.memory[node, KUBELET][KUBELET_CLIENT].add(value)

    def stop(self, node: str, component: str) -> None:
        self.down.add((node, component))

    def write(self, node: str, content: rotation.Content) -> None:
        if content.kind == rotation.FLAGS:
            self.signer[node] = content.shows
            # The kubelet starts it anew by itself.
            self.signers[node].add(self.signs(node))
            return
        assert content.absent or content.trusts or content.shows
        key = (node, content.path)
        if content.absent:
            self.files.pop(key, None)
            return
        before = self.files.get(key, Value(frozenset(), ""))
        value = Value(frozenset(content.trusts) or before.trusts, content.shows or before.shows)
        self.files[key] = value
        for component in COMPONENTS:
            if content.path in self.memory[node, component]:
                self.memory[node, component][content.path].add(value)
        if node in self.signer and (node, CONTROLLER_MANAGER) not in self.down:
            self.signs(node)

    # What must hold.

    def held(self, node: str, component: str, path: str) -> set[Value]:
        if (node, component) in self.down:
            return set()
        return self.memory.get((node, component), {}).get(path, set())

    def halves(self) -> list[tuple[str, str]]:
        """Certificates whose key is another one's: who is started or asked just then has neither."""
        certificates = {each.path for each in FILES if each.kind == CERTIFICATE}
        return [
            (node, path)
            for (node, path), value in self.files.items()
            if path in certificates and self.files[node, f"{path[:-4]}.key"].shows != value.shows
        ]

    def trust(self, node: str, component: str, path: str) -> set[frozenset[str]]:
        return {each.trusts for each in self.held(node, component, path)}

    def shown(self, node: str, component: str, path: str) -> set[str]:
        return {each.shows for each in self.held(node, component, path)}

    def edges(self) -> t.Iterator[tuple[str, set[str], set[frozenset[str]]]]:
        """Each edge's name, what one side may show, and what the other may trust."""
        for node in CONTROL_PLANE:
            client, server = f"{PKI}/apiserver-etcd-client.crt", f"{PKI}/etcd/server.crt"
            bundle = f"{PKI}/etcd/ca.crt"
            etcd, api = (node, ETCD_SERVER), (node, API_SERVER)
            yield f"{node} API server to etcd", self.shown(*api, client), self.trust(*etcd, bundle)
            yield f"{node} etcd to its API server", self.shown(*etcd, server), self.trust(*api, bundle)
            probe = {self.files[node, f"{PKI}/etcd/healthcheck-client.crt"].shows}
            yield f"{node} a probe to etcd", probe, self.trust(*etcd, bundle)
            yield f"{node} etcd to a probe", self.shown(*etcd, server), {self.files[node, bundle].trusts}
            for other in CONTROL_PLANE:
                peer = self.shown(*etcd, f"{PKI}/etcd/peer.crt")
                yield f"etcd {node} to {other}", peer, self.trust(other, ETCD_SERVER, bundle)
            front = self.shown(*api, f"{PKI}/front-proxy-client.crt")
            yield f"{node} API server to an aggregated one", front, {self.request_header}
            kubelet_client = self.shown(*api, f"{PKI}/apiserver-kubelet-client.crt")
            for other in self.nodes:
                trust = self.trust(other, KUBELET, f"{PKI}/ca.crt")
                yield f"API server {node} to kubelet {other}", kubelet_client, trust
                # With --kubelet-certificate-authority, and with serverTLSBootstrap.
                serving = self.shown(other, KUBELET, KUBELET_SERVER)
                yield f"kubelet {other} to API server {node}", serving, self.trust(*api, f"{PKI}/ca.crt")
            yield from self.clients_of(node)

    def clients_of(self, node: str) -> t.Iterator[tuple[str, set[str], set[frozenset[str]]]]:
        api = (node, API_SERVER)
        serving = self.shown(*api, f"{PKI}/apiserver.crt")
        accepts = self.trust(*api, f"{PKI}/ca.crt")
        keys = self.trust(*api, f"{PKI}/sa.pub")
        callers = [
            (CONTROLLER_MANAGER, "controller-manager.conf"),
            (SCHEDULER, "scheduler.conf"),
            (KUBELET, "kubelet.conf"),
        ]
        for other, control_plane in self.nodes.items():
            for component, name in callers if control_plane else callers[2:]:
                path = f"/etc/kubernetes/{name}"
                yield f"API server {node} to {component} {other}", serving, self.trust(other, component, path)
                certificate = KUBELET_CLIENT if component == KUBELET else path
                yield f"{component} {other} to API server {node}", self.shown(other, component, certificate), accepts
            # A kubelet that begins to renew its certificate just now.
            yield f"a new kubelet certificate to {node}", set().union(*self.signers.values()), accepts
        admin = self.files[node, "/etc/kubernetes/admin.conf"]
        yield f"a pod with admin.conf to API server {node}", {self.mounted}, accepts
        for caller, value in (("admin.conf", admin), ("the store's kubeconfig", self.kubeconfig)):
            yield f"API server {node} to {caller}", serving, {value.trusts}
            yield f"{caller} to API server {node}", {value.shows}, accepts
        yield f"API server {node} to somebody who joins", serving, {self.cluster_info}
        # The link certificate makes what the new authority signed valid for whoever trusts the old one alone.
        kubelets = set().union(*(self.shown(other, KUBELET, KUBELET_SERVER) for other in self.nodes))
        # A pod that starts just now is given what whichever controller manager leads has published.
        pods = self.pods.union(*(self.trust(other, CONTROLLER_MANAGER, f"{PKI}/ca.crt") for other in CONTROL_PLANE))
        for server, shows in ((f"API server {node}", serving), ("a kubelet", kubelets)):
            linked = {OLD if each == "new" and self.link else each for each in shows}
            yield (
                f"{server} to a pod that knows the old one alone",
                linked,
                {each for each in pods if each == OLD_TRUST},
            )
            yield f"{server} to other pods", shows, {each for each in pods if each != OLD_TRUST}
        yield f"controllers' tokens to API server {node}", set().union(*self.controllers.values()), keys
        signing = self.signing()
        signing |= set().union(*(self.shown(other, CONTROLLER_MANAGER, f"{PKI}/sa.key") for other in CONTROL_PLANE))
        yield f"tokens to API server {node}", self.tokens | signing, keys

    def broken(self) -> list[str]:
        return self.failures + [
            f"{name}: {shows} is not in {sorted(trusts)}"
            for name, shown, trusted in self.edges()
            for shows in shown
            for trusts in trusted
            if shows not in trusts
        ]


Skip = t.Callable[[str, str], bool]


def happenings(world: World, authorities: t.Sequence[str], skip: Skip = lambda node, command: False) -> t.Iterator[str]:
    """Do what the plan says, one write or restart at a time, and tell each."""
    nodes = tuple(NodeFacts(name, control_plane) for name, control_plane in world.nodes.items())
    facts = ClusterFacts("prod", "v1.20.2", nodes)
    for group in plan({"authorities": list(authorities)}, facts):
        for node in group.nodes:
            for descriptor in group.commands:
                ((command, parameters),) = descriptor.items()
                if skip(node, command):
                    continue
                if command in STAGE:
                    yield from on_node(world, node, STAGE[command], parameters["authorities"])
                elif command == "publishAuthorities":
                    yield from publish(world, parameters["stage"], parameters["authorities"])
                elif command == "proveAuthorities" and parameters["stage"] == rotation.ISSUE:
                    yield from prove_issue(world, node, parameters["authorities"])
                elif command == "restartComponent":
                    world.start(node, parameters["component"])
                    yield f"{node} restarts {parameters['component']}"
                elif command == "waitServiceAccountTokens":
                    world.tokens = {"new"}
                    yield "no pod has an old token"


def on_node(world: World, node: str, stage: str, authorities: t.Sequence[str]) -> t.Iterator[str]:
    control_plane = world.nodes[node]
    world.link = world.link or (CA in authorities and stage == rotation.ISSUE)
    ahead = [
        each.authority
        for each in FILES
        if each.kind == SIGNING_KEY and control_plane and world.files[node, each.path].shows == "new"
    ]
    halves = [path.rpartition(".")[0] for at, path in world.halves() if at == node]
    for content in rotation.contents(stage, authorities, control_plane, ahead, halves):
        world.write(node, content)
        yield f"{stage} {node} writes {content.path}"
    restarted = list(rotation.readers(authorities, control_plane))
    if ETCD_SERVER in restarted:
        for component in (API_SERVER, ETCD_SERVER):
            world.stop(node, component)
            yield f"{stage} {node} stops {component}"
    for component in restarted:
        world.failures += [
            f"{path} has another key: {component} does not start" for at, path in world.halves() if at == node
        ]
        world.start(node, component)
        yield f"{stage} {node} starts {component}"
    for content in rotation.leftovers(stage, authorities, control_plane):
        world.write(node, content)
        yield f"{stage} {node} removes {content.path}"


def prove_issue(world: World, node: str, authorities: t.Sequence[str]) -> t.Iterator[str]:
    """A kubelet that got an old certificate meanwhile gets a new one."""
    if CA in authorities and world.files[node, KUBELET_CLIENT].shows != "new":
        world.files[node, KUBELET_CLIENT] = Value(frozenset(), "new")
        world.start(node, KUBELET)
        yield f"{node} has another kubelet certificate"


def publish(world: World, stage: str, authorities: t.Sequence[str]) -> t.Iterator[str]:
    trusts = frozenset(rotation.trusted(stage))
    if CA in authorities:
        if stage != rotation.ISSUE:
            world.cluster_info = trusts
            world.pods.add(trusts)
            yield f"{stage}: cluster-info"
        world.kubeconfig = Value(trusts, rotation.used(stage))
        yield f"{stage}: the store's kubeconfig"
        if stage == rotation.ISSUE and world.restarts_mounted:
            # The Drop of a control plane node waits until somebody has.
            world.mounted = "new"
            yield "the pod with admin.conf is restarted"
    if FRONT_PROXY in authorities and stage != rotation.ISSUE:
        # API servers add what they trust to the ConfigMap, and never take anything out of it.
        world.request_header = trusts
        yield f"{stage}: extension-apiserver-authentication"
