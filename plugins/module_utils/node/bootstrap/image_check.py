# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Check of the static pods' images in a bootstrap's script, before kubeadm.

The fault: docs/faults.md, "images are missing where none can be pulled".
kubeadm's own preflight does that too, but it often has to ignore ImagePull, for a CoreDNS image that is not needed. A join adds its
member to etcd before the kubelet asks for etcd's image: without it the member never starts, and of two voters that is one too few.
"""

from __future__ import annotations

import shlex
import typing as t
from dataclasses import dataclass

from ...common import settings

STAGE = "images"
# kubeadm's own list of container runtimes' sockets, without Docker's, which holds images where nobody can tell.
# Source: docs/reference/kubeadm.md, "Container runtime".
SOCKETS = ("/run/containerd/containerd.sock", "/var/run/crio/crio.sock")
DOCKER = "/var/run/docker.sock"

# What can't be told is no reason to stop: kubeadm goes on and says it.
_CHECK = r"""
kcp_enter images
kcp_images() {{
    kcp_socket={socket}
    if [ -z "$kcp_socket" ]; then
        [ ! -S {docker} ] || return 0
        for kcp_each in {sockets}; do
            [ ! -S "$kcp_each" ] || kcp_socket="$kcp_socket${{kcp_socket:+ }}unix://$kcp_each"
        done
    fi
    case $kcp_socket in ''|*' '*) return 0 ;; esac
    kcp_list=$({list} 2>/dev/null) || return 0
    if command -v crictl >/dev/null && crictl -r "$kcp_socket" info >/dev/null 2>&1; then
        kcp_has() {{ crictl -r "$kcp_socket" inspecti -q "$1" >/dev/null 2>&1; }}
        kcp_pull() {{ timeout {seconds} crictl -r "$kcp_socket" pull "$1"; }}
    elif case $kcp_socket in *containerd*) ctr -n k8s.io version >/dev/null 2>&1 ;; *) false ;; esac; then
        kcp_has() {{ ctr -n k8s.io images list -q "name==$1" | grep -q .; }}
        # It knows nothing of the runtime's mirrors; kubeadm pulls through the runtime.
        kcp_pull() {{ timeout {seconds} {pull} --cri-socket "$kcp_socket"; }}
    else
        return 0
    fi
    kcp_missing=
    for kcp_image in $kcp_list; do
        kcp_name=${{kcp_image##*/}}
        case ${{kcp_name%%:*}} in
            kube-apiserver|kube-controller-manager|kube-scheduler|pause) ;;
            etcd) {etcd} ;;
            *) continue ;;
        esac
        kcp_has "$kcp_image" && continue
        # Where one can't be pulled the others can't either: each try may take minutes.
        {may_pull} && [ -z "$kcp_missing" ] && kcp_pull "$kcp_image" && kcp_has "$kcp_image" && continue
        kcp_missing="$kcp_missing${{kcp_missing:+, }}$kcp_image"
    done
    [ -n "$kcp_missing" ] || return 0
    echo "[ERROR Images]: not on this machine, and {why}: $kcp_missing; kubeadm was not started"
    return 1
}}
kcp_images || exit 1
"""


@dataclass(frozen=True)
class Images:
    """Images of a machine's static pods, from its KubeadmConfigSpec.

    ``repository`` "" is kubeadm's default; the others' repositories and tags "" are what kubeadm lists; ``external_etcd``: none runs here;
    ``pull`` False: nodeRegistration.imagePullPolicy is Never; ``socket`` "" is the container runtime that is there.
    """

    version: str
    repository: str = ""
    etcd_repository: str = ""
    etcd_tag: str = ""
    external_etcd: bool = False
    pull: bool = True
    socket: str = ""
    dns_repository: str = ""
    dns_tag: str = ""

    @property
    def asked(self) -> list[str]:
        """Options of ``kubeadm config images`` for version and image repository."""
        return [
            "--kubernetes-version",
            self.version,
            *(["--image-repository", self.repository] if self.repository else []),
        ]

    @classmethod
    def read(cls, version: str, document: t.Mapping[str, t.Any]) -> Images:
        """Return the images from ``images`` of a bootstrap's data (objects/bootstrap_data.py)."""
        texts = {name: str(document.get(key) or "") for name, key in _TEXTS.items()}
        return cls(
            version,
            external_etcd=document.get("externalEtcd") is True,
            pull=document.get("pull") is not False,
            **texts,
        )


_TEXTS = {
    "repository": "repository",
    "etcd_repository": "etcdRepository",
    "etcd_tag": "etcdTag",
    "dns_repository": "dnsRepository",
    "dns_tag": "dnsTag",
    "socket": "criSocket",
}


def part(images: Images, kubeadm: str = "kubeadm", sockets: t.Sequence[str] = SOCKETS, docker: str = DOCKER) -> str:
    """Return the part of the script that checks the images.

    It sets the stage ``images``, and writes the names of missing images to the output.
    """
    socket = images.socket
    if socket and "://" not in socket:
        socket = f"unix://{socket}"
    repository = shlex.quote(images.etcd_repository) if images.etcd_repository else '"${kcp_image%/*}"'
    tag = shlex.quote(images.etcd_tag) if images.etcd_tag else '"${kcp_name#*:}"'
    return _CHECK.format(
        socket=shlex.quote(socket),
        sockets=" ".join(map(shlex.quote, sockets)),
        docker=shlex.quote(docker),
        list=shlex.join([kubeadm, "config", "images", "list", *images.asked]),
        pull=shlex.join([kubeadm, "config", "images", "pull", *images.asked]),
        seconds=settings.IMAGE_PULL_SECONDS,
        etcd="continue" if images.external_etcd else f"kcp_image={repository}/etcd:{tag}",
        may_pull="true" if images.pull else "false",
        why="not to be pulled from here" if images.pull else "imagePullPolicy is Never",
    )
