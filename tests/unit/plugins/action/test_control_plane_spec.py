# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Scaling and rolling out: where the field is kept, it is set; nothing else is."""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path
from typing import Any, Optional

import pytest
from actions import run_action
from stored_manifest import EXAMPLES

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects.manifest.reader import read_cluster
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.records import stored_cluster
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.records.cluster_objects import (
    CLUSTER,
    CONTROL_PLANE,
    MACHINE_DEPLOYMENT,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.file.store import FileStore

TIME = "2026-08-01T00:00:00Z"
AFTER_FIELDS = {"v1alpha3": "upgradeAfter", "v1beta1": "rolloutAfter", "v1beta2": "rollout.after"}


class User:
    """A user's folder: a manifest and a store."""

    def __init__(self, folder: Path, form: str = "v1beta2") -> None:
        self.folder = folder
        self.file = folder / "clusters" / "prod.yaml"
        self.file.parent.mkdir()
        shutil.copy(EXAMPLES / f"cluster-{form}.yaml", self.file)
        self.store = FileStore(str(folder / "store"))

    def run(self, check: bool = False, manifests: Optional[list[str]] = None, **arguments: Any) -> dict[str, Any]:
        """What the module returns."""
        return run_action(
            "control_plane_spec",
            check=check,
            cluster="my-cluster",
            store={"path": str(self.folder / "store")},
            manifests=[str(self.file)] if manifests is None else manifests,
            **arguments,
        )

    def write(self, old: str, new: str) -> None:
        """Change the manifest by hand."""
        text = self.file.read_text(encoding="utf-8")
        assert old in text
        self.file.write_text(text.replace(old, new, 1), encoding="utf-8")

    def leave_out_replicas(self) -> None:
        """A manifest that says nothing of it."""
        self.write("  replicas: 3\n", "")

    def apply(self) -> list[str]:
        """What reconcile does with the manifest."""
        return stored_cluster.apply_manifest(self.store, read_cluster([str(self.file)], "default", "my-cluster"))

    def spec(self) -> dict[str, Any]:
        """The stored spec."""
        found = self.store.get(CONTROL_PLANE, "default", "my-control-plane")
        assert found is not None
        return dict(found["spec"])

    def files(self) -> dict[str, bytes]:
        """Every file."""
        return {str(path): path.read_bytes() for path in sorted(self.folder.rglob("*")) if path.is_file()}


@pytest.fixture
def user(tmp_path: Path) -> User:
    """A user with a manifest that states its replicas, and a cluster in the store."""
    found = User(tmp_path)
    found.apply()
    return found


@pytest.mark.parametrize("form", ["v1alpha3", "v1beta1", "v1beta2"])
def test_the_number_in_the_manifest_is_all_that_changes(tmp_path: Path, form: str) -> None:
    """Every version; the store is not touched, and the second run finds it done."""
    user = User(tmp_path, form)
    user.apply()
    os.chmod(user.file, 0o640)
    before, text = user.files(), user.file.read_text(encoding="utf-8")
    result = user.run(replicas=5)
    assert result["changed"] and result["written"] and result["where"] == "manifest"
    assert (result["before"], result["after"], result["field"]) == (3, 5, "spec.replicas")
    assert text.splitlines()[result["line"] - 1] == "  replicas: 3"
    assert user.file.read_text(encoding="utf-8") == text.replace("  replicas: 3\n", "  replicas: 5\n")
    assert stat.S_IMODE(user.file.stat().st_mode) == 0o640
    assert {path for path, content in user.files().items() if before.get(path) != content} == {str(user.file)}
    assert user.apply() == ["change KubeadmControlPlane default/my-control-plane: spec.replicas"]
    again = user.run(replicas=5)
    assert not again["changed"] and not again["written"]


def test_check_mode_tells_and_writes_nothing(user: User) -> None:
    """With the diff of one line."""
    before = user.files()
    result = user.run(check=True, replicas=5)
    assert result["changed"] and not result["written"] and user.files() == before
    lines = result["diff"]["prepared"].splitlines()
    assert lines[2:] == [f"@@ -{result['line']} +{result['line']} @@", "-  replicas: 3", "+  replicas: 5"]


@pytest.mark.parametrize(("replicas", "words"), [(4, "odd"), (0, "at least one replica"), (-1, "at least one replica")])
@pytest.mark.parametrize("left_out", [False, True])
def test_the_rules_of_a_manifest_hold(user: User, replicas: int, words: str, left_out: bool) -> None:
    """Wherever it is kept; and nothing is written."""
    if left_out:
        user.leave_out_replicas()
    before = user.files()
    result = user.run(replicas=replicas)
    assert result["failed"] and words in result["msg"] and user.files() == before


def test_a_pending_change_that_is_refused_ends_it(user: User) -> None:
    """A manifest that can't be reconciled is said to be one now, not later."""
    user.write("v1.20.2", "v1.25.0")
    before = user.files()
    result = user.run(replicas=5)
    assert result["failed"] and "spec.version" in result["msg"] and user.files() == before


@pytest.mark.parametrize(("name", "system"), [(".git", "git"), (".hg", "hg"), (".svn", "svn")])
def test_a_work_tree_is_somebody_elses(user: User, name: str, system: str) -> None:
    """The change is returned, relative to the work tree's root, and nothing is written."""
    (user.folder / name).mkdir()
    before = user.files()
    result = user.run(replicas=5)
    assert not result["changed"] and not result["written"] and user.files() == before
    assert result["patch"].splitlines()[:2] == ["--- a/clusters/prod.yaml", "+++ b/clusters/prod.yaml"]
    assert f"{system} work tree" in result["msg"] and "NOTHING WAS WRITTEN" in result["msg"]


def test_a_link_into_a_work_tree_is_in_the_work_tree(user: User) -> None:
    """The file that would be written counts, not the name by which it is reached; another link is followed and kept."""
    real = user.folder / "checkout"
    real.mkdir()
    shutil.move(user.file, real / "prod.yaml")
    user.file.symlink_to(real / "prod.yaml")
    assert user.run(replicas=5)["written"]
    assert user.file.is_symlink() and "replicas: 5" in (real / "prod.yaml").read_text(encoding="utf-8")
    # A work tree of git's own making has a file there, no folder.
    (real / ".git").write_text("gitdir: elsewhere\n")
    assert "patch" in user.run(replicas=3)


def test_what_would_be_lost_with_a_job_is_refused(user: User, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether it lies in a work tree or not; where the manifest leaves the field out and the store lasts it is set."""
    monkeypatch.setenv("AWX_PRIVATE_DATA_DIR", str(user.file.parent))
    before = user.files()
    for tree in ("", ".git"):
        (user.folder / tree).mkdir(exist_ok=True)
        refused = user.run(replicas=5)
        assert refused["failed"] and "Commit this change to the project" in refused["msg"], refused
        assert f"{user.file}:" in refused["msg"] and "is to become 5 instead of 3" in refused["msg"]
    assert user.files() == before
    user.leave_out_replicas()
    assert user.run(replicas=5)["written"] and user.spec()["replicas"] == 5
    monkeypatch.setenv("AWX_PRIVATE_DATA_DIR", str(user.folder))
    refused = user.run(replicas=3)
    assert refused["failed"] and "would be lost" in refused["msg"] and user.spec()["replicas"] == 5


def test_what_the_manifest_leaves_out_is_set_in_the_store(user: User) -> None:
    """And no later manifest reverts it."""
    user.leave_out_replicas()
    manifest = user.file.read_bytes()
    result = user.run(replicas=5)
    assert result["where"] == "store" and result["changed"] and user.spec()["replicas"] == 5
    assert user.file.read_bytes() == manifest and user.apply() == []
    assert not user.run(replicas=5)["changed"]
    assert user.run(check=True, replicas=1)["changed"] and user.spec()["replicas"] == 5


def test_without_a_manifest_the_store_is_written(user: User) -> None:
    """A cluster that only the store knows."""
    assert user.run(manifests=[], replicas=1)["where"] == "store"
    assert user.spec()["replicas"] == 1


def test_there_must_be_something_to_keep_it_in(tmp_path: Path) -> None:
    """A cluster that was never made, and whose manifest says nothing: nothing is kept that a person would look for in vain."""
    user = User(tmp_path)
    user.leave_out_replicas()
    before = user.files()
    result = user.run(replicas=5)
    assert result["failed"] and "run reconcile first" in result["msg"] and user.files() == before


def test_a_cluster_that_goes_is_not_scaled(user: User) -> None:
    """It would mean nothing."""
    user.leave_out_replicas()
    user.store.modify(CLUSTER, "default", "my-cluster", lambda stored: stored["metadata"].update(finalizers=["x"]))
    user.store.delete(CLUSTER, "default", "my-cluster")
    assert "being deleted" in user.run(replicas=5)["msg"]


@pytest.mark.parametrize("form", ["v1alpha3", "v1beta1", "v1beta2"])
def test_a_rollout_goes_where_its_time_is_stated(tmp_path: Path, form: str) -> None:
    """In the manifest under the name of its version, else in the store and never in the manifest."""
    user = User(tmp_path, form)
    user.apply()
    manifest = user.file.read_bytes()
    assert user.run(rollout_after=TIME)["where"] == "store"
    assert user.spec()["rollout"]["after"] == TIME and user.file.read_bytes() == manifest
    assert user.apply() == []
    if form == "v1beta2":
        user.write("  rollout:\n", "  rollout:\n    after: '2026-01-01T00:00:00Z'\n")
    else:
        user.write("  replicas: 3\n", f"  replicas: 3\n  {AFTER_FIELDS[form]}: '2026-01-01T00:00:00Z'\n")
    result = user.run(rollout_after="2026-08-01T02:00:00+02:00")
    assert result["where"] == "manifest" and result["field"] == f"spec.{AFTER_FIELDS[form]}"
    assert f"after: '{TIME}'" in user.file.read_text(encoding="utf-8").lower().replace(TIME.lower(), TIME)


def test_a_rollout_now(user: User) -> None:
    """The time of the run, in UTC."""
    result = user.run(rollout_after="now")
    assert user.spec()["rollout"]["after"] == result["after"] and result["after"].endswith("Z")


@pytest.mark.parametrize(
    ("written", "words"),
    [
        ('"{{ replicas }}"', "a template's"),
        ("${REPLICAS}", "a template's"),
        ("&n 3", "anchor &n"),
        ('"3"', "must be a whole number"),
        ("!!int 3", "tag"),
    ],
)
def test_what_cannot_be_edited_is_told_with_its_line(user: User, written: str, words: str) -> None:
    """And nothing is written."""
    user.write("replicas: 3", f"replicas: {written}")
    lines = user.file.read_text(encoding="utf-8").splitlines()
    before = user.files()
    result = user.run(replicas=5)
    assert result["failed"] and words in result["msg"] and user.files() == before
    assert f"prod.yaml:{lines.index(f'  replicas: {written}') + 1}:" in result["msg"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({}, "one of replicas and rollout_after"),
        ({"replicas": 3, "rollout_after": "now"}, "one of replicas and rollout_after"),
        ({"rollout_after": "tomorrow"}, "RFC 3339"),
        ({"rollout_after": "2026-01-01"}, "RFC 3339"),
    ],
)
def test_bad_arguments(user: User, arguments: dict[str, Any], words: str) -> None:
    """Told, and nothing is written."""
    before = user.files()
    result = user.run(**arguments)
    assert result["failed"] and words in result["msg"] and user.files() == before


def test_a_byte_order_mark_and_windows_line_breaks_stay(user: User) -> None:
    """What an editor of another system has written."""
    text = user.file.read_text(encoding="utf-8").replace("\n", "\r\n")
    user.file.write_bytes(b"\xef\xbb\xbf" + text.encode())
    assert user.run(replicas=5)["written"]
    assert user.file.read_bytes() == b"\xef\xbb\xbf" + text.replace("  replicas: 3\r\n", "  replicas: 5\r\n").encode()


WORKERS = """
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: MachineDeployment
metadata:
  name: pool
spec:
  clusterName: my-cluster
  replicas: 2  # as many as there are racks
  template:
    spec:
      clusterName: my-cluster
      version: v1.20.2
      bootstrap:
        configRef: {apiGroup: bootstrap.cluster.x-k8s.io, kind: KubeadmConfigTemplate, name: pool}
      infrastructureRef:
        apiGroup: infrastructure.cluster.x-k8s.io
        kind: NspawnMachineTemplate
        name: my-nspawnmachinetemplate
---
apiVersion: bootstrap.cluster.x-k8s.io/v1beta2
kind: KubeadmConfigTemplate
metadata:
  name: pool
spec:
  template:
    spec: {}
"""


def test_a_deployment_is_scaled_where_that_is_stated(user: User) -> None:
    """In the manifest, and in the store where that leaves it out; the control plane's number stays."""
    user.file.write_text(user.file.read_text(encoding="utf-8") + WORKERS, encoding="utf-8")
    user.apply()
    result = user.run(replicas=4, deployment="pool")
    assert result["where"] == "manifest" and result["changed"] and (result["before"], result["after"]) == (2, 4)
    assert "  replicas: 4  # as many as there are racks" in user.file.read_text(encoding="utf-8")
    refused = user.run(replicas=-1, deployment="pool")
    assert refused["failed"] and "not negative" in refused["msg"]
    other = user.run(replicas=4, deployment="other")
    assert other["failed"] and "one that it has: pool" in other["msg"]
    user.write("  replicas: 4  # as many as there are racks\n", "")
    user.apply()
    result = user.run(replicas=6, deployment="pool")
    stored = user.store.get(MACHINE_DEPLOYMENT, "default", "pool")
    assert result["where"] == "store" and stored is not None and stored["spec"]["replicas"] == 6
    assert user.apply() == [] and user.spec()["replicas"] == 3
    result = user.run(rollout_after=TIME, deployment="pool")
    stored = user.store.get(MACHINE_DEPLOYMENT, "default", "pool")
    assert result["changed"] and stored is not None and stored["spec"]["rollout"]["after"] == TIME
