# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files, locks and copies, in real folders with real processes."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from ansible_collections.kubeadm.control_plane.plugins.module_utils.nspawn import file_operations
from ansible_collections.kubeadm.control_plane.plugins.module_utils.nspawn.errors import NspawnError

HOLD = """
import sys
from ansible_collections.kubeadm.control_plane.plugins.module_utils.nspawn import file_operations
with file_operations.locked(sys.argv[1], 5):
    print("held", flush=True)
    sys.stdin.read()
"""


COPY = """
import sys
from ansible_collections.kubeadm.control_plane.plugins.module_utils.nspawn import file_operations
file_operations.link_tree(sys.argv[1], sys.argv[2], lambda path: False)
"""


@pytest.fixture
def holder(tmp_path):
    """A process that holds a lock until it is killed."""
    path = str(tmp_path / "locks" / "one")
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, path],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert process.stdout.readline() == "held\n"
    yield path, process
    process.kill()
    process.communicate()


def test_a_record_is_private_and_read_back(tmp_path):
    path = tmp_path / "record.json"
    file_operations.write_json(str(path), {"a": 1})
    assert file_operations.read_json(str(path)) == {"a": 1}
    assert path.stat().st_mode & 0o777 == 0o600
    assert [each.name for each in tmp_path.iterdir()] == ["record.json"]


def test_a_record_that_is_not_there_is_none(tmp_path):
    assert file_operations.read_json(str(tmp_path / "nothing")) is None


@pytest.mark.parametrize("text", ["", "{", "[]", '"a"'])
def test_a_damaged_record_is_named(tmp_path, text):
    path = tmp_path / "record.json"
    path.write_text(text)
    with pytest.raises(NspawnError, match=r"record\.json is damaged"):
        file_operations.read_json(str(path))


def test_a_lock_names_its_holder(holder):
    path, process = holder
    said = []
    with (
        pytest.raises(NspawnError, match=f"process {process.pid} still holds"),
        file_operations.locked(path, 0, said.append),
    ):
        pass
    assert f"waiting for process {process.pid}" in said[0]


def test_a_killed_holder_lets_go(holder):
    path, process = holder
    process.kill()
    process.wait()
    with file_operations.locked(path, 5):
        pass


def test_a_lock_whose_file_was_removed_by_its_holder_is_taken_anew(tmp_path):
    path = str(tmp_path / "one")
    with file_operations.locked(path, 1):
        os.unlink(path)
        with file_operations.locked(path, 1):
            assert os.path.exists(path)


def test_a_copy_shares_what_never_changes_and_nothing_else(tmp_path):
    source = tmp_path / "source"
    (source / "blobs").mkdir(parents=True, mode=0o711)
    (source / "blobs" / "one").write_text("layer")
    (source / "meta.db").write_text("database")
    (source / "link").symlink_to("blobs/one")
    (source / "to-folder").symlink_to("blobs")
    target = tmp_path / "target"
    file_operations.link_tree(str(source), str(target), lambda path: path.endswith(".db"))
    assert (target / "blobs" / "one").samefile(source / "blobs" / "one")
    assert not (target / "meta.db").samefile(source / "meta.db")
    assert (target / "meta.db").read_text() == "database"
    assert os.readlink(target / "link") == "blobs/one"
    assert os.readlink(target / "to-folder") == "blobs"
    assert (target / "blobs").stat().st_mode == (source / "blobs").stat().st_mode


def test_a_copy_under_another_mount_of_the_same_file_system_is_one_of_its_own(tmp_path):
    """As with two volumes of a container: no hard link goes from one mount to another."""
    if subprocess.run(["unshare", "--mount", "true"], capture_output=True, check=False).returncode:
        pytest.skip("a mount of its own needs root")
    source, folder = tmp_path / "source", tmp_path / "folder"
    source.mkdir()
    folder.mkdir()
    (source / "one").write_text("layer")
    mount = ["unshare", "--mount", "sh", "-ec", 'mount --bind "$1" "$1"; shift; exec "$@"', "sh", str(folder)]
    copy = [sys.executable, "-c", COPY, str(source), str(folder / "target")]
    subprocess.run([*mount, *copy], env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}, check=True)
    assert (folder / "target" / "one").read_text() == "layer"
    assert not (folder / "target" / "one").samefile(source / "one")


def test_removing_what_is_gone_is_fine(tmp_path):
    file_operations.remove_tree(str(tmp_path / "nothing"))
    (tmp_path / "folder" / "deep").mkdir(parents=True)
    file_operations.remove_tree(str(tmp_path / "folder"))
    assert list(tmp_path.iterdir()) == []


def test_the_end_of_a_log(tmp_path):
    path = tmp_path / "log"
    path.write_text("".join(f"line {number}\n" for number in range(5000)))
    assert file_operations.tail(str(path), 2) == "line 4998\nline 4999"
    assert file_operations.tail(str(tmp_path / "nothing")) == ""
