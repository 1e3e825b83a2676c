# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Jobs of the project for AWX (extensions/awx), run by ansible-runner, which is what AWX runs jobs with.

What AWX does around it is done here: the inventory's source is read beforehand, a job gets hosts and variables as JSON, a credential is a file
and a variable of the environment, and what a job set as statistics are the next one's extra variables.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import typing as t
from pathlib import Path

import killed_runs
import yaml

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.processes import identity

ROOT = Path(__file__).resolve().parents[2]
PROJECT = ROOT / "extensions" / "awx"
BOUND_SECONDS = 600
# An image without contents of its own: what it runs is this machine's, mounted. dumb-init is its process 1, as of an execution environment.
IMAGE = "localhost/kubeadm-control-plane-jobs:1"
_EMPTY = ("dev", "etc", "home", "opt", "proc", "root", "run", "runner", "sys", "tmp", "usr", "var")
_LINKS = {"bin": "usr/bin", "lib": "usr/lib", "lib64": "usr/lib64", "sbin": "usr/sbin"}
_ENTRY = 'ENTRYPOINT ["/usr/bin/dumb-init", "--"]'
# On a host with both versions of control groups podman takes the second one, of which it has no controller.
ALONE = ("unshare", "--mount", "sh", "-c", 'umount /sys/fs/cgroup/unified 2>/dev/null; exec "$@"', "sh")
# ansible-runner itself refuses to mount /usr.
_PROGRAMS = ("--volume=/usr:/usr:ro", "--volume=/etc/passwd:/etc/passwd:ro")
_LIMITS = ("--cgroups=disabled", "--network=host", "--ulimit=nofile=4096:4096", "--ulimit=nproc=4096:4096")
# Of this machine's environment: what the tests' own programs are found by, and Ansible is set with.
_PASSED = re.compile(r"PATH|PYTHON\w+|ANSIBLE_\w+|LANG|LC_\w+|KUBEADM_\w+")
Object = dict[str, t.Any]


class RunnerJobs:
    """A project's jobs.

    Args:
        folder: made here; what the jobs leave is below it.
        clusters: the folder of the manifests; None where the store alone has clusters.
        variables: extra variables of every job.
        environment: what the credential and the tests add to every job's environment.
        mounts: folders that a job in a container has; without any a job has no container.
        of_its_own: the image of jobs in containers that have no program of this machine; "" for one that has nothing else.
        limit: of every job; "" for none.
    """

    def __init__(
        self,
        folder: Path,
        clusters: t.Optional[Path],
        variables: t.Mapping[str, t.Any],
        environment: dict[str, str],
        mounts: t.Sequence[Path] = (),
        of_its_own: str = "",
        limit: str = "",
    ) -> None:
        self.folder = folder
        self._limit = ["--limit", limit] if limit else []
        self._image = of_its_own
        self.project = folder / "project"
        shutil.copytree(PROJECT, self.project)
        if clusters is not None:
            shutil.copytree(clusters, self.project / "clusters")
        self._variables = dict(variables)
        self._environment = environment
        self._mounts = [f"{path}:{path}" for path in mounts]
        self._number = 0

    def inventory(self) -> Object:
        """What an update of the inventory's source brings."""
        done = subprocess.run(
            ["ansible-inventory", "-i", "inventory.clusters.yml", "--list", "--export"],
            cwd=self.project,
            env={**os.environ, **self._environment},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=True,
        )
        return dict(json.loads(done.stdout))

    def start(
        self,
        verb: str,
        inventory: Object,
        given: t.Optional[t.Mapping[str, t.Any]] = None,
        only: str = "",
        but: t.Collection[str] = (),
    ) -> Job:
        """Start a job; with ``only`` it stands still at its first such point that is not in ``but`` (docs/development.md, "Failpoints")."""
        self._number += 1
        # ansible-runner calls a container by this name, and several tests may have one at once.
        folder = self.folder / f"{self.folder.name}-{os.getpid()}-{self._number}"
        trace = self.folder / f"trace-{self._number}"
        for name in ("env", "inventory"):
            (folder / name).mkdir(parents=True)
        (folder / "project").symlink_to(self.project)
        hosts = folder / "inventory" / "hosts"
        hosts.write_text(f"#!/bin/sh\ncat <<'END'\n{json.dumps(inventory)}\nEND\n")
        hosts.chmod(0o755)
        given = {"verb": verb, **self._variables, **(given or {})}
        # As AWX has them; so a plan is kept without being asked for.
        shown = {"JOB_ID": str(self._number), "AWX_PRIVATE_DATA_DIR": str(folder)}
        settings: Object = {"pexpect_timeout": 1}
        environment = {**os.environ, **self._environment}
        if only:
            setting = self.folder / f"setting-{self._number}.json"
            stop = {"how": "stop", "at": None, "only": only, "except": list(but)}
            setting.write_text(json.dumps({"trace": str(trace), "stop": stop}))
            switched_on = killed_runs.environment(setting)
            environment.update(switched_on)
            shown.update(switched_on)
        program = Path(os.environ["KUBEADM_CONTROL_PLANE_CACHE"]) / "venv-importer" / "bin" / "python"
        command = [str(program), "-m", "ansible_runner", "run", str(folder), "--ident", folder.name]
        command += ["-p", "control_plane.yml", *self._limit]
        if self._mounts:
            if not self._image:
                shown.update({name: value for name, value in environment.items() if _PASSED.fullmatch(name)})
            shown.update(self._environment)
            settings.update(
                process_isolation=True,
                process_isolation_executable="podman",
                container_image=self._image or IMAGE,
                # AWX's own option, else those by which a container has this machine's programs.
                container_options=[*_LIMITS, *(["--user=root"] if self._image else _PROGRAMS)],
                container_volume_mounts=self._mounts,
            )
            command = [*ALONE, *command]
        for name, content in (("extravars", given), ("envvars", shown), ("settings", settings)):
            (folder / "env" / name).write_text(json.dumps(content))
        with open(self.folder / f"output-{self._number}", "w", encoding="utf-8") as stream:
            process = subprocess.Popen(
                command, env=environment, stdin=subprocess.DEVNULL, stdout=stream, stderr=subprocess.STDOUT
            )
        return Job(folder, process, trace, bool(self._mounts))

    def run(self, verb: str, inventory: Object, given: t.Optional[t.Mapping[str, t.Any]] = None) -> Job:
        """Run a job to its end."""
        job = self.start(verb, inventory, given)
        job.process.wait(timeout=BOUND_SECONDS)
        return job


class Job:
    """One job, under way or ended."""

    def __init__(self, folder: Path, process: subprocess.Popen[bytes], trace: Path, contained: bool) -> None:
        self.folder = folder
        self._contained = contained
        self.process = process
        self._trace, self._stopped = trace, Path(f"{trace}.stopped")

    @property
    def status(self) -> str:
        """As AWX shows it: ``successful``, ``failed``, ``canceled``."""
        return (self.folder / "artifacts" / self.folder.name / "status").read_text()

    def succeeded(self) -> Job:
        """Return it, which ended well; else fail with its end."""
        assert self.status == "successful", self.output[-6000:]
        return self

    @property
    def output(self) -> str:
        """What it printed, as AWX shows it."""
        return (self.folder / "artifacts" / self.folder.name / "stdout").read_text()

    @property
    def events(self) -> list[Object]:
        """The events that AWX keeps."""
        files = (self.folder / "artifacts" / self.folder.name / "job_events").glob("*.json")
        return sorted((json.loads(path.read_text()) for path in files), key=lambda each: int(each["counter"]))

    @property
    def handed_on(self) -> Object:
        """The statistics, which are the next job's extra variables."""
        ended = [each["event_data"] for each in self.events if each["event"] == "playbook_on_stats"]
        return dict(ended[-1]["artifact_data"]) if ended else {}

    @property
    def points(self) -> list[str]:
        """The points that it passed, where it was started with ``only``."""
        return killed_runs.trace(self._trace)

    @property
    def files(self) -> list[Path]:
        """All that it left: events, output, the command, the environment."""
        left = [self.folder / name for name in ("artifacts", "env", "inventory")]
        return [path for each in left for path in sorted(each.rglob("*")) if path.is_file()]

    def cancel(self) -> str:
        """Cancel it as AWX does, when it has come to the point where it stands still; return that point, "" where it
        came to its end by itself.

        Without a container, what outlives ansible-playbook is ended, too.
        """
        end = time.monotonic() + BOUND_SECONDS
        # The job's own program sees the signal; everything below it stands still.
        while not (self._stopped.exists() and all(map(identity.is_stopped, self._below()))):
            if self.process.poll() is not None:
                return ""
            assert time.monotonic() < end, "it neither ends nor stands still"
            time.sleep(0.05)
        below = self._below()
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(timeout=BOUND_SECONDS)
        for pid in below:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        return self._stopped.read_text()

    def _below(self) -> list[int]:
        # What is in a container is no child of this, and ends with it.
        return [] if self._contained else identity.descendants(self.process.pid)[1:]


def missing() -> str:
    """What jobs in containers lack here, "" for nothing."""
    lacking = [name for name in ("podman", "dumb-init", "unshare") if shutil.which(name) is None]
    return f"not here: {', '.join(lacking)}" if lacking else "" if os.geteuid() == 0 else "containers need root"


def mounts(folder: Path, kubeconfig: str) -> list[Path]:
    """What jobs in containers need of this machine: the test's files, the collection, the kubeconfig, the programs."""
    image()
    programs = {Path(sys.prefix), Path(sys.prefix).resolve(), Path(sys.base_prefix)}
    return [folder, ROOT.parents[2], Path(kubeconfig).parent, *sorted(programs)]


@functools.cache
def image() -> None:
    """Make the image of jobs in containers, once."""
    with tempfile.TemporaryDirectory() as folder:
        for name in _EMPTY:
            (Path(folder) / name).mkdir()
        for name, target in _LINKS.items():
            (Path(folder) / name).symlink_to(target)
        packed = subprocess.run(["tar", "-c", "-C", folder, "."], stdout=subprocess.PIPE, check=True).stdout
    subprocess.run(["podman", "import", "--quiet", "--change", _ENTRY, "-", IMAGE], input=packed, check=True)


def sliced(whole: Object, number: int, count: int) -> Object:
    """The inventory that AWX gives a slice of a job: every count-th host, in all its groups, and no other anywhere."""
    hosts = sorted(whole["_meta"]["hostvars"])[number::count]
    made: Object = {"_meta": {"hostvars": {host: whole["_meta"]["hostvars"][host] for host in hosts}}}
    for group, content in whole.items():
        if group != "_meta":
            made[group] = {**content, "hosts": [host for host in content.get("hosts", []) if host in hosts]}
    return made


def variables_of(folder: Path) -> Object:
    """The extra variables that the playbooks of a workspace's folder are run with."""
    return dict(yaml.safe_load((folder / "variables.yml").read_text()))
