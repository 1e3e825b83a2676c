# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest

from ansible_collections.kubeadm.control_plane.plugins.module_utils.common.violations import (
    ManifestError,
    Report,
    Violation,
    child,
    item,
    steps,
)


def test_the_text_of_a_violation() -> None:
    violation = Violation("Cluster default/a", "spec.x", 5, "this is wrong", "Write 6.", "a.yaml:3")
    assert violation.text() == "a.yaml:3: Cluster default/a: spec.x: this is wrong (found: 5). Write 6."
    assert Violation("a.yaml", "", None, "not YAML", "Fix it.", "a.yaml:3").text() == "a.yaml:3: not YAML. Fix it."
    assert "(found: true)" in Violation("o", "p", True, "r", "f").text()
    assert len(Violation("o", "p", "x" * 10_000, "r", "f").text()) < 200


@pytest.mark.parametrize(
    "path",
    [
        'data["tls.key"]',
        "stringData.a",
        "spec.users[0].passwd",
        "spec.files[3].content",
        "a.discovery.tlsBootstrapToken",
    ],
)
def test_a_secret_is_never_a_value(path: str) -> None:
    assert Violation("o", path, "s3cr3t", "r", "f").value is None
    assert Violation("o", "spec.files", ["s3cr3t"], "r", "f").value is None


def test_paths() -> None:
    path = item(child("spec", "labels", "a.b/c"), 2)
    assert path == 'spec.labels["a.b/c"][2]'
    assert steps(path) == ["spec", "labels", "a.b/c", 2]


def test_a_report_speaks_in_written_paths_and_not_twice() -> None:
    report = Report("o", lambda path: f"f:{len(path)}")
    report.moved("spec.rollout", "spec")
    report.moved("spec.rollout.after", "spec.upgradeAfter")
    report.add("spec.rollout.after", None, "r", "f")
    report.add("spec.rollout.after", None, "r", "f")
    report.add("spec.rolloutX", None, "r", "f")
    report.unreadable("spec.bad", None, "r", "f")
    report.add("spec.bad.inner", None, "r", "f")
    assert [violation.path for violation in report.violations] == ["spec.upgradeAfter", "spec.rolloutX", "spec.bad"]
    assert report.violations[0].source == "f:17"
    with pytest.raises(ManifestError, match="3 problems, nothing was changed"):
        raise ManifestError(report.violations)
