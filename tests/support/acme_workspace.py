# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A workspace whose machines come from the provider to copy (examples/provider_skeleton) over the stand-in for a cloud."""

from __future__ import annotations

import json
import shutil
import sys
import typing as t
from pathlib import Path

import yaml
from workspace import Workspace, cluster_documents

if t.TYPE_CHECKING:
    import pytest
    from typing_extensions import Self

ROOT = Path(__file__).resolve().parents[2]
ROLE = ROOT / "examples" / "provider_skeleton" / "roles" / "machine_acme"
CLOUD = ROOT / "tests" / "support" / "stand_in_cloud.py"
MACHINE = ROOT / "tests" / "support" / "stand_in_machine.py"


class AcmeWorkspace(Workspace):
    """Its machines exist as entries of a file: they can be made and deleted, and nobody answers at their addresses."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._cloud = folder / "cloud"
        self._cloud.mkdir()
        variables = {
            "control_plane_more_providers": {"AcmeMachineTemplate": str(ROLE), "AcmeCluster": str(ROLE)},
            "machine_acme_command": [sys.executable, str(CLOUD), str(self._cloud)],
            # Nobody answers, so nobody is waited for.
            "control_plane_bootstrap_timeout": 1,
        }
        (folder / "variables.yml").write_text(yaml.safe_dump(variables))

    @classmethod
    def with_machines(cls, folder: Path, monkeypatch: pytest.MonkeyPatch) -> AcmeWorkspace:
        """A user's folder with machines that answer."""
        return cls(folder).answering(monkeypatch)

    def machines_answer(self) -> dict[str, str]:
        """The environment in which machines answer, by a stand-in for ssh."""
        variables = yaml.safe_load((self.folder / "variables.yml").read_text())
        # Each answer takes as long as a process; a machine that was taken away is waited for as long as this, too.
        (self.folder / "variables.yml").write_text(yaml.safe_dump({**variables, "control_plane_bootstrap_timeout": 20}))
        program = self.folder / "ssh"
        program.write_text(f'#!/bin/sh\nexec {sys.executable} {MACHINE} {self._cloud} "$@"\n')
        program.chmod(0o755)
        return {"ANSIBLE_SSH_EXECUTABLE": str(program)}

    def answering(self, monkeypatch: pytest.MonkeyPatch) -> Self:
        """This one, whose machines answer in this test."""
        for name, value in self.machines_answer().items():
            monkeypatch.setenv(name, value)
        return self

    def copied(self, folder: Path) -> Self:
        """The same at another place; whose machines answer is said anew (answering)."""
        shutil.copytree(self.folder, folder)
        other = type(self).__new__(type(self))
        other.__dict__.update(self.__dict__)
        other.folder = folder
        other._cloud = folder / "cloud"
        text = (folder / "variables.yml").read_text()
        (folder / "variables.yml").write_text(text.replace(str(self.folder), str(folder)))
        return other

    def world(self) -> dict[str, t.Any]:
        """What the machines carry: etcd's members, Nodes, what must not have happened."""
        return dict(json.loads((self._cloud / "world.json").read_text()))

    def put_world(self, world: dict[str, t.Any]) -> None:
        """Change what the machines carry."""
        (self._cloud / "world.json").write_text(json.dumps(world))

    def refuse_bootstraps(self, why: str, reason: str = "") -> None:
        """From now on no machine starts kubeadm, and says why; "" ends that."""
        self.put_world({**self.world(), "refuses": why, "refusal": reason})

    def kill_bootstraps(self, every: int) -> None:
        """From now on each such call of a machine's bootstrap is killed when it has done its work, and tells nothing; 0 ends that."""
        self.put_world({**self.world(), "kills_every": every})

    def command(self, playbook: str, *arguments: str) -> list[str]:
        """The command line that a user would type."""
        return super().command(playbook, "-e", "@variables.yml", *arguments)

    def manifest(self, name: str, **options: t.Any) -> Path:
        """Write the manifest of a cluster of that provider's kinds."""
        text = yaml.safe_dump_all(cluster_documents(name, **options), sort_keys=False)
        return self.write(
            name,
            text.replace("Nspawn", "Acme").replace("template:\n    spec: {}", "template:\n    spec: {size: small}"),
        )

    def cloud(self) -> dict[str, t.Any]:
        """What the cloud has: machines and balancers by name."""
        file = self._cloud / "cloud.json"
        return dict(json.loads(file.read_text())) if file.exists() else {"machines": {}, "balancers": {}}
