# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A rotation of the files that the real kubeadm makes, stage by stage, read by the real kubeadm and OpenSSL after each."""

from __future__ import annotations

import os
import shutil
import subprocess
import typing as t
from pathlib import Path

import pytest
import yaml
from kubeadm_files import KUBEADM, PKI, Node, materials_of

from ansible_collections.kubeadm.control_plane.plugins.module_utils.common.values import now_rfc3339
from ansible_collections.kubeadm.control_plane.plugins.module_utils.node.certificates import (
    certificate_changes,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.kubeadm.certificate_files import (
    AUTHORITIES,
    CA,
    KUBELET_CLIENT,
    KUBELET_SERVER,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.operator.rotate_certificate_authorities.one_node import (
    WrongLayout,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.operator.rotate_certificate_authorities.stages import (
    DROP,
    ISSUE,
    NEW,
    OLD,
    STAGES,
    TRUST,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.pki import certificates, reissue

pytestmark = [
    pytest.mark.skipif(KUBEADM is None, reason="kubeadm is not on this machine"),
    pytest.mark.skipif(os.geteuid() != 0, reason="kubeadm writes to /etc/kubernetes: a mount of one's own needs root"),
]


PAIRS = ("etcd/server", "etcd/peer", "apiserver-etcd-client", "front-proxy-client", "apiserver")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Node:
    return Node(tmp_path_factory.mktemp("kubeadm") / "node").make()


@pytest.fixture
def node(made: Node, tmp_path: Path) -> Node:
    copy = Node(tmp_path / "node")
    for part in ("etc", "var"):
        shutil.copytree(made.root / part, copy.root / part, symlinks=True, dirs_exist_ok=True)
    return copy


def verified(node: Node, certificate: str, roots: str) -> bool:
    words = ["openssl", "verify", "-CAfile", node.at(roots), "-untrusted", node.at(certificate), node.at(certificate)]
    return subprocess.run(words, capture_output=True, check=False).returncode == 0


def names_in(node: Node) -> str:
    """What the API server's certificate is for."""
    words = ["openssl", "x509", "-noout", "-subject", "-ext", "subjectAltName,extendedKeyUsage"]
    where = ["-in", node.at(f"{PKI}/apiserver.crt")]
    return subprocess.run([*words, *where], capture_output=True, text=True, check=True).stdout


def test_every_stage_on_kubeadms_own_files(node: Node) -> None:
    materials = materials_of(node)
    assert node.look(materials).layout_problems(AUTHORITIES) == []
    manifest = node.text("/etc/kubernetes/manifests/kube-controller-manager.yaml")
    names = names_in(node)
    for stage in STAGES:
        assert node.look(materials).problems(stage, AUTHORITIES) != []
        assert node.stage(materials, stage)
        assert node.look(materials).problems(stage, AUTHORITIES) == []
        assert node.look(materials).layout_problems(AUTHORITIES) == []
        # The same again finds nothing left to do.
        assert node.stage(materials, stage) == []
        # kubeadm takes what signs for the authority, whatever else is in the file.
        node.kubeadm("certs renew front-proxy-client")
        signer = materials.pair("frontProxy", OLD if stage == TRUST else NEW)
        assert reissue.issued_by(node.text(f"{PKI}/front-proxy-client.crt"), signer.crt)
        for leaf, roots in (("apiserver", "ca"), ("etcd/server", "etcd/ca"), ("front-proxy-client", "front-proxy-ca")):
            assert verified(node, f"{PKI}/{leaf}.crt", f"{PKI}/{roots}.crt"), (stage, leaf)
    assert node.text("/etc/kubernetes/manifests/kube-controller-manager.yaml") == manifest
    assert sorted(each.name for each in (node.etc / "pki").glob("ca*")) == ["ca.crt", "ca.key"]
    assert names_in(node) == names
    assert "apiserver" in node.kubeadm("certs check-expiration")
    node.kubeadm("certs renew all")
    assert reissue.issued_by(node.text(f"{PKI}/apiserver.crt"), materials.pair(CA, NEW).crt)
    # As kubeadm itself would have made it: a kubeconfig made anew trusts the same.
    before = node.text("/etc/kubernetes/scheduler.conf")
    (node.etc / "scheduler.conf").unlink()
    node.kubeadm("init phase kubeconfig scheduler")
    made = certificate_changes.kubeconfig(node.at("/etc/kubernetes/scheduler.conf"))
    assert made is not None
    assert yaml.safe_load(before)["clusters"] == yaml.safe_load(node.text("/etc/kubernetes/scheduler.conf"))["clusters"]


@pytest.mark.parametrize("stage", [TRUST, ISSUE, DROP])
def test_killed_after_any_write(node: Node, stage: str) -> None:
    """What is left when the first writes alone were made is completed by the same stage."""
    materials = materials_of(node)
    for earlier in STAGES[: STAGES.index(stage)]:
        node.stage(materials, earlier)
    total = len(node.look(materials).changes(stage, AUTHORITIES))
    for count in range(1, total, 11):
        node.apply(node.look(materials).changes(stage, AUTHORITIES)[:count])
        # `prepare` of the same Action, or of another one, finds nothing to refuse in it.
        assert node.look(materials).layout_problems(AUTHORITIES) == []
    node.stage(materials, stage)
    assert node.look(materials).problems(stage, AUTHORITIES) == []
    for name in ("apiserver", "etcd/server", "etcd/peer", "front-proxy-client", "apiserver-etcd-client"):
        crt, key = node.text(f"{PKI}/{name}.crt"), node.text(f"{PKI}/{name}.key")
        assert certificates.check_pair(crt, key), name


def test_a_second_rotation_completes_what_was_half_written(node: Node) -> None:
    """With a key beside another one's certificate etcd and the API server would not start any more: no stage restarts them with it."""
    materials = materials_of(node)
    node.stage(materials, TRUST)
    changes = node.look(materials).changes(ISSUE, AUTHORITIES)
    for count in range(1, len(changes)):
        node.apply(changes[:count])
        halves = [each for each in PAIRS if not certificate_changes.matches(node.at(f"{PKI}/{each}.key"))]
        assert len(halves) <= 1
        node.stage(materials, TRUST)
        for each in PAIRS:
            assert certificates.check_pair(node.text(f"{PKI}/{each}.crt"), node.text(f"{PKI}/{each}.key")), each
        if halves:
            break
    assert halves
    assert node.look(materials).problems(TRUST, AUTHORITIES) == []


def test_a_second_rotation_never_shows_the_old_authority_again(node: Node) -> None:
    materials = materials_of(node)
    for stage in (TRUST, ISSUE):
        node.stage(materials, stage)
    serving = node.text(f"{PKI}/apiserver.crt")
    node.stage(materials, TRUST)
    assert node.text(f"{PKI}/apiserver.crt") == serving
    assert node.look(materials).unissued(AUTHORITIES) == []
    assert reissue.fingerprints(node.text(f"{PKI}/ca.crt"))[0] == reissue.fingerprints(materials.pair(CA, NEW).crt)[0]
    node.stage(materials, DROP)
    assert node.look(materials).problems(DROP, AUTHORITIES) == []


def test_the_link_goes_unless_somebody_needs_it(node: Node) -> None:
    materials = materials_of(node)
    for stage in (TRUST, ISSUE):
        node.stage(materials, stage)
    old = node.root / "old.crt"
    old.write_text(materials.pair(CA, OLD).crt)
    assert verified(node, f"{PKI}/apiserver.crt", "/old.crt")
    materials.stale_pods = ["shop/web"]
    node.stage(materials, DROP)
    assert verified(node, f"{PKI}/apiserver.crt", "/old.crt")
    materials.stale_pods = []
    node.stage(materials, DROP)
    assert not verified(node, f"{PKI}/apiserver.crt", "/old.crt")
    assert verified(node, f"{PKI}/apiserver.crt", f"{PKI}/ca.crt")


def test_one_authority_alone_touches_nothing_else(node: Node) -> None:
    before = {str(path): path.read_text() for path in node.etc.rglob("*") if path.is_file()}
    materials = materials_of(node, ("frontProxy",))
    for stage in STAGES:
        node.stage(materials, stage)
        assert node.look(materials).problems(stage, ("frontProxy",)) == []
    changed = {path for path, text in before.items() if Path(path).read_text() != text}
    assert {Path(each).name for each in changed} == {
        "front-proxy-ca.crt",
        "front-proxy-ca.key",
        "front-proxy-client.crt",
        "front-proxy-client.key",
    }


def test_what_is_not_kubeadms_is_found_before_anything_is_made(node: Node) -> None:
    materials = materials_of(node)
    manifest = node.etc / "manifests" / "kube-apiserver.yaml"
    manifest.write_text(
        manifest.read_text().replace(f"--client-ca-file={PKI}/ca.crt", f"--client-ca-file={PKI}/other.crt")
    )
    with (node.etc / "pki" / "front-proxy-ca.crt").open("a") as file:
        file.write(certificates.new_ca("somebody", now_rfc3339(), "ECDSA-P256").crt)
    problems = node.look(materials).layout_problems(AUTHORITIES)
    assert len(problems) == 2
    assert any("--client-ca-file" in each for each in problems)
    assert any("front-proxy-ca.crt trusts an authority that is neither" in each for each in problems)
    with pytest.raises(WrongLayout, match="trusts an authority that is neither"):
        node.look(materials).changes(TRUST, AUTHORITIES)


SIGNED_BY_NEITHER = "its certificate was signed by neither the old authority nor the new one"
NOT_ONCE = "does not have {} exactly once, as kubeadm's kubeconfigs do"


def foreign(node: Node) -> certificates.KeyPair:
    """A certificate for the API server's names that an authority signed which the store doesn't have."""
    other = certificates.new_ca("kubernetes", now_rfc3339(), "ECDSA-P256")
    return reissue.reissue(node.text(f"{PKI}/apiserver.crt"), other, now_rfc3339())


def corporate_certificate(node: Node) -> str:
    pair = foreign(node)
    Path(node.at(f"{PKI}/apiserver.crt")).write_text(pair.crt)
    Path(node.at(f"{PKI}/apiserver.key")).write_text(str(pair.key))
    return f"{PKI}/apiserver.crt: {SIGNED_BY_NEITHER}"


def certificate_of_an_earlier_authority(node: Node) -> str:
    path, pair = "/etc/kubernetes/scheduler.conf", foreign(node)
    authorities = str((certificate_changes.kubeconfig(node.at(path)) or {})["authorities"])
    node.apply([{"path": path, "authorities": authorities, "certificate": pair.crt, "key": pair.key}])
    return f"{path}: {SIGNED_BY_NEITHER}"


def third_authority_in_a_kubeconfig(node: Node) -> str:
    path = "/etc/kubernetes/controller-manager.conf"
    authorities = str((certificate_changes.kubeconfig(node.at(path)) or {})["authorities"])
    other = certificates.new_ca("corporate", now_rfc3339(), "ECDSA-P256").crt
    node.apply([{"path": path, "authorities": authorities + other}])
    return f"{path} trusts an authority that is neither the old one in the store nor the new one"


def two_clusters(node: Node) -> str:
    path = Path(node.at("/etc/kubernetes/admin.conf"))
    document = yaml.safe_load(path.read_text())
    document["clusters"].append({"name": "other", "cluster": dict(document["clusters"][0]["cluster"])})
    path.write_text(yaml.safe_dump(document, width=100000))
    return f"/etc/kubernetes/admin.conf {NOT_ONCE.format('certificate-authority-data')}"


def key_in_a_file(node: Node) -> str:
    path = Path(node.at("/etc/kubernetes/admin.conf"))
    path.write_text(path.read_text().replace("client-key-data:", "client-key:"))
    return f"/etc/kubernetes/admin.conf {NOT_ONCE.format('client-key-data')}"


def certificate_in_a_file(name: str) -> t.Callable[[Node], str]:
    """A client certificate and its key in files beside a kubeconfig, which a component may read by their references."""

    def differ(node: Node) -> str:
        path = Path(node.at(f"/etc/kubernetes/{name}"))
        document = yaml.safe_load(path.read_text())
        document["users"][0]["user"] = {"client-certificate": "/var/lib/x.pem", "client-key": "/var/lib/x.pem"}
        path.write_text(yaml.safe_dump(document, width=100000))
        if name == "kubelet.conf":
            return f"/etc/kubernetes/{name} has its user's certificate or key in /var/lib/x.pem, which no rotation replaces"
        return f"/etc/kubernetes/{name} {NOT_ONCE.format('client-certificate-data')}"

    differ.__name__ = f"certificate_in_a_file_of_{name}"
    return differ


def another_kubeconfig(node: Node) -> str:
    manifest = Path(node.at("/etc/kubernetes/manifests/kube-scheduler.yaml"))
    manifest.write_text(manifest.read_text().replace("--kubeconfig=/etc/kubernetes/", "--kubeconfig=/srv/"))
    return "kube-scheduler reads /srv/scheduler.conf (--kubeconfig) where kubeadm has /etc/kubernetes/scheduler.conf"


def no_signing_key(node: Node) -> str:
    Path(node.at(f"{PKI}/etcd/ca.key")).unlink()
    return f"{PKI}/etcd/ca.key is not there"


def no_certificate(node: Node) -> str:
    Path(node.at(f"{PKI}/etcd/peer.crt")).write_text("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")
    return f"{PKI}/etcd/peer.crt holds no certificate that can be read"


@pytest.mark.parametrize(
    "differ",
    [
        corporate_certificate,
        certificate_of_an_earlier_authority,
        third_authority_in_a_kubeconfig,
        two_clusters,
        key_in_a_file,
        *map(certificate_in_a_file, ("admin.conf", "controller-manager.conf", "scheduler.conf", "kubelet.conf")),
        another_kubeconfig,
        no_signing_key,
        no_certificate,
    ],
)
def test_what_a_later_stage_could_not_replace_is_found_before_anything_is_made(
    node: Node, differ: t.Callable[[Node], str]
) -> None:
    """After Trust is on every node there is no way back: it is the same rotation that has to be completed."""
    materials = materials_of(node)
    problem = differ(node)
    [found] = node.look(materials).layout_problems(AUTHORITIES)
    assert found.startswith(f"cp-1: {problem}")


def test_the_trust_in_an_authority_that_came_since_is_not_taken_away(node: Node) -> None:
    materials = materials_of(node)
    problem = third_authority_in_a_kubeconfig(node)
    with pytest.raises(WrongLayout, match=problem):
        node.look(materials).changes(TRUST, AUTHORITIES)


def test_a_worker_has_its_kubelets_files_alone(node: Node, tmp_path: Path) -> None:
    worker = Node(tmp_path / "worker", control_plane=False)
    (worker.etc / "pki").mkdir()
    (worker.etc / "pki" / "ca.crt").write_text(node.text(f"{PKI}/ca.crt"))
    (worker.etc / "kubelet.conf").write_text(node.text("/etc/kubernetes/kubelet.conf"))
    link = worker.kubelet / "pki" / "kubelet-client-current.pem"
    (worker.kubelet / "pki" / "first.pem").write_text(node.text(KUBELET_CLIENT))
    link.symlink_to(worker.kubelet / "pki" / "first.pem")
    materials = materials_of(node)
    # With serverTLSBootstrap; pods of metrics verify it, and know the old authority alone where they are not restarted.
    serving = worker.kubelet / "pki" / "kubelet-server-current.pem"
    pair = reissue.reissue(node.text(f"{PKI}/apiserver.crt"), materials.pair(CA, OLD), now_rfc3339())
    (worker.kubelet / "pki" / "server.pem").write_text(pair.crt + str(pair.key))
    serving.symlink_to(worker.kubelet / "pki" / "server.pem")
    (worker.root / "old.crt").write_text(materials.pair(CA, OLD).crt)
    assert worker.look(materials).layout_problems(AUTHORITIES) == []
    for stage in STAGES:
        for change in worker.look(materials).changes(stage, AUTHORITIES):
            assert stage == ISSUE or not change.get("secret")
        worker.stage(materials, stage)
        assert worker.look(materials).problems(stage, AUTHORITIES) == []
    assert reissue.issued_by(link.read_text(), materials.pair(CA, NEW).crt)
    assert reissue.issued_by(serving.read_text(), materials.pair(CA, NEW).crt)
    for roots in ("/old.crt", f"{PKI}/ca.crt"):
        assert verified(worker, KUBELET_SERVER, roots), roots
    assert not (worker.etc / "pki" / "ca.key").exists()
