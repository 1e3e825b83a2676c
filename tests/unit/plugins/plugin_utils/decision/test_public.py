# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A snapshot that may be kept: nothing secret in it, and the same decisions."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from builders import Builder, healthy
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.decide import decide
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.snapshot.public import (
    digest,
    public_snapshot,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.snapshot.typed_snapshot import (
    check_snapshot,
)

TOKEN = "abcdef.0123456789abcdef"
HEX = "0123456789abcdef" * 4


def config(secret: str) -> dict[str, Any]:
    """A KubeadmConfigSpec that holds a secret wherever one can be."""
    return {
        "clusterConfiguration": {
            "apiServer": {
                "extraArgs": [{"name": "v", "value": "2"}, {"name": "some-password", "value": secret}],
                "extraEnvs": [{"name": "HTTPS_PROXY", "value": secret}],
            },
            "etcd": {"local": {"extraEnvs": [{"name": "X", "value": secret}]}},
            "certificatesDir": "/etc/kubernetes/pki",
        },
        "initConfiguration": {
            "bootstrapTokens": [{"token": secret, "description": f"password={secret}"}],
            "certificateKey": secret,
            "nodeRegistration": {"taints": [], "kubeletExtraArgs": [{"name": "cgroup-driver", "value": "cgroupfs"}]},
        },
        "joinConfiguration": {
            "discovery": {"bootstrapToken": {"token": secret}, "tlsBootstrapToken": secret},
            "nodeRegistration": {"taints": []},
        },
        "files": [
            {"path": "/etc/app", "content": secret, "permissions": "0600"},
            {"path": "/etc/empty", "content": ""},
        ],
        "users": [{"name": "u", "passwd": secret, "sshAuthorizedKeys": [secret], "shell": "/bin/sh"}],
        "preKubeadmCommands": ["true", secret],
        "postKubeadmCommands": [secret],
        "kubeletConfiguration": {"staticPodURLHeader": {"X-Token": [secret]}, "failSwapOn": False},
        "ntp": {"servers": [secret]},
        "format": "cloud-config",
        "verbosity": 3,
    }


def holding(secret: str, machines: str = "") -> Builder:
    """Three machines made from a spec that holds a secret; ``machines``: they were made with another one."""
    builder = healthy(3)
    builder.wants(kubeadmConfigSpec=config(secret))
    for number, entry in enumerate(builder.snapshot["machines"]):
        spec = config(machines or secret)
        spec.pop("joinConfiguration" if number == 0 else "initConfiguration")
        if number:
            spec["joinConfiguration"]["controlPlane"] = {}
        entry["kubeadmConfig"]["spec"] = spec
        entry["machine"]["metadata"]["annotations"]["example.org/note"] = secret
        entry["infrastructureMachine"]["spec"] = {"userData": secret, "providerID": "x"}
        entry["infrastructureMachine"]["status"]["connection"] = {"host": "10.0.0.1", "password": secret}
        entry["machine"]["status"]["connection"] = {"host": "10.0.0.1", "password": secret}
    metadata = builder.snapshot["controlPlane"]["metadata"]
    metadata["annotations"]["kubectl.kubernetes.io/last-applied-configuration"] = json.dumps({"content": secret})
    metadata["managedFields"] = [secret]
    builder.snapshot["machineTemplate"]["spec"]["template"]["spec"] = {"cloudInit": [secret]}
    builder.snapshot["infrastructureCluster"]["spec"] = {"credentials": {"key": secret}}
    return builder


@pytest.mark.parametrize("builder", [healthy(3), holding("s3cret"), holding("s3cret", "another"), holding(TOKEN)])
def test_decisions_are_the_same(builder: Builder) -> None:
    snapshot = builder.build()
    public = public_snapshot(snapshot)
    assert check_snapshot(public) == []
    assert decide(public) == decide(snapshot)
    assert snapshot == builder.build()


def test_what_differs_still_differs() -> None:
    changed = public_snapshot(holding(TOKEN, "fedcba.fedcba9876543210").build())
    assert decide(changed)["action"] == "join"
    assert decide(public_snapshot(holding(TOKEN).build()))["action"] == "none"


SECRETS = st.text(alphabet=st.characters(min_codepoint=33, max_codepoint=0x2FF), min_size=12, max_size=40).map(
    lambda text: f"#{text}#"
)


@settings(max_examples=100)
@given(
    SECRETS | st.sampled_from([TOKEN, HEX, f"-----BEGIN RSA PRIVATE KEY-----\n{HEX}\n-----END RSA PRIVATE KEY-----"])
)
def test_no_secret_survives(secret: str) -> None:
    public = public_snapshot(holding(secret).build())
    text = json.dumps(public, ensure_ascii=False)
    assert secret not in text and json.dumps(secret, ensure_ascii=False)[1:-1] not in text
    assert digest(secret) in text


@settings(max_examples=50)
@given(SECRETS)
def test_a_public_snapshot_stays_as_it_is(secret: str) -> None:
    public = public_snapshot(holding(secret).build())
    assert public_snapshot(public) == public


def test_what_is_not_secret_stays_readable() -> None:
    spec = public_snapshot(holding("s3cret-s3cret").build())["controlPlane"]["spec"]["kubeadmConfigSpec"]
    assert spec["files"][0]["path"] == "/etc/app" and spec["files"][1]["content"] == ""
    assert spec["users"][0]["name"] == "u" and spec["users"][0]["shell"] == "/bin/sh"
    assert spec["clusterConfiguration"]["apiServer"]["extraArgs"][0] == {"name": "v", "value": "2"}
    assert spec["clusterConfiguration"]["certificatesDir"] == "/etc/kubernetes/pki"
    assert spec["initConfiguration"]["nodeRegistration"]["taints"] == []
    assert spec["kubeletConfiguration"]["failSwapOn"] is False and spec["verbosity"] == 3


def test_own_annotations_stay_and_messages_lose_what_looks_secret() -> None:
    builder = healthy(3).annotate("kubeadm.control-plane/min-ready-seconds", "60")
    builder.annotate("controlplane.cluster.x-k8s.io/remediation-in-progress", "{}").unreachable(
        f"kubeadm join --token {TOKEN}"
    )
    public = public_snapshot(builder.build())
    assert sorted(public["controlPlane"]["metadata"]["annotations"]) == [
        "controlplane.cluster.x-k8s.io/remediation-in-progress",
        "kubeadm.control-plane/min-ready-seconds",
    ]
    assert TOKEN not in public["workload"]["message"] and "kubeadm join" in public["workload"]["message"]


def test_a_changed_template_still_shows() -> None:
    """Whatever a provider's object holds, a plan can tell that it was changed."""
    builder = holding("s3cret")
    before = public_snapshot(builder.build())["machineTemplate"]["spec"]
    other = copy.deepcopy(builder)
    other.snapshot["machineTemplate"]["spec"]["template"]["spec"]["memory"] = 4
    assert public_snapshot(other.build())["machineTemplate"]["spec"] != before
