# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Published Kubernetes release binaries, checked against their published checksums.

Images are pulled by containerd itself.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import typing as t
import urllib.error

from ...common import settings
from ...common.guard import sha256_of
from ..errors import NspawnError
from ..file_operations import locked
from ..layout import Cache
from ..programs import Progress
from .kubernetes_source import NODE_BINARIES

RELEASE_URL = "https://dl.k8s.io/release"


def unreachable(url: str = RELEASE_URL, timeout: float = settings.CONNECT_SECONDS) -> str:
    """Return the reason why the release host doesn't answer in time.

    "" if it does.
    """
    try:
        with _open(f"{url}/stable.txt", timeout, method="HEAD"):
            return ""
    except urllib.error.HTTPError:
        # An answer is an answer; whether it has the version is asked later.
        return ""
    except (OSError, ValueError) as error:
        return str(getattr(error, "reason", error))


def download(cache: Cache, version: str, architecture: str, progress: Progress, url: str = RELEASE_URL) -> str:
    """Return the folder of a version's node binaries; download the missing ones.

    Raises:
        NspawnError: the version isn't published, or a file isn't what its checksum says.
    """
    target = os.path.join(cache.kubernetes, f"release-{version}-{architecture}")
    if os.path.isdir(target):
        return target
    with locked(cache.lock(f"release-{version}"), settings.IMAGE_LOCK_SECONDS, progress.say):
        if os.path.isdir(target):
            return target
        os.makedirs(cache.kubernetes, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache.kubernetes, prefix=".release-") as scratch:
            for name in NODE_BINARIES:
                progress.say(f"downloading {name} {version}")
                _fetch(f"{url}/{version}/bin/linux/{architecture}/{name}", os.path.join(scratch, name))
            done = os.path.join(scratch, "done")
            os.mkdir(done, mode=0o755)
            for name in NODE_BINARIES:
                os.rename(os.path.join(scratch, name), os.path.join(done, name))
            os.rename(done, target)
    return target


def _open(url: str, timeout: float, method: str = "GET") -> t.Any:
    # Imported here: with the standard library alone, as on a bare node, this file can still be imported.
    from ansible.module_utils.urls import open_url

    return open_url(url, method=method, timeout=timeout, use_netrc=False)


def _fetch(url: str, path: str) -> None:
    try:
        with _open(f"{url}.sha256", 30) as answer:
            expected = answer.read(200).decode().split()[0]
        with _open(url, 60) as answer, open(path, "wb") as file:
            shutil.copyfileobj(answer, file, 1 << 20)
    except (OSError, IndexError) as error:
        raise NspawnError(
            f"can't download {url}: {error}. Check that this version is published and the host reachable; "
            "otherwise use the source debian-source (Debian's mirrors only) or directory (your own files)."
        ) from error
    found = sha256_of(path)
    if found != expected:
        raise NspawnError(f"{url} has the checksum {found}, but {expected} is published. It was not used; run again.")
    os.chmod(path, 0o755)
