# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A provider under test: its file, its role, and a user's folder with clusters of its kinds."""

from __future__ import annotations

import importlib
import os
import re
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Optional

import yaml
from workspace import Run, Workspace, cluster_documents, kill_run

Object = dict[str, Any]
PLAYBOOK = Path(__file__).parent / "call.yml"
_TASK = re.compile(r"^TASK \[(?P<role>\S+) : ")
_FIELDS = {
    "role": str,
    "clusterKind": str,
    "templateKind": str,
    "version": str,
    "clusterSpec": dict,
    "templateSpec": dict,
    "variables": dict,
    "inventory": list,
    "leftovers": str,
}
_NEEDED = ("role", "clusterKind", "templateKind", "version")


@dataclass(frozen=True)
class Provider:
    """What the provider's file says."""

    role: str
    folder: Path
    cluster_kind: str
    template_kind: str
    version: str
    cluster_spec: Object
    template_spec: Object
    variables: Object
    inventory: tuple[str, ...]
    leftovers: str

    @property
    def machine_kind(self) -> str:
        """The kind of the machines: the template's less ``Template``."""
        return self.template_kind[: -len("Template")]


def read_provider(path: Path) -> Provider:
    """Read a provider's file; ValueError says what is wrong with it."""
    document = yaml.safe_load(path.read_text())
    if not isinstance(document, dict):
        raise ValueError(f"{path} is no mapping; see tests/provider_kit/README.md")
    wrong = [f"{name} is not known" for name in document if name not in _FIELDS]
    wrong += [f"{name} is missing" for name in _NEEDED if not document.get(name)]
    wrong += [
        f"{name} has to be a {kind.__name__}"
        for name, kind in _FIELDS.items()
        if name in document and not isinstance(document[name], kind)
    ]
    if not wrong and not document["templateKind"].endswith("Template"):
        wrong.append("templateKind has to end with Template")
    if wrong:
        raise ValueError(f"{path}: {'; '.join(wrong)}")
    role = str(document["role"])
    folder = role_folder(role, path.parent)
    return Provider(
        role=str(folder) if "/" in role else role,
        folder=folder,
        cluster_kind=document["clusterKind"],
        template_kind=document["templateKind"],
        version=document["version"],
        cluster_spec=document.get("clusterSpec") or {},
        template_spec=document.get("templateSpec") or {},
        variables=document.get("variables") or {},
        inventory=tuple(str((path.parent / each).resolve()) for each in document.get("inventory") or ()),
        leftovers=document.get("leftovers") or "",
    )


def role_folder(role: str, base: Path) -> Path:
    """The folder of a role: a path, or the name of a collection's role."""
    if "/" in role:
        folder = (base / role).resolve()
    else:
        namespace, collection, name = role.split(".")
        package = importlib.import_module(f"ansible_collections.{namespace}.{collection}")
        folder = Path(next(iter(package.__path__))) / "roles" / name
    if not (folder / "tasks").is_dir():
        raise ValueError(f"the role {role} is not in {folder}")
    return folder


class Kit:
    """Two clusters of the provider's kinds in one store, and calls of the role's task files."""

    def __init__(self, folder: Path, provider: Provider, names: Sequence[str]) -> None:
        self.provider = provider
        self.clusters = tuple(names)
        self.workspace = Workspace(folder)
        for name in names:
            self.workspace.write(name, yaml.safe_dump_all(self._documents(name), sort_keys=False))
        self._variables = folder / "variables.yml"
        providers = {provider.cluster_kind: provider.role, provider.template_kind: provider.role}
        self._variables.write_text(yaml.safe_dump({**provider.variables, "kit_providers": providers}))

    def _documents(self, name: str) -> list[Object]:
        documents = cluster_documents(name, replicas=3, version=self.provider.version)
        cluster, control_plane, template, infrastructure = documents[:4]
        cluster["spec"]["infrastructureRef"]["kind"] = self.provider.cluster_kind
        reference = control_plane["spec"]["machineTemplate"]["spec"]["infrastructureRef"]
        reference["kind"] = template["kind"] = self.provider.template_kind
        template["spec"]["template"]["spec"] = _named(self.provider.template_spec, name)
        infrastructure["kind"] = self.provider.cluster_kind
        infrastructure["spec"] = _named(self.provider.cluster_spec, name)
        return documents

    def machine_name(self, cluster: str, number: int = 1) -> str:
        """The name of a cluster's machine."""
        return f"{cluster}-{number}"

    def arguments(self, task: str, clusters: Optional[Sequence[str]], **variables: Any) -> list[str]:
        """The command line's end of one call."""
        words = [argument for path in self.provider.inventory for argument in ("-i", path)]
        words += ["--limit", ",".join(clusters or self.clusters), "-e", f"@{self._variables}", "-e", f"kit_task={task}"]
        for name, value in variables.items():
            words += ["-e", f"{name}={value}"]
        return words

    def call(self, task: str, clusters: Optional[Sequence[str]] = None, **variables: Any) -> Run:
        """Call a task file for all clusters, or for some, in one run."""
        return self.workspace.playbook(str(PLAYBOOK), *self.arguments(task, clusters, **variables))

    def call_and_kill(self, task: str, cluster: str, number: int) -> bool:
        """Call a task file and kill the run where the role's task of that number begins; whether there was one."""
        process = self._start(task, cluster, subprocess.PIPE)
        assert process.stdout is not None
        begun = 0
        with process.stdout as lines:
            for line in lines:
                begun += 1 if self._is_own_task(line) else 0
                if begun == number:
                    kill_run(process)
                    return True
        process.wait()
        return False

    def call_and_kill_when_recorded(self, task: str, cluster: str) -> bool:
        """Call a task file and kill the run as soon as the machine's stored object says more than the kit put there; whether it did."""
        process = self._start(task, cluster, subprocess.DEVNULL)
        while process.poll() is None:
            found = self.stored(self.provider.machine_kind, self.machine_name(cluster))
            if found and found.get("status"):
                kill_run(process)
                return True
            time.sleep(0.02)
        return False

    def _start(self, task: str, cluster: str, output: int) -> subprocess.Popen[str]:
        return subprocess.Popen(
            self.workspace.command(str(PLAYBOOK), *self.arguments(task, [cluster])),
            cwd=self.workspace.folder,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
            env={**os.environ, "PYTHONUNBUFFERED": "1", "ANSIBLE_NOCOLOR": "1"},
        )

    def _is_own_task(self, line: str) -> bool:
        found = _TASK.match(line)
        # A role that is given by its path is told by it, behind the collection's name where the kit lies in an installed one.
        return found is not None and found["role"].rpartition("/")[2] in (self.provider.role, self.provider.folder.name)

    def stored(self, kind: str, name: str) -> Optional[Object]:
        """A stored object of a kind, None where there is none."""
        for each in self.workspace.objects(kind):
            if each["kind"] == kind and each["metadata"]["name"] == name:
                return dict(each)
        return None

    def infrastructure_machine(self, cluster: str, number: int = 1) -> Object:
        """The stored infrastructure machine."""
        found = self.stored(self.provider.machine_kind, self.machine_name(cluster, number))
        assert found is not None, f"the store has no {self.provider.machine_kind} {self.machine_name(cluster, number)}"
        return found

    def left(self, cluster: str, number: int = 1) -> str:
        """What the provider's own command finds of a machine that was deleted, "" where it finds nothing or there is no command."""
        if not self.provider.leftovers:
            return ""
        machine = self.machine_name(cluster, number)
        environment = {**os.environ, "KIT_MACHINE": machine, "KIT_CLUSTER": cluster}
        done = subprocess.run(
            ["/bin/sh", "-c", self.provider.leftovers],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=120,
        )
        return done.stdout.strip()


def _named(spec: Mapping[str, Any], cluster: str) -> Object:
    """A spec in which CLUSTER stands for the cluster's name."""
    text: Object = yaml.safe_load(yaml.safe_dump(dict(spec)).replace("CLUSTER", cluster))
    return text
