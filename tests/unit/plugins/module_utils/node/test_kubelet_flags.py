# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which fields of its configuration a kubelet's own flags outweigh."""

from __future__ import annotations

import subprocess
import typing as t
from pathlib import Path

import pytest

from ansible_collections.kubeadm.control_plane.plugins.module_utils.node.components import kubelet_flags

WORDS = [
    "--config=/var/lib/kubelet/config.yaml",
    "--eviction-hard=memory.available<100Mi",
    "--max_pods",
    "90",
    "--fail-swap-on",
    "--feature-gates=A=true, B=false",
    "--v=2",
]


@pytest.mark.parametrize(
    ("field", "flag"),
    [
        ("maxPods", "max-pods"),
        ("evictionHard.memory.available", "eviction-hard"),
        ("cpuCFSQuotaPeriod", "cpu-cfs-quota-period"),
        ("clusterDNS", "cluster-dns"),
        ("cgroupsPerQOS", "cgroups-per-qos"),
        ("kubeAPIQPS", "kube-api-qps"),
        ("makeIPTablesUtilChains", "make-iptables-util-chains"),
        ("imageGCHighThresholdPercent", "image-gc-high-threshold"),
        ("podPidsLimit", "pod-max-pids"),
        ("authentication.anonymous.enabled", "anonymous-auth"),
        ("serverTLSBootstrap", "rotate-server-certificates"),
        ("tlsMinVersion", "tls-min-version"),
        ("kubeReservedCgroup", "kube-reserved-cgroup"),
        ("logging.verbosity", "v"),
    ],
)
def test_the_flag_of_a_field(field: str, flag: str) -> None:
    assert kubelet_flags.flag(field) == flag


def test_what_is_outweighed_is_told_with_its_flag() -> None:
    """In both of the forms that a command line may have; a map of gates only where the gate itself is named."""
    fields = [
        "maxPods",
        "evictionHard.memory.available",
        "failSwapOn",
        "featureGates.B",
        "featureGates.C",
        "podsPerCore",
    ]
    assert kubelet_flags.outweighed(WORDS, fields) == [
        "evictionHard.memory.available by --eviction-hard",
        "failSwapOn by --fail-swap-on",
        "featureGates.B by --feature-gates",
        "maxPods by --max-pods",
    ]
    assert kubelet_flags.outweighed([], fields) == []


@pytest.mark.parametrize(("pid", "words"), [("7", WORDS), ("8", []), ("0", []), ("", [])])
def test_the_words_are_those_of_the_unit_that_runs(tmp_path: Path, pid: str, words: list[str]) -> None:
    """A kubelet that does not run has none: to mend it is what the change may be for."""
    (tmp_path / "7").mkdir()
    (tmp_path / "7" / "cmdline").write_bytes("\0".join(["/usr/bin/kubelet", *WORDS]).encode() + b"\0")

    def runner(command: t.Sequence[str]) -> subprocess.CompletedProcess[str]:
        assert list(command) == ["systemctl", "show", "kubelet.service", "--property=MainPID"]
        return subprocess.CompletedProcess(list(command), 0, f"MainPID={pid}\n", "")

    assert kubelet_flags.flags_of_kubelet("kubelet", str(tmp_path), runner) == words
