# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The watcher of the lab's runs sees what it is for: lost quorum, a dead member, an endpoint that doesn't answer."""

from __future__ import annotations

import base64
import json
import ssl
import subprocess
import threading
import time
import typing as t
from pathlib import Path

import pytest
import yaml
from api_server import ApiServer, find_binary
from availability import epoch
from etcd_cluster import EtcdCluster, EtcdMember, until
from watcher import StoreSource, Target, Watch, Watcher

Object = dict[str, t.Any]


class Fixed:
    """Members and an endpoint that a test names."""

    def __init__(self, cluster: t.Optional[EtcdCluster] = None, endpoint: t.Optional[Target] = None) -> None:
        self._cluster = cluster
        self._endpoint = endpoint
        self.gone: set[str] = set()
        if cluster is not None:
            files = cluster.credentials
            self._context = ssl.create_default_context(cafile=files.ca_file)
            self._context.load_cert_chain(files.certificate_file, files.key_file)

    def members(self) -> dict[str, Target]:
        """The members that have not gone."""
        known: list[EtcdMember] = self._cluster.members if self._cluster else []
        return {
            each.name: Target("127.0.0.1", each.client_port, self._context)
            for each in known
            if each.name not in self.gone
        }

    def endpoint(self) -> t.Optional[Target]:
        """The endpoint."""
        return self._endpoint

    def journal(self) -> list[Object]:
        """No steps."""
        return []


class Watched:
    """A watcher that runs beside the test."""

    def __init__(self, source: t.Any, log: t.TextIO) -> None:
        self.watcher = Watcher(source, log)
        self._summary: Object = {}
        self._thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        self._summary = self.watcher.run()

    def __enter__(self) -> Watched:
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self.watcher.stopped.set()
        self._thread.join()

    def stop(self) -> Object:
        """End it and return the summary."""
        self.__exit__()
        return self._summary

    def answers(self, what: str, ok: bool, begin: int = 0, **fields: t.Any) -> list[Object]:
        """Such answers, of all but the first ``begin`` that were noted."""
        return [
            each
            for each in list(self.watcher.samples)[begin:]
            if each["what"] == what and each.get("ok") is ok and fields.items() <= each.items()
        ]

    def count(self, what: str, ok: bool, begin: int = 0, **fields: t.Any) -> int:
        """How many such answers there were."""
        return len(self.answers(what, ok, begin, **fields))

    def until(self, what: str, ok: bool, number: int = 5, **fields: t.Any) -> Object:
        """Wait for so many further answers; return the last of them."""
        # Counted and not compared by time: the watcher's clock never jumps, the machine's may.
        begin = len(self.watcher.samples)
        until(f"{number} x {what} {ok} {fields}", lambda: self.count(what, ok, begin, **fields) >= number)
        return self.answers(what, ok, begin, **fields)[number - 1]


@pytest.fixture(name="log")
def _log(tmp_path: Path) -> t.Iterator[t.TextIO]:
    with (tmp_path / "watch.jsonl").open("w") as stream:
        yield stream


@pytest.fixture(name="cluster", scope="module")
def _cluster(tmp_path_factory: pytest.TempPathFactory) -> t.Iterator[EtcdCluster]:
    cluster = EtcdCluster(tmp_path_factory.mktemp("etcd"))
    try:
        yield cluster.wait_ready()
    finally:
        cluster.end()


def covers(gap: Object, answer: Object) -> bool:
    """Whether a gap of the summary contains the moment of an answer."""
    moment = float(answer["t"])
    day = time.strftime("%Y-%m-%dT", time.gmtime(moment))
    begin = epoch(f"{day}{gap['from'].split('.')[0]}Z") + float(f"0.{gap['from'].split('.')[1]}")
    return bool(begin <= moment <= begin + gap["seconds"])


def test_lost_quorum_is_one_gap_that_ends_when_it_is_back(cluster: EtcdCluster, log: t.TextIO) -> None:
    """Two of three members hang: the third accepts connections and answers no linearizable read."""
    hung = cluster.members[:2]
    with Watched(Fixed(cluster), log) as watched:
        watched.until("etcd", True)
        for member in hung:
            member.pause()
        within = watched.until("etcd", False, name=cluster.members[2].name)
        for member in hung:
            member.resume()
        watched.until("etcd", True)
        summary = watched.stop()
    assert [covers(gap, within) for gap in summary["quorum"]["gaps"]].count(True) == 1
    assert summary["quorum"]["failed"] > 0
    lines = [json.loads(line) for line in Path(log.name).read_text().splitlines()]
    assert lines == watched.watcher.samples


def test_one_dead_member_of_three_is_seen_and_is_no_lost_quorum(cluster: EtcdCluster, log: t.TextIO) -> None:
    follower = next(each for each in cluster.members if each != cluster.leader())
    with Watched(Fixed(cluster), log) as watched:
        watched.until("etcd", True, name=follower.name)
        follower.kill()
        try:
            within = watched.until("etcd", False, name=follower.name)
            watched.until("etcd", True)
        finally:
            cluster.start(follower)
        watched.until("etcd", True, name=follower.name)
        summary = watched.stop()
    assert not any(covers(gap, within) for gap in summary["quorum"].get("gaps", []))
    assert any(error.startswith(f"{follower.name}: ") for error in summary["quorum"]["errors"])


def test_machines_come_and_go(cluster: EtcdCluster, log: t.TextIO) -> None:
    """Who is watched is asked again and again: a member that is deleted is no failure any more, a new one is asked."""
    source = Fixed(cluster)
    third = cluster.members[2].name
    source.gone.add(third)
    with Watched(source, log) as watched:
        watched.until("etcd", True)
        assert watched.count("etcd", True, name=third) == 0
        source.gone.clear()
        watched.until("etcd", True, name=third)
        source.gone.add(third)
        # Not asked any more: what was on its way is in, and the others' answers go on alone.
        until("no further answer", lambda: _unchanged(watched, third))
        watched.stop()


def _unchanged(watched: Watched, name: str) -> bool:
    before = watched.count("etcd", True, name=name)
    watched.until("etcd", True, number=10)
    return watched.count("etcd", True, name=name) == before


def test_members_and_elections_are_noted(cluster: EtcdCluster, log: t.TextIO) -> None:
    before = cluster.leader()
    other = next(each for each in cluster.members if each != before)
    with Watched(Fixed(cluster), log) as watched:
        until("the leader is noted", lambda: any(each["what"] == "leader" for each in list(watched.watcher.samples)))
        with cluster.gateway(before) as gateway:
            gateway.move_leader(cluster.id_of(other.name))
        until("the new leader is noted", lambda: _leader(watched) == other.name)
        summary = watched.stop()
    noted = next(each for each in watched.watcher.samples if each["what"] == "members")
    names = sorted(each.name for each in cluster.members)
    assert noted["voters"] == 3 and noted["names"] == noted["started"] == names
    assert summary["elections"][-1]["was"] == before.name


def _leader(watched: Watched) -> str:
    return str([each for each in list(watched.watcher.samples) if each["what"] == "leader"][-1]["leader"])


@pytest.fixture(name="api", scope="module")
def _api(tmp_path_factory: pytest.TempPathFactory) -> t.Iterator[ApiServer]:
    server, kubectl = find_binary("kube-apiserver"), find_binary("kubectl")
    if not server or not kubectl:
        pytest.skip("no kube-apiserver and kubectl: build the machine image once, or set KUBERNETES_BINARIES")
    api = ApiServer(tmp_path_factory.mktemp("api"), server, kubectl)
    try:
        yield api.wait_ready()
    finally:
        api.end()


def store_of(api: ApiServer, folder: Path) -> Path:
    """A store that knows a cluster's kubeconfig and no machine yet."""
    path = folder / "store" / "default" / "secret" / "c-kubeconfig.yaml"
    path.parent.mkdir(parents=True)
    value = base64.b64encode(Path(api.kubeconfig).read_bytes()).decode()
    path.write_text(yaml.safe_dump({"metadata": {"name": "c-kubeconfig"}, "data": {"value": value}}))
    return folder / "store"


def test_an_api_whose_etcd_hangs_is_no_answering_endpoint(api: ApiServer, tmp_path: Path, log: t.TextIO) -> None:
    """The server still accepts connections; what it would serve from its memory counts for nothing."""
    (tmp_path / "own").mkdir()
    source = StoreSource(store_of(api, tmp_path), "default", "c", tmp_path / "own")
    with Watched(source, log) as watched:
        watched.until("endpoint", True)
        api.etcd.members[0].pause()
        try:
            within = watched.until("endpoint", False)
        finally:
            api.etcd.members[0].resume()
        watched.until("endpoint", True)
        summary = watched.stop()
    assert [covers(gap, within) for gap in summary["endpoint"]["gaps"]].count(True) == 1
    assert summary["writes"]["confirmed"] > 0 and summary["writes"]["lost"] == []
    for path in (tmp_path / "own").iterdir():
        assert path.stat().st_mode & 0o077 == 0, path


def test_a_confirmed_write_that_is_not_there_any_more_is_lost(api: ApiServer, tmp_path: Path, log: t.TextIO) -> None:
    """As after an etcd that was set back."""
    (tmp_path / "own").mkdir()
    source = StoreSource(store_of(api, tmp_path), "default", "c", tmp_path / "own")
    with Watched(source, log) as watched:
        writes = watched.watcher.writes
        until("three writes are confirmed", lambda: len(writes.confirmed) >= 3)
        taken = ["-n", "kube-system", "patch", "configmap", writes.name, "--type=merge", "-p", '{"data":{"1":null}}']
        subprocess.run([api.kubectl, "--kubeconfig", str(api.kubeconfig), *taken], check=True)
        summary = watched.stop()
    assert summary["writes"]["lost"] == ["1"]


def test_as_a_program_it_writes_its_summary_when_it_is_ended(api: ApiServer, tmp_path: Path) -> None:
    with Watch(store_of(api, tmp_path), "c", tmp_path) as watch:
        until("the endpoint was asked", lambda: watch.log.exists() and '"ok": true' in watch.log.read_text())
        summary = watch.stop()
    assert summary["endpoint"]["asked"] > 0 and summary["endpoint"]["failed"] == 0
    assert summary["steps"] == []
