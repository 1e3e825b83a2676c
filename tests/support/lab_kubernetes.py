# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The Kubernetes that the lab runs, by one setting: ``make test-lab KUBERNETES="..."`` (docs/kubernetes_versions.md).

DEBIAN names the release of Debian of the machines.

Its words are versions (v1.33.4: release binaries) and folders (image source ``directory``). The first is what clusters are made of,
the second what they are upgraded to; tests that need a second one are skipped where there is none.
"""

from __future__ import annotations

import os
import subprocess
import typing as t
from dataclasses import replace

import pytest

from ansible_collections.kubeadm.control_plane.plugins.module_utils.common import kubernetes_versions
from ansible_collections.kubeadm.control_plane.plugins.module_utils.nspawn.image import cache as image
from ansible_collections.kubeadm.control_plane.plugins.module_utils.nspawn.image import debian
from ansible_collections.kubeadm.control_plane.plugins.module_utils.nspawn.image.build import Request
from ansible_collections.kubeadm.control_plane.plugins.module_utils.nspawn.image.container_images import short_name
from ansible_collections.kubeadm.control_plane.plugins.module_utils.nspawn.layout import Cache

SETTING = "KUBEADM_CONTROL_PLANE_KUBERNETES"
DEBIAN = "KUBEADM_CONTROL_PLANE_DEBIAN"
# The second is the same source under another stamp: kubeadm, kubelet and the images' tags agree on it (it is not Kubernetes 1.21).
DEFAULT = (Request(image.image_name("v1.20.2"), "v1.20.2"), Request(image.image_name("v1.21.0"), "v1.21.0"))
CACHE = os.environ.get("KUBEADM_CONTROL_PLANE_CACHE") or os.path.expanduser("~/.cache/kubeadm-control-plane")


def requests(setting: str, release: str = "") -> tuple[Request, ...]:
    """The machine images of a setting, one or two; of an empty one what Debian 12 has, under two stamps.

    ``release`` is that of Debian, Debian 12 where it is empty.

    Raises:
        ValueError: there is no such release, there are more, a word is neither a version nor a folder with kubeadm, or the second is no upgrade of the first.
    """
    if release not in ("", *debian.RELEASES):
        raise ValueError(f"DEBIAN={release}: a machine has one of {', '.join(debian.RELEASES)}.")
    found = tuple(_request(word) for word in setting.split()) or DEFAULT
    found = tuple(replace(each, release=release or each.release) for each in found)
    if len(found) > 2:
        raise ValueError(f"KUBERNETES={setting}: give one version or folder, or two, and not {len(found)}.")
    if len(found) == 2:
        first, second = (kubernetes_versions.parse(each.version) for each in found)
        if not first < second or not second.follows(first):
            raise ValueError(
                f"KUBERNETES={setting}: {second} is no upgrade of {first}. Give the older first; no minor version may be skipped."
            )
    return found


def version_of(kubeadm: str) -> str:
    """The version that a kubeadm reports."""
    words = [kubeadm, "version", "--output", "short"]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()


def _request(word: str) -> Request:
    if kubernetes_versions.read_version(word) is not None:
        version = kubernetes_versions.with_v(word)
        return Request(image.image_name(version), version, "release")
    kubeadm = os.path.join(word, "kubeadm")
    if not os.path.isabs(word) or not os.access(kubeadm, os.X_OK):
        raise ValueError(
            f"KUBERNETES: {word} is neither a version such as v1.33.4 nor the whole path of a folder with kubeadm in it."
        )
    version = version_of(kubeadm)
    return Request(image.image_name(version), version, "directory", word)


REQUESTS = requests(os.environ.get(SETTING, ""), os.environ.get(DEBIAN, ""))
VERSION = REQUESTS[0].version
# The version of upgrades; without one, VERSION, so that tests of it can be collected (and are skipped).
NEXT = REQUESTS[-1].version
# The apiVersion of configuration that is given to VERSION's kubeadm.
API = kubernetes_versions.api_version_for(VERSION).api_version
# A PodDisruptionBudget's (Kubernetes' guide of deprecated APIs).
BUDGETS = "policy/v1" if kubernetes_versions.parse(VERSION).at_least(21) else "policy/v1beta1"
upgrades = pytest.mark.skipif(NEXT == VERSION, reason=f"no second Kubernetes to go to from {VERSION}: {SETTING}")


def record(version: str = VERSION) -> dict[str, t.Any]:
    """The record of a version's machine image, which is built where it is missing."""
    cache = Cache(CACHE)
    request = next((each for each in REQUESTS if each.version == version), Request(image.image_name(version), version))
    return image.ensure(cache, request, image.progress_of(cache, request))[0]


def image_named(name: str, version: str = VERSION) -> str:
    """The full name of an image that kubeadm of this version asks for, by its last part (pause)."""
    return next(str(each) for each in record(version)["images"] if short_name(each) == name)


def digest() -> str:
    """One word that differs where one of the machine images does."""
    return "-".join(image.key(each, each.source) for each in REQUESTS)
