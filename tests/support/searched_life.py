# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A cluster's life at the highest verbosity, with everything that it shows and leaves, to be searched for its secrets."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

from etcd_cluster import until
from machines import Machines
from process_samples import Samples
from secrets_search import Search, Secrets, Tokens
from workspace import Run, Workspace, descendants

# Ansible's own temporary folder.
HOME = Path.home() / ".ansible" / "tmp"


class SearchedLife:
    """One cluster of a workspace; processes are sampled from the beginning of a ``with`` block to its end."""

    def __init__(self, workspace: Workspace, name: str) -> None:
        self.workspace = workspace
        self.machines = Machines(workspace, name)
        self.secrets = Secrets()
        self.samples = Samples()
        self.outputs: list[str] = []
        self.shown = workspace.folder / "shown"
        self._before = set(HOME.glob("*"))
        self._searched = Search(self.secrets, workspace.folder)

    def __enter__(self) -> SearchedLife:
        self.samples.__enter__()
        return self

    def __exit__(self, *exception: object) -> None:
        self.samples.__exit__(*exception)

    def play(self, playbook: str, *arguments: str) -> Run:
        """Run a playbook, and keep what it says."""
        run = self.workspace.playbook(playbook, "-vvvv", *arguments)
        self.outputs.append(run.output)
        return run

    def terminated_in_a_join(self, *arguments: str) -> None:
        """A run gets SIGTERM while kubeadm joins a machine; what it leaves behind is searched at once."""
        log = self.workspace.folder / "terminated.log"
        run = self.workspace.start("reconcile", "-vvvv", *arguments, output=log)

        def joins() -> bool:
            assert run.poll() is None, log.read_text()[-6000:]
            return any(self.machines.kubeadm_runs(name, "join") for name in self.machines.names())

        until("kubeadm joins a machine", joins, 300)
        everyone = descendants(run.pid)
        os.kill(run.pid, signal.SIGTERM)
        assert run.wait(timeout=60) != 0
        until("the run has ended", lambda: not any(Path(f"/proc/{pid}").exists() for pid in everyone), 60)
        self.outputs.append(log.read_text())
        self.secrets.add_store(self.workspace)
        self._searched.controller(*(path for path in HOME.glob("*") if path not in self._before))

    def tokens(self) -> Tokens:
        """The bootstrap tokens that there are from now on."""
        return Tokens(self.machines, self.machines.ready_nodes()[0], self.workspace.folder)

    def search_machines(self) -> None:
        """Learn every secret that there is now, and look through all that a machine's end would take away."""
        self.secrets.add_store(self.workspace)
        for name in self.machines.names():
            self.secrets.add_machine(self.machines, name)
        for name in self.machines.names():
            self._searched.machine(self.machines, name)

    def show(self) -> None:
        """Have made what people are shown of the cluster: its report, in all forms, its status as a document, and its metrics."""
        self.shown.mkdir()
        formats = {"control_plane_report_formats": ["html", "markdown", "svg"]}
        asked = {
            "report": json.dumps({"control_plane_report_directory": str(self.shown), **formats}),
            "status": f"control_plane_output_file={self.shown}/status.json",
            "metrics": f"control_plane_metrics_directory={self.shown}",
        }
        for playbook, variables in asked.items():
            run = self.workspace.playbook(playbook, "-vvvv", "-e", variables).succeeded()
            self._searched.data(f"the output of {playbook}", run.output.encode())

    def search(self) -> Search:
        """Look through everything else."""
        self._searched.files("what people are shown", *self.shown.iterdir())
        for number, output in enumerate(self.outputs):
            self._searched.data(f"the output of run {number}", output.encode())
        self._searched.store(self.workspace)
        self._searched.controller(*(path for path in HOME.glob("*") if path not in self._before))
        self._searched.samples(self.samples)
        return self._searched
