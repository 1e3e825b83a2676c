# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A folder of programs and image archives: what each file is, its content says."""

from __future__ import annotations

import io
import json
import tarfile

import pytest

from ansible_collections.kubeadm.control_plane.plugins.module_utils.nspawn.errors import NspawnError
from ansible_collections.kubeadm.control_plane.plugins.module_utils.nspawn.image import docker_archive
from ansible_collections.kubeadm.control_plane.plugins.module_utils.nspawn.image.container_images import has_loader
from ansible_collections.kubeadm.control_plane.plugins.module_utils.nspawn.image.kubernetes_directory import (
    digests,
    examine,
    images_of,
    is_program,
)

NAME = "registry.example/kube-proxy:v1.20.2"


def _archive(path, member, content):
    with tarfile.open(path, "w") as archive:
        entry = tarfile.TarInfo(member)
        entry.size = len(content)
        archive.addfile(entry, io.BytesIO(content))
    return str(path)


def _elf(machine, table=b""):
    header = bytearray(64)
    header[:4] = b"\x7fELF"
    header[18:20] = machine.to_bytes(2, "little")
    header[32:40] = (64).to_bytes(8, "little")
    header[54:58] = (4).to_bytes(2, "little") + (len(table) // 4).to_bytes(2, "little")
    return bytes(header) + table


def test_an_archives_images_are_read_from_it(tmp_path):
    program = tmp_path / "program"
    program.write_bytes(b"\x7fELF")
    docker = tmp_path / "anything.bin"
    docker_archive.write(str(docker), NAME, {"p": str(program)}, ["/p"], "amd64")
    index = {"manifests": [{"annotations": {"io.containerd.image.name": NAME}}, {"digest": "sha256:0"}]}
    assert images_of(str(docker)) == [NAME]
    assert images_of(_archive(tmp_path / "oci", "index.json", json.dumps(index).encode())) == [NAME]


@pytest.mark.parametrize("content", [b"", b"[", b"3", b"[3]", b'{"manifests": [3]}', b'[{"RepoTags": null}]'])
def test_what_is_no_archive_of_images_has_none(tmp_path, content):
    assert images_of(_archive(tmp_path / "a.tar", "manifest.json", content)) == []
    (tmp_path / "kubeadm").write_bytes(content)
    assert images_of(str(tmp_path / "kubeadm")) == []


def test_a_program_is_an_executable_one_of_this_machine(tmp_path):
    for name, machine, mode in (("ours", 62, 0o755), ("other", 183, 0o755), ("plain", 62, 0o644)):
        (tmp_path / name).write_bytes(_elf(machine))
        (tmp_path / name).chmod(mode)
    (tmp_path / "script").write_text("#!/bin/sh\nexit 0\n# as long as a header\n")
    (tmp_path / "script").chmod(0o755)
    assert [name for name in ("ours", "other", "plain", "script") if is_program(str(tmp_path / name), "amd64")] == [
        "ours"
    ]


def test_a_static_program_needs_no_libraries(tmp_path):
    for name, kinds, loader in (("static", (1, 2), False), ("dynamic", (6, 3, 1), True)):
        (tmp_path / name).write_bytes(_elf(62, b"".join(kind.to_bytes(4, "little") for kind in kinds)))
        assert has_loader(str(tmp_path / name)) is loader


def test_folders_are_told_apart_by_content(tmp_path):
    for name, content in (("a", "one"), ("b", "one"), ("c", "two")):
        (tmp_path / name / "images").mkdir(parents=True)
        (tmp_path / name / "images" / "x.tar").write_text(content)
    assert digests(str(tmp_path / "a")) == digests(str(tmp_path / "b")) != digests(str(tmp_path / "c"))


def test_everything_that_is_missing_is_named_at_once(tmp_path):
    (tmp_path / "kubectl").write_text("#!/bin/sh\n")
    (tmp_path / "kube-proxy").write_bytes(_elf(183))
    with pytest.raises(NspawnError) as refused:
        examine(str(tmp_path), "v1.20.2", "amd64")
    text = str(refused.value)
    for wrong in ("kubeadm is missing; kubelet is missing; kubectl is no executable", "kube-proxy is no executable"):
        assert wrong in text
    assert f"{tmp_path} is not complete" in text and "Nothing was built" in text


def test_a_folder_that_is_not_there_is_named_with_its_variable(tmp_path):
    with pytest.raises(NspawnError, match=r"no folder .*nowhere.*machine_nspawn_binaries"):
        examine(str(tmp_path / "nowhere"), "v1.20.2", "amd64")
