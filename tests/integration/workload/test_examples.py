# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The examples in the documentation of the modules that edit a workload cluster, run as they are written."""

from __future__ import annotations

import ast
import typing as t
from pathlib import Path

import pytest
import yaml
from tasks import PREFIX, Playbook

from .conftest import APPS, SYSTEM, Workload

MODULES = Path(__file__).parents[3] / "plugins" / "modules"
CONFIGURATION = "apiVersion: kubeadm.k8s.io/v1beta2\nkind: ClusterConfiguration\nkubernetesVersion: v1.21.5\n"
COREFILE = ".:53 {\n    errors\n    forward . /etc/resolv.conf\n}\n"


def examples(module: str, kubeconfig: str) -> list[dict[str, t.Any]]:
    """A module's examples but those of a stored cluster, with another kubeconfig and as whoever runs the tests."""
    found: list[dict[str, t.Any]] = []
    for node in ast.parse((MODULES / f"{module}.py").read_text()).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "EXAMPLES":
            found = yaml.safe_load(ast.literal_eval(node.value))
    tasks = [{name: value for name, value in task.items() if name != "become"} for task in found]
    own = [task for task in tasks if PREFIX + module in task]
    for task in own:
        task[PREFIX + module] = {**(task[PREFIX + module] or {}), "kubeconfig": kubeconfig}
    return [task for task in tasks if "store" not in (task.get(PREFIX + module) or {})]


@pytest.mark.parametrize(
    "module",
    [
        "kubeadm_config_map",
        "kubelet_config_map",
        "apiserver_kubelet_client",
        "api_endpoints",
        "kube_proxy",
        "coredns",
        "workload_objects",
    ],
)
def test_they_run(workload: Workload, playbook: Playbook, module: str) -> None:
    workload.config_map("kubeadm-config", {"ClusterConfiguration": CONFIGURATION})
    workload.config_map("kubelet-config-1.20", {"kubelet": "x"})
    workload.config_map("coredns", {"Corefile": COREFILE})
    volume = {
        "name": "config-volume",
        "configMap": {"name": "coredns", "items": [{"key": "Corefile", "path": "Corefile"}]},
    }
    for kind, name, tag in (("daemonsets", "kube-proxy", ":v1.21.5"), ("deployments", "coredns", ":1.7.0")):
        pod = {"containers": [{"name": name, "image": f"k8s.gcr.io/{name}{tag}"}], "volumes": [volume]}
        template = {"metadata": {"labels": {"a": name}}, "spec": pod}
        annotations = {"deprecated.daemonset.template.generation": "1"}
        metadata = {"name": name, "annotations": annotations if kind == "daemonsets" else {}}
        spec = {"selector": {"matchLabels": {"a": name}}, "template": template}
        workload.put(f"{APPS}/{kind}", {"metadata": metadata, "spec": spec})
    output = playbook.play(examples(module, workload.server.kubeconfig))
    assert "failed=0" in output
    if module == "coredns":
        assert workload.data("coredns") == {"Corefile": COREFILE}
    if module == "workload_objects":
        assert (
            workload.there(f"{APPS}/daemonsets/kube-proxy")["metadata"]["annotations"]["example.org/checked"] == "yes"
        )
    assert workload.get(f"{SYSTEM}/configmaps/kubeadm-config") is not None
