# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A store's folder for locks, and real processes as the runs that take them."""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest
from locks import renewers, wait_for_end


@pytest.fixture
def store(tmp_path):
    return str(tmp_path / "store")


@pytest.fixture
def folder(store):
    return os.path.join(store, "default/locks/prod")


@pytest.fixture
def sleepers():
    started = []

    def start():
        started.append(subprocess.Popen(["sleep", "600"]))
        return started[-1]

    yield start
    for each in started:
        each.kill()
        each.wait()


@pytest.fixture(autouse=True)
def no_renewer_left_behind(store):
    yield
    shutil.rmtree(store, ignore_errors=True)
    for pid in renewers(store):
        wait_for_end(pid)
