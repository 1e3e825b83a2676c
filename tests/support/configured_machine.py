# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A machine with kubeadm's static pods, and stand-ins for the kubelet and what it runs: changes of its configuration are tried on it."""

from __future__ import annotations

import contextlib
import copy
import shutil
import subprocess
import typing as t
from dataclasses import dataclass
from pathlib import Path

from api_server import find_binary
from etcd_cluster import free_port, until
from stand_in_components import StandInComponents
from systemd import StandInSystemd

from ansible_collections.kubeadm.control_plane.plugins.module_utils.node.components import control_plane_change
from ansible_collections.kubeadm.control_plane.plugins.module_utils.node.components.configuration_change import (
    RUNNING,
    Places,
    Works,
)
from ansible_collections.kubeadm.control_plane.plugins.module_utils.node.components.rendered_manifests import Tools

KUBEADM, KUBECTL = find_binary("kubeadm"), find_binary("kubectl")
MANAGER, SCHEDULER = "kube-controller-manager", "kube-scheduler"
# Where kubeadm looks for /etc/kubernetes is the test's folder, in the namespace alone.
UNSHARE = """\
#!/bin/sh
shift 4
exec unshare --mount --propagation private -- /bin/sh -c 'mount -t tmpfs none /etc && ln -s "$0" /etc/kubernetes && exec "$@"' {kubernetes} "$@"
"""


@dataclass
class Machine:
    """A machine of a cluster; ``stored`` is the ClusterConfiguration that it was made with."""

    places: Places
    stored: dict[str, t.Any]
    systemd: StandInSystemd
    kubelet: StandInComponents

    @property
    def works(self) -> Works:
        """The machine's works."""
        return Works({"control_plane": control_plane_change.ControlPlaneChange}, self.places, self.systemd)

    def configuration(self, **sections: t.Any) -> dict[str, t.Any]:
        """The stored configuration with further arguments of components: controllerManager={"v": "3"}."""
        changed = copy.deepcopy(self.stored)
        for section, arguments in sections.items():
            changed[section]["extraArgs"].update(arguments)
        return changed

    def request(self, configuration: dict[str, t.Any], *components: str, certificates: t.Sequence[str] = ()) -> t.Any:
        """What a work is asked for."""
        return {
            "node": "node",
            "patches": "",
            "timeout": 20,
            "configuration": configuration,
            "previous": self.stored,
            "components": list(components),
            "certificates": list(certificates),
        }

    def run(self, step: str, configuration: dict[str, t.Any], *components: str) -> t.Any:
        """Carry a work out to its end."""
        works = self.works
        works.start(step, "control_plane", self.request(configuration, *components), ["a change"])
        return works.wait(step, 60)

    def compared(self, configuration: dict[str, t.Any], *components: str, **more: t.Any) -> t.Any:
        """What a configuration would change."""
        folder = Path(self.places.state) / "compare"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        return control_plane_change.compare(self.request(configuration, *components, **more), self.places, str(folder))

    def manifest(self, component: str) -> Path:
        """A static pod's manifest in use."""
        return Path(self.places.kubernetes) / "manifests" / f"{component}.yaml"

    def remains_under_way(self, step: str) -> None:
        """It looks through the processes again and again, and sees nothing that ends it."""
        present = self.kubelet.looks
        # A look at the end of one round may be followed by one more before the outcome is known.
        until("it has looked", lambda: self.works.look(step).state != RUNNING or self.kubelet.looks >= present + 5)
        assert self.works.look(step).state == RUNNING

    def flag(self, component: str, name: str) -> str:
        """A flag of the newest process, "" where it does not have it."""
        words = next(words for words in reversed(self.kubelet.starts) if words[0] == component)
        return next((word.partition("=")[2] for word in words if word.startswith(f"--{name}=")), "")


@contextlib.contextmanager
def configured_machine(tmp_path: Path) -> t.Iterator[Machine]:
    """A machine as kubeadm made it, with its controller manager and scheduler running."""
    kubernetes = tmp_path / "kubernetes"
    for name in ("kubernetes/manifests", "kubernetes/pki", "proc", "logs", "etcd"):
        (tmp_path / name).mkdir(parents=True)
    unshare = tmp_path / "unshare"
    unshare.write_text(UNSHARE.format(kubernetes=kubernetes))
    unshare.chmod(0o755)
    places = Places(
        state=str(tmp_path / "state"),
        kubernetes=str(kubernetes),
        proc=str(tmp_path / "proc"),
        pod_logs=str(tmp_path / "logs"),
        unit_of_kubelet="",
        tools=Tools(str(KUBEADM), str(KUBECTL), str(unshare)),
    )
    (tmp_path / "state").mkdir()
    pki = kubernetes / "pki"
    stored: dict[str, t.Any] = {
        "apiVersion": "kubeadm.k8s.io/v1beta2",
        "kind": "ClusterConfiguration",
        "kubernetesVersion": "v1.20.2",
        "certificatesDir": str(pki),
        "controlPlaneEndpoint": "10.0.0.10:6443",
        "networking": {"serviceSubnet": "10.96.0.0/12", "podSubnet": "10.244.0.0/16", "dnsDomain": "cluster.local"},
        "etcd": {"local": {"dataDir": str(tmp_path / "etcd")}},
        "apiServer": {"extraArgs": {}, "certSANs": ["old.example.com"]},
        "controllerManager": {"extraArgs": {"secure-port": str(free_port())}},
        "scheduler": {"extraArgs": {"secure-port": str(free_port())}},
    }
    # The endpoint of an API server is all that is known before there are manifests.
    (kubernetes / "manifests" / "kube-apiserver.yaml").write_text("# --advertise-address=10.0.0.1 --secure-port=6443\n")
    made = [str(KUBEADM), "init", "phase", "certs", "ca", "--cert-dir", str(pki), "--kubernetes-version", "v1.20.2"]
    subprocess.run(made, check=True, capture_output=True)
    make = control_plane_change.renderer({"configuration": stored, "node": "node"}, places)
    for component, text in make.manifests_of(stored, str(tmp_path / "made")).items():
        (kubernetes / "manifests" / f"{component}.yaml").write_text(text)
    for source in make.certificate("apiserver", stored, str(tmp_path / "made")):
        shutil.copy(source, pki)
    served = tmp_path / "served"
    served.mkdir()
    for component in ("kube-apiserver", "etcd"):
        # They are compared, not run: their ports are real ones.
        (kubernetes / "manifests" / f"{component}.yaml").rename(served / f"{component}.yaml")
    kubelet = StandInComponents(
        kubernetes / "manifests", tmp_path / "proc", tmp_path / "logs", pki / "apiserver.crt", pki / "apiserver.key"
    )
    until("both components", lambda: len(kubelet.starts) == 2)
    kubelet.ignored = {"kube-apiserver", "etcd"}
    for each in served.iterdir():
        each.rename(kubernetes / "manifests" / each.name)
    systemd = StandInSystemd()
    try:
        yield Machine(places, stored, systemd, kubelet)
    finally:
        systemd.end()
        kubelet.stop()
