# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""DER, the encoding of certificates, parsed with the standard library alone (ITU-T X.690 §8.1 and §10.1)."""

from __future__ import annotations


def element(data: bytes) -> tuple[int, bytes, bytes]:
    """Split DER into its first element's tag, its content and the rest.

    Raises:
        ValueError: the length is impossible, or longer than the data. IndexError: there is no whole element.
    """
    tag, length, at = data[0], data[1], 2
    if length & 0x80:
        count = length & 0x7F
        if not 1 <= count <= 4:
            raise ValueError("a DER length of an impossible size")
        length = int.from_bytes(data[2 : 2 + count], "big")
        at += count
    if at + length > len(data):
        raise ValueError("DER that breaks off")
    return tag, data[at : at + length], data[at + length :]
