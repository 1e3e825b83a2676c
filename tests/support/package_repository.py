# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A repository of Debian packages as somebody has one: packed here, signed with a key of its own, and served over HTTP."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import http.server
import os
import shutil
import subprocess
import tempfile
import threading
import typing as t
import weakref
from pathlib import Path


class PackageRepository:
    """A flat repository (suite ``/``) in a folder; ``publish`` makes what was added known."""

    NAME = "packages of the tests"
    KIND = "ed25519"

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "repository"
        self.folder.mkdir(parents=True)
        # Not in the test's folder: gpg's agent has its socket there, whose path may have 107 characters.
        self.home = Path(tempfile.mkdtemp(prefix="gpg-"))
        weakref.finalize(self, shutil.rmtree, self.home, ignore_errors=True)
        self.gpg("--quick-generate-key", self.NAME, self.KIND, "sign", "never")
        self.key = folder / "repository.asc"
        self.key.write_text(self.gpg("--armor", "--export"))
        self._served = contextlib.ExitStack()

    def gpg(self, *words: str) -> str:
        """Run gpg with the repository's own keys."""
        command = [
            "gpg",
            "--homedir",
            str(self.home),
            "--batch",
            "--yes",
            "--pinentry-mode",
            "loopback",
            "--passphrase",
            "",
        ]
        return subprocess.run([*command, *words], check=True, capture_output=True, text=True).stdout

    def pack(
        self, name: str, version: str, files: t.Mapping[str, t.Union[str, Path]], depends: str = "", more: str = ""
    ) -> None:
        """Pack programs and texts, by their path on the host, into a package; ``more`` are lines of its description."""
        root = self.folder.parent / "packed" / f"{name}_{version}"
        (root / "DEBIAN").mkdir(parents=True)
        control = f"Package: {name}\nVersion: {version}\nArchitecture: all\nMaintainer: tests <tests@example.org>\nDescription: packed by the tests\n"
        (root / "DEBIAN/control").write_text(control + (f"Depends: {depends}\n" if depends else "") + more)
        for path, content in files.items():
            target = root / path.lstrip("/")
            target.parent.mkdir(parents=True, exist_ok=True)
            if isinstance(content, Path):
                shutil.copyfile(content, target)
            else:
                target.write_text(content)
            target.chmod(0o755 if isinstance(content, Path) or content.startswith("#!") else 0o644)
        subprocess.run(
            ["dpkg-deb", "--build", "-Znone", "--root-owner-group", root, self.folder], check=True, capture_output=True
        )
        shutil.rmtree(root)

    def add(self, package: Path) -> None:
        """Add a package that somebody else packed."""
        # apt asks for a colon of the version as it is; Debian's own files have it encoded.
        shutil.copyfile(package, self.folder / package.name.replace("%3a", "-"))

    def write_digests(self) -> None:
        """Write the list that a folder of archives has, in the order of their names as sha256sum does."""
        lines = [
            f"{hashlib.sha256(each.read_bytes()).hexdigest()}  {each.name}\n"
            for each in sorted(self.folder.glob("*.deb"))
        ]
        (self.folder / "SHA256SUMS").write_text("".join(lines))

    def publish(self, signed: bool = True) -> None:
        """Write the lists, and sign them."""
        entries = []
        for package in sorted(self.folder.glob("*.deb")):
            control = subprocess.run(
                ["dpkg-deb", "--field", package], check=True, capture_output=True, text=True
            ).stdout
            digest = hashlib.sha256(package.read_bytes()).hexdigest()
            entries.append(f"{control}Filename: ./{package.name}\nSize: {package.stat().st_size}\nSHA256: {digest}\n")
        self.write_digests()
        listed = "\n".join(entries)
        (self.folder / "Packages").write_text(listed)
        digest = hashlib.sha256(listed.encode()).hexdigest()
        release = (
            f"Origin: tests\nDate: Thu, 01 Jan 2026 00:00:00 UTC\nSHA256:\n {digest} {len(listed.encode())} Packages\n"
        )
        (self.folder / "Release").write_text(release)
        for name in ("InRelease", "Release.gpg"):
            (self.folder / name).unlink(missing_ok=True)
        if signed:
            self.gpg("--clearsign", "--output", str(self.folder / "InRelease"), str(self.folder / "Release"))

    def serve(self, address: str = "127.0.0.1") -> str:
        """Serve it until ``stop``, and return its URL."""
        return self._served.enter_context(serving(self.folder, address))

    def stop(self) -> None:
        """Serve it no longer."""
        subprocess.run(["gpgconf", "--homedir", str(self.home), "--kill", "all"], check=False, capture_output=True)
        self._served.close()


@contextlib.contextmanager
def serving(folder: Path, address: str = "127.0.0.1") -> t.Iterator[str]:
    """Serve a folder over HTTP, and return its URL."""
    handler = functools.partial(_Quiet, directory=os.fspath(folder))
    with http.server.ThreadingHTTPServer((address, 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://{address}:{server.server_address[1]}/"
        finally:
            server.shutdown()


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_words: t.Any) -> None:
        """Say nothing."""
