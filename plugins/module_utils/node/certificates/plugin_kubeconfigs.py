# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Kubeconfigs of network plugins on a node, with their tokens and authorities.

Token and authorities are those of the time when the plugin's pod was started.

The kubelet runs a plugin's program for every pod that starts, and many of those programs ask the API by such a file. Only the pod
that wrote it writes it again: with an old token or authority in it no pod starts on the node any more.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import os
import re
import typing as t

DIRECTORY = "/etc/cni/net.d"
_MOST_BYTES = 256 * 1024
_TOKEN = re.compile(r"""^[\s-]*["']?token["']?\s*:\s*["']?([A-Za-z0-9_.=-]+)""", re.MULTILINE)
_AUTHORITY = re.compile(r"""["']?certificate-authority-data["']?\s*:\s*["']?([A-Za-z0-9+/=]+)""")


def read(directory: str = DIRECTORY) -> list[dict[str, t.Any]]:
    """Return the plugins' kubeconfigs that hold tokens or authorities.

    Each entry is ``{path, tokens, authorities}``, the last in PEM. ``tokens`` are secret.
    """
    found = []
    for folder, _folders, names in sorted(os.walk(directory)):
        for name in sorted(names):
            path = os.path.join(folder, name)
            text = _text(path)
            tokens = _TOKEN.findall(text)
            authorities = "".join(_decoded(each) for each in _AUTHORITY.findall(text))
            if tokens or authorities:
                found.append({"path": path, "tokens": tokens, "authorities": authorities})
    return found


def _text(path: str) -> str:
    with contextlib.suppress(OSError, UnicodeDecodeError), open(path, encoding="utf-8") as file:
        return file.read(_MOST_BYTES)
    return ""


def _decoded(value: str) -> str:
    try:
        return base64.b64decode(value).decode()
    except (ValueError, binascii.Error):
        return ""
