# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A control plane node without a machine: namespaces of this host, in which kubeadm, etcd and the components are the real ones.

What there is not: systemd, containers, a kubelet (namespaced_kubelet.py stands in), pods that are no static pods. It has an /etc, a
/var/lib, a /usr/local and a network of its own, and is gone with its first process. It needs root and the binaries of the cache.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import typing as t
from pathlib import Path

from api_server import find_binary
from etcd_cluster import find_etcd, until
from lab_kubernetes import VERSION

from ansible_collections.kubeadm.control_plane.plugins.module_utils.common import kubernetes_versions

ROOT = Path(__file__).resolve().parents[2]
SUPPORT = Path(__file__).resolve().parent
ADDRESS = "192.0.2.7"
NAME = "node-1"
BOUND_SECONDS = 240
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
# systemd and the container runtime as far as kubeadm and the modules ask them.
_SYSTEMCTL = """\
#!/bin/sh
case "$*" in
    *restart*kubelet*) touch /run/kubelet-restart ;;
    *show*MainPID*) echo "MainPID=$(cat /run/kubelet-pid 2>/dev/null || echo 0)" ;;
esac
"""
_CRICTL = "#!/bin/sh\nexit 0\n"
Object = dict[str, t.Any]


def binaries_of(version: str) -> t.Optional[str]:
    """The folder of a version's programs in the cache, None where there is none."""
    found = find_binary("kubeadm")
    folder = os.path.join(os.path.dirname(os.path.dirname(found)), f"bin-{version}") if found else ""
    return folder if os.path.isfile(os.path.join(folder, "kube-apiserver")) else None


class NamespacedNode:
    """One node, whose control plane kubeadm has made."""

    def __init__(self, folder: Path, version: str = VERSION) -> None:
        self.folder = folder
        built = binaries_of(version)
        assert built is not None
        self._binaries = built.replace(version, "{version}")
        self._environment = {
            "PATH": _PATH,
            "HOME": "/root",
            "LC_ALL": "C.UTF-8",
            "PYTHONPATH": os.pathsep.join([str(ROOT.parents[2]), str(SUPPORT)]),
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        if "ANSIBLE_COLLECTIONS_PATH" in os.environ:
            first = os.environ["ANSIBLE_COLLECTIONS_PATH"].partition(os.pathsep)[0]
            self._environment["PYTHONPATH"] = os.pathsep.join([first, str(SUPPORT)])
        program = [str(SUPPORT / "namespaced_kubelet.py"), str(folder), self._binaries, find_etcd(), ADDRESS, NAME]
        # It ends with the test's process, also where that is killed.
        self._unshare = [
            "setpriv",
            "--pdeathsig",
            "KILL",
            "unshare",
            "--mount",
            "--net",
            "--pid",
            "--uts",
            "--fork",
            "--kill-child",
            "--mount-proc",
        ]
        self._log = (folder / "kubelet.log").open("ab")
        self._process = subprocess.Popen(
            [*self._unshare, sys.executable, *program],
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=self._log,
        )
        until("the node is set up", lambda: (folder / "mounted").exists() or self._process.poll() is not None)
        children = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children").read_text().split()
        assert children, (folder / "kubelet.log").read_text()
        self._pid = children[0]
        self.install(version)
        for name, text in (("systemctl", _SYSTEMCTL), ("crictl", _CRICTL)):
            self.write(f"/usr/local/sbin/{name}", text, 0o755)

    def stop(self) -> None:
        """Take it away with everything that runs in it."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(self._pid), signal.SIGKILL)
        self._process.wait()
        self._log.close()

    def words(self, *words: str) -> list[str]:
        """The words that run a program in the node."""
        variables = [f"{name}={value}" for name, value in self._environment.items()]
        return ["nsenter", "--target", self._pid, "--mount", "--net", "--pid", "--uts", "env", "-i", *variables, *words]

    def run(self, *words: str, check: bool = True, timeout: float = 400) -> subprocess.CompletedProcess[str]:
        """Run a program in the node to its end."""
        done = subprocess.run(
            self.words(*words), stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=timeout
        )
        if check:
            assert done.returncode == 0, f"{' '.join(words)}: {(done.stdout + done.stderr)[-3000:]}"
        return done

    def write(self, path: str, text: str, mode: int = 0o600) -> None:
        """Write a file of the node."""
        command = f"mkdir -p {os.path.dirname(path)} && cat > {path} && chmod {mode:o} {path}"
        subprocess.run(self.words("sh", "-c", command), input=text, text=True, check=True)

    def install(self, version: str) -> None:
        """Put kubeadm, kubelet and kubectl of a version where programs are."""
        for name in ("kubeadm", "kubelet", "kubectl"):
            origin = os.path.join(self._binaries.replace("{version}", version), name)
            self.run("install", "-D", "-m", "0755", origin, f"/usr/local/bin/{name}")

    def programs(self, version: str) -> str:
        """A folder of the node's with the programs of a version, as an Action wants it."""
        return self._binaries.replace("{version}", version)

    def module(self, name: str, arguments: t.Mapping[str, t.Any]) -> Object:
        """Run a module of the collection in the node and return its result."""
        path = self.folder / "arguments.json"
        path.write_text(json.dumps({"ANSIBLE_MODULE_ARGS": {**arguments, "_ansible_remote_tmp": "/run"}}))
        module = f"ansible_collections.kubeadm.control_plane.plugins.modules.{name}"
        done = self.run(sys.executable, "-m", module, str(path), check=False)
        try:
            return dict(json.loads(done.stdout.splitlines()[-1]))
        except (ValueError, IndexError) as error:
            raise AssertionError(f"{name}: {done.stdout[-2000:]}{done.stderr[-2000:]}") from error

    def make(self) -> None:
        """kubeadm's phases, as `kubeadm init` has them, but for what needs containers."""
        api = {"apiVersion": kubernetes_versions.api_version_for(VERSION).api_version}
        init = {
            **api,
            "kind": "InitConfiguration",
            "localAPIEndpoint": {"advertiseAddress": ADDRESS, "bindPort": 6443},
            "nodeRegistration": {"name": NAME, "criSocket": "/run/containerd/containerd.sock"},
        }
        cluster = {**api, "kind": "ClusterConfiguration", "kubernetesVersion": VERSION}
        self.write("/run/init.yaml", "\n---\n".join(json.dumps(each) for each in (init, cluster)))
        for phase in ("certs all", "kubeconfig all", "etcd local", "control-plane all"):
            self.run("kubeadm", "init", "phase", *phase.split(), "--config=/run/init.yaml")
        self.until("its Node is there", lambda: NAME in self.kubectl("get", "nodes", check=False))
        for phase in ("upload-config all", "bootstrap-token"):
            self.run("kubeadm", "init", "phase", *phase.split(), "--config=/run/init.yaml")
        # kubeadm init writes it for the kubelet, and kubeadm upgrade anew.
        self.run("mkdir", "-p", "/var/lib/kubelet/pki")

    def until(self, what: str, condition: t.Callable[[], t.Any]) -> t.Any:
        """Poll until a condition holds; an API server takes half a minute to start on a busy host."""
        deadline = time.monotonic() + BOUND_SECONDS
        while time.monotonic() < deadline:
            found = condition()
            if found:
                return found
            time.sleep(0.5)
        raise AssertionError(f"not within {BOUND_SECONDS} s: {what}\n{self.logs()}")

    def kubectl(self, *words: str, check: bool = True) -> str:
        """Run kubectl as the admin."""
        command = ("kubectl", "--kubeconfig=/etc/kubernetes/admin.conf", "--request-timeout=10s")
        return self.run(*command, *words, check=check).stdout

    def logs(self) -> str:
        """The end of every component's log, for a test that fails."""
        return "\n".join(f"{each.name}: {each.read_text()[-1500:]}" for each in sorted(self.folder.glob("*.log")))


def missing() -> str:
    """Why there can be no such node here, "" where there can."""
    if os.geteuid() != 0:
        return "namespaces with mounts and addresses of their own need root"
    if binaries_of(VERSION) is None:
        return "there are no Kubernetes binaries in the cache"
    gone = [name for name in ("unshare", "nsenter", "setpriv", "ip") if shutil.which(name) is None]
    return f"{', '.join(gone)} is not on this host" if gone else ""
