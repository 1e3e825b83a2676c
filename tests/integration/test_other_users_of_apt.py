# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Packages on a host whose apt others use, too: locks that they hold, and their own files of repositories."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import sys
import typing as t
from pathlib import Path

import pytest
from bare_host import HELD, OLD, Host, repository_of_packages, wanted
from package_repository import PackageRepository

from ansible_collections.kubeadm.control_plane.plugins.module_utils.node.packages import packages
from ansible_collections.kubeadm.control_plane.plugins.module_utils.node.packages.preparation import (
    Preparation,
    Refused,
)


@contextlib.contextmanager
def locked(path: Path) -> t.Iterator[None]:
    """Hold a lock of apt's in another process."""
    program = (
        "import fcntl, sys; held = open(sys.argv[1], 'w'); fcntl.lockf(held, fcntl.LOCK_EX); print(); sys.stdin.read()"
    )
    words = [sys.executable, "-c", program, str(path)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin and process.stdout and process.stdout.readline()
        yield
        process.stdin.close()


@pytest.fixture(name="repository", scope="module")
def _repository(tmp_path_factory: pytest.TempPathFactory) -> t.Iterator[PackageRepository]:
    with repository_of_packages(tmp_path_factory.mktemp("repository")) as made:
        yield made


@pytest.fixture(name="url", scope="module")
def _url(repository: PackageRepository) -> str:
    return repository.serve()


@pytest.fixture(name="host")
def _host(tmp_path: Path) -> Host:
    return Host(tmp_path / "root")


@pytest.mark.parametrize("name", ["sources.list", "sources.list.d/own.list", "sources.list.d/own.sources"])
def test_the_hosts_own_file_has_the_same_repository(
    host: Host, repository: PackageRepository, url: str, name: str
) -> None:
    """apt refuses all sources for two keys. A node keeps its own, and its upgrade is staged; a free host's is named beforehand."""
    own, key = host.root / "etc/apt" / name, host.root / "etc/apt/own.asc"
    shutil.copy(repository.key, key)
    asked = wanted(repository, url)
    ours = f"{host.root}/etc/apt/keyrings/kubernetes.asc"

    def write(signed_by: str) -> None:
        entry = f"deb {f'[signed-by={signed_by}] ' if signed_by else ''}{url} /\n"
        if name.endswith(".sources"):
            entry = f"Types: deb\nURIs: {url}\nSuites: /\n{f'Signed-By: {signed_by}' if signed_by else ''}\n\n# of another\n"
        own.write_text(entry)

    # Without a key it is in the way, too, where apt reads it after the one to set up.
    for signed_by, check in (("", True), (str(key), True), (str(key), False)):
        write(signed_by)
        before = host.files()
        with pytest.raises(Refused) as refused:
            host.preparation.ensure(asked, check=check)
        [problem] = refused.value.problems
        assert problem.startswith(f"{own} has the repository {url} / with another key")
        assert f"{host.root}/etc/apt/sources.list.d/kubernetes.sources takes its place." in problem
    assert host.files() == before
    _before, staged = host.preparation.stage(asked)
    assert staged["kubelet"] == OLD
    assert own.read_bytes() == before[str(own)]
    write(ours)
    host.preparation.ensure(asked)
    assert host.run(["apt-get", "check"]).returncode == 0


@pytest.mark.parametrize(
    ("lock", "command"),
    [
        ("var/lib/apt/lists/lock", "update"),
        ("var/cache/apt/archives/lock", "--allow-change-held-packages"),
        ("var/lib/dpkg/lock-frontend", "hold"),
        ("var/lib/dpkg/lock", "hold"),
    ],
)
def test_another_program_has_a_lock(
    host: Host, repository: PackageRepository, url: str, lock: str, command: str
) -> None:
    """As apt-daily.service on a host that has just started: what it refuses is done once the lock is free."""
    path, refused = host.root / lock, []
    path.parent.mkdir(parents=True, exist_ok=True)

    def run(words: t.Sequence[str]) -> subprocess.CompletedProcess[str]:
        ours = command in words and not any(
            each.startswith("Dir::State::Lists=") or "simulate" in each for each in words
        )
        if not ours or refused:
            return host.run(words)
        with locked(path):
            done = host.run(words)
        refused.append(done.returncode)
        return done

    _before, after = Preparation(packages.Apt(run, str(host.root))).ensure(wanted(repository, url))
    assert refused == [100]
    assert (after.versions["kubelet"], after.held) == (OLD, HELD)
