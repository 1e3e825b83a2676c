# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The inventory of clusters: what patterns and --limit pick from it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import typing as t
from pathlib import Path

import pytest
import yaml
from stored_cluster import stored_cluster
from workspace import cluster_documents

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.records.cluster_objects import CLUSTER
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.file.store import FileStore

MACHINES = ["m1", "m2", "m3"]
# What `ansible control_planes --list-hosts` does, for one inventory after the other: starting Ansible takes longer than all of them.
EACH_LISTED = """\
import json, sys
from ansible.inventory.manager import InventoryManager
from ansible.parsing.dataloader import DataLoader
from ansible.plugins.loader import init_plugin_loader
init_plugin_loader()
listed = [InventoryManager(loader=DataLoader(), sources=[path]).list_hosts("control_planes") for path in sys.argv[1:]]
print(json.dumps([sorted(host.name for host in each) for each in listed]))
"""

# All hosts of an inventory made from several sources, with their own variables and their groups.
WHOLE = """\
import json, sys
from ansible.inventory.manager import InventoryManager
from ansible.parsing.dataloader import DataLoader
from ansible.plugins.loader import init_plugin_loader
init_plugin_loader()
made = InventoryManager(loader=DataLoader(), sources=sys.argv[1:])
hosts = {host.name: {**host.vars, "groups": [group.name for group in host.get_groups()]} for host in made.list_hosts("all")}
print(json.dumps(hosts))
"""


class Inventory:
    """An inventory of the cluster prod, which has three machines."""

    def __init__(self, folder: Path) -> None:
        stored_cluster(folder / "store", "v1.20.2", {}, {}, dict.fromkeys(MACHINES, "localhost"))
        self.path = folder / "inventory.clusters.yml"
        source = {"plugin": "kubeadm.control_plane.clusters", "store": {"path": str(folder / "store")}}
        self.path.write_text(yaml.safe_dump(source))
        self.said = ""

    @classmethod
    def at(cls, folder: Path) -> Inventory:
        """The inventory that a folder has already."""
        made = cls.__new__(cls)
        made.path, made.said = folder / "inventory.clusters.yml", ""
        return made

    def hosts(self, pattern: str, *arguments: str) -> list[str]:
        """The hosts that `ansible` picks."""
        words = ["ansible", "-i", str(self.path), pattern, "--list-hosts", *arguments]
        done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True, timeout=120)
        self.said = done.stderr
        return sorted(line.strip() for line in done.stdout.splitlines()[1:])


@pytest.fixture(name="inventory")
def _inventory(tmp_path: Path) -> Inventory:
    return Inventory(tmp_path)


def test_a_clusters_name_picks_the_cluster_and_not_its_machines(inventory: Inventory) -> None:
    """`--limit prod` would else leave the playbooks, which run on clusters, without any."""
    assert inventory.hosts("prod") == ["prod"]
    assert inventory.hosts("control_planes", "--limit", "prod") == ["prod"]
    assert "same name" not in inventory.said


def test_machines_are_hosts_in_a_group_of_their_cluster(inventory: Inventory) -> None:
    assert inventory.hosts("prod_machines") == inventory.hosts("control_plane_machines") == MACHINES


def each_found(folder: Path, manifests: Path, several: t.Sequence[dict[str, object]]) -> list[list[str]]:
    """The clusters that each of several inventories with these options of the plugin has; read in one process, each anew."""
    paths = []
    for number, options in enumerate(several):
        path = folder / f"{number}.clusters.yml"
        source = {"plugin": "kubeadm.control_plane.clusters", "manifests": [f"{manifests}/*.yaml"], **options}
        path.write_text(yaml.safe_dump(source))
        paths.append(str(path))
    done = subprocess.run(
        [sys.executable, "-c", EACH_LISTED, *paths],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    return [list(each) for each in json.loads(done.stdout.splitlines()[-1])]


def test_several_instances_share_manifests(tmp_path: Path) -> None:
    """What Cluster API's controllers have the flags --namespace and --watch-filter for."""
    manifests = tmp_path / "manifests"
    manifests.mkdir()
    for name, labels in (("a1", "a"), ("a2", "a"), ("b1", "b"), ("free", None)):
        documents = cluster_documents(name)
        if labels:
            documents[0]["metadata"]["labels"] = {"cluster.x-k8s.io/watch-filter": labels}
        (manifests / f"{name}.yaml").write_text(yaml.safe_dump_all(documents))
    (manifests / "broken.yaml").write_text("kind: [")
    cases: list[tuple[dict[str, object], list[str]]] = [
        ({}, ["a1", "a2", "b1", "broken", "free"]),
        ({"watch_filter": ""}, ["a1", "a2", "b1", "broken", "free"]),
        ({"watch_filter": "a"}, ["a1", "a2", "broken"]),
        ({"watch_filter": "b"}, ["b1", "broken"]),
        ({"watch_filter": "c"}, ["broken"]),
        ({"namespaces": ["other"]}, ["broken"]),
        ({"namespaces": ["other", "default"]}, ["a1", "a2", "b1", "broken", "free"]),
        ({"namespaces": ["default"], "watch_filter": "b"}, ["b1", "broken"]),
    ]
    options = [each for each, _found in cases]
    for case, found in zip(cases, each_found(tmp_path, manifests, options)):
        assert found == case[1], case[0]


def test_a_stored_cluster_is_whose_label_it_has(inventory: Inventory) -> None:
    """It may have no manifest here at all."""
    store = inventory.path.parent / "store"
    source = {"plugin": "kubeadm.control_plane.clusters", "store": {"path": str(store)}, "watch_filter": "a"}
    inventory.path.write_text(yaml.safe_dump(source))
    assert inventory.hosts("control_planes") == []
    label = {"cluster.x-k8s.io/watch-filter": "a"}
    FileStore(str(store)).modify(CLUSTER, "default", "prod", lambda found: found["metadata"].update(labels=label))
    assert inventory.hosts("control_planes") == ["prod"]
    assert inventory.hosts("prod_machines") == MACHINES


def test_clusters_by_their_labels(tmp_path: Path) -> None:
    """One that is broken has none that can be read, and is told to everybody."""
    manifests = tmp_path / "manifests"
    manifests.mkdir()
    _labelled(manifests, {})
    cases = {
        "env=prod": ["broken", "east", "west"],
        "env=prod,region!=east": ["broken", "west"],
        "env in (test, none)": ["broken", "try"],
        "!env": ["bare", "broken"],
    }
    options: list[dict[str, object]] = [{"label_selector": each} for each in cases]
    for selector, found in zip(cases, each_found(tmp_path, manifests, options)):
        assert found == cases[selector], selector


def test_groups_of_namespaces_and_labels(tmp_path: Path) -> None:
    """What --limit picks a part of a fleet by."""
    keyed = [
        {"key": "control_plane_namespace", "prefix": "namespace"},
        {"key": "control_plane_labels.region", "prefix": "region"},
    ]
    _labelled(tmp_path, {"keyed_groups": keyed, "groups": {"production": "control_plane_labels.env == 'prod'"}})
    inventory = Inventory.at(tmp_path)
    assert inventory.hosts("region_east") == ["east"] and inventory.hosts("production") == ["east", "west"]
    assert inventory.hosts("control_planes", "--limit", "namespace_default:!production") == ["bare", "broken", "try"]


def test_two_clusters_of_one_name(tmp_path: Path) -> None:
    """Each is its own host, also where a third one has the very name that such a host gets."""
    for number, (namespace, name) in enumerate([("a", "prod"), ("b", "prod"), ("c", "a.prod"), ("c", "other")]):
        documents = cluster_documents(name)
        for each in documents:
            each["metadata"]["namespace"] = namespace
        (tmp_path / f"{number}.yaml").write_text(yaml.safe_dump_all(documents))
    options: list[dict[str, object]] = [{}, {"namespaces": ["a", "c"]}]
    every, some = each_found(tmp_path, tmp_path, options)
    assert every == ["a.prod", "b.prod", "c.a.prod", "other"]
    assert some == ["a.prod", "other", "prod"]


def test_two_inventories_with_a_cluster_of_one_name(tmp_path: Path) -> None:
    """In two stores: neither takes the other's place. The same cluster in both is one."""
    for store in ("one", "two"):
        source = {"plugin": "kubeadm.control_plane.clusters", "manifests": ["*.yaml"], "store": {"path": store}}
        (tmp_path / f"{store}.clusters.yml").write_text(yaml.safe_dump(source))
    (tmp_path / "prod.yaml").write_text(yaml.safe_dump_all(cluster_documents("prod")))
    (tmp_path / "same.clusters.yml").write_text((tmp_path / "one.clusters.yml").read_text())
    for other, refused in (("two", True), ("same", False)):
        words = ["ansible-inventory", "-i", "one.clusters.yml", "-i", f"{other}.clusters.yml", "--host", "prod"]
        done = subprocess.run(words, cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True)
        assert json.loads(done.stdout)["control_plane_store"]["path"] == str(tmp_path / "one")
        assert ("has a cluster whose host is called prod" in " ".join(done.stderr.split())) is refused


def test_two_inventories_with_two_hosts_for_one_cluster(tmp_path: Path) -> None:
    """One has a namesake of it in another namespace: a playbook would work on the cluster twice at once."""
    for namespace in ("a", "b"):
        documents = cluster_documents("prod")
        for each in documents:
            each["metadata"]["namespace"] = namespace
        (tmp_path / f"{namespace}.yaml").write_text(yaml.safe_dump_all(documents))
    for name, more in (("one", {"namespaces": ["a"]}), ("all", {})):
        source = {"plugin": "kubeadm.control_plane.clusters", "manifests": ["*.yaml"], "store": {"path": "store"}}
        (tmp_path / f"{name}.clusters.yml").write_text(yaml.safe_dump({**source, **more}))
    hosts, said = whole(tmp_path, "one.clusters.yml", "all.clusters.yml")
    assert sorted(hosts) == ["prod"] and hosts["prod"]["control_plane_namespace"] == "a"
    assert "has the cluster a/prod as the host prod, and in this one it would be the host a.prod" in said


def whole(folder: Path, *sources: str) -> tuple[dict[str, dict[str, t.Any]], str]:
    """All hosts by name, with variables and groups; and what was said."""
    words = [sys.executable, "-c", WHOLE, *(str(folder / each) for each in sources)]
    done = subprocess.run(words, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True)
    return dict(json.loads(done.stdout.splitlines()[-1])), " ".join(done.stderr.split())


def test_a_name_that_something_else_has_takes_nothing_over(tmp_path: Path) -> None:
    """Hosts and groups of the user's own, Ansible's own names, and our own groups; also from a file that can't be read."""
    own = {
        "all": {"hosts": {"db1": {"ansible_host": "192.0.2.7"}, "gone": {}}, "children": {"web": {"hosts": {"w1": {}}}}}
    }
    (tmp_path / "hosts.yml").write_text(yaml.safe_dump(own))
    taken = ("db1", "web", "localhost", "127.0.0.1", "all", "unhealthy", "production")
    for name in (*taken, "good"):
        (tmp_path / f"{name}.yaml").write_text(yaml.safe_dump_all(cluster_documents(name)))
    (tmp_path / "gone.yaml").write_text("kind: [")
    options = {"plugin": "kubeadm.control_plane.clusters", "manifests": ["*.yaml"], "groups": {"production": "true"}}
    (tmp_path / "inventory.clusters.yml").write_text(yaml.safe_dump(options))
    hosts, said = whole(tmp_path, "hosts.yml", "inventory.clusters.yml")
    for name, what in zip(taken, ("a host", "a group", "a host", "a host", "a group", "a group", "a group")):
        refused = hosts[f"default.{name}"]
        assert refused["control_plane_cluster"] == name and "control_planes" in refused["groups"]
        assert (
            f"can't be the inventory host {name}: this run's inventory has {what} of that name"
            in refused["control_plane_refused"]
        )
        assert f"The Cluster default/{name} can't be" in said
    assert "control_plane_refused" not in {**hosts["good"], **hosts["default.gone"]}
    assert hosts["db1"] == {**hosts["db1"], "ansible_host": "192.0.2.7"} and "ansible_connection" not in hosts["db1"]
    assert set(hosts) == {"db1", "gone", "w1", "good", "default.gone", *(f"default.{each}" for each in taken)}
    assert hosts["gone"]["groups"] == ["all", "ungrouped"], "a file that can't be read takes no host over, either"


def test_a_name_that_kubernetes_does_not_take_is_no_hosts(tmp_path: Path) -> None:
    """Ansible makes patterns, ranges and paths of hosts' names."""
    names = ["Prod", "a,localhost", "w[1:9]", "../../up", "{{ 1 }}", "-a.b", "a" * 300, "\u202etxt"]
    for number, name in enumerate(names):
        (tmp_path / f"{number}.yaml").write_text(yaml.safe_dump_all(cluster_documents(name)))
    (tmp_path / "My Cluster.yaml").write_text("kind: [")
    source = {"plugin": "kubeadm.control_plane.clusters", "manifests": ["*.yaml"]}
    (tmp_path / "inventory.clusters.yml").write_text(yaml.safe_dump(source))
    hosts, said = whole(tmp_path, "inventory.clusters.yml")
    assert len(hosts) == len(names) + 1
    assert all(re.fullmatch(r"default[a-z0-9-]*-[0-9a-f]{8}", each) for each in hosts), hosts
    found = {each["control_plane_cluster"]: each.get("control_plane_refused", "") for each in hosts.values()}
    assert set(found) == {*names, "My Cluster"} and found["My Cluster"] == ""
    assert all("has no name that Kubernetes takes" in found[name] for name in names)
    assert "'\\u202etxt'" in said and "\u202e" not in said


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({}, "this run's inventory has a host of that name"),
        ({"host": "-oProxyCommand=id"}, "is neither an IP address nor a DNS name"),
        ({"host": "a b"}, "is neither an IP address nor a DNS name"),
    ],
)
def test_a_machine_takes_no_host_over(inventory: Inventory, change: dict[str, str], why: str) -> None:
    """It is left out; the cluster and its other machines are there."""
    folder = inventory.path.parent
    (folder / "hosts.yml").write_text(yaml.safe_dump({"all": {"hosts": {"db1": {}} if change else {"m2": {"own": 1}}}}))
    store = FileStore(str(folder / "store"))
    kind = ("infrastructure.cluster.x-k8s.io", "NspawnMachine")
    store.modify(kind, "default", "m2", lambda found: found["status"]["connection"].update(change))
    hosts, said = whole(folder, "hosts.yml", "inventory.clusters.yml")
    assert "machine default/m2 is left out of the inventory: " in said and why in said
    assert ("m2" in hosts) is (not change) and "control_plane_cluster" not in hosts.get("m2", {})
    assert hosts["m1"]["groups"] == hosts["m3"]["groups"] and "prod" in hosts


def test_a_machine_of_another_clusters_name_is_left_out(inventory: Inventory) -> None:
    """Whichever of the two comes first."""
    folder = inventory.path.parent
    (folder / "m3.yaml").write_text(yaml.safe_dump_all(cluster_documents("m3")))
    source = yaml.safe_load(inventory.path.read_text())
    inventory.path.write_text(yaml.safe_dump({**source, "manifests": ["m3.yaml"]}))
    hosts, said = whole(folder, "inventory.clusters.yml")
    assert "machine default/m3 is left out of the inventory: a cluster of this run's inventory has that name" in said
    assert hosts["m3"]["control_plane_cluster"] == "m3" and "control_plane_machines" not in hosts["m3"]["groups"]


def test_a_label_puts_no_cluster_among_the_users_own_hosts(tmp_path: Path) -> None:
    """Plays for them would run on the controller, also where only a group above has them. A group of clusters alone may be shared."""
    source = {"hosts": {"web1": {}}}
    own = {"region_east": source, "web": {"children": {"region_west": {}, "db": source}}, "region_north": {}}
    (tmp_path / "hosts.yml").write_text(yaml.safe_dump({"all": {"children": own}}))
    keyed = [{"key": "control_plane_labels.region", "prefix": "region"}]
    _labelled(tmp_path, {"keyed_groups": keyed, "manifests": ["*st.yaml"], "groups": {"db": "true"}})
    hosts, said = whole(tmp_path, "hosts.yml", "inventory.clusters.yml")
    for name, groups in {"east": {"control_planes", "db"}, "west": {"control_planes", "db"}}.items():
        assert (
            f"the inventory host {name} is not put into the group region_{name}: an inventory before this one" in said
        )
        assert set(hosts[name]["groups"]) >= groups and f"region_{name}" not in hosts[name]["groups"]
    for number, name in enumerate(("a", "b")):
        documents = cluster_documents(name)
        documents[0]["metadata"]["labels"] = {"region": "north"}
        (tmp_path / f"{name}.yaml").write_text(yaml.safe_dump_all(documents))
        made = {"plugin": "kubeadm.control_plane.clusters", "manifests": [f"{name}.yaml"], "keyed_groups": keyed}
        (tmp_path / f"{number}.clusters.yml").write_text(yaml.safe_dump(made))
    hosts, said = whole(tmp_path, "hosts.yml", "0.clusters.yml", "1.clusters.yml")
    assert (
        "region_north" in hosts["a"]["groups"] and "region_north" in hosts["b"]["groups"] and "is not put" not in said
    )


def test_a_machine_enters_no_group_of_the_users_own(inventory: Inventory) -> None:
    """Its cluster's name makes the group's."""
    folder = inventory.path.parent
    (folder / "hosts.yml").write_text(
        yaml.safe_dump({"all": {"children": {"prod_machines": {"hosts": {"press1": {}}}}}})
    )
    hosts, said = whole(folder, "hosts.yml", "inventory.clusters.yml")
    assert "the inventory host m1 is not put into the group prod_machines" in said
    assert "prod_machines" not in hosts["m1"]["groups"] and "control_plane_machines" in hosts["m1"]["groups"]


def test_a_selector_that_is_none(tmp_path: Path) -> None:
    _labelled(tmp_path, {"label_selector": "env in prod"})
    inventory = Inventory.at(tmp_path)
    assert inventory.hosts("control_planes") == []
    assert "label_selector: 'env in prod' is no requirement of a label" in inventory.said


def _labelled(folder: Path, options: dict[str, object]) -> None:
    clusters = {
        "east": {"env": "prod", "region": "east"},
        "west": {"env": "prod", "region": "west"},
        "try": {"env": "test"},
        "bare": {},
    }
    for name, labels in clusters.items():
        documents = cluster_documents(name)
        documents[0]["metadata"]["labels"] = labels
        (folder / f"{name}.yaml").write_text(yaml.safe_dump_all(documents))
    (folder / "broken.yaml").write_text("kind: [")
    source = {"plugin": "kubeadm.control_plane.clusters", "manifests": ["*.yaml"], **options}
    (folder / "inventory.clusters.yml").write_text(yaml.safe_dump(source))


def test_a_fleet_without_its_machines(inventory: Inventory) -> None:
    source = yaml.safe_load(inventory.path.read_text())
    inventory.path.write_text(yaml.safe_dump({**source, "machines": False}))
    assert inventory.hosts("all") == ["prod"]


def test_a_cluster_whose_file_is_damaged_keeps_no_other_away(inventory: Inventory) -> None:
    """It is a host itself, so that its playbooks end with the error."""
    store = inventory.path.parent / "store"
    clusters = store / "default" / "cluster.cluster.x-k8s.io"
    (clusters / "other.yaml").write_text("kind: [")
    assert inventory.hosts("control_planes") == ["other", "prod"]
    assert inventory.hosts("prod_machines") == MACHINES
    assert "a file of the store is damaged" in " ".join(inventory.said.split())
