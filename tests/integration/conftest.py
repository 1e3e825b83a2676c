# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which tests a process of pytest-xdist gets together and in which order, and what several files begin with."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
from acme_workspace import AcmeWorkspace
from imports import reaches_server

if t.TYPE_CHECKING:
    from xdist.scheduler import LoadScopeScheduling

HERE = Path(__file__).parent
# Their files share an API server, which costs as much to start as several tests, and something for as long as it lives.
TOGETHER = ("store", "workload")
# Those that run playbooks are a share of their own, as together they would be the longest by far.
WITH_PLAYBOOKS = (
    "store/test_playbooks.py",
    "store/test_kept_plan.py",
    "store/test_awx_jobs.py",
    "store/test_from_cluster_api.py",
    "store/test_interleavings.py",
    "store/test_deleted_control_plane.py",
    "store/test_fleet.py",
    "store/test_export.py",
    "store/test_moved_deletions.py",
    "store/test_garbage_collection.py",
)
# Files of these folders that have servers of their own.
ALONE = ("store/test_install.py", "workload/test_rotated_control_plane.py")
# What takes longest, longest first: what comes last would keep one processor busy while the others have nothing left.
LONGEST = (
    "store with playbooks",
    "store",
    "workload",
    "test_operator.py",
    "test_killed_runs.py",
    "test_provider_kit.py",
    "test_killed_clusters.py",
    "workload/test_rotated_control_plane.py",
    "store/test_install.py",
    "test_operator_upgrade.py",
    "test_operator_configuration.py",
    "test_bad_input.py",
)


def share_of(path: str) -> str:
    """What a file's tests are run together with: its folder's, or the file alone; ``path`` is the file's in this folder."""
    if path in WITH_PLAYBOOKS:
        return "store with playbooks"
    folder = path.partition("/")[0]
    return folder if folder in TOGETHER and path not in ALONE else path


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option for one half of the tests."""
    parser.addoption(
        "--half", choices=("servers", "stand-ins"), help="only files that start servers, or only the others"
    )


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave the other half's files out, unread."""
    half = config.getoption("--half", None)
    if half is None or collection_path.suffix != ".py" or not collection_path.name.startswith("test_"):
        return None
    return True if reaches_server(collection_path) != (half == "servers") else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the longest first; what belongs together stays in its order."""
    rank = {share: number for number, share in enumerate(LONGEST)}
    mine = [number for number, item in enumerate(items) if item.path.is_relative_to(HERE)]
    ordered = sorted(
        (items[number] for number in mine),
        key=lambda item: rank.get(share_of(item.path.relative_to(HERE).as_posix()), len(rank)),
    )
    for number, item in zip(mine, ordered):
        items[number] = item


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: t.Any) -> LoadScopeScheduling | None:
    """With ``--dist loadfile``: by file, but where files share a server."""
    if config.getvalue("dist") != "loadfile":
        return None
    from xdist.scheduler import LoadScopeScheduling

    class ByShare(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return share_of(nodeid.partition("::")[0].rpartition("tests/integration/")[2])

    return ByShare(config, log)


@pytest.fixture(scope="session")
def one_machine(tmp_path_factory: pytest.TempPathFactory) -> AcmeWorkspace:
    """A cluster "prod" of one stand-in machine as reconcile left it; tests take copies."""
    with pytest.MonkeyPatch.context() as patch:
        made = AcmeWorkspace.with_machines(tmp_path_factory.mktemp("one-machine") / "workspace", patch)
        made.manifest("prod", replicas=1)
        made.playbook("reconcile").succeeded()
    return made
