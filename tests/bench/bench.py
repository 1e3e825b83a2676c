# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Plain kubeadm by hand against the collection, on the same machine in the same run; prints JSON.

(a) the plain kubeadm commands (plain_kubeadm), (b) `reconcile` to three replicas, (c) a second `reconcile`.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import threading
import time
import typing as t
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

from machines import Machines
from workspace import Workspace, descendants

NAME = "bench"


class PeakMemory(threading.Thread):
    """The highest sum of the private and shared memory (PSS) of a process tree, sampled four times a second, in MiB."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self._pid = pid
        self.mebibytes = 0.0
        self._done = threading.Event()

    def run(self) -> None:
        """Sample until stopped."""
        while not self._done.wait(0.25):
            total = sum(_pss_kibibytes(pid) for pid in descendants(self._pid))
            self.mebibytes = max(self.mebibytes, total / 1024)

    def stop(self) -> float:
        """End the sampling and return the peak."""
        self._done.set()
        self.join()
        return round(self.mebibytes, 1)


def _pss_kibibytes(pid: int) -> int:
    try:
        found = re.search(r"^Pss:\s+(\d+)", Path(f"/proc/{pid}/smaps_rollup").read_text(), re.MULTILINE)
    except OSError:
        return 0
    return int(found.group(1)) if found else 0


def timed(workspace: Workspace, *arguments: str) -> tuple[float, float, str]:
    """Run reconcile; return its seconds, its peak memory in MiB and its output."""
    log = workspace.folder / f"reconcile-{time.monotonic_ns()}.log"
    begin = time.monotonic()
    process = workspace.start("reconcile", *arguments, output=log)
    memory = PeakMemory(process.pid)
    memory.start()
    status = process.wait()
    seconds = time.monotonic() - begin
    peak = memory.stop()
    output = log.read_text()
    if status != 0:
        sys.exit(f"reconcile failed:\n{output[-6000:]}")
    return round(seconds, 1), peak, output


def connections(machines: Machines) -> dict[str, int]:
    """How many SSH connections each machine has accepted since it booted."""
    return {
        name: int(
            machines.ssh(name, "journalctl -b -q --no-pager -t sshd | grep -c 'Accepted publickey' || true").strip()
            or 0
        )
        for name in machines.names()
    }


def plain() -> dict[str, t.Any]:
    """Run (a)."""
    script = next(Path(__file__).parent.glob("plain_kubeadm.*"))
    command = [sys.executable, str(script)] if script.suffix == ".py" else ["bash", str(script)]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        sys.exit("the plain kubeadm commands failed; see the output above")
    return dict(json.loads(done.stdout[done.stdout.index("{") :]))


def main() -> None:
    """Run all three and print the figures."""
    by_hand = plain()
    with tempfile.TemporaryDirectory(prefix="kubeadm-control-plane-bench-") as folder:
        workspace = Workspace(Path(folder) / "workspace")
        workspace.manifest(NAME, replicas=3)
        machines = Machines(workspace, NAME)
        try:
            create, create_peak, _output = timed(workspace)
            before = connections(machines)
            noop, noop_peak, output = timed(workspace)
            after = connections(machines)
            _seconds, _peak, verbose = timed(workspace, "-vvv")
        finally:
            workspace.playbook("delete", "-e", f"control_plane_delete={NAME}")
    # Asking how many there were is itself one connection to each machine.
    opened = {name: after[name] - before[name] - 1 for name in after}
    figures = {
        "a_plain_kubeadm_seconds": by_hand["total"],
        "a_steps": {key: value for key, value in by_hand.items() if key != "total"},
        "b_reconcile_seconds": create,
        "ratio_b_to_a": round(create / float(by_hand["total"]), 3),
        "b_peak_memory_mebibytes": create_peak,
        "c_second_reconcile_seconds": noop,
        "c_changed": int(re.findall(rf"^{NAME}\s.*changed=(\d+)", output, re.MULTILINE)[-1]),
        "c_peak_memory_mebibytes": noop_peak,
        "c_ssh_connections": sum(opened.values()),
        "c_machines_connected_to": sum(1 for count in opened.values() if count),
        "c_module_calls_on_machines": len(re.findall(r"SSH: EXEC", verbose)),
        "c_module_calls_on_the_controller": len(re.findall(r"^<[^>]*> EXEC ", verbose, re.MULTILINE)),
        "c_passes": len(re.findall(r"^TASK \[.*Observe and decide\]", output, re.MULTILINE)),
    }
    print(json.dumps(figures, indent=2))


if __name__ == "__main__":
    main()
