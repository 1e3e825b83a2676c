# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One cluster of one machine for all files of this folder; each test leaves it as whole as it found it."""

from __future__ import annotations

import typing as t

import pytest
from machines import Machines
from workspace import Workspace

NAME = "lab-one"


@pytest.fixture(scope="package")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> t.Iterator[Workspace]:
    """The folder of its user."""
    made = Workspace(tmp_path_factory.mktemp("one-machine"))
    yield made
    made.remove_clusters()


@pytest.fixture(scope="package")
def machines(workspace: Workspace) -> Machines:
    """Its machine."""
    workspace.manifest(NAME, replicas=1)
    workspace.playbook("reconcile").succeeded()
    return Machines(workspace, NAME)
