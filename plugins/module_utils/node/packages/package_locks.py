# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Locks of apt and dpkg, which another program may hold.

apt itself waits for dpkg's lock alone (DPkg::Lock::Timeout), and apt-mark for none. On a host that has just started, apt-daily.service has them.
"""

from __future__ import annotations

import re
import subprocess
import time
import typing as t

from ...common import settings

# apt of its lists and archives; dpkg, in its newer and older words.
_LOCKED = re.compile(r"^E: Could not get lock |locked by another process", re.MULTILINE)
_POLL_SECONDS = 1.0


def run_when_free(call: t.Callable[[], subprocess.CompletedProcess[str]]) -> subprocess.CompletedProcess[str]:
    """Repeat a call of apt while its lock is held.

    The last result is returned. It is repeated for no longer than ``PACKAGES_LOCK_SECONDS``.
    """
    deadline = time.monotonic() + settings.PACKAGES_LOCK_SECONDS
    while True:
        done = call()
        if done.returncode == 0 or not _LOCKED.search(done.stderr) or time.monotonic() > deadline:
            return done
        time.sleep(_POLL_SECONDS)
