# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Profile of runs: where the time of a creation, a scale-up, a run with nothing to do and a fleet went; prints tables.

creation   `reconcile` makes a control plane of one real local machine
step       `reconcile` scales it to three: two joins
nothing    `reconcile` again, with nothing to do
existing   `reconcile` makes a control plane of three on existing hosts, behind a load balancer that has them already
fleet      `reconcile` over a recorded fleet (fleet.py) in which nothing is to be done

How to read the tables: docs/development.md, "Where a run's time goes".
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import tempfile
import typing as t
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

from existing_hosts import HOSTS, Field
from machines import Machines
from profiled_run import NOTED_KUBEADM, Profile, add_machines, profiled
from recorded_fleet import FleetWorkspace, Recording, name_of
from replayed import number_of
from workspace import Workspace

NAME = "profile"
CLUSTERS = 20
KUBEADM: dict[str, t.Any] = {"preKubeadmCommands": [NOTED_KUBEADM]}


def one_cluster(folder: Path) -> dict[str, Profile]:
    """Profile creation, step and a run with nothing to do, on real machines; they are deleted whatever happens."""
    workspace = Workspace(folder / "workspace")
    machines = Machines(workspace, NAME)
    found: dict[str, Profile] = {}
    try:
        for key, title, replicas in (
            ("creation", "creation: one machine", 1),
            ("step", "step: one machine to three, two joins", 3),
            ("nothing", "nothing to do: three machines", 3),
        ):
            say(title)
            workspace.manifest(NAME, replicas=replicas, kubeadm=KUBEADM)
            profile = profiled(title, workspace.folder, workspace.command("reconcile"), {})
            addresses = {
                each: machines.infrastructure(each)["status"]["connection"]["host"] for each in machines.names()
            }
            found[key] = add_machines(profile, addresses, machines.ssh)
    finally:
        say("the machines are deleted")
        workspace.remove_clusters()
    return found


def existing_hosts() -> Profile:
    """Profile the creation of three machines on existing hosts; the hosts are removed whatever happens."""
    title = f"existing hosts: creation of {HOSTS} machines"
    say(title)
    with Field.made() as field:
        user = field.user(KUBEADM)
        profile = profiled(title, user.folder, user.command("reconcile", *field.arguments()), {})
        profile = add_machines(profile, field.pool.addresses, field.pool.ssh)
        say("the hosts are removed")
    return profile


def fleet(folder: Path, count: int) -> Profile:
    """Profile a run over a recorded fleet in which nothing is to be done."""
    say("one cluster is recorded on stand-ins")
    own = dict(os.environ)
    try:
        recording = Recording.make(folder / "recorded", os.environ)
    finally:
        os.environ.clear()
        os.environ.update(own)
    workspace = FleetWorkspace(folder / "fleet", recording)
    recording.fill_folder(workspace.store, count)
    for number in range(count):
        workspace.write(name_of(number), recording.manifest_of(number))
    # It stands on the command line, where it would go before the one that times.
    ssh = workspace.environment.pop("ANSIBLE_SSH_EXECUTABLE")
    title = f"fleet: {count} clusters of {recording.machines} machines, nothing to do"
    say(title)
    profile = profiled(title, workspace.folder, workspace.command("reconcile"), workspace.environment, ssh)
    addresses = {each.name for each in profile.spans if each.kind == "ssh" and each.name.count(".") == 3}
    profile.names.update({each: f"{name_of(number_of(each))} at {each}" for each in addresses})
    return profile


def say(text: str) -> None:
    """Tell how far it is; standard output is for the profile."""
    print(f"profile: {text} (load {os.getloadavg()[0]:.1f})", file=sys.stderr, flush=True)


def main() -> None:
    """Profile and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--json", action="store_true", help="print JSON: the tables, and every task and call in their order"
    )
    parser.add_argument("--order", action="store_true", help="print tasks and calls also in the order of their starts")
    parser.add_argument("--keep", metavar="FILE", help="write the same JSON to a file, beside what is printed")
    parser.add_argument("--fleet", type=int, default=CLUSTERS, metavar="N", help=f"clusters, 0 for none ({CLUSTERS})")
    parser.add_argument(
        "--only-existing-hosts",
        action="store_true",
        help="of what needs real machines, only the creation on existing hosts",
    )
    parser.add_argument("--only-fleet", action="store_true", help="no real machines; that needs no root")
    options = parser.parse_args()
    if not options.only_fleet and os.geteuid() != 0:
        sys.exit("the profile needs root: it makes machines, a network bridge and mounts (--only-fleet needs none)")
    # What is deleted at the end is also deleted where this process is asked to end.
    signal.signal(signal.SIGTERM, lambda *_unused: sys.exit("ended by SIGTERM"))
    load = os.getloadavg()[0]
    found: dict[str, Profile] = {}
    with tempfile.TemporaryDirectory(prefix="kubeadm-control-plane-profile-") as folder:
        if not options.only_fleet:
            if not options.only_existing_hosts:
                found.update(one_cluster(Path(folder)))
            found["existing"] = existing_hosts()
        if options.fleet:
            found["fleet"] = fleet(Path(folder), options.fleet)
    loads = {"load_before": round(load, 2), "load_after": round(os.getloadavg()[0], 2)}
    document = json.dumps({**{key: each.document() for key, each in found.items()}, **loads}, indent=2)
    if options.keep:
        Path(options.keep).write_text(document + "\n")
    texts = (f"{each.text()}\n\n{each.order()}" if options.order else each.text() for each in found.values())
    print(document if options.json else "\n\n\n".join(texts))


if __name__ == "__main__":
    main()
