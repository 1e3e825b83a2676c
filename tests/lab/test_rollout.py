# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rollouts on real machines: another template, KubeadmConfigSpec, a moment, certificates that end; without surge.

One to another version, with surge, is in three_machines.
"""

from __future__ import annotations

import contextlib
import datetime
import json
import typing as t

import pytest
import yaml
from machines import Machines
from workspace import Workspace, cluster_documents

pytestmark = pytest.mark.full

NAME = "lab-roll"
SINGLE = "lab-roll-one"
DOMAINS = ("a", "b", "c")
CERTIFICATES_EXPIRY = "machine.cluster.x-k8s.io/certificates-expiry"


@pytest.fixture(scope="module")
def machines(workspace: Workspace) -> Machines:
    """The machines of the control plane of three, in three failure domains."""
    workspace.manifest(NAME, replicas=3, failure_domains=DOMAINS)
    workspace.playbook("reconcile", "--limit", NAME).succeeded()
    return Machines(workspace, NAME)


@pytest.fixture(scope="module")
def single(workspace: Workspace) -> Machines:
    """The machines of the control plane of one, which is made with the first test that wants it."""
    workspace.manifest(SINGLE, replicas=1)
    workspace.playbook("reconcile", "--limit", SINGLE).succeeded()
    return Machines(workspace, SINGLE)


def stored(workspace: Workspace, kind: str, cluster: str) -> list[dict[str, t.Any]]:
    """A cluster's objects of a kind."""
    label = "cluster.x-k8s.io/cluster-name"
    return [each for each in workspace.objects(kind) if each["metadata"].get("labels", {}).get(label) == cluster]


def names(workspace: Workspace, cluster: str) -> list[str]:
    """The names of a cluster's Machines."""
    return [str(each["metadata"]["name"]) for each in stored(workspace, "Machine", cluster)]


@contextlib.contextmanager
def unreadable_kubeadm_config_map(machines: Machines) -> t.Iterator[None]:
    """Somebody's slip in kubectl edit."""

    def write(text: str) -> None:
        patch = json.dumps({"data": {"ClusterConfiguration": text}})
        machines.kubectl("-n", "kube-system", "patch", "configmap", "kubeadm-config", "--type=merge", "-p", patch)

    found = json.loads(machines.kubectl("-n", "kube-system", "get", "configmap", "kubeadm-config", "-o", "json"))
    write("kind: [")
    yield
    write(found["data"]["ClusterConfiguration"])


def rolled(workspace: Workspace, cluster: str, machines: Machines, before: t.Sequence[str]) -> None:
    """Every machine is another one, they alone are etcd's members and the Nodes, and a second run changes nothing."""
    now = names(workspace, cluster)
    assert len(now) == len(before) and not set(now) & set(before)
    members = machines.etcd_members()
    assert [each["name"] for each in members] == sorted(now) and not any(each.get("isLearner") for each in members)
    nodes = json.loads(machines.kubectl("get", "nodes", "-o", "json"))["items"]
    assert sorted(each["metadata"]["name"] for each in nodes) == sorted(now)
    assert workspace.playbook("reconcile", "--limit", cluster).succeeded().recap(cluster)["changed"] == 0


def test_without_surge_once_a_moment_has_come(workspace: Workspace, machines: Machines) -> None:
    """Machines made before rollout.after are replaced, once only. maxSurge 0: each goes before its successor comes."""
    before = names(workspace, NAME)
    [version] = {str(each["spec"]["version"]) for each in stored(workspace, "Machine", NAME)}
    documents = cluster_documents(NAME, failure_domains=DOMAINS, version=version)
    moment = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0}}
    documents[1]["spec"]["rollout"] = {"after": moment, "strategy": strategy}
    workspace.write(NAME, yaml.safe_dump_all(documents))
    workspace.playbook("reconcile", "--limit", NAME).succeeded()
    rolled(workspace, NAME, machines, before)
    text = next(workspace.store.glob(f"default/journal/{NAME}.jsonl")).read_text()
    actions = [entry["action"] for entry in map(json.loads, text.splitlines()) if entry["event"] == "intent"]
    assert actions[-6:] == ["remove", "join"] * 3


def test_another_kubeadm_config_spec_and_machine_template(workspace: Workspace, single: Machines) -> None:
    """They make another machine, by that template and with what is wanted on it; none is made while kubeadm can't be told."""
    before = names(workspace, SINGLE)
    kubeadm = {
        "clusterConfiguration": {"scheduler": {"extraArgs": [{"name": "v", "value": "3"}]}},
        "files": [{"path": "/etc/wanted", "content": "here", "permissions": "0644"}],
    }
    documents = cluster_documents(SINGLE, replicas=1, kubeadm=kubeadm)
    documents[1]["spec"]["machineTemplate"]["spec"]["infrastructureRef"]["name"] = f"{SINGLE}-second"
    documents[2]["metadata"]["name"] = f"{SINGLE}-second"
    workspace.write(SINGLE, yaml.safe_dump_all(documents))
    with unreadable_kubeadm_config_map(single):
        assert "kubeadm-config" in workspace.playbook("reconcile", "--limit", SINGLE).failed().text
        assert names(workspace, SINGLE) == before, "what fails before a machine is made leaves no half machine"
    said = workspace.playbook("status", "--limit", SINGLE).succeeded().text
    assert "KubeadmConfig is not up-to-date" in said and "NspawnMachine is not up-to-date" in said
    workspace.playbook("reconcile", "--limit", SINGLE).succeeded()
    rolled(workspace, SINGLE, single, before)
    [name] = names(workspace, SINGLE)
    assert single.ssh(name, "cat /etc/wanted") == "here"
    assert "--v=3" in single.ssh(name, "cat /etc/kubernetes/manifests/kube-scheduler.yaml")
    [machine] = stored(workspace, "NspawnMachine", SINGLE)
    assert machine["metadata"]["annotations"]["cluster.x-k8s.io/cloned-from-name"] == f"{SINGLE}-second"


def test_certificates_that_end(workspace: Workspace, single: Machines) -> None:
    """The end of a machine's certificates is recorded; a machine that says they end soon is replaced, another one is not."""
    before = names(workspace, SINGLE)
    [config] = stored(workspace, "KubeadmConfig", SINGLE)
    recorded = config["metadata"]["annotations"][CERTIFICATES_EXPIRY]
    end = single.ssh(
        before[0],
        'date -u -d "$(openssl x509 -enddate -noout -in /etc/kubernetes/pki/apiserver.crt | cut -d= -f2)" +%FT%TZ',
    )
    assert recorded == end.strip()
    documents = list(yaml.safe_load_all((workspace.folder / "clusters" / f"{SINGLE}.yaml").read_text()))
    documents[1]["spec"]["rollout"] = {"before": {"certificatesExpiryDays": 30}}
    workspace.write(SINGLE, yaml.safe_dump_all(documents))
    assert workspace.playbook("reconcile", "--limit", SINGLE).succeeded().recap(SINGLE)["changed"] == 1, "the manifest"
    assert names(workspace, SINGLE) == before
    soon = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(days=20)
    single.annotate(before[0], CERTIFICATES_EXPIRY, soon.strftime("%Y-%m-%dT%H:%M:%SZ"))
    assert "Certificates will expire soon" in workspace.playbook("status", "--limit", SINGLE).text
    workspace.playbook("reconcile", "--limit", SINGLE).succeeded()
    rolled(workspace, SINGLE, single, before)
