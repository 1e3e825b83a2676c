# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Plain kubeadm by hand against the collection, on the same machine in the same run; prints JSON.

(a) the plain kubeadm commands (plain_kubeadm): three machines, then each of them replaced, (b) `reconcile` to three replicas,
(c) a second `reconcile`, (d) three replicas to five, (e) five to three, (f) all three replaced; with --short only (a) to (c), and no
replacing in (a). An independent watcher reads etcd and the API all along from (d) on. What decisions and conversions cost
comes first: it takes no machines. After (f), all components of the three nodes are restarted where they stand (renewCertificates), with
a watcher as well. Last, a control plane is made on existing hosts (existing_hosts.py), one that plain kubeadm made is adopted (adoption.py),
and one node is upgraded in place (upgrade.py).
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import typing as t
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

from actions_on_nodes import NodeActions
from healthy import HEALTHY_SECONDS, until_healthy
from machines import Machines
from watcher import Watch
from workspace import Workspace, descendants

NAME = "bench"
# What is asked of the figures; they are printed beside them and nothing fails by them.
BOUNDS = {
    "ratio_create": 1.12,
    "ratio_create_to_plain_until_healthy": 0.95,
    "ratio_scale_up_step": 1.10,
    "ratio_rollout": 1.25,
    "ratio_rollout_to_plain_until_healthy": 0.85,
    "second_reconcile_seconds": 5,
    "ratio_nothing_to_do_to_one_ping": 2.0,
    "c_tasks": 4,
    "empty_action_seconds": 10,
    "longest_seconds_without_quorum": 1,
    "longest_seconds_without_an_endpoint": 2,
    "longest_seconds_without_an_endpoint_for_a_node_in_place": 1,
    "preflight_seconds": 2,
    "etcd_snapshot_seconds": 3,
}
Object = dict[str, t.Any]


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


def nothing_and_ping(workspace: Workspace, machines: Machines) -> Object:
    """A run that does nothing against a playbook with one ping of a machine of it, over SSH, in turns; the median of five each."""
    ping = machines.write_play("ping", [{"ansible.builtin.ping": {}}])
    seconds: dict[str, list[float]] = {"nothing": [], "ping": []}
    for _turn in range(5):
        for name, command in (("nothing", workspace.command("reconcile")), ("ping", ping)):
            begin = time.monotonic()
            workspace.run(command, workspace.folder).succeeded()
            seconds[name].append(time.monotonic() - begin)
    nothing, one = (statistics.median(seconds[each]) for each in ("nothing", "ping"))
    say(f"in turns: nothing to do {nothing:.2f} s, one ping {one:.2f} s")
    return {
        "c_nothing_to_do_seconds": round(nothing, 2),
        "c_one_ping_seconds": round(one, 2),
        "ratio_nothing_to_do_to_one_ping": round(nothing / one, 2),
    }


def connections(machines: Machines) -> dict[str, int]:
    """How many SSH connections each machine has accepted since it booted."""
    return {
        name: int(
            machines.ssh(name, "journalctl -b -q --no-pager -t sshd | grep -c 'Accepted publickey' || true").strip()
            or 0
        )
        for name in machines.names()
    }


def printed(script: str, *arguments: str) -> Object:
    """Run another program of this folder that prints JSON; return it."""
    command = [sys.executable, str(Path(__file__).with_name(script)), *arguments]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, check=False)
    if "{" not in done.stdout:
        sys.exit(f"{script} failed; see the output above")
    return dict(json.loads(done.stdout[done.stdout.index("{") :]))


def say(text: str) -> None:
    """Tell how far it is; standard output is for the figures."""
    print(f"bench: {text} (load {os.getloadavg()[0]:.1f})", file=sys.stderr, flush=True)


def growing_shrinking_and_rolling(workspace: Workspace, by_hand: Object) -> Object:
    """Run (d), (e) and (f) with the watcher; return their figures."""
    with Watch(workspace.store, NAME, workspace.folder) as watch:
        workspace.manifest(NAME, replicas=5)
        grown, _peak, _output = timed(workspace)
        say(f"(d) three to five: {grown} s")
        workspace.manifest(NAME, replicas=3)
        shrunk, _peak, _output = timed(workspace)
        say(f"(e) five to three: {shrunk} s")
        workspace.manifest(NAME, replicas=3, kubeadm={"preKubeadmCommands": ["true"]})
        rolled, peak, _output = timed(workspace)
        say(f"(f) all three replaced: {rolled} s")
        watched = watch.stop()
    plain = by_hand["rollout"]
    joins, removals = mean(plain, "join_"), mean(plain, "remove_")
    return {
        "d_plain_join_seconds": joins,
        "d_scale_up_step_seconds": round(grown / 2, 1),
        "ratio_scale_up_step": round(grown / 2 / joins, 3),
        "e_plain_removal_seconds": removals,
        "e_scale_down_step_seconds": round(shrunk / 2, 1),
        "ratio_scale_down_step": round(shrunk / 2 / removals, 3),
        "f_plain_joins_and_removals_seconds": plain["total"],
        "f_rollout_seconds": rolled,
        "f_peak_memory_mebibytes": peak,
        "ratio_rollout": round(rolled / float(plain["total"]), 3),
        # Waiting between two commands is no command: this is with it.
        "f_plain_until_healthy_seconds": plain["until_healthy"],
        "ratio_rollout_to_plain_until_healthy": round(rolled / float(plain["until_healthy"]), 3),
        "longest_seconds_without_quorum": watched["quorum"]["longest_gap_seconds"],
        "longest_seconds_without_an_endpoint": longest_in_a_step(watched),
        "watched": {
            **{key: watched[key] for key in ("watched_seconds", "quorum", "endpoint", "elections")},
            "steps": [brief(step) for step in watched["steps"] if step["endpoint"]["asked"]],
        },
    }


def modules(machines: Machines) -> Object:
    """What modules take that are of use by themselves: one call over SSH, the snapshot with its verification."""
    tasks: list[Object] = [
        {"kubeadm.control_plane.preflight": {"existing": True, "report_only": True}},
        {"kubeadm.control_plane.etcd_snapshot": {"name": "bench", "keep": 1}},
    ]
    seconds = [round(each["took"], 1) for each in machines.play(tasks)]
    return dict(zip(("preflight_seconds", "etcd_snapshot_seconds"), seconds))


def empty_action(workspace: Workspace) -> float:
    """What carrying out an Action costs by itself: one Task on each node, with a command that does nothing."""
    group = {"name": "nothing", "nodeSelector": {}, "commands": ["pass"]}
    begin = time.monotonic()
    NodeActions(workspace, NAME).run("nothing", {"custom": {"workflow": [group]}}).succeeded()
    return round(time.monotonic() - begin, 1)


def in_place(workspace: Workspace) -> Object:
    """Renew the certificates of three nodes where they stand, which restarts every component; the watcher tells what of that the endpoint shows."""
    with Watch(workspace.store, NAME, workspace.folder) as watch:
        begin = time.monotonic()
        NodeActions(workspace, NAME).run("renew", {"renewCertificates": {}}).succeeded()
        seconds = round(time.monotonic() - begin, 1)
        watched = watch.stop()
    say(f"certificates of three nodes renewed in place: {seconds} s")
    gaps: dict[str, float] = {}
    for step in watched["steps"]:
        if step["action"] == "task":
            gaps[step["target"]] = round(gaps.get(step["target"], 0.0) + step["endpoint"]["unanswered_seconds"], 2)
    return {
        "renewal_in_place_seconds": seconds,
        "longest_seconds_without_quorum_in_place": watched["quorum"]["longest_gap_seconds"],
        "seconds_without_an_endpoint_by_node_in_place": gaps,
        "longest_seconds_without_an_endpoint_for_a_node_in_place": max(gaps.values(), default=0.0),
    }


def mean(seconds: t.Mapping[str, float], beginning: str) -> float:
    """The mean of the steps whose name begins so."""
    found = [value for key, value in seconds.items() if key.startswith(beginning)]
    return round(sum(found) / len(found), 1)


def longest_in_a_step(watched: Object) -> float:
    """The most seconds without an answering endpoint in any one step."""
    return max((step["endpoint"]["total_gap_seconds"] for step in watched["steps"]), default=0.0)


def brief(step: Object) -> Object:
    """What the watcher saw in a step, in short."""
    return {
        **{key: step[key] for key in ("action", "seconds")},
        "without_quorum_seconds": step["quorum"]["total_gap_seconds"],
        "without_an_endpoint_seconds": step["endpoint"]["total_gap_seconds"],
        "failed_calls_of_the_endpoint": step["endpoint"]["failed"],
    }


def main() -> None:
    """Run everything and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--short", action="store_true", help="only create, and reconcile a second time")
    options = parser.parse_args()
    pure = {"decisions": printed("decisions.py", "--json"), "kubeadm_api": printed("kubeadm_api.py")}
    load = os.getloadavg()[0]
    by_hand = printed("plain_kubeadm.py", *([] if options.short else ["--rollout"]))
    say(f"(a) plain kubeadm: {by_hand['total']} s, healthy after {by_hand['until_healthy']} s")
    more: Object = {}
    with tempfile.TemporaryDirectory(prefix="kubeadm-control-plane-bench-") as folder:
        workspace = Workspace(Path(folder) / "workspace")
        workspace.manifest(NAME, replicas=3)
        machines = Machines(workspace, NAME)
        try:
            begin = time.monotonic()
            create, create_peak, _output = timed(workspace)
            machines.ssh(machines.names()[0], until_healthy(3), timeout=HEALTHY_SECONDS + 60)
            healthy = round(time.monotonic() - begin, 1)
            say(f"(b) three replicas: {create} s, healthy after {healthy} s")
            before = connections(machines)
            noop, noop_peak, output = timed(workspace)
            after = connections(machines)
            say(f"(c) nothing to do: {noop} s")
            in_turns = nothing_and_ping(workspace, machines)
            _seconds, _peak, verbose = timed(workspace, "-vvv")
            alone = {**modules(machines), "empty_action_seconds": empty_action(workspace)}
            say(f"an Action that does nothing on three nodes: {alone['empty_action_seconds']} s")
            if not options.short:
                more = {**growing_shrinking_and_rolling(workspace, by_hand), **in_place(workspace)}
        finally:
            workspace.playbook("delete", "-e", f"control_plane_delete={NAME}")
    # Asking how many there were is itself one connection to each machine.
    opened = {name: after[name] - before[name] - 1 for name in after}
    figures = {
        "a_plain_kubeadm_seconds": by_hand["total"],
        "a_plain_kubeadm_until_healthy_seconds": by_hand["until_healthy"],
        "a_steps": {key: value for key, value in by_hand.items() if key not in ("total", "until_healthy")},
        "b_reconcile_seconds": create,
        "b_reconcile_until_healthy_seconds": healthy,
        "ratio_create": round(create / float(by_hand["total"]), 3),
        "ratio_create_to_plain_until_healthy": round(create / float(by_hand["until_healthy"]), 3),
        "ratio_create_until_healthy": round(healthy / float(by_hand["until_healthy"]), 3),
        "b_peak_memory_mebibytes": create_peak,
        "second_reconcile_seconds": noop,
        **in_turns,
        "c_tasks": len(re.findall(r"^TASK ", output, re.MULTILINE)) - output.count("\nskipping: ["),
        "c_changed": int(re.findall(rf"^{NAME}\s.*changed=(\d+)", output, re.MULTILINE)[-1]),
        "c_peak_memory_mebibytes": noop_peak,
        "c_ssh_connections": sum(opened.values()),
        "c_machines_connected_to": sum(1 for count in opened.values() if count),
        "c_module_calls_on_machines": len(re.findall(r"SSH: EXEC", verbose)),
        "c_module_calls_on_the_controller": len(re.findall(r"^<[^>]*> EXEC ", verbose, re.MULTILINE)),
        "c_passes": len(re.findall(r"^TASK \[.*Observe and decide\]", output, re.MULTILINE)),
        **alone,
        **more,
        "existing_hosts": printed("existing_hosts.py", "--turns", "1" if options.short else "2"),
        **({} if options.short else {"adoption": printed("adoption.py"), "upgrade": printed("upgrade.py")}),
        "without_machines": pure,
        "load_before": round(load, 2),
        "load_after": round(os.getloadavg()[0], 2),
        "asked_for_at_most": BOUNDS,
    }
    print(json.dumps(figures, indent=2))


if __name__ == "__main__":
    main()
