# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Inventory files of which no cluster can be listed: one error, with what, where, and what to type."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import typing as t
from pathlib import Path

import pytest
import yaml
from workspace import Workspace

# What ansible-playbook does with each inventory before its playbook begins: starting Ansible takes longer than all of them.
EACH_READ = """\
import contextlib, io, json, sys
from ansible import context
from ansible.inventory.manager import InventoryManager
from ansible.module_utils.common.collections import ImmutableDict
from ansible.parsing.dataloader import DataLoader
from ansible.plugins.loader import init_plugin_loader
init_plugin_loader()
playbook, read = sys.argv[1], {}
for path in sys.argv[2:]:
    context.CLIARGS = ImmutableDict(args=(playbook,), start_at_task=None, inventory=(path,), verbosity=0)
    said, status, errors = io.StringIO(), 0, []
    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(said):
        try:
            made = InventoryManager(loader=DataLoader(), sources=[path])
            errors = made.groups["all"].get_vars().get("control_plane_inventory_errors", [])
        except SystemExit as end:
            status = end.code
    read[path] = [status, said.getvalue(), errors]
print(json.dumps(read))
"""
PLAN = "kubeadm.control_plane.plan"
KUBERNETES = {"type": "kubernetes", "path": "journal"}
# An inventory file's name, its options, and what is said of it.
CATALOGUE: dict[str, tuple[t.Any, str]] = {
    "file.clusters.yml": ({"store": {"path": "file.clusters.yml"}}, "the store's path is not a directory (FOLDER/file"),
    "other.clusters.yml": (
        {"store": {"path": "other"}},
        "the directory is not a store (FOLDER/other): it has no store",
    ),
    "kubeconfig.clusters.yml": (
        {"store": {**KUBERNETES, "kubeconfig": "nowhere.conf"}},
        "there are no credentials for the store's Kubernetes API (FOLDER/nowhere.conf): there is no such file",
    ),
    "down.clusters.yml": (
        {"store": {**KUBERNETES, "host": "https://127.0.0.1:1", "api_key": "t0psecret"}},
        "the store's Kubernetes API did not answer (list",
    ),
    "manifest.clusters.yml": (
        {"manifests": ["no/prod.yaml"]},
        "manifests: the file no/prod.yaml does not exist in FOLDER",
    ),
    "type.clusters.yml": ({"store": {"type": "kubernets"}}, "store.type 'kubernets' is not known"),
    "store.clusters.yml": ({"store": {"pth": "store"}}, "store.pth is not known"),
    "path.clusters.yml": ({"store": {"path": ["a"]}}, "store.path is no path"),
    "list.clusters.yml": ({"manifests": {"a": "b"}}, "Config 'manifests'"),
    "option.clusters.yml": ({"manifest": ["clusters/*.yaml"]}, "manifest: the plugin has no option of this name"),
    "selector.clusters.yml": ({"label_selector": "env in prod"}, "label_selector: 'env in prod' is no requirement"),
    "mixed.clusters.yml": ({"store": {"kubeconfig": "a"}}, "store.kubeconfig"),
    "inventory.yml": ({}, "the file's name must end with .clusters.yml or .clusters.yaml"),
}
REMEDY = re.compile(r"(Give|Correct|Write|Rename|Did you mean|Run again|See|Leave|Remove|Take) ", re.IGNORECASE)


def read(folder: Path, playbook: str, names: t.Iterable[str]) -> dict[str, tuple[int, str, list[str]]]:
    """Exit status, screen and kept errors of each inventory file, by its name."""
    command = [sys.executable, "-c", EACH_READ, playbook, *(str(folder / name) for name in names)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    return {Path(path).name: (each[0], each[1], each[2]) for path, each in json.loads(done.stdout).items()}


def write(folder: Path, name: str, options: t.Any) -> None:
    """Write an inventory file of the plugin."""
    (folder / name).write_text(yaml.safe_dump({"plugin": "kubeadm.control_plane.clusters", **options}))


@pytest.fixture(name="said", scope="module")
def _said(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[int, str, list[str]]]:
    folder = tmp_path_factory.mktemp("inventories")
    (folder / "other").mkdir()
    (folder / "other" / "notes.txt").write_text("hello")
    for name, (options, _words) in CATALOGUE.items():
        write(folder, name, options)
    found = read(folder, PLAN, CATALOGUE)
    return {name: (status, text.replace(str(folder), "FOLDER"), kept) for name, (status, text, kept) in found.items()}


@pytest.mark.parametrize("name", CATALOGUE)
def test_an_error_is_one_line_with_what_where_and_what_to_do(
    said: dict[str, tuple[int, str, list[str]]], name: str
) -> None:
    """It is all that is printed: nothing of the plugins that would be tried next."""
    status, text, _kept = said[name]
    first, *more = text.strip().splitlines()
    assert status == 1 and not more, text
    assert first.startswith(f"[ERROR]: inventory file FOLDER/{name}: ") and CATALOGUE[name][1] in first
    assert first.endswith("Nothing was done.") and REMEDY.search(first.partition(CATALOGUE[name][1])[2]), text
    assert "t0psecret" not in text


def test_whatever_else_is_run_gets_it_as_an_error_of_an_inventory(tmp_path: Path) -> None:
    """Ansible continues then, as it does with any plugin; the guard of a playbook that is imported deeper still reports it."""
    write(tmp_path, "bad.clusters.yml", {"store": {"type": "kubernets"}})
    for name, text, ends in (
        ("own", "import_playbook: kubeadm.control_plane.plan", 1),
        ("other", "hosts: localhost", 0),
    ):
        playbook = tmp_path / f"{name}.yml"
        playbook.write_text(f"- {text}\n")
        status, shown, kept = read(tmp_path, str(playbook), ["bad.clusters.yml"])["bad.clusters.yml"]
        assert status == ends and "store.type 'kubernets' is not known" in shown
        assert ends or ("Unable to parse" in shown and "store.type 'kubernets'" in kept[0])


@pytest.mark.parametrize("limit", [(), ("--limit", "prod")], ids=["all", "limit"])
def test_a_pattern_that_matches_no_file_is_what_a_run_without_clusters_fails_for(
    tmp_path: Path, limit: tuple[str, ...]
) -> None:
    """With --limit, too, where Ansible itself would end well."""
    run = Workspace(tmp_path / "workspace").playbook("plan", *limit).failed()
    told = f"manifests: clusters/*.yaml matches no file in {tmp_path / 'workspace'}, and the store {tmp_path / 'workspace' / 'store'} has no cluster either"
    assert told in run.text and "Write the cluster's manifest there" in run.text


def test_an_inventory_that_fails_keeps_no_other_from_its_clusters(tmp_path: Path) -> None:
    """Their playbooks run, and the run fails with the error of the other one."""
    workspace = Workspace(tmp_path / "workspace")
    workspace.manifest("good", replicas=1)
    write(workspace.folder, "bad.clusters.yml", {"store": {"type": "kubernets"}})
    command = ["ansible-playbook", "-i", "bad.clusters.yml", *workspace.command("plan")[1:]]
    run = workspace.run(command, workspace.folder).failed()
    assert "PLAN default/good" in run.text and "yaml' plugin" not in run.text
    assert run.recap("bad.clusters.yml")["failed"] == 1 and run.recap("good")["failed"] == 0
    assert 'msg": "inventory file' in run.text and "store.type 'kubernets' is not known" in run.text
