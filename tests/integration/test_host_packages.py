# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Packages of a bare host: real apt and dpkg in a root of their own, a signed repository over HTTP."""

from __future__ import annotations

import dataclasses
import shutil
import stat
import typing as t
from pathlib import Path

import pytest
from bare_host import HELD, NEW, OLD, Host, repository_of_packages, wanted
from package_repository import PackageRepository

from ansible_collections.kubeadm.control_plane.plugins.module_utils.common.guard import NodeError
from ansible_collections.kubeadm.control_plane.plugins.module_utils.node.packages import packages, staged_packages
from ansible_collections.kubeadm.control_plane.plugins.module_utils.node.packages.preparation import (
    Refused,
    Wanted,
)
from ansible_collections.kubeadm.control_plane.plugins.module_utils.node.packages.repositories import Repository


@pytest.fixture(name="repository", scope="module")
def _repository(tmp_path_factory: pytest.TempPathFactory) -> t.Iterator[PackageRepository]:
    with repository_of_packages(tmp_path_factory.mktemp("repository")) as made:
        yield made


@pytest.fixture(name="url", scope="module")
def _url(repository: PackageRepository) -> str:
    return repository.serve()


@pytest.fixture(name="host")
def _host(tmp_path: Path) -> Host:
    return Host(tmp_path / "root")


def test_installed_held_and_left_alone(host: Host, repository: PackageRepository, url: str) -> None:
    """Check mode tells what comes and changes nothing; the second run asks no repository; a held package of another version needs a word."""
    before = host.files()
    _before, foreseen = host.preparation.ensure(wanted(repository, url), check=True)
    assert host.files() == before
    _before, after = host.preparation.ensure(wanted(repository, url))
    assert dict(after.versions) == {
        **dict.fromkeys(("kubeadm", "kubelet", "kubectl"), OLD),
        "cri-tools": "1.20.0-1.1",
        "containerd": "1.6.20-1",
    }
    assert (after.held, after.files) == (HELD, foreseen.files)
    assert {**after.versions, "containerd": "any"} == foreseen.versions
    assert OLD in (host.root / "usr/bin/kubeadm").read_text()

    host.asked.clear()
    again = host.preparation.ensure(wanted(repository, url))
    assert again == (after, after)
    assert not any("update" in words or "install" in words for words in host.asked)

    with pytest.raises(Refused, match=f"kubelet {OLD} is held on this host, and 1.21.0-\\* is wanted") as refused:
        host.preparation.ensure(wanted(repository, url, "v1.21.0"))
    assert len(refused.value.problems) == 3
    _before, newer = host.preparation.ensure(wanted(repository, url, "v1.21.0", change_held=True))
    assert (newer.versions["kubelet"], newer.held) == (NEW, HELD)


def test_a_spare_host_of_a_newer_version_goes_back(host: Host, repository: PackageRepository, url: str) -> None:
    """Its packages are replaced by older ones with a word, and not without."""
    host.preparation.ensure(wanted(repository, url, "v1.21.0"))
    with pytest.raises(Refused, match=f"kubelet {NEW} is held on this host"):
        host.preparation.ensure(wanted(repository, url))
    host.preparation.ensure(wanted(repository, url, change_held=True), check=True)
    _before, older = host.preparation.ensure(wanted(repository, url, change_held=True))
    assert ({older.versions[name] for name in ("kubeadm", "kubelet", "kubectl")}, older.held) == ({OLD}, HELD)


def test_archives_in_place_of_repositories(host: Host, repository: PackageRepository, url: str, tmp_path: Path) -> None:
    """One host writes them, with what they depend on; another has no repository, and one of its own that is out of reach."""
    host.preparation.ensure(wanted(repository, url))
    folder = tmp_path / "archives"
    folder.mkdir()
    names = [f"{name}={OLD}" for name in ("kubeadm", "kubelet", "kubectl")]
    # Its own lists may be old, or gone.
    shutil.rmtree(host.root / "var/lib/apt/lists")
    before = host.files()
    saved = host.preparation.save([*names, "containerd"], str(folder))
    assert host.files() == before
    assert sorted(Path(each).name.partition("_")[0] for each in saved) == [
        "SHA256SUMS",
        "containerd",
        "cri-tools",
        "kubeadm",
        "kubectl",
        "kubelet",
    ]
    other = Host(tmp_path / "other")
    for path in ("sources.list", "sources.list.d/away.list"):
        (other.root / "etc/apt" / path).write_text("deb http://127.0.0.1:1/ ./\n")
    alone = Wanted("v1.20.2", (), others=("containerd",), archives=str(folder))
    before = other.files()
    with pytest.raises(Refused, match=r"No archive in .*archives has kubelet 1\.21\.0-\*; they have 1\.20\.2-1\.1"):
        other.preparation.ensure(dataclasses.replace(alone, version="v1.21.0"))
    with pytest.raises(Refused, match="Unable to locate package no-such-runtime"):
        other.preparation.ensure(dataclasses.replace(alone, others=("no-such-runtime",)))
    with pytest.raises(Refused, match="have no list of their digests"):
        other.preparation.ensure(dataclasses.replace(alone, archives=str(tmp_path)))
    other.preparation.ensure(alone, check=True)
    assert other.files() == before
    _before, after = other.preparation.ensure(alone)
    assert (after.versions["kubelet"], after.versions["containerd"], after.held) == (OLD, "1.6.20-1", HELD)
    assert OLD in (other.root / "usr/bin/kubeadm").read_text()
    assert f"({OLD})" in (other.root / "var/log/apt/history.log").read_text()
    # What is there needs no archive again.
    assert other.preparation.ensure(dataclasses.replace(alone, archives="/none")) == (after, after)


def test_archives_are_written_over_no_link_of_the_folders_owner(
    host: Host, repository: PackageRepository, url: str, tmp_path: Path
) -> None:
    """The folder is another user's, who may not write where they lead."""
    host.preparation.ensure(wanted(repository, url))
    folder, victims = tmp_path / "archives", tmp_path / "victims"
    for each in (folder, victims):
        each.mkdir()
    for name in ("SHA256SUMS", "status", "containerd_1.6.20-1_all.deb", "lock"):
        (victims / name).write_text("as it was")
        (folder / name).symlink_to(victims / name)
    (folder / "partial").symlink_to(victims)
    saved = [Path(each) for each in host.preparation.save(["containerd"], str(folder))]
    assert [each.name for each in saved] == ["containerd_1.6.20-1_all.deb", "SHA256SUMS"]
    assert not any(each.is_symlink() for each in saved)
    assert {each.read_text() for each in victims.iterdir()} == {"as it was"} and len(list(victims.iterdir())) == 4
    (tmp_path / "link").symlink_to(victims)
    with pytest.raises(NodeError, match=r"can't be written to .*/link: Not a directory"):
        host.preparation.save(["containerd"], str(tmp_path / "link"))


def test_archives_that_are_not_those_of_their_list_are_refused(
    host: Host, repository: PackageRepository, tmp_path: Path
) -> None:
    """All of them are named, in check mode as well, and nothing is installed. What the list doesn't name is not taken."""
    folder = tmp_path / "archives"
    shutil.copytree(repository.folder, folder)
    # dpkg still reads what package it is, and apt would install kubeadm before it finds out.
    with (folder / f"kubelet_{OLD}_all.deb").open("r+b") as file:
        file.truncate(file.seek(0, 2) - 1)
    (folder / f"kubectl_{OLD}_all.deb").unlink()
    alone, before = Wanted("v1.20.2", (), others=("containerd",), archives=str(folder)), host.files()
    for check in (True, False):
        with pytest.raises(Refused) as refused:
            host.preparation.ensure(alone, check=check)
        assert f"kubectl_{OLD}_all.deb is missing; kubelet_{OLD}_all.deb was cut or changed." in str(refused.value)
    assert host.files() == before
    lines = (folder / "SHA256SUMS").read_text().splitlines(keepends=True)
    for listed in (lines[:0], [*lines, "0" * 64 + "  ../../etc/shadow.deb\n"], [*lines, "not a line\n"]):
        (folder / "SHA256SUMS").write_text("".join(listed))
        with pytest.raises(Refused, match="SHA256SUMS is no list of archives"):
            host.preparation.ensure(alone)
    (folder / "SHA256SUMS").write_text(
        "".join(each for each in lines if "kubelet_" not in each and "kubectl_" not in each)
    )
    with pytest.raises(Refused, match=r"has kubelet 1\.20\.2-\*; they have none at all") as refused:
        host.preparation.ensure(alone)
    # One that lies there all the same.
    left = ", ".join(f"{each}_all.deb" for each in (f"kubectl_{NEW}", f"kubelet_{OLD}", f"kubelet_{NEW}"))
    assert f"SHA256SUMS in {folder} doesn't name {left}, and only what it names is taken" in str(refused.value)
    assert f"write it in {folder} (sha256sum *.deb > SHA256SUMS)." in str(refused.value)
    assert host.files() == before


def test_everything_wrong_is_said_at_once_and_nothing_changed(
    host: Host, repository: PackageRepository, url: str
) -> None:
    """A version, and a package, that no repository has."""
    before = host.files()
    asked = dataclasses.replace(wanted(repository, url, "v1.22.5"), others=("containerd", "no-such-runtime"))
    with pytest.raises(Refused) as refused:
        host.preparation.ensure(asked)
    assert len(refused.value.problems) == 3
    assert f"No repository of this host has kubeadm 1.22.5-*; they have {NEW}, {OLD}." in str(refused.value)
    with pytest.raises(Refused, match="Unable to locate package no-such-runtime"):
        host.preparation.ensure(dataclasses.replace(asked, version="v1.20.2"))
    assert host.files() == before


def test_nothing_is_removed_for_a_package(host: Host, repository: PackageRepository, url: str) -> None:
    """A host with Docker keeps its containerd.io: apt would remove it for containerd."""
    package = next(repository.folder.glob("containerd.io_*.deb"))
    host.run(["dpkg", f"--root={host.root}", "--force-not-root", "--install", str(package)])
    before = host.files()
    assert (host.root / "usr/bin/docker").exists()
    with pytest.raises(Refused, match="Packages need to be removed"):
        host.preparation.ensure(wanted(repository, url))
    assert host.files() == before


def test_unsigned_repositories_are_not_used(host: Host, tmp_path: Path, url: str) -> None:
    """One without a key, one that isn't signed, one with somebody else's signature."""
    before = host.files()
    with pytest.raises(Refused, match="an unsigned repository is not used"):
        host.preparation.ensure(Wanted("v1.20.2", (Repository("kubernetes", url, ""),)))
    other = PackageRepository(tmp_path / "other")
    try:
        other.publish(signed=False)
        with pytest.raises(Refused, match="is not signed"):
            host.preparation.ensure(wanted(other, other.serve()))
        with pytest.raises(Refused, match=r"NO_PUBKEY|couldn't be verified"):
            host.preparation.ensure(wanted(other, url))
    finally:
        other.stop()
    assert host.files() == before


def test_a_password_in_a_file_that_was_there_is_not_shown(host: Host, repository: PackageRepository, url: str) -> None:
    """A user's own file of the same name, with credentials in its address."""
    (host.root / "etc/apt/sources.list.d/kubernetes.sources").write_text(
        f"Types: deb\nURIs: {url.replace('http://', 'http://me:s3cret@')}\nSuites: /\nTrusted: yes\n"
    )
    before, after = host.preparation.ensure(wanted(repository, url), check=True)
    shown = [each.document() for each in (before, after)]
    assert "s3cret" not in str(shown)
    assert repository.key.read_text().strip() in str(shown[1]["repositories"].values()).replace("\\n", "\n")


def test_a_password_in_an_address_is_refused_and_not_shown(host: Host, repository: PackageRepository, url: str) -> None:
    """It would be in a file that everybody reads, and in a diff."""
    key = repository.key.read_text()
    with pytest.raises(Refused, match=r"auth\.conf\.d") as refused:
        host.preparation.ensure(Wanted("v1.20.2", (Repository("own", "http://me:s3cret@example.org/", key),)))
    assert "s3cret" not in str(refused.value)
    assert host.asked == []


@pytest.mark.parametrize("field", [{"name": "../x"}, {"url": "http://x\nTrusted: yes"}, {"suite": "/ [trusted=yes]"}])
def test_a_repository_that_would_break_out_of_its_file(
    host: Host, repository: PackageRepository, url: str, field: dict[str, str]
) -> None:
    """What a source's file may not hold is refused."""
    described = dataclasses.replace(wanted(repository, url).repositories[0], **field)
    with pytest.raises(Refused):
        host.preparation.ensure(Wanted("v1.20.2", (described,)))
    assert host.asked == []


def test_a_copied_password_is_never_readable_by_all(host: Host) -> None:
    """A repository's file of the host's own is copied for a staging, and has its mode only afterwards."""
    modes: list[int] = []
    with pytest.raises(NodeError):
        staged_packages.stage(
            packages.Apt(host.run, str(host.root)), {"none": "1"}, lambda made: modes.append(Path(made).stat().st_mode)
        )
    assert [stat.S_IMODE(each) for each in modes] == [0o700]


def test_apt_that_fails_in_the_midst_is_resumed(
    host: Host, repository: PackageRepository, url: str, tmp_path: Path
) -> None:
    """A package that is gone between its look-up and its download; held packages are held all the same."""
    mirror = PackageRepository(tmp_path / "mirror")
    try:
        for package in repository.folder.glob("*.deb"):
            mirror.add(package)
        mirror.publish()
        gone = mirror.folder / f"kubelet_{OLD}_all.deb"
        content = gone.read_bytes()
        gone.unlink()
        asked = wanted(mirror, mirror.serve())
        with pytest.raises(NodeError, match=r"Installing .*kubelet=1.20.2-1.1.* failed"):
            host.preparation.ensure(asked)
        gone.write_bytes(content)
        _before, after = host.preparation.ensure(asked)
        assert (after.versions["kubelet"], after.held) == (OLD, HELD)
    finally:
        mirror.stop()
