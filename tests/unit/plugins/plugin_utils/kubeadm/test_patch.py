# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a patch on a configuration means, and how its difference is told."""

from __future__ import annotations

import typing as t

from ansible_collections.kubeadm.control_plane.plugins.module_utils.common.violations import Report
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.kubeadm.configuration import (
    patch as configuration_patch,
)

CLUSTER = """\
apiServer:
  certSANs: [api.example.com]
  extraArgs: {audit-log-maxage: "7", authorization-mode: "Node,RBAC"}
  timeoutForControlPlane: 4m0s
apiVersion: kubeadm.k8s.io/v1beta2
kind: ClusterConfiguration
kubernetesVersion: v1.20.2
"""


def merged(patch: dict[str, t.Any], before: t.Optional[dict[str, t.Any]] = None) -> dict[str, t.Any]:
    """A patch on the stored configuration's hub form."""
    hub = configuration_patch.read_cluster_configuration(CLUSTER).hub if before is None else before
    report = Report("test")
    after = configuration_patch.merge_cluster_configuration(hub, patch, "p", report)
    assert report.violations == []
    return after


def arguments(after: dict[str, t.Any]) -> dict[str, str]:
    """The API server's arguments."""
    return {each["name"]: each["value"] for each in after["apiServer"]["extraArgs"]}


def test_arguments_are_merged_by_name_in_either_form() -> None:
    """A map or a list; null or $patch: delete removes one; the others stay."""
    for form in (
        {"audit-log-maxage": "30", "authorization-mode": None, "v": "3"},
        [
            {"name": "audit-log-maxage", "value": "30"},
            {"name": "authorization-mode", "$patch": "delete"},
            {"name": "v", "value": "3"},
        ],
    ):
        after = merged({"apiServer": {"extraArgs": form}})
        assert arguments(after) == {"audit-log-maxage": "30", "v": "3"}
        assert after["apiServer"]["certSANs"] == ["api.example.com"]


def test_repeated_arguments_take_the_place_of_all_of_their_name() -> None:
    """kubeadm v1beta4's arguments may repeat; a patch gives all values of a name."""
    before = {"apiServer": {"extraArgs": [{"name": "a", "value": "1"}, {"name": "b", "value": "2"}]}}
    patch = {"apiServer": {"extraArgs": [{"name": "a", "value": "x"}, {"name": "a", "value": "y"}]}}
    after = merged(patch, before)
    assert after["apiServer"]["extraArgs"] == [
        {"name": "a", "value": "x"},
        {"name": "a", "value": "y"},
        {"name": "b", "value": "2"},
    ]


def test_volumes_by_name_and_other_lists_as_a_whole() -> None:
    """As in Kubernetes' own patches, and RFC 7386 for the rest."""
    volume = {"name": "audit", "hostPath": "/etc/a", "mountPath": "/etc/a"}
    before = merged({"apiServer": {"extraVolumes": [volume, {**volume, "name": "other"}]}})
    after = merged(
        {"apiServer": {"extraVolumes": [{"name": "audit", "$patch": "delete"}], "certSANs": ["b.example.com"]}}, before
    )
    assert [each["name"] for each in after["apiServer"]["extraVolumes"]] == ["other"]
    assert after["apiServer"]["certSANs"] == ["b.example.com"]
    assert "certSANs" not in merged({"apiServer": {"certSANs": None}})["apiServer"]


def test_a_patch_applied_twice_is_applied_once() -> None:
    """What makes a killed run's second half safe."""
    patch = {
        "apiServer": {"extraArgs": {"v": "3", "audit-log-maxage": None}, "certSANs": ["a.example.com"]},
        "featureGates": {"IPv6DualStack": True},
    }
    once = merged(patch)
    assert merged(patch, once) == once


def test_the_difference_in_words_hides_what_may_be_secret() -> None:
    """Paths always, values of secrets and of environment variables never."""
    before = {"apiServer": {"extraArgs": [{"name": "v", "value": "1"}]}}
    after = {
        "apiServer": {
            "extraArgs": [
                {"name": "oidc-client-secret", "value": "s3cr3tvalue"},
                {"name": "tls-private-key-file", "value": "/a/key"},
                {"name": "v", "value": "2"},
            ],
            "extraEnvs": [{"name": "TOKEN", "value": "s3cr3tvalue"}],
            "certSANs": ["a"],
        }
    }
    lines = configuration_patch.changes(before, after, "clusterConfiguration")
    assert 'clusterConfiguration.apiServer.extraArgs.v: "1" -> "2"' in lines
    assert 'clusterConfiguration.apiServer.certSANs: not set -> ["a"]' in lines
    assert 'clusterConfiguration.apiServer.extraArgs.tls-private-key-file: not set -> "/a/key"' in lines
    assert "s3cr3tvalue" not in "\n".join(lines)
    assert len(lines) == 5


def test_the_forms_that_manifests_have() -> None:
    """Lists of arguments in v1beta2, a map before; secrets in neither."""
    sections = {
        "apiServer": {
            "certSANs": ["a"],
            "extraArgs": [{"name": "v", "value": "2"}, {"name": "oidc-client-secret", "value": "s3cr3tvalue"}],
            "extraEnvs": [{"name": "TOKEN", "value": "s3cr3tvalue"}],
        },
        "scheduler": None,
    }
    shown = configuration_patch.without_secrets(sections)
    assert "s3cr3tvalue" not in str(shown)
    assert shown["apiServer"]["certSANs"] == ["a"]
    assert shown["apiServer"]["extraArgs"][0] == {"name": "v", "value": "2"}
    classic = configuration_patch.without_secrets(configuration_patch.classic(sections))
    assert classic["apiServer"]["extraArgs"] == {"v": "2", "oidc-client-secret": "(not shown)"}
    assert "s3cr3tvalue" not in str(classic)
