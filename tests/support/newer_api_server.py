# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A newer API server of custom resources in front of a kube-apiserver, which has the rest: tests/tools/newer.sh makes the program.

What is newer: definitions and their rules in CEL, pruning, defaults, server-side apply, the subresources status and scale, admission by
namespace, ``/version``. What is the older one's: Secrets, Leases, Events, roles, and who may do what (asked for by TokenReviews and
SubjectAccessReviews, as any API server of extensions does). Policies and webhooks of admission are not asked: the older one has no such API.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import typing as t
from pathlib import Path

import pytest
from api_server import START_SECONDS, ApiServer, find_binary, find_newer
from cryptography.x509.oid import ExtendedKeyUsageOID
from etcd_cluster import free_port, until

from ansible_collections.kubeadm.control_plane.plugins.module_utils.common.https import Unreachable

PROGRAM = "newer-api-server"
# The variable that has every test that asks an API server for objects ask a newer one.
WANTED = "KUBEADM_CONTROL_PLANE_NEWER"
# What Kubernetes 1.20 has no API for.
_NOT_IN_THE_OLDER = (
    "ValidatingAdmissionPolicy,MutatingAdmissionPolicy,ValidatingAdmissionWebhook,MutatingAdmissionWebhook"
)


class NewerApiServer(ApiServer):
    """Both servers; everything that is asked for goes through the newer one."""

    def __init__(self, directory: Path, program: str, kubectl: str, kube_apiserver: str, older_kubectl: str) -> None:
        super().__init__(directory, kube_apiserver, older_kubectl)
        self._front: t.Optional[subprocess.Popen[bytes]] = None
        try:
            super().wait_ready()
            self._start(directory, program)
        except BaseException:
            self.end()
            raise
        self.kubectl = kubectl

    def _start(self, directory: Path, program: str) -> None:
        older = self.kubeconfig
        server = self.authority.issue("newer", (ExtendedKeyUsageOID.SERVER_AUTH,))
        admin = self.authority.issue("kubernetes-admin", (ExtendedKeyUsageOID.CLIENT_AUTH,), "system:masters")
        self.port = free_port()
        self.url = f"https://127.0.0.1:{self.port}"
        self.kubeconfig = str(directory / "newer.conf")
        self.write_kubeconfig(self.url, self.authority.ca_file, admin)
        command = [
            program,
            *self.serving(server),
            f"--kubeconfig={older}",
            f"--authentication-kubeconfig={older}",
            f"--authorization-kubeconfig={older}",
            "--authentication-skip-lookup",
            # A test takes a right away and asks at once.
            "--authorization-webhook-cache-authorized-ttl=0s",
            "--authorization-webhook-cache-unauthorized-ttl=0s",
            "--authentication-token-webhook-cache-ttl=0s",
            "--enable-priority-and-fairness=false",
            f"--disable-admission-plugins={_NOT_IN_THE_OLDER}",
        ]
        with (directory / "newer.log").open("ab") as log:
            self._front = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def wait_ready(self) -> NewerApiServer:
        """Wait until the newer server says that it is ready."""

        def ready() -> bool:
            assert self._front is not None and self._front.poll() is None, "it has ended: newer.log says why"
            with contextlib.suppress(Unreachable), self.client() as client:
                return client.send("GET", "/readyz").status == 200
            return False

        until("the newer API server is ready", ready, START_SECONDS)
        return self

    def end(self) -> None:
        """Kill the processes."""
        if self._front is not None:
            self._front.kill()
            self._front.wait()
        super().end()


def missing() -> str:
    """What the newer server lacks on this machine; empty where it can be started."""
    if find_newer(PROGRAM) is None or find_newer("kubectl") is None:
        return "no newer API server: tests/tools/newer.sh makes it"
    if find_binary("kube-apiserver") is None or find_binary("kubectl") is None:
        return "no kube-apiserver and kubectl: set KUBERNETES_BINARIES, or build a machine image first"
    return ""


def newer_api_server(directory: Path) -> NewerApiServer:
    """Start one; :func:`missing` has to be empty."""
    found = [find_newer(PROGRAM), find_newer("kubectl"), find_binary("kube-apiserver"), find_binary("kubectl")]
    return NewerApiServer(directory, *t.cast("list[str]", found))


def start_api_server(directory: Path) -> ApiServer:
    """Start the API server that tests of the store ask: a newer one where the variable ``WANTED`` says so. Skips where there is none."""
    if os.environ.get(WANTED):
        if missing():
            pytest.skip(missing())
        return newer_api_server(directory)
    apiserver, kubectl = find_binary("kube-apiserver"), find_binary("kubectl")
    if apiserver is None or kubectl is None:
        pytest.skip("no kube-apiserver and kubectl: set KUBERNETES_BINARIES, or build a machine image first")
    return ApiServer(directory, apiserver, kubectl)
