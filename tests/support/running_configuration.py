# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a cluster's machines run with just now: read from processes, certificates and kubeadm-config, not from the store."""

from __future__ import annotations

import json
import ssl
import typing as t

import yaml
from cryptography import x509
from machines import Machines

# When a component's process was started, in ticks since boot, and its command line.
PROCESS = 'pid=$(pgrep -x {0} | head -n 1) && cut -d " " -f 22 /proc/$pid/stat && tr "\\0" " " < /proc/$pid/cmdline'


class RunningConfiguration:
    """The configuration of one cluster as it runs."""

    def __init__(self, machines: Machines) -> None:
        self.machines = machines

    def process(self, machine: str, component: str) -> str:
        """When a component's process was started, and its command line."""
        return self.machines.ssh(machine, PROCESS.format(component[:15]))

    def cluster_configuration(self) -> dict[str, t.Any]:
        """What kubeadm-config holds."""
        text = self.machines.kubectl("-n", "kube-system", "get", "configmap", "kubeadm-config", "-o", "json")
        return dict(yaml.safe_load(json.loads(text)["data"]["ClusterConfiguration"]))

    def served(self, machine: str) -> list[str]:
        """The names in the certificate that a machine's API server presents just now."""
        host = self.machines.infrastructure(machine)["status"]["connection"]["host"]
        return names_of(ssl.get_server_certificate((host, 6443)))


def names_of(certificate: str) -> list[str]:
    """The host names of a certificate."""
    found = x509.load_pem_x509_certificate(certificate.encode())
    names = found.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    return list(names.get_values_for_type(x509.DNSName))
