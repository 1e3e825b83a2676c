# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the commands of a rotation ask of nodes, and what holds them back; the nodes answer from Python."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
from task_context import CommandRun, StandInAction, ended

from ansible_collections.kubeadm.control_plane.plugins.module_utils.common.values import now_rfc3339
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.kubeadm.certificate_files import SERVICE_ACCOUNT
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.operator.planner_types import (
    ClusterFacts,
    NodeFacts,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.operator.rotate_certificate_authorities import (
    materials,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.operator.rotate_certificate_authorities.materials import (
    Materials,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.operator.rotate_certificate_authorities.stages import (
    NEW,
    OLD,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.operator.tasks.context import CommandFailure
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.pki import certificates, reissue, secrets

Object = dict[str, t.Any]
FACTS = ClusterFacts("prod", "v1.20.2", (NodeFacts("cp-1", True), NodeFacts("worker-1", False)))
KEYS = {each: certificates.new_service_account("ECDSA-P256") for each in (OLD, NEW)}
IDS = {each: reissue.key_id(KEYS[each].crt) for each in (OLD, NEW)}
PROXY = {
    "namespace": "kube-system",
    "name": "kube-proxy-x",
    "uid": "pod-1",
    "owner": "daemonset/kube-proxy",
    "mounts_secret": True,
    "started_at": "2026-11-21T10:00:00Z",
}
WEB = {**PROXY, "namespace": "shop", "name": "web-0", "uid": "pod-2", "owner": "statefulset/web"}


class Tokens:
    """Nodes whose pods have tokens; each look at ``volumes`` of the worker takes the next of the states."""

    def __init__(self, *states: t.Sequence[Object]) -> None:
        self.states = list(states)
        self.files: list[Object] = []
        self.renewed: list[Object] = []

    def answer(self, node: str, module: str, arguments: Object) -> Object:
        if module == "node_command":
            return ended()
        if arguments.get("read"):
            nodes = [{"metadata": {"name": each.name, "labels": {}}} for each in FACTS.nodes]
            return {"objects": {"/api/v1/nodes": {"items": nodes}}}
        if arguments.get("volumes"):
            if node != "worker-1":
                return {"volumes": [], "kubeconfigs": []}
            volumes = list(self.states.pop(0) if len(self.states) > 1 else self.states[0])
            return {"volumes": volumes, "kubeconfigs": self.files}
        if arguments.get("state") == "renewed":
            self.renewed.append(arguments)
            return {"renewed": [], "mounted": []}
        return {"pods": [PROXY, WEB]}


def volume(uid: str, generation: str, age: int = 600) -> Object:
    return {"uid": uid, "volume": "v", "key_id": IDS[generation], "age": age}


def command(tmp_path: Path, tokens: Tokens, descriptor: Object, looks: int = 3) -> CommandRun:
    """A command of a rotation of the service account keys that is under way."""
    run = CommandRun(tmp_path, FACTS, "cp-1", descriptor, StandInAction(tokens.answer, looks))
    pairs = {(SERVICE_ACCOUNT, each): KEYS[each] for each in (OLD, NEW)}
    materials.keep(run.context, Materials(pairs, "2026-11-21T10:00:00Z", "up"))
    return run


def test_old_tokens_are_waited_for(tmp_path: Path) -> None:
    tokens = Tokens([volume("pod-1", OLD)], [volume("pod-1", NEW, 5)], [volume("pod-1", NEW, 80)])
    run = command(tmp_path, tokens, {"waitServiceAccountTokens": {}})
    run.run()
    assert run.notes()[-1] == "no pod has a token of the old key"
    assert tokens.renewed[0]["key_ids"] == [IDS[NEW]]


def test_pods_that_keep_an_old_token_keep_the_key(tmp_path: Path) -> None:
    tokens = Tokens([volume("pod-1", OLD), volume("pod-2", OLD)])
    with pytest.raises(
        CommandFailure, match=r"the old service account key was kept.*kube-system/kube-proxy-x on worker-1"
    ):
        command(tmp_path, tokens, {"waitServiceAccountTokens": {}}).run()
    assert tokens.renewed == []


def test_what_a_network_plugin_starts_pods_with_keeps_the_key(tmp_path: Path) -> None:
    tokens = Tokens([volume("pod-1", NEW)])
    tokens.files = [{"path": "/etc/cni/net.d/calico-kubeconfig", "key_ids": [IDS[OLD]], "authorities": []}]
    expected = r"the network plugin's file /etc/cni/net\.d/calico-kubeconfig on worker-1 has a token of the old key"
    with pytest.raises(CommandFailure, match=expected):
        command(tmp_path, tokens, {"waitServiceAccountTokens": {}}).run()
    tokens.files[0]["key_ids"] = [IDS[NEW]]
    command(tmp_path / "again", tokens, {"waitServiceAccountTokens": {}}).run()


def test_a_folder_that_a_pod_has_left_is_nobodys(tmp_path: Path) -> None:
    run = command(tmp_path, Tokens([volume("pod-9", OLD)]), {"waitServiceAccountTokens": {}})
    run.run()
    assert run.notes()[-1] == "no pod has a token of the old key"


@pytest.mark.parametrize(
    ("workloads", "restarted"),
    [
        ("None", []),
        ("Addons", ["daemonset/kube-proxy"]),
        ("All", ["daemonset/kube-proxy", "statefulset/web"]),
    ],
)
def test_whose_pods_are_restarted(tmp_path: Path, workloads: str, restarted: list[str]) -> None:
    tokens = Tokens([volume("pod-1", OLD), volume("pod-2", OLD)])
    run = command(tmp_path, tokens, {"restartWorkloads": {"workloads": workloads}})
    run.run()
    programs = [each for each in run.action.programs() if each[0] == "kubectl"]
    assert [each[-1] for each in programs if "restart" in each] == restarted
    assert [each[-2] for each in programs if "status" in each] == restarted


def test_nobody_is_restarted_for_a_new_token(tmp_path: Path) -> None:
    run = command(tmp_path, Tokens([volume("pod-1", NEW)]), {"restartWorkloads": {}})
    run.run()
    assert run.notes() == ["no workload has to be restarted"]


@pytest.mark.parametrize("workloads", ["Addons", "All"])
def test_an_add_on_that_has_the_old_authority_alone_is_restarted(tmp_path: Path, workloads: str) -> None:
    """Its tokens are bound ones; without its restart the API servers' files would keep the link. Pods of users are left to them."""
    run = command(tmp_path, Tokens([volume("pod-1", NEW)]), {"restartWorkloads": {"workloads": workloads}})
    kept = materials.load(run.context)
    kept.published_at = "2026-11-21T10:30:00Z"
    materials.keep(run.context, kept)
    run.run()
    programs = [each for each in run.action.programs() if each[0] == "kubectl"]
    assert [each[-1] for each in programs if "restart" in each] == ["daemonset/kube-proxy"]


def test_without_the_rotations_secret_nothing_is_done(tmp_path: Path) -> None:
    tokens = Tokens([volume("pod-1", OLD)])
    run = command(tmp_path, tokens, {"renewServiceAccountTokens": {}})
    run.context.forget_secret("prod-authority-rotation")
    with pytest.raises(CommandFailure, match="the store has no new authority for serviceAccount"):
        run.run()


@pytest.mark.parametrize(("kind", "reason"), [("Opaque", "is the user's own"), ("", "the store has no Secret prod-sa")])
def test_an_authority_that_is_not_ours_to_make(tmp_path: Path, kind: str, reason: str) -> None:
    run = CommandRun(
        tmp_path,
        FACTS,
        "cp-1",
        {"createCertificateAuthorities": {"authorities": ["serviceAccount"]}},
        StandInAction(Tokens([]).answer),
    )
    if kind:
        pair = {"tls.crt": KEYS[OLD].crt, "tls.key": KEYS[OLD].key}
        run.store.create({**secrets.new_secret(run.objects.cluster, None, "sa", pair), "type": kind})
    with pytest.raises(CommandFailure, match=reason):
        run.run()
    assert run.context.secret("prod-authority-rotation") is None


def test_an_authority_that_has_ended_in_the_store_is_not_to_be_retried(tmp_path: Path) -> None:
    """The nodes have a valid one, so that it was planned: the Action can't be completed."""
    named = {"createCertificateAuthorities": {"authorities": ["frontProxy"]}}
    run = CommandRun(tmp_path, FACTS, "cp-1", named, StandInAction(Tokens([]).answer))
    pair = certificates.new_ca("front-proxy-ca", "2016-01-01T00:00:00Z", days=1)
    document = {"tls.crt": pair.crt, "tls.key": pair.key}
    assert run.objects.control_plane is not None
    run.objects.control_plane["metadata"]["uid"] = "u-2"
    run.store.create(secrets.new_secret(run.objects.cluster, run.objects.control_plane, "proxy", document))
    with pytest.raises(CommandFailure, match=r"expired at 2016.*abort this Action\. Give every machine") as refused:
        run.run()
    assert "retry" not in str(refused.value)
    assert run.context.secret("prod-authority-rotation") is None


@pytest.mark.parametrize(("signer", "refused"), [(OLD, False), ("corporate", True)])
def test_no_authority_is_made_for_a_node_with_a_certificate_of_another_one(
    tmp_path: Path, signer: str, refused: bool
) -> None:
    """No stage could replace it, and after Trust there is no way back."""
    now = now_rfc3339()
    pairs = {each: certificates.new_ca("front-proxy-ca", now, "ECDSA-P256") for each in (OLD, "corporate")}
    client = certificates.new_client_certificate(pairs[signer], "front-proxy-client", [], now, "ECDSA-P256")
    public = {"front-proxy-ca.crt": pairs[OLD].crt, "front-proxy-client.crt": client.crt}
    asked: list[Object] = []

    def answer(node: str, module: str, arguments: Object) -> Object:
        if module != "node_certificates":
            return {**Tokens([]).answer(node, module, arguments), "mounting": []}
        asked.append(arguments)
        files = {each: {"present": True, "public": public.get(Path(each).name, "")} for each in arguments["paths"]}
        return {"files": files, "flags": {}, "components": {}, "shown": {}}

    named = {"createCertificateAuthorities": {"authorities": ["frontProxy"]}}
    run = CommandRun(tmp_path, FACTS, "cp-1", named, StandInAction(answer))
    assert run.objects.control_plane is not None
    run.objects.control_plane["metadata"]["uid"] = "u-2"
    document = {"tls.crt": pairs[OLD].crt, "tls.key": pairs[OLD].key}
    run.store.create(secrets.new_secret(run.objects.cluster, run.objects.control_plane, "proxy", document))
    if refused:
        with pytest.raises(
            CommandFailure, match=r"no certificate authority was made.*front-proxy-client\.crt: its cert"
        ):
            run.run()
    else:
        run.run()
    assert (run.context.secret("prod-authority-rotation") is None) == refused
    assert [each.get("changes") for each in asked] == [None]


@pytest.mark.parametrize(("recorded", "named"), [({}, {}), ({"etcdClusterID": "00aa"}, {"cluster_id": "00aa"})])
def test_no_snapshot_is_of_an_etcd_that_was_given_up(tmp_path: Path, recorded: Object, named: Object) -> None:
    run = CommandRun(tmp_path, FACTS, "cp-1", {"takeEtcdSnapshot": {}}, StandInAction(lambda *_asked: {}))
    t.cast(Object, run.objects.control_plane)["status"] = recorded
    run.run()
    [asked] = [call for _name, module, call in run.action.calls if module == "etcd_snapshot"]
    assert {each: asked[each] for each in ("cluster_id", "require_leader") if each in asked} == {
        **named,
        "require_leader": True,
    }


def test_what_was_forgotten_is_not_forgotten_again(tmp_path: Path) -> None:
    run = command(tmp_path, Tokens([]), {"forgetOldAuthorities": {"authorities": ["serviceAccount"]}})
    run.context.forget_secret("prod-authority-rotation")
    run.run()
    assert run.notes() == ["already deleted"]


def test_the_store_has_the_new_keys_before_the_rotations_are_forgotten(tmp_path: Path) -> None:
    """Also where the Task that writes them was skipped: no other Secret has them then."""
    descriptor = {"forgetOldAuthorities": {"authorities": ["serviceAccount"]}}
    nodes = {"objects": {"/api/v1/nodes": {"items": [{"metadata": {"name": "worker-1", "labels": {}}}]}}}
    worker = ClusterFacts("prod", "v1.20.2", FACTS.nodes[1:])
    run = CommandRun(tmp_path, worker, "worker-1", descriptor, StandInAction(lambda *_asked: nodes))
    pairs = {(SERVICE_ACCOUNT, each): KEYS[each] for each in (OLD, NEW)}
    materials.keep(run.context, Materials(pairs, "2026-11-21T10:00:00Z", "up"))
    old = {"tls.crt": KEYS[OLD].crt, "tls.key": KEYS[OLD].key}
    run.store.create(secrets.new_secret(run.objects.cluster, None, "sa", old))
    run.run()
    kept = run.context.secret("prod-sa")
    assert kept == {"tls.crt": KEYS[NEW].crt.encode(), "tls.key": str(KEYS[NEW].key).encode()}
    assert run.context.secret("prod-authority-rotation") is None


def test_what_a_rotation_remembers_is_what_it_finds_again(tmp_path: Path) -> None:
    run = command(tmp_path, Tokens([]), {"renewServiceAccountTokens": {}})
    found = materials.need(run.context, (SERVICE_ACCOUNT,))
    assert (found.stale_pods, found.published_at, found.authorities) == (None, "", (SERVICE_ACCOUNT,))
    found.stale_pods = ["shop/web-0"]
    materials.keep(run.context, found)
    assert materials.need(run.context, (SERVICE_ACCOUNT,)) == found
