# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""kubeadm-config in a real API server: check mode, diff, idempotence, and others who write at the same time."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from interloper import CUT, CUT_AFTERWARDS, FORWARD, REFUSE, Interloper
from kubeadm_values import CLUSTER_STATUS
from tasks import Playbook, Task

from ansible_collections.kubeadm.control_plane.plugins.module_utils.workload_api import compare_and_swap

from .conftest import SYSTEM, Workload

PATH = f"{SYSTEM}/configmaps/kubeadm-config"
NOWHERE = "/api/v1/namespaces/nowhere/configmaps"
NEIGHBOUR = f"{SYSTEM}/configmaps/neighbour"
CONFIGURATION = """\
apiServer:
  extraArgs:
    v: "2"
  timeoutForControlPlane: 4m0s
apiVersion: kubeadm.k8s.io/v1beta2
clusterName: prod
dns:
  type: CoreDNS
etcd:
  local:
    dataDir: /var/lib/etcd
featureGates:
  IPv6DualStack: true
imageRepository: k8s.gcr.io
kind: ClusterConfiguration
kubernetesVersion: v1.20.2
networking: {}
ourOwn: kept
scheduler: {}
"""
SCHEDULER = {"scheduler": {"extraArgs": [{"name": "v", "value": "4"}]}}


@pytest.fixture(autouse=True)
def _config(workload: Workload) -> None:
    workload.config_map(
        "kubeadm-config", {"ClusterConfiguration": CONFIGURATION, "ClusterStatus": CLUSTER_STATUS, "theirs": "x"}
    )
    workload.config_map("neighbour", {})


def test_an_upgrade_in_check_mode_then_for_real_then_again(workload: Workload, playbook: Playbook) -> None:
    before = workload.version(PATH)
    options = {"kubernetes_version": "v1.24.17"}
    # The module's older name is redirected.
    look, checked = playbook.run(Task("kubeadm_config", {}), Task("kubeadm_config_map", options, check=True))
    assert workload.version(PATH) == before
    assert not look["changed"] and look["api_version"] == "kubeadm.k8s.io/v1beta2"
    assert look["configuration"]["apiServer"]["extraArgs"] == [{"name": "v", "value": "2"}]
    assert checked["changed"]
    [diff] = checked["diff"]
    assert "-kubernetesVersion: v1.20.2" in _difference(diff) and "+kubernetesVersion: v1.24.17" in _difference(diff)
    done, again = playbook.run(Task("kubeadm_config_map", options), Task("kubeadm_config_map", options))
    assert done["changed"] and done["diff"] == checked["diff"]
    assert any("IPv6DualStack is removed" in words for words in done["warnings"])
    assert not again["changed"] and again["api_version"] == "kubeadm.k8s.io/v1beta3"
    data = workload.data("kubeadm-config")
    assert data["theirs"] == "x" and data["ClusterStatus"] == CLUSTER_STATUS
    assert yaml.safe_load(data["ClusterConfiguration"]) == {
        **yaml.safe_load(CONFIGURATION),
        "apiVersion": "kubeadm.k8s.io/v1beta3",
        "dns": {},
        "featureGates": {},
        "imageRepository": "registry.k8s.io",
        "kubernetesVersion": "v1.24.17",
    }


def test_an_entry_of_cluster_status_is_removed(workload: Workload, playbook: Playbook) -> None:
    gone = {"api_endpoints": [{"name": "cp-2", "state": "absent"}]}
    done, again = playbook.run(Task("kubeadm_config_map", gone), Task("kubeadm_config_map", gone))
    assert done["changed"] and not again["changed"]
    data = workload.data("kubeadm-config")
    assert list(yaml.safe_load(data["ClusterStatus"])["apiEndpoints"]) == ["cp-1"]
    assert data["ClusterConfiguration"] == CONFIGURATION


def test_what_somebody_else_writes_in_between_is_kept(workload: Workload, playbook: Playbook, tmp_path: Path) -> None:
    def meddle(number: int, _path: str) -> str:
        if number <= 2:
            text = workload.data("kubeadm-config")["ClusterConfiguration"]
            other = text.replace("networking: {}", f"networking:\n  dnsDomain: from{number}.local").replace(
                "from1", "from2"
            )
            workload.patch(
                PATH, {"data": {"ClusterConfiguration": other}, "metadata": {"labels": {"try": str(number)}}}
            )
        return FORWARD

    with Interloper(workload.server, tmp_path, meddle) as interloper:
        [done] = playbook.run(Task("kubeadm_config_map", SCHEDULER), kubeconfig=interloper.kubeconfig)
    assert done["changed"] and interloper.writes == 3
    written = yaml.safe_load(workload.data("kubeadm-config")["ClusterConfiguration"])
    assert written["networking"] == {"dnsDomain": "from2.local"}
    assert written["scheduler"] == {"extraArgs": {"v": "4"}}


def test_somebody_who_writes_all_the_time_ends_it_with_an_error(
    workload: Workload, playbook: Playbook, tmp_path: Path
) -> None:
    def meddle(number: int, _path: str) -> str:
        workload.patch(PATH, {"metadata": {"labels": {"try": str(number)}}})
        return FORWARD

    with Interloper(workload.server, tmp_path, meddle) as interloper:
        [done] = playbook.run(Task("kubeadm_config_map", SCHEDULER), kubeconfig=interloper.kubeconfig)
    assert done["failed"] and not done["changed"] and interloper.writes == 5
    said = "in the last of 5 attempts another client changed or deleted what was to be written"
    assert said in done["msg"] and "the object has been modified" in done["msg"]
    assert workload.data("kubeadm-config")["ClusterConfiguration"] == CONFIGURATION


@pytest.mark.parametrize(
    ("verdict", "why"),
    [("429", "(HTTP 429)"), ("500", "(HTTP 500)"), ("503", "(HTTP 503)"), (CUT, "/kubeadm-config: ")],
)
def test_an_api_server_that_takes_no_write_is_no_other_client(
    workload: Workload, playbook: Playbook, tmp_path: Path, verdict: str, why: str
) -> None:
    with Interloper(workload.server, tmp_path, lambda _number, _path: verdict) as interloper:
        [done] = playbook.run(Task("kubeadm_config_map", SCHEDULER), kubeconfig=interloper.kubeconfig)
    assert done["failed"] and not done["changed"] and interloper.writes == 5
    assert "in the last of 5 attempts the API server did not confirm what was to be written" in done["msg"]
    assert why in done["msg"] and "another client" not in done["msg"]


@pytest.mark.parametrize("verdict", [CUT, CUT_AFTERWARDS])
def test_an_answer_that_is_lost_is_looked_up(
    workload: Workload, playbook: Playbook, tmp_path: Path, verdict: str
) -> None:
    with Interloper(workload.server, tmp_path, lambda number, _path: verdict if number == 1 else FORWARD) as interloper:
        [done] = playbook.run(Task("kubeadm_config_map", SCHEDULER), kubeconfig=interloper.kubeconfig)
    assert "failed" not in done or not done["failed"]
    assert yaml.safe_load(workload.data("kubeadm-config")["ClusterConfiguration"])["scheduler"] == {
        "extraArgs": {"v": "4"}
    }
    assert interloper.writes == (2 if verdict == CUT else 1)


def test_the_api_refusing_is_told(workload: Workload, playbook: Playbook, tmp_path: Path) -> None:
    with Interloper(workload.server, tmp_path, lambda _number, _path: REFUSE) as interloper:
        [done] = playbook.run(Task("kubeadm_config_map", SCHEDULER), kubeconfig=interloper.kubeconfig)
    assert done["failed"] and "you shall not" in done["msg"] and "0 of 1 changes were made" in done["msg"]


def test_bad_input_is_told_and_nothing_is_written(workload: Workload, playbook: Playbook) -> None:
    before = workload.version(PATH)
    results = playbook.run(
        Task("kubeadm_config_map", {"kubernetes_version": "1.22"}),
        Task("kubeadm_config_map", {"api_server": {"extraArg": {}}}),
        Task("kubeadm_config_map", {"feature_gates": {"IPv6DualStack": "perhaps"}}),
        Task("kubeadm_config_map", {"api_endpoints": [{"name": "cp-3"}]}),
        Task("kubeadm_config_map", {"etcd": {"external": {"endpoints": ["https://a:2379"]}}}),
        Task("kubeadm_config_map", {"cluster": "prod"}),
        Task("kubeadm_config_map", {"machine_id": "0123"}),
        Task("kubeadm_config_map", {"kubeconfig": "/nonexistent"}),
    )
    says = (
        "is not a version",
        "extraArgs",
        "IPv6DualStack must be true or false",
        "no advertise_address",
        "can't become external",
        "cluster and store go together",
        "Wrong machine",
        "/nonexistent can't be used",
    )
    for result, words in zip(results, says):
        assert result["failed"] and words in result["msg"], result
    assert workload.version(PATH) == before
    workload.delete(PATH)
    [missing] = playbook.run(Task("kubeadm_config_map", {}))
    assert missing["failed"] and "there is no ConfigMap kube-system/kubeadm-config" in missing["msg"]


def test_several_patches_of_one_object_follow_each_other(workload: Workload) -> None:
    first = workload.version(PATH)
    patches = [compare_and_swap.Write(PATH, "merge", {"data": {"n": str(number)}}, first) for number in (1, 2)]
    elsewhere = compare_and_swap.Write(NEIGHBOUR, "merge", {"data": {"n": "3"}}, "1")
    with workload.server.client() as client:
        done = compare_and_swap.write(client, [*patches, elsewhere, patches[0]])
    assert done.count == 2 and NEIGHBOUR in done.conflict and "HTTP 409" in done.conflict
    assert workload.data("kubeadm-config")["n"] == "2" and workload.data("neighbour") == {}


def test_what_was_deleted_was_another_clients_and_what_has_no_namespace_is_refused(workload: Workload) -> None:
    nowhere = compare_and_swap.Write(NOWHERE, compare_and_swap.CREATE, {"metadata": {"name": "n"}})
    deleted = compare_and_swap.Write(f"{PATH}-none", "merge", {"data": {"n": "1"}}, "1")
    with workload.server.client() as client:
        assert "HTTP 404" in compare_and_swap.write(client, [deleted]).conflict
        assert "HTTP 404" in compare_and_swap.write(client, [nowhere]).refused


def test_objects_are_read_and_written_by_hand(workload: Workload, playbook: Playbook) -> None:
    read = {"read": [{"path": PATH, "keep": ["data.theirs"]}, {"path": f"{PATH}-none"}]}
    patch = {
        "path": PATH,
        "method": "merge",
        "document": {"data": {"theirs": "y"}},
        "resource_version": workload.version(PATH),
    }
    found, checked, done, late, secret = playbook.run(
        Task("workload_objects", read),
        Task("workload_objects", {"write": [patch]}, check=True),
        Task("workload_objects", {"write": [patch]}),
        Task("workload_objects", {"write": [patch]}),
        Task("workload_objects", {"read": [{"path": f"{SYSTEM}/secrets/x"}]}),
    )
    assert found["objects"][f"{PATH}-none"] is None
    assert found["objects"][PATH]["data"] == {"theirs": "x"} and "managedFields" not in json.dumps(found)
    assert checked["changed"] and checked["written"] == 0
    assert done["changed"] and done["written"] == 1 and done["conflict"] == done["unconfirmed"] == ""
    assert not late["changed"] and "HTTP 409" in late["conflict"]
    assert secret["failed"] and "Secrets are neither read nor written" in secret["msg"]
    assert workload.data("kubeadm-config")["theirs"] == "y"


def _difference(diff: dict[str, str]) -> str:
    before, after = (set(diff[name].splitlines()) for name in ("before", "after"))
    return "\n".join([*(f"-{line}" for line in before - after), *(f"+{line}" for line in after - before)])
