# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files of a KubeadmConfigSpec, the ends of certificates, and taking a machine back."""

from __future__ import annotations

import base64
import datetime
import os
import pwd
import stat
import subprocess
import typing as t
from pathlib import Path

import pytest
from bootstrap_places import bootstrap_places, no_process
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from ansible_collections.kubeadm.control_plane.plugins.module_utils.common.guard import NodeError
from ansible_collections.kubeadm.control_plane.plugins.module_utils.node.bootstrap import accounts, reset
from ansible_collections.kubeadm.control_plane.plugins.module_utils.node.bootstrap.bootstrap_unit import Places
from ansible_collections.kubeadm.control_plane.plugins.module_utils.node.bootstrap.script import Disks
from ansible_collections.kubeadm.control_plane.plugins.module_utils.node.certificates import end_dates


def entry(path: Path, text: str = "text\n", **more: t.Any) -> dict[str, t.Any]:
    return {"path": str(path), "content": base64.b64encode(text.encode()).decode(), **more}


def test_a_file_is_written_once_with_its_mode(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b"
    assert accounts.put_file(entry(path, permissions="0640"))
    assert path.read_text() == "text\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert not accounts.put_file(entry(path, permissions="0640"))
    assert accounts.put_file(entry(path, permissions="0600"))
    assert accounts.put_file(entry(path, "other", permissions="0600"))
    assert path.read_text() == "other"


def test_appending_twice_appends_once(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("theirs\n")
    assert accounts.put_file(entry(path, append=True))
    assert not accounts.put_file(entry(path, append=True))
    assert path.read_text() == "theirs\ntext\n"
    assert accounts.put_file(entry(tmp_path / "new", append=True))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"path": "relative"}, "absolute"),
        ({"path": "/tmp/../etc/x"}, "absolute"),
        ({"owner": "nobody-at-all:root"}, "does not exist"),
        ({"permissions": "rw"}, "octal"),
        ({"content": "not base64 of-a-secret"}, "base64"),
    ],
)
def test_a_wrong_field_is_named_without_the_content(tmp_path: Path, change: dict[str, str], message: str) -> None:
    with pytest.raises(NodeError, match=message) as refused:
        accounts.put_file({**entry(tmp_path / "file"), **change})
    assert "of-a-secret" not in str(refused.value)


def account(home: Path, uid: int = os.getuid()) -> pwd.struct_passwd:
    """A user of that home."""
    return pwd.struct_passwd(("alice", "x", uid, os.getgid(), "", str(home), "/bin/sh"))


def test_keys_are_completed_once(tmp_path: Path) -> None:
    home = tmp_path / "home"
    assert accounts.authorize(account(home), ["one", "two"])
    assert not accounts.authorize(account(home), ["two"])
    file = home / ".ssh" / "authorized_keys"
    file.write_bytes(b"\xff theirs\n")
    assert accounts.authorize(account(home), ["one"])
    assert file.read_bytes() == b"\xff theirs\none\n"
    assert (stat.S_IMODE(file.stat().st_mode), stat.S_IMODE((home / ".ssh").stat().st_mode)) == (0o600, 0o700)


def test_a_home_leads_root_to_no_file_of_another(tmp_path: Path) -> None:
    """A symbolic link in the place of the folder or the file, a hard link, a pipe that nobody writes to."""
    theirs, secret = tmp_path / "etc", tmp_path / "secret"
    theirs.mkdir(mode=0o750)
    secret.write_text("root's own\n")
    before = [theirs.stat(), secret.stat()]
    kinds: list[t.Callable[[Path], object]] = [
        lambda ssh: ssh.symlink_to(theirs),
        lambda ssh: ssh.write_text("a file"),
        lambda ssh: (ssh.mkdir(), (ssh / "authorized_keys").symlink_to(secret)),
        lambda ssh: (ssh.mkdir(), os.link(secret, ssh / "authorized_keys")),
        lambda ssh: (ssh.mkdir(), os.mkfifo(ssh / "authorized_keys")),
        lambda ssh: (ssh.mkdir(), (ssh / "authorized_keys").mkdir()),
    ]
    for number, make in enumerate(kinds):
        home = tmp_path / f"home-{number}"
        home.mkdir()
        make(home / ".ssh")
        with pytest.raises(NodeError, match=r"users: alice: the keys can't be written to .*/\.ssh: "):
            accounts.authorize(account(home, os.getuid() + 1 if os.getuid() == 0 else os.getuid()), ["key"])
        if make is kinds[3]:
            os.unlink(home / ".ssh" / "authorized_keys")
    after = [theirs.stat(), secret.stat()]
    assert [(each.st_uid, each.st_gid, each.st_mode) for each in after] == [
        (each.st_uid, each.st_gid, each.st_mode) for each in before
    ]
    assert os.listdir(theirs) == [] and secret.read_text() == "root's own\n"


@pytest.mark.skipif(os.getuid() != 0, reason="only root can make a link of another user")
@pytest.mark.parametrize("place", ["file", "folder/file"])
def test_a_file_is_not_written_through_a_link_of_a_user(tmp_path: Path, place: str) -> None:
    target = tmp_path / "target"
    target.mkdir()
    (target / "file").write_text("theirs\n")
    link = tmp_path / place.partition("/")[0]
    link.symlink_to(target / "file" if place == "file" else target)
    # A link of root's own is followed: a distribution has its reasons for one.
    assert accounts.put_file(entry(tmp_path / place))
    assert (target / "file").read_text() == "text\n"
    os.chown(link, 65534, 65534, follow_symlinks=False)
    with pytest.raises(NodeError, match=f"{link} is a symbolic link of user 65534"):
        accounts.put_file(entry(tmp_path / place, "other\n"))
    assert (target / "file").read_text() == "text\n"


def certificate(end: datetime.datetime) -> str:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "test")])
    builder = (
        x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key()).serial_number(1)
    )
    builder = builder.not_valid_before(datetime.datetime(1999, 1, 1)).not_valid_after(end)
    return builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM).decode()


@pytest.mark.parametrize(
    ("end", "text"),
    [
        (datetime.datetime(2027, 11, 21, 6, 23, 40), "2027-11-21T06:23:40Z"),
        (datetime.datetime(2049, 12, 31, 23, 59, 59), "2049-12-31T23:59:59Z"),
        (datetime.datetime(2051, 1, 1), "2051-01-01T00:00:00Z"),
        (datetime.datetime(1999, 6, 1), "1999-06-01T00:00:00Z"),
    ],
)
def test_the_end_of_a_certificate_is_read_in_both_of_its_forms(end: datetime.datetime, text: str) -> None:
    assert end_dates.not_after(certificate(end)) == text


def test_what_is_no_certificate_is_left_out(tmp_path: Path) -> None:
    good = certificate(datetime.datetime(2030, 1, 1))
    (tmp_path / "apiserver.crt").write_text(good)
    (tmp_path / "ca.crt").write_text("-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n")
    (tmp_path / "front-proxy-ca.crt").write_bytes(b"\xff\xfe")
    (tmp_path / "apiserver-kubelet-client.crt").write_text(good[:300] + "\n-----END CERTIFICATE-----\n")
    assert end_dates.expiry(str(tmp_path), str(tmp_path / "kubernetes")) == {"apiserver.crt": "2030-01-01T00:00:00Z"}


def test_the_client_certificates_inside_kubeconfigs_end_too(tmp_path: Path) -> None:
    inside = base64.b64encode(certificate(datetime.datetime(2031, 2, 3)).encode()).decode()
    user = f"users:\n- name: admin\n  user:\n    client-certificate-data: {inside}\n    client-key-data: c2VjcmV0\n"
    (tmp_path / "admin.conf").write_text(user)
    (tmp_path / "scheduler.conf").write_text("client-certificate-data: bm9uZQ==\n")
    (tmp_path / "controller-manager.conf").write_text("client-certificate: /var/lib/pem\n")
    assert end_dates.expiry("/srv/pki", str(tmp_path)) == {"admin.conf": "2031-02-03T00:00:00Z"}


def places(tmp_path: Path) -> Places:
    kubeadm = tmp_path / "kubeadm"
    kubeadm.write_text(f'#!/bin/sh\n[ "$1" = version ] && echo v1.20.2 && exit\necho "$*" >> {tmp_path}/calls\n')
    kubeadm.chmod(0o755)
    return bootstrap_places(tmp_path, disks=Disks(kubelet=str(tmp_path / "kubelet")))


def systemctl(command: t.Sequence[str]) -> subprocess.CompletedProcess[str]:
    """Stands in for systemd on a machine that has no unit of ours."""
    return subprocess.CompletedProcess(list(command), 0, "LoadState=not-found\nActiveState=inactive\n", "")


def undo(where: Places, *, consent: bool = False, check: bool = False, sockets: t.Sequence[str] = ()) -> bool:
    return reset.reset(
        discard_etcd_data=consent,
        check=check,
        places=where,
        runner=systemctl,
        cri_sockets=sockets,
        proc=no_process(where),
    )


def put(path: Path, text: str = "1") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_a_machine_without_traces_is_left_alone(tmp_path: Path) -> None:
    assert undo(places(tmp_path)) is False
    assert not (tmp_path / "calls").exists()


def test_a_machine_is_taken_back_without_kubeadm_touching_the_membership(tmp_path: Path) -> None:
    where = places(tmp_path)
    for path in ("kubernetes/pki/ca.key", "kubernetes/admin.conf", "etcd/member/wal/0.wal", "state/fencing"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("1")
    with pytest.raises(NodeError, match="loses the cluster"):
        undo(where)
    assert not (tmp_path / "calls").exists()
    assert undo(where, consent=True, check=True) is True
    assert not (tmp_path / "calls").exists()
    assert undo(where, consent=True) is True
    calls = (tmp_path / "calls").read_text()
    assert calls == "reset --force --skip-phases remove-etcd-member,update-cluster-status\n"
    assert os.listdir(tmp_path / "etcd") == []
    assert not (tmp_path / "kubernetes" / "pki").exists()
    # What this machine has seen of locks outlives its cluster.
    assert (tmp_path / "state" / "fencing").read_text() == "1"


def member_elsewhere(tmp_path: Path) -> Path:
    """A member whose data isn't where kubeadm has it by default, in a folder that has something else, too; returns the folder."""
    folder = tmp_path / "data"
    put(tmp_path / "kubernetes/manifests/etcd.yaml", f"spec:\n  - command:\n    - etcd\n    - --data-dir={folder}\n")
    for name in ("member/snap/db", "member-before-restored-1/snap/db", ".restored-2/member/snap/db", "theirs/file"):
        put(folder / name)
    return folder


def test_the_data_of_a_member_is_found_where_its_manifest_has_it(tmp_path: Path) -> None:
    """The consent is asked for, and all of etcd's goes. What is others' stays, in whatever folder a manifest names."""
    where = places(tmp_path)
    folder = member_elsewhere(tmp_path)
    with pytest.raises(NodeError, match=f"holds etcd data \\({folder}/member\\)"):
        undo(where)
    assert undo(where, consent=True)
    assert sorted(os.listdir(folder)) == ["theirs"] and (folder / "theirs/file").exists()
    assert sorted(os.listdir(where.state)) == ["lock"]


def test_it_is_found_again_where_kubeadm_has_deleted_the_manifest(tmp_path: Path) -> None:
    """A reset that was killed, or failed, in the midst of it."""
    where = places(tmp_path)
    folder = member_elsewhere(tmp_path)
    put(Path(where.kubeadm), f"#!/bin/sh\n[ $1 = version ] && exit\nrm -r {tmp_path}/kubernetes\nexit 1\n")
    with pytest.raises(NodeError, match="kubeadm reset failed"):
        undo(where, consent=True)
    with pytest.raises(NodeError, match="loses the cluster"):
        undo(where)
    assert (folder / "member").exists()
    put(Path(where.kubeadm), "#!/bin/sh\n")
    assert undo(where, consent=True)
    assert os.listdir(folder) == ["theirs"]
    assert not undo(where, consent=True)


@pytest.mark.parametrize("named", ["data", "/" + "x" * 5000, "/x\x1b[2J", "/"])
def test_a_manifest_that_names_no_folder_of_etcds(tmp_path: Path, named: str) -> None:
    where = places(tmp_path)
    put(tmp_path / "kubernetes/manifests/etcd.yaml", f"    - --data-dir={named}\n")
    put(tmp_path / "etcd/member/snap/db")
    with pytest.raises(NodeError, match=f"holds etcd data \\({tmp_path}/etcd/member\\)"):
        undo(where)
    assert undo(where, consent=True)
    assert os.listdir(tmp_path / "etcd") == []


SOCKETS = ("containerd.sock", "cri-dockerd.sock")


@pytest.mark.parametrize(
    ("files", "sockets", "named"),
    [
        (
            {"kubelet/kubeadm-flags.env": 'X="--container-runtime-endpoint=unix:///b.sock --v=2"\n'},
            SOCKETS,
            "unix:///b.sock",
        ),
        ({"kubelet/config.yaml": "a: 1\ncontainerRuntimeEndpoint: unix:///b.sock\n"}, (), "unix:///b.sock"),
        ({"kubelet/instance-config.yaml": 'containerRuntimeEndpoint: "unix:///b.sock"\n'}, (), "unix:///b.sock"),
        ({"kubelet/config.yaml": 'containerRuntimeEndpoint: ""\ncpu: 1\n'}, (), ""),
        (
            {"run/kubeadm.yaml": "nodeRegistration:\n  criSocket: unix:///b.sock\n  name: a\n"},
            SOCKETS,
            "unix:///b.sock",
        ),
        ({"run/renew.yaml": '{"nodeRegistration": {"criSocket": "unix:///b.sock"}}'}, (), "unix:///b.sock"),
        # kubeadm has started no kubelet; it would refuse two.
        ({"run/kubeadm.yaml": "nodeRegistration:\n  name: a\n"}, SOCKETS, "unix://{here}/containerd.sock"),
        # It finds a single one itself, and knows what a kubelet without an endpoint uses.
        ({}, SOCKETS[:1], ""),
        ({"kubelet/kubeadm-flags.env": 'KUBELET_KUBEADM_ARGS="--v=2"\n'}, SOCKETS, ""),
    ],
)
def test_kubeadm_is_told_the_runtime_that_it_would_refuse_to_choose(
    tmp_path: Path, files: dict[str, str], sockets: t.Sequence[str], named: str
) -> None:
    where = places(tmp_path)
    put(tmp_path / "kubernetes/kubelet.conf")
    for name, text in files.items():
        put(tmp_path / name, text)
    for name in sockets:
        put(tmp_path / name)
    assert undo(where, sockets=[str(tmp_path / name) for name in SOCKETS])
    words = ["reset", "--force", "--skip-phases", "remove-etcd-member,update-cluster-status"]
    words += [f"--cri-socket={named.format(here=tmp_path)}"] if named else []
    assert (tmp_path / "calls").read_text().split() == words


@pytest.mark.parametrize(
    ("name", "status", "called"),
    [
        # As Debian's and Red Hat's useradd.
        ("Ops.Team", 0, ["useradd --create-home -- Ops.Team", "usermod --lock -- Ops.Team"]),
        # As others': 3 is what useradd(8) ends with for a name that it doesn't take.
        (
            "Ops.Team",
            3,
            [
                "useradd --create-home -- Ops.Team",
                "useradd --badname --create-home -- Ops.Team",
                "usermod --lock -- Ops.Team",
            ],
        ),
    ],
)
def test_a_name_that_useradd_refuses_is_told_to_be_meant(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, status: int, called: list[str]
) -> None:
    log = stand_ins(tmp_path, monkeypatch, f'case " $* " in *" --badname "*) exit 0;; esac; exit {status}')
    # The stand-in makes no user that could be looked up afterwards.
    with pytest.raises(KeyError):
        accounts.put_user({"name": name})
    assert log.read_text().splitlines() == called


def test_a_user_that_cannot_be_made_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = stand_ins(tmp_path, monkeypatch, "echo no space left >&2; exit 10")
    with pytest.raises(NodeError, match=r"users: Ops\.Team: useradd failed: no space left"):
        accounts.put_user({"name": "Ops.Team"})
    assert log.read_text().splitlines() == ["useradd --create-home -- Ops.Team"]


def stand_ins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, useradd: str) -> Path:
    """Stand-ins for useradd and usermod; their calls are in the file that is returned."""
    log = tmp_path / "log"
    for command, body in (("useradd", useradd), ("usermod", "exit 0")):
        program = tmp_path / command
        program.write_text(f'#!/bin/sh\necho "{command} $*" >> {log}\n{body}\n')
        program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    return log
