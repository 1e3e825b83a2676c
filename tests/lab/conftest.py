# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Fixtures of the tests on real machines. What a killed run leaves is removed by the next one, and by `make clean`."""

from __future__ import annotations

import os
import typing as t
from pathlib import Path

import pytest
from evidence import evidence
from host_pool import OWNER
from workspace import Workspace

from ansible_collections.kubeadm.control_plane.plugins.module_utils.nspawn import pool
from ansible_collections.kubeadm.control_plane.plugins.module_utils.nspawn.endpoint import lifecycle
from ansible_collections.kubeadm.control_plane.plugins.module_utils.nspawn.layout import DEFAULT_DIRECTORY, Layout
from ansible_collections.kubeadm.control_plane.plugins.module_utils.nspawn.machine import lifecycle as machine

# Every cluster of these tests is called so, Molecule's, and whom the hosts of a pool belong to; a demo or a user's cluster is not.
OURS = ("lab-", "molecule", OWNER)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the tests in the order of the files: a lab is shared within a file."""
    del config
    items.sort(key=lambda item: str(item.path))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(call: pytest.CallInfo[None]) -> t.Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show beside a failure what its cluster was at."""
    report = yield
    if report.failed and call.when != "teardown":
        for workspace in [each for each in Workspace.made if each.store.is_dir()][-1:]:
            report.sections.append(("the cluster", "\n".join(evidence(workspace))))
    return report


@pytest.fixture(scope="session", autouse=True)
def root() -> None:
    """Real machines need root."""
    if os.geteuid() != 0:
        pytest.exit("the tests on real machines need root: systemd-nspawn, mounts and bridges", returncode=2)


@pytest.fixture(scope="session", autouse=True)
def nothing_of_a_killed_run(root: None) -> None:
    """Remove the tests' machines and endpoints of an earlier run: its stores are gone, only the names still tell whose they are."""
    del root
    layout = Layout(DEFAULT_DIRECTORY)
    for name, record in pool.machine_records(layout).items():
        # One that was cut off at its very start has no record.
        if record.get("cluster", {"name": name})["name"].startswith(OURS):
            machine.remove(layout, name)
    for name in pool.endpoint_records(layout):
        namespace, _separator, cluster = name.partition("_")
        if cluster.startswith(OURS):
            lifecycle.remove(layout, namespace, cluster)


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> t.Iterator[Workspace]:
    """A user's folder; whatever cluster is left in its store at the end is deleted."""
    made = Workspace(tmp_path_factory.mktemp("workspace"))
    yield made
    made.remove_clusters()


@pytest.fixture
def artefacts() -> Path:
    """Where logs that help after a failure are kept."""
    folder = Path(os.environ.get("KUBEADM_CONTROL_PLANE_CACHE", "/var/tmp")) / "logs"
    folder.mkdir(parents=True, exist_ok=True)
    return folder
