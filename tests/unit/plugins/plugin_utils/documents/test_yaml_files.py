# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pathlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.documents import yaml_files
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.documents.scalars import (
    format_duration,
    parse_duration,
    resolve_plain,
)

OBJECT = "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\n"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0644", 420),
        ("0o644", 420),
        ("0x1F", 31),
        ("08", 8),
        ("1_000", 1000),
        ("1e3", 1000),
        ("1.20", 1.2),
        ("-7", -7),
        ("+7", 7),
        ("2024-01-01", "2024-01-01"),
        ("2024-01-01T00:00:00Z", "2024-01-01T00:00:00Z"),
        ("190:20:30", "190:20:30"),
        ("10.96.0.0/12", "10.96.0.0/12"),
        ("v1.20.2", "v1.20.2"),
        ("1.20.2", "1.20.2"),
        ("yes", True),
        ("Off", False),
        ("~", None),
        ("-", "-"),
        (".", "."),
    ],
)
def test_plain_scalars_mean_what_they_mean_to_kubernetes(text: str, value: object) -> None:
    found = resolve_plain(text)
    assert found == value
    assert type(found) is type(value)


def test_quoted_scalars_are_text() -> None:
    documents, violations = yaml_files.read_text(OBJECT + "a: '0644'\nb: \"yes\"\nc: !!str 5\nd: |\n  1\n", "f.yaml")
    assert not violations
    assert {key: documents[0].data[key] for key in "abcd"} == {"a": "0644", "b": "yes", "c": "5", "d": "1\n"}


def test_nothing_is_templated() -> None:
    documents, _violations = yaml_files.read_text(OBJECT + 'a: \'{{ lookup("env", "HOME") }}\'\n', "f.yaml")
    assert documents[0].data["a"] == '{{ lookup("env", "HOME") }}'


def test_a_field_is_found_on_its_line() -> None:
    text = OBJECT + "spec:\n  files:\n    - path: /a\n    - path: /b\n  labels:\n    a.b/c: x\n"
    document = yaml_files.read_text(text, "f.yaml")[0][0]
    assert document.locate("spec.files[1].path") == "f.yaml:7"
    assert document.locate('spec.labels["a.b/c"]') == "f.yaml:9"
    assert document.locate("spec.files[7].path") == "f.yaml:6"


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("a: [", 2, "not YAML"),
        ("a: 1\nb: 2\na: 3\n", 3, "'a' is written twice"),
        ("[1, 2]", 1, "not a mapping"),
        ("just text", 1, "not a mapping"),
        ("kind: Cluster\nmetadata: {name: a}", 1, "no apiVersion"),
        ("apiVersion: 1\nkind: Cluster\nmetadata: {name: a}", 1, "no apiVersion"),
        ("apiVersion: v1\nmetadata: {name: a}", 1, "no kind"),
        ("apiVersion: v1\nkind: Secret\nmetadata: {generateName: a-}", 1, "no metadata.name"),
        ("apiVersion: v1\nkind: Secret\nmetadata: {name: 5}", 1, "no metadata.name"),
        ("apiVersion: v1\nkind: List\nitems: []", 1, "list of objects"),
        (OBJECT + "a: *x", 4, "no anchor"),
        (OBJECT + "a: &x [*x]", 4, "contains itself"),
        (OBJECT + "a: !!python/object/apply:os.system ['true']", 4, "not supported"),
        (OBJECT + "a: !vault |\n  $ANSIBLE_VAULT;1.1;AES256", 4, "not supported"),
        (OBJECT + "a: .nan", 4, "not-a-number"),
        (OBJECT + "? [a]\n: b", 4, "key is not text"),
        (OBJECT + "5: b", 4, "key is not text"),
        (OBJECT + "yes: b", 4, "key is not text"),
        (OBJECT + "a: \x00", 4, "not YAML"),
    ],
)
def test_what_is_no_object_is_refused_with_its_line(text: str, line: int, words: str) -> None:
    documents, violations = yaml_files.read_text(text, "f.yaml")
    assert not documents
    assert len(violations) == 1
    assert words in violations[0].rule
    assert violations[0].source == f"f.yaml:{line}"


def test_one_bad_document_does_not_hide_the_others() -> None:
    documents, violations = yaml_files.read_text(OBJECT + "---\n- 1\n---\n" + OBJECT + "---\n\n---\n", "f.yaml")
    assert [document.line for document in documents] == [1, 7]
    assert len(violations) == 1


def test_a_syntax_error_never_quotes_the_manifest() -> None:
    _documents, violations = yaml_files.read_text(OBJECT + "stringData:\n  key: s3cr3t\n bad: [s3cr3t", "f.yaml")
    assert "s3cr3t" not in "".join(violation.text() for violation in violations)


def test_merge_keys_and_aliases_are_copied() -> None:
    text = OBJECT + "a: &x {p: 1, q: 2}\nb:\n  <<: *x\n  q: 3\nc: [*x, *x]\n"
    data = yaml_files.read_text(text, "f.yaml")[0][0].data
    assert data["b"] == {"p": 1, "q": 3}
    data["c"][0]["p"] = 9
    assert data["c"][1]["p"] == 1


@pytest.mark.parametrize(
    "text", ["[" * 5_000_000, "{" * 1_000_000, "- " * 1_000_000, "{a: " * 100_000], ids=str.__len__
)
def test_depth_is_bounded(text: str) -> None:
    documents, violations = yaml_files.read_text(text, "f.yaml")
    assert not documents
    assert [violation.rule for violation in violations] == ["the YAML is nested deeper than 64 levels"]


def test_aliases_cannot_explode() -> None:
    lines = ["a: &a [x, x, x, x, x, x, x, x, x]"]
    lines += [f"{chr(98 + n)}: &{chr(98 + n)} [{', '.join(['*' + chr(97 + n)] * 9)}]" for n in range(9)]
    documents, violations = yaml_files.read_text(OBJECT + "\n".join(lines), "f.yaml")
    assert not documents
    assert "expands to more than" in violations[0].rule


def test_files_that_cannot_be_read(tmp_path: pathlib.Path) -> None:
    large, binary = tmp_path / "large.yaml", tmp_path / "binary.yaml"
    large.write_bytes(b"#" * (yaml_files.MAX_BYTES + 1))
    binary.write_bytes(b"a: b\nc: \xff\xfe\n")
    rules = [yaml_files.read_file(str(path))[1][0].text() for path in (large, binary, tmp_path / "none.yaml", tmp_path)]
    assert "larger than 10 MB" in rules[0]
    assert "not UTF-8" in rules[1]
    assert f"{binary}:2" in rules[1]
    assert "No such file" in rules[2]
    assert "directory" in rules[3]


@given(st.text())
def test_any_text_gives_documents_or_violations(text: str) -> None:
    documents, violations = yaml_files.read_text(text, "f.yaml")
    assert not documents or not violations or isinstance(violations[0].text(), str)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("0", 0), ("90s", 90), ("1h30m", 5400), ("500ms", 0.5), ("-2m", -120), ("1.5h", 5400), ("4m0s", 240)],
)
def test_durations(text: str, seconds: float) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize("text", ["", "5", "10 m", "m", "1d", "1h-3m", "--1s", "+-1s"])
def test_what_is_no_duration(text: str) -> None:
    assert parse_duration(text) is None


@given(st.integers(min_value=0, max_value=2**31))
def test_durations_survive_writing(seconds: int) -> None:
    assert parse_duration(format_duration(seconds)) == seconds
