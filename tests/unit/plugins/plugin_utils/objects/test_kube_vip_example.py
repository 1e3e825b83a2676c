# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The example of an endpoint that kube-vip holds: what reaches a machine, and whose kubeconfig kube-vip reads there."""

from __future__ import annotations

import base64
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects import bootstrap_data
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects.instance_data.machine_configuration import (
    machine_configuration,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects.manifest.reader import read_cluster

EXAMPLE = Path(__file__).parents[5] / "examples" / "manifests" / "kube-vip.yaml"
POD = "/etc/kubernetes/manifests/kube-vip.yaml"
CERTIFICATES = {name: {"crt": name, "key": name} for name in ("ca", "etcd", "proxy", "sa")}


def bootstrap(kind: str) -> dict[str, Any]:
    """The bootstrap data of a machine of the example."""
    read = read_cluster([str(EXAMPLE)], "default", "prod")
    control_plane, endpoint = read.control_plane, read.infrastructure_cluster["spec"]["controlPlaneEndpoint"]
    machine = {"metadata": {"name": "prod-1"}, "spec": {"version": control_plane["spec"]["version"]}}
    kept = {"spec": bootstrap_data.config_spec(control_plane, kind)}
    configuration = machine_configuration(kept, machine, None, lambda name, key: b"", machine["spec"]["version"])
    common = (read.cluster, control_plane, configuration, machine, endpoint, CERTIFICATES)
    if kind == "init":
        return bootstrap_data.init_data(*common)
    return bootstrap_data.join_data(*common, token="abcdef.0123456789abcdef", ca_cert_hashes=["sha256:" + "0" * 64])


def pod_of(data: dict[str, Any]) -> str:
    [content] = [base64.b64decode(each["content"]).decode() for each in data["files"] if each["path"] == POD]
    return content


def test_the_pod_holds_the_endpoint_of_the_manifest() -> None:
    """By kube-vip's names of its settings, on the host's network, with the API server of its own host."""
    spec = yaml.safe_load(pod_of(bootstrap("join")))["spec"]
    [container] = spec["containers"]
    settings = {each["name"]: each["value"] for each in container["env"]}
    assert (settings["address"], settings["port"]) == ("192.0.2.10", "6443")
    assert {"vip_arp", "cp_enable", "vip_leaderelection"} <= {
        name for name, value in settings.items() if value == "true"
    }
    assert spec["hostNetwork"] and spec["hostAliases"] == [{"ip": "127.0.0.1", "hostnames": ["kubernetes"]}]
    assert container["securityContext"]["capabilities"]["add"] == ["NET_ADMIN", "NET_RAW"]


@pytest.mark.parametrize(
    ("kind", "version", "wanted"),
    [
        ("init", "v1.28.15", "admin.conf"),
        ("init", "v1.29.0", "super-admin.conf"),
        ("init", "v1.33.2", "super-admin.conf"),
        ("join", "v1.33.2", "admin.conf"),
    ],
)
def test_before_the_cluster_is_there_kube_vip_reads_super_admin(
    tmp_path: Path, kind: str, version: str, wanted: str
) -> None:
    """What the host's shell makes of it, in a folder of its own."""
    data = bootstrap(kind)
    pod = tmp_path / POD.lstrip("/")
    pod.parent.mkdir(parents=True)
    pod.write_text(pod_of(data))
    configuration = tmp_path / data["kubeadmArgs"][-1].lstrip("/")
    configuration.parent.mkdir(parents=True)
    configuration.write_text(data["config"])
    (tmp_path / "kubeadm").write_text(f"#!/bin/sh\necho {version}\n")
    (tmp_path / "kubeadm").chmod(0o755)
    for command in data["preKubeadmCommands"]:
        here = command.replace(f" {POD}", f" {pod}").replace("/run/kubeadm", f"{tmp_path}/run/kubeadm")
        environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
        subprocess.run(["sh", "-ec", here], env=environment, check=True)
    [volume] = yaml.safe_load(pod.read_text())["spec"]["volumes"]
    assert volume["hostPath"]["path"] == f"/etc/kubernetes/{wanted}"
    [mount] = yaml.safe_load(pod.read_text())["spec"]["containers"][0]["volumeMounts"]
    assert mount["mountPath"] == "/etc/kubernetes/admin.conf"
