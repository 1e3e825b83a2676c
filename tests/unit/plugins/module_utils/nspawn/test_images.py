# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What images are made of and named by; all that needs no build."""

from __future__ import annotations

import hashlib
import io
import json
import os
import subprocess
import tarfile

import pytest

from ansible_collections.kubeadm.control_plane.plugins.module_utils.nspawn.errors import NspawnError
from ansible_collections.kubeadm.control_plane.plugins.module_utils.nspawn.image import (
    build,
    container_images,
    crictl,
    debian,
    docker_archive,
    kubernetes_source,
    system_files,
)
from ansible_collections.kubeadm.control_plane.plugins.module_utils.nspawn.image import cache as image
from ansible_collections.kubeadm.control_plane.plugins.module_utils.nspawn.layout import Cache

TARGETS = """\
Docker|Docker CE|bookworm|https://mirror.example/docker
Debian|Debian-Security|bookworm-security|http://mirror.example/debian-security/
Debian|Debian|trixie|http://mirror.example/newer/
Debian|Debian|bookworm|http://mirror.example/debian/
"""


@pytest.mark.parametrize(
    ("targets", "mirror"),
    [
        (TARGETS, "http://mirror.example/debian"),
        ("Debian|Debian|trixie|http://mirror.example/newer/\n", "http://mirror.example/newer"),
        ("Ubuntu|Ubuntu|noble|http://mirror.example/ubuntu/\n", None),
        ("", None),
        ("garbage\n", None),
    ],
)
def test_the_mirror_is_the_one_of_this_hosts_apt(targets, mirror):
    assert debian.mirror_in(targets) == mirror


@pytest.mark.parametrize(
    ("version", "upstream"),
    [("1.20.5+really1.20.2-1.1+deb12u1", "v1.20.2"), ("1.20.2-1", "v1.20.2"), ("1.31.0+ds-3", "v1.31.0")],
)
def test_debians_version_tells_the_real_one(version, upstream):
    assert kubernetes_source.upstream_version(version) == upstream


def test_a_debian_version_without_a_kubernetes_version_is_an_error():
    with pytest.raises(NspawnError, match="names no Kubernetes version"):
        kubernetes_source.upstream_version("nonsense-1")


def test_a_stamp_goes_into_both_places_that_report_it():
    flags = kubernetes_source.linker_flags("v1.21.0")
    for package in ("component-base/version", "client-go/pkg/version"):
        assert f"-X k8s.io/kubernetes/vendor/k8s.io/{package}.gitVersion=v1.21.0 " in f"{flags} "
        assert f"-X k8s.io/kubernetes/vendor/k8s.io/{package}.gitMinor=21 " in f"{flags} "


@pytest.mark.parametrize("version", ["1.20.2", "v1.20", "v1.20.2 -X evil", "", "latest"])
def test_a_version_without_all_three_numbers_is_refused(version):
    with pytest.raises(NspawnError, match="all three numbers"):
        kubernetes_source.linker_flags(version)


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("k8s.gcr.io/pause:3.2", "pause"),
        ("registry.k8s.io/coredns/coredns:v1.10.1", "coredns"),
        ("localhost:5000/etcd@sha256:00", "etcd"),
    ],
)
def test_an_images_short_name(name, short):
    assert container_images.short_name(name) == short


def test_a_manifest_has_to_say_something_only_about_images_that_are_missing():
    assert build.kubeadm_needs([]) == {"skipPhases": [], "ignorePreflightErrors": []}
    assert build.kubeadm_needs(["k8s.gcr.io/coredns:1.7.0"]) == {
        "skipPhases": ["addon/coredns"],
        "ignorePreflightErrors": ["ImagePull"],
    }


def test_the_dynamic_loaders_listing_is_read():
    listing = "\tlinux-vdso.so.1 (0x00007ffd)\n\tlibc.so.6 => /base/lib/x/libc.so.6 (0x00007f)\n\t/lib64/ld-linux-x86-64.so.2 (0x00007f)\n"
    assert container_images.shared_libraries(listing) == ["/base/lib/x/libc.so.6", "/lib64/ld-linux-x86-64.so.2"]


def test_a_docker_archive_is_what_it_says(tmp_path):
    program = tmp_path / "program"
    program.write_bytes(b"\x7fELF")
    target = tmp_path / "image.tar"
    files = {"usr/local/bin/program": str(program)}
    docker_archive.write(
        str(target),
        "example/program:1",
        files,
        ["/usr/local/bin/program"],
        "amd64",
        {"bin/p": "/usr/local/bin/program"},
    )
    with tarfile.open(target) as archive:
        manifest = json.load(archive.extractfile("manifest.json"))[0]
        config = json.load(archive.extractfile(manifest["Config"]))
        layer = archive.extractfile(manifest["Layers"][0]).read()
    assert manifest["RepoTags"] == ["example/program:1"]
    assert config["rootfs"]["diff_ids"] == [f"sha256:{hashlib.sha256(layer).hexdigest()}"]
    with tarfile.open(fileobj=io.BytesIO(layer)) as inner:
        assert inner.getnames() == ["bin", "usr", "usr/local", "usr/local/bin", "usr/local/bin/program", "bin/p"]
        assert inner.getmember("usr/local/bin/program").mode == 0o755
        assert inner.getmember("bin/p").linkname == "/usr/local/bin/program"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["image.tar", "program"]


def test_the_same_files_give_the_same_archive(tmp_path):
    program = tmp_path / "program"
    program.write_bytes(b"\x7fELF")
    for name in ("a", "b"):
        docker_archive.write(str(tmp_path / name), "p:1", {"p": str(program)}, ["/p"], "amd64")
        program.touch()
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def shell_scripts():
    yield "crictl", crictl.CRICTL
    yield from ((path, text) for path, text, mode in system_files.image_files("pause:3.2") if mode == 0o755)


@pytest.mark.parametrize(("name", "text"), list(shell_scripts()))
def test_every_script_is_valid_shell(name, text):
    assert subprocess.run(["sh", "-n"], input=text, text=True, check=False).returncode == 0, name


def test_the_hook_is_added_to_containerds_own_specification():
    spec = {"process": {"args": []}, "hooks": {"prestart": [{"path": "/x"}]}}
    found = system_files.with_hook(spec)
    assert found["process"] == {"args": []}
    assert found["hooks"]["prestart"] == [{"path": "/x"}]
    assert [each["path"] for each in found["hooks"]["createContainer"]] == [
        "/usr/local/lib/nspawn-machine/conntrack-hook"
    ]
    assert spec["hooks"] == {"prestart": [{"path": "/x"}]}


class TestFinding:
    """Which image a machine gets, where nothing can be built."""

    @pytest.fixture
    def cache(self, tmp_path):
        cache = Cache(str(tmp_path))
        for name, version in (("golden@1", "v1.20.2"), ("kubernetes-v1.20.2@2", "v1.20.2")):
            folder = tmp_path / "images" / name
            folder.mkdir(parents=True)
            record = {
                "name": name.partition("@")[0],
                "kubernetesVersion": version,
                "base": "bookworm-1",
                "source": "debian-source",
            }
            (folder / "image.json").write_text(json.dumps(record))
        # What a killed build leaves.
        (tmp_path / "images" / ".half@3.x").mkdir()
        (tmp_path / "images" / "half@3").mkdir()
        return cache

    def find(self, cache, **params):
        options = {
            "image": None,
            "kubernetes_version": None,
            "build": False,
            "source": "auto",
            "binaries": None,
            "mirror": None,
            "debian_release": None,
        }
        return image.for_machine(cache, {**options, "release_url": "x", "install_packages": False, **params}, [])

    def test_by_name(self, cache):
        assert self.find(cache, image="golden")["name"] == "golden"

    def test_by_version(self, cache):
        assert self.find(cache, kubernetes_version="v1.20.2")["name"] == "kubernetes-v1.20.2"

    def test_a_half_built_image_is_none(self, cache):
        assert image.names(cache) == ["golden", "kubernetes-v1.20.2"]
        with pytest.raises(NspawnError, match=r"no machine image half .*there are: golden, kubernetes-v1\.20\.2"):
            self.find(cache, image="half")

    def test_a_missing_image_says_what_there_is_and_what_to_do(self, cache):
        with pytest.raises(NspawnError, match=r"no machine image goldne .*there are: golden, .*leave it out"):
            self.find(cache, image="goldne", kubernetes_version="v1.20.2")

    def test_an_image_of_another_version_is_refused(self, cache):
        with pytest.raises(NspawnError, match=r"golden has Kubernetes v1\.20\.2, but v1\.21\.0 is wanted"):
            self.find(cache, image="golden", kubernetes_version="v1.21.0")

    def test_of_two_debians_the_one_that_was_asked_for_last(self, cache, tmp_path):
        """Whichever was built first: a machine that names no release is made of it."""
        wanted = {"image": "two", "kubernetes_version": "v1.20.2"}
        requests = [image.Request("two", "v1.20.2", "debian-source", release=each) for each in ("bookworm", "trixie")]
        for age, request in enumerate(requests):
            folder = tmp_path / "images" / f"two@{image.key(request, request.source)}"
            for each in (folder, tmp_path / "bases" / f"{request.release}-1"):
                each.mkdir(parents=True)
            record = {"name": "two", "kubernetesVersion": "v1.20.2", "base": f"{request.release}-1"}
            (folder / "image.json").write_text(json.dumps({**record, "source": "debian-source"}))
            os.utime(folder / "image.json", (age, age))
        assert self.find(cache, **wanted)["base"] == "trixie-1"
        assert not image.ensure(cache, requests[0], None)[1]
        assert self.find(cache, **wanted)["base"] == "bookworm-1"

    def test_an_image_of_another_debian_is_not_taken(self, cache, tmp_path):
        record = tmp_path / "images" / "golden@1" / "image.json"
        record.write_text(json.dumps({**json.loads(record.read_text()), "source": "directory"}))
        wanted = {"image": "golden", "kubernetes_version": "v1.20.2", "source": "directory", "binaries": "/nowhere"}
        for release in (None, "bookworm"):
            assert self.find(cache, debian_release=release, **wanted)["name"] == "golden"
        with pytest.raises(NspawnError, match="there is no folder '/nowhere'"):
            self.find(cache, debian_release="trixie", build=True, **wanted)
        with pytest.raises(NspawnError, match="golden has Debian bookworm, but trixie is wanted"):
            self.find(cache, debian_release="trixie", **wanted)
