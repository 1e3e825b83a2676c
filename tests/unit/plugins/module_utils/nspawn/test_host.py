# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a host has to have before a machine is started, asked of a real kernel."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from ansible_collections.kubeadm.control_plane.plugins.module_utils.nspawn import host

REQUIRE = """
import os, sys
from ansible_collections.kubeadm.control_plane.plugins.module_utils.nspawn import errors, host
before = sorted(os.listdir("/proc/self/fd"))
try:
    host.require_inotify_instances("cp-1", int(sys.argv[1]))
except errors.NspawnError as error:
    print(error)
assert sorted(os.listdir("/proc/self/fd")) == before
"""


def answer(machines: int, *limited: str) -> str:
    """What is said where so many machines run."""
    run = subprocess.run(
        [*limited, sys.executable, "-c", REQUIRE, str(machines)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    return run.stdout.strip()


def answer_where_root_may_have(instances: int) -> str:
    """What is said where a user may have so many inotify instances: a user namespace has a limit of its own."""
    limited = ["unshare", "--user", "--map-root-user", "sh", "-ec"]
    if subprocess.run([*limited, "true"], capture_output=True, check=False).returncode:
        pytest.skip("a limit of its own needs a user namespace")
    limited.append('echo "$1" > /proc/sys/user/max_inotify_instances; shift; exec "$@"')
    return answer(0, *limited, "sh", str(instances))


def test_a_machine_has_room_for_its_watches():
    assert answer_where_root_may_have(host.INOTIFY_INSTANCES) == ""


def test_a_machine_whose_kubelet_could_not_watch_is_not_started():
    told = answer_where_root_may_have(host.INOTIFY_INSTANCES - 5)
    assert told.startswith("machine cp-1 was not started: ")
    more = re.search(
        r"root may have (\d+) instances in all, of which 9 are free.*sysctl -w fs\.inotify\.max_user_instances=(\d+)",
        told,
    )
    assert more and int(more[2]) >= max(1024, 2 * int(more[1]))


def test_machines_that_have_not_taken_theirs_yet_count():
    """Several may be started before the first one's kubelet is."""
    limit = int(Path(host.INOTIFY_LIMIT).read_text())
    most = limit // host.INOTIFY_INSTANCES
    assert answer(most - 1) == ""
    assert (
        f"{most} machines run on this host, and root may have {limit} instances in all, of which 14 or more are free"
        in answer(most)
    )
