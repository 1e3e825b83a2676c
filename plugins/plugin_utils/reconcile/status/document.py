# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Statuses as one JSON document, for the screen or a file."""

from __future__ import annotations

import json
import os
import typing as t

from ...store.base import StoreError
from ...store.file import disk
from .fleet import status_document

Object = dict[str, t.Any]
# No secret is in it, and who reads it is seldom who ran the playbook.
FILE_MODE = 0o644


def document_text(found: t.Iterable[Object]) -> str:
    """Return the clusters' statuses as JSON text, in ASCII."""
    return json.dumps(status_document(found), indent=2)


def write_document(found: t.Iterable[Object], path: str) -> None:
    """Write the clusters' statuses to a file, as a whole.

    Raises:
        StoreError: the file can't be written.
    """
    where = os.path.abspath(path)
    if os.path.lexists(where) and not os.path.isfile(where):
        raise StoreError(
            "the status was not written",
            "control_plane_output_file",
            f"{where} is no regular file, and a file that is there is replaced",
            "Nothing was changed. Give the path of a file. With control_plane_output=json the document is printed.",
        )
    disk.write_file(where, f"{document_text(found)}\n".encode(), FILE_MODE)
