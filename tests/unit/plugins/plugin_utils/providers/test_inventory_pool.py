# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The pool of hosts, which of them a store has taken, and what a host's answer says of a machine."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
from ansible.errors import AnsibleUndefinedVariable
from builders import cluster
from observed import objects_of

from ansible_collections.kubeadm.control_plane.plugins.action.inventory_machine_info import judge
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.providers import inventory_pool
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.providers.inventory_pool import PoolError, read_pool
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.file.store import FileStore

GROUPS = {"pool": ["h3", "h1", "h2"], "empty": []}
HOSTVARS = {
    "h1": {"zone": "a", "rack": 7, "ssd": True},
    "h2": {"zone": "b", "rack": 8},
    "h3": {"zone": "a", "rack": "7"},
}


def test_hosts_are_in_the_order_of_their_names() -> None:
    pool = read_pool({"group": "pool"}, GROUPS, HOSTVARS)
    assert pool.hosts == ("h1", "h2", "h3")
    assert pool.failure_domains == [] and pool.in_domain("") == ["h1", "h2", "h3"]
    assert read_pool({"group": "empty"}, GROUPS, HOSTVARS).hosts == ()


def test_failure_domains_come_from_a_variable() -> None:
    pool = read_pool({"group": "pool", "failureDomainVariable": "zone"}, GROUPS, HOSTVARS)
    assert pool.failure_domains == ["a", "b"]
    assert pool.in_domain("a") == ["h1", "h3"]


@pytest.mark.parametrize(
    ("wanted", "taken"),
    [({"rack": 7}, ("h1", "h3")), ({"ssd": True}, ("h1",)), ({"ssd": "true", "zone": "a"}, ("h1",))],
)
def test_the_selector_compares_text(wanted: dict[str, t.Any], taken: tuple[str, ...]) -> None:
    """A number in the manifest and a text in the inventory are the same thing to a person."""
    pool = read_pool({"group": "pool", "selector": {"matchVariables": wanted}}, GROUPS, HOSTVARS)
    assert pool.hosts == taken
    assert all("the selector wants" in reason for reason in pool.left_out.values())
    assert not any("has 8" in reason or "has b" in reason for reason in pool.left_out.values()), "nobody asked for them"


def test_a_host_whose_address_can_not_be_templated_is_no_host_of_the_endpoint(tmp_path: Path) -> None:
    """It is one that doesn't answer, and no reason to end the run."""

    class Untemplatable(dict[str, t.Any]):
        def get(self, name: str, default: t.Any = None) -> t.Any:
            raise AnsibleUndefinedVariable("'nope' is undefined")

    objects = objects_of(cluster(1), tmp_path)
    objects.cluster["spec"]["controlPlaneEndpoint"] = {"host": "198.51.100.2", "port": 6443}
    hostvars = {"h1": Untemplatable(), "h2": {"ansible_host": "198.51.100.2"}, "h3": {}}
    pool = inventory_pool.Pool("pool", tuple(hostvars))
    assert inventory_pool.endpoint_hosts(objects, pool, {}, hostvars, 6443) == ["h2"]


def test_a_group_that_is_not_there_is_named() -> None:
    with pytest.raises(PoolError, match=r"no group kubeadm_pool.*-i"):
        read_pool({"group": "kubeadm_pool"}, GROUPS, HOSTVARS)


def test_a_host_that_is_a_cluster_as_well_is_refused() -> None:
    """The cluster's variables lead to the controller, which would be made a machine."""
    hostvars = {**HOSTVARS, "h2": {"group_names": ["control_planes", "pool"], "ansible_connection": "local", "rack": 8}}
    with pytest.raises(PoolError, match=r"host h2 of the group pool can't be a machine.*the same name"):
        read_pool({"group": "pool"}, GROUPS, hostvars)
    selected = {"group": "pool", "selector": {"matchVariables": {"rack": 7}}}
    assert read_pool(selected, GROUPS, hostvars).hosts == ("h1", "h3")


@pytest.mark.parametrize(("zone", "said"), [(None, "none"), ("", "none"), ("not a label!", "another value")])
def test_a_host_without_a_failure_domain_is_named(zone: t.Any, said: str) -> None:
    """Its value isn't: whoever wrote the template may not be who may read it."""
    hostvars = {**HOSTVARS, "h2": {"zone": zone}}
    with pytest.raises(PoolError, match=rf"host h2 of the group pool has no failure domain: .* has {said}\.") as failed:
        read_pool({"group": "pool", "failureDomainVariable": "zone"}, GROUPS, hostvars)
    assert "not a label" not in str(failed.value)


def test_only_groups_that_the_operator_permits() -> None:
    """Any, where nothing is said."""
    assert read_pool({"group": "pool"}, GROUPS, HOSTVARS, ["spare", "pool"]).hosts == ("h1", "h2", "h3")
    for group in ("pool", "none"):
        with pytest.raises(
            PoolError, match=rf"names the inventory group {group}, and machine_inventory_groups has only a, b\."
        ):
            read_pool({"group": group}, GROUPS, HOSTVARS, ["b", "a"])


@pytest.mark.parametrize(
    "name",
    [
        "ansible_become_password",
        "ansible_host",
        "hostvars",
        "vars",
        "db_password",
        "apiToken",
        "tls_key",
        "a b",
        "vault_x",
        7,
    ],
)
@pytest.mark.parametrize("field", ["failureDomainVariable", "addressVariable", "selector"])
def test_variables_that_no_template_reads(field: str, name: t.Any) -> None:
    """Also in an object that no manifest's validation has seen. No host's variable is looked at."""
    spec = {"group": "pool", field: {"matchVariables": {name: "x"}} if field == "selector" else name}
    with pytest.raises(
        PoolError, match=rf"spec\.template\.spec\.{field}.* of the machine template is .*Nothing was done"
    ):
        read_pool(spec, GROUPS, {})


@pytest.mark.parametrize(
    ("variables", "found"),
    [
        ({"a": "10.0.0.5"}, ("10.0.0.5", "")),
        ({"a": "FD00::5"}, ("fd00::5", "")),
        ({"a": "correct horse"}, ("", "its variable a is no IP address")),
        ({"a": ""}, ("", "its variable a is not set")),
        ({}, ("", "its variable a is not set")),
    ],
)
def test_an_address_is_one(variables: dict[str, str], found: tuple[str, str]) -> None:
    assert inventory_pool.address_of({"addressVariable": "a"}, variables) == found
    assert inventory_pool.address_of({}, variables) == ("", "")


def stored(store: FileStore, name: str, **status: t.Any) -> dict[str, t.Any]:
    """An InventoryMachine in the store."""
    labels = {"cluster.x-k8s.io/cluster-name": "prod"}
    return store.create(
        {
            "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1",
            "kind": "InventoryMachine",
            "metadata": {"name": name, "namespace": "default", "labels": labels},
            "spec": {"group": "pool"},
            "status": status,
        }
    )


def test_what_the_store_has_taken(tmp_path: Path) -> None:
    """A claim that was only begun takes nothing: the host decides. One that was given back takes nothing either."""
    store = FileStore(str(tmp_path / "store"))
    own = stored(store, "m0", claim={"inventoryHost": "h0", "state": "Claimed"}, machineID="00")
    stored(store, "m1", claim={"inventoryHost": "h1", "state": "Claimed", "machineID": "11"})
    stored(store, "m2", claim={"inventoryHost": "h2", "state": "Claiming"})
    stored(store, "m3", claim={"inventoryHost": "h3", "state": "Released"}, machineID="33")
    stored(store, "m4", connection={"inventoryHost": "h4"}, machineID="44")
    stored(store, "m5")
    assert inventory_pool.taken(store, own) == {
        "h1": "cluster default/prod, machine m1",
        "h4": "cluster default/prod, machine m4",
    }
    assert inventory_pool.known_machine_ids(store, own) == {"11": "h1", "44": "h4"}


def test_a_pool_too_small_says_every_host() -> None:
    pool = read_pool({"group": "pool", "selector": {"matchVariables": {"rack": 7}}}, GROUPS, HOSTVARS)
    text = inventory_pool.none_fits("m1", "v1.20.2", pool, "a", {"h1": "swap is on", "h3": "not reached"})
    assert "failure domain a can become machine m1 (Kubernetes v1.20.2)" in text
    lines = text.splitlines()
    assert [line.split(":")[0].strip() for line in lines[1:4]] == ["h1", "h2", "h3"]
    empty = read_pool({"group": "empty"}, GROUPS, HOSTVARS)
    assert "the group has no hosts" in inventory_pool.none_fits("m1", "v1", empty, "", {})


CLAIM = {"id": "id-1", "state": "Claimed"}
OWN = {"id": "id-1", "machine": "m1", "cluster": "prod"}
OTHER = {"id": "id-2", "machine": "x1", "cluster": "dev"}


@pytest.mark.parametrize(
    ("claim", "answer", "state", "says"),
    [
        (CLAIM, {"machineID": "aa", "claim": OWN, "traces": []}, "running", ""),
        (CLAIM, {"machineID": "aa", "claim": None, "traces": ["etcd"]}, "running", ""),
        (CLAIM, {"machineID": "aa", "claim": None, "traces": []}, "missing", "was wiped"),
        (CLAIM, {"machineID": "aa", "claim": OTHER, "traces": ["etcd"]}, "missing", "machine x1 of cluster dev"),
        (CLAIM, {"machineID": "bb", "claim": OWN, "traces": []}, "", "answers as another machine"),
        (CLAIM, {"machineID": "", "claim": None, "traces": []}, "", "machine-id is missing"),
        ({}, {"machineID": "aa", "claim": None, "traces": ["etcd"]}, "running", ""),
        ({}, {"machineID": "aa", "claim": None, "traces": []}, "running", ""),
    ],
)
def test_what_a_host_s_answer_says(claim: dict[str, str], answer: dict[str, t.Any], state: str, says: str) -> None:
    """Only what the host itself says is evidence; another machine-id says that it is another host, not that ours is gone."""
    found, message = judge(claim, "aa", "h1", answer)
    assert found == state and says in message and bool(says) == bool(message)
