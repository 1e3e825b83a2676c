# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which store options name, and which of them are refused; no API server is asked."""

from __future__ import annotations

import json
import typing as t
from pathlib import Path

import pytest
import yaml

from ansible_collections.kubeadm.control_plane.plugins.doc_fragments._store import ModuleDocFragment
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store import opening
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.base import StoreError
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.file.store import FileStore

ROOT = Path(__file__).resolve().parents[5]
API = {"type": "kubernetes", "path": "journal"}


@pytest.fixture(autouse=True)
def no_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What stands in for options is not this machine's."""
    options = pytest.importorskip(
        "ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.kubernetes.options"
    )
    for name in (
        *(each for listed in options.ENVIRONMENT.values() for each in listed),
        "KUBECONFIG",
        "KUBERNETES_SERVICE_HOST",
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary files are made."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    return folder


def kubeconfig(folder: Path, **user: t.Any) -> str:
    """Write a kubeconfig for a server that nobody is asked at."""
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": {"server": "https://192.0.2.1:6443"}}],
        "users": [{"name": "u", "user": user}],
        "contexts": [{"name": name, "context": {"cluster": "c", "user": "u"}} for name in ("one", "two")],
        "current-context": "one",
    }
    path = folder / "kubeconfig"
    path.write_text(json.dumps(document))
    return str(path)


def test_a_folder_is_the_default(tmp_path: Path) -> None:
    store = opening.open_store({"type": "file", "path": str(tmp_path / "store")})
    assert isinstance(store, FileStore) and store.journal_directory() == str(tmp_path / "store")
    assert not opening.exists({"path": str(tmp_path / "store")}) and opening.exists({"path": str(tmp_path)})
    assert opening.exists(API)


def test_the_journal_of_a_kubernetes_store_is_on_the_controller(tmp_path: Path) -> None:
    pytest.importorskip("kubernetes")
    options = {**API, "path": str(tmp_path / "journal"), "host": "https://192.0.2.1:6443", "api_key": "secret"}
    store = opening.open_store(options)
    assert store.journal_directory() == str(tmp_path / "journal") == opening.journal_directory(options)
    assert "192.0.2.1" in opening.describe(options) and "secret" not in opening.describe(options)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"type": "file"}, "the store's path is missing"),
        ({"type": "kubernetes"}, "the store's path is missing"),
        ({**API, "encrypt_secrets": True}, "encrypt_secrets has no meaning here"),
        ({"path": "store", "kubeconfig": "x"}, "kubeconfig has no meaning here"),
        ({"path": "store", "in_cluster": True}, "in_cluster has no meaning here"),
    ],
)
def test_options_that_contradict_each_other(options: dict[str, t.Any], says: str) -> None:
    for open_it in (opening.open_store, opening.open_locks):
        with pytest.raises(StoreError, match=says):
            open_it(options)


def test_no_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of a pod, were this one, are not taken."""
    pytest.importorskip("kubernetes")
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "192.0.2.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")
    with pytest.raises(StoreError, match=r"there are no credentials.*store\.in_cluster"):
        opening.open_store(API)
    with pytest.raises(StoreError, match="there are no credentials"):
        opening.open_store({**API, "in_cluster": True})


def test_a_context_that_the_kubeconfig_lacks(tmp_path: Path) -> None:
    pytest.importorskip("kubernetes")
    options = {**API, "kubeconfig": kubeconfig(tmp_path, token="t")}
    opening.open_store({**options, "context": "two"})
    with pytest.raises(StoreError, match="three"):
        opening.open_store({**options, "context": "three"})


NO_KUBECONFIGS: t.Mapping[str, tuple[t.Optional[str], str]] = {
    "nothing": (None, "there is no such file"),
    "an empty file": ("", "is empty"),
    "no YAML": ("users: [{token: s3cr3t\n", r"it is no YAML \(line 2\)"),
    "a list": ("- a\n", "it is no kubeconfig"),
    "a text": ("hello\n", "it is no kubeconfig"),
    "a provider of tokens that is gone": (
        "{current-context: x, contexts: [{name: x, context: {cluster: c, user: u}}], "
        "clusters: [{name: c, cluster: {server: a}}], users: [{name: u, user: {auth-provider: {name: gcp}}}]}",
        "(it is no kubeconfig that the client can read|default credentials were not found)",
    ),
    "no server": (
        "{current-context: x, contexts: [{name: x, context: {cluster: c, user: u}}], "
        "clusters: [{name: c, cluster: {}}], users: [{name: u, user: {}}]}",
        "it names no server",
    ),
    "an authority that is none": (
        "{current-context: x, contexts: [{name: x, context: {cluster: c, user: u}}], "
        "clusters: [{name: c, cluster: {server: 'https://a', certificate-authority-data: bm9uZQ==}}], users: [{name: u, user: {}}]}",
        "the certificate authority that is given is no PEM of one",
    ),
}


@pytest.mark.parametrize(("content", "says"), NO_KUBECONFIGS.values(), ids=NO_KUBECONFIGS.keys())
def test_what_is_no_kubeconfig_is_named(tmp_path: Path, content: t.Optional[str], says: str) -> None:
    """The user's file, what is wrong with it and what to do; nothing of its content."""
    pytest.importorskip("kubernetes")
    path = tmp_path / "management.conf"
    if content is not None:
        path.write_text(content)
    with pytest.raises(StoreError, match=says) as caught:
        opening.open_store({**API, "kubeconfig": str(path)})
    text = str(caught.value)
    assert f"({path})" in text and "Give store.kubeconfig" in text and ".." not in text
    assert "s3cr3t" not in text


@pytest.mark.parametrize("certificate", [True, False])
def test_nothing_of_a_kubeconfig_is_left_in_files(temporary: Path, tmp_path: Path, certificate: bool) -> None:
    """Not for a second one either, and not where its certificate is none."""
    pytest.importorskip("kubernetes")
    user = {"client-certificate-data": "bm9uZQ==", "client-key-data": "bm9uZQ=="} if certificate else {"token": "t"}
    for _time in range(2):
        options = {**API, "kubeconfig": kubeconfig(tmp_path, **user)}
        if certificate:
            with pytest.raises(StoreError, match="there are no credentials"):
                opening.open_store(options)
        else:
            opening.open_store(options)
        assert list(temporary.iterdir()) == []


def test_what_stands_in_an_inventory_file_is_relative_to_its_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of several kubeconfigs, too."""
    monkeypatch.setenv("HOME", "/home/user")
    given = {"type": "kubernetes", "kubeconfig": "a:~/b:/c", "ssl_ca_cert": "ca", "context": "a:b", "proxy_headers": {}}
    assert opening.of_inventory(given, "/srv") == {
        "type": "kubernetes",
        "path": "/srv/store",
        "encrypt_secrets": False,
        "kubeconfig": "/srv/a:/home/user/b:/c",
        "ca_cert": "/srv/ca",
        "context": "a:b",
    }


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"type": "etcd"}, "store.type 'etcd' is not known"),
        ({"kube_config": "a"}, "store.kube_config is not known"),
        ({"type": "kubernetes", "kubeconfig": {"clusters": []}}, "store.kubeconfig is no path.*content is not taken"),
        ({"path": 5}, "store.path is no path"),
    ],
)
def test_what_can_not_stand_in_an_inventory_file(given: dict[str, t.Any], says: str) -> None:
    with pytest.raises(StoreError, match=says):
        opening.of_inventory(given, "/srv")


def test_every_option_is_documented_everywhere() -> None:
    """In the fragment of the modules and the inventory plugin, and in the role's argument spec: the same names, types and aliases."""
    documented = yaml.safe_load(ModuleDocFragment.DOCUMENTATION)["options"]["store"]["suboptions"]
    known = opening.STORE_SPEC["options"]
    assert {name: _form(each) for name, each in documented.items()} == {
        name: _form(each) for name, each in known.items()
    }
    specs = yaml.safe_load((ROOT / "roles/control_plane/meta/argument_specs.yml").read_text())
    of_role = specs["argument_specs"]["main"]["options"]["control_plane_store"]["options"]
    # A role's specification has no aliases (ansible-lint's schema); the inventory plugin gives the role the options under their own names.
    without = {name: {**each, "aliases": ()} for name, each in known.items()}
    assert {name: _form(each) for name, each in of_role.items()} == {
        name: _form(each) for name, each in without.items()
    }
    assert {name for name, each in of_role.items() if each.get("no_log")} == {"api_key", "password"}


def _form(option: t.Mapping[str, t.Any]) -> tuple[t.Any, ...]:
    return option["type"], tuple(option.get("aliases", ())), option.get("default"), option.get("elements")
