# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Our definitions are Cluster API's, field by field; where they differ, the contract's page says why."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.crds import definitions, structural_schema

ROOT = Path(__file__).resolve().parents[2]
FACTS = (ROOT / "docs" / "reference" / "cluster_api_fields.md").read_text(encoding="utf-8")
CONTRACT = (ROOT / "docs" / "contract.md").read_text(encoding="utf-8")
KINDS = ("KubeadmControlPlane", "KubeadmConfig", "Cluster", "Machine", "MachineHealthCheck")
CONFIG, EVERY = "KubeadmConfigSpec", "Every kind"
# Where the definitions have what a section of the page is about.
PLACES = {
    CONFIG: [("KubeadmControlPlane", "spec.kubeadmConfigSpec"), ("KubeadmConfig", "spec")],
    EVERY: [(kind, "") for kind in KINDS],
    **{kind: [(kind, "")] for kind in KINDS},
}
LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
SUBDOMAIN = rf"{LABEL}(\.{LABEL})*"
PATTERNS = {
    f"^{SUBDOMAIN}$": "name",
    "^[a-zA-Z]([-a-zA-Z0-9]*[a-zA-Z0-9])?$": "kind",
    f"^({SUBDOMAIN}/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$": "condition",
    rf"^({SUBDOMAIN}\/)?([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$": "key",
    "^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$": "value",
    r"^\[[0-9]+-[0-9]+\]$": "range",
}
UNIQUE = re.compile(r"self\.all\(x, self\.exists_one\(y, x\.(\w+) == y\.\1\)\)")
BOUNDS = (("length", "minLength", "maxLength"), ("entries", "minItems", "maxItems"), ("range", "minimum", "maximum"))
# The first word of a limit, where it is not its name.
NAMES = {"not": "not empty", "one": "one of", "none": "none of"}
Limits = dict[str, str]
Difference = tuple[str, str]


def flat(schema: dict[str, Any], path: str = "") -> Iterator[tuple[str, Limits]]:
    """Each field of a schema with its limits, as the page words them."""
    yield path or ".", limits_of(schema)
    for name, field in schema.get("properties", {}).items():
        yield from flat(field, f"{path}.{name}".lstrip("."))
    for key, mark in (("items", "[]"), ("additionalProperties", "{}")):
        if isinstance(schema.get(key), dict):
            yield from flat(schema[key], path + mark)


def limits_of(schema: dict[str, Any]) -> Limits:
    found = {"type": type_of(schema)}
    for name, least, most in BOUNDS:
        low, high = schema.get(least), schema.get(most)
        # Nothing is shorter than nothing.
        low = None if low == 0 and least != "minimum" else low
        if low is not None or high is not None:
            found[name] = f"{'' if low is None else low}..{'' if high is None else high}"
    if schema.get("x-kubernetes-list-type") == "map":
        found["keys"] = " ".join(schema["x-kubernetes-list-map-keys"])
    if schema.get("x-kubernetes-map-type"):
        found["whole"] = ""
    if schema.get("required"):
        found["needs"] = " ".join(sorted(schema["required"]))
    elif schema.get("minProperties"):
        found["not empty"] = ""
    if schema.get("enum"):
        found["one of"] = " ".join(schema["enum"])
    if "pattern" in schema:
        found["pattern"] = PATTERNS.get(schema["pattern"], schema["pattern"])
    if "default" in schema:
        found["default"] = str(schema["default"])
    if schema.get("x-kubernetes-preserve-unknown-fields"):
        found["open"] = ""
    for each in schema.get("x-kubernetes-validations", ()):
        found.update(rule_of(each["rule"]))
    return found


def type_of(schema: dict[str, Any]) -> str:
    if schema.get("x-kubernetes-int-or-string"):
        return "int-or-text"
    kind = str(schema.get("type", "any"))
    if kind == "string":
        return "time" if schema.get("format") == "date-time" else "text"
    return str(schema["format"]) if kind == "integer" else kind


def rule_of(rule: str) -> Limits:
    if unique := UNIQUE.fullmatch(rule):
        return {"unique": unique.group(1)}
    if rule.startswith("!(self in ["):
        return {"none of": " ".join(re.findall(r"'(\w+)'", rule))}
    return {"rule": rule}


def sections() -> dict[str, str]:
    return dict(re.findall(r"^## (.+?)\n\n```text\n(.*?)```", FACTS, re.MULTILINE | re.DOTALL))


def upstream(section: str) -> dict[str, Limits]:
    """Each field of a section of the page with its limits."""
    found: dict[str, Limits] = {}
    text = re.sub(r"\n  ", " ", sections()[section]).replace("| ", "|")
    for line in text.splitlines():
        path, _colon, said = line.partition(": ")
        kind, *limits = said.split("; ")
        read = {"type": kind}
        for limit in limits:
            word, _space, _rest = limit.partition(" ")
            name = NAMES.get(word, word)
            read[name] = limit[len(name) :].strip()
        parts = [each.strip("()").split("|") for each in re.split(r"(\([^)]*\))", path)]
        found.update({"".join(chosen): read for chosen in itertools.product(*parts)})
    return found


def definition(kind: str, minor: int = structural_schema.LIMITS_SINCE_MINOR) -> dict[str, Any]:
    (found,) = [each for each in definitions.KINDS if each.name == kind]
    served: dict[str, Any] = definitions.definition(found, minor)["spec"]["versions"][0]
    return served


def ours(kind: str, prefix: str) -> dict[str, Limits]:
    found = dict(flat(definition(kind)["schema"]["openAPIV3Schema"]))
    if not prefix:
        return found
    below = {path: limits for path, limits in found.items() if path == prefix or path.startswith(f"{prefix}.")}
    return {path[len(prefix) :].lstrip(".") or ".": limits for path, limits in below.items()}


def differences() -> set[Difference]:
    """(section: field, limit) of all that differs."""
    found: set[Difference] = set()
    known: dict[str, set[str]] = {kind: {"apiVersion", "kind", "metadata"} for kind in KINDS}
    for section, places in PLACES.items():
        facts = upstream(section)
        for kind, prefix in places:
            here = ours(kind, prefix)
            known[kind] |= {f"{prefix}.{path}".strip(".") for path in facts} | {".", prefix}
            for path in facts.keys() & here.keys():
                limits = facts[path].keys() | here[path].keys()
                found |= {
                    (f"{section}: {path}", limit) for limit in limits if facts[path].get(limit) != here[path].get(limit)
                }
    for kind in KINDS:
        for path in ours(kind, "").keys() - known[kind]:
            part = path.removeprefix("spec.kubeadmConfigSpec." if kind == "KubeadmControlPlane" else "spec.")
            inside = kind in ("KubeadmControlPlane", "KubeadmConfig") and part != path
            found.add((f"{CONFIG}: {part}" if inside else f"{kind}: {path}", "only here"))
    for kind in KINDS:
        found |= {(f"{kind}: column {name}", limit) for name, limit in columns(kind)}
    return found


def columns(kind: str) -> Iterator[tuple[str, str]]:
    part = FACTS.split(f"\n## {kind}\n", 1)[1].split("\n## ", 1)[0]
    theirs = part.split("```text\n")[2].split("```")[0].splitlines()
    made = [
        f"{each['name']}{' (wide)' if each.get('priority') else ''}: {each['type']} {each['jsonPath']}"
        for each in definition(kind)["additionalPrinterColumns"]
    ]
    yield from ((line.partition(":")[0], "not here") for line in theirs if line not in made)
    yield from ((line.partition(":")[0], "only here") for line in made if line not in theirs)
    shared = [line for line in theirs if line in made]
    assert shared == [line for line in made if line in theirs], f"{kind}: columns in another order"


def rows() -> list[tuple[list[str], list[str], str]]:
    """(patterns of fields, limits, reason) of each row of the contract's page."""
    part = CONTRACT.split("\n## Where the definitions differ\n", 1)[1].split("\n## ", 1)[0]
    lines = [line for line in part.splitlines() if line.startswith("| ")][2:]
    cells = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]
    return [(re.findall(r"`([^`]+)`", cell[0]), cell[1].split(", "), cell[2]) for cell in cells]


def matches(pattern: str, field: str) -> bool:
    section, path = pattern.split(": ", 1)
    wanted = "|".join(re.escape(f"{section}: {part}").replace(r"\*", ".*") for part in path.split(", "))
    return re.fullmatch(wanted, field) is not None


DIFFERENCES = differences()
ROWS = rows()


def test_every_difference_has_its_reason() -> None:
    unsaid = {
        f"{field} ({limit})"
        for field, limit in DIFFERENCES
        if not any(
            limit in limits and any(matches(pattern, field) for pattern in patterns) for patterns, limits, _why in ROWS
        )
    }
    assert unsaid == set(), "in docs/contract.md, 'Where the definitions differ', is no row for these"


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0][0])
def test_every_row_is_a_difference(row: tuple[list[str], list[str], str]) -> None:
    patterns, limits, why = row
    assert why
    for pattern in patterns:
        assert any(limit in limits and matches(pattern, field) for field, limit in DIFFERENCES), pattern
    for limit in limits:
        found = [field for field, each in DIFFERENCES if each == limit]
        assert any(matches(pattern, field) for pattern in patterns for field in found), limit


def test_most_fields_have_their_facts() -> None:
    """An empty page would differ in nothing."""
    for section, least in ((CONFIG, 150), ("KubeadmControlPlane", 40), ("Machine", 50), ("Cluster", 30)):
        place = PLACES[section][0]
        assert len(upstream(section).keys() & ours(*place).keys()) >= least


def test_templates_have_what_their_kind_has() -> None:
    """But what each control plane has for itself."""
    own = ours("KubeadmControlPlane", "spec")
    template = ours("KubeadmControlPlaneTemplate", "spec.template.spec")
    for path, limits in template.items():
        dropped = {"needs", "not empty", "rule"}
        assert {key: value for key, value in limits.items() if key not in dropped} == {
            key: value
            for key, value in own[path].items()
            if key not in {*dropped, *({"range"} if "Retry" in path else ())}
        }, path
    absent = {path for path in own.keys() - template.keys() if not path.startswith("machineTemplate.spec.")}
    assert absent == {"replicas", "version"}
    config = ours("KubeadmConfigTemplate", "spec.template.spec")
    assert config == ours("KubeadmConfig", "spec")


@pytest.mark.parametrize("kind", KINDS)
def test_an_older_api_server_is_told_types_alone(kind: str) -> None:
    """It would refuse the status of what was stored before the limits came; what it was told before, it still is."""
    schema = definition(kind, structural_schema.LIMITS_SINCE_MINOR - 1)["schema"]["openAPIV3Schema"]
    new = {"length", "entries", "unique", "none of", "whole", "not empty"}
    assert [path for path, limits in flat(schema) if new & limits.keys()] == []
