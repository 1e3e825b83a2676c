# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the role host takes out of a host's answers."""

from __future__ import annotations

import os
import subprocess
import typing as t
from pathlib import Path

import pytest
import yaml
from ansible.plugins.test.core import TestModule as CoreTests
from jinja2.nativetypes import NativeEnvironment

ROLE = Path(__file__).parents[2] / "roles/host/tasks"
CONFIG, PROXY = "etc/containerd/config.toml", "etc/systemd/system/containerd.service.d/proxy.env"


def task(file: str, name: str) -> dict[str, t.Any]:
    """One of the role's tasks."""
    tasks = yaml.safe_load((ROLE / file).read_text(encoding="utf-8"))
    return next(each for each in tasks if each["name"] == name)


def test_only_the_state_of_a_swap_unit_counts() -> None:
    """systemd 252 shows the distribution's preset after the state: what was masked or disabled is left alone by the next run."""
    shown = [
        "dev-sda1.swap disabled enabled",
        "dev-sdb1.swap masked   enabled",
        "dev-sdc1.swap generated -",
        "x.swap enabled enabled",
    ]
    found = task("swap.yml", "Keep units of swap from being started at boot")
    environment = NativeEnvironment()
    environment.tests["match"] = CoreTests().tests()["match"]

    def render(text: str, **variables: t.Any) -> t.Any:
        return environment.from_string(text).render(**variables)

    items = list(render(found["loop"], host_swap_units={"stdout_lines": shown}))
    words = [[render(word, item=item) for word in found["ansible.builtin.command"]["argv"]] for item in items]
    assert words == [["systemctl", "mask", "dev-sdc1.swap"], ["systemctl", "disable", "x.swap"]]


@pytest.mark.parametrize("newer", ["", CONFIG, PROXY, os.path.dirname(PROXY)])
def test_what_containerd_has_not_read_is_found(tmp_path: Path, newer: str) -> None:
    """A run that was killed before its handlers: the next one restarts containerd. The folder is newer where the proxy was taken away."""
    socket = tmp_path / "run/containerd/containerd.sock"
    for path in (tmp_path / CONFIG, tmp_path / PROXY, socket):
        path.parent.mkdir(parents=True)
        path.touch()
    for path in (tmp_path / CONFIG, tmp_path / PROXY, (tmp_path / PROXY).parent):
        os.utime(path, (100, 100))
    os.utime(socket, (200, 200))
    if newer:
        os.utime(tmp_path / newer, (300, 300))
    found = task("containerd.yml", "Find what containerd has not read yet")
    argv = [f"{tmp_path}{word}" if word.startswith("/") else word for word in found["ansible.builtin.command"]["argv"]]
    said = subprocess.run(argv, check=True, capture_output=True, text=True).stdout
    assert said == (f"{tmp_path / newer}\n" if newer else "")
    assert found["notify"] == "Restart containerd"
