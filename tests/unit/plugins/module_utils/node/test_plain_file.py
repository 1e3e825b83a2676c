# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A file is written whole, once, and as it is wanted."""

from __future__ import annotations

import grp
import hashlib
import os
import pwd
import stat
import typing as t
from pathlib import Path

import pytest

from ansible_collections.kubeadm.control_plane.plugins.module_utils.common.guard import NodeError
from ansible_collections.kubeadm.control_plane.plugins.module_utils.node.host.plain_file import Wanted, bring


def wanted(path: Path, content: t.Optional[bytes], mode: int = 0o600) -> Wanted:
    owner, group = pwd.getpwuid(os.getuid()).pw_name, grp.getgrgid(os.getgid()).gr_name
    return Wanted(str(path), content, mode, owner, group)


def test_it_is_written_once(tmp_path: Path) -> None:
    path = tmp_path / "policy.yaml"
    assert bring(wanted(path, b"a\0b")) == (True, hashlib.sha256(b"a\0b").hexdigest())
    assert path.read_bytes() == b"a\0b" and stat.S_IMODE(path.stat().st_mode) == 0o600
    assert bring(wanted(path, b"a\0b"))[0] is False
    assert bring(wanted(path, b"a\0b", 0o644))[0] is True and stat.S_IMODE(path.stat().st_mode) == 0o644
    assert bring(wanted(path, b"other", 0o644))[0] is True and path.read_bytes() == b"other"
    assert bring(wanted(path, None)) == (True, "") and not path.exists()
    assert bring(wanted(path, None)) == (False, "")


def test_check_mode_writes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "policy.yaml"
    assert bring(wanted(path, b"a"), check=True)[0] is True and not path.exists()
    path.write_bytes(b"b")
    assert bring(wanted(path, None), check=True)[0] is True and path.read_bytes() == b"b"


def test_a_link_or_a_folder_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "victim")
    (tmp_path / "folder").mkdir()
    for name in ("link", "folder"):
        for content in (b"x", None):
            with pytest.raises(NodeError, match="is no file"):
                bring(wanted(tmp_path / name, content))
    assert not (tmp_path / "victim").exists()


def test_what_is_missing_is_told(tmp_path: Path) -> None:
    with pytest.raises(NodeError, match="there is no folder"):
        bring(wanted(tmp_path / "none" / "file", b"x"))
    with pytest.raises(NodeError, match="nobody-at-all"):
        bring(Wanted(str(tmp_path / "file"), b"x", 0o600, "nobody-at-all", "root"))


def test_what_to_do_about_a_folder_that_takes_no_file_is_told() -> None:
    """The kernel's own: nobody makes a file there."""
    with pytest.raises(NodeError, match=r"/proc/file can't be written: .* On this machine: .*namei -l /proc"):
        bring(wanted(Path("/proc/file"), b"x"))
