# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Commands of an upgrade, and the commands that every Action shares.

An upgrade is of kubeadm, the control plane's components, kubelet and kubectl. Shared are preflight, waitHealthy,
restartComponent, kubectlDrain and kubectlUncordon.

Sources: docs/reference/kubeadm_operator.md, "Commands"; docs/reference/kubeadm.md, "Upgrading".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ....module_utils.common import kubernetes_facts, kubernetes_versions, settings
from ....module_utils.workload_api.api import MANIFESTS_DIRECTORY
from ...objects.actions import FieldError
from .. import command_type
from ..command_type import Command, Parameter
from ..planner_types import NodeFacts

COMPONENTS = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler")
PACKAGES, FILES = "packages", "files"
_VERSION = rf"v1\.{kubernetes_versions.REST_PATTERN}"
_CHECK = r"[A-Za-z0-9][A-Za-z0-9./:_-]*"
_PACKAGE_VERSION = r"[0-9A-Za-z][0-9A-Za-z.+:~*-]*"
_REVISION = r"sha256:[0-9a-f]{64}"


def version_parameter() -> Parameter:
    """Return the parameter for a command's required Kubernetes version."""
    return Parameter(required=True, pattern=_VERSION, pattern_words="a version of the form v1.30.2")


def binaries_errors(binaries: Any, path: str) -> list[FieldError]:
    """Return the errors in the source of the binaries.

    It is ``{source: packages, packageVersion}`` or ``{source: files, path}``.
    """
    if not isinstance(binaries, Mapping):
        return [FieldError(path, None, "must be a mapping", "Write such as {source: packages}.")]
    source = binaries.get("source", PACKAGES)
    known = {PACKAGES: ("source", "packageVersion"), FILES: ("source", "path", "checksums")}
    if source not in known:
        return [FieldError(f"{path}.source", source, f"must be {PACKAGES} or {FILES}", "Choose one of them.")]
    found = []
    for name in sorted(set(binaries) - set(known[source])):
        rule = f"binaries from {source} have no such field (they have: {', '.join(known[source])})"
        found.append(FieldError(f"{path}.{name}", None, rule, "Remove it, or correct its name."))
    if source == FILES:
        folder = Parameter(required=True, pattern=r"/[^\0\n]*", pattern_words="an absolute path on the nodes")
        if not binaries.get("path"):
            fix = (
                "Give the folder on the nodes that has kubeadm, kubelet and kubectl, such as /opt/kubernetes/{version}."
            )
            found.append(FieldError(f"{path}.path", None, "binaries from files need it", fix))
        else:
            found += folder.errors(binaries["path"], f"{path}.path")
        if binaries.get("checksums") is not None:
            found += _checksum_errors(binaries["checksums"], f"{path}.checksums")
    elif binaries.get("packageVersion") is not None:
        wanted = Parameter(pattern=_PACKAGE_VERSION, pattern_words="a package version such as 1.30.2-1.1 or 1.30.2-*")
        found += wanted.errors(binaries["packageVersion"], f"{path}.packageVersion")
    return found


def _checksum_errors(checksums: Any, path: str) -> list[FieldError]:
    if not isinstance(checksums, Mapping):
        fix = "Write such as {kubeadm: sha256:…, kubelet: sha256:…, kubectl: sha256:…}."
        return [FieldError(path, None, "must be a mapping of programs to their SHA-256", fix)]
    found = []
    digest = Parameter(pattern=_REVISION, pattern_words="sha256: and 64 hexadecimal digits")
    for name in sorted(map(str, checksums)):
        if name not in ("kubeadm", "kubelet", "kubectl"):
            rule = "is none of kubeadm, kubelet and kubectl"
            found.append(FieldError(f"{path}.{name}", None, rule, "Remove it."))
        else:
            found += digest.errors(checksums[name], f"{path}.{name}")
    return found


def _binaries(parameters: Mapping[str, Any], path: str) -> list[FieldError]:
    return binaries_errors(parameters["binaries"], f"{path}.binaries")


# What kubelets call the systems whose programs apt installs, and those where dnf or yum does (os-release's PRETTY_NAME).
_APT = ("debian", "ubuntu")
_DNF = ("red hat", "centos", "rocky", "alma", "fedora", "oracle", "amazon")


def _installation(names: tuple[str, ...], parameters: Mapping[str, Any], node: NodeFacts) -> tuple[str, ...]:
    """Return the lines that install these programs at a version.

    For an operating system that is of neither family, apt's nor dnf's, they are both.
    """
    version, binaries = str(parameters["version"]), parameters["binaries"]
    if binaries.get("source", PACKAGES) == FILES:
        folder = str(binaries["path"]).replace("{version}", version)
        return tuple(f"install -m 0755 {folder}/{name} $(command -v {name})" for name in names)
    wanted = binaries.get("packageVersion") or f"{version[1:]}-*"
    words = " ".join(names)
    packages = " ".join(f"'{name}={wanted}'" for name in names)
    apt = f"apt-mark unhold {words} && apt-get update && apt-get install -y {packages} && apt-mark hold {words}"
    # The repository's own file keeps these packages from being upgraded by accident.
    packages = " ".join(f"'{name}-{wanted}'" for name in names)
    dnf = f"dnf install --assumeyes --disableexcludes=all {packages}"
    system = node.os_image.lower()
    if any(each in system for each in _APT):
        return (apt,)
    if any(each in system for each in _DNF):
        return (dnf,)
    return (f"{apt} # where apt installed {names[0]}", f"{dnf} # where dnf or yum did")


def _kubeadm(parameters: Mapping[str, Any], node: NodeFacts) -> tuple[str, ...]:
    return _installation(("kubeadm",), parameters, node)


def _kubelet_and_kubectl(parameters: Mapping[str, Any], node: NodeFacts) -> tuple[str, ...]:
    return (
        *_installation(("kubelet", "kubectl"), parameters, node),
        "systemctl daemon-reload && systemctl restart kubelet",
    )


def upgrade_arguments(parameters: Mapping[str, Any], node: NodeFacts) -> list[str]:
    """Return the flags of ``kubeadm upgrade`` on a Node."""
    words = []
    if parameters["ignorePreflightErrors"]:
        words.append(f"--ignore-preflight-errors={','.join(parameters['ignorePreflightErrors'])}")
    if not parameters["certificateRenewal"]:
        words.append("--certificate-renewal=false")
    if not parameters["etcdUpgrade"]:
        words.append("--etcd-upgrade=false")
    patches = parameters["patches"] or node.patches
    if patches:
        # The flag's name by version; without it an upgrade drops what was patched at init or join.
        # Source: docs/reference/kubeadm.md, "Patches".
        words.append(f"{kubernetes_facts.patches_flag(parameters['version']) or '--patches'}={patches}")
    return words


def _apply(parameters: Mapping[str, Any], node: NodeFacts) -> tuple[str, ...]:
    return (" ".join(["kubeadm upgrade apply", parameters["version"], "--yes", *upgrade_arguments(parameters, node)]),)


def _node(parameters: Mapping[str, Any], node: NodeFacts) -> tuple[str, ...]:
    return (" ".join(["kubeadm upgrade node", *upgrade_arguments(parameters, node)]),)


def _plan(parameters: Mapping[str, Any], node: NodeFacts) -> tuple[str, ...]:
    del node
    words = ["kubeadm upgrade plan", parameters["version"]]
    if parameters["ignorePreflightErrors"]:
        words.append(f"--ignore-preflight-errors={','.join(parameters['ignorePreflightErrors'])}")
    return (" ".join(words),)


def _healthy(parameters: Mapping[str, Any], node: NodeFacts) -> tuple[str, ...]:
    wanted = [f"a kubelet of {parameters['kubeletVersion']}"] if parameters["kubeletVersion"] else []
    wanted += [f"an API server of {parameters['apiServerVersion']}"] if parameters["apiServerVersion"] else []
    also = f", with {' and '.join(wanted)}" if wanted else ""
    seconds = parameters["timeoutSeconds"]
    return (
        f"# wait, at most {seconds} s, until {node.name} is Ready, its control plane answers and every etcd member is healthy{also}",
    )


def _restart(parameters: Mapping[str, Any], node: NodeFacts) -> tuple[str, ...]:
    del node
    file = f"{parameters['component']}.yaml"
    return (
        f"mv {MANIFESTS_DIRECTORY}/{file} /etc/kubernetes/ && # wait until {parameters['component']} has ended",
        f"mv /etc/kubernetes/{file} {MANIFESTS_DIRECTORY}/ && # wait until it answers",
    )


def _drain(parameters: Mapping[str, Any], node: NodeFacts) -> tuple[str, ...]:
    bound = f" --timeout={parameters['timeoutSeconds']}s" if parameters["timeoutSeconds"] else ""
    return (f"kubectl drain {node.name} --ignore-daemonsets --delete-emptydir-data --force{bound}",)


_BINARIES = Parameter(command_type.MAPPING, default={"source": PACKAGES})
_IGNORED = Parameter(
    command_type.STRINGS, default=[], pattern=_CHECK, pattern_words="names of kubeadm's checks, such as ImagePull"
)
_UPGRADE = {
    "version": version_parameter(),
    "ignorePreflightErrors": _IGNORED,
    "certificateRenewal": Parameter(command_type.BOOLEAN, default=True),
    "etcdUpgrade": Parameter(command_type.BOOLEAN, default=True),
    "patches": Parameter(default="", pattern=r"(/[^\0\n]*)?", pattern_words="an absolute path on the node"),
}

COMMANDS: tuple[Command, ...] = (
    Command(
        "preflight",
        lambda parameters, node: ("kubeadm version -o short",),
        {
            "ignore": Parameter(command_type.STRINGS, default=[], pattern=_CHECK, pattern_words="names of checks"),
            # What the node is to be fit for; without it, for what its own kubeadm is.
            "version": Parameter(default="", pattern=f"({_VERSION})?", pattern_words="a version, as v1.30.2"),
        },
    ),
    Command("upgradeKubeadm", _kubeadm, {"version": version_parameter(), "binaries": _BINARIES}, check=_binaries),
    Command("kubeadmUpgradePlan", _plan, {"version": version_parameter(), "ignorePreflightErrors": _IGNORED}),
    Command(
        "kubeadmUpgradeApply",
        _apply,
        _UPGRADE,
        stops_api_server=command_type.always,
        scope=command_type.CLUSTER,
    ),
    Command("kubeadmUpgradeNode", _node, _UPGRADE, stops_api_server=command_type.always),
    Command(
        "upgradeKubeletAndKubectl",
        _kubelet_and_kubectl,
        {"version": version_parameter(), "binaries": _BINARIES},
        check=_binaries,
    ),
    Command(
        "waitHealthy",
        _healthy,
        {
            "timeoutSeconds": Parameter(command_type.INTEGER, default=settings.HEALTHY_SECONDS, minimum=1),
            "kubeletVersion": Parameter(default="", pattern=f"({_VERSION})?", pattern_words="a version, as v1.30.2"),
            "apiServerVersion": Parameter(default="", pattern=f"({_VERSION})?", pattern_words="a version, as v1.30.2"),
        },
    ),
    Command(
        "restartComponent",
        _restart,
        {
            "component": Parameter(required=True, choices=COMPONENTS),
            # Without it, another member's or API server's trouble holds the restart back.
            "offline": Parameter(command_type.BOOLEAN, default=False),
            "timeoutSeconds": Parameter(command_type.INTEGER, default=settings.RESTART_SECONDS, minimum=1),
        },
        stops_api_server=lambda parameters: parameters["component"] in ("etcd", "kube-apiserver"),
    ),
    Command(
        "kubectlDrain",
        _drain,
        {"timeoutSeconds": Parameter(command_type.INTEGER, default=settings.DRAIN_SECONDS, minimum=0)},
    ),
    Command(
        "recordWorkers",
        lambda parameters, node: (
            f"record {parameters['version']} on the Machine of each worker that has it, and on each MachineDeployment whose workers all do, "
            "with its MachineSets and its manifest",
        ),
        {"version": version_parameter()},
        scope=command_type.CLUSTER,
    ),
    Command("kubectlUncordon", lambda parameters, node: (f"kubectl uncordon {node.name}",)),
)
