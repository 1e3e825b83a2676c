# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A three-node control plane with the plain kubeadm commands, as a person would type them; prints the seconds of each step as JSON.

With --rollout its machines are then replaced one by one: a new one booted and joined, an old one drained, reset and deleted.
The machines, the image and the load balancer are the local provider's; everything about Kubernetes is ssh and kubeadm.
It works in a folder and on a bridge of its own, and removes both at the end (unless --keep).
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import typing as t
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

from healthy import MEMBERS, until_healthy

from ansible_collections.kubeadm.control_plane.plugins.module_utils.nspawn import clean, host
from ansible_collections.kubeadm.control_plane.plugins.module_utils.nspawn.addresses import (
    DEFAULT_UNREACHABLE,
    network_of,
    unreachable_networks,
)
from ansible_collections.kubeadm.control_plane.plugins.module_utils.nspawn.endpoint import haproxy, lifecycle
from ansible_collections.kubeadm.control_plane.plugins.module_utils.nspawn.image import cache as image
from ansible_collections.kubeadm.control_plane.plugins.module_utils.nspawn.image.build import Request
from ansible_collections.kubeadm.control_plane.plugins.module_utils.nspawn.layout import Cache, Layout
from ansible_collections.kubeadm.control_plane.plugins.module_utils.nspawn.machine import lifecycle as machine

CLUSTER = "plain"
NAMES = ("plain-1", "plain-2", "plain-3")
REPLACEMENTS = ("plain-4", "plain-5", "plain-6")
KUBECTL = "KUBECONFIG=/etc/kubernetes/admin.conf kubectl"


class Steps:
    """Seconds of each step, said while they pass."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    def run(self, name: str, work: t.Callable[[], t.Any]) -> t.Any:
        """Do one step and note its seconds."""
        begin = time.monotonic()
        result = work()
        self.seconds[name] = round(time.monotonic() - begin, 2)
        print(f"{name}: {self.seconds[name]} s", file=sys.stderr)
        return result


class Machines:
    """Three machines reached by ssh, each verified by its host key."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.addresses: dict[str, str] = {}
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / "key")], check=True)
        self.public_key = (folder / "key.pub").read_text()

    def know(self, made: t.Mapping[str, t.Any]) -> None:
        """Note a machine's address and host key."""
        self.addresses[made["name"]] = made["address"]
        with (self._folder / "known_hosts").open("a") as file:
            file.writelines(f"{made['address']} {key}\n" for key in made["host_keys"])

    def ssh(self, name: str, command: str, given: str = "") -> str:
        """Run a command on a machine and return what it printed."""
        options = [
            "-o",
            "BatchMode=yes",
            "-o",
            f"UserKnownHostsFile={self._folder}/known_hosts",
            "-o",
            "ConnectTimeout=10",
        ]
        done = subprocess.run(
            ["ssh", "-i", str(self._folder / "key"), *options, f"root@{self.addresses[name]}", command],
            input=given,
            capture_output=True,
            text=True,
            check=False,
            timeout=600,
        )
        if done.returncode != 0:
            sys.exit(f"{name}: `{command.split()[0]}` failed:\n{(done.stdout + done.stderr)[-4000:]}")
        return done.stdout


def init_configuration(address: str, version: str) -> str:
    """The file that a person would write for kubeadm init."""
    documents = [
        {"apiVersion": "kubeadm.k8s.io/v1beta2", "kind": "InitConfiguration"},
        {
            "apiVersion": "kubeadm.k8s.io/v1beta2",
            "kind": "ClusterConfiguration",
            "kubernetesVersion": version,
            "controlPlaneEndpoint": f"{address}:6443",
        },
    ]
    return "\n---\n".join(json.dumps(each) for each in documents)


def flags(needs: t.Mapping[str, t.Sequence[str]]) -> tuple[str, str]:
    """The flags that the image's contents ask for: (preflight errors to ignore, phases to skip)."""
    ignore = "".join(f" --ignore-preflight-errors={each}" for each in needs["ignorePreflightErrors"])
    return ignore, "".join(f" --skip-phases={each}" for each in needs["skipPhases"])


def replace_all(
    steps: Steps,
    machines: Machines,
    boot: t.Callable[[str], None],
    balance: t.Callable[[t.Sequence[str]], t.Any],
    end: t.Callable[[str], t.Any],
    join: str,
) -> None:
    """One new machine for each old one: joined, waited for (told apart: waiting is no command), and the old one taken out.

    A person would hardly do less: the load balancer forgets the machine, it is drained, reset (which removes its etcd member), its
    Node and the machine deleted.
    """
    behind = list(NAMES)
    for number, (old, new) in enumerate(zip(NAMES, REPLACEMENTS), start=1):

        def add(new: str = new) -> None:
            boot(new)
            balance([*behind, new])
            machines.ssh(new, join)

        def remove(old: str = old, new: str = new) -> None:
            behind.remove(old)
            balance(behind)
            machines.ssh(new, f"{KUBECTL} drain {old} --ignore-daemonsets --delete-local-data --force --timeout=60s")
            machines.ssh(old, "kubeadm reset --force")
            machines.ssh(new, f"{KUBECTL} delete node {old}")
            end(old)

        steps.run(f"rollout_join_{number}", add)
        steps.run(f"rollout_ready_{number}", lambda new=new: machines.ssh(new, until_healthy(len(NAMES) + 1)))
        behind.append(new)
        steps.run(f"rollout_remove_{number}", remove)


def bench(layout: Layout, cache: Cache, version: str, rollout: bool) -> dict[str, t.Any]:
    """Build the image if needed (not counted), then run and time every step."""
    network = network_of("kcpplain", "10.230.0.0/24", "10.231.0.0/16")
    # As reconcile makes them: without it each kubelet waits 6 s at its start.
    unreachable = unreachable_networks(network, DEFAULT_UNREACHABLE)
    request = Request(image.image_name(version), version)
    made, _changed = image.ensure(cache, request, image.progress_of(cache, request))
    steps = Steps()
    with tempfile.TemporaryDirectory(prefix="plain-kubeadm-") as scratch:
        machines = Machines(Path(scratch))

        def boot(*names: str) -> None:
            for name in names:
                wanted = machine.Wanted(name, "default", CLUSTER, made, machines.public_key, unreachable=unreachable)
                machines.know(machine.ensure(layout, network, wanted, restart=False, timeout=60)[0])

        def balance(names: t.Sequence[str]) -> str:
            servers = haproxy.servers_of({"name": name, "address": machines.addresses[name]} for name in names)
            wanted = lifecycle.Wanted("default", CLUSTER, None, 6443, servers)
            return str(lifecycle.ensure(layout, network, wanted)[0]["host"])

        steps.run("boot", lambda: boot(*NAMES))
        address = steps.run("endpoint", lambda: balance(NAMES[:1]))
        steps.run(
            "images", lambda: machines.ssh(NAMES[0], f"kubeadm config images list --kubernetes-version {version}")
        )
        ignore, skip = flags(made["kubeadm"])
        machines.ssh(NAMES[0], "umask 077; cat > /root/kubeadm.json", init_configuration(address, version))
        said = steps.run(
            "init",
            lambda: machines.ssh(NAMES[0], f"kubeadm init --config /root/kubeadm.json --upload-certs{ignore}{skip}"),
        )
        found = re.search(r"kubeadm join (.*--control-plane --certificate-key \S+)", said.replace("\\\n", " "))
        if not found:
            sys.exit("kubeadm init printed no join command")
        join = f"kubeadm join {found.group(1)}{ignore}"
        for number, name in enumerate(NAMES[1:], start=2):
            balance(NAMES[:number])
            steps.run(f"join_{number}", lambda name=name: machines.ssh(name, join))
        steps.run("ready", lambda: machines.ssh(NAMES[0], until_healthy(len(NAMES))))
        if rollout:
            replace_all(steps, machines, boot, balance, lambda name: machine.remove(layout, name), join)
        last = REPLACEMENTS[-1] if rollout else NAMES[0]
        members = json.loads(machines.ssh(last, MEMBERS))["members"]
        nodes = machines.ssh(last, f"{KUBECTL} get nodes --no-headers").splitlines()
    if len(members) != len(NAMES) or any(each.get("isLearner") for each in members):
        sys.exit(f"etcd has {len(members)} members, {len(NAMES)} were made")
    # Whoever types the commands is done after the last join; how long the cluster then takes is told apart.
    created = {step: seconds for step, seconds in steps.seconds.items() if not step.startswith("rollout_")}
    total = sum(seconds for step, seconds in created.items() if step != "ready")
    figures = {
        **created,
        "total": round(total, 1),
        "until_healthy": round(total + created["ready"], 1),
        "etcd_members": len(members),
        "nodes": len(nodes),
    }
    if rollout:
        replaced = {step.removeprefix("rollout_"): each for step, each in steps.seconds.items() if step not in created}
        figures["rollout"] = {
            **replaced,
            "total": _sum(replaced, "join_", "remove_"),
            "until_healthy": _sum(replaced, "join_", "ready_", "remove_"),
        }
    return figures


def _sum(seconds: t.Mapping[str, float], *beginnings: str) -> float:
    return round(sum(each for step, each in seconds.items() if step.startswith(beginnings)), 1)


def main() -> None:
    """Run, print, and clean up."""
    cache = os.environ.get("KUBEADM_CONTROL_PLANE_CACHE") or os.path.expanduser("~/.cache/kubeadm-control-plane")
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--workdir", default="/var/lib/kubeadm-control-plane/plain", help="where the machines live meanwhile"
    )
    parser.add_argument("--cache", default=cache, help="where machine images are")
    parser.add_argument("--version", default="v1.20.2", help="Kubernetes version")
    parser.add_argument("--keep", action="store_true", help="leave the machines running")
    parser.add_argument("--rollout", action="store_true", help="then replace the machines one by one")
    arguments = parser.parse_args()
    host.require_root()
    os.umask(0o022)
    layout = Layout(arguments.workdir)
    clean.everything(layout)
    try:
        print(json.dumps(bench(layout, Cache(arguments.cache), arguments.version, arguments.rollout), indent=2))
    finally:
        if not arguments.keep:
            clean.everything(layout)


if __name__ == "__main__":
    main()
