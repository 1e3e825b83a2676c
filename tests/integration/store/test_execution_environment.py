# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The execution environment of the project for AWX is built by ansible-builder and podman, and a job runs in it.

Images of Fedora can't be had without their registry, nor collections without Galaxy: the base is a Debian that tests/tools/full.sh made, the
collection is its artefact, as docs/awx.md has it for one that was built from a clone, and awx.awx is not in it.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import typing as t
from pathlib import Path

import pytest
import yaml
from acme_workspace import ROLE
from api_server import ApiServer
from management_workspace import ManagementWorkspace
from runner_jobs import ALONE, PROJECT, RunnerJobs, variables_of

pytestmark = pytest.mark.full
BASE, BUILT = "localhost/kubeadm-control-plane-base:1", "localhost/kubeadm-control-plane-ee:1"
CACHE = Path(os.environ.get("KUBEADM_CONTROL_PLANE_CACHE", "/nonexistent"))
PARTS = CACHE / "image-parts"
PIP = "[global]\nno-index = true\nfind-links = /wheels\n"


def podman(*words: str) -> str:
    """Run podman and return what it printed."""
    return subprocess.run(
        ["podman", *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True
    ).stdout


def definition(folder: Path) -> Path:
    """Write the shipped definition with what is another here: the base, its package manager and pip, and where the collection is from."""
    [artefact] = sorted((CACHE / "artefacts").glob("*.tar.gz"))
    shutil.copy(artefact, folder)
    document = yaml.safe_load((PROJECT / "execution-environment.yml").read_text())
    document["images"]["base_image"]["name"] = BASE
    document["options"] = {"package_manager_path": "/usr/bin/apt-get", "skip_pip_install": True}
    document["additional_build_files"] = [{"src": "*.tar.gz", "dest": "."}]
    assert document["dependencies"]["galaxy"] == "requirements.yml"
    (folder / "requirements.yml").write_text(json.dumps({"collections": [{"name": artefact.name, "type": "file"}]}))
    path = folder / "execution-environment.yml"
    path.write_text(json.dumps(document))
    return path


@pytest.fixture
def built(tmp_path: Path) -> t.Iterator[str]:
    """The image."""
    if not (PARTS / ".complete").exists() or shutil.which("podman") is None:
        pytest.skip("no podman, or no Debian to build on: tests/tools/full.sh gets them for the full suite")
    (folder := tmp_path / "built").mkdir()
    (folder / "pip.conf").write_text(PIP)
    # Nothing is asked for outside: the host's network is one of its own, without addresses. No layer is kept.
    more = "--isolation=chroot --network=host --pull=never --layers=false"
    more += f" --volume={PARTS}/wheels:/wheels:ro --volume={folder}/pip.conf:/etc/pip.conf:ro"
    builder = str(CACHE / "venv-importer" / "bin" / "ansible-builder")
    command = [
        "unshare",
        "--net",
        *ALONE,
        builder,
        "build",
        "--file",
        str(definition(folder)),
        "--context",
        str(folder / "context"),
    ]
    command += ["--tag", BUILT, "--container-runtime", "podman", f"--extra-build-cli-args={more}"]
    try:
        podman("import", "--quiet", str(PARTS / "base.tar"), BASE)
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        assert done.returncode == 0, (done.stdout + done.stderr)[-6000:]
        yield BUILT
    finally:
        podman("rmi", "--force", "--ignore", BUILT, BASE)


def test_a_job_runs_in_the_image_that_was_built(
    built: str, server: ApiServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has the collection, its entry point is dumb-init, and a plan is made in it and kept, with nothing of this machine but the test's files."""
    [image] = json.loads(podman("image", "inspect", built))
    assert image["Config"]["Entrypoint"] == ["/opt/builder/bin/entrypoint", "dumb-init"]

    workspace = ManagementWorkspace.over(server, tmp_path / "workspace", monkeypatch)
    workspace.manifest("prod", replicas=1)
    kubeconfig = Path(workspace.connection["kubeconfig"])
    jobs = RunnerJobs(
        tmp_path / "awx",
        workspace.folder / "clusters",
        variables_of(workspace.folder),
        {"K8S_AUTH_KUBECONFIG": str(kubeconfig)},
        [tmp_path / "awx", kubeconfig.parent, ROLE],
        built,
    )
    job = jobs.run("plan", jobs.inventory())
    assert job.status == "successful", job.output[-6000:]
    assert job.handed_on["control_plane_plan_steps"] == 3
    assert job.handed_on["control_plane_plan"]["prod"].startswith("sha256:")
