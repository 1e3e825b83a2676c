# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every stable name that a decision can carry is explained in docs/reference/decision.md."""

from __future__ import annotations

import re
from pathlib import Path

from ansible_collections.kubeadm.control_plane.plugins.module_utils.decision import decide, names

SOURCES = Path(decide.__file__).parent
PAGE = Path(__file__).parents[5].joinpath("docs", "reference", "decision.md").read_text(encoding="utf-8")
REASON = re.compile(r"""(?:reason|block|Trouble|remove_joiner)\((?:[a-zA-Z_.()]+,\s*)*\s*"([A-Z][A-Za-z]+)\"""")
LITERAL = re.compile(r'"([A-Z][a-z]+(?:[A-Z][a-z]*)+)"')


def test_actions_and_consents_are_explained() -> None:
    for name in (*names.ACTIONS, names.ANNOTATION_IGNORE_WORKER_NODES, names.ANNOTATION_ENDPOINT_UNUSED):
        assert f"`{name}`" in PAGE


def test_reasons_are_explained() -> None:
    found: set[str] = set()
    for file in ("decide", "deletion", "growth", "outcome", "plan", "preflight", "removal", "trouble"):
        text = SOURCES.joinpath(f"{file}.py").read_text(encoding="utf-8")
        found |= set(REASON.findall(text)) | set(LITERAL.findall(text))
    not_reasons = {
        "NodesReady",
        "APIServerPodHealthy",
        "ControllerManagerPodHealthy",
        "EtcdPodHealthy",
        "EtcdMemberHealthy",
        "NodeHealthy",
        "RemoteConnectionProbe",
        "DoesNotExist",
        "EtcdLearnerMode",
    }
    assert len(found) > 40
    assert sorted(name for name in found - not_reasons if f"`{name}`" not in PAGE) == []
