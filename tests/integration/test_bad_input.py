# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Bad input through the real playbooks: every fault reported at once, and nothing created."""

from __future__ import annotations

import contextlib
import os
import re
import typing as t
from pathlib import Path

import pytest
import yaml
from acme_workspace import AcmeWorkspace
from workspace import Run, Workspace, cluster_documents

EXAMPLES = Path(__file__).parents[2] / "examples" / "manifests"


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """A user's folder."""
    return Workspace(tmp_path / "workspace")


def refused(workspace: Workspace, *says: str, arguments: t.Sequence[str] = ()) -> Run:
    """Reconcile, and find that it fails with these words and created nothing."""
    run = workspace.playbook("reconcile", *arguments).failed()
    for words in says:
        assert words in run.text, run.output
    assert "Traceback" not in run.output
    assert not [path for path in workspace.store.rglob("*.yaml") if path.name != "store.yaml"]
    return run


def changed(name: str, change: t.Callable[[list[dict[str, t.Any]]], t.Any], **options: t.Any) -> str:
    """The manifest of a cluster with one thing changed."""
    documents = cluster_documents(name, **options)
    change(documents)
    return str(yaml.safe_dump_all(documents, sort_keys=False))


def test_each_fault_of_each_manifest_is_named(workspace: Workspace) -> None:
    """All at once, of all clusters in one run: with path, value, rule and fix; a file that can't be parsed has a host for it."""
    fields: dict[str, t.Any] = {
        "ntp": {"servers": ["a"]},
        "mounts": [["a", "b"]],
        "diskSetup": {"filesystems": []},
        "ignition": {},
        "bootCommands": ["true"],
        "useExperimentalRetryJoin": True,
    }

    def of_nobody(documents: list[dict[str, t.Any]]) -> None:
        documents[1]["spec"]["machineTemplate"]["spec"]["infrastructureRef"]["kind"] = "NobodysMachineTemplate"
        documents[2]["kind"] = "NobodysMachineTemplate"

    workspace.manifest("even", replicas=2, version="v1.20")
    workspace.write("unknown", changed("unknown", of_nobody))
    workspace.write("twice", changed("twice", lambda documents: documents.append(documents[2])))
    workspace.write("my-cluster", (EXAMPLES / "seed-as-printed.yaml").read_text())
    workspace.manifest("fields", kubeadm=fields)
    workspace.write("broken", "apiVersion: v1\nkind: [Cluster\n  name: x\n")
    says = {
        "even": ("KubeadmControlPlane default/even-control-plane", "spec.replicas", "odd", "spec.version", "v1.20"),
        "unknown": ("NobodysMachineTemplate", "NspawnMachineTemplate"),
        "twice": ("NspawnMachineTemplate", "twice-control-plane", "two objects"),
        "my-cluster": ("my-controlplane", "my-control-plane", "AcmeCluster", "AcmeProviderMachineTemplate"),
        "fields": tuple(f"spec.kubeadmConfigSpec.{field}" for field in fields),
        "broken": ("broken.yaml", "line"),
    }
    run = refused(workspace, "Under way")
    for name, words in says.items():
        told = run.output.partition(f"\n{name}: FAILED")[2].partition("\n\n")[0]
        assert [each for each in words if each not in told] == [], (name, run.output)


def test_a_template_as_it_is(workspace: Workspace) -> None:
    """Workers and addons are counted in one line, once in a run; the strict mode refuses them."""
    beside = [
        {"apiVersion": "cluster.x-k8s.io/v1beta1", "kind": kind, "metadata": {"name": "md-0"}}
        for kind in ("MachineDeployment", "MachinePool")
    ]
    workspace.write("good", changed("good", lambda documents: documents.extend(beside)))
    line = "[default/good] not managed by this collection: 1 MachineDeployment, 1 MachinePool"
    for playbook, arguments in (("plan", ()), ("reconcile", ("--check",))):
        run = workspace.playbook(playbook, *arguments).succeeded()
        assert run.output.count(line) == 1, run.output
    strict = ("-e", "control_plane_unknown_documents=refuse")
    refused(workspace, "MachineDeployment is not a kind that is managed here", "MachinePool is not", arguments=strict)


def test_a_cluster_with_the_name_of_a_host(workspace: Workspace) -> None:
    """Nothing is done with it, and the reason is said; the others are worked on."""
    workspace.manifest("db1", replicas=1)
    workspace.manifest("good", replicas=1)
    (workspace.folder / "hosts.yml").write_text(yaml.safe_dump({"all": {"hosts": {"db1": {}}}}))
    command = ["ansible-playbook", "-i", "hosts.yml", *workspace.command("plan")[1:]]
    run = workspace.run(command, workspace.folder).failed()
    assert run.recap("default.db1")["failed"] == 1 and run.recap("good")["failed"] == 0
    said = "The Cluster default/db1 can't be the inventory host db1: this run's inventory has a host of that name"
    assert re.search(rf'FAILED! => {{"changed": false, .*"msg": "{re.escape(said)}', run.text)
    assert "PLAN default/good" in run.text and "PLAN default/db1" not in run.text


def test_the_seed_manifest_corrected(workspace: Workspace) -> None:
    """The corrected example is accepted in each form, and --check tells its steps."""
    forms = ("v1alpha3", "v1beta1", "v1beta2")
    for form in forms:
        text = next(EXAMPLES.glob(f"*{form}*.yaml")).read_text()
        # Side by side in one namespace.
        workspace.write(f"{form}-cluster", re.sub(r"\bmy-", f"{form}-", text))
    run = workspace.playbook("reconcile", "--check").succeeded()
    for form in forms:
        plan = run.output.partition(f"PLAN default/{form}-cluster")[2].partition("PLAN default/")[0]
        assert "initialize" in plan, run.output
    assert not workspace.store.exists()


def test_no_inventory() -> None:
    """Without an inventory there is no cluster: an error, not success."""
    run = Workspace.run(["ansible-playbook", "kubeadm.control_plane.reconcile"], Path("/"))
    assert run.returncode != 0
    assert "No cluster is selected" in run.text


@pytest.mark.parametrize("playbook", ["adopt", "install"])
def test_a_limit_that_leaves_no_host_of_an_empty_inventory(playbook: str, tmp_path: Path) -> None:
    """Of the playbooks without the guard: Ansible would end well, with nothing done."""
    (tmp_path / "empty.yml").touch()
    words = ["-i", str(tmp_path / "empty.yml"), "--limit", "prod"]
    run = Workspace.run(["ansible-playbook", *words, f"kubeadm.control_plane.{playbook}"], Path("/"))
    assert run.returncode != 0 and "Give no --limit" in run.text


def test_limit_that_matches_nothing(workspace: Workspace) -> None:
    """A --limit with a typing error is an error."""
    workspace.manifest("good", replicas=1)
    workspace.playbook("reconcile", "--limit", "godo").failed()


def test_unknown_cluster_in_delete(workspace: Workspace) -> None:
    """Consent for another cluster is no consent; a mistyped name is told, and so is a value of another type."""
    workspace.manifest("good", replicas=1)
    run = workspace.playbook("delete", "-e", "control_plane_delete=goood").failed()
    assert "control_plane_delete: no cluster of this inventory has this name (found: 'goood')" in run.text
    assert "Did you mean good?" in run.text and "argument_spec" not in run.text


def test_a_name_that_two_clusters_have_is_no_consent_to_delete_them(workspace: Workspace) -> None:
    """They are named as the inventory names them: with the name alone both would go."""
    for namespace in ("a", "b"):

        def there(documents: list[dict[str, t.Any]], namespace: str = namespace) -> None:
            for each in documents:
                each["metadata"]["namespace"] = namespace

        workspace.write(namespace, changed("prod", there, replicas=1))
    run = workspace.playbook("delete", "-e", "control_plane_delete=prod").failed()
    assert run.recap("a.prod")["failed"] == run.recap("b.prod")["failed"] == 1
    assert "Deleting a/prod" in run.text and "control_plane_delete=b.prod" in run.text
    assert not workspace.store.exists()
    for consent, other in (("a.prod", "b.prod"), ("b/prod", "a.prod")):
        run = workspace.playbook("delete", "--check", "-e", f"control_plane_delete={consent}").failed()
        assert run.recap(consent.replace("/", "."))["failed"] == 0 and run.recap(other)["failed"] == 1
        assert "SUMMARY of delete: 2 clusters: 1 failed" in run.text
        assert f"clusters/{consent[0]}.yaml: the next reconcile makes a new cluster of that" in run.text


def test_a_cloud_that_does_not_answer(tmp_path: Path) -> None:
    """The report and the summary say what the provider's command said."""
    workspace = AcmeWorkspace(tmp_path / "workspace")
    for name in ("east", "west"):
        workspace.manifest(name, replicas=1)
    variables = workspace.folder / "variables.yml"
    closed = ["sh", "-c", "echo one moment >&2; echo the cloud is closed >&2; exit 3"]
    variables.write_text(yaml.safe_dump({**yaml.safe_load(variables.read_text()), "machine_acme_command": closed}))
    run = workspace.playbook("reconcile").failed()
    assert "Last output: one moment the cloud is closed Under way: createInfrastructure" in run.text
    summary = run.output.partition("SUMMARY")[2].splitlines()
    assert [line.split()[:2] for line in summary[1:3]] == [["failed", "east"], ["failed", "west"]]
    assert all("the cloud is closed" in line for line in summary[1:3])


def fill(path: Path) -> None:
    """Fill a disk through a file until nothing more goes in."""
    with contextlib.suppress(OSError), open(path, "wb", buffering=0) as stream:
        while True:
            stream.write(b"x" * 512)


@pytest.mark.skipif(os.geteuid() != 0, reason="mounts need root")
@pytest.mark.parametrize(("options", "says"), [("ro", "read-only"), ("size=16k", "space")])
def test_store_that_cannot_be_written(workspace: Workspace, options: str, says: str) -> None:
    """A store folder that is read-only or full: the error says so, nothing is half-written."""
    workspace.manifest("good", replicas=1)
    workspace.store.mkdir(mode=0o700)
    Workspace.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(workspace.store)], Path("/")).succeeded()
    try:
        if says == "space":
            fill(workspace.store / "filler")
        for told in (("plan",), ("check_hosts",), ("reconcile", "--check"), ("reconcile",)):
            run = workspace.playbook(*told).failed()
            assert says in run.text.lower(), (told, run.output)
            assert "Traceback" not in run.output and "nothing is left to do" not in run.text
        left = [path for path in workspace.store.rglob("*") if path.is_file() and path.name != "filler"]
        assert all(path.stat().st_size > 0 for path in left if path.suffix == ".yaml"), left
    finally:
        Workspace.run(["umount", str(workspace.store)], Path("/")).succeeded()


def test_a_store_in_a_folder_that_is_not_there(workspace: Workspace) -> None:
    """It may be a file system that isn't mounted; and a file is no folder."""
    workspace.manifest("good", replicas=1)
    inventory = workspace.folder / "inventory.clusters.yml"
    inventory.write_text(inventory.read_text().replace("path: store", "path: mounted/store"))
    assert "mounted does not exist" in workspace.playbook("plan").failed().text
    (workspace.folder / "mounted").write_text("")
    run = workspace.playbook("reconcile", "--check").failed()
    assert "nothing can be written to the store" in run.text, run.output


def test_a_mistyped_variable_is_refused_with_the_nearest_name(workspace: Workspace) -> None:
    """In every role and playbook, from the command line and from the inventory, before anything is done."""
    workspace.manifest("good", replicas=1)
    mistyped = ("-e", "control_plane_replce=never")
    for playbook in ("reconcile", "plan", "status", "check_hosts", "health_check", "actions", "backup"):
        run = workspace.playbook(playbook, *mistyped).failed()
        assert "control_plane_replce (did you mean control_plane_replace?)" in run.text, run.output
        assert "Traceback" not in run.output
    assert not [path for path in workspace.store.rglob("*.yaml") if path.name != "store.yaml"]
    install = '{"control_plane_store": {"type": "kubernetes", "host": "https://127.0.0.1:1", "path": "x"}, "control_plane_instal_runners": []}'
    run = workspace.playbook("install", "-e", install).failed()
    assert "did you mean control_plane_install_runners?" in run.text, run.output


def test_a_mistyped_variable_of_the_inventory_and_one_of_the_users_own(workspace: Workspace) -> None:
    workspace.manifest("good", replicas=1)
    variables = workspace.folder / "group_vars" / "control_planes.yml"
    variables.parent.mkdir()
    variables.write_text(
        "machine_inventory_timout: 5\ncontrol_plane_ips: [10.0.0.1]\noperator_email: ops@example.com\n"
    )
    run = workspace.playbook("plan").failed()
    assert "machine_inventory_timout (did you mean machine_inventory_timeout?)" in run.text, run.output
    assert "variables control_plane_ips, machine" in run.text and "operator_email" not in run.text
    variables.write_text("control_plane_ips: [10.0.0.1]\ncontrol_plane_own_variables: [control_plane_ips]\n")
    workspace.playbook("plan").succeeded()


def test_a_failure_says_what_the_run_has_changed(tmp_path: Path) -> None:
    """Objects, keys, the endpoint and steps that ended are changes; a run that did none of that says so."""
    workspace = AcmeWorkspace(tmp_path / "workspace")
    workspace.manifest("prod", replicas=1)
    run = workspace.playbook("reconcile").failed()
    changed = run.text.partition("Changed: ")[2].partition(" Safe now?")[0]
    for words in (
        "create Cluster default/prod",
        "make the SSH key for machines (Secret prod-ssh)",
        "record the control plane endpoint",
        "createInfrastructure",
        "make certificate authorities, keys and the kubeconfig",
        "createCertificates",
    ):
        assert words in changed, run.output
    assert "Under way: initialize" in run.text
    assert run.output.count("Safe now?") == 1, "the report is there once, and no JSON has it too"
    fatal = re.findall(r"^fatal: .*$", run.output, re.MULTILINE)
    assert fatal and not any("\\n" in line for line in fatal), "what Ansible prints as JSON is one line of text"
    banner, note = run.output.index(": Observe and decide]"), run.output.index("[default/prod] create the cluster's")
    assert banner < note, "a task's banner stands before what it says"
    closed = ("-e", '{"machine_acme_command": ["false"]}')
    workspace.manifest("prod", replicas=3)
    run = workspace.playbook("reconcile", *closed).failed()
    assert "Under way: nothing" in run.text and "had not begun to change anything" not in run.text
    assert "Changed: change KubeadmControlPlane default/prod-control-plane: spec.replicas Safe now?" in run.text, (
        run.output
    )
    run = workspace.playbook("reconcile", *closed).failed()
    assert "this run had not begun to change anything" in run.text and "Changed:" not in run.text, run.output


def fleet(workspace: Workspace) -> None:
    """Two clusters, the first of which can't be reconciled."""
    workspace.manifest("a-bad", replicas=2)
    workspace.manifest("b-good", replicas=1)


def test_one_broken_cluster_does_not_stop_the_others(workspace: Workspace) -> None:
    """Clusters run side by side, each for itself."""
    fleet(workspace)
    run = workspace.playbook("reconcile", "--check").failed()
    assert run.recap("a-bad")["failed"] == 1
    assert run.recap("b-good")["failed"] == 0 and "PLAN default/b-good" in run.output


def test_serial_stops_at_the_first_failure(workspace: Workspace) -> None:
    """With control_plane_serial a change is staged: a cluster that fails keeps it from the next."""
    fleet(workspace)
    run = workspace.playbook("reconcile", "--check", "-e", "control_plane_serial=1").failed()
    assert "PLAN default/b-good" not in run.output


def test_several_at_a_time_stop_after_the_first_failure(workspace: Workspace) -> None:
    """Those beside the one that failed are brought to their end, no other is begun, and the one summary says so."""
    fleet(workspace)
    for name in ("c-good", "d-good", "e-good"):
        workspace.manifest(name, replicas=1)
    run = workspace.playbook("reconcile", "--check", "-e", "control_plane_serial=2").failed()
    assert re.findall(r"^PLAN default/(\S+)", run.output, re.MULTILINE) == ["b-good"]
    assert run.text.count("SUMMARY") == 1
    assert "SUMMARY of reconcile: 5 clusters: 1 failed, 3 not reached, 1 would change" in run.text


def test_limit_picks_a_cluster(workspace: Workspace) -> None:
    """--limit to the good one leaves the bad one alone, and a file that can't be parsed, which stops no inventory."""
    fleet(workspace)
    workspace.write("broken", "a: [")
    run = workspace.playbook("reconcile", "--check", "--limit", "b-good").succeeded()
    assert "PLAN default/b-good" in run.output and "a-bad" not in run.output
