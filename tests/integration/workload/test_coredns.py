# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""CoreDNS in a real API server: at no moment does its Deployment name a Corefile that its image can't read."""

from __future__ import annotations

import copy
import typing as t
from pathlib import Path

import pytest
import yaml
from interloper import FORWARD, REFUSE, Interloper
from tasks import Playbook, Task

from ansible_collections.kubeadm.control_plane.plugins.module_utils.workload_api import compare_and_swap
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.workload import coredns
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.workload.writes import Plan

from .conftest import APPS, SYSTEM, Workload

DEPLOYMENT, CONFIG_MAP = f"{APPS}/deployments/coredns", f"{SYSTEM}/configmaps/coredns"
ROLES = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
CONFIGURATION = "apiVersion: kubeadm.k8s.io/v1beta2\ndns:\n  type: CoreDNS\nkind: ClusterConfiguration\n"
OLD = """\
.:53 {
    errors
    health
    kubernetes cluster.local in-addr.arpa ip6.arpa {
        pods insecure
        upstream
        fallthrough in-addr.arpa ip6.arpa
    }
    prometheus :9153
    proxy . /etc/resolv.conf
    cache 30
    loop
    reload
    loadbalance
}
"""
# By hand, from the rules.
NEW = """\
.:53 {
    errors
    health {
        lameduck 5s
    }
    kubernetes cluster.local in-addr.arpa ip6.arpa {
        pods insecure
        fallthrough in-addr.arpa ip6.arpa
    }
    prometheus :9153
    forward . /etc/resolv.conf {
        max_concurrent 1000
    }
    cache 30
    loop
    reload
    loadbalance
    ready
}
"""
OLD_IMAGE, NEW_IMAGE = "k8s.gcr.io/coredns:1.3.1", "k8s.gcr.io/coredns/coredns:v1.8.4"
OPTIONS = {"image_tag": "v1.8.4", "kubernetes_version": "v1.22.0"}
WANTED = coredns.Wanted(kubernetes_version="v1.22.0", image_tag="v1.8.4")
ITEMS = [{"key": "Corefile", "path": "Corefile"}, {"key": "example.db", "path": "example.db"}]


@pytest.fixture(autouse=True)
def _before(workload: Workload) -> None:
    put_coredns(workload)


def put_coredns(workload: Workload) -> None:
    """CoreDNS as kubeadm 1.14 leaves it, with one more file of the user's."""
    workload.config_map("kubeadm-config", {"ClusterConfiguration": CONFIGURATION})
    workload.config_map("coredns", {"Corefile": OLD, "example.db": "$ORIGIN example.org."})
    secret = [{"name": "PASSWORD", "value": "a-password-of-the-user"}]
    pod = {
        "containers": [
            {"name": "coredns", "image": OLD_IMAGE, "env": secret, "args": ["-conf", "/etc/coredns/Corefile"]}
        ],
        "volumes": [{"name": "config-volume", "configMap": {"name": "coredns", "items": ITEMS, "defaultMode": 420}}],
        "tolerations": [
            {"key": "CriticalAddonsOnly", "operator": "Exists"},
            {"key": "node-role.kubernetes.io/master", "effect": "NoSchedule"},
        ],
    }
    labels = {"k8s-app": "kube-dns"}
    template = {"metadata": {"labels": labels}, "spec": pod}
    spec = {"replicas": 2, "selector": {"matchLabels": labels}, "template": template}
    workload.put(f"{APPS}/deployments", {"metadata": {"name": "coredns"}, "spec": spec})
    rules = [{"apiGroups": [""], "resources": ["endpoints", "services"], "verbs": ["list", "watch"]}]
    workload.put(ROLES, {"metadata": {"name": "system:coredns"}, "rules": rules})


def pod(workload: Workload) -> dict[str, t.Any]:
    """The Deployment's pod."""
    return dict(workload.there(DEPLOYMENT)["spec"]["template"]["spec"])


def running(workload: Workload) -> tuple[str, str]:
    """The image and the Corefile with which a CoreDNS that starts now would run."""
    template = pod(workload)
    items = template["volumes"][0]["configMap"]["items"]
    [key] = [each["key"] for each in items if each["path"] == "Corefile"]
    return template["containers"][0]["image"], workload.data("coredns")[key]


def migrated(workload: Workload) -> None:
    """Everything is as it is to be at the end, and nothing else has changed."""
    assert running(workload) == (NEW_IMAGE, NEW)
    data = workload.data("coredns")
    assert data == {"Corefile": NEW, "Corefile-backup": OLD, "example.db": "$ORIGIN example.org."}
    template = pod(workload)
    assert template["volumes"][0]["configMap"] == {"name": "coredns", "items": ITEMS, "defaultMode": 420}
    assert [each["key"] for each in template["tolerations"]] == [
        "CriticalAddonsOnly",
        "node-role.kubernetes.io/master",
        "node-role.kubernetes.io/control-plane",
    ]
    assert template["containers"][0]["env"][0]["value"] == "a-password-of-the-user"
    [endpoints, slices] = workload.there(f"{ROLES}/system:coredns")["rules"]
    assert endpoints["resources"] == ["endpoints", "services"] and slices["resources"] == ["endpointslices"]
    configuration = yaml.safe_load(workload.data("kubeadm-config")["ClusterConfiguration"])
    assert configuration["dns"] == {"type": "CoreDNS", "imageTag": "v1.8.4"}


def test_check_mode_then_for_real_then_again(workload: Workload, playbook: Playbook) -> None:
    before = [workload.version(path) for path in (DEPLOYMENT, CONFIG_MAP)]
    [checked] = playbook.run(Task("coredns", OPTIONS, check=True))
    assert [workload.version(path) for path in (DEPLOYMENT, CONFIG_MAP)] == before
    results = playbook.run(Task("coredns", OPTIONS), Task("coredns", OPTIONS))
    done, again = results
    migrated(workload)
    assert checked["changed"] and done["changed"] and not again["changed"]
    assert checked["diff"] == done["diff"] and done["image"] == again["image"] == NEW_IMAGE
    assert {each["before_header"] for each in done["diff"]} == {
        "ConfigMap kube-system/kubeadm-config, key ClusterConfiguration",
        "ClusterRole system:coredns",
        "ConfigMap kube-system/coredns, key Corefile",
        "Deployment kube-system/coredns",
    }
    assert "1.5.0: plugin proxy becomes forward (CoreDNS removed proxy)" in done["corefile_changes"]
    assert "a-password-of-the-user" not in results.output


def plan(workload: Workload) -> Plan:
    """What is to be written now."""
    with workload.server.client() as client:
        return coredns.plan(compare_and_swap.read(client, coredns.READS), WANTED)


def test_whenever_it_is_interrupted_coredns_can_start_and_the_next_run_completes_it(workload: Workload) -> None:
    everything = plan(workload).writes
    assert len(everything) == 6
    for count in range(1, len(everything)):
        put_coredns(workload)
        writes = plan(workload).writes
        with workload.server.client() as client:
            assert compare_and_swap.write(client, writes[:count]).count == count
            assert running(workload) in ((OLD_IMAGE, OLD), (NEW_IMAGE, NEW))
            rest = plan(workload).writes
            assert len(rest) <= len(everything) - count + 1
            assert compare_and_swap.write(client, rest) == compare_and_swap.Written(len(rest))
        migrated(workload)
        assert plan(workload).writes == ()


def test_somebody_who_edits_the_corefile_meanwhile_is_heard(
    workload: Workload, playbook: Playbook, tmp_path: Path
) -> None:
    edited = OLD.replace("cache 30", "cache 60")

    def meddle(number: int, path: str) -> str:
        # Right before the new Corefile is written.
        if number == 5:
            assert path == CONFIG_MAP
            workload.patch(CONFIG_MAP, {"data": {"Corefile": edited}})
        return FORWARD

    with Interloper(workload.server, tmp_path, meddle) as interloper:
        [done] = playbook.run(Task("coredns", OPTIONS), kubeconfig=interloper.kubeconfig)
    assert done["changed"] and any("was changed meanwhile" in words for words in done["warnings"])
    assert running(workload) == (NEW_IMAGE, NEW.replace("cache 30", "cache 60"))
    assert workload.data("coredns")["Corefile-backup"] == OLD


def test_a_refusal_in_the_middle_says_how_far_it_came(workload: Workload, playbook: Playbook, tmp_path: Path) -> None:
    with Interloper(workload.server, tmp_path, lambda number, _path: REFUSE if number == 5 else FORWARD) as interloper:
        [stopped] = playbook.run(Task("coredns", OPTIONS), kubeconfig=interloper.kubeconfig)
    assert stopped["failed"] and stopped["changed"] and "4 of 6 changes were made" in stopped["msg"]
    assert running(workload) == (OLD_IMAGE, OLD)
    [done] = playbook.run(Task("coredns", OPTIONS))
    assert done["changed"]
    migrated(workload)


def test_what_is_refused_writes_nothing(workload: Workload, playbook: Playbook) -> None:
    before = [workload.version(path) for path in (DEPLOYMENT, CONFIG_MAP)]
    results = playbook.run(
        Task("coredns", {"image_tag": "1.2.6"}),
        Task("coredns", {"image_tag": "v1.8.2"}),
        Task("coredns", {"image_tag": "latest"}),
        Task("coredns", {"image_tag": "v1.8.4", "kubernetes_version": "new"}),
    )
    for result, words in zip(
        results, ("older than 1.3.1", "none of the releases", "'latest'", "'new' is not a version")
    ):
        assert result["failed"] and words in result["msg"]
    assert [workload.version(path) for path in (DEPLOYMENT, CONFIG_MAP)] == before


def test_another_registry_alone_leaves_the_corefile(workload: Workload, playbook: Playbook) -> None:
    before = copy.deepcopy(workload.data("coredns"))
    [done] = playbook.run(Task("coredns", {"image_repository": "example.org/dns"}))
    assert done["changed"] and done["image"] == "example.org/dns/coredns:1.3.1"
    assert workload.data("coredns") == before
    assert running(workload) == ("example.org/dns/coredns:1.3.1", OLD)
