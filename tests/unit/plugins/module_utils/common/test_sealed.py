# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A secret's way from a node to the controller: readable with the key alone, and whole or not at all."""

from __future__ import annotations

import base64

import pytest

from ansible_collections.kubeadm.control_plane.plugins.module_utils.common import sealed

TEXT = b"-----BEGIN RSA PRIVATE KEY-----\n" + b"A" * 1700


@pytest.mark.parametrize("data", [b"", b"x", b"y" * 32, TEXT])
def test_what_was_sealed_comes_back(data: bytes) -> None:
    key = sealed.new_key()
    assert sealed.unseal(key, sealed.seal(key, data)) == data


def test_nothing_of_it_can_be_seen_and_no_two_are_alike() -> None:
    key = sealed.new_key()
    one, other = (base64.b64decode(sealed.seal(key, TEXT)) for _time in range(2))
    assert b"PRIVATE" not in one and one != other
    # Equal blocks of the text would show in a cipher without a counter.
    blocks = [one[start : start + 32] for start in range(16, len(one) - 32, 32)]
    assert len(set(blocks)) == len(blocks)


@pytest.mark.parametrize("position", [0, 20, -1])
def test_a_changed_byte_is_seen(position: int) -> None:
    key = sealed.new_key()
    raw = bytearray(base64.b64decode(sealed.seal(key, TEXT)))
    raw[position] ^= 1
    with pytest.raises(sealed.SealError, match="changed on its way"):
        sealed.unseal(key, base64.b64encode(bytes(raw)).decode())


@pytest.mark.parametrize("text", ["", "AAAA", "not base64!"])
def test_what_is_no_sealed_text(text: str) -> None:
    with pytest.raises(sealed.SealError):
        sealed.unseal(sealed.new_key(), text)


def test_another_key() -> None:
    with pytest.raises(sealed.SealError, match="another key"):
        sealed.unseal(sealed.new_key(), sealed.seal(sealed.new_key(), TEXT))


@pytest.mark.parametrize("key", ["", "00", "no key", "0" * 66])
def test_a_key_that_is_none_is_not_told(key: str) -> None:
    with pytest.raises(sealed.SealError) as error:
        sealed.seal(key, TEXT)
    assert not key or key not in str(error.value) or key == "00"
