# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""kubeadm and kubectl from packages, by the module and the real apt and dpkg, in a system of the test's own."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import typing as t
from pathlib import Path

import pytest
from private_host import PrivateHost

TOOLS = ("apt-get", "dpkg-deb", "unshare", "setpriv")
NAMES = ("kubeadm", "kubectl")
OLD, NEW = "1.20.2-1.1", "1.21.0-1.1"
Object = dict[str, t.Any]
pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="dpkg and mounts need root"),
    pytest.mark.skipif(any(shutil.which(each) is None for each in TOOLS), reason="this host has no apt"),
]


class System(PrivateHost):
    """A system whose packages are its own; the host's stay as they are."""

    sources = "/etc/apt/sources.list.d/kubernetes.list"

    def repository(self, version: str) -> None:
        """A repository for the minor of this package version, as the community lays them out, with a package for each program."""
        minor = ".".join(version.split(".")[:2])
        folder = self.folder / "core:" / "stable:" / f"v{minor}" / "deb"
        folder.mkdir(parents=True, exist_ok=True)
        entries = []
        for name in NAMES:
            tree = self.folder / "trees" / f"{name}-{version}"
            program = tree / "usr" / "local" / "bin" / name
            program.parent.mkdir(parents=True)
            program.write_text(f"#!/bin/sh\necho v{version.partition('-')[0]}\n")
            program.chmod(0o755)
            (tree / "DEBIAN").mkdir()
            control = (
                f"Package: {name}\nVersion: {version}\nArchitecture: all\nMaintainer: nobody\nDescription: {name}\n"
            )
            (tree / "DEBIAN" / "control").write_text(control)
            package = folder / f"{name}_{version}_all.deb"
            subprocess.run(["dpkg-deb", "--build", str(tree), str(package)], check=True, capture_output=True)
            content = package.read_bytes()
            digest = hashlib.sha256(content).hexdigest()
            entries.append(f"{control}Filename: ./{package.name}\nSize: {len(content)}\nSHA256: {digest}\n")
        listed = folder / "Packages"
        before = listed.read_text() if listed.exists() else ""
        listed.write_text(before + "\n".join(entries) + "\n")

    def set_up(self) -> None:
        """Version 1.20.2 is installed and held, from the repository of its minor alone."""
        line = f"deb [trusted=yes] file:{self.folder}/core:/stable:/v1.20/deb/ ./"
        self.forget_packages(*NAMES)
        command = (
            f"echo '{line}' > {self.sources} && apt-get update && "
            f"apt-get install -y kubeadm={OLD} kubectl={OLD} && apt-mark hold kubeadm kubectl"
        )
        self.run("sh", "-c", command)

    def ensure(self, **arguments: t.Any) -> Object:
        """Run the module and return its result."""
        return self.module("kubernetes_binaries", **arguments)

    def installed(self) -> dict[str, str]:
        """The packages' versions, by what dpkg says."""
        lines = self.run("dpkg-query", "--show", *NAMES).splitlines()
        return dict(line.split("\t") for line in lines)


@pytest.fixture(name="system")
def _system(tmp_path: Path) -> System:
    made = System(tmp_path)
    made.repository(OLD)
    made.repository(NEW)
    made.repository("1.21.0-1.2")
    made.set_up()
    return made


def test_one_after_the_other(system: System) -> None:
    """The repository of the new minor, kubeadm alone first, then kubectl at its newest build; both held, and a second call changes nothing."""
    done = system.ensure(version="v1.21.0", names=["kubeadm"], package_version=NEW)
    assert (done.get("failed"), done["changed"], done["versions"]) == (None, True, {"kubeadm": "v1.21.0"})
    assert system.installed() == {"kubeadm": NEW, "kubectl": OLD}
    assert "/v1.21/deb/" in system.run("cat", system.sources)
    done = system.ensure(version="v1.21.0", names=["kubectl"])
    assert system.installed() == {"kubeadm": NEW, "kubectl": "1.21.0-1.2"}
    assert system.run("apt-mark", "showhold").split() == ["kubeadm", "kubectl"]
    again = system.ensure(version="v1.21.0", names=list(NAMES))
    assert (again["changed"], again["msg"]) == (False, "kubeadm, kubectl already are v1.21.0")


def test_packages_that_an_interrupted_call_left_unheld(system: System) -> None:
    """The next call finds them at their version, holds them, and says so; in check mode it only says so."""
    system.run("apt-mark", "unhold", "kubectl")
    asked: Object = {"version": "v1.20.2", "names": list(NAMES)}
    for check, held in ((True, ["kubeadm"]), (False, ["kubeadm", "kubectl"])):
        done = system.ensure(**asked, _ansible_check_mode=check)
        assert (done["changed"], done["msg"]) == (True, "kubectl held")
        assert system.run("apt-mark", "showhold").split() == held
    assert system.ensure(**asked)["changed"] is False


def test_a_version_that_is_not_there(system: System) -> None:
    """What there is instead is told; the packages stay, and stay held."""
    done = system.ensure(version="v1.21.9", names=["kubeadm"])
    assert done["failed"] and "No package kubeadm 1.21.9-*" in done["msg"] and "1.21.0-1.2" in done["msg"]
    assert system.installed() == dict.fromkeys(NAMES, OLD)
    assert system.run("apt-mark", "showhold").split() == ["kubeadm", "kubectl"]


@pytest.mark.parametrize("check", [False, True])
def test_a_host_that_was_claimed_since_it_was_free_is_refused(system: System, check: bool) -> None:
    """Another store's cluster, whose kubeadm has not started yet: it left nothing but the claim."""
    claim = {"id": "b", "cluster": "dev", "namespace": "team", "machine": "dev-1", "machineID": "", "claimedAt": ""}
    folder = "/var/lib/kubeadm-control-plane"
    system.run("sh", "-c", f"mkdir -p {folder} && printf '%s' '{json.dumps(claim)}' > {folder}/claim.json")
    done = system.module("host_packages", kubernetes_version="v1.21.0", _ansible_check_mode=check)
    assert "claimed by cluster team/dev, machine dev-1" in done["msg"] and "Nothing was changed." in done["msg"]
    assert system.installed() == dict.fromkeys(NAMES, OLD)


def test_check_mode(system: System) -> None:
    """Nothing is changed, the repository's file neither."""
    done = system.ensure(version="v1.21.0", names=["kubeadm"], _ansible_check_mode=True)
    assert (done["changed"], done["msg"]) == (True, "kubeadm v1.20.2 → v1.21.0")
    assert system.installed() == dict.fromkeys(NAMES, OLD)
    assert "/v1.20/deb/" in system.run("cat", system.sources)
