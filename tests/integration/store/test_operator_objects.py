# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Actions, TaskGroups and Tasks in each store, and what a real API server makes of them."""

from __future__ import annotations

import copy
import typing as t

import pytest
from api_server import ApiServer
from management import Kubectl
from operator_cases import Walk, action, begun, document, executions, facts, group, hub, node

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects import actions
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.operator import flow, freeze, matching
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.operator.tasks import records, requested_action
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.base import Store
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.kubernetes.store import KubernetesStore

Object = dict[str, t.Any]
TASK = actions.kind_ref(actions.TASK)


@pytest.fixture
def kubectl(server: ApiServer) -> Kubectl:
    """A person's kubectl."""
    return Kubectl(server)


def test_from_its_beginning_to_its_end(store: Store) -> None:
    """Failed, retried, failed, skipped, gone on with; with names as long as they may be."""
    name = "a" * 100
    where = executions(store)
    one = Walk(where, begun(where, action(group("z", "pass", "pass"), group("a"), name=name)), fails={"cp-b": 1})
    assert one.until_it_ends().kind == flow.FAILED
    task = f"{name}-01-z-cp-b"
    one.say(task, recoveryMode=actions.RETRY)
    assert one.until_it_ends().kind == flow.FAILED
    assert "recoveryMode" not in one.stored("Task", task)["spec"]
    one.say(task, recoveryMode=actions.SKIP)
    one.fails = {}
    assert one.until_it_ends().kind == flow.COMPLETED
    assert one.stored("Task", task)["status"]["commands"][1]["skipped"] is True
    status = one.stored("Action", name)["status"]
    assert (status["phase"], status["succeededGroups"]) == ("Succeeded", 2)
    labels = one.stored("Task", task)["metadata"]["labels"]
    assert max(len(each) for each in labels.values()) <= 63


def test_null_in_a_patch_is_no_absent_field(store: Store) -> None:
    """It takes a field away: lost, an Action would do something else than was asked for."""
    patch = {"kubeletConfiguration": {"evictionHard": None, "maxPods": 50}}
    wanted = hub(document("Action", "change", {"changeConfiguration": patch}))
    where = executions(store)
    put = where.put(wanted)
    assert put["spec"] == {"changeConfiguration": patch}
    assert where.needed("change")["spec"] == {"changeConfiguration": patch}
    plan = freeze.freeze(hub(action(group("a", {"command": {"argv": ["true"]}}))), facts(extra={"unknown": None}))
    plan["groups"][0]["commands"].append({"changeKubeletConfiguration": {"patch": {"maxPods": None}}})
    plan["hash"] = freeze.plan_hash(plan)
    root = where.begin(put, {**plan, "requestHash": freeze.request_hash(put)})
    plan["hash"] = freeze.plan_hash({**plan, "requestHash": freeze.request_hash(put)})
    where.store.modify(
        actions.kind_ref("Action"), "default", "change", lambda each: each["status"]["plan"].update(hash=plan["hash"])
    )
    assert matching.inconsistencies(where.load(root)) == []
    found = where.needed("change")["status"]["plan"]
    assert found["groups"][0]["commands"][1] == {"changeKubeletConfiguration": {"patch": {"maxPods": None}}}


def test_a_recovery_whose_run_was_killed_halfway(store: Store) -> None:
    """The status says that it was done, and the word is still there: it is taken off, and not done once more."""
    where = executions(store)
    one = Walk(where, begun(where, action(group("a", "pass", "pass"))), fails={"cp-a": 0})
    assert one.until_it_ends().kind == flow.FAILED
    name = "first-01-a-cp-a"
    recovered: Object = {}

    def halfway(task: Object) -> None:
        whole = copy.deepcopy(task)
        whole["spec"]["recoveryMode"] = actions.SKIP
        records.recover(whole, "2026-01-01T00:00:00Z")
        recovered.update(whole["status"])
        task["status"], task["spec"]["recoveryMode"] = whole["status"], actions.SKIP

    where.store.modify(TASK, "default", name, halfway)
    one.fails = {"cp-a": 1}
    assert one.until_it_ends().kind == flow.FAILED
    task = one.stored("Task", name)
    assert "recoveryMode" not in task["spec"], "the second command's failure waits for a person"
    assert task["status"]["currentCommand"] == recovered["currentCommand"] == 2


def test_what_kubectl_applied_in_the_proposals_form(kubectl: Kubectl, kubernetes_store: KubernetesStore) -> None:
    """It is brought into the one form before it begins; what is no form of it is told by its field."""
    where = executions(kubernetes_store)
    labels = {"cluster.x-k8s.io/cluster-name": "prod"}
    spec = {"nodeName": "cp-a", "preflight": {}}
    applied = {**document("Task", "single", spec), "metadata": {"name": "single", "labels": labels}}
    kubectl.apply(applied)
    found = requested_action.wanted({"name": "single"}, where)
    assert found["spec"] == {"nodeName": "cp-a", "commands": [{"preflight": {}}]}
    assert where.needed("single")["spec"] == found["spec"]
    freeze.freeze(found, facts(node("cp-a")))


@pytest.mark.parametrize(
    ("kind", "spec", "named"),
    [
        ("Task", {"nodeName": "cp-a", "commands": [{"pass": {}}], "recoveryMode": "Retry"}, "spec.recoveryMode"),
        ("Action", {"renewCertificates": {}, "executionMode": "Manual"}, "spec.executionMode"),
        ("Action", {"renewCertificates": {}, "paused": "yes"}, "spec.paused"),
        ("TaskGroup", {"nodeSelector": {}, "maxUnavailable": "some"}, "spec.maxUnavailable"),
        ("Action", {"upgrade": "v1.21.0"}, "spec.upgrade"),
    ],
)
def test_the_api_server_refuses_what_a_run_would(
    kubectl: Kubectl, kubernetes_store: KubernetesStore, kind: str, spec: Object, named: str
) -> None:
    said = kubectl("apply", "-f", "-", stdin=str(document(kind, "first", spec)).replace("'", '"'), code=1)
    assert named in said
