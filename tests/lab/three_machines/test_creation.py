# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One machine, then three, from a plan, through faults that are named and resumed from after the fix; nothing secret comes to light.

Every run has the highest verbosity, and what processes show of themselves is looked at all along.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import shutil
import subprocess
import typing as t
from pathlib import Path

import pytest
from agreement import Agreement
from availability import faults
from etcd_cluster import until
from machines import Machines
from process_samples import Samples
from searched_life import SearchedLife
from secrets_search import Search
from traces import traces
from watcher import Watch
from workspace import Workspace

from .conftest import CA, MARK, NAME, OWN_CA, PASSWORD, VALUE, spec, wants

PLAN = "lab-life.plan.json"
# The ansible-core versions that `make` installed, each in a venv of its own.
CACHE = Path(os.environ.get("KUBEADM_CONTROL_PLANE_CACHE") or Path.home() / ".cache" / "kubeadm-control-plane")
ANSIBLES = sorted(CACHE.glob("venv-[2l]*/bin/ansible-playbook")) or [Path(shutil.which("ansible-playbook") or "")]
# Something else listens on the scheduler's port: kubeadm's preflight ends with an error at once.
OCCUPY = "nohup python3 -m http.server 10259 >/dev/null 2>&1 &"
BRIDGE = "kcp0"
FROM_PLAN = ("-e", f"control_plane_plan_file={PLAN}")


@pytest.fixture(scope="module")
def life(workspace: Workspace, machines: Machines) -> t.Iterator[SearchedLife]:
    """The cluster's first days: every run at the highest verbosity, and what processes show of themselves all along."""
    del machines
    with SearchedLife(workspace, NAME) as lived:
        lived.secrets.add("the file's content", VALUE)
        lived.secrets.add("the user's password", PASSWORD)
        yield lived


@pytest.fixture(scope="module")
def watch(workspace: Workspace, machines: Machines) -> t.Iterator[Watch]:
    """The watcher, from the first machine on."""
    assert len(machines.names()) >= 1
    with Watch(workspace.store, NAME, workspace.folder) as running:
        # It has counted the voters before there is a second one.
        until("the watcher sees etcd", lambda: running.log.exists() and '"voters": 1' in running.log.read_text())
        yield running


@contextlib.contextmanager
def unreachable_addresses(except_for: str) -> t.Iterator[None]:
    """Every other address of the machines' network leads to a link address that nobody has."""
    network = except_for.rsplit(".", 1)[0]
    addresses = [f"{network}.{last}" for last in range(2, 250) if f"{network}.{last}" != except_for]
    listed = subprocess.run(
        ["ip", "-o", "-4", "address", "show", "dev", BRIDGE], stdout=subprocess.PIPE, text=True, check=True
    ).stdout
    addresses = [each for each in addresses if f" {each}/" not in listed]
    try:
        for each in addresses:
            subprocess.run(
                ["ip", "neigh", "replace", each, "lladdr", "02:00:00:00:00:01", "dev", BRIDGE, "nud", "permanent"],
                check=True,
            )
        yield
    finally:
        for each in addresses:
            subprocess.run(["ip", "neigh", "del", each, "dev", BRIDGE], check=False)


def test_failing_init_shows_its_output_and_goes_on_after_the_fix(life: SearchedLife, machines: Machines) -> None:
    """kubeadm init fails: its output is shown without secrets, the run stops; after the manifest's fix a rerun converges."""
    listens = "for try in $(seq 50); do ss -ltn | grep -q :10259 && break; done"
    wants(life.workspace, replicas=1, kubeadm=spec(preKubeadmCommands=[OCCUPY, listens]))
    run = life.play("reconcile").failed()
    assert "Port-10259" in run.text
    assert "Under way:" in run.output and "initialize" in run.text and "Safe now?" in run.text
    assert "s3cret-in-a-file" not in run.output and "PRIVATE KEY" not in run.output
    first = machines.names()

    wants(life.workspace, replicas=1)
    life.play("reconcile").succeeded()
    assert machines.names() != first, "the failed machine was not replaced"
    assert traces(*first) == []
    assert machines.ready_nodes() == machines.names()


def test_the_kubeadm_config_spec_is_honoured(machines: Machines) -> None:
    """Files, append, encoding, contentFrom, users, commands, arguments and SANs are on the machine."""
    name = machines.names()[0]
    assert machines.ssh(name, f"cat {MARK}; stat -c %a {MARK}") == "one\n640\n"
    assert "lab-append" in machines.ssh(name, "cat /etc/hosts") and name in machines.ssh(name, "cat /etc/hosts")
    assert machines.ssh(name, "cat /etc/lab-secret; stat -c %a /etc/lab-secret") == "s3cret-in-a-file\n600\n"
    assert machines.ssh(name, "cat /etc/lab-from-secret").strip() == VALUE
    assert "adm" in machines.ssh(name, "id -nG lab") and PASSWORD in machines.ssh(name, "getent shadow lab")
    assert "AAAALAB" in machines.ssh(name, "cat ~lab/.ssh/authorized_keys")
    assert machines.ssh(name, "cat /run/lab-order") == f"before-{name}\nafter\n"
    assert "--audit-log-maxage=7" in machines.ssh(name, "cat /etc/kubernetes/manifests/kube-apiserver.yaml")
    assert "lab.example.org" in machines.ssh(name, "openssl x509 -noout -text -in /etc/kubernetes/pki/apiserver.crt")


def test_the_users_own_ca_is_used_untouched(workspace: Workspace, machines: Machines) -> None:
    """The API server's certificate comes from the user's CA, whose Secret nobody changed."""
    name = machines.names()[0]
    assert OWN_CA in machines.ssh(name, "openssl x509 -noout -issuer -in /etc/kubernetes/pki/apiserver.crt")
    stored = next(each for each in workspace.objects("Secret") if each["metadata"]["name"] == f"{NAME}-ca")
    assert {key: base64.b64decode(value).decode() for key, value in stored["data"].items()} == CA["stringData"]
    assert stored["type"] == "Opaque" and not stored["metadata"].get("ownerReferences")


def test_nothing_secret_stays_on_the_machine(machines: Machines) -> None:
    """No bootstrap configuration with its token, no module arguments."""
    name = machines.names()[0]
    left = "find /run/kubeadm /run/kubeadm-control-plane /root/.ansible -type f 2>/dev/null || true"
    assert machines.ssh(name, left).strip() == ""
    assert "s3cret-in-a-file" not in machines.ssh(name, "journalctl -b -q --no-pager -o cat")


def test_a_machine_that_never_answers_is_named(life: SearchedLife, machines: Machines) -> None:
    """The next machine's SSH is cut off: a bounded wait that names it; what exists is intact."""
    before = machines.names()
    wants(life.workspace)
    life.play("plan", *FROM_PLAN).succeeded()
    address = machines.infrastructure(before[0])["status"]["connection"]["host"]
    with unreachable_addresses(except_for=address):
        run = life.play("reconcile", *FROM_PLAN, "-e", "machine_nspawn_timeout=8").failed()
    new = [name for name in machines.names() if name not in before]
    assert new and new[0] in run.text and "SSH" in run.text
    assert machines.ready_nodes() == before
    assert len(machines.etcd_members()) == 1


def test_a_run_that_is_terminated_is_gone_on_with(life: SearchedLife, machines: Machines, watch: Watch) -> None:
    """The link works again: a run gets SIGTERM in a join; the next one waits for that join, starts no second one, and converges.

    A snapshot was taken before there was a second voter, and by the watcher nothing that was confirmed was lost.
    """
    before = machines.names()
    [first] = machines.ready_nodes()
    with life.tokens() as tokens:
        life.terminated_in_a_join(*FROM_PLAN)
        [joiner] = [name for name in machines.names() if machines.kubeadm_runs(name, "join")]
        started = machines.kubeadm_started(joiner)
        run = life.play("reconcile", *FROM_PLAN).succeeded()
        seen = tokens.seen()
    assert "held by" not in run.output and machines.kubeadm_started(joiner) == started and joiner in before
    assert len(seen) >= 2, "each of two joins had a token"
    for number, token in enumerate(seen):
        life.secrets.add(f"bootstrap token {number}", token)
    members = machines.etcd_members()
    assert sorted(member["name"] for member in members) == machines.names() == machines.ready_nodes()
    assert len(members) == 3 and not any(member.get("isLearner") for member in members)
    assert faults(watch.stop()) == []
    cluster = Agreement(life.workspace, machines, NAME)
    assert any(path.startswith(f"{first}:") for path in cluster.snapshots())
    life.play("status", "-e", f"control_plane_kubeconfig={life.workspace.folder}/kept.kubeconfig").succeeded()
    life.search_machines()


def test_the_plan_was_carried_out_with_its_names(workspace: Workspace, machines: Machines) -> None:
    """The machines that came are those that the plan named, where it placed them; carried out again it finds nothing to do."""
    plan = json.loads((workspace.folder / PLAN).read_text())
    planned = {step["target"]["name"]: step["target"]["failureDomain"] for step in plan["steps"] if step["target"]}
    placed = {each["metadata"]["name"]: each["spec"]["failureDomain"] for each in workspace.objects("Machine")}
    assert len(planned) == 2 and set(planned) < set(machines.names()) and planned.items() <= placed.items()
    again = workspace.playbook("reconcile", *FROM_PLAN).succeeded()
    assert again.recap(NAME)["changed"] == 0


def test_no_two_node_acts_overlap(machines: Machines) -> None:
    """One node at a time: every bootstrap began after the one before it had ended."""
    times = machines.bootstrap_times()
    assert len(times) == 3
    for (_start, end, name), (start, _end, following) in zip(times, times[1:]):
        assert end <= start, f"{following} began at {start}, before {name} ended at {end}"


def test_the_bridges_link_address_is_its_own() -> None:
    """It stays the same whichever machines come and go; neighbours that learnt it need not learn it anew."""
    made = subprocess.run(["ip", "-o", "link", "show", "kcp0"], capture_output=True, text=True, check=True).stdout
    ports = subprocess.run(
        ["ip", "-o", "link", "show", "master", "kcp0"], capture_output=True, text=True, check=True
    ).stdout
    own = made.split("link/ether ")[1].split()[0]
    assert own.startswith("02:") and own not in ports


def test_failure_domains_are_spread(workspace: Workspace) -> None:
    """Three machines in three failure domains."""
    assert sorted(each["spec"]["failureDomain"] for each in workspace.objects("Machine")) == ["a", "b", "c"]


def test_the_journal_tells_each_end(workspace: Workspace) -> None:
    """The step that the signal cut off is recorded as interrupted, faults as failures, and no two steps were open at once."""
    text = next(workspace.store.glob(f"default/journal/{NAME}.jsonl")).read_text()
    # Between them it notes what was changed.
    entries = [entry for entry in map(json.loads, text.splitlines()) if entry["event"] in ("intent", "outcome")]
    results = [entry["result"] for entry in entries if entry["event"] == "outcome"]
    assert results.count("interrupted") == 1 and set(results) == {"interrupted", "failed", "succeeded"}
    assert [entry["event"] for entry in entries] == ["intent", "outcome"] * len(results), "two steps were open at once"


def test_cluster_status_follows(workspace: Workspace) -> None:
    """The Cluster object says that its control plane is initialized and ready (contract, both forms)."""
    cluster = workspace.objects("Cluster")[0]
    assert cluster["status"]["initialization"]["controlPlaneInitialized"] is True
    assert cluster["status"]["controlPlaneReady"] is True
    assert cluster["spec"]["controlPlaneEndpoint"]["port"] == 6443


@pytest.mark.parametrize("program", ANSIBLES, ids=lambda path: path.parts[-3])
def test_a_second_run_changes_nothing(workspace: Workspace, machines: Machines, program: Path) -> None:
    """The oldest and the newest supported ansible-core both find nothing to do: the same machines, the same members."""
    before = machines.etcd_members(), machines.boot_ids()
    workspace.program = str(program)
    try:
        assert workspace.playbook("reconcile").succeeded().recap(NAME)["changed"] == 0
        assert "nothing to do" in workspace.playbook("status").succeeded().output
    finally:
        workspace.program = "ansible-playbook"
    assert (machines.etcd_members(), machines.boot_ids()) == before


def test_no_secret_comes_to_light(life: SearchedLife, artefacts: Path) -> None:
    """Not in what the runs say, in report, status and metrics, in journals, in temporary folders, in the store beside its Secrets, in processes."""
    life.show()
    searched = life.search()
    figures = {"secrets": len(life.secrets.names), "samples": life.samples.taken, "bytes": searched.bytes}
    (artefacts / "secrets.json").write_text(json.dumps(figures, indent=2))
    assert searched.found == []
    assert all(searched.bytes[f"the output of run {number}"] > 10_000 for number in range(len(life.outputs)))
    assert searched.bytes["cmdline of processes"] > 10_000 and searched.bytes["environ of processes"] > 10_000
    assert {path.suffix for path in life.shown.iterdir()} == {".html", ".md", ".svg", ".json", ".prom"}
    assert searched.bytes["the store"] > 10_000 and life.samples.taken > 100
    for kind in (
        "-ca/tls.key",
        "-etcd/tls.key",
        "-proxy/tls.key",
        "-sa/tls.key",
        "-kubeconfig/value",
        "-ssh/ssh-privatekey",
    ):
        assert any(f"{NAME}{kind}" in name for name in life.secrets.names), kind
    for file in ("pki/apiserver.key", "pki/etcd/peer.key", "admin.conf (client key)", "kubelet-client"):
        assert any(file in name for name in life.secrets.names), file


def test_the_stores_secrets_are_its_users_alone(life: SearchedLife) -> None:
    """What holds a secret is readable by nobody else."""
    holding = life.secrets.holding(*(path for path in life.workspace.store.rglob("*") if path.is_file()))
    assert len(holding) >= 6
    for path in holding:
        assert path.stat().st_mode & 0o077 == 0, path


def test_a_planted_secret_is_found_in_every_place(life: SearchedLife) -> None:
    """The search that finds nothing is one that finds: a line of the CA's key, planted wherever it looks."""
    name = life.machines.names()[0]
    [text] = [each for each in life.workspace.objects("Secret") if each["metadata"]["name"] == f"{NAME}-ca"]
    planted = text["data"]["tls.key"][640:704]
    folder = life.workspace.folder
    search = Search(life.secrets, folder)
    place = "/run/kubeadm-control-plane/planted"
    life.machines.ssh(name, f"logger -- {planted}; mkdir -p {place}; echo {planted} > {place}/file; sync")
    with Samples() as samples:
        words = [*life.machines.ssh_words(name), f"sh -c 'sleep 1; true' {planted}"]
        environment = {**os.environ, "PLANTED": planted}
        subprocess.run(words, env=environment, check=True, stdin=subprocess.DEVNULL)
    planted_in_store = life.workspace.store / "default" / "journal" / "planted.jsonl"
    planted_in_store.write_text(f'{{"message": "{planted}"}}\n')
    until("the journal has it", lambda: planted in life.machines.ssh(name, "journalctl -n 50 -o cat --no-pager"))
    try:
        search.machine(life.machines, name)
        search.store(life.workspace)
        search.controller(planted_in_store.parent)
        search.samples(samples)
        search.data("an output", f"a line\n{planted}\n".encode())
    finally:
        planted_in_store.unlink()
        life.machines.ssh(name, f"rm -rf {place}")
    assert sorted({each.partition(" in ")[2] for each in search.found}) == sorted(search.bytes)
    assert all(f"{NAME}-ca/tls.key" in each for each in search.found)
