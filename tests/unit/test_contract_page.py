# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The page of the contract: every rule has a test, every test that it names exists, and clusterctl's metadata are there."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml

TESTS = Path(__file__).resolve().parents[1]
PAGE = TESTS.parent / "docs" / "contract.md"
TEXT = PAGE.read_text(encoding="utf-8")
SHORT = dict(re.findall(r"`([A-Z])` is\s+`([a-z_/]+)`", TEXT))
NAMED = sorted(set(re.findall(r"`([\w/]+\.py)::(test_\w+)`", TEXT)))
# The table of upstream's contract, in its order.
RULES = [
    "All resources: scope",
    "All resources: TypeMeta and ObjectMeta",
    "All resources: APIVersion",
    "ControlPlane, ControlPlaneList",
    "ControlPlane: endpoint",
    "ControlPlane: replicas",
    "ControlPlane: version",
    "ControlPlane: machines",
    "ControlPlane: initialization completed",
    "ControlPlane: conditions",
    "ControlPlane: terminal failures",
    "ControlPlaneTemplate, ControlPlaneTemplateList",
    "Cluster kubeconfig management",
    "Cluster certificate management",
    "Machine placement",
    "Metadata propagation",
    "MinReadySeconds and UpToDate propagation",
    "Support for running multiple instances",
    "Clusterctl support",
    "ControlPlane: pausing",
]


def rows(heading: str) -> list[list[str]]:
    """The cells of the table below a heading, without its head."""
    part = TEXT.split(f"\n## {heading}\n", 1)[1].split("\n## ", 1)[0]
    lines = [line for line in part.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[2:]]


def test_every_rule_has_its_row() -> None:
    assert [row[0] for row in rows("The contract's table")] == RULES


@pytest.mark.parametrize(
    "heading",
    [
        "The contract's table",
        "What else other tools rely on",
        "Conditions",
        "Terminal failures",
        "What v1beta2 of the contract changes",
        "Beside Cluster API",
    ],
)
def test_every_row_has_a_test(heading: str) -> None:
    found = rows(heading)
    assert found
    for row in found:
        assert re.search(r"`[\w/]+\.py::test_\w+`", row[-1]), f"{row[0]}: a row without a test is a bug"


@pytest.mark.parametrize(("file", "name"), NAMED, ids=lambda each: each)
def test_what_is_named_exists(file: str, name: str) -> None:
    """In the file that it is said to be in."""
    first, _slash, rest = file.partition("/")
    path = TESTS / SHORT.get(first, first) / rest
    assert re.search(rf"^\s*def {name}\(", path.read_text(encoding="utf-8"), re.MULTILINE), f"{path} has no {name}"


def test_metadata_of_the_release_series() -> None:
    """clusterctl's provider contract: a series for each release whose definitions keep the contract, this one's too."""
    root = TESTS.parent
    # What is installed has a manifest instead of what it was built from.
    manifest = root / "MANIFEST.json"
    about = (
        json.loads(manifest.read_text())["collection_info"]
        if manifest.exists()
        else yaml.safe_load((root / "galaxy.yml").read_text())
    )
    version = str(about["version"])
    metadata = yaml.safe_load((root / "metadata.yaml").read_text(encoding="utf-8"))
    assert (metadata["apiVersion"], metadata["kind"]) == ("clusterctl.cluster.x-k8s.io/v1alpha3", "Metadata")
    series = [(each["major"], each["minor"]) for each in metadata["releaseSeries"]]
    assert series == sorted(set(series)) and {each["contract"] for each in metadata["releaseSeries"]} == {"v1beta2"}
    major, minor = (int(part) for part in version.split(".")[:2])
    assert (major, minor) <= series[-1], "a new release series needs its line in metadata.yaml"
