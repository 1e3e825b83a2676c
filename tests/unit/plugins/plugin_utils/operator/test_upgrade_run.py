# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the commands of upgrades and renewals ask of which node, and what they make of the answers."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
from task_context import CommandRun, Node, StandInAction, ended

from ansible_collections.kubeadm.control_plane.plugins.module_utils.common import settings
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.operator.planner_types import (
    ClusterFacts,
    NodeFacts,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.operator.tasks.context import CommandFailure

Object = dict[str, t.Any]
NEW = "v1.21.0"
NODES = (
    NodeFacts("cp-a", True, inventory_host="cp-a"),
    NodeFacts("cp-b", True, inventory_host="cp-b"),
    NodeFacts("w", False, inventory_host="w"),
)
LATER, NOW_ENDED = "2037-11-21T19:00:00Z", "2026-01-01T00:00:00Z"


def cluster(**facts: t.Any) -> ClusterFacts:
    """Two control plane Nodes and a worker."""
    return ClusterFacts("prod", facts.pop("version", "v1.20.2"), NODES, **facts)


def command(
    folder: Path, descriptor: Object, node: Node, on: str = "cp-a", looks: int = 3, **more: t.Any
) -> CommandRun:
    """A command on a Node; ``more`` are the cluster's facts, and ``attempt``."""
    attempt = more.pop("attempt", 1)
    return CommandRun(folder, cluster(**more), on, descriptor, StandInAction(node, looks), attempt)


def test_binaries_from_files(tmp_path: Path) -> None:
    """What the Action says of them goes to the node, with the run's fencing number; what was done is kept."""
    given = {
        "version": NEW,
        "binaries": {"source": "files", "path": "/opt/{version}", "checksums": {"kubelet": "sha256:x"}},
    }
    run = command(tmp_path, {"upgradeKubeletAndKubectl": given}, lambda *_each: {"msg": "kubelet v1.20.2 → v1.21.0"})
    run.run()
    [(name, module, arguments)] = run.action.calls
    assert (name, module) == ("cp-a", "kubernetes_binaries")
    assert arguments == {
        "version": NEW,
        "names": ["kubelet", "kubectl"],
        "source": "files",
        "path": "/opt/{version}",
        "checksums": {"kubelet": "sha256:x"},
        "fencing": 7,
    }
    assert run.notes() == ["kubelet v1.20.2 → v1.21.0"]
    assert run.action.locks > 0


def test_apply_and_node(tmp_path: Path) -> None:
    """kubeadm as a person runs it, with the flags that were asked for."""
    flags = {"version": NEW, "ignorePreflightErrors": ["ImagePull"], "etcdUpgrade": False, "patches": "/p"}

    for number, verb in enumerate(("kubeadmUpgradeApply", "kubeadmUpgradeNode")):
        run = command(tmp_path / str(number), {verb: flags}, upgraded({"deleted": [], "msg": ""}))
        run.run()
        wanted = ["apply", NEW, "--yes"] if number == 0 else ["node"]
        words = ["--ignore-preflight-errors=ImagePull", "--etcd-upgrade=false", "--experimental-patches=/p"]
        assert run.action.programs() == [["kubeadm", "upgrade", *wanted, *words]]


def upgraded(pruned: t.Optional[Object]) -> Node:
    """A node on which kubeadm's upgrade succeeds; ``pruned``: what is said of the copies that it leaves, None where nobody answers."""
    return lambda _name, module, _each: pruned if module == "kubeadm_backups" else ended()


@pytest.mark.parametrize("verb", ["kubeadmUpgradeApply", "kubeadmUpgradeNode"])
@pytest.mark.parametrize(
    ("answer", "notes"),
    [
        (
            {"deleted": ["/etc/kubernetes/tmp/kubeadm-backup-etcd-2024-03-11-21-00-07"], "msg": "1 deleted"},
            ["1 deleted"],
        ),
        ({"deleted": [], "msg": "nothing is to be deleted"}, []),
        (
            {"failed": True, "msg": "read-only"},
            ["kubeadm's older backups were not deleted: Node cp-a: kubeadm_backups: read-only"],
        ),
        (None, ["kubeadm's older backups were not deleted: Node cp-a: machine cp-a was not reached: timed out"]),
    ],
)
def test_what_upgrades_leave_is_kept_in_bounds_and_fails_no_upgrade(
    tmp_path: Path, verb: str, answer: t.Optional[Object], notes: list[str]
) -> None:
    """kubeadm copies etcd's data at each upgrade and deletes none of it; an upgrade that is done stays done."""
    run = command(tmp_path, {verb: {"version": NEW}}, upgraded(answer))
    run.run()
    assert run.action.calls[-1] == ("cp-a", "kubeadm_backups", {"fencing": 7})
    assert run.notes() == notes


@pytest.mark.parametrize(
    ("verb", "parameters", "unlinks"),
    [
        ("kubeadmUpgradeApply", {"version": NEW}, True),
        ("kubeadmUpgradeNode", {"version": NEW}, True),
        ("kubeadmRenewCertificates", {"names": ["all"], "offline": False}, True),
        ("kubeadmRenewCertificates", {"names": ["admin.conf"], "offline": True}, False),
    ],
)
def test_before_and_after_kubeadm_renews(tmp_path: Path, verb: str, parameters: Object, unlinks: bool) -> None:
    """With a rotation's link it fails; and a kube-vip that knows the old admin.conf alone would lose the address when that ends."""
    unlinked, reread = ({"state": each, "fencing": 7} for each in ("unlinked", "reread"))

    def node(_name: str, module: str, arguments: Object) -> Object:
        if module == "host_endpoint":
            assert arguments == reread and run.action.programs(), "kubeadm has written it by then"
            return {"changed": True}
        if arguments == unlinked:
            assert not run.action.programs(), "kubeadm has not read it yet"
            return {"changed": True}
        answers = {"kubeadm_certificates": {"certificates": {}, "configuration_file": "/run/kubeadm/renew.yaml"}}
        return {"deleted": [], **ended(), **answers.get(module, {})}

    run = command(tmp_path, {verb: parameters}, node)
    run.run()
    assert ("cp-a", "host_endpoint", reread) in run.action.calls
    assert (("cp-a", "kubeadm_certificates", unlinked) in run.action.calls) is unlinks
    *link, vip = run.notes()
    assert vip == "kube-vip was restarted, for it reads admin.conf only when it starts"
    assert ["the link from a rotation was removed from apiserver.crt" in each for each in link] == [True] * unlinks


def test_a_worker_holds_no_endpoint(tmp_path: Path) -> None:
    run = command(tmp_path, {"kubeadmUpgradeNode": {"version": NEW}}, upgraded({"deleted": [], "msg": ""}), on="w")
    run.run()
    assert [module for _name, module, _arguments in run.action.calls] == ["node_command", "kubeadm_backups"]


def test_kubeadm_that_fails_is_told_with_its_last_words(tmp_path: Path) -> None:
    """The Action pauses with what kubeadm said."""
    run = command(tmp_path, {"kubeadmUpgradeNode": {"version": NEW}}, lambda *_each: ended(1, "a\nb\n[ERROR Foo]: bar"))
    with pytest.raises(CommandFailure, match=r"(?s)exit status 1.*\[ERROR Foo\]: bar"):
        run.run()


@pytest.mark.parametrize(
    ("problem", "refused"),
    [
        ({"name": "CRI", "ok": False, "severity": "error", "message": "no socket", "remedy": "Start it."}, True),
        ({"name": "NumCPU", "ok": False, "severity": "warning", "message": "one", "remedy": ""}, False),
        ({"name": "Port-6443", "ok": False, "severity": "error", "message": "silent", "remedy": ""}, False),
        ({"name": "ControlPlane", "ok": False, "severity": "error", "message": "silent", "remedy": ""}, False),
        ({"name": "KubeletVersion", "ok": False, "severity": "error", "message": "older", "remedy": ""}, False),
    ],
)
def test_preflight(tmp_path: Path, problem: Object, refused: bool) -> None:
    """What is missing on the machine ends it; what the components say is asked with patience afterwards."""
    run = command(
        tmp_path,
        {"preflight": {"version": NEW}},
        lambda _name, module, _each: ended() if module == "node_command" else {"checks": [problem]},
    )
    if refused:
        with pytest.raises(CommandFailure, match="CRI: no socket"):
            run.run()
    else:
        run.run()
    assert run.action.calls[-1][2]["version"] == NEW, "what that version refuses is told before anything is done"


def test_a_drain_goes_through_another_node(tmp_path: Path) -> None:
    """It is begun on the first other control plane Node that answers, gone on with from when it began, and what it did is kept."""
    states = iter(
        [
            {"state": "Running", "message": "waits for pods", "started_at": "2026-11-21T19:00:00Z"},
            {"state": "Drained", "message": "Node w is cordoned and drained", "started_at": "2026-11-21T19:00:00Z"},
        ]
    )

    def node(name: str, module: str, arguments: Object) -> t.Optional[Object]:
        del module, arguments
        return None if name == "cp-a" else next(states)

    run = command(tmp_path, {"kubectlDrain": {"timeoutSeconds": 60}}, node, on="w")
    run.run()
    assert [name for name, _module, _arguments in run.action.calls] == ["cp-a", "cp-b", "cp-a", "cp-b"]
    assert run.action.calls[-1][2] == {
        "name": "w",
        "timeout": 60,
        "wait": settings.WAITING_CALL_SECONDS,
        "wait_for_volumes": False,
        "started_at": "2026-11-21T19:00:00Z",
        "fencing": 7,
    }
    assert run.notes() == ["Node w is cordoned and drained"]


@pytest.mark.parametrize("state", ["TimedOut", "Running"])
def test_a_drain_that_takes_too_long(tmp_path: Path, state: str) -> None:
    """The Action pauses with what holds it and the ways out."""
    answer = {"state": state, "message": "Node w waits for pods shop/web-0", "started_at": ""}
    run = command(tmp_path, {"kubectlDrain": {}}, lambda *_each: answer, on="w")
    with pytest.raises(CommandFailure, match=r"shop/web-0.*stays so.*retry; or skip"):
        run.run()


def test_a_drain_that_is_retried(tmp_path: Path) -> None:
    """Its bound begins anew: the node counts it from the first call of a drain on, so that one is forgotten first."""
    answer = {"state": "Drained", "message": "Node w is cordoned and drained", "started_at": ""}
    run = command(tmp_path, {"kubectlDrain": {}}, lambda *_each: answer, on="w", attempt=2)
    run.run()
    assert [arguments.get("state", "present") for _name, _module, arguments in run.action.calls] == [
        "absent",
        "present",
    ]


def test_uncordon(tmp_path: Path) -> None:
    """A Node that was unschedulable before the Action began stays so."""
    run = command(tmp_path / "a", {"kubectlUncordon": {}}, lambda *_each: {"message": "Node w is schedulable"}, on="w")
    run.run()
    assert run.action.calls[0][2] == {"name": "w", "state": "absent", "fencing": 7}
    held = {"unschedulable": ["w"]}
    run = command(tmp_path / "b", {"kubectlUncordon": {}}, lambda *_each: {}, on="w", extra=held)
    run.run()
    assert (run.action.calls, "stays so" in run.notes()[0]) == ([], True)


@pytest.mark.parametrize(
    ("parameters", "force", "healthy"),
    [
        ({"component": "etcd"}, False, True),
        ({"component": "etcd", "offline": True}, True, False),
        ({"component": "kube-apiserver", "offline": True}, True, True),
    ],
)
def test_a_restart(tmp_path: Path, parameters: Object, force: bool, healthy: bool) -> None:
    """Once for each attempt; offline, etcd is not waited for and no quorum is asked for."""
    names = set()
    for attempt in (1, 2):
        run = command(
            tmp_path / str(attempt), {"restartComponent": parameters}, lambda *_each: {"msg": "was"}, attempt=attempt
        )
        run.run()
        [(_name, module, arguments)] = run.action.calls
        assert (module, arguments["force"], arguments["healthy"]) == ("static_pod", force, healthy)
        names.add(arguments["once"])
    assert len(names) == 2


def test_waiting_in_vain(tmp_path: Path) -> None:
    """It says what it waited for; a Node that is not reached is waited for as well."""
    run = command(tmp_path, {"waitHealthy": {"timeoutSeconds": 5}}, lambda *_each: None, looks=2)
    with pytest.raises(CommandFailure, match=r"unhealthy after 5 s: .*was not reached"):
        run.run()
    assert len(run.action.calls) == 3


def test_waiting_for_a_worker(tmp_path: Path) -> None:
    """It is asked of the API on a control plane Node."""
    versions = iter(["v1.20.2", NEW])

    def node(name: str, module: str, arguments: Object) -> t.Optional[Object]:
        assert (name, module) == ("cp-a", "workload_objects")
        path = arguments["read"][0]["path"]
        status = {
            "conditions": [{"type": "Ready", "status": "True"}],
            "nodeInfo": {"kubeletVersion": next(versions)},
        }
        return {"objects": {path: {"status": status}}}

    run = command(tmp_path, {"waitHealthy": {"kubeletVersion": NEW}}, node, on="w")
    run.run()
    assert len(run.action.calls) == 2


class Certificates:
    """A node whose certificates end then before and after kubeadm ran."""

    def __init__(self, before: str = "2027-01-01T00:00:00Z", after: str = LATER, said: str = "") -> None:
        self.end, self.after, self.said = before, after, said
        self.prepared: list[Object] = []

    def __call__(self, name: str, module: str, arguments: Object) -> Object:
        del name
        if module == "node_command":
            self.end = self.after
            return ended(0, self.said)
        if arguments.get("state") == "prepared":
            self.prepared.append(arguments)
            return {"configuration_file": "/run/kubeadm/renew.yaml", "certificates": {}}
        return {"certificates": {"apiserver": self.end, "etcd-peer": self.end, "ca": LATER}, "msg": "read"}


def test_a_renewal(tmp_path: Path) -> None:
    """kubeadm is run, and what it did is proven."""
    run = command(tmp_path, {"kubeadmRenewCertificates": {}}, Certificates())
    run.run()
    assert run.action.programs() == [["kubeadm", "certs", "renew", "all"]]
    assert run.notes() == [f"2 certificates end {LATER} or later"]


def test_a_renewal_by_an_old_kubeadm(tmp_path: Path) -> None:
    """Before 1.20 it is under alpha."""
    run = command(tmp_path, {"kubeadmRenewCertificates": {"names": ["apiserver"]}}, Certificates(), version="v1.19.3")
    run.run()
    assert run.action.programs() == [["kubeadm", "alpha", "certs", "renew", "apiserver"]]


def test_a_renewal_without_an_api(tmp_path: Path) -> None:
    """kubeadm gets the cluster's configuration as a file."""
    node = Certificates(before=NOW_ENDED)
    run = command(tmp_path, {"kubeadmRenewCertificates": {"offline": True}}, node, cluster_configuration="kind: X")
    run.run()
    assert run.action.programs() == [["kubeadm", "certs", "renew", "all", "--config=/run/kubeadm/renew.yaml"]]
    assert [(each["node_name"], each["configuration"]) for each in node.prepared] == [("cp-a", "kind: X")]


def test_the_configuration_where_only_the_store_knows_it(tmp_path: Path) -> None:
    """It is written as kubeadm of that version reads it, with the version, so that kubeadm asks no server on the Internet for it."""
    node = Certificates(before=NOW_ENDED)
    command(tmp_path, {"kubeadmRenewCertificates": {"offline": True}}, node).run()
    [arguments] = node.prepared
    assert "kind: ClusterConfiguration" in arguments["configuration"]
    assert "kubernetesVersion: v1.20.2" in arguments["configuration"]


@pytest.mark.parametrize(
    "node",
    [
        Certificates(said="Detected external ca, certificate for serving the Kubernetes API can't be renewed"),
        Certificates(after=NOW_ENDED),
    ],
)
def test_what_was_not_renewed(tmp_path: Path, node: Certificates) -> None:
    """An external authority, or a certificate that has ended still: named, with the ways out."""
    run = command(tmp_path, {"kubeadmRenewCertificates": {}}, node)
    with pytest.raises(CommandFailure, match="not every certificate was renewed"):
        run.run()


def test_an_external_etcds_certificates(tmp_path: Path) -> None:
    """They are not kubeadm's: that they have ended is nothing that this Action could mend."""

    def node(name: str, module: str, arguments: Object) -> t.Optional[Object]:
        del name, arguments
        ends = {"apiserver": LATER, "apiserver-etcd-client": NOW_ENDED}
        return ended() if module == "node_command" else {"certificates": ends}

    run = command(tmp_path, {"kubeadmRenewCertificates": {}}, node, external_etcd=True)
    run.run()
    assert run.notes() == [f"1 certificates end {LATER} or later"]


def test_a_renewal_that_is_found_done(tmp_path: Path) -> None:
    """A run that was killed after kubeadm had ended finds everything renewed."""
    command(tmp_path, {"kubeadmRenewCertificates": {}}, Certificates(before=LATER)).run()


def test_a_workers_kubelet_gets_a_token_that_goes_again(tmp_path: Path) -> None:
    """Made on a control plane Node, used on the worker, deleted whatever happened; it is in no record."""
    seen: list[Object] = []

    def node(name: str, module: str, arguments: Object) -> t.Optional[Object]:
        seen.append({"node": name, "module": module, **arguments})
        if module == "kubeadm_certificates":
            return {"failed": True, "msg": f"no certificate with {arguments['token']}"}
        return {"token_id": "x"}

    run = command(tmp_path, {"bootstrapKubeletAgain": {}}, node, on="w")
    with pytest.raises(CommandFailure) as caught:
        run.run()
    made, used, deleted = seen
    assert [(each["node"], each["module"]) for each in seen] == [
        ("cp-a", "bootstrap_token"),
        ("w", "kubeadm_certificates"),
        ("cp-a", "bootstrap_token"),
    ]
    assert made["token"] == used["token"] and used["state"] == "bootstrapped"
    assert (deleted["state"], deleted["token_id"]) == ("absent", made["token"].partition(".")[0])
    assert made["token"] not in str(caught.value)


def test_the_kubeconfig(tmp_path: Path) -> None:
    """Without an authority in the store it can't be made, and it is said what to do."""
    run = command(tmp_path, {"renewKubeconfigSecret": {}}, lambda *_each: None)
    with pytest.raises(CommandFailure, match="kubeconfig"):
        run.run()
    assert run.action.calls == []
