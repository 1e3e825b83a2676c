# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reader of the Go templates in files whose ``contentFormat`` is Template.

Cluster API renders them before cloud-init reads the result, with one name: ``.controlPlane.version``. Of Go's text/template this reads
that name, text in quotes, comments, and the signs that remove whitespace (docs/reference/cluster_api.md, "Creating a machine").
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ..validate.limits import ENCODINGS
from . import reader

FORMAT = "Template"
# For a text of no control plane in particular.
SAMPLE_VERSION = "v1.0.0"
_SPACE = " \t\r\n"
_SPACES = re.compile(r"[ \t\r\n]*")
_ACTION = re.compile(
    r"""\{\{(?P<before>-[ \t\r\n])?(?:/\*[^*]*\*+(?:[^/*][^*]*\*+)*/|[ \t\r\n]*"""
    r"""(?:(?P<name>\$?\.controlPlane\.version)|"(?P<quoted>[^"\\\n]*)"|`(?P<raw>[^`]*)`)[ \t\r\n]*)"""
    r"""(?P<after>[ \t\r\n]-)?\}\}"""
)
_STATEMENT = re.compile(
    r"\{\{(?:-\s)?\s*(?:if|else|end|range|with|define|template|block|break|continue)(?![A-Za-z0-9_])"
)
FIX = (
    "Known is .controlPlane.version, the KubeadmControlPlane's spec.version, which is always there, so that no condition is needed. "
    "Text for another program goes between {{` and `}}."
)


def is_template(file: Mapping[str, Any]) -> bool:
    """Return whether a file's content is a Go template.

    One with an encoding has nothing in braces before it is decoded, and Cluster API decodes nothing.
    """
    return file.get("contentFormat") == FORMAT and file.get("encoding") not in ENCODINGS


def render(text: str, version: str) -> tuple[str, list[reader.Problem]]:
    """Return what a Go template becomes, and what is refused in it.

    Args:
        text: the template.
        version: the control plane's, with its "v".
    """
    parts: list[str] = []
    problems: list[reader.Problem] = []
    at = 0
    while len(problems) < reader.MOST_PROBLEMS and (start := text.find("{{", at)) >= 0:
        found = _ACTION.match(text, start)
        if not found:
            end = text.find("}}", start, start + reader.LONGEST_EXPRESSION)
            end = end + 2 if end >= 0 else start + 2
            problems.append(reader.Problem(text[start:end][:80], text.count("\n", 0, start) + 1, _rule(text, start)))
            at = end
            continue
        before = text[at:start]
        parts.append(before.rstrip(_SPACE) if found["before"] else before)
        # Go leaves carriage returns out of text in backquotes.
        parts.append(version if found["name"] else found["quoted"] or (found["raw"] or "").replace("\r", ""))
        at = found.end()
        if found["after"] and (spaces := _SPACES.match(text, at)):
            at = spaces.end()
    return "".join([*parts, text[at:]]), problems


def _rule(text: str, start: int) -> str:
    if _STATEMENT.match(text, start):
        return "statements of Go's templates are not evaluated here"
    return "of Go's templates only .controlPlane.version, text in quotes and comments are read here"
