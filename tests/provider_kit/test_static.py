# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a provider's files say, without running anything."""

from __future__ import annotations

from provider_kit import rules
from provider_kit.kit import Provider


def test_static_the_role_keeps_the_contract(provider: Provider) -> None:
    """Task files, arguments, names of variables, and nothing that acts on the whole play."""
    problems = rules.role_problems(provider.folder)
    assert not problems, "\n".join(problems)
