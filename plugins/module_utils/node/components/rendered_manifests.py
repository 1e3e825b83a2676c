# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Static pod manifests and certificates that this machine's kubeadm renders.

kubeadm makes them from a ClusterConfiguration, apart from those in use.

kubeadm knows only one place for them. It is run in a mount namespace of its own, in which an empty folder lies over that place: no other
process sees it, least of all the kubelet. kubectl reads manifests (``patch --local`` asks no API), whose format is YAML.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import typing as t
from dataclasses import dataclass

from ...common import guard, kubernetes_facts, settings, timed_command
from ...common.guard import NodeError
from ...common.kubernetes_versions import api_of, read_version
from ...common.redact import redact

Object = dict[str, t.Any]
COMPONENTS = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler")
# kubeadm's name of a certificate -> its files in the certificates' folder, without .crt and .key, and the folder of its authority.
CERTIFICATES: t.Mapping[str, tuple[str, str]] = {
    "apiserver": ("apiserver", ""),
    "etcd-server": ("etcd/server", "etcd"),
    "etcd-peer": ("etcd/peer", "etcd"),
}
# The first API version of kubeadm (v1beta3) that has a field for patches; before, they are a flag.
_PATCHES_SINCE = 3
# The phases that are run here ask no container runtime; without a value kubeadm would look for one.
_SOCKET = "unix:///run/containerd/containerd.sock"
_SCRIPT = """\
set -e
. "$2/environment"
mkdir -p "$2/authorities"
mount --bind "$1" "$2/authorities"
mount --bind "$3" "$1"
shift 3
exec "$@"
"""
# Only a first start of etcd reads these; afterwards the members are in its data (kubeadm's own upgrade leaves them out as well).
_FIRST_START = re.compile(r"--initial-cluster(-state)?=")
_FIRST_START_LINE = re.compile(r"^[ ]*- [\"']?--initial-cluster(?:-state)?=.*\n", re.MULTILINE)
_FLAG = re.compile(r"--([A-Za-z0-9][A-Za-z0-9_.-]*)(?:=(.*))?\Z", re.DOTALL)
_PROXY = re.compile(r"(https?|no|all)_proxy", re.IGNORECASE)
_SECRET = re.compile(r"(token|secret|passw|credential|key)", re.IGNORECASE)
_PLAIN = re.compile(r"true|false|[0-9]+[a-z]*|RSA.*|ECDSA.*|/.*")


@dataclass(frozen=True)
class Tools:
    """Programs that are used; tests use other ones."""

    kubeadm: str = "kubeadm"
    kubectl: str = "kubectl"
    unshare: str = "unshare"


@dataclass(frozen=True)
class Renderer:
    """Phases of kubeadm, with their results in folders of our own.

    Args:
        kubernetes: /etc/kubernetes.
        certificates: the certificates' folder of the configuration.
        node: this Node's name.
        patches: the folder of the user's patches on this machine, "" for none.
    """

    kubernetes: str
    certificates: str
    node: str
    patches: str = ""
    tools: Tools = Tools()

    @property
    def manifests(self) -> str:
        """The kubelet's folder of static pods."""
        return os.path.join(self.kubernetes, "manifests")

    def manifests_of(self, configuration: t.Mapping[str, t.Any], folder: str) -> dict[str, str]:
        """Render a ClusterConfiguration's manifests in ``folder``; return texts by component.

        Raises:
            NodeError: kubeadm refused, in its own words.
        """
        made = os.path.join(folder, "manifests")
        os.makedirs(made, mode=0o700, exist_ok=True)
        external = "external" in (configuration.get("etcd") or {})
        phases = [["control-plane", "all"]] + ([] if external else [["etcd", "local"]])
        for phase in phases:
            self._phase(phase, configuration, folder, self.manifests, made)
        texts = {}
        for component in COMPONENTS:
            path = os.path.join(made, f"{component}.yaml")
            if os.path.exists(path):
                texts[component] = _whole_text(path)
        return texts

    def certificate(self, name: str, configuration: t.Mapping[str, t.Any], folder: str) -> tuple[str, str]:
        """Issue a certificate in ``folder``; return its and its key's paths.

        Raises:
            NodeError: the authority's key is not on this machine, or kubeadm refused.
        """
        file, authority = CERTIFICATES[name]
        source = os.path.join(self.certificates, authority)
        for each in ("ca.crt", "ca.key"):
            if not os.path.exists(os.path.join(source, each)):
                raise NodeError(
                    f"{os.path.join(source, each)} is not on this machine, and without it kubeadm can't issue the certificate {name}.",
                    "Issue it where the key is, put it in its place on every control plane machine, and run the Action again.",
                )
        made = os.path.join(folder, "certificates")
        os.makedirs(os.path.join(made, authority), mode=0o700, exist_ok=True)
        for each in ("ca.crt", "ca.key"):
            link = os.path.join(made, authority, each)
            if not os.path.lexists(link):
                # Where the real folder is to be seen within the namespace: no key is copied.
                os.symlink(os.path.join(folder, "authorities", authority, each), link)
        self._phase(["certs", name], configuration, folder, self.certificates, made)
        return os.path.join(made, f"{file}.crt"), os.path.join(made, f"{file}.key")

    def read(self, path: str) -> Object:
        """Return a manifest's content. Raises NodeError."""
        words = [self.tools.kubectl, "--kubeconfig=/dev/null", "patch", "--local", f"--filename={path}"]
        done = timed_command.run(
            [*words, "--type=merge", "--patch={}", "--output=json"], why="Every kubeadm node needs it."
        )
        try:
            document = json.loads(done.stdout)
        except ValueError:
            document = None
        if done.returncode != 0 or not isinstance(document, dict):
            raise NodeError(
                f"{path} can't be read: {redact(done.stderr.strip())[:300]}", "Put kubeadm's manifest back."
            )
        return document

    def _phase(
        self, phase: t.Sequence[str], configuration: t.Mapping[str, t.Any], folder: str, place: str, made: str
    ) -> None:
        config = os.path.join(folder, "kubeadm.yaml")
        documents = [self._init_configuration(configuration), dict(configuration)]
        # JSON is YAML, too; kubeadm wants several documents apart.
        guard.write_atomically(config, "\n---\n".join(json.dumps(each) for each in documents).encode(), 0o600)
        words = [self.tools.kubeadm, "init", "phase", *phase, "--config", config]
        if self.patches and phase[0] != "certs" and not _has_patches(configuration):
            words += [_patches_flag(configuration), self.patches]
        guard.write_atomically(os.path.join(folder, "environment"), self._environment().encode(), 0o600)
        isolated = [self.tools.unshare, "--mount", "--propagation", "private", "--"]
        done = timed_command.run(
            [*isolated, "/bin/sh", "-c", _SCRIPT, "sh", place, folder, made, *words], seconds=settings.RENDER_SECONDS
        )
        if done.returncode != 0:
            said = redact(f"{done.stdout}\n{done.stderr}".strip())[-600:]
            raise NodeError(f"kubeadm init phase {' '.join(phase)} refused the new configuration: {said}")

    def _init_configuration(self, configuration: t.Mapping[str, t.Any]) -> Object:
        address, port = self._endpoint()
        document: Object = {
            "apiVersion": configuration["apiVersion"],
            "kind": "InitConfiguration",
            "localAPIEndpoint": {"advertiseAddress": address, "bindPort": port},
            "nodeRegistration": {"name": self.node, "criSocket": _SOCKET},
        }
        if self.patches and _has_patches(configuration):
            document["patches"] = {"directory": self.patches}
        return document

    def _endpoint(self) -> tuple[str, int]:
        path = os.path.join(self.manifests, "kube-apiserver.yaml")
        text = guard.read_text(path)
        address = re.search(r"--advertise-address=([^\s\"']+)", text)
        port = re.search(r"--secure-port=(\d+)", text)
        if address is None:
            raise NodeError(
                f"{path} is not there or names no --advertise-address.", "Name a control plane node of kubeadm's."
            )
        return address.group(1), int(port.group(1)) if port else 6443

    def _environment(self) -> str:
        """Return the text of a file that sets the static pods' proxies.

        kubeadm passes its own proxies on to the static pods: those that they have now are set, whatever this
        process has. It is a file, for a proxy's address may hold a password.
        """
        lines = [f"unset {name}" for name in sorted(os.environ) if _PROXY.fullmatch(name)]
        path = os.path.join(self.manifests, "kube-apiserver.yaml")
        if "_proxy" in guard.read_text(path).lower():
            for each in container(self.read(path)).get("env") or []:
                if _PROXY.fullmatch(str(each.get("name"))):
                    lines.append(f"export {each['name']}={shlex.quote(str(each.get('value') or ''))}")
        return "".join(f"{line}\n" for line in lines)


def container(manifest: t.Mapping[str, t.Any]) -> Object:
    """Return a static pod's container."""
    containers = (manifest.get("spec") or {}).get("containers") or [{}]
    return dict(containers[0])


def words_of(manifest: t.Mapping[str, t.Any]) -> list[str]:
    """Return the command line of a static pod's container."""
    own = container(manifest)
    return [str(each) for each in (*(own.get("command") or []), *(own.get("args") or []))]


def differences(before: t.Mapping[str, t.Any], after: t.Mapping[str, t.Any]) -> list[str]:
    """Return the differences of two manifests of a component, without secrets.

    [] where they mean the same.
    """
    found = []
    old, new = _flags(before), _flags(after)
    for name in sorted({*old, *new}):
        if old.get(name) != new.get(name):
            found.append(f"--{name}: {_shown(name, old.get(name))} -> {_shown(name, new.get(name))}")
    first, second = _rest(before), _rest(after)
    for path in sorted({*first, *second}):
        if first.get(path) != second.get(path):
            hidden = path.startswith("environment")
            texts = [
                "not set" if each.get(path) is None else "(not shown)" if hidden else each[path][:200]
                for each in (first, second)
            ]
            found.append(f"{path}: {texts[0]} -> {texts[1]}")
    return found


def keep_first_start(text: str, current: str) -> str:
    """Return etcd's new manifest with the present flags of its first start.

    Should the data be lost, no new cluster is made.
    """
    kept = "".join(_FIRST_START_LINE.findall(current))
    if not kept or not _FIRST_START_LINE.search(text):
        return text
    done = False

    def replace(_found: t.Match[str]) -> str:
        nonlocal done
        first, done = not done, True
        return kept if first else ""

    return _FIRST_START_LINE.sub(replace, text)


def missing_files(after: t.Mapping[str, t.Any], before: t.Mapping[str, t.Any]) -> list[str]:
    """Return the files and folders that a new manifest needs and lacks.

    They are folders to mount on this machine, and files that new flags name.
    """
    problems = []
    spec = after.get("spec") or {}
    sources: dict[str, str] = {}
    for volume in spec.get("volumes") or []:
        place = volume.get("hostPath") or {}
        path, kind = str(place.get("path") or ""), str(place.get("type") or "")
        sources[str(volume.get("name"))] = path
        if path and kind in ("File", "Directory", "Socket") and not os.path.exists(path):
            problems.append(f"the volume {volume.get('name')} mounts {path}, which is not on this machine")
    mounts = {
        str(each.get("mountPath")).rstrip("/"): sources.get(str(each.get("name")), "")
        for each in container(after).get("volumeMounts") or []
    }
    old = _flags(before)
    for name, value in _flags(after).items():
        if old.get(name) == value or not re.search(r"-(file|config)\Z", name) or not value.startswith("/"):
            continue
        mounted = [place for place in mounts if value == place or value.startswith(f"{place}/")]
        if not mounted:
            problems.append(f"--{name}={value} is in no folder that the pod mounts: it needs an entry of extraVolumes")
            continue
        place = max(mounted, key=len)
        source = mounts[place] + value[len(place) :]
        if mounts[place] and not os.path.exists(source):
            problems.append(f"--{name}={value} is {source} on this machine, which is not there")
    return problems


def _flags(manifest: t.Mapping[str, t.Any]) -> dict[str, str]:
    found: dict[str, str] = {}
    for word in words_of(manifest):
        match = None if _FIRST_START.match(word) else _FLAG.match(word)
        if match:
            value = "true" if match.group(2) is None else match.group(2)
            found[match.group(1)] = f"{found[match.group(1)]},{value}" if match.group(1) in found else value
    return found


def _rest(manifest: t.Mapping[str, t.Any]) -> dict[str, str]:
    """Return a manifest's fields except the flags, by name, as text."""
    spec, own = dict(manifest.get("spec") or {}), container(manifest)
    found = {}
    for each in own.pop("env", None) or []:
        found[f"environment variable {each.get('name')}"] = json.dumps(each, sort_keys=True)
    for each in own.pop("volumeMounts", None) or []:
        found[f"mount {each.get('name')} at {each.get('mountPath')}"] = json.dumps(each, sort_keys=True)
    for each in spec.pop("volumes", None) or []:
        found[f"volume {each.get('name')}"] = json.dumps(each, sort_keys=True)
    words = [word for word in words_of(manifest) if not _FLAG.match(word)]
    own.update(command=words)
    own.pop("args", None)
    more = spec.pop("containers", None) or []
    metadata = {key: value for key, value in (manifest.get("metadata") or {}).items() if key != "creationTimestamp"}
    for path, value in (("container", own), ("pod", spec), ("metadata", metadata)):
        found.update({f"{path} {key}": json.dumps(one, sort_keys=True) for key, one in value.items()})
    if len(more) > 1:
        found["further containers"] = json.dumps(more[1:], sort_keys=True)
    return found


def _shown(name: str, value: t.Optional[str]) -> str:
    if value is None:
        return "not set"
    hidden = _SECRET.search(name) and not _PLAIN.fullmatch(value)
    return "(not shown)" if hidden else repr(value[:200])


def _has_patches(configuration: t.Mapping[str, t.Any]) -> bool:
    """Return whether the API version has a field for patches.

    An unknown one is newer, and has it.
    """
    found = api_of(str(configuration.get("apiVersion")))
    return found is None or found.number >= _PATCHES_SINCE


def _patches_flag(configuration: t.Mapping[str, t.Any]) -> str:
    version = str(configuration.get("kubernetesVersion"))
    return (kubernetes_facts.patches_flag(version) if read_version(version) is not None else "") or "--patches"


def _whole_text(path: str) -> str:
    with open(path, encoding="utf-8") as file:
        return file.read()
