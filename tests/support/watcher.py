# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An independent watcher: asks etcd and the API four times a second and writes down what answered. Nothing of the collection's code.

    python watcher.py --store STORE --cluster NAME --log watch.jsonl --summary watch.json [--kubeconfig FILE]

Every member of etcd is asked for a linearizable read; the endpoint is asked for /readyz and for a Namespace over a new
connection each time, and something is written through it, which is looked for at the end. Machines come and go as the store
says. SIGTERM or SIGINT ends it, and the summary is written.
"""

from __future__ import annotations

import argparse
import base64
import contextlib
import http.client
import json
import os
import signal
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import typing as t
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import yaml
from availability import summarize
from confirmed_writes import ConfirmedWrites

INTERVAL_SECONDS = 0.25
TIMEOUT_SECONDS = 1.0
LOOK_SECONDS = 1.0
ETCD = "/etc/kubernetes/pki/etcd"
NAMESPACE = "/api/v1/namespaces/kube-system"
# Any key will do: that it doesn't exist is an answer of the quorum too.
READ = json.dumps({"key": base64.b64encode(b"watcher").decode()}).encode()
Object = dict[str, t.Any]


@dataclass(frozen=True)
class Target:
    """Whom to ask: an address, and the certificates to ask with."""

    host: str
    port: int
    context: ssl.SSLContext

    def connect(self, timeout: float) -> http.client.HTTPSConnection:
        """A new connection."""
        connection = http.client.HTTPSConnection(self.host, self.port, timeout=timeout, context=self.context)
        connection.connect()
        return connection


class Source(t.Protocol):
    """Says whom to watch, as of now; asked once a second."""

    def members(self) -> dict[str, Target]:
        """The machines whose etcd may answer, by name."""

    def endpoint(self) -> t.Optional[Target]:
        """The control plane endpoint, if it is known yet."""

    def journal(self) -> list[Object]:
        """The cluster's journal so far."""


def ask(connection: http.client.HTTPSConnection, method: str, path: str, body: t.Optional[bytes], end: float) -> Object:
    """One request, which is answered before ``end`` (monotonic) with 200, or an OSError or HTTPException."""
    remaining = end - time.monotonic()
    if remaining <= 0:
        raise TimeoutError(f"{path}: no time left")
    if connection.sock is not None:
        connection.sock.settimeout(remaining)
    connection.request(method, path, body)
    answer = connection.getresponse()
    text = answer.read()
    if answer.status != 200:
        raise http.client.HTTPException(f"{path}: {answer.status} {text[:200].decode(errors='replace').strip()}")
    return dict(json.loads(text)) if text.startswith(b"{") else {}


class Watcher:
    """Asks until it is stopped; every answer is a line of the log."""

    def __init__(self, source: Source, log: t.TextIO, interval: float = INTERVAL_SECONDS) -> None:
        self._source = source
        self._log = log
        self._interval = interval
        self._guard = threading.Lock()
        self._idle: dict[Target, list[http.client.HTTPSConnection]] = {}
        # One clock that never jumps, told as the time of day.
        self._offset = time.time() - time.monotonic()
        self.samples: list[Object] = []
        self.stopped = threading.Event()
        self._latest: dict[str, Object] = {}
        self.writes = ConfirmedWrites()

    def run(self) -> Object:
        """Watch until stopped; return the summary."""
        members: dict[str, Target] = {}
        endpoint: t.Optional[Target] = None
        due = looked = time.monotonic()
        alone = ThreadPoolExecutor(max_workers=1)
        with ThreadPoolExecutor(max_workers=64) as pool, ThreadPoolExecutor(max_workers=1) as looker, alone as writer:
            writing = writer.submit(lambda: None)
            # The store is read beside the asking, so that a slow disk or ssh delays no question.
            look = looker.submit(lambda: (self._source.members(), self._source.endpoint()))
            while not self.stopped.wait(max(0.0, due - time.monotonic())):
                begin = time.monotonic()
                if begin - due > self._interval:
                    self._note("late", seconds=round(begin - due, 3))
                due = max(due + self._interval, begin)
                if look.done() and begin - looked >= LOOK_SECONDS:
                    members, endpoint = look.result()
                    looked = begin
                    pool.submit(self._ask_membership, list(members.values()))
                    look = looker.submit(lambda: (self._source.members(), self._source.endpoint()))
                for name, member in members.items():
                    pool.submit(self._ask_etcd, name, member)
                if endpoint is not None:
                    pool.submit(self._ask_endpoint, endpoint)
                    if writing.done():
                        writing = writer.submit(self.writes.write, endpoint.connect)
            ended = time.monotonic() + self._offset
        found = summarize(self.samples, self._source.journal(), ended, self._interval)
        lost = self.writes.lost(endpoint.connect) if endpoint else []
        found["writes"] = {"confirmed": len(self.writes.confirmed), "failed": self.writes.failed, "lost": lost}
        return found

    def _note(self, what: str, **fields: t.Any) -> None:
        sample = {"t": round(time.monotonic() + self._offset, 3), "what": what, **fields}
        with self._guard:
            self.samples.append(sample)
            self._log.write(json.dumps(sample) + "\n")
            self._log.flush()

    def _note_change(self, what: str, **fields: t.Any) -> None:
        if self._latest.get(what) != fields:
            self._latest[what] = fields
            self._note(what, **fields)

    def _timed(self, what: str, name: str, work: t.Callable[[float], t.Any]) -> None:
        begin = time.monotonic()
        try:
            work(begin + TIMEOUT_SECONDS)
        except (OSError, http.client.HTTPException, ValueError) as error:
            text = f"{type(error).__name__}: {error}"[:300]
            self._note(what, name=name, ok=False, seconds=round(time.monotonic() - begin, 3), error=text)
        else:
            self._note(what, name=name, ok=True, seconds=round(time.monotonic() - begin, 3))

    def _ask_etcd(self, name: str, member: Target) -> None:
        self._timed("etcd", name, lambda end: self._kept(member, "/v3/kv/range", READ, end))

    def _ask_endpoint(self, endpoint: Target) -> None:
        def ready_and_reading(end: float) -> None:
            with contextlib.closing(endpoint.connect(TIMEOUT_SECONDS)) as connection:
                ask(connection, "GET", "/readyz", None, end)
                ask(connection, "GET", NAMESPACE, None, end)

        self._timed("endpoint", "", ready_and_reading)

    def _ask_membership(self, members: t.Sequence[Target]) -> None:
        """Note who is a member, who leads and in which term, from the first that says so."""
        for member in members:
            end = time.monotonic() + TIMEOUT_SECONDS
            with contextlib.suppress(OSError, http.client.HTTPException, ValueError):
                listed = self._kept(member, "/v3/cluster/member/list", b"{}", end)["members"]
                status = self._kept(member, "/v3/maintenance/status", b"{}", end)
                names = {each["ID"]: each.get("name") or "(unstarted)" for each in listed}
                voters = [each.get("name") or "" for each in listed if not each.get("isLearner")]
                started = sorted(filter(None, voters))
                self._note("members", voters=len(voters), started=started, names=sorted(names.values()))
                leader = status.get("leader")
                if leader:
                    self._note_change("leader", term=int(status["raftTerm"]), leader=names.get(leader, leader))
                return

    def _kept(self, member: Target, path: str, body: bytes, end: float) -> Object:
        """Ask over a connection that is kept for the next question where all went well."""
        with self._guard:
            idle = self._idle.setdefault(member, [])
            connection = idle.pop() if idle else None
        try:
            if connection is None:
                connection = member.connect(end - time.monotonic())
            answer = ask(connection, "POST", path, body, end)
        except BaseException:
            if connection is not None:
                connection.close()
            raise
        with self._guard:
            self._idle[member].append(connection)
        return answer


class StoreSource:
    """Whom to watch, by what a file store knows of a cluster; the credentials lie in a folder of one's own."""

    def __init__(self, store: Path, namespace: str, cluster: str, folder: Path) -> None:
        self._objects = store / namespace
        self._cluster = cluster
        self._folder = folder
        self._read: dict[Path, tuple[t.Any, Object]] = {}
        self._etcd: t.Optional[ssl.SSLContext] = None
        self._endpoint: t.Optional[Target] = None
        self._journal: list[Object] = []
        self._targets: dict[tuple[str, str], Target] = {}

    def members(self) -> dict[str, Target]:
        """Every machine of the store that has an address."""
        hosts = {}
        for machine in self._all("nspawnmachine"):
            host = machine.get("status", {}).get("connection", {}).get("host")
            if host and machine["metadata"].get("labels", {}).get("cluster.x-k8s.io/cluster-name") == self._cluster:
                hosts[machine["metadata"]["name"]] = host
        if self._etcd is None:
            self._etcd = next((found for host in hosts.values() if (found := self._etcd_credentials(host))), None)
        if self._etcd is None:
            return {}
        self.journal()
        # The same object for the same machine: its connections are kept by it.
        wanted = {each: self._targets.get(each) or Target(each[1], 2379, self._etcd) for each in hosts.items()}
        self._targets = wanted
        return {name: target for (name, _host), target in wanted.items()}

    def endpoint(self) -> t.Optional[Target]:
        """The server of the administrator's kubeconfig."""
        if self._endpoint is None:
            secret = self._secret(f"{self._cluster}-kubeconfig")
            if secret:
                self._endpoint = self._endpoint_of(yaml.safe_load(base64.b64decode(secret["data"]["value"])))
        return self._endpoint

    def journal(self) -> list[Object]:
        """The journal, also when the store is gone by now."""
        with contextlib.suppress(OSError, ValueError):
            path = self._objects / "journal" / f"{self._cluster}.jsonl"
            self._journal = [json.loads(line) for line in path.read_text().splitlines()] or self._journal
        return self._journal

    def _all(self, kind: str) -> list[Object]:
        found = []
        for path in sorted(self._objects.glob(f"{kind}.*/*.yaml")):
            # A file may go, or be replaced, between listing and reading.
            with contextlib.suppress(OSError):
                stat = path.stat()
                stamp = (stat.st_ino, stat.st_mtime_ns, stat.st_size)
                known = self._read.get(path)
                if known is None or known[0] != stamp:
                    known = stamp, yaml.load(path.read_text(), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
                    self._read[path] = known
                found.append(known[1])
        return found

    def _secret(self, name: str) -> t.Optional[Object]:
        paths = self._objects.glob("secret*/*.yaml")
        return next((yaml.safe_load(each.read_text()) for each in paths if each.stem == name), None)

    def _private(self, name: str, content: bytes) -> Path:
        path = self._folder / name
        path.touch(mode=0o600)
        path.write_bytes(content)
        return path

    def _endpoint_of(self, kubeconfig: Object) -> Target:
        cluster, user = kubeconfig["clusters"][0]["cluster"], kubeconfig["users"][0]["user"]
        context = ssl.create_default_context(cadata=base64.b64decode(cluster["certificate-authority-data"]).decode())
        certificate = self._private("admin.crt", base64.b64decode(user["client-certificate-data"]))
        key = self._private("admin.key", base64.b64decode(user["client-key-data"]))
        context.load_cert_chain(certificate, key)
        host, _colon, port = str(cluster["server"]).removeprefix("https://").rpartition(":")
        return Target(host, int(port), context)

    def _etcd_credentials(self, host: str) -> t.Optional[ssl.SSLContext]:
        """kubeadm's own client certificate for health checks, fetched from a machine once it is there."""
        secret = self._secret(f"{self._cluster}-ssh")
        if secret is None:
            return None
        key = self._private("ssh.key", base64.b64decode(secret["data"]["ssh-privatekey"]))
        options = ("BatchMode=yes", "StrictHostKeyChecking=no", "UserKnownHostsFile=/dev/null", "ConnectTimeout=2")
        names = ("ca.crt", "healthcheck-client.crt", "healthcheck-client.key")
        files = " && echo +++ && ".join(f"cat {ETCD}/{name}" for name in names)
        command = ["ssh", "-q", "-i", str(key), *(f"-o{each}" for each in options), f"root@{host}", files]
        try:
            done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=True, timeout=10)
        except subprocess.SubprocessError:
            return None
        authority, certificate, private = done.stdout.split(b"+++\n")
        context = ssl.create_default_context(cadata=authority.decode())
        context.load_cert_chain(self._private("etcd.crt", certificate), self._private("etcd.key", private))
        return context


class ApiSource(StoreSource):
    """The same of a cluster whose objects are in a Kubernetes API, perhaps its own: what it said last holds while it is silent."""

    def __init__(self, kubeconfig: Path, store: Path, namespace: str, cluster: str, folder: Path) -> None:
        super().__init__(store, namespace, cluster, folder)
        self._api = self._endpoint_of(yaml.safe_load(kubeconfig.read_text()))
        self._namespace = namespace
        self._said: dict[str, Object] = {}

    def _all(self, kind: str) -> list[Object]:
        return list(
            self._get(f"/apis/infrastructure.cluster.x-k8s.io/v1beta1/namespaces/{self._namespace}/{kind}s")["items"]
        )

    def _secret(self, name: str) -> t.Optional[Object]:
        found = self._get(f"/api/v1/namespaces/{self._namespace}/secrets/{name}")
        return found if found.get("data") else None

    def _get(self, path: str) -> Object:
        unanswered = contextlib.suppress(OSError, http.client.HTTPException, ValueError)
        with unanswered, contextlib.closing(self._api.connect(TIMEOUT_SECONDS)) as connection:
            self._said[path] = ask(connection, "GET", path, None, time.monotonic() + TIMEOUT_SECONDS)
        return self._said.get(path) or {"items": []}


class Watch:
    """A watcher as a process of its own, for tests and the benchmark: started, and stopped for its summary.

    With ``kubeconfig`` the objects are in that API and ``store`` has the journals.
    """

    def __init__(
        self, store: Path, cluster: str, folder: Path, namespace: str = "default", kubeconfig: t.Optional[Path] = None
    ) -> None:
        self._summary = folder / f"watch-{cluster}.json"
        self.log = folder / f"watch-{cluster}.jsonl"
        words = ["--store", store, "--namespace", namespace, "--cluster", cluster]
        words += ["--log", self.log, "--summary", self._summary]
        words += ["--kubeconfig", kubeconfig] if kubeconfig else []
        # Ahead of everything else that wants a CPU: what it can't ask in time would look like a fault of the cluster's.
        nice = ["nice", "-n", "-10"] if os.geteuid() == 0 else []
        self._process = subprocess.Popen([*nice, sys.executable, __file__, *map(str, words)], stdin=subprocess.DEVNULL)

    def stop(self) -> Object:
        """End it and return the summary."""
        self._process.send_signal(signal.SIGTERM)
        status = self._process.wait(timeout=60)
        assert status == 0, f"the watcher ended with {status}"
        return dict(json.loads(self._summary.read_text()))

    def __enter__(self) -> Watch:
        return self

    def __exit__(self, *_error: object) -> None:
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()


def main() -> None:
    """Watch a cluster until SIGTERM."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--store", type=Path, required=True, help="the file store's folder; it need not exist yet")
    parser.add_argument(
        "--kubeconfig", type=Path, help="of the API that the objects are in; the store has the journals alone then"
    )
    parser.add_argument("--namespace", default="default")
    parser.add_argument("--cluster", required=True)
    parser.add_argument("--log", type=Path, required=True, help="one JSON object a line for every answer")
    parser.add_argument("--summary", type=Path, required=True, help="the figures, as JSON, at the end")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="watcher-") as folder, options.log.open("w", encoding="utf-8") as log:
        where = (options.store, options.namespace, options.cluster, Path(folder))
        source = ApiSource(options.kubeconfig, *where) if options.kubeconfig else StoreSource(*where)
        watcher = Watcher(source, log)
        # Waited for and not handled: a handler may not touch what its own thread is waiting on.
        ends = {signal.SIGTERM, signal.SIGINT}
        signal.pthread_sigmask(signal.SIG_BLOCK, ends)
        with ThreadPoolExecutor(max_workers=1) as pool:
            watching = pool.submit(watcher.run)
            watching.add_done_callback(lambda _done: os.kill(os.getpid(), signal.SIGTERM))
            signal.sigwait(ends)
            watcher.stopped.set()
            summary = watching.result()
    options.summary.write_text(json.dumps(summary, indent=2) + "\n")


if __name__ == "__main__":
    main()
