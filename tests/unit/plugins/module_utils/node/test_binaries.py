# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Programs brought to a version: real files; systemctl, apt and dnf are stand-ins that keep what they were asked for."""

from __future__ import annotations

import hashlib
import json
import subprocess
import typing as t
from pathlib import Path

import pytest

from ansible_collections.kubeadm.control_plane.plugins.module_utils.common.guard import NodeError
from ansible_collections.kubeadm.control_plane.plugins.module_utils.node.host.binaries import FILES, Binaries, Wanted
from ansible_collections.kubeadm.control_plane.plugins.module_utils.node.packages.packages import Apt, Dnf
from ansible_collections.kubeadm.control_plane.plugins.module_utils.node.packages.select_manager import manager_of

OLD, NEW = "v1.20.2", "v1.21.0"
NAMES = ("kubeadm", "kubelet", "kubectl")
KUBERNETES_LIST = "deb [signed-by=/k.gpg] https://pkgs.example.org/core:/stable:/v1.20/deb/ /\n"


def program(path: Path, version: str) -> None:
    """A program that says its version as the real one does."""
    path.parent.mkdir(parents=True, exist_ok=True)
    client = {"clientVersion": {"major": "1", "gitVersion": version, "goVersion": "go1.19.8"}}
    said = {"kubelet": f"Kubernetes {version}", "kubectl": json.dumps(client, indent=2)}.get(path.name, version)
    path.write_text(f"#!/bin/sh\ncat <<'END'\n{said}\nEND\n")
    path.chmod(0o755)


class Host:
    """A machine: its programs, its kubelet's process, its package manager."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.words: list[str] = []
        self.available: dict[str, list[str]] = {}
        self.known = False
        self.family = "apt"
        (folder / "proc" / "7").mkdir(parents=True)
        for name in NAMES:
            program(folder / "bin" / name, OLD)
        self.kubelet_runs(str(folder / "bin" / "kubelet"))

    def kubelet_runs(self, path: str) -> None:
        """What the kubelet's process was started from."""
        link = self.folder / "proc" / "7" / "exe"
        link.unlink(missing_ok=True)
        link.symlink_to(path)

    def binaries(self) -> Binaries:
        """What is tested, on this machine."""
        folder = self.folder
        return Binaries(
            (str(folder / "bin"),), self.systemctl, self.package, str(folder / "root"), str(folder / "proc"), ""
        )

    def systemctl(self, words: t.Sequence[str]) -> subprocess.CompletedProcess[str]:
        """Stands in for systemd."""
        if words[1] == "show":
            return subprocess.CompletedProcess(list(words), 0, "MainPID=7\n", "")
        self.words.append(" ".join(words))
        if words[1] == "restart":
            self.kubelet_runs(str(self.folder / "bin" / "kubelet"))
        return subprocess.CompletedProcess(list(words), 0, "", "")

    def package(self, words: t.Sequence[str]) -> subprocess.CompletedProcess[str]:
        """Stands in for apt and dnf."""
        out, code, plain = "", 0, " ".join(words)
        name = words[-1]
        if words[0] == "dpkg-query":
            out, code = ("installed", 0) if self.family == "apt" else ("", 1)
        elif words[0] == "rpm":
            code = 0 if self.family == "dnf" else 1
        elif plain.startswith("apt-cache madison"):
            out = "".join(f" {name} | {each} | https://r Packages\n" for each in self._there(name))
        elif words[0] == "dnf" and "list" in words:
            out = "Available Packages\n" + "".join(
                f"{name}.x86_64  0:{each}  repo\n" for each in self._there(name)[::-1]
            )
        elif words[0] == "dnf" and words[1] == "--version":
            out = "4.14"
        else:
            self.words.append(plain)
            self.known = self.known or "update" in words or {"--refresh", "makecache"} <= {*words}
            for each in words:
                package, _sign, version = each.partition("=") if self.family == "apt" else each.partition("-")
                if version and package in NAMES:
                    program(self.folder / "bin" / package, "v" + version.partition("-")[0])
                    self.kubelet_runs(f"{self.folder / 'bin' / 'kubelet'} (deleted)")
        return subprocess.CompletedProcess(list(words), code, out, "")

    def _there(self, name: str) -> list[str]:
        return (
            self.available.get(name, [])
            if self.known
            else [each for each in self.available.get(name, []) if "1.20" in each]
        )


@pytest.fixture(name="host")
def _host(tmp_path: Path) -> Host:
    return Host(tmp_path)


def files(host: Host, version: str = NEW, says: str = "") -> Wanted:
    """Binaries of a version in a folder of the machine."""
    for name in NAMES:
        program(host.folder / "opt" / version / name, says or version)
    return Wanted(NAMES, version, FILES, str(host.folder / "opt" / "{version}"))


def test_files(host: Host) -> None:
    """All three are put in place and the kubelet is restarted; a second call changes nothing."""
    done = host.binaries().ensure(files(host))
    assert (done.changed, done.restarted) == (True, True)
    assert dict(done.after) == dict.fromkeys(NAMES, NEW)
    assert host.words == ["systemctl daemon-reload", "systemctl restart kubelet.service"]
    again = host.binaries().ensure(files(host))
    assert (again.changed, again.restarted, again.message) == (
        False,
        False,
        "kubeadm, kubelet, kubectl already are v1.21.0",
    )
    assert [each.name for each in (host.folder / "bin").iterdir() if each.name.startswith(".")] == []


def test_kubeadm_alone_restarts_nothing(host: Host) -> None:
    """Before `kubeadm upgrade` only kubeadm is exchanged."""
    wanted = files(host)
    done = host.binaries().ensure(Wanted(("kubeadm",), NEW, FILES, wanted.path))
    assert (done.changed, done.restarted, host.words) == (True, False, [])
    assert host.binaries().version_of("kubelet") == OLD


def test_a_kubelet_that_was_not_restarted(host: Host) -> None:
    """A call that was killed between the two leaves a kubelet that runs a program which is no more: the next one restarts it."""
    host.binaries().ensure(files(host), restart_kubelet=False)
    host.kubelet_runs(f"{host.folder / 'bin' / 'kubelet'} (deleted)")
    done = host.binaries().ensure(files(host))
    assert (done.changed, done.restarted, done.message) == (True, True, "kubelet restarted")


def test_a_link_is_replaced_not_what_it_leads_to(host: Host) -> None:
    """A program that is a link into a folder of another version leaves that folder as it is."""
    old = host.folder / "opt" / OLD / "kubeadm"
    program(old, OLD)
    link = host.folder / "bin" / "kubeadm"
    link.unlink()
    link.symlink_to(old)
    host.binaries().ensure(files(host))
    assert OLD in old.read_text()
    assert not link.is_symlink()


def test_check_mode(host: Host) -> None:
    """What would change is told, and nothing is changed."""
    done = host.binaries().ensure(files(host), check=True)
    assert (done.changed, done.restarted, dict(done.after)) == (True, True, dict.fromkeys(NAMES, NEW))
    assert host.binaries().version_of("kubeadm") == OLD
    assert host.words == []


@pytest.mark.parametrize("wrong", ["version", "checksum", "missing"])
def test_files_that_are_not_what_they_should_be(host: Host, wrong: str) -> None:
    """Refused before anything is changed."""
    wanted = files(host, says="v1.21.1" if wrong == "version" else "")
    folder = Path(wanted.path.replace("{version}", NEW))
    checksums = {}
    if wrong == "checksum":
        checksums = {"kubectl": "sha256:" + hashlib.sha256(b"other").hexdigest()}
    if wrong == "missing":
        (folder / "kubectl").unlink()
    with pytest.raises(NodeError, match="Nothing was changed"):
        host.binaries().ensure(Wanted(NAMES, NEW, FILES, wanted.path, checksums=checksums))
    assert {host.binaries().version_of(name) for name in NAMES} == {OLD}


def test_checksums_that_are_right(host: Host) -> None:
    """Each file is compared with its own."""
    wanted = files(host)
    digest = hashlib.sha256((Path(wanted.path.replace("{version}", NEW)) / "kubelet").read_bytes()).hexdigest()
    checksums = {"kubelet": f"sha256:{digest}"}
    assert host.binaries().ensure(Wanted(NAMES, NEW, FILES, wanted.path, checksums=checksums)).changed


def sources(host: Host, name: str, text: str) -> Path:
    """A repository file."""
    path = host.folder / "root" / name
    path.parent.mkdir(parents=True)
    path.write_text(text)
    return path


def test_apt(host: Host) -> None:
    """The repository of the new minor, its lists, the packages let go, installed at the newest build, and held again."""
    path = sources(
        host, "etc/apt/sources.list.d/kubernetes.list", f"# v1.20 was here: /core:/stable:/v1.20/\n{KUBERNETES_LIST}"
    )
    host.available = {name: ["1.21.0-1.2", "1.21.0-1.1", "1.20.2-1.1"] for name in NAMES}
    done = host.binaries().ensure(Wanted(("kubelet", "kubectl"), NEW))
    assert (done.changed, done.restarted) == (True, True)
    assert path.read_text() == f"# v1.20 was here: /core:/stable:/v1.20/\n{KUBERNETES_LIST.replace('v1.20', 'v1.21')}"
    lock = "-o DPkg::Lock::Timeout=300"
    assert host.words == [
        f"apt-get {lock} update",
        f"apt-get {lock} -o Dpkg::Options::=--force-confold install --yes --no-install-recommends"
        " --allow-change-held-packages kubelet=1.21.0-1.2 kubectl=1.21.0-1.2",
        "apt-mark hold kubelet kubectl",
        "systemctl daemon-reload",
        "systemctl restart kubelet.service",
    ]


def test_a_second_file_of_an_older_minor_is_left_alone(host: Host) -> None:
    """With both at one minor, and a key of its own in each, apt would refuse all sources of the host."""
    folder = host.folder / "root/etc/apt/sources.list.d"
    older = sources(host, f"{folder}/kubernetes.list", KUBERNETES_LIST.replace("v1.20", "v1.9"))
    newer = folder / "kubernetes.sources"
    newer.write_text(
        "Types: deb\nURIs: https://pkgs.example.org/core:/stable:/v1.20/deb\nSuites: /\nSigned-By: /own.asc\n"
    )
    host.available = {name: ["1.21.0-1.1", "1.20.2-1.1"] for name in NAMES}
    for _again in range(2):
        host.binaries().ensure(Wanted(("kubeadm",), NEW))
        assert older.read_text() == KUBERNETES_LIST.replace("v1.20", "v1.9")
        assert "/v1.21/deb\n" in newer.read_text()


@pytest.mark.parametrize("name", ["kubernetes.sources", "later.sources"])
def test_a_newer_minor_that_is_off_is_not_the_newest(host: Host, name: str) -> None:
    """It is there for later: the entry in use is switched, in whichever file the other is."""
    stanza = "Types: deb\nURIs: https://pkgs.example.org/core:/stable:/v1.{}/deb\nSuites: /\n"
    used = sources(host, "etc/apt/sources.list.d/kubernetes.sources", stanza.format(20))
    later = used.with_name(name)
    off = f"\n{stanza.format(22)}Enabled: no\n"
    later.write_text((later.read_text() if later == used else "") + off)
    host.available = {each: ["1.21.0-1.1", "1.20.2-1.1"] for each in NAMES}
    host.binaries().ensure(Wanted(("kubeadm",), NEW))
    assert used.read_text().startswith(stanza.format(21))
    assert later.read_text().endswith(off)


def test_an_installation_and_a_hold_that_fail(host: Host) -> None:
    """Both are told, with the installation's remedy, and without a repository's password; nothing is let go silently."""

    def fail(words: t.Sequence[str]) -> subprocess.CompletedProcess[str]:
        said = "E: no room for https://me:hidden@example.org/x" if "install" in words else "E: dpkg was interrupted"
        code = 0 if words[0] == "dpkg-query" else 100
        return subprocess.CompletedProcess(list(words), code, "", said if code else "")

    with pytest.raises(
        NodeError,
        match=r"Installing kubeadm=1 failed .*no room .*me:\[redacted\]@\S+ Holding the packages failed .*interrupted",
    ):
        Apt(fail, str(host.folder)).put({"kubeadm": "1"})


def test_apt_with_a_build_of_ones_own(host: Host) -> None:
    """A package version with wildcards; a repository of one's own is left alone, and its lists are read when it is not known yet."""
    text = "deb https://mirror.example.org/kubernetes stable main\n"
    path = sources(host, "etc/apt/sources.list", text)
    host.available = {name: ["1.21.0-1.2", "1.21.0-00"] for name in NAMES}
    host.binaries().ensure(Wanted(("kubeadm",), NEW, package_version="1.21.0-0?"))
    assert path.read_text() == text
    assert "kubeadm=1.21.0-00" in host.words[1]


def test_a_version_that_no_repository_has(host: Host) -> None:
    """What is there instead is told, and nothing is installed."""
    host.available = {"kubeadm": ["1.20.15-1.1", "1.20.2-1.1"]}
    with pytest.raises(NodeError, match=r"No package kubeadm 1\.21\.0-\* .* knows of 1\.20\.15-1\.1, 1\.20\.2-1\.1"):
        host.binaries().ensure(Wanted(("kubeadm",), NEW))
    assert not any("install" in each for each in host.words)


def test_dnf(host: Host) -> None:
    """The same with the other family, which takes a mirror behind a comma and a section of a newer minor that is off."""
    host.family = "dnf"
    both = ",".join(f"https://{each}.example.org/core:/stable:/v1.20/rpm/" for each in ("pkgs", "mirror"))
    later = "[later]\nenabled=0\nbaseurl=https://pkgs.example.org/core:/stable:/v1.22/rpm/\n"
    path = sources(host, "etc/yum.repos.d/kubernetes.repo", f"[kubernetes]\nbaseurl={both}\n{later}")
    host.available = {name: ["1.21.0-150500.1.2", "1.21.0-150500.1.1"] for name in NAMES}
    host.binaries().ensure(Wanted(("kubeadm",), NEW))
    assert f"[kubernetes]\nbaseurl={both.replace('v1.20', 'v1.21')}\n" in path.read_text()
    assert host.words == [
        "dnf --refresh --assumeyes makecache",
        "dnf install --assumeyes --disableexcludes=all kubeadm-1.21.0-150500.1.2",
    ]


def test_lists_that_have_the_version_are_not_read_again(host: Host) -> None:
    """dnf has read those of a moved repository by then; any other one that is down would end the upgrade."""
    host.family, host.known = "dnf", True
    stanza = "[kubernetes]\nbaseurl=https://pkgs.example.org/core:/stable:/v1.{}/rpm/\n"
    path = sources(host, "etc/yum.repos.d/kubernetes.repo", stanza.format(20))
    host.available = {name: ["1.21.0-150500.1.1"] for name in NAMES}
    host.binaries().ensure(Wanted(("kubeadm",), NEW))
    assert path.read_text() == stanza.format(21)
    assert host.words == ["dnf install --assumeyes --disableexcludes=all kubeadm-1.21.0-150500.1.1"]


@pytest.mark.parametrize(("program", "words"), [("dnf", ["--refresh"]), ("yum", [])])
def test_lists_that_have_not_expired_are_read_again(program: str, words: list[str]) -> None:
    """dnf leaves them otherwise; yum 3 has no such word, and needs none."""
    asked: list[list[str]] = []

    def run(words: t.Sequence[str]) -> subprocess.CompletedProcess[str]:
        asked.append([*words])
        return subprocess.CompletedProcess(words, int(words[0] != program), "", "")

    Dnf(run).refresh()
    assert asked[-1] == [program, *words, "--assumeyes", "makecache"]


def test_no_package(host: Host) -> None:
    """A program that nobody's package brought: the other way is named."""
    host.family = "none"
    with pytest.raises(NodeError, match=r"of no package.*source: files"):
        host.binaries().ensure(Wanted(("kubeadm",), NEW))
    assert host.words == []


def test_which_family(host: Host) -> None:
    """By what installed the program, not by what is there."""
    assert isinstance(manager_of("kubeadm", host.package), Apt)
    host.family = "dnf"
    assert isinstance(manager_of("kubeadm", host.package), Dnf)


def test_what_provides_a_package_counts_as_it() -> None:
    """RHEL 9 installs iptables-nft for iptables."""

    def rpm(words: t.Sequence[str]) -> subprocess.CompletedProcess[str]:
        names = [each for each in words[2:] if not each.startswith("-")]
        if "--whatprovides" in words:
            provided = names == ["iptables"]
            return subprocess.CompletedProcess(
                words, int(not provided), "1.8.10-2\n" if provided else "no package\n", ""
            )
        said = [f"{each} 1.20.2-1" if each == "kubelet" else f"package {each} is not installed" for each in names]
        return subprocess.CompletedProcess(words, len(names) - 1, "\n".join(said), "")

    assert Dnf(rpm).installed(["kubelet", "iptables", "conntrack"]) == {"kubelet": "1.20.2-1", "iptables": "1.8.10-2"}


def test_what_a_repository_that_is_off_excludes_holds_nothing(tmp_path: Path) -> None:
    """dnf reads none of its packages, and so none of what it excludes."""
    folder = tmp_path / "etc/yum.repos.d"
    folder.mkdir(parents=True)
    (folder / "old.repo").write_text("[old]\nenabled=0\nexclude=kubelet\n")
    (folder / "new.repo").write_text("[new]\nexclude=kubeadm kubect*\n[on]\nenabled=1\nexcludepkgs=cri-tools\n")
    names = ("kubeadm", "kubectl", "kubelet", "cri-tools")
    assert Dnf(root=str(tmp_path)).held(names) == {"kubeadm", "kubectl", "cri-tools"}
