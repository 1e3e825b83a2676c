# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The static pods' images are seen to before kubeadm is started: a real shell, with a kubeadm and a runtime that are scripts."""

from __future__ import annotations

import dataclasses
import os
import socket
import subprocess
import typing as t
from pathlib import Path

import pytest

from ansible_collections.kubeadm.control_plane.plugins.module_utils.node.bootstrap import script
from ansible_collections.kubeadm.control_plane.plugins.module_utils.node.bootstrap.image_check import Images, part

LISTED = [
    f"k8s.gcr.io/{name}"
    for name in (
        "kube-apiserver:v1.20.2",
        "kube-controller-manager:v1.20.2",
        "kube-scheduler:v1.20.2",
        "kube-proxy:v1.20.2",
        "pause:3.2",
        "etcd:3.4.13-0",
        "coredns:1.7.0",
    )
]
NEEDED = [image for image in LISTED if not image.startswith(("k8s.gcr.io/kube-proxy", "k8s.gcr.io/coredns"))]
ETCD = "k8s.gcr.io/etcd:3.4.13-0"
KUBEADM = """#!/bin/sh
echo "kubeadm $*" >> {folder}/calls
case "$3" in
    list) cat {folder}/listed ;;
    pull) cat {folder}/registry >> {folder}/present ;;
esac
"""
# crictl and ctr as far as they are asked; what the registry has can be pulled.
RUNTIME = """#!/bin/sh
echo "$(basename $0) $*" >> {folder}/calls
[ -e {folder}/answers ] || exit 1
for last; do :; done
case "$*" in
    *" inspecti "*) grep -Fxq "$last" {folder}/present ;;
    *" images list "*) grep -Fx "${{last#name==}}" {folder}/present ;;
    *" pull "*) grep -Fx "$last" {folder}/registry >> {folder}/present || {{ echo "no route to $last" >&2; exit 1; }} ;;
esac
"""


class Host:
    """A host with images, and a registry with others."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.socket = folder / "containerd.sock"
        self._listening = socket.socket(socket.AF_UNIX)
        self._listening.bind(str(self.socket))
        self.has("listed", LISTED)
        self.has("present", NEEDED)
        self.has("registry", [])
        self.has("calls", [])
        self.has("answers", [])
        self.program("kubeadm", KUBEADM)
        self.program("crictl", RUNTIME)

    def has(self, what: str, lines: t.Sequence[str]) -> None:
        """Write a list."""
        (self.folder / what).write_text("".join(f"{line}\n" for line in lines))

    def program(self, name: str, text: str) -> None:
        """Install a program."""
        path = self.folder / "bin" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text.format(folder=self.folder))
        path.chmod(0o755)

    def run(
        self, images: Images, docker: str = "/nowhere", sockets: t.Optional[t.Sequence[str]] = None
    ) -> tuple[int, str]:
        """The part of the script, within as much of it as it needs."""
        text = part(images, "kubeadm", sockets if sockets is not None else [str(self.socket)], docker)
        script = f"kcp_enter() {{ echo stage $1; }}\n{text}\necho kubeadm is started\n"
        done = subprocess.run(
            ["sh", "-c", script],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            env={"PATH": f"{self.folder}/bin:{os.environ['PATH']}"},
        )
        return done.returncode, done.stdout

    @property
    def calls(self) -> list[str]:
        """What was called."""
        return (self.folder / "calls").read_text().splitlines()


@pytest.fixture(name="host")
def _host(tmp_path: Path) -> Host:
    return Host(tmp_path)


IMAGES = Images("v1.20.2")


def test_where_every_image_is_there_nothing_is_pulled(host: Host) -> None:
    code, output = host.run(IMAGES)
    assert (code, output) == (0, "stage images\nkubeadm is started\n")
    assert host.calls[0] == "kubeadm config images list --kubernetes-version v1.20.2"
    assert not any(" pull " in call for call in host.calls)


def test_what_is_missing_and_can_not_be_pulled_is_named_and_kubeadm_not_started(host: Host) -> None:
    missing = [NEEDED[0], ETCD]
    host.has("present", [image for image in NEEDED if image not in missing])
    code, output = host.run(IMAGES)
    assert code == 1 and "kubeadm is started" not in output
    error = f"[ERROR Images]: not on this machine, and not to be pulled from here: {', '.join(missing)}; kubeadm was not started"
    assert error in output.splitlines() and f"no route to {missing[0]}" in output
    assert len([call for call in host.calls if " pull " in call]) == 1, "one that can't be pulled is proof enough"


def test_what_is_missing_is_pulled_where_that_can_be_done(host: Host) -> None:
    host.has("present", [])
    host.has("registry", LISTED)
    assert host.run(IMAGES)[0] == 0
    assert (host.folder / "present").read_text().split() == NEEDED


@pytest.mark.parametrize("left", [1000, 1000000])
def test_the_room_that_a_pull_has_left_counts(host: Host, left: int) -> None:
    """An etcd without room for its log never starts, and kubeadm would have added its member by then."""
    host.has("present", [])
    host.has("registry", LISTED)
    host.program(
        "df", f"#!/bin/sh\n[ -s {{folder}}/present ] && free={left} || free=1000000\necho disk 9 9 $free 9% /\n"
    )
    work, started = host.folder / "work", host.folder / "started"
    files = script.render(
        str(work), ["touch", str(started)], [], [], f"{work}/sentinel", images=part(IMAGES, sockets=[str(host.socket)])
    )
    work.mkdir()
    for name, text in files.items():
        (work / name).write_text(text)
    subprocess.run(["sh", work / "run.sh"], check=False, env={"PATH": f"{host.folder}/bin:{os.environ['PATH']}"})
    output = (work / "output").read_text()
    assert started.exists() == (left > 1000) == ("[ERROR EtcdDisk]: 0 MiB free" not in output), output


def test_where_nothing_may_be_pulled_nothing_is(host: Host) -> None:
    host.has("present", [])
    host.has("registry", LISTED)
    code, output = host.run(dataclasses.replace(IMAGES, pull=False))
    assert code == 1 and f"imagePullPolicy is Never: {', '.join(NEEDED)}" in output
    assert not any(" pull " in call for call in host.calls)


@pytest.mark.parametrize(
    ("images", "etcd"),
    [
        (Images("v1.20.2", etcd_repository="registry.example.com/a b"), "registry.example.com/a b/etcd:3.4.13-0"),
        (Images("v1.20.2", etcd_tag="3.5.0"), "k8s.gcr.io/etcd:3.5.0"),
        (Images("v1.20.2", external_etcd=True), ""),
    ],
)
def test_etcds_image_is_the_one_that_the_spec_says(host: Host, images: Images, etcd: str) -> None:
    host.has("present", [image for image in NEEDED if image != ETCD])
    code, output = host.run(images)
    assert (code, etcd in output) == ((1, True) if etcd else (0, True))


def test_another_registry_is_asked_of_kubeadm(host: Host) -> None:
    host.run(Images("v1.20.2", repository="registry.example.com/k8s"))
    assert host.calls[0].endswith("--kubernetes-version v1.20.2 --image-repository registry.example.com/k8s")


def test_without_crictl_containerd_itself_is_asked_and_kubeadm_pulls(host: Host) -> None:
    (host.folder / "bin" / "crictl").unlink()
    host.program("ctr", RUNTIME)
    host.has("present", [])
    host.has("registry", LISTED)
    # This host may have a crictl of its own.
    assert host.run(IMAGES)[0] == 0
    pulls = [call for call in host.calls if " pull " in call]
    assert pulls[0].startswith("kubeadm config images pull --kubernetes-version v1.20.2 --cri-socket unix://")


def test_what_can_not_be_told_is_no_reason_to_stop(host: Host) -> None:
    host.has("present", [])
    assert host.run(IMAGES, docker=str(host.socket))[0] == 0, "Docker's images are elsewhere"
    assert host.run(IMAGES, sockets=[])[0] == 0, "no runtime that is known"
    assert host.run(IMAGES, sockets=[str(host.socket)] * 2)[0] == 0, "two of them"
    (host.folder / "answers").unlink()
    host.program("ctr", RUNTIME)
    assert host.run(IMAGES)[0] == 0, "a runtime that does not answer"
    host.has("answers", [])
    host.program("kubeadm", "#!/bin/sh\nexit 1\n")
    assert host.run(IMAGES)[0] == 0, "a kubeadm that lists none"


def test_what_a_bootstraps_data_says() -> None:
    told = {
        "repository": "r",
        "etcdRepository": "e",
        "etcdTag": "t",
        "externalEtcd": True,
        "pull": False,
        "criSocket": "/s",
    }
    assert Images.read("v1.34.0", told) == Images("v1.34.0", "r", "e", "t", True, False, "/s")
    assert Images.read("v1.34.0", {}) == Images("v1.34.0")
