# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Claim and release of a machine's host by the provider of existing hosts: hosts that are hidden, don't answer or refuse."""

from __future__ import annotations

import json
import re
import shutil
import typing as t
from pathlib import Path

import pytest
from host_pool import AWAY, claimed
from private_host import PrivateHost
from tasks import Playbook
from workspace import cluster_documents

from ansible_collections.kubeadm.control_plane.plugins.module_utils.node.host.claim import Claim
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.file.store import FileStore


class Stored:
    """A stored cluster with one machine whose host was claimed, and calls of the module that claims and releases it."""

    def __init__(self, folder: Path, **status: t.Any) -> None:
        self.store = FileStore(str(folder / "store"))
        self.python = folder / "python"
        pool = {
            name: {"ansible_connection": "local", "ansible_python_interpreter": str(python), "use": "pool"}
            for name, python in (("refusing", self.python), ("spare", folder / "spare"))
        }
        self._playbook = Playbook(folder, "", "", {"localhost": {}, "away": AWAY, **pool})
        for document in cluster_documents("prod", replicas=1)[:2]:
            self.store.create(document)
        self.store.create(
            {
                "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1",
                "kind": "InventoryMachine",
                "metadata": {"name": "m1", "namespace": "default"},
                "spec": {"group": "all", "selector": {"matchVariables": {"use": "pool"}}},
                "status": status,
            }
        )
        self._path = folder / "store"

    def release(self, **options: t.Any) -> dict[str, t.Any]:
        """Release the machine's host; its failure is a result."""
        return self.call(state="absent", **options)

    def call(self, **options: t.Any) -> dict[str, t.Any]:
        """Call the module; its failure is a result."""
        arguments = {"cluster": "prod", "store": {"path": str(self._path)}, "name": "m1", "timeout": 2}
        task = {
            "kubeadm.control_plane.inventory_machine": {**arguments, **options},
            "register": "result",
            "ignore_errors": True,
        }
        found = self._path.parent / "result.json"
        keep = {"ansible.builtin.copy": {"content": "{{ result | to_json }}", "dest": str(found), "mode": "0600"}}
        self._playbook.play([{"name": "Release", **task}, {"name": "Keep", **keep}])
        return dict(json.loads(found.read_text()))

    def status(self) -> dict[str, t.Any]:
        """The machine's stored status."""
        found = self.store.get(("infrastructure.cluster.x-k8s.io", "InventoryMachine"), "default", "m1")
        assert found is not None
        return dict(found["status"])


def host(python: Path, *answers: t.Mapping[str, t.Any]) -> None:
    """Make a Python that answers one call after another so, whatever is called."""
    folder = python.with_name(f"{python.name}-answers")
    folder.mkdir()
    for number, answer in enumerate(answers):
        (folder / str(number)).write_text(json.dumps(answer))
    python.write_text(f'#!/bin/sh\ncat > {python}.asked\nset -- {folder}/*\ncat "$1" && rm "$1"\n')
    python.chmod(0o755)


FREE = {"changed": True, "claim": {"id": "id-1", "machineID": "1" * 32}, "address": "198.51.100.1", "hostname": "h"}
HELD = {**FREE, "changed": False}
FULL = {"failed": True, "msg": "/var/lib/kubeadm-control-plane/clusters can't be written: No space left on device."}
UNREADABLE = {**FULL, "machineID": "1"}
UNFIT = {"failed": True, "missing": [{"check": "Swap", "message": "swap is on", "fix": "Off."}], "machineID": "1" * 32}
CUT = {"unreachable": True, "msg": "cut off"}
REFUSED = {"failed": True, "msg": "The etcd on this machine is a member beside others."}
THEIRS = {"claim": {"id": "id-2"}}
DONE = {"changed": True, "message": "the host was reset and released"}
CLAIMING = {"inventoryHost": "refusing", "id": "id-1", "state": "Claiming"}


@pytest.mark.parametrize(
    ("claim", "answers", "taken"),
    [
        pytest.param(CLAIMING, [FULL, HELD], "", id="resumed: it has the claim"),
        pytest.param(CLAIMING, [FULL, FULL], "", id="resumed: it says nothing of its claim"),
        pytest.param(CLAIMING, [FULL, FREE], "spare", id="resumed: it has no claim"),
        pytest.param(CLAIMING, [UNFIT], "spare", id="resumed: it refuses"),
        pytest.param(CLAIMING, [HELD], "refusing", id="resumed: it has the claim, and room"),
        pytest.param({}, [FREE, FULL, HELD], "", id="it has the claim"),
        pytest.param({}, [FREE, FULL, FREE], "spare", id="it has no claim"),
        pytest.param({}, [FREE, UNFIT], "spare", id="it refuses"),
    ],
)
def test_another_host_is_taken_only_where_the_first_says_that_it_has_no_claim(
    tmp_path: Path, claim: dict[str, t.Any], answers: list[dict[str, t.Any]], taken: str
) -> None:
    """A failure for another reason says nothing of it; given up, the host would keep a claim that no store knows."""
    stored = Stored(tmp_path, claim=claim)
    host(stored.python, *answers)
    host(tmp_path / "spare", FREE, FREE)
    result = stored.call(kubernetes_version="v1.20.2")
    found = stored.status()["claim"]
    if taken:
        assert result["machine"]["inventory_host"] == taken, result
        assert (found["inventoryHost"], found["state"]) == (taken, "Claimed")
        return
    said = "machine m1 was about to claim the inventory host refusing, and whether the host carries the claim is not known: "
    assert said + FULL["msg"] in result["msg"] and "control_plane_machines=m1" in result["msg"]
    assert (found["inventoryHost"], found["state"]) == ("refusing", "Claiming")


def test_a_host_whose_address_is_not_known_any_more_keeps_its_claim(tmp_path: Path) -> None:
    """It isn't asked, so that the machine stays its."""
    stored = Stored(tmp_path, claim=CLAIMING)
    machine = ("infrastructure.cluster.x-k8s.io", "InventoryMachine")
    stored.store.modify(machine, "default", "m1", lambda found: found["spec"].update(addressVariable="internal"))
    host(tmp_path / "spare", FREE, FREE)
    said = stored.call(kubernetes_version="v1.20.2")["msg"]
    assert "is not known: its variable internal is not set (Address). Set it for the host" in said
    assert stored.status()["claim"] == CLAIMING


def test_a_host_that_left_the_inventory_is_released_only_with_consent(tmp_path: Path) -> None:
    """What is on it can't be wiped: that is said, and a lost host is given up by its name."""
    stored = Stored(tmp_path, **claimed("burnt"))
    result = stored.release()
    assert result["failed"] and "inventory host burnt, which this run's inventory does not have" in result["msg"]
    assert (
        "To delete the machine and give a lost host up unwiped: -e machine_inventory_consent_forget=burnt"
        in result["msg"]
    )
    # A run that makes the machine gives no host up: the consent alone would change nothing.
    made = stored.call(kubernetes_version="v1.20.2")["msg"]
    replaced = "(playbook remediate with --limit CLUSTER -e control_plane_machines=m1)"
    also = "with -e machine_inventory_consent_forget=burnt as well"
    assert f"have another machine made in its place {replaced}, {also}" in made and "To delete" not in made
    assert stored.status()["claim"]["state"] == "Claimed"
    assert stored.release(consent_forget=["other"])["failed"]
    result = stored.release(consent_forget=["burnt"])
    assert result["changed"] and "given up unwiped" in result["msg"]
    assert stored.status()["claim"]["state"] == "Released" and stored.status()["state"] == "missing"
    assert stored.release() == {**stored.release(), "changed": False, "failed": False}


def test_a_host_that_does_not_answer_stays_claimed(tmp_path: Path) -> None:
    """SSH that fails is no evidence: nothing is given up."""
    stored = Stored(tmp_path, **claimed("away"))
    result = stored.release()
    assert result["failed"] and "inventory host away was not reached" in result["msg"]
    assert "machine_inventory_consent_forget=away" in result["msg"]
    # That the release was begun is kept: by the next call the host may have been wiped by this one.
    assert stored.status()["claim"]["state"] == "Releasing" and stored.status()["state"] == "running"


def test_a_release_whose_answer_was_lost_is_not_begun_anew(tmp_path: Path) -> None:
    """By the second call the host may be another cluster's: it is told so, and so is the next run."""
    stored = Stored(tmp_path, **claimed("refusing"))
    host(stored.python, CUT, REFUSED)
    assert REFUSED["msg"] in stored.release()["msg"]
    assert re.search(r"released_before\W+true", Path(f"{stored.python}.asked").read_text())
    assert stored.status()["claim"]["state"] == "Releasing"


@pytest.mark.parametrize(
    ("answers", "left", "again", "asked"),
    [
        pytest.param([CUT, THEIRS, CUT, REFUSED], ("Releasing", "id-2"), [DONE], "id-2", id="cut off: not asked again"),
        pytest.param(
            [THEIRS, REFUSED], ("Claimed", None), [{"claim": None}, DONE], "", id="nothing begun: asked again"
        ),
        pytest.param([CUT] * 99, ("Claimed", None), [THEIRS, DONE], "id-2", id="not reached: asked again"),
        pytest.param([FULL], ("Claimed", None), [THEIRS, DONE], "id-2", id="not looked at: asked again"),
        pytest.param([UNREADABLE, CUT, FULL], ("Releasing", ""), [DONE], "", id="a claim that can't be read"),
    ],
)
def test_a_consent_is_for_the_claim_that_was_there_when_it_was_given(
    tmp_path: Path, answers: list[t.Any], left: tuple[str, t.Optional[str]], again: list[t.Any], asked: str
) -> None:
    """The host may be released by the first call, whose answer was lost, and be another cluster's by the second."""
    stored, consent = Stored(tmp_path, **claimed("refusing")), ["refusing"]
    host(stored.python, *answers)
    assert stored.release(consent_wipe=consent)["failed"]
    claim = stored.status()["claim"]
    assert (claim["state"], claim.get("wipes")) == left
    shutil.rmtree(f"{stored.python}-answers")
    host(stored.python, *again)
    assert stored.release(consent_wipe=consent)["changed"]
    found = re.search(r'consent_claim\\?": \\?"(.*?)\\?"', Path(f"{stored.python}.asked").read_text())
    assert found is not None and found[1] == asked
    claim = stored.status()["claim"]
    assert claim["state"] == "Released" and "wipes" not in claim


@pytest.mark.parametrize("number", [3, 9])
def test_the_numbers_of_the_cluster_that_took_the_host_are_left_alone(tmp_path: Path, number: int) -> None:
    """Ours says nothing there, and theirs nothing of our lock: with a smaller one each run ended with a second store that isn't there."""
    taken, state = PrivateHost(tmp_path), "/var/lib/kubeadm-control-plane"
    theirs = json.dumps(Claim("id-2", "dev", "team", "dev-1").document())
    taken.run("sh", "-c", f"mkdir -p {state} && echo 7 > {state}/fencing && echo '{theirs}' > {state}/claim.json")
    ours = {"state": "absent", "id": "id-1", "machine": "m1", "cluster_id": "uid-1", "fencing": number}
    for given in ({"released_before": True}, {"consent_wipe": True, "consent_claim": ""}):
        found = taken.module("host_claim", **given, **ours)
        assert found["message"].startswith("the host is cluster team/dev, machine dev-1's since "), found
    refused = taken.module("host_claim", **ours)
    assert "claimed by cluster team/dev" in refused["msg"] and "fenced" not in refused
    assert taken.run("cat", f"{state}/fencing") == "7\n"


@pytest.mark.parametrize(("consent", "reason"), [(False, ""), (True, ""), (False, "OtherEtcd")])
def test_a_consent_that_was_given_or_helps_nothing_is_not_asked_for(tmp_path: Path, consent: bool, reason: str) -> None:
    """The host refuses in any case, a member of another cluster's etcd say: what is left is to give it up unwiped."""
    stored = Stored(tmp_path, **claimed("refusing"))
    answer = {**REFUSED, "reason": reason, "machineID": "1"}
    stored.python.write_text(f"#!/bin/sh\ncat > /dev/null\necho '{json.dumps(answer)}'\n")
    stored.python.chmod(0o755)
    said = stored.release(consent_wipe=["refusing"] if consent else [])["msg"]
    assert f"its inventory host refusing was not released. {answer['msg']}" in said
    assert ("-e machine_inventory_consent_wipe=refusing" in said) is not (consent or bool(reason))
    assert (
        "If the host is to be left as it is, -e machine_inventory_consent_forget=refusing gives it up unwiped" in said
    )
    assert stored.status()["claim"]["state"] == "Claimed"


def test_a_machine_without_a_host_has_nothing_to_release(tmp_path: Path) -> None:
    """Never claimed, or given back before."""
    stored = Stored(tmp_path)
    assert not stored.release()["changed"]
    assert not stored.release(name="unknown")["changed"]
