# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pages of the documentation that are typed as they stand: each block of commands, and the lines that are shown below it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import typing as t
from pathlib import Path


def steps(page: Path) -> list[tuple[str, list[str]]]:
    """The page's commands, each with the lines that are shown below them."""
    text = page.read_text()
    found = re.findall(r"^```sh\n(.*?)^```\n\n(?:[^`\n][^\n]*\n)*?```text\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert len(found) == text.count("```sh\n") > 0
    return [(commands, shown.splitlines()) for commands, shown in found]


def type_in(folder: Path, commands: str, shown: t.Sequence[str], **environment: str) -> None:
    """Run the commands in a folder; they must succeed, and print each of the lines."""
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", commands],
        cwd=folder,
        env={**os.environ, "PATH": path, **environment},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{commands}\n{done.stdout[-6000:]}"
    lines = [line.strip() for line in done.stdout.splitlines()]
    missing = [each for each in shown if not any(_matches(each, line) for line in lines)]
    assert missing == [], f"{commands}\n{done.stdout[-6000:]}"


def _matches(shown: str, line: str) -> bool:
    """Whether a printed line is the one shown; "…" stands for any text."""
    return re.fullmatch(".*".join(map(re.escape, shown.strip().split("…"))), line) is not None
