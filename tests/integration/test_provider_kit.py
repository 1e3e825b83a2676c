# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The provider kit on the provider that users copy, over a stand-in for a cloud: it passes, and the kit notices when it is broken."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
SKELETON = ROOT / "examples" / "provider_skeleton"
CLOUD = ROOT / "tests" / "support" / "stand_in_cloud.py"

pytestmark = pytest.mark.full


@pytest.fixture
def provider(tmp_path: Path) -> Path:
    """A copy of the skeleton whose cloud is the stand-in; returns the kit's file."""
    shutil.copytree(SKELETON, tmp_path / "provider")
    (tmp_path / "cloud").mkdir()
    path = tmp_path / "provider" / "provider.yml"
    document = yaml.safe_load(path.read_text())
    document["variables"] = {"machine_acme_command": [sys.executable, str(CLOUD), str(tmp_path / "cloud")]}
    machines = f"import json; print(*json.load(open('{tmp_path}/cloud/cloud.json'))['machines'], sep='\\n')"
    document["leftovers"] = f'{sys.executable} -c "{machines}" | grep -x $KIT_MACHINE'
    path.write_text(yaml.safe_dump(document))
    return path


def run_kit(provider: Path) -> subprocess.CompletedProcess[str]:
    """Run the kit as a provider's author does."""
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-x",
        str(ROOT / "tests" / "provider_kit"),
        "--provider",
        str(provider),
    ]
    return subprocess.run(
        [*command, f"--basetemp={provider.parent.parent / 'kit'}"],
        cwd=ROOT,
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=600,
    )


def change(provider: Path, name: str, old: str, new: str) -> None:
    """Change a task file of the copied role."""
    path = provider.parent / "roles" / "machine_acme" / "tasks" / name
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def test_the_provider_to_copy_passes(provider: Path) -> None:
    done = run_kit(provider)
    assert done.returncode == 0, done.stdout[-6000:]
    assert "13 passed" in done.stdout


@pytest.mark.parametrize(
    ("name", "old", "new", "says"),
    [
        # A machine of another name with every call: the one that was begun is never found again.
        (
            "create.yml",
            "'ensure', infrastructure_machine.name,",
            "'ensure', infrastructure_machine.name ~ '-' ~ (now().strftime('%f')),",
            "changed",
        ),
        ("delete.yml", "'machine', 'delete',", "'machine', 'ensure',", "left of kit-a-1"),
    ],
    ids=["another machine with every call", "a deletion that deletes nothing"],
)
def test_a_broken_provider_is_noticed(provider: Path, name: str, old: str, new: str, says: str) -> None:
    change(provider, name, old, new)
    done = run_kit(provider)
    assert done.returncode == 1, done.stdout[-6000:]
    assert says in done.stdout, done.stdout[-6000:]
