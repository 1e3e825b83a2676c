# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Label selectors as kubectl takes them."""

from __future__ import annotations

import pytest

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects import label_selector

LABELS = {"env": "prod", "example.org/region": "a", "empty": ""}


@pytest.mark.parametrize(
    ("text", "selected"),
    [
        ("", True),
        ("  ", True),
        ("env=prod", True),
        ("env == prod", True),
        ("env=test", False),
        ("env!=test", True),
        ("env!=prod", False),
        ("tier!=web", True),  # a label that isn't there is unequal to every value
        ("tier=web", False),
        ("env", True),
        ("tier", False),
        ("!tier", True),
        ("! env", False),
        ("empty=", True),
        ("env=", False),
        ("example.org/region in (a, b)", True),
        ("example.org/region in (b,c)", False),
        ("example.org/region notin (b,c)", True),
        ("tier notin (b)", True),
        ("env=prod,example.org/region in (a,b),!tier", True),
        ("env=prod,tier", False),
    ],
)
def test_selectors(text: str, selected: bool) -> None:
    assert label_selector.parse(text)(LABELS) is selected


@pytest.mark.parametrize(
    "text", ["env=prod,", "=prod", "env=a=b", "env in a", "env in (a", "env within (a)", "-env", "env=pr od", "a b"]
)
def test_what_is_none(text: str) -> None:
    with pytest.raises(ValueError, match="no requirement of a label"):
        label_selector.parse(text)
