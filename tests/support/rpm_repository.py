# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A repository of RPMs as somebody has one: packed here, signed with a key of its own, and served over HTTP."""

from __future__ import annotations

import os
import shutil
import subprocess
import typing as t
from pathlib import Path

from package_repository import PackageRepository


class RpmRepository(PackageRepository):
    """``publish`` makes what was packed known."""

    # What every rpm can verify.
    KIND = "rsa2048"

    def pack(
        self, name: str, version: str, files: t.Mapping[str, t.Union[str, Path]], depends: str = "", more: str = ""
    ) -> None:
        """Pack programs and texts, by their path on the host, into a package; ``more`` are lines of its description."""
        top = self.folder.parent / "packed"
        root = top / f"{name}-{version}"
        for path, content in files.items():
            target = root / path.lstrip("/")
            target.parent.mkdir(parents=True, exist_ok=True)
            if isinstance(content, Path):
                shutil.copyfile(content, target)
            else:
                target.write_text(content)
            target.chmod(0o755)
        number, _sign, release = version.partition("-")
        spec = top / f"{name}.spec"
        spec.write_text(
            f"Name: {name}\nVersion: {number}\nRelease: {release}\nSummary: packed by the tests\nLicense: none\nBuildArch: noarch\nAutoReqProv: no\n"
            + (f"Requires: {depends}\n" if depends else "")
            + more
            + f"%description\nPacked by the tests.\n%install\ncp -a {root}/. %{{buildroot}}/\n%files\n"
            + "".join(f"{path}\n" for path in files)
        )
        words = ["rpmbuild", "-bb", "--define", f"_topdir {top}", "--define", f"_rpmdir {self.folder}", str(spec)]
        self._run(*words)
        shutil.rmtree(root)

    def _run(self, *words: str) -> None:
        # Debian's rpm keeps a database in the home.
        subprocess.run(words, env={**os.environ, "HOME": str(self.home)}, check=True, capture_output=True)

    def publish(self, signed: bool = True) -> None:
        """Sign the packages, write the lists, and sign them."""
        # Debian's gpg is not where rpm looks for it.
        own = (f"_gpg_name {self.NAME}", f"_gpg_path {self.home}", f"__gpg {shutil.which('gpg')}")
        key = [word for each in own for word in ("--define", each)]
        if signed:
            packages = [str(each) for each in sorted(self.folder.rglob("*.rpm"))]
            self._run("rpmsign", *key, "--addsign", *packages)
        self._run("createrepo_c", "--quiet", str(self.folder))
        listed = self.folder / "repodata/repomd.xml"
        if signed:
            self.gpg("--armor", "--detach-sign", "--output", f"{listed}.asc", str(listed))
