# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Shared input and output of the filters on kubeadm's configuration.

Plain values in; errors and warnings as Ansible shows them.
"""

from __future__ import annotations

import contextlib
import datetime
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ansible.errors import AnsibleFilterError

from ...module_utils.common.values import format_moment
from ...module_utils.common.violations import ManifestError
from ..calls.screen import Screen

MAX_DEPTH = 64
MAX_VALUES = 200_000


def plain(value: Any) -> Any:
    """Return a value in JSON types alone.

    A value of Ansible's variables carries tags, is lazy, or was a date in YAML. The value is bounded in depth and size.

    Raises:
        AnsibleFilterError: for anything else. (Ansible's own message names the filter.)
    """
    budget = [MAX_VALUES]

    def walk(one: Any, depth: int) -> Any:
        budget[0] -= 1
        if depth > MAX_DEPTH or budget[0] < 0:
            raise AnsibleFilterError(
                f"The value is nested deeper than {MAX_DEPTH} levels or has more than {MAX_VALUES} values, "
                "which is no configuration of kubeadm's."
            )
        if one is None or isinstance(one, bool):
            return one
        if isinstance(one, str):
            return str.__str__(one)
        if isinstance(one, int):
            return int(one)
        if isinstance(one, float):
            return float(one)
        if isinstance(one, datetime.datetime):
            try:
                return format_moment(one)
            except OverflowError as error:
                raise AnsibleFilterError(f"The time {one} is not of the years 1 to 9999 in UTC.") from error
        if isinstance(one, datetime.date):
            return one.isoformat()
        if isinstance(one, Mapping):
            return {_key(key): walk(entry, depth + 1) for key, entry in one.items()}
        if isinstance(one, Sequence) and not isinstance(one, (bytes, bytearray)):
            return [walk(entry, depth + 1) for entry in one]
        raise AnsibleFilterError(f"A {type(one).__name__} is no part of kubeadm's configuration.")

    return walk(value, 0)


def _key(key: Any) -> str:
    if not isinstance(key, str):
        raise AnsibleFilterError(f"The key {str(key)[:80]!r} is not text. Quote it.")
    return str.__str__(key)


def version(value: Any) -> str:
    """Return a Kubernetes version that was given as text.

    Raises AnsibleFilterError for anything but text.
    """
    if not isinstance(value, str):
        raise AnsibleFilterError(
            f"The Kubernetes version must be text like 'v1.31.0', not {str(value)[:80]!r}. "
            "Unquoted, YAML takes 1.31 for a number."
        )
    return str.__str__(value)


@contextlib.contextmanager
def explained() -> Iterator[None]:
    """Turn a ManifestError into the filter's error, with every violation's path."""
    try:
        yield
    except ManifestError as error:
        raise AnsibleFilterError(error.text()) from None


def warn(name: str, warnings: Sequence[str]) -> None:
    """Show warnings, each with the filter's name."""
    for warning in warnings:
        Screen().warning(f"{name}: {warning}")
