# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every stable name that a decision can carry is explained in docs/reference/decision.md, and nothing else is.

What random decisions carry is looked up there, too: test_invariants.py.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

from builders import healthy
from decision_page import PAGE, checks, table

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision import decide, terms
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects import kinds

SOURCES = Path(decide.__file__).parent
TEXT = "\n".join(file.read_text(encoding="utf-8") for file in sorted(SOURCES.rglob("*.py")))
NAME = re.compile(r"[A-Z][A-Za-z]+")
# Where names are that a decision's reasons and checks are made of; conditions have names of their own.
RULES = (
    *(
        "addons",
        "adoption",
        "decide",
        "whole_control_plane",
        "foundation",
        "gates",
        "growth",
        "existing_hosts",
        "leadership",
        "outcome",
        "steps",
        "preflight",
        "replacement",
        "bootstrap",
        "left_behind",
        "resource_sets",
        "node_network",
    ),
    *("hooks", "one_machine", "retry", "scaling", "selection", "skew", "stray", "trouble", "second_witness"),
)
CONDITIONS = {
    *(
        "APIServerPodHealthy",
        "ControllerManagerPodHealthy",
        "EtcdPodHealthy",
        "EtcdMemberHealthy",
        "NodeReady",
        "Ready",
    ),
    *("HealthCheckSucceeded", "OwnerRemediated", "NodeKubeadmLabelsAndTaintsSet", "RemoteConnectionProbe", "Available"),
    *("ControlPlaneEndpointReachable", "Deleting", "UpToDate", "Initialized", "SchedulerPodHealthy"),
}
# Reasons of conditions, gates of kubeadm, parts of texts, and the group under which remediation's checks fail.
OTHERS = {
    "Applied",
    # In place of a name that can't be typed.
    "HOST",
    # Types of addresses.
    "Hostname",
    "InternalDNS",
    "InternalIP",
    "NotApplied",
    "WrongSecretType",
    "InternalError",
    "DoesNotExist",
    "EtcdLearnerMode",
    "WaitingForRemediation",
    "Provisioning",
    "Failed",
    "Remediation",
    "NodesReady",
    "CORRUPT",
    "Names",
    "ImagePull",
    "Released",
    "Add",
}


def literals(source: str) -> set[str]:
    """Every text in a source file that could be a stable name."""
    nodes = ast.walk(ast.parse(source))
    texts = {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    return {text for text in texts if NAME.fullmatch(text)}


def test_actions_and_consents_are_explained() -> None:
    assert table("Actions") == set(terms.ACTIONS)
    consents = (
        kinds.ANNOTATION_IGNORE_WORKER_NODES,
        kinds.ANNOTATION_ENDPOINT_UNUSED,
        kinds.ANNOTATION_ALLOW_PATCH_DOWNGRADE,
        kinds.ANNOTATION_DELETE_MACHINE,
        kinds.ANNOTATION_REMEDIATE_MACHINE,
    )
    for name in consents:
        assert f"`{name}" in PAGE


def test_every_name_in_the_rules_is_explained() -> None:
    found: set[str] = set()
    for file in RULES:
        found |= literals(next(SOURCES.rglob(f"{file}.py")).read_text(encoding="utf-8"))
    assert len(found) > 80
    assert sorted(found - CONDITIONS - OTHERS - table("Reasons") - checks()) == []


def test_no_name_is_explained_that_is_gone() -> None:
    assert sorted(name for name in table("Reasons") | checks() if f'"{name}"' not in TEXT) == []


def test_fields_are_explained() -> None:
    section = PAGE.partition("| Field | Content |")[2].partition("\n## ")[0]
    first = " ".join(line.split("|")[1] for line in section.splitlines() if line.startswith("| `"))
    fields = set(re.findall(r"`([A-Za-z]+)(?:\[\])?`", first))
    assert fields | {"decisionVersion"} == set(decide.decide(healthy(3).build()))
