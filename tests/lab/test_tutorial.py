# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""docs/tutorial.md, typed as it stands: every command works, and prints what the page says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.full

PAGE = Path(__file__).parents[2] / "docs" / "tutorial.md"
# Every name of the tests' machines begins so.
NAME = "lab-first"


def steps() -> list[tuple[str, list[str]]]:
    """The page's commands, each with the lines that are shown below them."""
    found = re.findall(r"^```sh\n(.*?)^```\n\n```text\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    assert len(found) == PAGE.read_text().count("```sh\n") > 0
    return [(_renamed(commands), _renamed(shown).splitlines()) for commands, shown in found]


def _renamed(text: str) -> str:
    return re.sub(r"\bfirst\b", NAME, text)


def test_the_tutorial(tmp_path: Path) -> None:
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    for commands, shown in steps():
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", commands],
            cwd=tmp_path,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{commands}\n{done.stdout[-4000:]}"
        lines = [line.strip() for line in done.stdout.splitlines()]
        missing = [each for each in shown if not any(_matches(each, line) for line in lines)]
        assert missing == [], f"{commands}\n{done.stdout[-6000:]}"
    assert list((tmp_path / "store" / "default").glob("machine.*/*")) == []


def _matches(shown: str, line: str) -> bool:
    """Whether a printed line is the one shown; "…" stands for any text."""
    return re.fullmatch(".*".join(map(re.escape, shown.strip().split("…"))), line) is not None
