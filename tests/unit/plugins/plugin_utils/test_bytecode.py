# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The collection's own Python is compiled once, not in each run: Ansible's loader of collections keeps no bytecode."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from ansible.utils.collection_loader import _collection_finder

from ansible_collections.kubeadm.control_plane.plugins import plugin_utils

IN = "ansible_collections/kubeadm/control_plane/plugins"
RUN = f"""
import sys
import ansible.constants
from ansible.utils.collection_loader._collection_finder import {_collection_finder._AnsibleCollectionFinder.__name__} as Finder
Finder(paths=[sys.argv[1]])._install()
from {IN.replace("/", ".")}.plugin_utils.store import text, told
print(told.WHAT, text.SAID)
"""


@pytest.fixture
def collections(tmp_path: Path) -> Path:
    """A folder with a collection that has this one's plugin_utils and little in it."""
    plugins = tmp_path / IN
    for name, text in (("plugin_utils/store/__init__.py", ""), ("module_utils/common/words.py", "SAID = 'this'\n")):
        (plugins / name).parent.mkdir(parents=True)
        (plugins / name).write_text(text)
    (plugins / "plugin_utils/store/text.py").write_text("from ...module_utils.common.words import SAID\n")
    (plugins / "plugin_utils/store/told.py").write_text("WHAT = 1\n")
    shutil.copy(str(plugin_utils.__file__), plugins / "plugin_utils")
    return tmp_path


def imported(collections: Path) -> str:
    """What a process of its own that has Ansible's loader read there."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    environment["ANSIBLE_HOME"] = str(collections / "home")
    words = [sys.executable, "-c", RUN, str(collections)]
    return subprocess.run(words, env=environment, check=True, capture_output=True, text=True).stdout.strip()


def test_bytecode_stays_and_what_changes_is_read(collections: Path) -> None:
    """It stays in the user's folder, not in the collection, which would be no longer as it was installed."""
    assert imported(collections) == "1 this"
    kept = [*collections.rglob("*.pyc")]
    assert sorted(each.name.split(".")[0] for each in kept) == ["__init__", "text", "told", "words"]
    assert [each for each in kept if not each.is_relative_to(collections / "home")] == []
    (collections / IN / "plugin_utils/store/told.py").write_text("WHAT = 1000\n")
    assert imported(collections) == "1000 this"


def test_without_a_folder_to_keep_it_in_it_is_compiled_each_time(collections: Path) -> None:
    (collections / "home").mkdir()
    (collections / "home" / "kubeadm.control_plane").write_text("")
    assert imported(collections) == "1 this"
