# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filters on kubeadm's configuration, called as Jinja calls them."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
import yaml
from ansible.errors import AnsibleFilterError

from ansible_collections.kubeadm.control_plane.plugins.filter import from_kubeadm, kubeadm_api_version, to_kubeadm

READ = from_kubeadm.FilterModule().filters()["from_kubeadm"]
WRITE = to_kubeadm.FilterModule().filters()["to_kubeadm"]
API_VERSION = kubeadm_api_version.FilterModule().filters()["kubeadm_api_version"]
CONFIG = {"clusterConfiguration": {"apiServer": {"extraArgs": [{"name": "a", "value": "1"}]}}}
OLD = "apiVersion: kubeadm.k8s.io/v1beta2\nkind: InitConfiguration\nnodeRegistration: {kubeletExtraArgs: {v: '4'}}\n"


class Tagged(str):
    """Text as Ansible's variables hold it: not exactly str."""


class Lazy(Mapping[str, Any]):
    """A mapping as Ansible's variables may be: not exactly dict."""

    def __init__(self, content: dict[str, Any]) -> None:
        self._content = content

    def __getitem__(self, key: str) -> Any:
        return self._content[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._content)

    def __len__(self) -> int:
        return len(self._content)


def test_there_and_back() -> None:
    assert READ(WRITE(CONFIG, "v1.20.2")) == CONFIG
    assert READ(OLD) == {"initConfiguration": {"nodeRegistration": {"kubeletExtraArgs": [{"name": "v", "value": "4"}]}}}
    assert READ(READ(OLD)) == READ(OLD)
    assert READ(yaml.safe_load(OLD)) == READ([yaml.safe_load(OLD)]) == READ(OLD)


def test_outputs() -> None:
    assert WRITE(CONFIG, "v1.30.0", output="documents") == [yaml.safe_load(WRITE(CONFIG, "v1.30.0"))]
    details = WRITE({"initConfiguration": {"skipPhases": ["a", "b"]}}, "v1.20.2", output="details")
    assert details["flags"] == {"init": ["--skip-phases=a,b"]}
    assert details["api_version"] == "kubeadm.k8s.io/v1beta2"
    assert yaml.safe_load(details["text"]) == details["documents"][0]
    assert details["warnings"] == []


@pytest.mark.parametrize("output", ["text", "documents"])
def test_flags_are_never_lost(output: str) -> None:
    with pytest.raises(AnsibleFilterError, match="kubeadm init --skip-phases=a"):
        WRITE({"initConfiguration": {"skipPhases": ["a"]}}, "v1.20.2", output=output)


def test_variables_as_ansible_has_them() -> None:
    moment = datetime.datetime(2030, 1, 31, 10, 0, tzinfo=datetime.timezone(datetime.timedelta(hours=1)))
    token = {"token": Tagged("abcdef.0123456789abcdef"), "expires": moment}
    source = Lazy({Tagged("initConfiguration"): Lazy({"bootstrapTokens": (token,)})})
    written = WRITE(source, Tagged("v1.31.0"), validate=False)
    assert isinstance(written, str) and not isinstance(written, Tagged)
    assert yaml.safe_load(written)["bootstrapTokens"] == [
        {"token": "abcdef.0123456789abcdef", "expires": "2030-01-31T09:00:00Z"}
    ]


def nested(depth: int) -> dict[str, Any]:
    return {"a": nested(depth - 1)} if depth else {}


@pytest.mark.parametrize(
    ("value", "says"),
    [
        (b"bytes", "bytes is no part"),
        ({"initConfiguration": {1: 2}}, "'1' is not text"),
        (nested(70), "nested deeper"),
        (datetime.datetime(1, 1, 1, tzinfo=datetime.timezone(datetime.timedelta(hours=5))), "years 1 to 9999"),
        ([[None] * 1000] * 300, "more than 200000 values"),
        ({"initConfiguration": {"x": 1, "y": 2}}, "initConfiguration.y"),
        (5, "not kubeadm's configuration"),
    ],
)
def test_bad_values_are_the_filters_errors(value: Any, says: str) -> None:
    for call in (lambda: READ(value), lambda: WRITE(value, "v1.31.0")):
        with pytest.raises(AnsibleFilterError, match=says):
            call()


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"command": "destroy"}, "command is one of"),
        ({"output": "yaml"}, "output is one of"),
        ({"api_version": "v1"}, "api_version is one of"),
        ({"api_version": 4}, "api_version is one of"),
        ({"allowed_losses": "a"}, "list of field paths"),
        ({"validate": "no"}, "validate is true or false"),
        ({"kubernetes_version": 1.31}, "must be text"),
        ({"kubernetes_version": "1.31"}, "version"),
    ],
)
def test_bad_options(options: dict[str, Any], says: str) -> None:
    with pytest.raises(AnsibleFilterError, match=says):
        WRITE(CONFIG, **{"kubernetes_version": "v1.31.0", **options})


def test_api_version() -> None:
    assert API_VERSION("v1.20.2") == "kubeadm.k8s.io/v1beta2"
    assert API_VERSION("1.22.0-alpha.1") == "kubeadm.k8s.io/v1beta3"
    assert API_VERSION("v1.99.0") == "kubeadm.k8s.io/v1beta4"
    for bad in ("v1.20", "v1.15.0", 1.2, None):
        with pytest.raises(AnsibleFilterError):
            API_VERSION(bad)
    assert WRITE(CONFIG, "v1.20.2", api_version="v1beta1").startswith("---\napiVersion: kubeadm.k8s.io/v1beta1\n")
