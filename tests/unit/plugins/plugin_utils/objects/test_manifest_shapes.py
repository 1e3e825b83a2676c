# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every shape of real manifests, in each version that has it: read, or refused by a row of docs/manifest.md; nothing is lost without a word."""

from __future__ import annotations

import collections
import functools
import re
import typing as t
from pathlib import Path

import pytest
import yaml
from manifest_shapes import TABLE, Shape
from manifest_templates import VERSIONS, Object, manifest

from ansible_collections.kubeadm.control_plane.plugins.module_utils.common.violations import (
    ManifestError,
    Report,
    Violation,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects import kinds
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects.convert import whole_objects
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects.manifest.reader import (
    ClusterManifest,
    read_cluster,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects.manifest.unmanaged import summary_line

PAGE = Path(__file__).resolve().parents[5] / "docs" / "manifest.md"
CASES = [pytest.param(shape, version, id=f"{shape.name} {version}") for shape in TABLE for version in shape.versions]
READ = [case for case in CASES if not t.cast("Shape", case.values[0]).refused]


def read(documents: t.Sequence[Object], providers: t.Mapping[str, str]) -> ClusterManifest:
    text = yaml.dump_all(documents, Dumper=getattr(yaml, "CSafeDumper", yaml.SafeDumper), sort_keys=False)
    return read_cluster(["m"], "default", "prod", {**kinds.DEFAULT_PROVIDERS, **providers}, {"m": text})


def hubs(written: t.Sequence[Object]) -> list[Object]:
    """What the filter from_cluster_api gives, without Ansible."""
    report = Report("m")
    found = [whole_objects.object_to_hub(each, report) for each in written]
    assert report.violations == []
    return found


def carried_to(version: str, read_as: t.Sequence[Object], keep: bool) -> tuple[list[Object], list[Violation]]:
    """What the filter to_cluster_api gives of hubs, without Ansible: the objects and what they lose."""
    infrastructure = whole_objects.DEFAULT_INFRASTRUCTURE_VERSION
    converted = [whole_objects.from_hub(each, version, infrastructure, keep=keep) for each in read_as]
    return [each.object for each in converted], [loss for each in converted for loss in each.losses]


@functools.cache
def rows() -> dict[str, str]:
    """What docs/manifest.md refuses by name: each field of the table "Refused", with the table's reason."""
    table = PAGE.read_text().partition("\n### Refused\n")[2].partition("\n#")[0]
    cells = [
        [cell.strip() for cell in line.strip("|").split(" | ")] for line in table.splitlines() if line.startswith("| `")
    ]
    return {name: row[1] for row in cells for name in re.findall(r"`([^`]+)`", row[0])}


def is_of(violation: Violation, row: str) -> bool:
    """Whether a refusal is the one of a row: its field, its kind of object, or the text that the row shows."""
    if row[:2] in ("{{", "{%"):
        return row[:2] in f"{violation.value} {violation.rule}"
    if row in (kinds.KUBEADM_CONTROL_PLANE, kinds.SECRET):
        return violation.object.startswith(f"{row} ") and violation.path == "metadata.name"
    name = row.partition(":")[0].rpartition("spec.")[2].removeprefix("files[].")
    at_its_path = re.search(rf"(^|\.){re.escape(name)}($|[.\[])", violation.path) is not None
    # In v1beta2 flags are entries of lists.
    return at_its_path or name.replace("-", " ") in violation.rule


def objects(found: ClusterManifest) -> list[Object]:
    return [
        found.cluster,
        found.control_plane,
        found.machine_template,
        found.infrastructure_cluster,
        *found.secrets,
        *found.health_checks,
    ]


@pytest.mark.parametrize(("shape", "version"), CASES)
def test_it_is_read_or_refused_for_a_reason_of_the_page(shape: Shape, version: str) -> None:
    if shape.refused:
        assert rows().get(shape.refused), f"docs/manifest.md has no row for {shape.refused}"
        with pytest.raises(ManifestError) as error:
            read(shape.documents(version), shape.infrastructure.providers)
        assert [str(each) for each in error.value.violations if not is_of(each, shape.refused)] == []
        assert all(each.rule and each.fix for each in error.value.violations)
        return
    found = read(shape.documents(version), shape.infrastructure.providers)
    bare = read(manifest(version, shape.infrastructure), shape.infrastructure.providers)
    assert [shape.warning in each for each in found.warnings] == ([True] if shape.warning else [])
    assert summary_line(found.unmanaged).rpartition(": ")[2] == shape.left
    # Nothing is accepted and then ignored but what the table says.
    assert (objects(found)[:4] != objects(bare)[:4]) == shape.kept


@pytest.mark.parametrize(("shape", "version"), READ)
def test_a_round_trip_loses_nothing_without_a_word(shape: Shape, version: str) -> None:
    """Through every version and back: what one has no place for is named, or kept beside it where that is asked for."""
    found = hubs(objects(read(shape.documents(version), shape.infrastructure.providers)))
    carried = found
    for other in (*VERSIONS, *reversed(VERSIONS)):
        written, _losses = carried_to(other, carried, keep=True)
        carried = hubs(written)
    assert carried == found
    for other in VERSIONS:
        there, losses = carried_to(other, found, keep=False)
        # Every loss, by its path.
        assert [str(each) for each in losses if not ("has no place" in str(each) or ": spec." in str(each))] == []
        assert losses or hubs(there) == found


def figures() -> str:
    """What becomes of the cases, as the page shows it."""
    outcomes = collections.Counter(t.cast("Shape", case.values[0]).outcome for case in CASES)
    return "\n".join(f"| {outcome} | {count} |" for outcome, count in sorted(outcomes.items()))


def test_the_page_has_the_figures() -> None:
    assert len(CASES) >= 60 and figures() in PAGE.read_text(), figures()
