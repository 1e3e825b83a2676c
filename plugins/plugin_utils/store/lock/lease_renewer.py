# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Helper process that renews a Lease while the run's process lives.

It proves that the Lease's holder lives.

Started by ``lease_lock.py`` as a program; what it must know comes through its standard input, its argument is for users who look
at the process list. It stops by itself: with the run's
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

from ....module_utils.common import settings
from ...processes import identity
from ...processes.identity import Process
from .. import base
from ..kubernetes.requests import FIELD_MANAGER, KubernetesApi
from .lease_lock import fencing_of, renewed


class _RunEnded(Exception):
    """The run's process is gone."""


def renew(api: KubernetesApi, told: t.Mapping[str, t.Any]) -> None:
    """Renew the Lease until the run's process or its lock is gone.

    An API that doesn't answer is asked again: its Lease is not renewed meanwhile anyway.
    """
    run_process = Process(int(told["pid"]), told["start_time"])

    def require_run() -> None:
        # A request that is sent again is as good as a new one: it would prove that a dead run lives.
        if not identity.is_alive(run_process):
            raise _RunEnded

    pidfd = -1
    with contextlib.suppress(OSError, AttributeError):
        pidfd = os.pidfd_open(run_process.pid)
    lease: t.Optional[dict[str, t.Any]] = None
    # Looked at after the pidfd was opened: else the number might have been given to another process in between.
    while identity.is_alive(run_process):
        with contextlib.suppress(base.StoreError, _RunEnded):
            if lease is None:
                found = api.send("get", told["path"], accepted=(404,), before=require_run)
                if found.status == 404:
                    return
                lease = found.document
            if lease["spec"].get("holderIdentity") != told["run"] or fencing_of(lease) != told["fencing"]:
                return
            written = {"fieldManager": FIELD_MANAGER}
            answer = api.send("update", told["path"], renewed(lease), written, accepted=(404, 409), before=require_run)
            lease = answer.document if answer.status == 200 else None
        if pidfd >= 0:
            select.select([pidfd], [], [], settings.LEASE_RENEW_SECONDS)
        else:
            time.sleep(settings.LEASE_RENEW_SECONDS)


def main() -> int:
    """Detach this process from its parent and renew the Lease."""
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
