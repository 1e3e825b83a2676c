# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which images a host has not, and whether it could pull them: programs that are scripts, and registries that are real sockets."""

from __future__ import annotations

import dataclasses
import os
import socket
import subprocess
import sys
import typing as t
from pathlib import Path

import pytest

from ansible_collections.kubeadm.control_plane.plugins.module_utils.node.bootstrap.bootstrap_unit import Places
from ansible_collections.kubeadm.control_plane.plugins.module_utils.node.bootstrap.image_check import Images
from ansible_collections.kubeadm.control_plane.plugins.module_utils.node.host import fitness, missing_images
from ansible_collections.kubeadm.control_plane.plugins.module_utils.node.host.host_facts import HostPlaces

API, ETCD, DNS = "r.example.com/kube-apiserver:v1.20.2", "r.example.com/etcd:3.4.13-0", "r.example.com/coredns:1.7.0"
ASKED = Images("v1.20.2", repository="r.example.com")


@pytest.fixture(name="where")
def _where(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> missing_images.ImagePlaces:
    programs = tmp_path / "bin"
    programs.mkdir()
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    program(tmp_path, "kubeadm", f"printf '%s\\n' {API} {ETCD} {DNS} | sed s,r.example.com,$7,")
    program(tmp_path, "ctr", f"cat {tmp_path}/present")
    runtime = tmp_path / "containerd.sock"
    runtime.touch()
    has(tmp_path)
    return missing_images.ImagePlaces(
        kubeadm=str(programs / "kubeadm"),
        sockets=(str(runtime), str(tmp_path / "crio.sock")),
        docker=str(tmp_path / "docker.sock"),
        detours=(str(tmp_path / "certs.d"), str(tmp_path / "registries.conf")),
        containerd=str(tmp_path / "config.toml"),
    )


def program(folder: Path, name: str, body: str) -> None:
    path = folder / "bin" / name
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)


def has(folder: Path, *present: str) -> None:
    (folder / "present").write_text("".join(f"{image}\n" for image in present))


@pytest.fixture(name="registry")
def _registry() -> t.Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"127.0.0.1:{server.getsockname()[1]}"


@pytest.fixture(name="nobody")
def _nobody() -> str:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return f"127.0.0.1:{server.getsockname()[1]}"


def test_what_is_not_there_is_named(where: missing_images.ImagePlaces, tmp_path: Path) -> None:
    has(tmp_path, API)
    assert missing_images.missing(ASKED, places=where) == [ETCD, DNS]
    assert missing_images.missing(ASKED, only_static_pods=True, places=where) == [ETCD]
    assert missing_images.missing(dataclasses.replace(ASKED, external_etcd=True), places=where) == [DNS]
    other = dataclasses.replace(ASKED, etcd_repository="o.example.com", etcd_tag="3.5.0")
    assert missing_images.missing(other, only_static_pods=True, places=where) == ["o.example.com/etcd:3.5.0"]
    has(tmp_path, API, ETCD, DNS)
    assert missing_images.missing(ASKED, places=where) == []


def test_crictl_is_asked_of_another_runtime(where: missing_images.ImagePlaces, tmp_path: Path) -> None:
    (tmp_path / "containerd.sock").unlink()
    (tmp_path / "crio.sock").touch()
    rows = "IMAGE TAG ID SIZE\\nr.example.com/kube-apiserver v1.20.2 1 2MB\\nr.example.com/etcd 3.4.13-0 1 2MB"
    program(tmp_path, "crictl", f"[ \"$2\" = unix://{tmp_path}/crio.sock ] && printf '{rows}\\n'")
    assert missing_images.missing(ASKED, places=where) == [DNS]


def test_what_can_not_be_told_is_nothing(where: missing_images.ImagePlaces, tmp_path: Path) -> None:
    (tmp_path / "docker.sock").touch()
    assert missing_images.missing(ASKED, places=where) == [], "Docker's images are elsewhere"
    (tmp_path / "docker.sock").unlink()
    (tmp_path / "crio.sock").touch()
    assert missing_images.missing(ASKED, places=where) == [], "two runtimes"
    (tmp_path / "crio.sock").unlink()
    program(tmp_path, "ctr", "exit 1")
    assert missing_images.missing(ASKED, places=where) == [], "a runtime that does not answer"
    program(tmp_path, "kubeadm", "exit 1")
    assert missing_images.missing(ASKED, places=where) == [], "a kubeadm that lists none"


def test_a_registry_that_answers_is_a_way_and_one_that_does_not_is_none(
    where: missing_images.ImagePlaces, registry: str, nobody: str
) -> None:
    assert missing_images.out_of_reach([], places=where) == ""
    assert missing_images.out_of_reach([f"{registry}/etcd:3"], places=where) == ""
    assert (
        missing_images.out_of_reach([f"{registry}/etcd:3", f"{nobody}/pause:3"], places=where)
        == f"{nobody} can't be reached from here"
    )
    assert "imagePullPolicy is Never" in missing_images.out_of_reach([f"{registry}/etcd:3"], pull=False, places=where)


def test_the_end_of_a_call_does_not_wait_for_a_resolver_that_is_not_answered() -> None:
    """Python's end waits for the threads of a pool, though they were given up. This resolver answers never."""
    program = f"""
import socket, threading
from {missing_images.__name__.rpartition(".")[0]} import missing_images
missing_images.settings.CONNECT_SECONDS = 0.01
missing_images.socket.create_connection = lambda *_words: threading.Event().wait()
print(missing_images.out_of_reach(["r.example.com/etcd:3"], places=missing_images.ImagePlaces(detours=(), containerd="")))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == "r.example.com can't be reached from here\n"


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("certs.d/r.example.com/hosts.toml", "x"),
        ("registries.conf", "x"),
        ("config.toml", '[plugins."io.containerd.grpc.v1.cri".registry.mirrors."k8s.gcr.io"]\n'),
        ("config.toml", 'registry = { mirrors = { "k8s.gcr.io" = { endpoint = ["https://r.example.com"] } } }\n'),
        ("own/r.example.com/hosts.toml", "x"),
    ],
)
def test_a_runtime_with_detours_knows_best_itself(
    where: missing_images.ImagePlaces, tmp_path: Path, nobody: str, file: str, text: str
) -> None:
    (tmp_path / "own").mkdir()
    (tmp_path / "config.toml").write_text(f'[plugins]\n  config_path = ""\n  config_path = "/none:{tmp_path}/own"\n')
    assert missing_images.out_of_reach([f"{nobody}/etcd:3"], places=where)
    (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / file).write_text(text)
    assert missing_images.out_of_reach([f"{nobody}/etcd:3"], places=where) == ""


def test_a_host_of_a_pool_is_refused_for_them(
    where: missing_images.ImagePlaces, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, nobody: str
) -> None:
    """Only where it can't pull them; ignoring ImagePull waives what a control plane can be made without."""
    monkeypatch.setattr(missing_images, "ImagePlaces", lambda **_changes: where)
    program(
        tmp_path, "kubeadm", f"[ $1 = version ] && echo v1.20.2 || printf '%s\\n' {nobody}/etcd:3 {nobody}/coredns:1"
    )
    places = HostPlaces(node=Places(kubeadm=str(tmp_path / "bin" / "kubeadm")))

    def refused(*ignore: str) -> list[str]:
        wanted = fitness.Wanted("v1.20.2", ports=(), images=ASKED, ignore=ignore)
        return [each.message for each in fitness.lacks(wanted, places) if each.check == "ImagePull"]

    said = f"images are not there ({nobody}/etcd:3, {nobody}/coredns:1), and {nobody} can't be reached from here"
    assert refused() == [said]
    has(tmp_path, f"{nobody}/etcd:3")
    assert len(refused()) == 1 and refused("ImagePull") == []
    has(tmp_path)
    assert "coredns" not in refused("all")[0]
