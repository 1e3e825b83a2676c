# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What holds a stage of a rotation back: Nodes that came or went, and pods that have old certificates in memory."""

from __future__ import annotations

import base64
import hashlib
import typing as t
from pathlib import Path

import pytest
from task_context import CommandRun, StandInAction

from ansible_collections.kubeadm.control_plane.plugins.module_utils.common.values import now_rfc3339
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.kubeadm.certificate_files import (
    BUNDLE,
    CA,
    CERTIFICATE,
    FILES,
    FRONT_PROXY,
    SERVICE_ACCOUNT,
    SIGNING_KEY,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.operator.planner_types import (
    ClusterFacts,
    NodeFacts,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.operator.rotate_certificate_authorities import (
    barriers,
    materials,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.operator.rotate_certificate_authorities import (
    stages as rotation,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.operator.rotate_certificate_authorities.materials import (
    Materials,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.operator.rotate_certificate_authorities.published_authorities import (
    AUTHENTICATION,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.operator.rotate_certificate_authorities.stages import (
    DROP,
    ISSUE,
    NEW,
    OLD,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.operator.tasks.context import CommandFailure
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.pki import certificates, reissue

Object = dict[str, t.Any]
PLAN = ClusterFacts("prod", "v1.20.2", (NodeFacts("cp-1", True), NodeFacts("cp-2", True), NodeFacts("worker-1", False)))
NOW = now_rfc3339()
ISSUED = "2026-11-21T12:00:00Z"
PAIRS = {
    **{(SERVICE_ACCOUNT, each): certificates.new_service_account("ECDSA-P256") for each in (OLD, NEW)},
    **{(FRONT_PROXY, each): certificates.new_ca("front-proxy-ca", NOW, "ECDSA-P256") for each in (OLD, NEW)},
}
CLIENTS = {
    each: certificates.new_client_certificate(PAIRS[FRONT_PROXY, each], "front-proxy-client", [], NOW, "ECDSA-P256").crt
    for each in (OLD, NEW)
}
KUBE_VIP = {
    "namespace": "kube-system",
    "name": "kube-vip-cp-1",
    "node": "cp-1",
    "path": "/etc/kubernetes/admin.conf",
    "started_at": "2026-11-01T10:00:00Z",
}


class Cluster:
    """Nodes that hold what a stage leaves; what is written to one of them brings it to the stage ``next``."""

    def __init__(self, authority: str, stage: str, *nodes: str) -> None:
        self.materials = Materials(
            {(authority, each): PAIRS[authority, each] for each in (OLD, NEW)}, ISSUED, "up", "", ISSUED, ISSUED
        )
        self.authority = authority
        self.nodes = list(nodes)
        self.stages = {each.name: stage for each in PLAN.nodes}
        self.next = DROP
        self.mounting: list[Object] = []
        self.files: list[Object] = []
        self.written: list[str] = []
        self.aggregated: list[Object] = []
        both = self.materials.bundle(authority, (OLD, NEW))
        metadata = {"name": "x", "resourceVersion": "1"}
        self.objects: Object = {AUTHENTICATION: {"metadata": metadata, "data": {"requestheader-client-ca-file": both}}}

    def answer(self, node: str, module: str, arguments: Object) -> t.Optional[Object]:
        if node not in self.nodes:
            return None
        if arguments.get("front_proxy"):
            return {"aggregated": self.aggregated}
        if arguments.get("read"):
            items = [
                {
                    "metadata": {
                        "name": each,
                        "labels": {"node-role.kubernetes.io/master": ""} if each.startswith("cp") else {},
                    }
                }
                for each in self.nodes
            ]
            found = {"/api/v1/nodes": {"items": items}, **self.objects}
            return {"objects": {each["path"]: found.get(each["path"]) for each in arguments["read"]}}
        if module == "service_account_tokens":
            return {"volumes": [], "kubeconfigs": self.files, "mounting": self.mounting, "pods": []}
        if arguments.get("changes"):
            self.stages[node] = self.next
            self.written.append(node)
        return {**self.state(node, arguments), "written": ["x"], "restarted": []}

    def state(self, node: str, arguments: Object) -> Object:
        """What node_certificates tells of a node at its stage."""
        stage = self.stages[node]
        files = {each.path.replace("{pki}", "/etc/kubernetes/pki"): each for each in FILES}
        found: Object = {}
        for path in arguments.get("paths") or []:
            file = files[path]
            known: Object = {"present": True, "public": "", "sha256": ""}
            if file.kind == BUNDLE:
                known["public"] = self.materials.bundle(self.authority, rotation.trusted(stage))
            elif file.kind == SIGNING_KEY:
                key = str(self.materials.pair(self.authority, rotation.used(stage)).key)
                known["sha256"] = hashlib.sha256(key.encode()).hexdigest()
            elif file.kind == CERTIFICATE:
                known["public"] = CLIENTS[rotation.used(stage)]
            found[path] = known
        ids = [
            reissue.key_id(self.materials.pair(SERVICE_ACCOUNT, each).crt)
            for each in rotation.trusted(stage)
            if self.authority == SERVICE_ACCOUNT
        ]
        current = {"running": True, "current": True}
        return {
            "files": found,
            "flags": {},
            "shown": {},
            "components": dict.fromkeys(arguments.get("reads") or {}, current),
            "trusted_key_ids": ids,
        }


def drop(tmp_path: Path, cluster: Cluster) -> CommandRun:
    run = CommandRun(
        tmp_path,
        PLAN,
        "cp-1",
        {"dropOldAuthorities": {"authorities": [cluster.authority]}},
        StandInAction(cluster.answer, 1),
    )
    materials.keep(run.context, cluster.materials)
    return run


def test_a_node_that_is_gone_holds_nobody_back(tmp_path: Path) -> None:
    cluster = Cluster(SERVICE_ACCOUNT, ISSUE, "cp-1", "cp-2")
    run = drop(tmp_path, cluster)
    run.run()
    assert cluster.written == ["cp-1"]
    # It has read the old authorities, and its machine may stay in the endpoint.
    assert ("cp-1", "host_endpoint", {"state": "reread", "fencing": 7}) in run.action.calls
    assert "worker-1" not in {name for name, _module in run.action.modules()}


@pytest.mark.parametrize(
    ("authority", "name", "refused"),
    [
        (SERVICE_ACCOUNT, "worker-9", True),
        (SERVICE_ACCOUNT, "cp-9", True),
        # A worker has nothing of the front proxy's.
        (FRONT_PROXY, "worker-9", False),
        (FRONT_PROXY, "cp-9", True),
    ],
)
def test_a_node_that_has_come_is_not_cut_off(tmp_path: Path, authority: str, name: str, refused: bool) -> None:
    cluster = Cluster(authority, ISSUE, "cp-1", "cp-2", "worker-1", name)
    run = drop(tmp_path, cluster)
    if not refused:
        run.run()
        return
    with pytest.raises(CommandFailure, match=f"Node {name} has come since the plan was made"):
        run.run()
    assert cluster.written == []


@pytest.mark.parametrize(
    ("started_at", "refused"),
    [("2026-11-01T10:00:00Z", True), ("2026-11-21T12:00:30Z", True), ("2026-11-21T13:00:00Z", False), ("", False)],
)
def test_who_may_have_an_old_certificate_in_memory(tmp_path: Path, started_at: str, refused: bool) -> None:
    cluster = Cluster(FRONT_PROXY, ISSUE, "cp-1", "cp-2", "worker-1")
    cluster.mounting = [{**KUBE_VIP, "started_at": started_at}]
    run = drop(tmp_path, cluster)
    if not refused:
        run.run()
        return
    with pytest.raises(
        CommandFailure, match=r"kube-system/kube-vip-cp-1 on cp-1 has /etc/kubernetes/admin\.conf mounted"
    ):
        run.run()
    assert cluster.written == []


def test_tokens_alone_are_nothing_that_is_mounted_from_a_node(tmp_path: Path) -> None:
    cluster = Cluster(SERVICE_ACCOUNT, ISSUE, "cp-1", "cp-2", "worker-1")
    cluster.mounting = [KUBE_VIP]
    drop(tmp_path, cluster).run()
    assert cluster.written == ["cp-1"]


def test_what_is_written_already_is_gone_on_with_though_no_api_server_answers(tmp_path: Path) -> None:
    """A killed run may have stopped the only one."""
    cluster = Cluster(FRONT_PROXY, ISSUE, "cp-1", "cp-2", "worker-1")
    cluster.stages.update({"cp-1": DROP, "cp-2": DROP})
    cluster.mounting = [KUBE_VIP]
    listed = cluster.answer

    def silent(node: str, module: str, arguments: Object) -> t.Optional[Object]:
        return None if arguments.get("read") else listed(node, module, arguments)

    cluster.answer = silent  # type: ignore[method-assign]
    drop(tmp_path, cluster).run()


@pytest.mark.parametrize(
    ("current", "other", "refused"),
    [(200, 200, False), (200, 401, True), (200, 0, True), (401, 401, False), (0, 0, False)],
)
def test_api_servers_behind_this_one_trust_the_new_front_proxy_first(
    tmp_path: Path, current: int, other: int, refused: bool
) -> None:
    cluster = Cluster(FRONT_PROXY, rotation.TRUST, "cp-1", "cp-2", "worker-1")
    cluster.aggregated = [
        {"name": "v1beta1.metrics.k8s.io", "verified": True, "current": current, "other": other},
        {"name": "v1.unseen.example", "verified": False, "current": 0, "other": 0},
    ]
    said = {"authorities": [FRONT_PROXY], "stage": rotation.TRUST}
    run = CommandRun(tmp_path, PLAN, "cp-1", {"publishAuthorities": said}, StandInAction(cluster.answer, 1))
    materials.keep(run.context, cluster.materials)
    if not refused:
        run.run()
        told = "not asked, as their APIServices have insecureSkipTLSVerify: v1.unseen.example."
        assert any(told in each for each in run.notes())
        return
    with pytest.raises(
        CommandFailure, match=r"after the stage Issue: v1beta1\.metrics\.k8s\.io\. .*Restart their pods"
    ):
        run.run()


def test_who_is_verified_by_the_old_authority_in_an_object_of_its_own(tmp_path: Path) -> None:
    cluster = Cluster(FRONT_PROXY, ISSUE, "cp-1")
    cluster.materials.pairs.update({(CA, each): PAIRS[FRONT_PROXY, each] for each in (OLD, NEW)})

    def verified(authority: str) -> Object:
        return {"caBundle": base64.b64encode(PAIRS[FRONT_PROXY, authority].crt.encode()).decode()}

    hooks = [{"clientConfig": verified(NEW)}, {"clientConfig": verified(OLD)}]
    broken = [{"clientConfig": {"caBundle": "*"}}]
    admission = "/apis/admissionregistration.k8s.io/v1"
    cluster.objects.update(
        {
            f"{admission}/validatingwebhookconfigurations": {
                "items": [
                    {"metadata": {"name": "policy"}, "webhooks": hooks},
                    {"metadata": {"name": "new"}, "webhooks": hooks[:1]},
                    {"metadata": {"name": "broken"}, "webhooks": broken},
                ]
            },
            "/apis/apiregistration.k8s.io/v1/apiservices": {
                "items": [{"metadata": {"name": "v1.web"}, "spec": verified(OLD)}, {"metadata": {"name": "v1.apps"}}]
            },
        }
    )
    run = drop(tmp_path, cluster)
    found = barriers.bundles(run.context, cluster.materials)
    assert found == ["validatingwebhookconfigurations/policy", "apiservices/v1.web"]


def test_a_network_plugin_that_knows_the_old_authority_alone(tmp_path: Path) -> None:
    cluster = Cluster(FRONT_PROXY, ISSUE, "cp-1")
    cluster.materials.pairs.update({(CA, each): PAIRS[FRONT_PROXY, each] for each in (OLD, NEW)})
    known = {each: reissue.fingerprints(PAIRS[FRONT_PROXY, each].crt)[0] for each in (OLD, NEW)}
    for authorities, refused in (([OLD], True), ([OLD, NEW], False), ([NEW], False), ([], False)):
        found = [known[each] for each in authorities]
        cluster.files = [{"path": "/etc/cni/net.d/calico-kubeconfig", "key_ids": [], "authorities": found}]
        run = drop(tmp_path / "".join(["x", *authorities]), cluster)
        said = barriers._plugins(run.context, cluster.materials)
        assert bool(said) is refused
    assert not said


def test_a_kubelet_that_got_an_old_certificate_meanwhile_is_given_a_new_one(tmp_path: Path) -> None:
    """While one controller manager signs with the old authority still: the proof of the stage repairs it."""
    cluster = Cluster(FRONT_PROXY, ISSUE, "cp-1", "cp-2", "worker-1")
    cluster.stages["cp-1"], cluster.next = rotation.TRUST, ISSUE
    said = {"authorities": [FRONT_PROXY], "stage": ISSUE}
    run = CommandRun(tmp_path, PLAN, "cp-1", {"proveAuthorities": said}, StandInAction(cluster.answer, 1))
    materials.keep(run.context, cluster.materials)
    for _again in range(2):
        run.run()
        assert cluster.written == ["cp-1"]
