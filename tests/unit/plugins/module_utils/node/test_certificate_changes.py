# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files of certificates, kubeconfigs and manifests: the one thing that is meant is changed, and nothing else."""

from __future__ import annotations

import base64
import json
import os
from contextlib import nullcontext
from pathlib import Path

import pytest
import yaml

from ansible_collections.kubeadm.control_plane.plugins.module_utils.common.guard import NodeError
from ansible_collections.kubeadm.control_plane.plugins.module_utils.common.values import now_rfc3339
from ansible_collections.kubeadm.control_plane.plugins.module_utils.node.certificates import certificate_changes
from ansible_collections.kubeadm.control_plane.plugins.module_utils.node.certificates.certificate_changes import Change
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.pki import certificates

OLD = "-----BEGIN CERTIFICATE-----\nT0xE\n-----END CERTIFICATE-----\n"
NEW = "-----BEGIN CERTIFICATE-----\nTkVX\n-----END CERTIFICATE-----\n"
KEY = "-----BEGIN RSA PRIVATE KEY-----\nS0VZ\n-----END RSA PRIVATE KEY-----\n"
PUBLIC = "-----BEGIN PUBLIC KEY-----\nUFVC\n-----END PUBLIC KEY-----\n"
MANIFEST = """\
apiVersion: v1
kind: Pod
spec:
  containers:
  - command:
    - kube-controller-manager
    - --client-ca-file=/etc/kubernetes/pki/ca.crt
    - --cluster-signing-cert-file=/etc/kubernetes/pki/ca.crt
    - --cluster-signing-key-file=/etc/kubernetes/pki/ca.key
    - '--root-ca-file=/etc/kubernetes/pki/ca.crt'
    image: k8s.gcr.io/kube-controller-manager:v1.20.2
"""


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def kubeconfig(key: str = KEY) -> str:
    """A kubeconfig as kubeadm writes it."""
    return yaml.safe_dump(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [
                {
                    "name": "prod",
                    "cluster": {"certificate-authority-data": encoded(OLD), "server": "https://10.0.0.1:6443"},
                }
            ],
            "users": [
                {"name": "admin", "user": {"client-certificate-data": encoded(OLD), "client-key-data": encoded(key)}}
            ],
        },
        width=100000,
    )


def apply(tmp_path: Path, change: Change, check: bool = False) -> bool:
    return certificate_changes.apply(change, (str(tmp_path),), check=check)


def test_a_file_is_written_once(tmp_path: Path) -> None:
    change = Change(str(tmp_path / "ca.crt"), OLD + NEW)
    assert apply(tmp_path, change, check=True)
    assert not (tmp_path / "ca.crt").exists()
    assert apply(tmp_path, change)
    assert not apply(tmp_path, change)
    assert (tmp_path / "ca.crt").read_text() == OLD + NEW
    assert (tmp_path / "ca.crt").stat().st_mode & 0o777 == 0o644


def test_a_private_key_is_never_readable_for_others(tmp_path: Path) -> None:
    (tmp_path / "ca.key").write_text("something")
    (tmp_path / "ca.key").chmod(0o644)
    assert apply(tmp_path, Change(str(tmp_path / "ca.key"), secret=KEY))
    assert (tmp_path / "ca.key").stat().st_mode & 0o777 == 0o600
    assert apply(tmp_path, Change(str(tmp_path / "new.key"), secret=KEY))
    assert (tmp_path / "new.key").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("as_json", [False, True])
def test_a_kubeconfigs_certificates_change_and_nothing_else(tmp_path: Path, as_json: bool) -> None:
    path = tmp_path / "admin.conf"
    before = yaml.safe_load(kubeconfig())
    path.write_text(json.dumps(before) if as_json else kubeconfig())
    path.chmod(0o600)
    assert apply(tmp_path, Change(str(path), authorities=OLD + NEW))
    counts = {f"{each}-data": 1 for each in ("certificate-authority", "client-certificate", "client-key")}
    found = {"authorities": OLD + NEW, "certificate": OLD, "counts": counts, "user_files": []}
    assert certificate_changes.kubeconfig(str(path)) == found
    assert apply(tmp_path, Change(str(path), authorities=NEW + OLD, certificate=NEW, key=KEY * 2))
    after = yaml.safe_load(path.read_text())
    assert after["users"][0]["user"] == {
        "client-certificate-data": encoded(NEW),
        "client-key-data": encoded(KEY * 2),
    }
    before["clusters"][0]["cluster"]["certificate-authority-data"] = encoded(NEW + OLD)
    before["users"] = after["users"]
    assert after == before
    assert path.stat().st_mode & 0o777 == 0o600
    assert not apply(tmp_path, Change(str(path), authorities=NEW + OLD))


def test_a_kubeconfig_of_another_shape_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "kubelet.conf"
    text = kubeconfig().replace("certificate-authority-data:", "certificate-authority:")
    path.write_text(text)
    with pytest.raises(NodeError, match="certificate-authority-data 0 times"):
        apply(tmp_path, Change(str(path), authorities=NEW))
    assert path.read_text() == text


@pytest.mark.parametrize("as_json", [False, True])
def test_the_files_that_a_kubeconfigs_user_has(tmp_path: Path, as_json: bool) -> None:
    document = yaml.safe_load(kubeconfig())
    document["users"][0]["user"] = {"client-certificate": "/pki/x.pem", "client-key": "/pki/x.key"}
    path = tmp_path / "scheduler.conf"
    path.write_text(json.dumps(document) if as_json else yaml.safe_dump(document))
    found = certificate_changes.kubeconfig(str(path)) or {}
    assert (found["certificate"], found["user_files"]) == ("", ["/pki/x.key", "/pki/x.pem"])


@pytest.mark.parametrize(
    "line", ["    client-certificate:", "# client-certificate: /pki/x.pem", "    # client-key: /x"]
)
def test_a_kubeconfigs_comments_and_fields_without_a_value_name_no_files(tmp_path: Path, line: str) -> None:
    path = tmp_path / "scheduler.conf"
    path.write_text(f"users:\n- name: scheduler\n  user:\n{line}\n    client-key: /pki/x.key\n")
    assert (certificate_changes.kubeconfig(str(path)) or {})["user_files"] == ["/pki/x.key"]


def test_flags_of_a_manifest(tmp_path: Path) -> None:
    path = tmp_path / "kube-controller-manager.yaml"
    path.write_text(MANIFEST)
    wanted = {"cluster-signing-cert-file": "/etc/kubernetes/pki/ca-signing-old.crt", "root-ca-file": "/x"}
    assert apply(tmp_path, Change(str(path), flags=wanted))
    assert not apply(tmp_path, Change(str(path), flags=wanted))
    after = yaml.safe_load(path.read_text())["spec"]["containers"][0]["command"]
    assert "--cluster-signing-cert-file=/etc/kubernetes/pki/ca-signing-old.crt" in after
    assert "--cluster-signing-key-file=/etc/kubernetes/pki/ca.key" in after
    assert "--root-ca-file=/x" in after
    assert certificate_changes.flags(path.read_text())["root-ca-file"] == "/x"
    assert apply(
        tmp_path,
        Change(
            str(path),
            flags={
                "cluster-signing-cert-file": "/etc/kubernetes/pki/ca.crt",
                "root-ca-file": "/etc/kubernetes/pki/ca.crt",
            },
        ),
    )
    assert path.read_text() == MANIFEST
    with pytest.raises(NodeError, match="exactly once"):
        apply(tmp_path, Change(str(path), flags={"no-such-flag": "x"}))


def test_the_kubelets_certificate_gets_a_file_of_its_own(tmp_path: Path) -> None:
    first, link = tmp_path / "kubelet-client-2026-01-01-00-00-00.pem", tmp_path / "kubelet-client-current.pem"
    first.write_text(OLD + KEY)
    first.chmod(0o600)
    link.symlink_to(first)
    assert apply(tmp_path, Change(str(link), NEW, KEY))
    assert link.is_symlink()
    assert os.readlink(link) != str(first)
    assert link.read_text() == NEW + KEY
    assert link.stat().st_mode & 0o777 == 0o600
    assert first.read_text() == OLD + KEY
    assert not apply(tmp_path, Change(str(link), NEW, KEY))
    # That tells it from those that the kubelet gets by itself, and has read.
    assert not certificate_changes.is_kubelets_own(str(link))
    link.unlink()
    link.symlink_to(first)
    assert certificate_changes.is_kubelets_own(str(link))
    assert not certificate_changes.is_kubelets_own(str(first))
    assert not certificate_changes.is_kubelets_own(str(tmp_path / "none"))


def test_only_what_is_public_is_told(tmp_path: Path) -> None:
    path = tmp_path / "kubelet-client-current.pem"
    path.write_text(OLD + KEY + PUBLIC)
    assert certificate_changes.public(str(path)) == OLD + PUBLIC
    assert certificate_changes.public(str(tmp_path / "none")) == ""
    assert certificate_changes.digest(str(tmp_path / "none")) == ""


@pytest.mark.parametrize("path", ["/etc/passwd", "/etc/kubernetes/../passwd", "/etc/kubernetes", "ca.crt"])
def test_nothing_else_is_written(path: str) -> None:
    with pytest.raises(NodeError, match="no file below"):
        certificate_changes.apply(Change(path, NEW))


@pytest.mark.parametrize(("name", "written"), [("ca.crt", True), ("ca.key", False), ("passwd", False)])
def test_in_the_folder_of_the_kubelets_authority_that_alone_is_written(
    tmp_path: Path, name: str, written: bool
) -> None:
    """A user's may be in any folder, such as /etc."""
    (tmp_path / "config.yaml").write_text(f"authentication:\n  x509:\n    clientCAFile: {tmp_path}/ca.crt\n")
    path = str(tmp_path / name)
    with nullcontext() if written else pytest.raises(NodeError, match="no file below"):
        assert certificate_changes.check_path(path, ("/etc/kubernetes",), str(tmp_path)) == path


def test_what_goes_is_gone(tmp_path: Path) -> None:
    (tmp_path / "x").write_text(OLD)
    assert apply(tmp_path, Change(str(tmp_path / "x"), absent=True))
    assert not apply(tmp_path, Change(str(tmp_path / "x"), absent=True))


def test_whether_a_key_is_its_certificates(tmp_path: Path) -> None:
    one, other = (certificates.new_ca("x", now_rfc3339(), "ECDSA-P256") for _each in range(2))
    assert certificate_changes.matches(str(tmp_path / "x.key")) is None
    (tmp_path / "x.key").write_text(str(one.key))
    assert certificate_changes.matches(str(tmp_path / "x.key")) is None
    for crt, expected in ((one.crt, True), (other.crt, False), (one.crt + other.crt, True), ("", False)):
        (tmp_path / "x.crt").write_text(crt)
        assert certificate_changes.matches(str(tmp_path / "x.key")) is expected
