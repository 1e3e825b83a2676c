# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is observed of add-ons, decided, and done by the modules fits together: after the step nothing of it is left to do."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
from builders import healthy
from filled_api import places
from stored_cluster import stored_cluster
from tasks import Playbook, Task

from ansible_collections.kubeadm.control_plane.plugins.module_utils.observe.collect import Looks, collect
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.decide import decide
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.observe.parse import parse

from .conftest import APPS, SYSTEM, Workload

VERSION = "v1.21.5"
COREFILE = ".:53 {\n    errors\n    forward . /etc/resolv.conf\n}\n"
CONFIGURATION = "apiVersion: kubeadm.k8s.io/v1beta2\nkind: ClusterConfiguration\nkubernetesVersion: v1.21.5\n"
MODULES = {"kubeProxy": "kube_proxy", "dns": "coredns"}


@pytest.fixture(autouse=True)
def _installed(workload: Workload) -> None:
    """The add-ons as kubeadm 1.20 installs them, each beside a container of the user's."""
    workload.config_map("kubeadm-config", {"ClusterConfiguration": CONFIGURATION})
    workload.config_map("coredns", {"Corefile": COREFILE})
    volume = {
        "name": "config-volume",
        "configMap": {"name": "coredns", "items": [{"key": "Corefile", "path": "Corefile"}]},
    }
    for kind, name, tag in (("daemonsets", "kube-proxy", "v1.20.2"), ("deployments", "coredns", "1.7.0")):
        containers = [
            {"name": "sidecar", "image": "example.org/sidecar:1"},
            {"name": name, "image": f"k8s.gcr.io/{name}:{tag}"},
        ]
        template = {"metadata": {"labels": {"a": name}}, "spec": {"containers": containers, "volumes": [volume]}}
        spec = {"selector": {"matchLabels": {"a": name}}, "template": template}
        workload.put(f"{APPS}/{kind}", {"metadata": {"name": name}, "spec": spec})


def decided(
    workload: Workload, tmp_path: Path, configuration: t.Mapping[str, t.Any], annotations: t.Mapping[str, str]
) -> dict[str, t.Any]:
    """The decision for three machines that want nothing else, on what the real API server says of the add-ons."""
    observed = parse(collect(Looks(1, 0.1, 5.0), None, places(workload.server, tmp_path)), "m1")
    assert observed["reachable"], observed["message"]
    builder = healthy(0, replicas=3).wants(version=VERSION)
    builder.spec["kubeadmConfigSpec"]["clusterConfiguration"] = dict(configuration)
    for number in range(1, 4):
        builder.machine(f"m{number}")
    builder.snapshot["controlPlane"]["metadata"]["annotations"].update(annotations)
    builder.workload["addons"] = observed["addons"]
    return decide(builder.build())


@pytest.mark.parametrize(
    ("configuration", "annotations", "expected"),
    [
        ({}, {}, ["kubeProxy"]),
        ({"imageRepository": "example.org/k8s/"}, {}, ["kubeProxy", "dns"]),
        ({"dns": {"imageTag": "v1.8.0"}}, {}, ["kubeProxy", "dns"]),
        ({"dns": {"imageRepository": "example.org", "imageTag": "v1.8.6"}}, {}, ["kubeProxy", "dns"]),
        ({"dns": {"imageTag": "v1.8.0"}}, {"controlplane.cluster.x-k8s.io/skip-coredns": ""}, ["kubeProxy"]),
        ({"dns": {"imageTag": "v1.8.0"}}, {"controlplane.cluster.x-k8s.io/skip-kube-proxy": ""}, ["dns"]),
    ],
)
def test_after_the_step_nothing_of_it_is_left(
    workload: Workload,
    tmp_path: Path,
    configuration: dict[str, t.Any],
    annotations: dict[str, str],
    expected: list[str],
) -> None:
    first = decided(workload, tmp_path, configuration, annotations)
    assert (first["action"], first["target"]["addons"]) == ("updateAddons", expected)
    store = tmp_path / "store"
    stored_cluster(store, VERSION, configuration, annotations, machines={"m1": "node"})
    hosts = {"prod": {}, "node": {}}
    playbook = Playbook(tmp_path, workload.server.kubeconfig, workload.server.kubectl, hosts)
    common = {"cluster": "prod", "store": {"path": str(store)}}
    done = playbook.run(*(Task(MODULES[name], common) for name in first["target"]["addons"]))
    assert all(each["changed"] for each in done), done.items
    for each in done:
        assert f"{each['image']} is wanted" in first["reasons"][0]["message"]
    assert decided(workload, tmp_path, configuration, annotations)["action"] == "none"


def test_a_coredns_without_its_config_map_is_somebody_elses(workload: Workload, tmp_path: Path) -> None:
    """The module would do nothing, so nothing is decided: a step without effect would be taken for ever."""
    workload.delete(f"{SYSTEM}/configmaps/coredns")
    assert decided(workload, tmp_path, {"dns": {"imageTag": "v1.8.0"}}, {})["target"]["addons"] == ["kubeProxy"]
