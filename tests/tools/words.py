# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The words of the house: what can be checked of docs/development.md, "Words".

Usage: words.py ROOT. tests/unit/test_collection.py runs the same rules on the installed artefact.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Callable

from check_tree import Problems, files_of

LONGEST_FIRST_LINE = 12
RIDDLES = re.compile(
    r"(Whether|What|Which|Whose|Who|How|Where|When|Why|Is|Are|May|Does|Do|That|Those|As|It|Nobody|Somebody)\b"
)
CITATION_AT_THE_END = re.compile(r" *\([^()]*\)\.?$")
# A word that is refused -> what is plainer.
PLAINER = {
    re.compile(words, re.IGNORECASE): plainer
    for words, plainer in {
        r"\b(no|some|any)body\b": "the user, another run, another client; or the passive",
        r"\banew\b|\bonce more\b": "again",
        r"\b(go|goes|gone|going|went) on\b": "continues, resumes",
        r"\b(is|are|was|were|be|been) told\b": "is reported, is stated, is known",
        r"\b(is|are)(n't| not)? well\b": "is healthy, is unhealthy",
        r"\bjudge[sd]?\b": "evaluates",
        r"\b(a look|looked at)\b": "an observation, observes, checks, searches",
        r"\bwish(es|ed)?\b": "the desired state, a request",
        r"\bstands? (in|beside|for)\b": "is in, is beside",
        r"\b(taken|takes|take) out\b|\bthrown away\b": "removed, deleted",
        r"\bas often as\b|\bhow-manieth\b": "the number of",
        r"\bways? out\b": "the remedy",
    }.items()
}
# Pages that are still to be rewritten. What a run prints and what documents a module is not excepted.
OLD_PAGES = re.compile(r"docs/(decisions/|reference/(bootstrap|decision)\.md|chaos\.md|measured\.md)")


def _docstrings(tree: ast.Module) -> Iterator[tuple[ast.AST, ast.Constant]]:
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(node) is not None:
            first = node.body[0]
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                yield node, first.value


def first_lines(root: Path) -> Problems:
    """The first line of a docstring is short and names its thing (docs/development.md, "Words")."""
    problems = []
    for file in files_of(root):
        name = file.relative_to(root).as_posix()
        if file.suffix != ".py" or not name.startswith("plugins/"):
            continue
        for _node, docstring in _docstrings(ast.parse(file.read_text(encoding="utf-8"))):
            line = str(docstring.value).strip().split("\n")[0]
            words = len(CITATION_AT_THE_END.sub("", line).split())
            where = f"{name}:{docstring.lineno}: the docstring's first line"
            if words > LONGEST_FIRST_LINE:
                problems.append(f"{where} has {words} words, and {LONGEST_FIRST_LINE} is the limit")
            if RIDDLES.match(line):
                problems.append(f"{where} is a riddle: begin with the thing, or with what is done")
    return problems


def _texts(name: str, text: str) -> Iterator[tuple[int, str]]:
    """What people read of a file, each text with the line that it begins in."""
    if name.endswith(".md") and not OLD_PAGES.match(name):
        yield 1, text
    elif name.endswith((".yml", ".yaml")) and name.startswith(("roles/", "playbooks/", "extensions/")):
        for number, line in enumerate(text.split("\n"), 1):
            if re.match(r"\s*(- )?(name|description|short_description|fail_msg|msg): |\s*- [A-Z]", line):
                yield number, line
    elif name.endswith(".py") and name.startswith("plugins/"):
        for node in ast.walk(ast.parse(text)):
            # Without a space it is a name.
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
                yield node.lineno, node.value


def plain_words(root: Path) -> Problems:
    """What people read has the field's words (docs/development.md, "Words")."""
    problems = []
    for file in files_of(root):
        name = file.relative_to(root).as_posix()
        # A changelog keeps the words of its day; tests and their pages are read by developers.
        if name.startswith(("tests/", "changelogs/", "LICENSES/")) or name == "CHANGELOG.md":
            continue
        if file.suffix not in (".md", ".yml", ".yaml", ".py"):
            continue
        for first, text in _texts(name, file.read_text(encoding="utf-8")):
            for number, line in enumerate(text.split("\n"), first):
                for words, plainer in PLAINER.items():
                    found = words.search(line)
                    if found:
                        problems.append(f"{name}:{number}: {found.group()!r}: plainer is: {plainer}")
    return problems


RULES: tuple[Callable[[Path], Problems], ...] = (first_lines, plain_words)


def main(root: Path) -> int:
    problems = [f"{problem} [{rule.__name__}]" for rule in RULES for problem in rule(root)]
    print("\n".join(problems) or "no problems")
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
