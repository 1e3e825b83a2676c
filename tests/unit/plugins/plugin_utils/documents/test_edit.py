# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One scalar of a manifest's text: only its characters change, or nothing does."""

from __future__ import annotations

from pathlib import Path
from typing import Optional, Union

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.kubeadm.control_plane.plugins.module_utils.common.violations import ManifestError
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.documents.edit import Edit, set_scalar
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.documents.yaml_files import read_text

GOLDEN = Path(__file__).parent / "golden" / "edit"
AFTER = "2026-08-01T00:00:00Z"
OBJECT = "apiVersion: a/v1\nkind: K\nmetadata:\n  name: blue\n"


def edit(text: str, keys: str, value: Union[int, str], name: str = "blue") -> Edit:
    """The edit of the document of that name."""
    documents, problems = read_text(text, "f.yaml")
    assert not problems
    return set_scalar(text, next(each for each in documents if each.name == name), keys.split("."), value)


def refusal(text: str, keys: str = "spec.replicas", name: str = "blue") -> str:
    """Why it is refused."""
    with pytest.raises(ManifestError) as error:
        edit(text, keys, 5, name)
    return str(error.value)


@pytest.mark.parametrize(
    ("before", "after", "keys", "value", "name"),
    [
        ("two_clusters.before", "two_clusters.blue", "spec.replicas", 5, "blue"),
        ("two_clusters.before", "two_clusters.green", "spec.rollout.after", AFTER, "green"),
        ("flow.before", "flow.replicas", "spec.replicas", 11, "blue"),
        ("flow.before", "flow.after", "spec.rolloutAfter", AFTER, "blue"),
        ("v1alpha3.before", "v1alpha3.after", "spec.upgradeAfter", AFTER, "blue"),
    ],
)
@pytest.mark.parametrize("line_break", ["\n", "\r\n"])
def test_golden(before: str, after: str, keys: str, value: Union[int, str], name: str, line_break: str) -> None:
    """Every style, each also with the line breaks of Windows: all but the value stays byte for byte."""
    text, wanted = ((GOLDEN / f"{each}.txt").read_text(encoding="utf-8") for each in (before, after))
    found = edit(text.replace("\n", line_break), keys, value, name)
    assert found.after == wanted.replace("\n", line_break)
    assert edit(found.after, keys, value, name).after == found.after


@pytest.mark.parametrize(
    ("spec", "line", "why"),
    [
        ("spec:\n  x: &n 3\n  replicas: *n\n", 7, "alias *n"),
        ("spec:\n  replicas: &n 3\n  x: *n\n", 6, "anchor &n"),
        ("spec:\n  replicas: &n 3\n", 6, "anchor &n"),
        ("base: &b\n  replicas: 3\nspec:\n  <<: *b\n", 8, "merged alias"),
        ("spec: &b\n  replicas: 3\nother: *b\n", 6, "something else"),
        ("base: &b\n  replicas: 3\nspec: *b\n", 7, "alias *b"),
        ("spec:\n  replicas: !!int 3\n", 6, "tag"),
        ("spec:\n  replicas: |\n    3\n", 6, "block"),
        ('spec:\n  replicas: "\\x33"\n', 6, "escapes"),
        ("spec:\n  replicas: '{{ n }}'\n", 6, "template"),
        ("spec:\n  replicas: ${N}\n", 6, "template"),
        ("spec:\n  replicas: $N\n", 6, "template"),
        ("spec:\n  replicas:\n    - 3\n", 7, "one value"),
        ("spec: 3\n", 5, "one value"),
        ("spec:\n  version: v1\n", 6, "not written here"),
    ],
)
def test_what_cannot_be_edited_safely_is_told_with_its_line(spec: str, line: int, why: str) -> None:
    """And with what to type there."""
    said = refusal(OBJECT + spec)
    assert why in said and f"f.yaml:{line}:" in said
    assert "Write spec.replicas: 5 there yourself" in said and "nothing was written" in said


def test_the_diff_shows_nothing_but_the_field() -> None:
    """No context: a Secret may stand on the next line, or on the same."""
    text = f"{OBJECT}spec:\n  token: hunter2\n  replicas: 3  # three\n  content: hunter2\n"
    assert edit(text, "spec.replicas", 5).diff("a/f.yaml", "b/f.yaml") == (
        "--- a/f.yaml\n+++ b/f.yaml\n@@ -7 +7 @@\n-  replicas: 3  # three\n+  replicas: 5  # three\n"
    )
    flow = (GOLDEN / "flow.before.txt").read_text(encoding="utf-8")
    shown = edit(flow, "spec.replicas", 5).diff("a", "b")
    assert "hunter2" not in shown and "-... replicas: 3 ..." in shown and "+... replicas: 5 ..." in shown


_texts = st.text(
    st.characters(blacklist_categories=("Cs", "Cc"), blacklist_characters="\u2028\u2029\ufeff"), max_size=12
)


@settings(max_examples=150)
@given(
    st.integers(0, 99),
    st.integers(0, 99),
    _texts,
    st.sampled_from(["\n", "\r\n"]),
    st.integers(1, 5),
    st.sampled_from([None, "'", '"']),
)
def test_any_text_around_it_stays(
    old: int, new: int, comment: str, line_break: str, spaces: int, quote: Optional[str]
) -> None:
    """Whatever stands in comments before, on and after the line."""
    lines = [f"# {comment}", *OBJECT.splitlines(), "spec:", "{}", f"  # replicas: {old} {comment}", "  x: 1", ""]
    mark = quote or ""
    written = [f"  replicas:{' ' * spaces}{mark}{number}{mark}  # {comment}" for number in (old, new)]
    before, after = (line_break.join(lines).replace("{}", each, 1) for each in written)
    if "{}" in comment:
        return
    found = edit(before, "spec.replicas", str(new) if quote else new)
    assert found.after == after
