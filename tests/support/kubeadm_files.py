# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the real kubeadm leaves on a node, below a folder of a test, and a rotation of it as the module node_certificates makes it."""

from __future__ import annotations

import base64
import subprocess
import typing as t
from pathlib import Path

import yaml
from api_server import find_binary
from lab_kubernetes import API, VERSION

from ansible_collections.kubeadm.control_plane.plugins.module_utils.common.values import now_rfc3339
from ansible_collections.kubeadm.control_plane.plugins.module_utils.node.certificates import (
    certificate_changes,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.kubeadm.certificate_files import (
    AUTHORITIES,
    CA,
    KUBELET_CLIENT,
    SERVICE_ACCOUNT,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.operator.rotate_certificate_authorities import (
    one_node,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.operator.rotate_certificate_authorities.materials import (
    Materials,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.operator.rotate_certificate_authorities.one_node import (
    NodeCertificates,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.operator.rotate_certificate_authorities.stages import (
    NEW,
    OLD,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.pki import certificates, reissue
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.pki.certificates import KeyPair

KUBEADM = find_binary("kubeadm")
PKI = "/etc/kubernetes/pki"
FILES = {CA: "ca", "etcd": "etcd/ca", "frontProxy": "front-proxy-ca", SERVICE_ACCOUNT: "sa"}
CONFIG: list[dict[str, t.Any]] = [
    {
        "apiVersion": API,
        "kind": "InitConfiguration",
        "localAPIEndpoint": {"advertiseAddress": "10.0.0.1"},
        "nodeRegistration": {"name": "cp-1"},
    },
    {
        "apiVersion": API,
        "kind": "ClusterConfiguration",
        "kubernetesVersion": VERSION,
        "controlPlaneEndpoint": "10.0.0.100:6443",
    },
]


class Node:
    """A node's folders, as kubeadm leaves them, below a folder of the test."""

    def __init__(
        self, folder: Path, control_plane: bool = True, config: t.Sequence[dict[str, t.Any]] = tuple(CONFIG)
    ) -> None:
        self.root = folder
        self.config = list(config)
        self.control_plane = control_plane
        self.etc = folder / "etc" / "kubernetes"
        self.kubelet = folder / "var" / "lib" / "kubelet"
        (self.kubelet / "pki").mkdir(parents=True)
        self.etc.mkdir(parents=True)

    def within(self, words: str) -> list[str]:
        """A command that sees this node's /etc/kubernetes in place of the machine's."""
        script = f"mkdir -p /etc/kubernetes && mount --bind {self.etc} /etc/kubernetes && exec {words}"
        return ["unshare", "-m", "sh", "-ec", script]

    def kubeadm(self, words: str, config: bool = True) -> str:
        """Run kubeadm with this node's /etc/kubernetes in place of the machine's."""
        (self.root / "config.yaml").write_text(yaml.safe_dump_all(self.config))
        more = f" --config {self.root}/config.yaml" if config else ""
        command = self.within(f"{KUBEADM} {words}{more}")
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
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
        asked = one_node.question(authorities, self.control_plane, PKI)
        files = {}
        for path in asked["paths"]:
            digest = certificate_changes.digest(self.at(path))
            files[path] = {
                "present": bool(digest),
                "sha256": digest,
                "public": certificate_changes.public(self.at(path)),
                **({"matches": certificate_changes.matches(self.at(path))} if path.endswith(".key") else {}),
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
