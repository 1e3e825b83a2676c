# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The real kubeadm, where this machine has one, reads what is written for it in every API version that it knows.

It decodes strictly. What it does not know it warns about, or refuses from 1.23 on ("error unmarshaling configuration"); so nothing of that may
be in its output. `kubeadm config migrate` needs no cluster and no root.
"""

from __future__ import annotations

import subprocess
import typing as t
from pathlib import Path

import pytest
import yaml
from api_server import find_binary
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from kubeadm_values import GOLDEN, golden, hubs, without_empty
from lab_kubernetes import version_of

from ansible_collections.kubeadm.control_plane.plugins.module_utils.common import kubernetes_facts, kubernetes_versions
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.kubeadm.configuration import any_form, for_version

KUBEADM = find_binary("kubeadm")
# Its own version, also where it is that of another Kubernetes (KUBERNETES_BINARIES).
VERSION = version_of(KUBEADM) if KUBEADM else "v1.20.2"
APIS = [number for number in (1, 2, 3, 4) if kubernetes_versions.readable_by(VERSION, number)]
MINOR = kubernetes_versions.parse(VERSION).minor
pytestmark = pytest.mark.skipif(KUBEADM is None, reason="kubeadm is not on this machine")
# What kubeadm fills in where the configuration says nothing.
DEFAULTS = {
    "apiServer": {},
    "certificatesDir": "/etc/kubernetes/pki",
    "clusterName": "kubernetes",
    "controllerManager": {},
    "imageRepository": kubernetes_facts.default_image_repository(VERSION),
    "networking": {"dnsDomain": "cluster.local", "serviceSubnet": "10.96.0.0/12"},
    "scheduler": {},
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for configuration files."""
    return tmp_path_factory.mktemp("kubeadm")


def migrate(folder: Path, text: str) -> subprocess.CompletedProcess[str]:
    """`kubeadm config migrate` of a text; kubeadm writes the API version that it prefers."""
    path = folder / "old.yaml"
    path.write_text(text, encoding="utf-8")
    command = [str(KUBEADM), "config", "migrate", "--old-config", str(path)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


def merged(base: dict[str, t.Any], over: dict[str, t.Any]) -> dict[str, t.Any]:
    """`over` on top of `base`, mappings merged."""
    result = dict(base)
    for key, value in over.items():
        both = isinstance(value, dict) and isinstance(base.get(key), dict)
        result[key] = merged(base[key], value) if both else value
    return result


def test_kubeadm_says_when_it_does_not_know_a_field(folder: Path) -> None:
    """The check of the other tests can fail."""
    text = golden("init", APIS[-1]).replace("certSANs", "cartSANs", 1)
    assert "error unmarshaling configuration" in migrate(folder, text).stderr


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("name", ["init", "join"])
def test_kubeadm_reads_what_is_written_and_writes_what_is_read(folder: Path, name: str, api: int) -> None:
    """Out of the hub into kubeadm, out of kubeadm into the hub: the same, but for kubeadm's defaults."""
    source = any_form.read(golden(name, api)).hub
    if name == "init":
        source["clusterConfiguration"]["kubernetesVersion"] = VERSION
    else:
        source["initConfiguration"] = {
            "timeouts": {"controlPlaneComponentHealthCheckSeconds": 240},
        }
        source["joinConfiguration"]["timeouts"] = {"discoverySeconds": 65}
    # kubeadm's own migration drops other components' documents, and would not know what is in these.
    for key in ("kubeletConfiguration", "kubeProxyConfiguration"):
        source.pop(key, None)
    written = for_version.convert(source, VERSION, api=api, command=name)
    assert written.api == api
    done = migrate(folder, written.text)
    assert done.returncode == 0, done.stderr
    assert "unmarshal" not in done.stderr
    back = without_empty(any_form.read(done.stdout).hub)
    expected = without_empty({key: value for key, value in source.items() if name in key.lower() or name == "init"})
    if MINOR >= 22:
        expected[f"{name}Configuration"]["nodeRegistration"].setdefault("imagePullPolicy", "IfNotPresent")
    if name == "init":
        for token in expected["initConfiguration"]["bootstrapTokens"]:
            token.setdefault("usages", ["signing", "authentication"])
            token.setdefault("groups", ["system:bootstrappers:kubeadm:default-node-token"])
        expected["clusterConfiguration"] = merged(DEFAULTS, expected["clusterConfiguration"])
        expected = without_empty(expected)
    assert back == expected


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("group", [("InitConfiguration", "ClusterConfiguration"), ("JoinConfiguration",)])
@given(data=st.data())
@settings(max_examples=10, suppress_health_check=list(HealthCheck))
def test_kubeadm_decodes_any_hub_strictly(folder: Path, group: tuple[str, ...], api: int, data: st.DataObject) -> None:
    """Values may be nonsense (kubeadm refuses those later); names and types are right."""
    hub = data.draw(hubs(group, api, MINOR))
    for token in (hub.get("initConfiguration") or {}).get("bootstrapTokens", []):
        # A type of its own in kubeadm, which decodes nothing else.
        token["token"] = "abcdef.0123456789abcdef"
    text = for_version.write(hub, VERSION, api=api).text
    if not text:
        return
    done = migrate(folder, text)
    assert "unmarshal" not in done.stderr, (text, done.stderr)
    assert "unknown field" not in done.stderr


def test_flags_are_kubeadms(folder: Path) -> None:
    """Every flag that stands for a field exists in the command that it is for."""
    del folder
    loaded: dict[str, t.Any] = {}
    for name in ("upgrade", "reset"):
        loaded.update(any_form.read(golden(name, 4)).hub)
    for name in ("init", "join"):
        loaded.update(yaml.safe_load((GOLDEN / f"{name}.hub.yaml").read_text())["hub"])
    del loaded["clusterConfiguration"]
    written = for_version.write(loaded, VERSION, allowed_losses=tuple(loaded))
    always = {"reset", "upgrade apply", "upgrade diff", "upgrade node", "upgrade plan"}
    assert always <= set(written.flags) <= always | {"init", "join"}
    for command, flags in written.flags.items():
        shown = subprocess.run([str(KUBEADM), *command.split(), "--help"], capture_output=True, text=True, check=True)
        for flag in flags:
            assert flag.startswith("v") or f"{flag.partition('=')[0]} " in shown.stdout, (command, flag)
