# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The first process of a node in namespaces (namespaced_node.py), which stands in for the kubelet.

It runs the real programs of static pod manifests, starts them again when they end or change, and tells the API of its Node and of
their mirror pods as a kubelet does, with the admin's credentials. Usage: namespaced_kubelet.py FOLDER BINARIES ETCD ADDRESS NAME.
"""

from __future__ import annotations

import contextlib
import hashlib
import http.server
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
import typing as t
from pathlib import Path

import yaml

from ansible_collections.kubeadm.control_plane.plugins.module_utils.common.guard import NodeError
from ansible_collections.kubeadm.control_plane.plugins.module_utils.common.https import Unreachable
from ansible_collections.kubeadm.control_plane.plugins.module_utils.workload_api.api import (
    ApiClient,
    ApiError,
    own_server,
    read_access,
)

Object = dict[str, t.Any]
MANIFESTS = Path("/etc/kubernetes/manifests")
TELL_SECONDS = 1.0
LABELS = dict.fromkeys(("node-role.kubernetes.io/master", "node-role.kubernetes.io/control-plane"), "")


def mount(folder: Path, address: str, name: str) -> None:
    """Give this node an /etc, a /var/lib, a /usr/local and a /run of its own, and an address on its loopback."""

    def run(*words: str) -> None:
        subprocess.run(words, check=True, stdin=subprocess.DEVNULL)

    run("mount", "--make-rprivate", "/")
    for path in ("/etc", "/var/lib", "/usr/local"):
        upper, work = (folder / f"{kind}{path.replace('/', '-')}" for kind in ("upper", "work"))
        upper.mkdir()
        work.mkdir()
        run("mount", "-t", "overlay", "overlay", "-o", f"lowerdir={path},upperdir={upper},workdir={work}", path)
    run("mount", "-t", "tmpfs", "tmpfs", "/run")
    run("ip", "link", "set", "lo", "up")
    run("ip", "address", "add", f"{address}/32", "dev", "lo")
    run("hostname", name)
    MANIFESTS.mkdir(parents=True)


class Pod:
    """A static pod: its manifest's text, and the process that is its container."""

    def __init__(self, text: str, words: t.Sequence[str], log: Path) -> None:
        self.text = text
        self.words = list(words)
        self.log = log
        self.failures = 0
        self.again = 0.0
        self.process: t.Optional[subprocess.Popen[bytes]] = None

    def go_on(self) -> None:
        """Start it where it does not run; later and later where it fails, as a kubelet does."""
        if self.process is not None:
            if self.process.poll() is None:
                return
            self.process = None
            self.failures += 1
            self.again = time.monotonic() + min(10.0, 0.5 * 2**self.failures)
        if time.monotonic() >= self.again:
            with self.log.open("ab") as log:
                self.process = subprocess.Popen(self.words, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def end(self) -> None:
        """End it."""
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()


class Kubelet:
    """Runs pods and tells of them."""

    def __init__(self, folder: Path, binaries: str, etcd: str, address: str, name: str) -> None:
        self.folder, self.binaries, self.etcd = folder, binaries, etcd
        self.address, self.name = address, name
        self.pods: dict[str, Pod] = {}
        self.version = ""
        self.told = 0.0
        # What stands for the kubelet's own process, which is another one after a restart.
        self.process: t.Optional[subprocess.Popen[bytes]] = None

    def work(self) -> None:
        """Go on until this process is killed."""
        restart = Path("/run/kubelet-restart")
        while True:
            if (restart.exists() or not self.version) and shutil.which("kubelet"):
                restart.unlink(missing_ok=True)
                self._begin()
                said = subprocess.run(["kubelet", "--version"], capture_output=True, text=True, check=False).stdout
                self.version = said.strip().rpartition(" ")[2]
            self._follow()
            if time.monotonic() - self.told >= TELL_SECONDS:
                self.told = time.monotonic()
                with contextlib.suppress(Unreachable, ApiError, NodeError, ValueError, OSError):
                    self._tell()
            time.sleep(0.05)

    def _begin(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
        self.process = subprocess.Popen(["sleep", "infinity"], stdin=subprocess.DEVNULL)
        Path("/run/kubelet-pid").write_text(str(self.process.pid))

    def _follow(self) -> None:
        found = {each.stem: each for each in MANIFESTS.glob("*.yaml")}
        for name in list(self.pods):
            if _text(found.get(name)) != self.pods[name].text:
                self.pods.pop(name).end()
        for name, path in found.items():
            text = _text(path)
            if text and name not in self.pods:
                self.pods[name] = Pod(text, self._words(text), self.folder / f"{name}.log")
                self.told = 0.0
        for pod in self.pods.values():
            pod.go_on()

    def _words(self, text: str) -> list[str]:
        container = yaml.safe_load(text)["spec"]["containers"][0]
        program, *arguments = container["command"]
        if program == "etcd":
            # Without it each write waits for the disk of a busy host.
            return (
                [self.etcd, "--unsafe-no-fsync", *arguments] if _knows_no_fsync(self.etcd) else [self.etcd, *arguments]
            )
        version = container["image"].rpartition(":")[2]
        return [os.path.join(self.binaries.replace("{version}", version), program), *arguments]

    def _tell(self) -> None:
        server = own_server()
        if server is None or not Path("/etc/kubernetes/admin.conf").exists():
            return
        with ApiClient(read_access(), server, 5.0) as api:
            self._tell_node(api)
            present = {each["metadata"]["name"]: each for each in api.list("/api/v1/namespaces/kube-system/pods")}
            for component, pod in self.pods.items():
                self._tell_pod(api, component, pod, present.get(f"{component}-{self.name}"))

    def _tell_node(self, api: ApiClient) -> None:
        labels = {**LABELS, "kubernetes.io/hostname": self.name}
        node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": self.name, "labels": labels}}
        if api.get(f"/api/v1/nodes/{self.name}") is None:
            api.checked(api.send("POST", "/api/v1/nodes", node), "nodes")
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        ready = {"type": "Ready", "status": "True", "reason": "KubeletReady", "lastHeartbeatTime": now}
        info = {"kubeletVersion": self.version, "machineID": Path("/etc/machine-id").read_text().strip()}
        names = ("bootID", "containerRuntimeVersion", "kernelVersion", "kubeProxyVersion", "operatingSystem")
        status = {
            "conditions": [{**ready, "lastTransitionTime": now}],
            "nodeInfo": {**dict.fromkeys((*names, "architecture", "osImage", "systemUUID"), "x"), **info},
            "addresses": [{"type": "InternalIP", "address": self.address}],
        }
        content = "application/merge-patch+json"
        api.checked(api.send("PATCH", f"/api/v1/nodes/{self.name}/status", {"status": status}, content), "status")

    def _tell_pod(self, api: ApiClient, component: str, pod: Pod, known: t.Optional[Object]) -> None:
        digest = hashlib.md5(pod.text.encode(), usedforsecurity=False).hexdigest()
        path = "/api/v1/namespaces/kube-system/pods"
        name = f"{component}-{self.name}"
        if known is not None and known["metadata"]["annotations"].get("kubernetes.io/config.hash") != digest:
            api.send("DELETE", f"{path}/{name}", {"gracePeriodSeconds": 0})
            known = None
        if known is None:
            document = yaml.safe_load(pod.text)
            marks = {
                "kubernetes.io/config.hash": digest,
                "kubernetes.io/config.mirror": digest,
                "kubernetes.io/config.source": "file",
            }
            metadata = document["metadata"]
            metadata["name"] = name
            metadata["annotations"] = {**(metadata.get("annotations") or {}), **marks}
            document["spec"]["nodeName"] = self.name
            api.checked(api.send("POST", path, document), name)
        runs = pod.process is not None and pod.process.poll() is None
        ready = {"type": "Ready", "status": "True" if runs else "False"}
        status = {"phase": "Running" if runs else "Pending", "conditions": [ready]}
        api.send("PATCH", f"{path}/{name}/status", {"status": status}, "application/merge-patch+json")


class Healthz(http.server.BaseHTTPRequestHandler):
    """What a kubelet says on its health port."""

    def do_GET(self) -> None:
        """Answer that all is well."""
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"ok")

    def log_message(self, format: str, *args: t.Any) -> None:
        """Say nothing."""


def _text(path: t.Optional[Path]) -> str:
    """A manifest's text, "" where it is not there any more."""
    with contextlib.suppress(FileNotFoundError):
        return path.read_text() if path is not None else ""
    return ""


def _knows_no_fsync(etcd: str) -> bool:
    said = subprocess.run([etcd, "--version"], capture_output=True, text=True, check=False).stdout
    return re.search(r"Version: 3\.4", said) is None


def main() -> None:
    """Set the node up and be its kubelet."""
    folder, binaries, etcd, address, name = sys.argv[1:]
    mount(Path(folder), address, name)
    signal.signal(signal.SIGTERM, lambda *_unused: os._exit(0))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 10248), Healthz)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    (Path(folder) / "mounted").touch()
    Kubelet(Path(folder), binaries, etcd, address, name).work()


if __name__ == "__main__":
    main()
