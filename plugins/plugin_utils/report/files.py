# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files of a report: a page, Markdown, and pictures."""

from __future__ import annotations

import json
import os
import typing as t

from ...module_utils.common.guard import write_atomically
from . import journal_runs, markdown, model, page

HTML, MARKDOWN, SVG = "html", "markdown", "svg"
FORMATS = (HTML, MARKDOWN, SVG)
# A report holds no secrets, and names and addresses all the same: whom it is for is its owner's affair.
FILE_MODE, FOLDER_MODE = 0o600, 0o700
# A line of a watcher is short, and it writes a few in each second.
_WATCH_BYTES = 64 * 1024 * 1024


def render(reports: t.Sequence[model.ClusterReport], formats: t.Collection[str]) -> dict[str, str]:
    """Return the files' contents by their names.

    The same reports give the same. A picture is of a cluster's newest run; a cluster without one has none.
    """
    found = {}
    if HTML in formats:
        found["report.html"] = page.page(reports)
    if MARKDOWN in formats:
        found["report.md"] = markdown.markdown(reports)
    if SVG in formats:
        titles: dict[str, int] = {}
        for each in reports:
            # Clusters of two stores may have one name.
            number = titles[each.title] = titles.get(each.title, 0) + 1
            ending = f".{number}.svg" if number > 1 else ".svg"
            if each.runs:
                found[f"{each.namespace}.{each.name}{ending}"] = page.picture_file(each.runs[0], each.title)
    return found


def differing(directory: str, contents: t.Mapping[str, str]) -> list[str]:
    """Return the paths whose content differs, or that aren't there.

    Raises:
        OSError: one can't be read.
    """
    found = []
    for name, text in contents.items():
        path = os.path.join(directory, name)
        try:
            with open(path, "rb") as stream:
                if stream.read() == text.encode():
                    continue
        except FileNotFoundError:
            pass
        found.append(path)
    return found


def write(directory: str, contents: t.Mapping[str, str], paths: t.Collection[str]) -> None:
    """Write these of the files, each whole or not at all.

    The folder is made.

    Raises:
        OSError: one can't be written.
    """
    os.makedirs(directory, mode=FOLDER_MODE, exist_ok=True)
    for name, text in contents.items():
        path = os.path.join(directory, name)
        if path in paths:
            write_atomically(path, text.encode(), FILE_MODE)


def read_watch(path: str) -> list[model.Span]:
    """Return the endpoint's gaps of a watcher's record.

    It has one JSON object a line. Lines that can't be read are left out, as a journal's are.

    Raises:
        OSError: it can't be read.
    """
    samples = []
    with open(path, "rb") as stream:
        for line in stream.read(_WATCH_BYTES).splitlines():
            try:
                sample = json.loads(line)
            except ValueError:
                continue
            if isinstance(sample, dict):
                samples.append(sample)
    return journal_runs.watched_gaps(samples)
