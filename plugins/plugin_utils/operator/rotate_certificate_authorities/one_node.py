# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Changes and proof of a rotation's stage on one node, without I/O.

They are computed from what the node has.
"""

from __future__ import annotations

import hashlib
import typing as t
from dataclasses import dataclass, field

from ....module_utils.workload_api.api import MANIFESTS_DIRECTORY
from ...kubeadm.certificate_files import (
    API_SERVER,
    BUNDLE,
    CA,
    CERTIFICATE,
    ETCD,
    ETCD_SERVER,
    FILES,
    KEY,
    KUBECONFIG,
    KUBELET_SERVER,
    PAIR,
    PKI,
    SERVICE_ACCOUNT,
    SIGNING_KEY,
    CertificateFile,
)
from ...pki import reissue
from ...pki.certificates import KeyPair, PkiError
from . import node_layout
from . import stages as rotation
from .materials import Materials
from .stages import DROP, NEW, OLD, TRUST, Content

Object = dict[str, t.Any]
SERVING = f"{PKI}/apiserver.crt"
_SIGNER = rotation.signer("")


class WrongLayout(Exception):
    """Refusal of a node that doesn't keep its certificates as kubeadm does.

    It has the file or flag, and the remedy.
    """


@dataclass
class NodeCertificates:
    """Certificates of one node in a rotation.

    Args:
        name: the Node's name. control_plane: whether it carries the control plane.
        materials: the authorities.
        found: what the module node_certificates returned there.
        pki: the folder of kubeadm's certificates.
        external_etcd: whether etcd is none of this control plane's.
        now: the time, RFC 3339.
    """

    name: str
    control_plane: bool
    materials: Materials
    found: Object
    pki: str
    external_etcd: bool
    now: str
    _issued: dict[str, KeyPair] = field(default_factory=dict)

    def ahead(self) -> list[str]:
        """Return the authorities of which this node uses the new one already."""
        keys = {each.authority: each for each in FILES if each.kind == SIGNING_KEY}
        return [
            authority
            for authority in self.materials.authorities
            if self.control_plane and self._sha256(keys[authority].path) == _digest(self._key(authority, NEW))
        ]

    def changes(self, stage: str, authorities: t.Collection[str]) -> list[Object]:
        """Return the module's writes at a stage, in order.

        Raises:
            WrongLayout: a file is missing or has a content that is unknown to this rotation.
        """
        ahead = self.ahead() if stage == TRUST else ()
        halves = [each.path.rpartition(".")[0] for each in FILES if each.kind == KEY and self._is_half(each.path)]
        wanted = rotation.contents(stage, authorities, self.control_plane, ahead, halves)
        for content in wanted:
            if content.kind != rotation.FLAGS and not content.path.startswith(_SIGNER):
                self._require_known(content)
        found = [change for content in wanted for change in self._change(content)]
        if stage == DROP and CA in authorities and self.control_plane:
            leaf = reissue.first(self._public(SERVING))
            link = self.materials.link if self.materials.stale_pods else ""
            found.append({"path": self._at(SERVING), "content": leaf + link})
        return found

    def leftovers(self, stage: str, authorities: t.Collection[str]) -> list[Object]:
        """Return the files that the module removes after the components' restart."""
        gone = rotation.leftovers(stage, authorities, self.control_plane)
        return [{"path": self._at(each.path), "absent": True} for each in gone]

    def _change(self, content: Content) -> list[Object]:
        path = self._at(content.path)
        if content.kind == rotation.FLAGS:
            stem = self._at(rotation.signer(content.shows) if content.shows else rotation.SIGNER_USUAL)
            flags = {name: f"{stem}{suffix}" for name, suffix in rotation.SIGNER_FLAGS.items()}
            return [{"path": f"{MANIFESTS_DIRECTORY}/{content.path}.yaml", "flags": flags}]
        if content.path.startswith(_SIGNER):
            pair = self.materials.pair(CA, (*content.trusts, content.shows)[0])
            return [
                {"path": path, "secret": pair.key}
                if content.kind == SIGNING_KEY
                else {"path": path, "content": pair.crt}
            ]
        if not self._present(content.path):
            return []
        if content.kind == BUNDLE:
            return [{"path": path, "content": self.materials.bundle(content.authority, content.trusts)}]
        if content.kind == SIGNING_KEY:
            return [{"path": path, "secret": self._key(content.authority, content.shows)}]
        if content.kind in (KEY, CERTIFICATE):
            return self._leaf(content, path)
        if content.kind == KUBECONFIG:
            return self._kubeconfig(content, path)
        return self._pair(content, path)

    def _leaf(self, content: Content, path: str) -> list[Object]:
        stem = content.path.rpartition(".")[0]
        old = self._public(f"{stem}.crt")
        link = self.materials.link if content.path.startswith(f"{PKI}/apiserver.") else ""
        if not self._to_issue(old, content):
            # A certificate that is the wanted one was written after its key.
            return []
        pair = self._issue(stem, old, content.authority, content.shows, link)
        return [{"path": path, "secret": pair.key} if content.kind == KEY else {"path": path, "content": pair.crt}]

    def _kubeconfig(self, content: Content, path: str) -> list[Object]:
        known = self.found["files"][path]
        change: Object = {"path": path, "authorities": self.materials.bundle(content.authority, content.trusts)}
        certificate = str(known.get("certificate") or "")
        if content.shows and certificate and self._to_issue(certificate, content):
            pair = self._issue(content.path, certificate, content.authority, content.shows)
            change.update(certificate=pair.crt, key=pair.key)
        return [change]

    def _pair(self, content: Content, path: str) -> list[Object]:
        old = self._public(content.path)
        # What the cluster's authority did not sign, as a serving certificate of the kubelet's own, nobody verifies by it.
        if not old or not self._to_issue(old, content):
            return []
        # Pods verify it, too: those of metrics, which know the old authority alone where they are not restarted.
        link = self.materials.link if content.path == KUBELET_SERVER else ""
        pair = self._issue(content.path, old, content.authority, content.shows, link)
        return [{"path": path, "content": pair.crt, "secret": pair.key}]

    def _to_issue(self, certificate: str, content: Content) -> bool:
        if reissue.issued_by(certificate, self.materials.pair(content.authority, content.shows).crt):
            return False
        return content.kind != PAIR or reissue.issued_by(certificate, self._generation(content.authority, OLD))

    def _issue(self, key: str, model: str, authority: str, generation: str, link: str = "") -> KeyPair:
        if key not in self._issued:
            self._issued[key] = reissue.reissue(model, self.materials.pair(authority, generation), self.now, link)
        return self._issued[key]

    def _require_known(self, file: CertificateFile | Content) -> None:
        """Refuse a file that this rotation can't replace.

        That is one that is missing or has another authority's certificate. A rotation removes no trust in an authority that it doesn't know.
        """
        path = self._at(file.path)
        if not self._present(file.path):
            if file.optional:
                return
            raise WrongLayout(f"{path} is not there")
        text = trusted = self._public(file.path)
        if file.kind == KUBECONFIG:
            kubeconfig = self.found["files"][path]
            text, trusted = (str(kubeconfig.get(each) or "") for each in ("certificate", "authorities"))
            problem = node_layout.kubeconfig_problem(path, kubeconfig)
            if problem:
                raise WrongLayout(problem)
        if file.kind in (BUNDLE, KUBECONFIG):
            self._require_known_trust(path, file.authority, trusted)
        if file.kind == CERTIFICATE or (file.kind == KUBECONFIG and text):
            self._require_known_issuer(path, file.authority, text)

    def _require_known_trust(self, path: str, authority: str, text: str) -> None:
        known, held = self.materials.fingerprints(authority, (OLD, NEW)), reissue.fingerprints(text)
        others = [each for each in held if each not in known]
        if others:
            raise WrongLayout(
                f"{path} trusts an authority that is neither the old one in the store nor the new one (SHA-256 {others[0][:16]}…)"
            )
        if not held:
            raise WrongLayout(f"{path} does not hold the authority that the store has")

    def _require_known_issuer(self, path: str, authority: str, certificate: str) -> None:
        try:
            issued = any(reissue.issued_by(certificate, self._generation(authority, each)) for each in (OLD, NEW))
        except PkiError as error:
            raise WrongLayout(f"{path} holds no certificate that can be read") from error
        if not issued:
            raise WrongLayout(f"{path}: its certificate was signed by neither the old authority nor the new one")

    # What is read back.

    def layout_problems(self, authorities: t.Collection[str]) -> list[str]:
        """Return this node's differences from kubeadm's layout and the store's authorities."""
        found = node_layout.flag_problems(self.found["flags"], self.pki, authorities)
        for each in FILES:
            if each.authority in authorities and (self.control_plane or each.on_workers):
                try:
                    self._require_known(each)
                except WrongLayout as error:
                    found.append(str(error))
        return [f"{self.name}: {each}" for each in found]

    def problems(self, stage: str, authorities: t.Collection[str], running: bool = True) -> list[str]:
        """Return a stage's problems on this node, each a sentence.

        There are none where the stage is proven. Without ``running`` they are of its files alone.
        """
        found: list[str] = []
        for each in FILES:
            if each.authority in authorities and (self.control_plane or each.on_workers):
                found += self._file_problems(each, stage)
        if not running:
            return [f"{self.name}: {each}" for each in found]
        for component in rotation.readers(authorities, self.control_plane):
            age = self.found["components"].get(component) or {}
            if not age.get("running"):
                found.append(f"{component} does not run")
            elif not age.get("current"):
                found.append(f"{component} runs since before its files were written")
        for server, file in ((API_SERVER, SERVING), (ETCD_SERVER, f"{PKI}/etcd/server.crt")):
            if server in self.found["shown"]:
                wanted = reissue.fingerprints(self._public(file))[:1]
                if (self.found["shown"][server],) != wanted:
                    found.append(f"{server} does not show the certificate in {self._at(file)}")
        if SERVICE_ACCOUNT in authorities and self.found.get("trusted_key_ids") is not None:
            wanted_ids = {reissue.key_id(self._generation(SERVICE_ACCOUNT, each)) for each in rotation.trusted(stage)}
            if set(self.found["trusted_key_ids"]) != wanted_ids:
                found.append("its API server trusts other service account keys than those of this stage")
        return [f"{self.name}: {each}" for each in found]

    def unissued(self, authorities: t.Collection[str]) -> list[str]:
        """Return what this node uses of the old authorities, each a sentence.

        It is what the node shows or signs with that is not the new authorities'.
        """
        own = [each for each in FILES if each.authority in authorities and (self.control_plane or each.on_workers)]
        return [
            f"{self.name}: {text}" for each in own if self._present(each.path) for text in self._shown_problems(each)
        ]

    def _file_problems(self, file: CertificateFile, stage: str) -> list[str]:
        path = self._at(file.path)
        if not self._present(file.path):
            return [] if file.optional else [f"{path} is not there"]
        found = []
        text = self.found["files"][path].get("authorities") if file.kind == KUBECONFIG else self._public(file.path)
        if file.kind in (BUNDLE, KUBECONFIG):
            wanted = self.materials.fingerprints(file.authority, rotation.trusted(stage))
            if set(reissue.fingerprints(str(text or ""))) != wanted:
                found.append(f"{path} does not trust {' and '.join(sorted(rotation.trusted(stage)))} alone")
        return found if stage == TRUST else found + self._shown_problems(file)

    def _shown_problems(self, file: CertificateFile) -> list[str]:
        path = self._at(file.path)
        if file.kind == SIGNING_KEY:
            same = self._sha256(file.path) == _digest(self._key(file.authority, NEW))
            return [] if same else [f"{path} is not the new key"]
        certificate = ""
        if file.kind in (CERTIFICATE, PAIR):
            certificate = self._public(file.path)
        elif file.kind == KUBECONFIG:
            certificate = str(self.found["files"][path].get("certificate") or "")
        if not certificate or reissue.issued_by(certificate, self._generation(file.authority, NEW)):
            return []
        # A kubelet's own self-signed certificate is nobody's of these.
        foreign = file.kind == PAIR and not reissue.issued_by(certificate, self._generation(file.authority, OLD))
        return [] if foreign else [f"the certificate in {path} is not the new authority's"]

    def _generation(self, authority: str, generation: str) -> str:
        return self.materials.pair(authority, generation).crt

    def _key(self, authority: str, generation: str) -> str:
        return str(self.materials.pair(authority, generation).key)

    def _at(self, path: str) -> str:
        return path.replace(PKI, self.pki)

    def _present(self, path: str) -> bool:
        return bool((self.found["files"].get(self._at(path)) or {}).get("present"))

    def _is_half(self, path: str) -> bool:
        return (self.found["files"].get(self._at(path)) or {}).get("matches") is False

    def _public(self, path: str) -> str:
        return str((self.found["files"].get(self._at(path)) or {}).get("public") or "")

    def _sha256(self, path: str) -> str:
        return str((self.found["files"].get(self._at(path)) or {}).get("sha256") or "")


def question(authorities: t.Collection[str], control_plane: bool, pki: str) -> Object:
    """Return the arguments of node_certificates for a rotation of these authorities.

    With them the module returns all that the rotation needs to know of a node.
    """
    own = [each.path for each in FILES if each.authority in authorities and (control_plane or each.on_workers)]
    reads = rotation.readers(authorities, control_plane)
    servers = []
    if control_plane:
        servers = [API_SERVER] if CA in authorities else []
        servers += [ETCD_SERVER] if ETCD in authorities else []
    return {
        "paths": [each.replace(PKI, pki) for each in own],
        "reads": {name: [each.replace(PKI, pki) for each in paths] for name, paths in reads.items()},
        "pki": pki,
        "servers": servers,
        "key_ids": control_plane and SERVICE_ACCOUNT in authorities,
    }


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
