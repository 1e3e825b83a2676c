# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A fleet: what 100 and 1,000 clusters of three machines cost; prints JSON.

The clusters are recorded: `reconcile` makes one on stand-ins for machines, and its objects are written into both kinds of store as often
as there are clusters, under other names. What their nodes would answer is replayed. Each figure is taken in processes of its own:

planned      every cluster observed and planned in one process, the store read once: nothing to do, and (rollout) all machines to be replaced
alone        clusters observed and planned one by one, as a pass of reconcile does in which nothing is to be done, each with what it reads of a
             store in which there are so many others
inventory    the inventory plugin, with the clusters' machines as hosts and without
playbooks    reconcile, plan, status and health_check over a fleet in which nothing is to be done, `forks` wide

Seconds of the processor are the measure, those of the API server and its etcd apart, since other work on the machine doesn't change them
much; the growth between the two sizes is what one more cluster costs.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
import typing as t
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

from api_server import ApiServer, find_binary
from recorded_fleet import KINDS, FleetWorkspace, Recording, Replayed, name_of
from workspace import descendants

from ansible_collections.kubeadm.control_plane.plugins.module_utils.common.values import now_rfc3339
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.plan.document import make_plan
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.snapshot.public import public_snapshot
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.snapshot.typed_snapshot import (
    check_snapshot,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.observe.observation import observe
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.records.cluster_objects import ClusterObjects
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store import opening
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.base import Store
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.kubernetes.store import KubernetesStore
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.read_once import OF_NAMESPACE

Object = dict[str, t.Any]
SIZES = (100, 1000)
# Of the playbook, which takes seconds of the processor for each cluster; the larger one with more forks, too.
PLAYED = (100, 1000)
FORKS = 5
PLAYBOOKS = ("reconcile", "plan", "status", "health_check")
# So many clusters of a fleet tell what one takes by itself.
ALONE = 50
# What is asked of the figures on two cores of a usual machine.
BOUNDS = {
    "planned_1000_seconds": 60,
    "requests_of_a_pass": 10,
    "playbook_processor_seconds_a_cluster": 0.2,
    "playbook_1000_seconds": 600,
    "playbook_kibibytes_for_one_more": 200,
    # The costs of one more cluster at 1,000, less those at 100, in parts of the latter.
    "growth_over_linear": 0.25,
}


def measured(folder: Path, *words: str) -> Object:
    """Run a part in a process of its own; its figures with its seconds and its most memory."""
    begin = time.monotonic()
    command = [sys.executable, __file__, "--within", str(folder), *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        output, _none = process.communicate()
    if process.returncode != 0:
        sys.exit(f"{' '.join(words)} failed")
    return {"seconds": round(time.monotonic() - begin, 1), **dict(json.loads(output))}


def cost(of_children: bool = False) -> Object:
    """What this process has taken so far, or those that it started and waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN if of_children else resource.RUSAGE_SELF)
    return {
        "processor_seconds": round(used.ru_utime + used.ru_stime, 2),
        "mebibytes": round(used.ru_maxrss / 1024, 1),
    }


def planned(options: Object, caller: Replayed, count: int, rollout: bool) -> Object:
    """Observe and plan every cluster, in this process; the store is read once."""
    store = opening.open_store(options)
    steps: Counter[int] = Counter()
    before = cost()["processor_seconds"]
    with store.view(OF_NAMESPACE):
        for number in range(count):
            steps[plan_one(store, caller, number, rollout)] += 1
    total = cost()
    return {
        **total,
        "milliseconds_a_cluster": round(1000 * (total["processor_seconds"] - before) / count, 2),
        "clusters_by_steps": steps,
    }


def alone(options: Object, caller: Replayed, count: int) -> Object:
    """Some of the clusters, each with a store of its own, as the runs of a fleet's playbook have it."""
    before = cost()["processor_seconds"]
    requests = 0
    for number in range(0, count, max(1, count // ALONE))[:ALONE]:
        store = opening.open_store(options)
        asked = requests_of(store)
        with store.view():
            plan_one(store, caller, number, False, detached=False)
        requests = max(requests, requests_of(store) - asked)
    total = cost()
    return {
        **total,
        "milliseconds_a_cluster": round(1000 * (total["processor_seconds"] - before) / min(count, ALONE), 2),
        "requests_a_cluster": requests,
    }


def requests_of(store: Store) -> int:
    """How many requests this process has sent to the store's API."""
    return store.api.requests if isinstance(store, KubernetesStore) else 0


def plan_one(store: Store, caller: Replayed, number: int, rollout: bool, detached: bool = True) -> int:
    """Observe a cluster and plan; the number of steps. ``detached``: also what reconcile asks for only before a step."""
    objects = ClusterObjects.read(store, "default", name_of(number))
    assert objects is not None and objects.control_plane is not None, name_of(number)
    if rollout:
        objects.control_plane["spec"]["kubeadmConfigSpec"]["preKubeadmCommands"] = ["true"]
    snapshot = observe(
        objects, caller, now_rfc3339(), policy={"replace": "allow", "approved": False}, detached=detached
    )
    assert check_snapshot(snapshot) == []
    return len(make_plan(public_snapshot(snapshot), now_rfc3339())["steps"])


def inventory(folder: Path, count: int) -> Object:
    """What the inventory plugin makes of the store, as every command begins."""
    words = ["ansible", "-i", "inventory.clusters.yml", "control_planes", "--list-hosts"]
    found = subprocess.run(words, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, check=True)
    assert f"({count})" in found.stdout.splitlines()[0], found.stdout[:200]
    total = cost(of_children=True)
    return {**total, "milliseconds_a_cluster": round(1000 * total["processor_seconds"] / count, 2)}


def started(folder: Path, playbook: str, stream: t.TextIO) -> subprocess.Popen[bytes]:
    """Start a playbook over the fleet."""
    return subprocess.Popen(
        [
            "ansible-playbook",
            "-i",
            "inventory.clusters.yml",
            "-e",
            "@variables.yml",
            "-f",
            str(FORKS),
            f"kubeadm.control_plane.{playbook}",
        ],
        cwd=folder,
        env={**os.environ, **json.loads((folder / "environment.json").read_text()), "ANSIBLE_NOCOLOR": "1"},
        stdin=subprocess.DEVNULL,
        stdout=stream,
        stderr=subprocess.STDOUT,
    )


def played(folder: Path, playbook: str, count: int) -> Object:
    """A playbook over a fleet in which nothing is to be done: its processes' memory, sampled while they live."""
    log = folder / f"{playbook}.log"
    main = peak = 0.0
    with log.open("w") as stream:
        process = started(folder, playbook, stream)
        while process.poll() is None:
            every = {pid: _proportional_mebibytes(pid) for pid in descendants(process.pid)}
            main, peak = max(main, every.get(process.pid, 0.0)), max(peak, sum(every.values()))
            time.sleep(0.5)
    text = log.read_text()
    if process.returncode != 0 or not re.search(
        rf"^(.*: {count} with|{count} of {count} clusters have) nothing to do|^{count} clusters: {count} healthy$",
        text,
        re.M,
    ):
        sys.exit(f"{playbook} over {count} clusters failed, or found something to do:\n{text[-6000:]}")
    seconds = cost(of_children=True)["processor_seconds"]
    return {
        "processor_seconds": seconds,
        "processor_seconds_a_cluster": round(seconds / count, 3),
        "mebibytes_of_all_processes": round(peak, 1),
        "mebibytes_of_the_main_process": round(main, 1),
    }


def _proportional_mebibytes(pid: int) -> float:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0.0
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("Pss:")), 0.0)


def say(text: str) -> None:
    """Tell how far it is; standard output is for the figures."""
    print(f"fleet: {text} (load {os.getloadavg()[0]:.1f})", file=sys.stderr, flush=True)


def servers_seconds(server: ApiServer | None) -> float:
    """What the API server and its etcd have taken of the processor so far."""
    if server is None:
        return 0.0
    processes = [server.process, *(member.process for member in server.etcd.members)]
    ticks = 0
    for process in processes:
        assert process is not None
        after_name = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
        ticks += int(after_name[11]) + int(after_name[12])
    return ticks / os.sysconf("SC_CLK_TCK")


class Fleet(FleetWorkspace):
    """A user's folder with so many clusters in a store, and what is replayed for them."""

    def __init__(self, folder: Path, recording: Recording, count: int, server: ApiServer | None) -> None:
        super().__init__(folder, recording, server.kubeconfig if server else None)
        self.count = count
        self.server = server
        (folder / "environment.json").write_text(json.dumps(self.environment))
        (folder / "store.json").write_text(json.dumps(self.connection))
        if server is None:
            recording.fill_folder(folder / "store", count)
            for number in range(count):
                self.write(name_of(number), recording.manifest_of(number))


def figures_of(fleet: Fleet, planned_too: bool, playbooks: t.Sequence[str], log: str) -> Object:
    """Everything of one fleet."""
    parts: list[tuple[str, list[str], bool]] = []
    if planned_too:
        parts += [(part, [part], True) for part in ("planned", "rollout", "alone", "inventory")]
        parts += [("inventory_without_machines", ["inventory"], False)]
    parts += [(f"playbook_{each}", ["playbook", each], False) for each in playbooks]
    found: Object = {}
    for key, (part, *more), machines in parts:
        fleet.inventory(machines=machines)
        before = servers_seconds(fleet.server)
        found[key] = measured(fleet.folder, part, str(fleet.count), *more)
        if fleet.server is not None:
            found[key]["servers_processor_seconds"] = round(servers_seconds(fleet.server) - before, 2)
        say(f"{log}, {fleet.count} clusters, {key}: {found[key]}")
    return found


def growth(found: t.Mapping[str, Object]) -> Object:
    """What one more cluster costs between the two largest fleets that a part was measured with."""
    said: Object = {}
    for part in sorted({part for each in found.values() for part in each}):
        sizes = sorted((int(size) for size, each in found.items() if part in each), reverse=True)[:2]
        if len(sizes) < 2:
            continue
        large, small = (found[str(size)][part] for size in sizes)
        more = sizes[0] - sizes[1]
        memory = "mebibytes_of_the_main_process" if "mebibytes" not in large else "mebibytes"
        said[part] = {
            "between": sorted(sizes),
            "processor_milliseconds_for_one_more": round(
                1000 * (large["processor_seconds"] - small["processor_seconds"]) / more, 2
            ),
            "kibibytes_for_one_more": round(1024 * (large[memory] - small[memory]) / more, 1),
        }
    return said


def kubernetes(folder: Path) -> ApiServer | str:
    """An API server with this collection's kinds, or why there is none."""
    from management_workspace import ACME, DEFINITIONS

    from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.crds import definitions
    from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.kubernetes.store import kind_path

    apiserver, kubectl = find_binary("kube-apiserver"), find_binary("kubectl")
    if apiserver is None or kubectl is None:
        return "left out: no kube-apiserver (KUBERNETES_BINARIES, or a machine image that was built)"
    server = ApiServer(folder, apiserver, kubectl).wait_ready()
    every = [each for each in (*definitions.KINDS, *ACME) if each.name in KINDS or not each.name.startswith("Nspawn")]
    for kind in every:
        server.create(DEFINITIONS, definitions.definition(kind))
    for kind in every:
        server.until_served(kind_path((definitions.group_of(kind.name), kind.name), "default"))
    return server


def everything(options: argparse.Namespace, folder: Path) -> Object:
    """All figures."""
    kept = Path(options.recording) if options.recording else folder / "recording.json"
    if not kept.exists():
        kept.write_text(json.dumps(Recording.make(folder / "recorded", os.environ).document))
    recording = Recording(json.loads(kept.read_text()))
    say("one cluster is recorded")
    found: Object = {"load_before": round(os.getloadavg()[0], 2)}
    server = kubernetes(folder / "server") if "kubernetes" in options.stores else ""
    try:
        if "file" in options.stores:
            found["file_store"] = fleets_of(folder, recording, options.sizes, options.played, None)
        if server:
            found["kubernetes_store"] = server
        if isinstance(server, ApiServer):
            found["kubernetes_store"] = fleets_of(folder, recording, options.sizes, options.played, server)
    finally:
        if isinstance(server, ApiServer):
            server.end()
    return {**found, "load_after": round(os.getloadavg()[0], 2), "asked_for_at_most": BOUNDS}


def fleets_of(
    folder: Path, recording: Recording, sizes: t.Sequence[int], played: t.Sequence[int], server: ApiServer | None
) -> Object:
    """The figures of fleets of several sizes in one kind of store."""
    kind = "file" if server is None else "kubernetes"
    fleets: dict[str, Object] = {}
    there = 0
    for count in sorted({*sizes, *played}):
        if server is not None:
            recording.fill_api(server, count - there, there)
            there = count
            say(f"{count} clusters are in the API")
        fleet = Fleet(folder / f"{kind}-{count}", recording, count, server)
        if count in played:
            # What was recorded is older or younger than it was: the first run writes that down.
            with (fleet.folder / "settled.log").open("w") as stream:
                started(fleet.folder, "reconcile", stream).wait()
        playbooks = PLAYBOOKS if count in played else ()
        fleets[str(count)] = figures_of(fleet, count in sizes, playbooks, f"{kind} store")
    return {**fleets, "growth": growth(fleets)}


def within(folder: Path, part: str, count: int, *more: str) -> Object:
    """One part, in a process of its own."""
    if part == "inventory":
        return inventory(folder, count)
    if part == "playbook":
        return played(folder, more[0], count)
    caller = Replayed.over(folder / "replayed")
    options = json.loads((folder / "store.json").read_text())
    return alone(options, caller, count) if part == "alone" else planned(options, caller, count, part == "rollout")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="*", default=list(SIZES), help="clusters, planned in one process")
    parser.add_argument("--played", type=int, nargs="*", default=list(PLAYED), help="clusters, of the playbook")
    parser.add_argument("--stores", nargs="*", default=["file", "kubernetes"], choices=["file", "kubernetes"])
    parser.add_argument("--recording", help="a file that the recording is taken from; made where it is missing")
    parser.add_argument("--within", nargs="+", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.within:
        folder, part, count, *more = options.within
        print(json.dumps(within(Path(folder), part, int(count), *more)))
        return
    with tempfile.TemporaryDirectory(prefix="kubeadm-control-plane-fleet-") as folder:
        print(json.dumps(everything(options, Path(folder)), indent=2))


if __name__ == "__main__":
    main()
