# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Creation of a control plane on three existing hosts: plain kubeadm, `reconcile` and peers, in turns; prints JSON.

Each contestant gets three hosts made for it alone, with kubeadm, kubelet, containerd and all images on them, and a load balancer that has all
three as its servers. Making hosts and load balancer is not counted. Two figures are taken of each: until its last command or its playbook
ends, and until the control plane is healthy, for which everyone's cluster is asked the same (tests/support/healthy.py).

A peer is a playbook of the user's (--peer, again for a second one): docs/development.md, "Side by side with a peer".
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import statistics
import sys
import tempfile
import time
import typing as t
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

import yaml
from healthy import HEALTHY_SECONDS, until_healthy
from host_pool import GROUP, HostPool, pool_documents
from kubeadm_by_hand import ByHand
from lab_kubernetes import VERSION
from workspace import Workspace, cluster_documents

NAME, HOSTS = "bench-hosts", 3
PLAIN, OURS = "plain_kubeadm", "reconcile"
PEER_SECONDS = 1800
# What lib.sh sets so that only the artefact is found; a peer finds what its own ansible.cfg and folders have.
NOT_FOR_PEERS = ("ANSIBLE_CONFIG", "PYTHONPATH", "ANSIBLE_COLLECTIONS_PATH", "ANSIBLE_COLLECTIONS_SCAN_SYS_PATH")
# What is asked of the figures; they are printed beside them and nothing fails by them.
BOUNDS = {"ratio_create_on_existing_hosts": 1.12, "ratio_create_on_existing_hosts_to_plain_until_healthy": 0.95}


@dataclass
class Field:
    """Three hosts, the load balancer in front of them, and a folder for the files of one contestant."""

    folder: Path
    pool: HostPool
    hand: ByHand

    @classmethod
    @contextlib.contextmanager
    def made(cls) -> t.Iterator[Field]:
        """Make hosts and load balancer; remove both in the end."""
        with tempfile.TemporaryDirectory(prefix="kubeadm-control-plane-bench-") as folder:
            pool = HostPool(Path(folder), "bench")
            hand = ByHand(pool, NAME, [])
            try:
                hand.hosts = pool.make(HOSTS)
                hand.balance(HOSTS)
                yield cls(Path(folder), pool, hand)
            finally:
                hand.remove()
                pool.remove()

    def user(self, kubeadm: t.Optional[dict[str, t.Any]] = None) -> Workspace:
        """Return a user's folder with the manifest of a control plane on the hosts; ``kubeadm`` is more of its KubeadmConfigSpec."""
        user = Workspace(self.folder / "user")
        documents = cluster_documents(NAME, replicas=HOSTS, kubeadm=kubeadm)
        pool_documents(documents, {"group": GROUP, "kubeadm": self.pool.needs}, self.hand.balancer)
        user.write(NAME, yaml.safe_dump_all(documents, sort_keys=False))
        return user

    def arguments(self) -> tuple[str, ...]:
        """Write the hosts' inventory; return what the user types behind a playbook's name."""
        return ("-i", str(self.pool.inventory()), "--limit", NAME)

    def wait_until_healthy(self) -> None:
        """Wait until the control plane is healthy, as its first host sees it."""
        self.pool.ssh(self.hand.hosts[0], until_healthy(HOSTS), timeout=HEALTHY_SECONDS + 60)


@dataclass(frozen=True)
class Contestant:
    """Whoever makes a control plane: a name, what is done before the clock starts, and what is timed."""

    name: str
    prepare: t.Callable[[Field], t.Any]
    create: t.Callable[[Field, t.Any], None]


def plain() -> Contestant:
    """Return the plain commands, typed one after the other."""
    return Contestant(PLAIN, lambda _field: None, lambda field, _prepared: field.hand.make())


def ours() -> Contestant:
    """Return `reconcile` with the hosts as its pool."""

    def create(field: Field, user: Workspace) -> None:
        run = user.playbook("reconcile", *field.arguments())
        if run.returncode != 0:
            sys.exit(f"reconcile failed:\n{run.output[-6000:]}")

    return Contestant(OURS, Field.user, create)


def peer(name: str, playbook: Path, program: str) -> Contestant:
    """Return a user's playbook, run in its own folder; `prepare.yml` beside it is run before the clock starts.

    ``program`` is the ansible-playbook that runs both.
    """

    def play(field: Field, path: Path) -> None:
        words = ["env", *(f"--unset={each}" for each in NOT_FOR_PEERS), program]
        run = Workspace.run([*words, "-i", str(peer_inventory(field)), str(path)], path.parent, PEER_SECONDS)
        if run.returncode != 0:
            sys.exit(f"{path} failed:\n{run.output[-6000:]}")

    def prepare(field: Field) -> None:
        beside = playbook.with_name("prepare.yml")
        if beside.is_file():
            play(field, beside)

    return Contestant(name, prepare, lambda field, _prepared: play(field, playbook))


def peer_inventory(field: Field) -> Path:
    """Write a peer's inventory: the hosts in the groups that peers use, and what a peer has to know as variables."""
    variables = {
        "bench_endpoint": field.hand.balancer,
        "bench_endpoint_port": 6443,
        "bench_kubernetes_version": VERSION.removeprefix("v"),
        "bench_ignore_preflight_errors": field.pool.needs["ignorePreflightErrors"],
        "bench_skip_phases": field.pool.needs["skipPhases"],
    }
    path = field.pool.inventory("kube_control_plane", variables=variables, path="peer.yml")
    document = yaml.safe_load(path.read_text())
    document["all"]["children"]["controllers"] = {"children": {"kube_control_plane": {}}}
    path.write_text(yaml.safe_dump(document))
    return path


def timed(contestant: Contestant) -> dict[str, float]:
    """Have a contestant make its control plane on fresh hosts; return its seconds."""
    with Field.made() as field:
        prepared = contestant.prepare(field)
        begin = time.monotonic()
        contestant.create(field, prepared)
        seconds = time.monotonic() - begin
        field.wait_until_healthy()
        healthy = time.monotonic() - begin
    return {
        "seconds": round(seconds, 1),
        "until_healthy_seconds": round(healthy, 1),
        "load_after": round(os.getloadavg()[0], 1),
    }


def in_turns(contestants: t.Sequence[Contestant], turns: int) -> dict[str, list[dict[str, float]]]:
    """Run the contestants one after the other, every other turn in the opposite order."""
    found: dict[str, list[dict[str, float]]] = {each.name: [] for each in contestants}
    for turn in range(turns):
        for each in contestants if turn % 2 == 0 else reversed(contestants):
            found[each.name].append(timed(each))
            last = found[each.name][-1]
            text = f"{each.name}: {last['seconds']} s, healthy after {last['until_healthy_seconds']} s (load {last['load_after']})"
            print(f"bench: existing hosts, turn {turn + 1}: {text}", file=sys.stderr, flush=True)
    return found


def ratios(found: t.Mapping[str, t.Sequence[t.Mapping[str, float]]]) -> dict[str, float]:
    """Return the ratios of the medians: of `reconcile` to each other contestant, and of a peer to the plain commands."""

    def median(name: str, key: str) -> float:
        return statistics.median(each[key] for each in found[name])

    def ratio(one: str, key: str, other: str, other_key: str) -> float:
        return round(median(one, key) / median(other, other_key), 3)

    ended, healthy = "seconds", "until_healthy_seconds"
    figures = {
        "ratio_create_on_existing_hosts": ratio(OURS, ended, PLAIN, ended),
        "ratio_create_on_existing_hosts_to_plain_until_healthy": ratio(OURS, ended, PLAIN, healthy),
        "ratio_create_on_existing_hosts_until_healthy": ratio(OURS, healthy, PLAIN, healthy),
    }
    for name in [each for each in found if each not in (PLAIN, OURS)]:
        figures[f"ratio_to_{name}"] = ratio(OURS, ended, name, ended)
        figures[f"ratio_to_{name}_until_healthy"] = ratio(OURS, healthy, name, healthy)
        figures[f"ratio_of_{name}_to_plain"] = ratio(name, ended, PLAIN, ended)
        figures[f"ratio_of_{name}_to_plain_until_healthy"] = ratio(name, healthy, PLAIN, healthy)
    return figures


def peers_of(arguments: t.Sequence[str], program: str) -> list[Contestant]:
    """Return the peers asked for: `NAME=PLAYBOOK`, or a playbook alone, whose folder's name is the peer's."""
    found: dict[str, Contestant] = {}
    for each in arguments:
        name, _equals, path = each.rpartition("=")
        playbook = Path(path).resolve()
        if not playbook.is_file():
            sys.exit(f"--peer {each}: there is no file {playbook}")
        name = name or playbook.parent.name
        if name in (PLAIN, OURS) or name in found:
            sys.exit(f"--peer {each}: another contestant has the name {name}; give one as --peer NAME={playbook}")
        found[name] = peer(name, playbook, program)
    return list(found.values())


def main() -> None:
    """Run everything and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=2, metavar="N", help="how often each contestant goes (2)")
    parser.add_argument(
        "--peer",
        action="append",
        default=[],
        metavar="[NAME=]PLAYBOOK",
        help="a playbook that makes a control plane, too",
    )
    parser.add_argument(
        "--peer-ansible",
        default="ansible-playbook",
        metavar="PROGRAM",
        help="the ansible-playbook that runs peers, where theirs needs another ansible-core than the bench's own",
    )
    options = parser.parse_args()
    if options.turns < 1:
        parser.error("--turns: at least 1")
    if os.geteuid() != 0:
        sys.exit("the benchmark needs root: it makes machines, a network bridge and mounts")
    load = os.getloadavg()[0]
    found = in_turns([plain(), ours(), *peers_of(options.peer, options.peer_ansible)], options.turns)
    loads = {"load_before": round(load, 2), "load_after": round(os.getloadavg()[0], 2)}
    print(json.dumps({**ratios(found), "contestants": found, **loads, "asked_for_at_most": BOUNDS}, indent=2))


if __name__ == "__main__":
    main()
