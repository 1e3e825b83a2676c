# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Build of Kubernetes from Debian's source package.

It is for machines that reach only Debian's mirrors.

Facts in docs/machine_nspawn.md, "Kubernetes from Debian's source". The source tree is fetched and prepared once; each version
stamp is a link of its own (about four minutes for the first on two cores, half a minute for another).
"""

from __future__ import annotations

import glob
import os
import re
import shutil
import tempfile
import typing as t

from ...common import settings
from ..errors import NspawnError
from ..file_operations import locked, put, remove_tree
from ..layout import Cache
from ..programs import Progress
from .debian import Apt

PACKAGE = "kubernetes"
BUILD_PACKAGES = ("golang-go", "dpkg-dev", "make", "gcc", "libc6-dev", "rsync", "patch", "xz-utils")
NODE_BINARIES = ("kubeadm", "kubelet", "kubectl")
IMAGE_BINARIES = ("kube-apiserver", "kube-controller-manager", "kube-scheduler", "kube-proxy")
REFLECT2 = "golang-github-modern-go-reflect2-dev"
VERSION = re.compile(r"^v(\d+)\.(\d+)\.(\d+)\Z")
# A fixed date, so that a build says nothing about when and where it was made.
BUILD_DATE = "1970-01-01T00:00:00Z"

# "-v" is asked of it by the Job with which `kubeadm upgrade` sees whether the cluster runs one.
PAUSE = r"""
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
static void stop(int number) { (void)number; _exit(0); }
static void reap(int number) { (void)number; while (waitpid(-1, 0, WNOHANG) > 0) { } }
int main(int count, char **words) {
    if (count > 1 && strcmp(words[1], "-v") == 0) return 0;
    signal(SIGINT, stop);
    signal(SIGTERM, stop);
    signal(SIGCHLD, reap);
    for (;;) pause();
}
"""


def upstream_version(debian_version: str) -> str:
    """Return the Kubernetes version in a Debian version: ``1.20.5+really1.20.2-1.1+deb12u1`` is ``v1.20.2``.

    Raises:
        NspawnError: it has none.
    """
    upstream = debian_version.rpartition("-")[0] or debian_version
    upstream = upstream.rpartition("+really")[2]
    match = re.match(r"\d+\.\d+\.\d+", upstream)
    if not match:
        raise NspawnError(
            f"Debian's source package {PACKAGE} is {debian_version}, which names no Kubernetes version. Choose another source."
        )
    return f"v{match.group(0)}"


def linker_flags(version: str) -> str:
    """Return the linker flags that stamp a version.

    Raises:
        NspawnError: the version isn't ``vMAJOR.MINOR.PATCH``.
    """
    match = VERSION.match(version)
    if not match:
        raise NspawnError(f"kubernetes_version {version!r}: give all three numbers, such as v1.20.2.")
    stamps = {
        "gitVersion": version,
        "gitMajor": match.group(1),
        "gitMinor": match.group(2),
        "gitTreeState": "clean",
        "gitCommit": "debian",
        "buildDate": BUILD_DATE,
    }
    packages = ("component-base/version", "client-go/pkg/version")
    flags = [
        f"-X k8s.io/kubernetes/vendor/k8s.io/{package}.{key}={value}"
        for package in packages
        for key, value in stamps.items()
    ]
    return " ".join(["-s", "-w", *flags])


class Built(t.NamedTuple):
    """Built binaries: their folder, and the version of their source tree."""

    folder: str
    tree_version: str
    debian_version: str


def build(cache: Cache, apt: Apt, version: str, progress: Progress) -> Built:
    """Return the binaries of a version stamp; build what the cache lacks.

    Args:
        cache: the cache.
        apt: our own apt, updated.
        version: the version stamp, such as v1.20.2.
        progress: where to say what is done.
    """
    flags = linker_flags(version)
    debian_version = apt.source_version(PACKAGE)
    folder = os.path.join(cache.kubernetes, re.sub(r"[^A-Za-z0-9.+~-]", "_", debian_version))
    target = os.path.join(folder, f"bin-{version}")
    built = Built(target, upstream_version(debian_version), debian_version)
    if os.path.isdir(target):
        return built
    with locked(cache.lock(f"kubernetes-{os.path.basename(folder)}"), settings.IMAGE_LOCK_SECONDS, progress.say):
        if os.path.isdir(target):
            return built
        os.makedirs(folder, exist_ok=True)
        tree = _prepare_tree(folder, apt, progress)
        for leftover in glob.glob(os.path.join(folder, ".bin-*")):
            remove_tree(leftover)
        scratch = tempfile.mkdtemp(dir=folder, prefix=".bin-")
        progress.say(
            f"compiling Kubernetes {built.tree_version} with the stamp {version} (minutes the first time, half a minute for another stamp)"
        )
        packages = [f"k8s.io/kubernetes/cmd/{name}" for name in NODE_BINARIES + IMAGE_BINARIES]
        progress.run(
            ["go", "build", "-trimpath", "-ldflags", flags, "-o", f"{scratch}/", *packages],
            cwd=tree,
            env={**_go_environment(folder), "CGO_ENABLED": "0"},
            timeout=settings.IMAGE_LOCK_SECONDS,
        )
        os.chmod(scratch, 0o755)
        os.rename(scratch, target)
        progress.say(f"Kubernetes binaries ready: {target}")
    return built


def compile_pause(folder: str, progress: Progress) -> None:
    """Compile ``pause``, the program that holds a pod's namespaces, in a folder."""
    put(folder, "/pause.c", PAUSE)
    progress.run(["gcc", "-Os", "-static", "-o", os.path.join(folder, "pause"), os.path.join(folder, "pause.c")])
    os.unlink(os.path.join(folder, "pause.c"))


def _go_environment(folder: str) -> dict[str, str]:
    return {
        "GOPATH": os.path.join(folder, "gopath"),
        "GOCACHE": os.path.join(folder, "gocache"),
        "GO111MODULE": "off",
        "GOFLAGS": "",
    }


def _prepare_tree(folder: str, apt: Apt, progress: Progress) -> str:
    """Return the prepared source tree by its path in GOPATH.

    A marker file tells that it is complete.
    """
    final = os.path.join(folder, "gopath", "src", "k8s.io", "kubernetes")
    marker = os.path.join(folder, "tree-is-complete")
    if os.path.exists(marker):
        return final
    for name in ("gopath", "gocache", "download"):
        remove_tree(os.path.join(folder, name))
    download = os.path.join(folder, "download")
    os.makedirs(download)
    os.makedirs(os.path.dirname(final))
    progress.say("fetching and unpacking Debian's source package of Kubernetes")
    description = apt.source(PACKAGE, download)
    # apt has checked the signature of the index, and with it the checksums; the uploader's own key is not at hand.
    progress.run(["dpkg-source", "--no-check", "--extract", description, final])
    # Go 1.18 and later need a newer reflect2 than the vendored one, or kubeadm panics.
    newer = os.path.join(apt.unpack(REFLECT2, download), "usr/share/gocode/src/github.com/modern-go/reflect2")
    vendored = os.path.join(final, "vendor/github.com/modern-go/reflect2")
    remove_tree(vendored)
    shutil.copytree(newer, vendored)
    progress.say("generating code (about a minute)")
    progress.run(["make", "generated_files"], cwd=final, env=_go_environment(folder))
    remove_tree(download)
    with open(marker, "w", encoding="utf-8"):
        pass
    return final
