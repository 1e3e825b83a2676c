# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Archives of images: the module host_images on a host whose programs are scripts."""

from __future__ import annotations

import json
import os
import socket
import stat
import subprocess
import sys
import typing as t
from pathlib import Path

import pytest
from stand_in_host import API, DNS, StandInHost

MODULE = "ansible_collections.kubeadm.control_plane.plugins.modules.host_images"


class Host(StandInHost):
    """A host that is asked by the module."""

    def run(self, check: bool = False, **options: t.Any) -> dict[str, t.Any]:
        """What the module returns."""
        # The socket is what tells the runtime: the file need not be there.
        images = {"criSocket": "/run/containerd/containerd.sock"}
        arguments = {"kubernetes_version": "v1.20.2", "images": images, "_ansible_check_mode": check, **options}
        code = f"import sys; sys.argv[0] = 'host_images'; from {MODULE} import main; main()"
        done = subprocess.run(
            [sys.executable, "-c", code],
            input=json.dumps({"ANSIBLE_MODULE_ARGS": arguments}),
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
        )
        return dict(json.loads(done.stdout))


@pytest.fixture(name="host")
def _host(tmp_path: Path) -> Host:
    return Host(tmp_path)


def test_archives_go_from_one_host_to_another(host: Host, tmp_path: Path) -> None:
    host.has(API, DNS)
    folder = tmp_path / "state" / "archives"
    found = host.run(save=str(folder))
    assert [stat.S_IMODE(each.stat().st_mode) for each in (folder, folder.parent)] == [0o700, 0o700]
    assert (found["changed"], found["missing"], sorted(os.listdir(folder))) == (
        True,
        [],
        sorted(found["archives"].values()),
    )
    host.has(DNS)
    archives = sorted(map(str, folder.iterdir()))
    assert host.run(check=True, load=archives)["changed"] and host.run()["missing"] == [API]
    loaded = host.run(load=archives)
    assert (loaded["changed"], loaded["needed"], loaded["missing"]) == (True, [API, DNS], [])
    assert not host.run(load=archives)["changed"]


def test_only_what_is_there_is_written(host: Host, tmp_path: Path) -> None:
    host.has(API)
    assert not host.run(check=True, save=str(tmp_path / "none"))["saved"] and not (tmp_path / "none").exists()
    found = host.run(save=str(tmp_path / "archives"))
    assert (found["missing"], found["saved"]) == (
        [DNS],
        [f"{tmp_path}/archives/r.example.com_5000_kube-apiserver_v1.20.2.tar"],
    )


def test_an_archive_is_written_over_no_link_of_the_folders_owner(host: Host, tmp_path: Path) -> None:
    """The folder is another user's, who may not write where it leads. It is no link itself."""
    host.has(API)
    victim, folder = tmp_path / "victim", tmp_path / "archives"
    victim.write_text("as it was")
    folder.mkdir()
    archive = folder / "r.example.com_5000_kube-apiserver_v1.20.2.tar"
    archive.symlink_to(victim)
    assert host.run(save=str(folder))["saved"] == [str(archive)]
    assert (victim.read_text(), archive.read_text(), archive.is_symlink()) == ("as it was", f"{API}\n", False)
    assert host.run(save=str(folder))["saved"] == [str(archive)]
    (tmp_path / "link").symlink_to(folder)
    said = host.run(save=str(tmp_path / "link"))
    assert said["failed"] and f"can't be written to {tmp_path}/link: Not a directory" in said["msg"], said


@pytest.mark.parametrize("may", [True, False])
def test_what_is_pulled_is_asked_for_again(host: Host, may: bool) -> None:
    """By the named runtime. A pull that says it was done and brings nothing is no change."""
    with socket.create_server(("127.0.0.1", 0)) as registry:
        api, dns = (f"127.0.0.1:{registry.getsockname()[1]}/{name}:v1" for name in ("kube-apiserver", "coredns"))
        host.program("kubeadm", f"[ $1 = version ] && echo v1.20.2 || printf '%s\\n' {api} {dns}")
        host.program("crictl", f"echo $1 $2 >> $HOST/asked; [ $3-$4 != pull-{api} ] || echo $4 >> $HOST/present")
        images = {"criSocket": "unix:///run/containerd/containerd.sock", "pull": may}
        assert host.run(check=True, images=images, pull=True)["changed"] == may
        assert not (host.folder / "asked").exists()
        found = host.run(images=images, pull=True)
        assert (found["changed"], found["missing"]) == ((True, [dns]) if may else (False, [api, dns])), found
        assert not host.run(images=images, pull=True)["changed"]
    asked = (host.folder / "asked").read_text() if may else ""
    assert set(asked.splitlines()) == ({"--runtime-endpoint unix:///run/containerd/containerd.sock"} if may else set())


def test_a_worker_needs_only_what_runs_there(host: Host) -> None:
    names = ("kube-apiserver:v1", "etcd:3", "pause:3", "kube-proxy:v1", "coredns/coredns:v1")
    images = " ".join(f"r.example.com:5000/{each}" for each in names)
    host.program("kubeadm", f"[ $1 = version ] && echo v1.20.2 || printf '%s\\n' {images}")
    found = host.run(worker=True)
    assert found["needed"] == found["missing"] == [f"r.example.com:5000/{each}" for each in names[2:]]
    assert found["needed"] == list(found["archives"])


@pytest.mark.parametrize(
    ("program", "body", "said"),
    [
        ("kubeadm", "echo v1.19.0", "only kubeadm v1.20.2 knows the images of that version"),
        ("kubeadm", "[ $1 = version ] && echo v1.20.2 || { echo refused >&2; exit 1; }", "refused"),
        ("ctr", "exit 1", "doesn't say which images it has"),
        (
            "ctr",
            "[ $4 = list ] || { echo unexpected EOF >&2; exit 1; }",
            "The archive /broken.tar was not loaded: unexpected EOF",
        ),
    ],
)
def test_what_goes_wrong_is_said(host: Host, program: str, body: str, said: str) -> None:
    host.program(program, body)
    found = host.run(load=["/broken.tar"])
    assert found["failed"] and said in found["msg"]
