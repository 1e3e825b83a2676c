# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A cluster that has its own objects in it: moved there, renewed, grown, rolled out and repaired by itself, restored from its export, moved back."""

from __future__ import annotations

import json
import sys
import time
import typing as t
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
import yaml
from api_server import find_binary
from availability import faults, steps_of
from forged_certificates import Authorities, fetch, forge, late
from lab_kubernetes import NEXT, VERSION, upgrades
from machines import Machines
from self_hosted import EXPORT, FILES, ITSELF, SelfHosted
from watcher import Watch
from workspace import cluster_documents, consent_of

NAME = "lab-self"
KINDS = ("Cluster", "KubeadmControlPlane", "Machine", "KubeadmConfig", "NspawnMachine", "NspawnCluster", "Secret")
Object = dict[str, t.Any]
pytestmark = pytest.mark.full


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> t.Iterator[SelfHosted]:
    """A cluster of one machine whose objects are in files; whatever is left of it at the end is taken down."""
    kubectl = find_binary("kubectl")
    made = SelfHosted(tmp_path_factory.mktemp("workspace"), NAME, kubectl or "kubectl")
    wants(made)
    made.playbook("reconcile").succeeded()
    assert find_binary("kubectl"), "the machines' image was made from a build that has it"
    yield made
    take_down(made)


@pytest.fixture(scope="module")
def machines(home: SelfHosted) -> Machines:
    """The cluster's machines, wherever its objects are."""
    return Machines(home, NAME)


def wants(home: SelfHosted, version: str = VERSION) -> None:
    """Write the manifest; how many machines there are is said with kubectl."""
    documents = cluster_documents(NAME, version=version)
    del documents[1]["spec"]["replicas"]
    home.write(NAME, yaml.safe_dump_all(documents, sort_keys=False))


def take_down(home: SelfHosted) -> None:
    """Remove every machine that was known, however far a test came: a playbook could not where the objects were on them."""
    names = sorted({each["metadata"]["name"] for each in home.objects("NspawnMachine")})
    gone = [
        {"name": f"Remove {name}", "kubeadm.control_plane.nspawn_machine": {"state": "absent", "name": name}}
        for name in names
    ]
    gone.append(
        {
            "name": "Remove the endpoint",
            "kubeadm.control_plane.nspawn_endpoint": {"state": "absent", "cluster": NAME, "namespace": "default"},
        }
    )
    here = {"ansible_connection": "local", "ansible_python_interpreter": "{{ ansible_playbook_python }}"}
    play = [{"name": "Take down", "hosts": "localhost", "vars": here, "gather_facts": False, "tasks": gone}]
    (home.folder / "take_down.yml").write_text(yaml.safe_dump(play))
    home.run([home.program, "-i", "localhost,", "take_down.yml"], home.folder).succeeded()


def figure(text: str, seconds: float) -> None:
    """Show a figure where the output is shown."""
    sys.stdout.write(f"\nfigure: {text}: {seconds:.1f} s\n")


def timed(home: SelfHosted, what: str, *words: str) -> t.Any:
    """Run a playbook to its good end and show how long it took."""
    begun = time.monotonic()
    run = home.playbook(*words).succeeded()
    figure(what, time.monotonic() - begun)
    return run


def contents(home: SelfHosted) -> dict[tuple[str, str], t.Any]:
    """What objects say, without what their store says of them, and without the notes that a move makes."""
    found = {}
    for kind in KINDS:
        for each in home.objects(kind):
            if (each["metadata"].get("labels") or {}).get("cluster.x-k8s.io/cluster-name") == NAME or kind == "Cluster":
                found[kind, each["metadata"]["name"]] = without_nulls(each.get("spec") or each.get("data"))
    return found


def without_nulls(value: t.Any) -> t.Any:
    """An API keeps none."""
    if isinstance(value, dict):
        return {key: without_nulls(each) for key, each in value.items() if each is not None}
    return [without_nulls(each) for each in value] if isinstance(value, list) else value


def all_agree(home: SelfHosted, machines: Machines, count: int) -> list[str]:
    """As many machines as wanted, all members and Ready Nodes; nothing is left to do, and kubectl says that it is available."""
    home.kubectl("wait", "--for=condition=Available", f"kcp/{NAME}-control-plane", f"cluster/{NAME}", "--timeout=60s")
    names = machines.names()
    assert len(names) == count
    assert [each["name"] for each in machines.etcd_members()] == names
    assert machines.ready_nodes() == names
    assert home.playbook("reconcile").succeeded().recap(NAME)["changed"] == 0
    assert machines.names() == names
    return names


def exported(home: SelfHosted, names: t.Sequence[str]) -> None:
    """The last pass left a copy: of these machines, nobody else's to read, and with nothing secret to be read in it."""
    folder = home.folder / "export"
    kept = sorted(path.stem for path in folder.glob("default/machine.*/*.yaml"))
    assert kept == list(names)
    secrets = list(folder.glob("default/secret/*.yaml"))
    assert {f"{NAME}-ca", f"{NAME}-etcd", f"{NAME}-sa", f"{NAME}-ssh"} <= {path.stem for path in secrets}
    assert all(path.read_text().startswith("$ANSIBLE_VAULT") for path in secrets)
    values = {key: value for key, value in Machines(home, NAME).secret_values().items() if key.startswith(NAME)}
    assert values
    for path in (each for each in folder.rglob("*") if each.is_file()):
        assert not [key for key, value in values.items() if value in path.read_text()], path


def test_moved_into_itself(home: SelfHosted, machines: Machines) -> None:
    """Every object is there as it was, with its owners; the machine has not noticed; the files are no store any more."""
    before, boots = contents(home), machines.boot_ids()
    home.reach_itself()
    home.inventory = ITSELF
    timed(home, "install in the cluster's own API", "install")
    home.inventory = FILES
    begun = time.monotonic()
    home.move(home.itself).succeeded()
    figure("move of a cluster of one machine into itself", time.monotonic() - begun)
    assert "is not here any more" in home.playbook("reconcile").failed().text
    home.inventory = ITSELF
    assert contents(home) == before and machines.boot_ids() == boots
    there = {each["metadata"]["uid"] for kind in KINDS for each in home.objects(kind)}
    owners = [
        each for kind in KINDS for one in home.objects(kind) for each in one["metadata"].get("ownerReferences", [])
    ]
    assert owners and {each["uid"] for each in owners} <= there
    all_agree(home, machines, 1)


def test_certificates_that_have_ended_are_renewed_from_its_export(home: SelfHosted, machines: Machines) -> None:
    """No API answers, so that the store is silent too: the copy says which machine it is, and goes back where it was when all is well."""
    [name] = machines.names()
    exported(home, [name])
    ssh = machines.ssh_words(name)
    forge(ssh, Authorities(fetch(ssh)), datetime.now(timezone.utc) - timedelta(minutes=5))
    assert home.kubectl("get", "machines", "--request-timeout=10s", check=False) == ""
    home.inventory = EXPORT
    mend = ("-e", json.dumps({"operator_spec": {"renewCertificates": {}}, "operator_action": "mend"}))
    assert "control_plane_use_export" in home.playbook("action", *mend).failed().text
    timed(home, "certificates renewed from the export", "action", *mend, "-e", "control_plane_use_export=true")
    assert late(ssh) == {}
    home.move(home.itself).succeeded()
    home.inventory = ITSELF
    assert [each["status"]["phase"] for each in home.objects("Action")] == ["Succeeded"]
    assert all_agree(home, machines, 1) == [name]


def test_it_grows(home: SelfHosted, machines: Machines) -> None:
    """With kubectl scale; while its etcd gets the second voter nothing of its store answers for a moment, and the run goes on."""
    [first] = machines.names()
    home.kubectl("scale", f"kcp/{NAME}-control-plane", "--replicas=3")
    timed(home, "growing from one machine to three, objects in itself", "reconcile")
    names = all_agree(home, machines, 3)
    assert first in names
    exported(home, names)


@upgrades
def test_it_manages_itself_through_a_rollout(home: SelfHosted, machines: Machines, artefacts: Path) -> None:
    """Every machine that carries the objects is replaced, and nothing that was confirmed meanwhile is lost."""
    before = machines.names()
    wants(home, NEXT)
    with Watch(home.store, NAME, home.folder, kubeconfig=home.kubeconfig) as watch:
        timed(home, "rollout of three machines, objects in themselves", "reconcile")
        seen = watch.stop()
    (artefacts / "self-hosted.json").write_text(json.dumps(seen, indent=2))
    names = all_agree(home, machines, 3)
    assert not set(names) & set(before)
    assert home.status(NAME)["version"] == {"desired": NEXT, "running": [NEXT]}
    exported(home, names)
    assert faults(seen) == []
    figure("longest time without an answer of the endpoint", seen["endpoint"]["longest_gap_seconds"])
    text = (home.store / "default" / "journal" / f"{NAME}.jsonl").read_text()
    steps = steps_of([json.loads(line) for line in text.splitlines()], 0.0)
    assert [each.action for each in steps][-7:] == [*["join", "remove"] * 3, "updateAddons"]
    described = home.kubectl("describe", f"kcp/{NAME}-control-plane")
    told = described.partition("\nEvents:")[2]
    assert all(name in told for name in before), "each of their removals is explained"


def test_a_machine_that_is_deleted_with_kubectl(home: SelfHosted, machines: Machines) -> None:
    """It is taken out in order and replaced, though it is one of those that are asked to keep that."""
    names = machines.names()
    machines.let_lead(names[1])
    home.kubectl("delete", "machine", names[1], "--wait=false")
    timed(home, "replacement of the machine that leads", "reconcile")
    now = all_agree(home, machines, 3)
    assert names[1] not in now and len(set(now) & set(names)) == 2


def test_a_cluster_does_not_delete_itself(home: SelfHosted, machines: Machines) -> None:
    """With the last machine the objects would go that say what is left to do."""
    run = home.playbook("delete", "-e", f"control_plane_delete={NAME}").failed()
    assert "kubeadm.control_plane.move" in run.text
    all_agree(home, machines, 3)


def test_restored_from_its_export(home: SelfHosted, machines: Machines) -> None:
    """Two of three lose their power, and with the quorum the objects are gone: the copy has them, until they are back where they were."""
    [survivor, *lost] = names = machines.names()
    exported(home, names)
    for each in lost:
        machines.cut_power(each)
    assert home.kubectl("get", "machines", "--request-timeout=10s", check=False) == ""
    home.inventory = EXPORT
    assert "control_plane_use_export" in home.playbook("restore").failed().text
    use = ("-e", "control_plane_use_export=true")
    consent = consent_of(home.playbook("restore", *use).failed().text)
    timed(
        home, "restored, and two machines replaced", "restore", *use, "-e", f"control_plane_restore_consent={consent}"
    )
    now = machines.names()
    assert survivor in now and len(now) == 3 and not set(lost) & set(now)
    home.move(home.itself).succeeded()
    home.inventory = ITSELF
    assert all_agree(home, machines, 3) == now


def test_moved_back_and_deleted(home: SelfHosted, machines: Machines) -> None:
    """To files, where they were at first; then nothing is left."""
    before = contents(home)
    home.move({"path": str(home.folder / "store")}).succeeded()
    home.inventory = FILES
    assert contents(home) == before
    assert home.playbook("reconcile").succeeded().recap(NAME)["changed"] == 0
    timed(home, "deletion after the move back", "delete", "-e", f"control_plane_delete={NAME}")
    assert home.objects("Machine") == home.objects("Cluster") == []
