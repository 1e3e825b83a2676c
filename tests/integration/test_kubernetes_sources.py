# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Sources of a machine image, with real programs: a folder of them, and a server that has them as the release host does."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest
from namespaced_node import binaries_of

from ansible_collections.kubeadm.control_plane.plugins.module_utils.nspawn.errors import NspawnError
from ansible_collections.kubeadm.control_plane.plugins.module_utils.nspawn.image import (
    debian,
    docker_archive,
    kubernetes_directory,
    kubernetes_release,
)
from ansible_collections.kubeadm.control_plane.plugins.module_utils.nspawn.layout import Cache
from ansible_collections.kubeadm.control_plane.plugins.module_utils.nspawn.programs import Progress

VERSION = "v1.20.2"
PROXY = f"k8s.gcr.io/kube-proxy:{VERSION}"


@pytest.fixture
def binaries():
    found = binaries_of(VERSION)
    if found is None:
        pytest.skip("no Kubernetes programs in the cache: build a machine image first")
    return found


class TestDirectory:
    @pytest.fixture
    def folder(self, tmp_path, binaries):
        folder = tmp_path / "mine"
        folder.mkdir()
        for name in os.listdir(binaries):
            (folder / name).symlink_to(os.path.join(binaries, name))
        return folder

    def examine(self, folder, version=VERSION):
        return kubernetes_directory.examine(str(folder), version, debian.architecture())

    def test_a_copy_of_our_own_build_is_complete(self, folder):
        found = self.examine(folder)
        assert PROXY in found.wanted
        assert found.archives == {}

    def test_an_archive_takes_the_place_of_a_program(self, folder):
        (folder / "kube-proxy").unlink()
        with pytest.raises(NspawnError, match=rf"neither an archive of the image {PROXY} nor the program kube-proxy"):
            self.examine(folder)
        archive = folder / "images" / "whatever"
        archive.parent.mkdir()
        docker_archive.write(str(archive), PROXY, {"p": str(folder / "kubeadm")}, ["/p"], "amd64")
        assert self.examine(folder).archives == {PROXY: str(archive)}

    def test_what_is_wrong_is_said_at_once(self, folder):
        for name in ("kubectl", "kube-apiserver", "kube-scheduler"):
            (folder / name).unlink()
        with pytest.raises(NspawnError) as refused:
            self.examine(folder, "v1.20.3")
        for wrong in (
            "kubectl is missing",
            "kubeadm reports the version v1.20.2, and v1.20.3 is wanted",
            "kubelet reports the version v1.20.2, and v1.20.3 is wanted",
            "the program kube-apiserver",
            "the program kube-scheduler",
        ):
            assert wrong in str(refused.value)


class TestRelease:
    """The layout and the checksum files of https://dl.k8s.io/release, on loopback."""

    @pytest.fixture
    def site(self, tmp_path, binaries):
        folder = tmp_path / "release" / VERSION / "bin" / "linux" / debian.architecture()
        folder.mkdir(parents=True)
        (tmp_path / "release" / "stable.txt").write_text(VERSION)
        for name in ("kubeadm", "kubelet", "kubectl"):
            path = folder / name
            path.symlink_to(os.path.join(binaries, name))
            # The digest alone, as it is published: no name, no end of line.
            (folder / f"{name}.sha256").write_text(hashlib.sha256(path.read_bytes()).hexdigest())
        return folder

    @pytest.fixture
    def url(self, tmp_path, site):
        handler = partial(SimpleHTTPRequestHandler, directory=str(tmp_path))
        server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/release"
        server.shutdown()
        server.server_close()

    @pytest.fixture
    def cache(self, tmp_path):
        return Cache(str(tmp_path / "cache"))

    def download(self, cache, url, version=VERSION):
        log = Progress(os.path.join(cache.logs, "release.log"))
        return kubernetes_release.download(cache, version, debian.architecture(), log, url)

    def test_programs_are_those_that_are_published(self, cache, url, site):
        assert kubernetes_release.unreachable(url) == ""
        folder = self.download(cache, url)
        assert sorted(os.listdir(folder)) == ["kubeadm", "kubectl", "kubelet"]
        said = subprocess.run(
            [f"{folder}/kubeadm", "version", "-o", "short"], capture_output=True, text=True, check=True
        )
        assert said.stdout.strip() == VERSION
        # Nothing is asked for again.
        shutil.rmtree(site)
        assert self.download(cache, url) == folder

    def test_another_content_than_the_checksums_is_not_used(self, cache, url, site):
        (site / "kubelet.sha256").write_text("0" * 64)
        with pytest.raises(NspawnError, match=r"kubelet has the checksum [0-9a-f]{64}, but 0{64} is published"):
            self.download(cache, url)
        assert [name for name in os.listdir(cache.kubernetes) if not name.startswith(".")] == []

    def test_a_version_that_is_not_published_is_named(self, cache, url):
        with pytest.raises(NspawnError, match=r"can't download .*/v1\.20\.9/bin/linux/.*this version is published"):
            self.download(cache, url, "v1.20.9")
