# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The helper process that shows that a Lease's holder lives: it renews the Lease as long as the run's process lives.

Started by ``lease.py`` as a program; what it must know comes through its standard input, its argument is for people who look
at the process list. It ends by itself: with the run's
process, with the release of the lock, and when another holder took over.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import sys
import time
import typing as t

from ...processes import identity
from ...processes.identity import Process
from .. import base
from ..kubernetes.requests import FIELD_MANAGER, KubernetesApi
from .lease import fencing_of, renewed

RENEW_SECONDS = 2.0


def renew(api: KubernetesApi, told: t.Mapping[str, t.Any]) -> None:
    """Renew until the run's process or its lock is gone. An API that doesn't answer is asked again: its Lease stands still anyway."""
    run_process = Process(int(told["pid"]), told["start_time"])
    pidfd = -1
    with contextlib.suppress(OSError, AttributeError):
        pidfd = os.pidfd_open(run_process.pid)
    lease: t.Optional[dict[str, t.Any]] = None
    # Looked at after the pidfd was opened: else the number might have been given to another process in between.
    while identity.is_alive(run_process):
        with contextlib.suppress(base.StoreError):
            if lease is None:
                found = api.send("get", told["path"], accepted=(404,))
                if found.status == 404:
                    return
                lease = found.document
            if lease["spec"].get("holderIdentity") != told["run"] or fencing_of(lease) != told["fencing"]:
                return
            answer = api.send(
                "update", told["path"], renewed(lease), {"fieldManager": FIELD_MANAGER}, accepted=(404, 409)
            )
            lease = answer.document if answer.status == 200 else None
        if pidfd >= 0:
            select.select([pidfd], [], [], RENEW_SECONDS)
        else:
            time.sleep(RENEW_SECONDS)


def main() -> int:
    """Become a process of its own, child of no one, and renew."""
    told = json.loads(sys.stdin.read())
    # Made before whoever started this goes on: what it lacks is said there.
    try:
        os.chdir(told["folder"])
        api = KubernetesApi(told["options"])
    except (base.StoreError, OSError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    os.chdir("/")
    if os.fork():
        os._exit(0)
    # A name that ends with the process: the same run that takes its lock again needs no second helper.
    only = socket.socket(socket.AF_UNIX)
    try:
        only.bind(f"\0kubeadm-control-plane/{told['run']}/{told['fencing']}")
    except OSError:
        return 0
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    renew(api, told)
    return 0


if __name__ == "__main__":
    # A program of its own, not a module.
    sys.exit(main())  # pylint: disable=ansible-bad-function
