# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the kit's tests get: the provider that was named, and its two clusters."""

from __future__ import annotations

from pathlib import Path

import pytest

from provider_kit.kit import Kit, Provider, read_provider


def pytest_addoption(parser: pytest.Parser) -> None:
    """The file that describes the provider."""
    parser.addoption("--provider", help="the provider's file, see tests/provider_kit/README.md")


@pytest.fixture(scope="session")
def provider(pytestconfig: pytest.Config) -> Provider:
    """The provider under test."""
    path = pytestconfig.getoption("--provider", default=None)
    if not path:
        pytest.skip("no provider was named: give --provider FILE")
    try:
        return read_provider(Path(path).resolve())
    except (ValueError, ImportError) as error:
        pytest.exit(str(error), returncode=2)


@pytest.fixture(scope="session")
def kit(provider: Provider, tmp_path_factory: pytest.TempPathFactory) -> Kit:
    """Two clusters of the provider's kinds."""
    return Kit(tmp_path_factory.mktemp("kit") / "workspace", provider, ("kit-a", "kit-b"))
