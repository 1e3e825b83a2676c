# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Certificates and keys where certificatesDir has them: noted, found and deleted; kubeadm is a script."""

from __future__ import annotations

import base64
import os
from pathlib import Path

import pytest
from bootstrap_places import KUBEADM, no_process, places_with_kubeadm, put
from systemd import StandInSystemd

from ansible_collections.kubeadm.control_plane.plugins.module_utils.common.guard import NodeError
from ansible_collections.kubeadm.control_plane.plugins.module_utils.node.bootstrap import reset
from ansible_collections.kubeadm.control_plane.plugins.module_utils.node.bootstrap.bootstrap_unit import (
    Bootstrap,
    Places,
)
from ansible_collections.kubeadm.control_plane.plugins.module_utils.node.host import host_facts
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.pki import certificates


@pytest.fixture(name="places")
def _places(tmp_path: Path) -> Places:
    return places_with_kubeadm(tmp_path)


@pytest.fixture(name="host")
def _host(places: Places, tmp_path: Path) -> host_facts.HostPlaces:
    (tmp_path / "proc").mkdir()
    return host_facts.HostPlaces(node=places, kubelet_state=str(tmp_path / "kubelet"), proc=str(tmp_path / "proc"))


def undo(places: Places, systemd: StandInSystemd) -> bool:
    return reset.reset(discard_etcd_data=False, check=False, places=places, runner=systemd, proc=no_process(places))


def lead_to(folder: Path, tmp_path: Path) -> None:
    """Have an API server's manifest name a folder of certificates."""
    flag = f"    - --kubelet-client-certificate={folder}/apiserver-kubelet-client.crt\n"
    put(tmp_path / "kubernetes/manifests/kube-apiserver.yaml", f"{flag}    - --tls-cert-file=/srv/other/tls.crt\n")


def test_a_note_of_the_certificates_folder_is_there_before_the_first_key(
    places: Places, systemd: StandInSystemd, tmp_path: Path
) -> None:
    """Where it then fails, no manifest says which folder that was."""
    keys = {"path": f"{tmp_path}/pki/ca.key", "content": "a2V5"}
    for folder, noted in (("", False), (f"{places.kubernetes}/pki/", False), (f"{tmp_path}/pki", True)):
        config = f"{places.kubeadm_run}/kubeadm.yaml"
        wanted = {
            "kind": "init",
            "kubeadmVersion": "v1.20.2",
            "config": "kind: InitConfiguration\n",
            "kubeadmArgs": ["init", "--config", config],
            "files": [keys, {**keys, "path": "nowhere"}],
            "certificatesDir": folder,
        }
        with pytest.raises(NodeError, match="nowhere"):
            Bootstrap(places, systemd).start("step-1", wanted)
        assert os.path.exists(f"{places.state}/certificates-dir") == noted
    assert os.listdir(tmp_path / "pki") == ["ca.key"]
    assert undo(places, systemd)
    assert os.listdir(tmp_path / "pki") == [] and sorted(os.listdir(places.state)) == ["lock"]


def keys_elsewhere(tmp_path: Path) -> Path:
    """A control plane machine whose keys aren't where kubeadm has them by default, beside a file of others; returns the folder."""
    folder = tmp_path / "srv/pki"
    lead_to(folder, tmp_path)
    for name in (
        "ca.key",
        "sa.key",
        "etcd/ca.key",
        "etcd/peer.key",
        ".ca.key.17.partial",
        "ca-signing-new.key",
        "theirs.key",
    ):
        put(folder / name)
    return folder


def test_the_keys_are_deleted_where_certificates_dir_has_them(
    places: Places, systemd: StandInSystemd, tmp_path: Path
) -> None:
    folder = keys_elsewhere(tmp_path)
    assert undo(places, systemd)
    assert os.listdir(folder) == ["theirs.key"]
    assert sorted(os.listdir(places.state)) == ["lock"]


def test_the_keys_are_found_again_where_kubeadm_has_deleted_the_manifest(
    places: Places, systemd: StandInSystemd, tmp_path: Path
) -> None:
    folder = keys_elsewhere(tmp_path)
    put(Path(places.kubeadm), f"#!/bin/sh\n[ $1 = version ] && exit\nrm -r {tmp_path}/kubernetes\nexit 1\n")
    with pytest.raises(NodeError, match="kubeadm reset failed"):
        undo(places, systemd)
    assert (folder / "ca.key").exists()
    put(Path(places.kubeadm), KUBEADM)
    assert undo(places, systemd)
    assert os.listdir(folder) == ["theirs.key"]
    assert not undo(places, systemd)


@pytest.mark.parametrize("noted", [False, True], ids=["by its manifest", "by the note of a bootstrap or a reset"])
def test_keys_count_wherever_they_are(host: host_facts.HostPlaces, tmp_path: Path, noted: bool) -> None:
    put(tmp_path / "pki/ca.key")
    assert host_facts.carried(host) == []
    if noted:
        put(tmp_path / "state/certificates-dir", f"{tmp_path}/pki\n")
    else:
        lead_to(tmp_path / "pki", tmp_path)
    assert f"{tmp_path}/pki/ca.key" in host_facts.carried(host)


def test_the_authority_is_found_with_another_folder_of_certificates(
    host: host_facts.HostPlaces, tmp_path: Path
) -> None:
    """A worker's is where caCertPath says; the kubelet's own credentials have it, too."""
    kubernetes, pair = Path(host.node.kubernetes), certificates.new_ca("kubernetes", "2026-01-01T00:00:00Z")
    embedded = base64.b64encode(pair.crt.encode()).decode()
    put(kubernetes / "kubelet.conf", f"clusters:\n- cluster:\n    certificate-authority-data: {embedded}\n")
    assert host_facts.ca_cert_hash(host) == certificates.ca_cert_hash(pair.crt)
    (kubernetes / "kubelet.conf").unlink()
    assert host_facts.ca_cert_hash(host) == ""
    put(tmp_path / "pki/ca.crt", pair.crt)
    lead_to(tmp_path / "pki", tmp_path)
    assert host_facts.ca_cert_hash(host) == certificates.ca_cert_hash(pair.crt)


@pytest.mark.parametrize("there", [False, True], ids=["kubeadm's", "another's"])
def test_a_workers_authority_is_deleted_where_ca_cert_path_has_it(
    host: host_facts.HostPlaces, systemd: StandInSystemd, tmp_path: Path, there: bool
) -> None:
    """kubeadm join refuses a file that is there, and deletes none. One that was there before isn't kubeadm's."""
    places, path = host.node, tmp_path / "srv/ca.crt"
    if there:
        put(path)
    wanted = {
        "kind": "join",
        "kubeadmVersion": "v1.20.2",
        "config": "kind: JoinConfiguration\n",
        "kubeadmArgs": ["join", "--config", f"{places.kubeadm_run}/kubeadm.yaml"],
        "files": [{"path": "nowhere", "content": ""}],
        "caCertPath": str(path),
    }
    # It fails, and yet what kubeadm would have written has to be known.
    with pytest.raises(NodeError, match="nowhere"):
        Bootstrap(places, systemd).start("step-1", wanted)
    put(path)
    assert (str(path) in host_facts.traces(host)) is not there
    assert undo(places, systemd)
    assert path.exists() is there and host_facts.traces(host) == []
    assert sorted(os.listdir(places.state)) == ["lock"]
