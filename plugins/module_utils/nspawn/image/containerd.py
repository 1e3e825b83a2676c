# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Import of images into a containerd folder, once per machine image.

containerd runs in the image itself, in namespaces of its own.
"""

from __future__ import annotations

import os
import shutil
import typing as t

from ..file_operations import remove_tree
from ..programs import Progress

# Nothing of this outlives the script: the mounts are in a mount namespace, containerd in a pid namespace that ends with it.
OUTSIDE = r"""set -eu
root=$1 lower=$2 upper=$3 work=$4 containerd=$5 job=$6
mount -t overlay -o "lowerdir=$lower,upperdir=$upper,workdir=$work" overlay "$root"
mkdir -p "$root/mnt" "$root/var/lib/containerd" "$root/etc"
mount --bind "$containerd" "$root/var/lib/containerd"
mount --bind "$job" "$root/mnt"
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
mount -t tmpfs tmpfs "$root/run"
mount -t tmpfs tmpfs "$root/tmp"
cp /etc/resolv.conf "$root/etc/resolv.conf" 2>/dev/null || true
exec chroot "$root" /bin/sh /mnt/inside.sh
"""

INSIDE = r"""set -eu
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
printf 'version = 2\ndisabled_plugins = ["io.containerd.grpc.v1.cri"]\n' > /tmp/containerd.toml
containerd --config /tmp/containerd.toml --log-level warn &
daemon=$!
tries=0
until ctr version > /dev/null 2>&1; do
    tries=$((tries + 1))
    [ "$tries" -lt 300 ] || { echo 'containerd did not answer within 30 s' >&2; exit 1; }
    sleep 0.1
done
for archive in /mnt/*.tar; do
    [ -e "$archive" ] || continue
    ctr -n k8s.io images import "$archive"
done
while read -r image; do
    [ -n "$(ctr -n k8s.io images ls -q "name==$image")" ] || ctr -n k8s.io images pull "$image"
done < /mnt/pull
ctr -n k8s.io images ls -q > /mnt/present
ctr oci spec > /mnt/base-spec.json
kill "$daemon"
wait "$daemon" || true
"""


class Imported(t.NamedTuple):
    """Names of the present images, and containerd's default runtime specification (JSON)."""

    images: list[str]
    spec: str


def import_images(
    lower: t.Sequence[str], containerd: str, archives: str, pull: t.Sequence[str], progress: Progress
) -> Imported:
    """Import archives and pull images into a containerd folder.

    Args:
        lower: the root file system's folders, the topmost first.
        containerd: an existing empty folder, ``/var/lib/containerd`` to be.
        archives: the folder of ``*.tar`` files; also takes the job's own files.
        pull: images to pull from their registries, unless an archive brought them.
        progress: takes the output.
    """
    scratch = f"{containerd}.import"
    try:
        paths = {name: os.path.join(scratch, name) for name in ("root", "upper", "work")}
        for path in paths.values():
            os.makedirs(path)
        for name, text in (("inside.sh", INSIDE), ("pull", "".join(f"{image}\n" for image in pull))):
            with open(os.path.join(archives, name), "w", encoding="utf-8") as file:
                file.write(text)
        command = [
            "unshare",
            "--mount",
            "--propagation",
            "private",
            "--pid",
            "--fork",
            "--kill-child",
            "/bin/sh",
            "-c",
            OUTSIDE,
            "sh",
        ]
        progress.run([*command, paths["root"], ":".join(lower), paths["upper"], paths["work"], containerd, archives])
        with open(os.path.join(archives, "present"), encoding="utf-8") as file:
            present = [line for line in file.read().split() if "@" not in line and not line.startswith("sha256:")]
        with open(os.path.join(archives, "base-spec.json"), encoding="utf-8") as file:
            return Imported(sorted(present), file.read())
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
        remove_tree(scratch)
