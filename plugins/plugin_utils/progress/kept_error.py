# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Errors that wait for the report of a failed run.

Ansible's default callback prints the message of each task that fails twice, once as JSON. So a message of several sentences
waits in the run's own temporary folder for the report, which shows it once and as lines.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import typing as t

from ansible import constants as C

# The roles set it where failure_report follows.
REPORTED = "control_plane_reported"
_NEXT_SENTENCE = re.compile(r"(?<=[\w)'\"]\.) (?=[A-Z])")
HIDDEN = "the task failed; what it said is hidden, as it has no_log"


class KeptError(t.NamedTuple):
    """Message of a failed task, and the last output of its command."""

    message: str
    output: str = ""


def headline(error: str) -> str:
    """Return the first line of an error.

    Where that is the head of a list, the list's first entry is added.
    """
    lines = [line.strip() for line in error.splitlines() if line.strip()] or ["failed"]
    return " ".join(lines[:2]) if lines[0].endswith(":") else lines[0]


def sentence(line: str) -> str:
    """Return the first sentence of a line."""
    return _NEXT_SENTENCE.split(line)[0]


def shortened(error: str, elsewhere: str = "the report has the list") -> str:
    """Return the sentence of an error that its task fails with.

    It is the first of its first line.

    Args:
        error: the error; a list begins after a line that ends with a colon.
        elsewhere: where its list is.
    """
    first = next((line.strip() for line in error.splitlines() if line.strip()), "failed")
    return f"{first[:-1]} ({elsewhere})" if first.endswith(":") else sentence(first)


def keep(host: str, error: KeptError) -> bool:
    """Keep an error for its host's report; False where that fails."""
    path = _path(host)
    try:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as stream:
            json.dump(error, stream)
    except OSError:
        return False
    return True


def whole(host: str, message: str, output: str) -> KeptError:
    """Return all of an error of which the result has a line."""
    with contextlib.suppress(OSError, ValueError, TypeError):
        with open(_path(host), encoding="utf-8") as stream:
            kept = KeptError(*json.load(stream))
        if message == shortened(kept.message):
            return kept
    return KeptError(message, output)


def _path(host: str) -> str:
    name = hashlib.sha256(host.encode()).hexdigest()[:16]
    return os.path.join(str(C.DEFAULT_LOCAL_TMP), "kubeadm-errors", name)
