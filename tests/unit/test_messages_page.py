# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The page of messages: what it quotes is what the code prints, and what it says to type exists."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.calls.role_variables import SETTINGS
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects import kinds

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docs" / "messages.md").read_text(encoding="utf-8")
# A quoted message is bold code; what begins an entry of the page is at least one of them.
QUOTED = sorted(set(re.findall(r"\*\*`([^`]+)`\*\*", TEXT)))
ENTRIES = re.findall(r"^- ((?:\*\*`[^`]+`\*\*,?\s+)+)(.*?)(?=^- |^## |\Z)", TEXT, re.MULTILINE | re.DOTALL)
CODE = re.findall(r"`([^`]+)`", TEXT)
# In a literal: where the code puts in what differs.
VARIES = "\0"
DOCUMENTATION = {"DOCUMENTATION", "EXAMPLES", "RETURN"}


def _literals_of_python(tree: ast.Module) -> Iterator[str]:
    """Yield the texts of a file's code, without docstrings and documentation."""
    left_out: set[int] = set()
    for node in ast.walk(tree):
        targets = node.targets if isinstance(node, ast.Assign) else []
        if isinstance(node, ast.Expr):
            left_out.add(id(node.value))
        if any(getattr(each, "id", "") in DOCUMENTATION for each in targets):
            left_out.update(id(each) for each in ast.iter_child_nodes(node))
        if isinstance(node, ast.JoinedStr):
            parts = [each.value if isinstance(each, ast.Constant) else VARIES for each in node.values]
            yield "".join(str(each) for each in parts)
            # A piece alone would let a quote begin or end where the code puts something in.
            left_out.update(id(each) for each in node.values)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in left_out:
            yield node.value


def _literals_of_yaml(value: Any) -> Iterator[str]:
    """Yield the texts of a parsed file of tasks, with their line breaks as blanks."""
    if isinstance(value, str):
        yield re.sub(r"\{\{.*?\}\}", VARIES, " ".join(value.split()))
    elif isinstance(value, (dict, list)):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _literals_of_yaml(each)


@functools.cache
def _literals() -> list[str]:
    """Return every text in the code of the collection."""
    found: list[str] = []
    for path in sorted((ROOT / "plugins").rglob("*.py")):
        found += _literals_of_python(ast.parse(path.read_text(encoding="utf-8")))
    for path in sorted([*(ROOT / "playbooks").glob("*.yml"), *(ROOT / "roles").glob("*/tasks/**/*.yml")]):
        found += _literals_of_yaml(yaml.safe_load(path.read_text(encoding="utf-8")))
    return found


PLAYBOOKS = {path.stem for path in (ROOT / "playbooks").glob("*.yml")}


def _printed(quote: str) -> bool:
    """Tell whether one text of the code has the quote's words, in their order; "…" stands for anything."""
    pattern = re.compile(".*".join(re.escape(each.strip()) for each in quote.split("…")), re.DOTALL)
    return any(pattern.search(each) for each in _literals())


def _options_of(module: str) -> set[str]:
    """Return the names of a module's own options."""
    tree = ast.parse((ROOT / "plugins" / "modules" / f"{module}.py").read_text(encoding="utf-8"))
    texts = [
        ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "DOCUMENTATION"
    ]
    return set(yaml.safe_load(texts[0])["options"])


def test_the_page_has_entries() -> None:
    """Each part of the page has some, so that the other tests are about something."""
    parts = re.split(r"^## ", TEXT, flags=re.MULTILINE)[1:]
    assert len(parts) == 7 and all("\n- **`" in each for each in parts)
    assert 25 <= len(ENTRIES) == len(re.findall(r"^- ", TEXT, re.MULTILINE))


@pytest.mark.parametrize("quote", QUOTED)
def test_a_quoted_message_is_in_the_code(quote: str) -> None:
    """With the same words, so that who searches for them finds them."""
    assert _printed(quote), f"no text of the code has {quote!r}: correct docs/messages.md"


def test_no_remedy_uploads_defaults_of_kubeadm() -> None:
    """Without a file "kubeadm init phase upload-config" writes them over what the cluster runs with."""
    told = [each for each in _literals() if "phase upload-config" in each]
    assert len(told) > 2
    assert all(
        each.count("phase upload-config kubeadm --config ") == each.count("phase upload-config") for each in told
    )


@pytest.mark.parametrize("quote", [each for head, _rest in ENTRIES for each in re.findall(r"`([^`]+)`", head)])
def test_a_quote_says_which_message_it_is(quote: str) -> None:
    """It has words enough that few other messages have them."""
    assert len(re.findall(r"\w+", quote)) > 1 and sum(map(len, quote.split("…"))) > 11


@pytest.mark.parametrize(("head", "rest"), ENTRIES, ids=[head.strip()[:50] for head, _rest in ENTRIES])
def test_an_entry_says_what_it_means_whether_it_is_safe_and_what_to_do(head: str, rest: str) -> None:
    """In this order, and it leads to the page with more."""
    assert re.fullmatch(r"[A-Z`].+?\*\*Safe:\*\* .+?\*\*Do:\*\* .+?→ \[[^]]+\]\([^)]+\).*", rest, re.DOTALL), head


@pytest.mark.parametrize("name", sorted(set(re.findall(r"kubeadm\.control_plane\.(\w+)", TEXT))))
def test_a_playbook_or_module_that_is_named_exists(name: str) -> None:
    """As it is typed: a module after -m alone."""
    modules = set(re.findall(r"-m kubeadm\.control_plane\.(\w+)", TEXT))
    assert (ROOT / "plugins" / "modules" / f"{name}.py").exists() if name in modules else name in PLAYBOOKS


def test_playbooks_that_are_named_in_the_text_exist() -> None:
    """Those without the collection's name, too."""
    listed = re.findall(r"[Pp]laybooks?\s+((?:`\w+`(?:,\s+|\s+and\s+)?)+)", TEXT)
    named = {each for names in listed for each in re.findall(r"\w+", names.replace(" and ", " "))}
    assert {"delete", "pause", "resume"} <= named <= PLAYBOOKS


@pytest.mark.parametrize(
    "name",
    sorted(
        {each for code in CODE for each in re.findall(r"-e '?\{?\"?(\w+)|^((?:control_plane|operator)_\w+)$", code)}
    ),
    ids=lambda each: each[0] or each[1],
)
def test_a_variable_that_is_named_is_read(name: tuple[str, str]) -> None:
    """By a role or a playbook, wherever the page has it."""
    assert (name[0] or name[1]) in SETTINGS


@pytest.mark.parametrize(("module", "arguments"), re.findall(r'-m kubeadm\.control_plane\.(\w+) -a "([^"]+)"', TEXT))
def test_an_option_of_a_module_exists(module: str, arguments: str) -> None:
    """Of those in its own documentation."""
    assert {each.partition("=")[0] for each in arguments.split()} <= _options_of(module)


@pytest.mark.parametrize("name", sorted({each for code in CODE for each in re.findall(r"^[\w.-]+/[a-z-]{4,}", code)}))
def test_an_annotation_that_is_named_is_read(name: str) -> None:
    """It is one of the names that the code knows."""
    assert name in vars(kinds).values()
