# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Fields of a kubelet's configuration that its own flags override.

A kubelet takes a flag's value over its configuration's, and says nothing of it: kubeadm gives each machine the flags of its
nodeRegistration.kubeletExtraArgs, and packages those of a file for systemd.
"""

from __future__ import annotations

import os
import re
import typing as t

from ...common import systemd_units

_GATES = "featureGates"
# Flags that are not called as their field is (KubeletConfiguration v1beta1, and the kubelet's AddKubeletConfigFlags).
_FLAGS: t.Mapping[str, str] = {
    "authentication.anonymous.enabled": "anonymous-auth",
    "authentication.webhook.cacheTTL": "authentication-token-webhook-cache-ttl",
    "authentication.webhook.enabled": "authentication-token-webhook",
    "authentication.x509.clientCAFile": "client-ca-file",
    "authorization.mode": "authorization-mode",
    "authorization.webhook.cacheAuthorizedTTL": "authorization-webhook-cache-authorized-ttl",
    "authorization.webhook.cacheUnauthorizedTTL": "authorization-webhook-cache-unauthorized-ttl",
    "enableContentionProfiling": "contention-profiling",
    "eventRecordQPS": "event-qps",
    "imageGCHighThresholdPercent": "image-gc-high-threshold",
    "imageGCLowThresholdPercent": "image-gc-low-threshold",
    "imageMinimumGCAge": "minimum-image-ttl-duration",
    "kubeAPIBurst": "kube-api-burst",
    "kubeAPIQPS": "kube-api-qps",
    "logging.format": "logging-format",
    "logging.verbosity": "v",
    "makeIPTablesUtilChains": "make-iptables-util-chains",
    "podPidsLimit": "pod-max-pids",
    "registryPullQPS": "registry-qps",
    "registryBurst": "registry-burst",
    "reservedSystemCPUs": "reserved-cpus",
    "serverTLSBootstrap": "rotate-server-certificates",
    "staticPodPath": "pod-manifest-path",
    "staticPodURL": "manifest-url",
    "staticPodURLHeader": "manifest-url-header",
    "volumeStatsAggPeriod": "volume-stats-agg-period",
}


def flags_of_kubelet(unit: str, proc: str, runner: systemd_units.Runner) -> list[str]:
    """Return the command line arguments of a kubelet's unit, [] if stopped."""
    done = runner(["systemctl", "show", f"{unit}.service", "--property=MainPID"])
    pid = done.stdout.strip().partition("=")[2]
    if not pid.isdigit() or pid == "0":
        return []
    try:
        with open(os.path.join(proc, pid, "cmdline"), "rb") as file:
            return file.read().rstrip(b"\0").decode(errors="replace").split("\0")[1:]
    except OSError:
        return []


def outweighed(words: t.Sequence[str], fields: t.Iterable[str]) -> list[str]:
    """Return the configuration fields that a kubelet's flags override.

    ``fields`` are paths with dots; an entry reads "maxPods by --max-pods".
    """
    present = _values(words)
    found = []
    for field in sorted(fields):
        name = flag(field)
        if name not in present:
            continue
        if field.startswith(f"{_GATES}."):
            # A map of its own: only the gates that the flag names.
            gates = {each.partition("=")[0].strip() for each in present[name].split(",")}
            if field.partition(".")[2] not in gates:
                continue
        found.append(f"{field} by --{name}")
    return found


def flag(field: str) -> str:
    """Return the flag of a configuration field.

    "evictionHard.memory.available" has "eviction-hard".
    """
    for path, name in _FLAGS.items():
        if field == path or field.startswith(f"{path}."):
            return name
    words = re.sub(r"([A-Z]+)([A-Z][a-z])", r"\1-\2", field.partition(".")[0])
    return re.sub(r"([a-z0-9])([A-Z])", r"\1-\2", words).lower()


def _values(words: t.Sequence[str]) -> dict[str, str]:
    """Return a command line's flags with their values, in both forms.

    They are "--flag=value" and "--flag value".
    """
    found: dict[str, str] = {}
    for place, word in enumerate(words):
        if word.startswith("-"):
            name, separator, value = word.lstrip("-").partition("=")
            after = words[place + 1] if place + 1 < len(words) else ""
            found[name.replace("_", "-")] = value if separator or after.startswith("-") else after
    return found
