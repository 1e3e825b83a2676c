# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Container images of one layer as docker-archive files. Standard library only.

`ctr images import` reads them.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import tarfile
import typing as t

from ...common.guard import sha256_of

# The same files give the same image, whenever it is made.
EPOCH = "1970-01-01T00:00:00Z"


def layer(files: t.Mapping[str, str], links: t.Mapping[str, str], target: str) -> str:
    """Write a layer and return its diff id (``sha256:…``).

    Args:
        files: path inside the image (no leading slash) → file on this host. Modes become 0755, owners root.
        links: path inside the image → what the symbolic link there says.
        target: the tar file to write.
    """
    folders = sorted(
        {"/".join(path.split("/")[:depth]) for path in [*files, *links] for depth in range(1, path.count("/") + 1)}
    )
    with tarfile.open(target, "w", format=tarfile.PAX_FORMAT) as archive:
        for folder in folders:
            entry = tarfile.TarInfo(folder)
            entry.type, entry.mode = tarfile.DIRTYPE, 0o755
            archive.addfile(entry)
        for path, origin in sorted(files.items()):
            entry = tarfile.TarInfo(path)
            entry.size, entry.mode = os.path.getsize(origin), 0o755
            with open(origin, "rb") as content:
                archive.addfile(entry, content)
        for path, says in sorted(links.items()):
            entry = tarfile.TarInfo(path)
            entry.type, entry.linkname = tarfile.SYMTYPE, says
            archive.addfile(entry)
    return f"sha256:{sha256_of(target)}"


def configuration(diff_id: str, entrypoint: t.Sequence[str], architecture: str) -> dict[str, t.Any]:
    """Return an image's configuration for one layer."""
    path = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    return {
        "architecture": architecture,
        "os": "linux",
        "created": EPOCH,
        "config": {"Env": [path], "Entrypoint": list(entrypoint)},
        "rootfs": {"type": "layers", "diff_ids": [diff_id]},
        "history": [{"created": EPOCH, "created_by": "kubeadm.control_plane"}],
    }


def write(
    target: str,
    tag: str,
    files: t.Mapping[str, str],
    entrypoint: t.Sequence[str],
    architecture: str,
    links: t.Optional[t.Mapping[str, str]] = None,
) -> None:
    """Write an image of one layer to a tar file.

    Args:
        target: the archive to write; ``<target>.layer`` is used meanwhile.
        tag: the image's full name, such as ``k8s.gcr.io/pause:3.2``.
        files, links, entrypoint, architecture: see ``layer`` and ``configuration``; the architecture is Go's name (amd64).
    """
    scratch = f"{target}.layer"
    try:
        diff_id = layer(files, links or {}, scratch)
        config = json.dumps(configuration(diff_id, entrypoint, architecture), sort_keys=True).encode()
        name = f"{hashlib.sha256(config).hexdigest()}.json"
        manifest = json.dumps([{"Config": name, "RepoTags": [tag], "Layers": ["layer.tar"]}]).encode()
        with tarfile.open(target, "w", format=tarfile.PAX_FORMAT) as archive:
            for path, content in ((name, config), ("manifest.json", manifest)):
                entry = tarfile.TarInfo(path)
                entry.size, entry.mode = len(content), 0o644
                archive.addfile(entry, io.BytesIO(content))
            entry = tarfile.TarInfo("layer.tar")
            entry.size, entry.mode = os.path.getsize(scratch), 0o644
            with open(scratch, "rb") as stream:
                archive.addfile(entry, stream)
    finally:
        if os.path.exists(scratch):
            os.unlink(scratch)
