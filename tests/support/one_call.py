# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Call a machine twice, as one action does, in a process of its own, and print what came of it.

Usage: one_call.py FOLDER CONNECTION MODULE ARGUMENTS [SECONDS [STORE]]; the folder has the client's key, connection and arguments are JSON.
SECONDS is the most that a call may take. STORE is a file store whose lock is held meanwhile.
"""

from __future__ import annotations

import json
import math
import sys
import typing as t
from pathlib import Path

from ansible.plugins.loader import init_plugin_loader


def main() -> None:
    """Call it, and again."""
    folder, connection, module, arguments = sys.argv[1:5]
    init_plugin_loader()
    # Not before: Ansible's loader of collections makes packages of them.
    from actions import make_action

    from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.calls.fence import Fence
    from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.calls.machine_connection import (
        Machine,
        MachineCaller,
    )
    from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.processes.key_file import KeyFile
    from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.lock.any_store import FileLocks

    action = make_action("decide")
    task_vars: dict[str, t.Any] = {"hostvars": {}}
    key = KeyFile((Path(folder) / "client").read_bytes(), folder)
    fence = None
    if sys.argv[6:]:
        locks, at = FileLocks(sys.argv[6]), ("default", "prod")
        fence = Fence(locks, *at, locks.take(*at).fencing)
    most_seconds = float(sys.argv[5]) if sys.argv[5:] else math.inf
    caller = MachineCaller(action, task_vars, folder, key, fence, most_seconds=most_seconds)
    machine = Machine("m1", None, json.loads(connection))
    for answer in [caller.call(machine, module, json.loads(arguments)) for _turn in range(2)]:
        said = {"reached": answer.reached, "message": answer.message, "failed": answer.failed}
        sys.stdout.write(json.dumps(said) + "\n")
    if fence is not None:
        locks.release_own(*at)


if __name__ == "__main__":
    main()
