# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Restart of the kubelet's unit, its health check, and its container runtime.

Containers run on meanwhile.
"""

from __future__ import annotations

import os
import re
import time
import typing as t

from ...common import systemd_units
from ...common.guard import NodeError, read_text
from ...common.https import HttpClient, Unreachable

UNIT = "kubelet"
FOLDER = "/var/lib/kubelet"
CONFIG = f"{FOLDER}/config.yaml"
_PORT = 10248
_EVERYWHERE = ("0.0.0.0", "::")
_POLL_SECONDS = 0.2
_ENDPOINT_FLAG = re.compile(r"--container-runtime-endpoint=[\"']?([^\s\"']+)")
_ENDPOINT = re.compile(r"^containerRuntimeEndpoint:[ \t]*[\"']?([^\s\"']+)", re.MULTILINE)
# The flag wins over the configuration (docs/reference/kubeadm.md, "Container runtime").
_ENDPOINTS = (("kubeadm-flags.env", _ENDPOINT_FLAG), ("config.yaml", _ENDPOINT), ("instance-config.yaml", _ENDPOINT))
_DRIVERS = (
    ("kubeadm-flags.env", re.compile(r"--cgroup-driver=[\"']?([a-z]+)")),
    ("config.yaml", re.compile(r"^cgroupDriver:[ \t]*[\"']?([a-z]+)", re.MULTILINE)),
)


def cgroup_driver(folder: str = FOLDER) -> str:
    """Return the kubelet's cgroup driver, "" where its files name none."""
    return _named(_DRIVERS, folder)


def cri_socket(folder: str = FOLDER) -> str:
    """Return the kubelet's container runtime socket, "" where its files name none.

    kubeadm would otherwise search for one, and refuse several.
    """
    return _named(_ENDPOINTS, folder)


def _named(places: t.Iterable[tuple[str, t.Pattern[str]]], folder: str) -> str:
    for name, pattern in places:
        found = pattern.search(read_text(os.path.join(folder, name)))
        if found:
            return found.group(1)
    return ""


def restart(runner: systemd_units.Runner = systemd_units.run, unit: str = UNIT) -> None:
    """Restart the kubelet after a daemon-reload. Raises NodeError.

    It is raised where systemd could not.
    """
    for words in (["systemctl", "daemon-reload"], ["systemctl", "restart", f"{unit}.service"]):
        done = runner(words)
        if done.returncode != 0:
            said = (done.stderr.strip() or done.stdout.strip())[:400]
            raise NodeError(f"{' '.join(words)} failed: {said}", "Look at journalctl -u kubelet.")


def health_url(config: str = CONFIG) -> str:
    """Return the URL of the kubelet's health.

    It is "" where its configuration has no such port.
    """
    text = read_text(config)
    found = re.search(r"^healthzPort:\s*(\d+)", text, re.MULTILINE)
    port = int(found.group(1)) if found else _PORT
    if port == 0:
        return ""
    bound = re.search(r"^healthzBindAddress:\s*[\"']?([0-9A-Fa-f.:]+)", text, re.MULTILINE)
    host = bound.group(1) if bound and bound.group(1) not in _EVERYWHERE else "127.0.0.1"
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def wait_until_well(seconds: float = 120.0, config: str = CONFIG) -> None:
    """Wait until the kubelet answers on its health port.

    Where its configuration has no such port, it can't be asked, and nothing is waited for.

    Raises:
        NodeError: it did not answer in time.
    """
    url = health_url(config)
    if not url:
        return
    deadline = time.monotonic() + seconds
    while True:
        problem = _problem(url)
        if not problem:
            return
        if time.monotonic() > deadline:
            raise NodeError(
                f"The kubelet was restarted and is unhealthy after {seconds:g} s: {problem}.",
                "Look at journalctl -u kubelet.",
            )
        time.sleep(_POLL_SECONDS)


def _problem(url: str) -> t.Optional[str]:
    try:
        with HttpClient(url, None, 2.0) as client:
            answer = client.request("GET", "/healthz", None, {})
    except Unreachable as error:
        return str(error)
    return None if answer.status == 200 else f"it says HTTP {answer.status}"
