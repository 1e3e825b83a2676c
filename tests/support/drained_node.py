# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A Node that is drained, of a real API server and with a real kubectl; a test plays the kubelet and the controllers."""

from __future__ import annotations

import typing as t
from pathlib import Path

import lab_kubernetes
from systemd import StandInSystemd

from ansible_collections.kubeadm.control_plane.plugins.module_utils.common import kubernetes_versions
from ansible_collections.kubeadm.control_plane.plugins.module_utils.workload_api.drain import Drain, Report, Wanted
from ansible_collections.kubeadm.control_plane.plugins.module_utils.workload_api.drain_unit import DrainUnit

NODES = "/api/v1/nodes"
NAMESPACE = "/api/v1/namespaces/default"
PODS = f"{NAMESPACE}/pods"
BUDGETS = f"/apis/{lab_kubernetes.BUDGETS}/namespaces/default/poddisruptionbudgets"
CLAIMS = f"{NAMESPACE}/persistentvolumeclaims"
CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
DAEMONS = "/apis/apps/v1/namespaces/default/daemonsets"
ATTACHMENTS = "/apis/storage.k8s.io/v1/volumeattachments"
# A volume of a pod's own, whose claim Kubernetes names agent-1-b; before 1.21 there are none.
OWN_VOLUME: dict[str, t.Any] = (
    {"ephemeral": {"volumeClaimTemplate": {"spec": CLAIM}}}
    if kubernetes_versions.parse(lab_kubernetes.VERSION).at_least(21)
    else {"persistentVolumeClaim": {"claimName": "agent-1-b"}}
)
RUNNING = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
NAME = "cp-2"


class Lab:
    """A Node of the API server, this machine's drain of it, and a clock that the test turns."""

    def __init__(self, workload: t.Any, directory: Path) -> None:
        self.workload = workload
        self.systemd = StandInSystemd()
        self.directory = directory
        self.seconds = 1_800_000_000.0
        self.identity: t.Optional[dict[str, str]] = None
        server = workload.server
        self.kubectl = (server.kubectl, "--kubeconfig", server.kubeconfig, "--server", server.url)
        workload.put(NODES, {"metadata": {"name": NAME}})

    def drain(self, wait: float = 0, name: str = NAME, **wanted: t.Any) -> Report:
        """Call it as the module does."""
        with self.workload.server.client() as api:
            return self._drain(api, name).run(Wanted(**wanted), wait)

    def look(self, **wanted: t.Any) -> Report:
        """Call it as the module does in check mode."""
        with self.workload.server.client() as api:
            return self._drain(api, NAME).look(Wanted(**wanted))

    def cancel(self, check: bool = False) -> Report:
        """Take it back."""
        with self.workload.server.client() as api:
            return self._drain(api, NAME).cancel(check=check)

    def _drain(self, api: t.Any, name: str) -> Drain:
        unit = DrainUnit(name, str(self.directory), self.kubectl, self.systemd)
        return Drain(name, api, unit, str(self.directory), lambda: self.seconds, self.identity)

    def kubectl_that(self, folder: Path, **does: str) -> t.Callable[[str], int]:
        """Have kubectl do what a shell script does, by its subcommand; return the count of a subcommand's calls."""
        cases = "".join(
            f'    *" {name} "*) echo >> {folder}/{name}-calls; {script} ;;\n' for name, script in does.items()
        )
        wrapper = folder / "kubectl"
        wrapper.write_text(f'#!/bin/sh\ncase "$*" in\n{cases}esac\nexec {self.kubectl[0]} "$@"\n')
        wrapper.chmod(0o755)
        self.kubectl = (str(wrapper), *self.kubectl[1:])
        counts = {name: folder / f"{name}-calls" for name in does}
        return lambda name: counts[name].read_text().count("\n") if counts[name].exists() else 0

    def pod(self, name: str, namespace: str = "default", **more: t.Any) -> None:
        """A pod that runs on the Node."""
        metadata = {"name": name, "labels": {"app": name}, **more.pop("metadata", {})}
        spec = {"nodeName": NAME, "containers": [{"name": "c", "image": "i"}], **more}
        self.workload.server.create(
            f"/api/v1/namespaces/{namespace}/pods", {"metadata": metadata, "spec": spec, "status": RUNNING}
        )

    def budget(self, name: str, allowed: int) -> None:
        """A PodDisruptionBudget of the pod of that name, as its controller keeps it."""
        selector = {"matchLabels": {"app": name}}
        status = {"disruptionsAllowed": allowed, "currentHealthy": 1, "desiredHealthy": 1, "expectedPods": 1}
        status["observedGeneration"] = 1
        self.workload.delete(f"{BUDGETS}/{name}")
        document = {"metadata": {"name": name}, "spec": {"minAvailable": 1, "selector": selector}, "status": status}
        self.workload.server.create(BUDGETS, document)

    def volume(self, name: str, attached: bool = True) -> None:
        """A volume attached to the Node."""
        spec = {"attacher": "a", "nodeName": NAME, "source": {"persistentVolumeName": f"pv-{name}"}}
        self.workload.server.create(ATTACHMENTS, {"metadata": {"name": name}, "spec": spec})
        self.workload.patch(f"{ATTACHMENTS}/{name}/status", {"status": {"attached": attached}})

    def ending(self, name: str) -> bool:
        """Whether a pod was evicted."""
        found = self.workload.get(f"{PODS}/{name}")
        return bool(found and found["metadata"].get("deletionTimestamp"))

    def kubelet_ends(self, name: str, namespace: str = "default") -> None:
        """What the Node's kubelet does with a pod that has ended."""
        path = f"/api/v1/namespaces/{namespace}/pods/{name}"
        with self.workload.server.client() as api:
            api.send("DELETE", path, {"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0})

    def cordoned(self) -> bool:
        """Whether the Node is unschedulable."""
        return bool(self.workload.there(f"{NODES}/{NAME}")["spec"].get("unschedulable"))

    def end(self) -> None:
        """Remove everything."""
        self.systemd.end()
        with self.workload.server.client() as api:
            for pod in api.list("/api/v1/pods", fields=f"spec.nodeName={NAME}"):
                self.kubelet_ends(pod["metadata"]["name"], pod["metadata"]["namespace"])
            for path in (BUDGETS, ATTACHMENTS):
                api.send("DELETE", path)
        self.workload.delete(f"{NODES}/{NAME}")
