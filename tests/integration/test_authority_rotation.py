# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A rotation of the files that the real kubeadm makes, stage by stage, read by the real kubeadm and OpenSSL after each."""

from __future__ import annotations

import base64
import os
import shutil
import subprocess
import typing as t
from pathlib import Path

import pytest
import yaml
from api_server import find_binary

from ansible_collections.kubeadm.control_plane.plugins.module_utils.kubeadm.certificate_files import (
    AUTHORITIES,
    CA,
    KUBELET_CLIENT,
    SERVICE_ACCOUNT,
)
from ansible_collections.kubeadm.control_plane.plugins.module_utils.node import certificate_changes
from ansible_collections.kubeadm.control_plane.plugins.module_utils.operator.authority_rotation import (
    DROP,
    ISSUE,
    NEW,
    OLD,
    STAGES,
    TRUST,
)
from ansible_collections.kubeadm.control_plane.plugins.module_utils.pki import certificates, reissue
from ansible_collections.kubeadm.control_plane.plugins.module_utils.pki.certificates import KeyPair
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils import authority_node
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.authority_materials import Materials
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.authority_node import NodeCertificates, WrongLayout
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.observation import now_rfc3339

KUBEADM = find_binary("kubeadm")
pytestmark = [
    pytest.mark.skipif(KUBEADM is None, reason="kubeadm is not on this machine"),
    pytest.mark.skipif(os.geteuid() != 0, reason="kubeadm writes to /etc/kubernetes: a mount of one's own needs root"),
]
PKI = "/etc/kubernetes/pki"
FILES = {CA: "ca", "etcd": "etcd/ca", "frontProxy": "front-proxy-ca", SERVICE_ACCOUNT: "sa"}
CONFIG: list[dict[str, t.Any]] = [
    {
        "apiVersion": "kubeadm.k8s.io/v1beta2",
        "kind": "InitConfiguration",
        "localAPIEndpoint": {"advertiseAddress": "10.0.0.1"},
        "nodeRegistration": {"name": "cp-1"},
    },
    {
        "apiVersion": "kubeadm.k8s.io/v1beta2",
        "kind": "ClusterConfiguration",
        "kubernetesVersion": "v1.20.2",
        "controlPlaneEndpoint": "10.0.0.100:6443",
    },
]


class Node:
    """A node's folders, as kubeadm leaves them, below a folder of the test."""

    def __init__(self, folder: Path, control_plane: bool = True) -> None:
        self.root = folder
        self.control_plane = control_plane
        self.etc = folder / "etc" / "kubernetes"
        self.kubelet = folder / "var" / "lib" / "kubelet"
        (self.kubelet / "pki").mkdir(parents=True)
        self.etc.mkdir(parents=True)

    def kubeadm(self, words: str, config: bool = True) -> str:
        """Run kubeadm with this node's /etc/kubernetes in place of the machine's."""
        (self.root / "config.yaml").write_text(yaml.safe_dump_all(CONFIG))
        more = f" --config {self.root}/config.yaml" if config else ""
        script = f"mkdir -p /etc/kubernetes && mount --bind {self.etc} /etc/kubernetes && exec {KUBEADM} {words}{more}"
        done = subprocess.run(
            ["unshare", "-m", "sh", "-ec", script], capture_output=True, text=True, check=False, timeout=120
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def make(self) -> Node:
        """What kubeadm init leaves, and what the kubelet makes of its kubeconfig."""
        for phase in ("certs all", "kubeconfig all", "control-plane all", "etcd local"):
            self.kubeadm(f"init phase {phase}")
        self.bootstrap()
        return self

    def bootstrap(self) -> None:
        """The kubelet keeps its certificate in a file, to which a link and kubelet.conf lead."""
        path = self.etc / "kubelet.conf"
        document = yaml.safe_load(path.read_text())
        user = document["users"][0]["user"]
        pem = "".join(base64.b64decode(user[f"client-{each}-data"]).decode() for each in ("certificate", "key"))
        first = self.kubelet / "pki" / "kubelet-client-2026-01-01-00-00-00.pem"
        first.write_text(pem)
        (self.kubelet / "pki" / "kubelet-client-current.pem").symlink_to(first.name)
        document["users"][0]["user"] = dict.fromkeys(("client-certificate", "client-key"), KUBELET_CLIENT)
        path.write_text(yaml.safe_dump(document, width=100000))

    def at(self, path: str) -> str:
        return f"{self.root}{path}"

    def text(self, path: str) -> str:
        return Path(self.at(path)).read_text()

    def found(self, authorities: t.Sequence[str]) -> dict[str, t.Any]:
        """What the module node_certificates would return, of a node on which everything was restarted since."""
        asked = authority_node.question(authorities, self.control_plane, PKI)
        files = {}
        for path in asked["paths"]:
            digest = certificate_changes.digest(self.at(path))
            files[path] = {
                "present": bool(digest),
                "sha256": digest,
                "public": certificate_changes.public(self.at(path)),
                **((certificate_changes.kubeconfig(self.at(path)) or {}) if path.endswith(".conf") else {}),
            }
        serving = {"kube-apiserver": f"{PKI}/apiserver.crt", "etcd": f"{PKI}/etcd/server.crt"}
        flags = {}
        for name in asked["reads"]:
            manifest = self.etc / "manifests" / f"{name}.yaml"
            known = certificate_changes.flags(manifest.read_text()) if manifest.exists() else {}
            flags[name] = {flag: value for flag, value in known.items() if value.startswith("/")}
        return {
            "files": files,
            "flags": flags,
            "components": {name: {"running": True, "current": True} for name in asked["reads"]},
            "shown": {name: reissue.fingerprints(files[serving[name]]["public"])[0] for name in asked["servers"]},
        }

    def look(self, materials: Materials) -> NodeCertificates:
        found = self.found(materials.authorities)
        return NodeCertificates("cp-1", self.control_plane, materials, found, PKI, False, now_rfc3339())

    def apply(self, changes: t.Sequence[dict[str, t.Any]]) -> list[str]:
        """Make changes as the module does; returns which files were written."""
        wanted = [certificate_changes.Change(**{**each, "path": self.at(each["path"])}) for each in changes]
        return [each.path for each in wanted if certificate_changes.apply(each, (str(self.root),))]

    def stage(self, materials: Materials, stage: str) -> list[str]:
        written = self.apply(self.look(materials).changes(stage, materials.authorities))
        self.apply(self.look(materials).leftovers(stage, materials.authorities))
        return written


def pair(node: Node, name: str) -> KeyPair:
    suffix = "pub" if name == "sa" else "crt"
    return KeyPair(node.text(f"{PKI}/{name}.{suffix}"), node.text(f"{PKI}/{name}.key"))


def materials_of(node: Node, authorities: t.Sequence[str] = AUTHORITIES) -> Materials:
    now = now_rfc3339()
    pairs: dict[tuple[str, str], KeyPair] = {}
    for name in authorities:
        pairs[name, OLD] = pair(node, FILES[name])
        algorithm = "ECDSA-P256"
        account = name == SERVICE_ACCOUNT
        new = certificates.new_service_account(algorithm) if account else certificates.new_ca(name, now, algorithm)
        pairs[name, NEW] = new
    link = reissue.link_certificate(pairs[CA, NEW].crt, pairs[CA, OLD], now) if CA in authorities else ""
    return Materials(pairs, now, "test", link, now)


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


def test_every_stage_on_kubeadms_own_files(node: Node) -> None:
    materials = materials_of(node)
    assert node.look(materials).layout_problems(AUTHORITIES) == []
    manifest = node.text("/etc/kubernetes/manifests/kube-controller-manager.yaml")
    names = subprocess.run(
        [
            "openssl",
            "x509",
            "-noout",
            "-subject",
            "-ext",
            "subjectAltName,extendedKeyUsage",
            "-in",
            node.at(f"{PKI}/apiserver.crt"),
        ],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
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
    after = subprocess.run(
        [
            "openssl",
            "x509",
            "-noout",
            "-subject",
            "-ext",
            "subjectAltName,extendedKeyUsage",
            "-in",
            node.at(f"{PKI}/apiserver.crt"),
        ],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert after == names
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
    node.stage(materials, stage)
    assert node.look(materials).problems(stage, AUTHORITIES) == []
    for name in ("apiserver", "etcd/server", "etcd/peer", "front-proxy-client", "apiserver-etcd-client"):
        crt, key = node.text(f"{PKI}/{name}.crt"), node.text(f"{PKI}/{name}.key")
        assert certificates.check_pair(crt, key), name


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
    assert any("front-proxy-ca.crt is not the authority that the store has" in each for each in problems)
    with pytest.raises(WrongLayout, match="trusts somebody who is neither"):
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
    for stage in STAGES:
        for change in worker.look(materials).changes(stage, AUTHORITIES):
            assert stage == ISSUE or not change.get("secret")
        worker.stage(materials, stage)
        assert worker.look(materials).problems(stage, AUTHORITIES) == []
    assert reissue.issued_by(link.read_text(), materials.pair(CA, NEW).crt)
    assert not (worker.etc / "pki" / "ca.key").exists()
