# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""YAML text of kubeadm's configuration, read alike by Go and PyYAML."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import yaml

from ...documents.scalars import resolve_plain


class _Dumper(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc]
    """YAML dumper that quotes ambiguous texts and writes no aliases.

    Quoted is every text that Go's reader or PyYAML would take for something else ("1e3", "0o17", "y").
    """

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _represent_text(dumper: Any, text: str) -> Any:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=None if _is_text(text) else '"')


_Dumper.add_representer(str, _represent_text)


def _is_text(text: str) -> bool:
    try:
        return isinstance(resolve_plain(text), str)
    except ValueError:
        return False


def documents_text(documents: Sequence[Any]) -> str:
    """Return the documents as one YAML text.

    Documents and keys keep their order.
    """
    text: str = yaml.dump_all(
        documents,
        Dumper=_Dumper,
        sort_keys=False,
        default_flow_style=False,
        allow_unicode=True,
        width=4096,
        explicit_start=True,
    )
    return text
