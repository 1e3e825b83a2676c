# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Two manifests of a static pod compared: what differs, what is secret, what the machine lacks."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest

from ansible_collections.kubeadm.control_plane.plugins.module_utils.node.components.rendered_manifests import (
    differences,
    keep_first_start,
    missing_files,
    words_of,
)

Object = dict[str, t.Any]
ETCD = """\
spec:
  containers:
  - command:
    - etcd
    - --data-dir=/var/lib/etcd
    - --initial-cluster=a=https://10.0.0.1:2380
    - --name=a
"""
JOINED = ETCD.replace(
    "    - --initial-cluster=a=https://10.0.0.1:2380\n",
    "    - --initial-cluster=a=https://10.0.0.1:2380,b=https://10.0.0.2:2380\n    - --initial-cluster-state=existing\n",
)


def pod(*flags: str, **container: t.Any) -> Object:
    """A static pod with these flags."""
    spec: Object = {key: container.pop(key) for key in ("volumes", "hostNetwork") if key in container}
    own = {"name": "kube-apiserver", "command": ["kube-apiserver", *flags], **container}
    return {"metadata": {"name": "kube-apiserver", "creationTimestamp": None}, "spec": {"containers": [own], **spec}}


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (pod("--a=1"), pod("--a=1"), []),
        (pod("--b=2", "--a=1"), pod("--a=1", "--b=2"), []),
        (pod("--a=1"), pod("--a=2", "--b"), ["--a: '1' -> '2'", "--b: not set -> 'true'"]),
        (pod("--a=1", "--a=2"), pod("--a=1"), ["--a: '1,2' -> '1'"]),
        (pod("--token-key=s3cr3t"), pod("--token-key=other"), ["--token-key: (not shown) -> (not shown)"]),
        (pod("--tls-key-file=/a"), pod("--tls-key-file=/b"), ["--tls-key-file: '/a' -> '/b'"]),
        (
            pod(env=[{"name": "A", "value": "s3cr3t"}]),
            pod(env=[{"name": "A", "value": "other"}]),
            ["environment variable A: (not shown) -> (not shown)"],
        ),
        (pod(image="k8s.gcr.io/x:1"), pod(image="other/x:1"), ['container image: "k8s.gcr.io/x:1" -> "other/x:1"']),
        (pod(hostNetwork=True), pod(), ["pod hostNetwork: true -> not set"]),
        (pod("--initial-cluster=a", "--initial-cluster-state=existing"), pod("--initial-cluster=b"), []),
    ],
)
def test_what_differs(before: Object, after: Object, said: list[str]) -> None:
    """By flag and field; order means nothing, values that may be secret are not told."""
    assert differences(before, after) == said


def test_volumes_by_name() -> None:
    """Mounts and volumes come one by one."""
    volume = {"name": "audit", "hostPath": {"path": "/etc/audit"}}
    mount = {"name": "audit", "mountPath": "/etc/audit"}
    lines = differences(pod(), pod(volumes=[volume], volumeMounts=[mount]))
    assert [line.partition(":")[0] for line in lines] == ["mount audit at /etc/audit", "volume audit"]


def test_the_command_line() -> None:
    """Command and arguments together."""
    assert words_of(pod("--a=1", args=["--b"])) == ["kube-apiserver", "--a=1", "--b"]


def test_what_etcd_knows_of_its_first_start_stays() -> None:
    """One that joined must not begin a cluster of its own; one that began it keeps its own line."""
    rendered = ETCD.replace("/var/lib/etcd", "/var/lib/etcd\n    - --quota-backend-bytes=1")
    kept = keep_first_start(rendered, JOINED)
    assert kept == JOINED.replace("/var/lib/etcd", "/var/lib/etcd\n    - --quota-backend-bytes=1")
    assert keep_first_start(rendered, ETCD) == rendered
    assert keep_first_start("nothing\n", JOINED) == "nothing\n"


def test_files_that_a_machine_lacks(tmp_path: Path) -> None:
    """Those that are new in the manifest: what was there before was good enough."""
    policy = str(tmp_path / "audit" / "policy.yaml")
    flag = f"--audit-policy-file={policy}"
    volumes = [{"name": "audit", "hostPath": {"path": str(tmp_path / "audit"), "type": "Directory"}}]
    mounts = [{"name": "audit", "mountPath": str(tmp_path / "audit")}]
    after = pod(flag, volumes=volumes, volumeMounts=mounts)
    assert [each.partition(" ")[0] for each in missing_files(after, pod())] == ["the", flag]
    assert "extraVolumes" in missing_files(pod(flag), pod())[0]
    assert missing_files(pod(flag), pod(flag)) == []
    (tmp_path / "audit").mkdir()
    (tmp_path / "audit" / "policy.yaml").touch()
    assert missing_files(after, pod()) == []


def test_a_file_in_a_folder_that_is_mounted_elsewhere(tmp_path: Path) -> None:
    """It is looked for where the machine has it; what the component makes itself is not."""
    volumes = [{"name": "audit", "hostPath": {"path": str(tmp_path)}}]
    mounts = [{"name": "audit", "mountPath": "/in/the/pod"}]
    after = pod("--audit-policy-file=/in/the/pod/policy.yaml", volumes=volumes, volumeMounts=mounts)
    assert f"{tmp_path}/policy.yaml" in missing_files(after, pod())[0]
    (tmp_path / "policy.yaml").touch()
    assert missing_files(after, pod()) == []
    assert missing_files(pod("--audit-log-path=/var/log/audit.log"), pod()) == []
