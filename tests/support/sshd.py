# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A real sshd on loopback with a machine's system behind it: that of the lab's machines, in a mount namespace of its own."""

from __future__ import annotations

import os
import subprocess
import typing as t
from pathlib import Path

import pytest
from etcd_cluster import free_port, until

from ansible_collections.kubeadm.control_plane.plugins.module_utils.nspawn.image import debian

# sshd's own folder, what it looks at processes by, and no file of the base is changed.
PREPARE = """
set -e
mount --make-rprivate /
mount -t overlay overlay -o "lowerdir=$1,upperdir=$2/upper,workdir=$2/work" "$2/root"
mount --rbind /dev "$2/root/dev"
mount -t proc proc "$2/root/proc"
mount -t tmpfs tmpfs "$2/root/run"
mkdir "$2/root/run/sshd"
exec chroot "$2/root" /usr/sbin/sshd -D -e -f /etc/ssh/under_test
"""
SETTINGS = """
Port {port}
ListenAddress 127.0.0.1
HostKey /etc/ssh/key_under_test
AuthorizedKeysFile /etc/ssh/authorized_under_test
PermitRootLogin yes
StrictModes no
UsePAM no
"""


class Sshd:
    """A running sshd; ``host_key`` and ``client_key`` are its public and the client's private key."""

    def __init__(self, folder: Path, base: Path) -> None:
        self.folder, self.port = folder, free_port()
        for each in ("upper/etc/ssh", "work", "root"):
            (folder / each).mkdir(parents=True)
        self.host_key = self._key(folder / "upper/etc/ssh/key_under_test")
        self.client_public = self._key(folder / "client")
        self.client_key = (folder / "client").read_bytes()
        (folder / "upper/etc/ssh/authorized_under_test").write_text(self.client_public + "\n")
        (folder / "upper/etc/ssh/under_test").write_text(SETTINGS.format(port=self.port))
        self.log = folder / "log"
        command = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", PREPARE, "sh"]
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(
                [*command, str(base), str(folder)], stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
        until("sshd listens", self._listens)

    @property
    def connection(self) -> dict[str, t.Any]:
        """What a provider records of this machine."""
        return {"host": "127.0.0.1", "port": self.port, "user": "root", "hostKeys": [self.host_key]}

    def put_program(self, path: str, text: str) -> None:
        """Replace a program of the machine's."""
        file = self.folder / "root" / path.lstrip("/")
        inside = f"/proc/{self._inner()}/root{path}"
        assert not file.exists(), "it would be the host's"
        os.unlink(inside)
        Path(inside).write_text(text)
        os.chmod(inside, 0o755)

    def end(self) -> None:
        """End it, with everything that was started through it."""
        self._process.kill()
        self._process.wait()

    def _inner(self) -> int:
        children = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children").read_text().split()
        return int(children[0])

    def _listens(self) -> bool:
        assert self._process.poll() is None, self.log.read_text()
        return "Server listening" in self.log.read_text()

    @staticmethod
    def _key(path: Path) -> str:
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", str(path)], check=True)
        return " ".join(path.with_name(f"{path.name}.pub").read_text().split()[:2])


def find_base() -> Path:
    """Return the system of the lab's machines; skips where there is none, or none of its own may be made of it."""
    default = os.path.expanduser("~/.cache/kubeadm-control-plane")
    cache = Path(os.environ.get("KUBEADM_CONTROL_PLANE_CACHE") or default)
    # An sshd of Debian 13 lets nobody in for a while whose connections fail.
    found = [each.parents[2] for each in sorted(cache.glob(f"bases/{debian.SUITE}-*/usr/sbin/sshd"))]
    if not found or os.geteuid() != 0:
        pytest.skip("no system with an sshd in the cache, or not root: build a machine image first")
    return found[-1]
