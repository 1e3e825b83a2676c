# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Change of a ClusterConfiguration on this control plane machine, or its rollback.

Certificates and static pods are changed one after the other.
"""

from __future__ import annotations

import json
import os
import re
import time
import typing as t
from dataclasses import dataclass, field
from pathlib import Path

from ...common import guard, settings
from ...common.guard import NodeError
from ...common.redact import redact
from ..certificates.alternative_names import alternative_names, certificate_bytes
from ..certificates.der import pem_certificates
from ..certificates.served import listener, presented
from . import pod_processes
from .configuration_change import Change, Places
from .rendered_manifests import (
    CERTIFICATES,
    COMPONENTS,
    Renderer,
    differences,
    keep_first_start,
    missing_files,
    words_of,
)
from .static_pod import StaticPod

REFUSE, OVERWRITE = "Refuse", "Overwrite"
OWNERS: t.Mapping[str, str] = {"apiserver": "kube-apiserver", "etcd-server": "etcd", "etcd-peer": "etcd"}
_POLL_SECONDS = 0.2
# A component that was started so often and ended each time will not do better.
_STARTS = 3
_WHY = re.compile(r'(error|panic|fatal|F\d{4} |\{"level":"fatal")', re.IGNORECASE)
_LOG_BYTES = 16 * 1024
_LONGEST = 600
# Source: docs/rotate_certificate_authorities.md, "Running pods".
_BEHIND = "without what the file has behind it: pods that run since before a rotation don't trust this API server until they are restarted"


@dataclass
class Comparison:
    """Differences that a configuration would make on this machine.

    ``components`` are those with another manifest, ``certificates`` those with other names.
    """

    components: list[str] = field(default_factory=list)
    certificates: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    manual: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)

    def require(self, manual_changes: str) -> None:
        """Refuse a change that can't succeed. Raises NodeError."""
        if self.missing:
            raise NodeError(
                f"The new configuration needs what this machine does not have: {'; '.join(self.missing)}.",
                "Nothing was changed. Put it on every control plane machine, and in the manifest's files for those to come.",
            )
        if self.manual and manual_changes == REFUSE:
            raise NodeError(
                f"Static pods of this machine differ from what kubeadm-config says: {'; '.join(self.manual)}. "
                "kubeadm writes them again, and that would be lost.",
                "Nothing was changed. Add it to the patch where it is to stay, or set manualChanges: Overwrite where it is not.",
            )


def renderer(request: t.Mapping[str, t.Any], places: Places) -> Renderer:
    """Return the renderer of manifests and certificates for a request."""
    certificates = str(request["configuration"].get("certificatesDir") or os.path.join(places.kubernetes, "pki"))
    return Renderer(
        places.kubernetes, certificates, str(request["node"]), str(request.get("patches") or ""), places.tools
    )


def compare(request: t.Mapping[str, t.Any], places: Places, folder: str) -> Comparison:
    """Return what a request would change on this machine, and its obstacles.

    Nothing but the folder is changed.

    Raises:
        NodeError: kubeadm refused the configuration, or a manifest in use can't be read.
    """
    make = renderer(request, places)
    new_folder, old_folder = os.path.join(folder, "new"), os.path.join(folder, "old")
    new = make.manifests_of(request["configuration"], new_folder)
    old: dict[str, str] = {}
    found = Comparison()
    for component in COMPONENTS:
        if component not in request["components"] or component not in new:
            continue
        path = os.path.join(make.manifests, f"{component}.yaml")
        if not os.path.exists(path):
            found.missing.append(f"{path}, the static pod that is to change")
            continue
        current = make.read(path)
        after = make.read(os.path.join(new_folder, "manifests", f"{component}.yaml"))
        lines = differences(current, after)
        if lines:
            found.components.append(component)
            found.lines += [f"{component} {line}" for line in lines]
            old = old or make.manifests_of(request["previous"], old_folder)
            before = make.read(os.path.join(old_folder, "manifests", f"{component}.yaml"))
            # What is neither as the old configuration says nor as the new one, and is the same in both, somebody has changed by hand.
            wanted = {_subject(line) for line in lines} - {_subject(line) for line in differences(before, after)}
            by_hand = [line for line in differences(current, before) if _subject(line) in wanted]
            found.manual += [f"{component} {_reversed(line)}" for line in by_hand]
            found.missing += [f"{component}: {each}" for each in missing_files(after, current)]
    for name in request["certificates"]:
        certificate, _key = make.certificate(name, request["configuration"], new_folder)
        in_use = _text(os.path.join(make.certificates, f"{CERTIFICATES[name][0]}.crt"))
        wanted_names, present = alternative_names(_text(certificate)), alternative_names(in_use)
        if wanted_names != present:
            found.certificates.append(name)
            added, gone = sorted(wanted_names - present), sorted(present - wanted_names)
            texts = ([f"with {', '.join(added)}"] if added else []) + ([f"without {', '.join(gone)}"] if gone else [])
            texts += [_BEHIND] if pem_certificates(in_use)[1:] else []
            found.lines.append(f"certificate {name}: a new one {' and '.join(texts)}")
    return found


class ControlPlaneChange(Change):
    """Change that brings a ClusterConfiguration to this machine.

    The request is compare's, narrowed to what differs, with ``timeout``.
    """

    PROGRAM = "node.components.control_plane_change"

    def steps(self) -> t.Iterator[tuple[str, t.Callable[[], None], t.Callable[[], None]]]:
        """Yield a step for each component, etcd first."""
        request = self.request()
        make = renderer(request, self.places)
        for component in COMPONENTS:
            certificates = [name for name in request["certificates"] if OWNERS[name] == component]
            part = _Part(self, make, component, certificates, float(request["timeout"]))
            # An attempt before this one that could not put it back has left it here: that is done now, should this one fail as well.
            if component in request["components"] or certificates or os.path.exists(part.kept):
                yield component, part.change, part.back


@dataclass
class _Part:
    """One component's part of the change."""

    work: ControlPlaneChange
    make: Renderer
    component: str
    certificates: list[str]
    seconds: float

    @property
    def manifest(self) -> str:
        return os.path.join(self.make.manifests, f"{self.component}.yaml")

    @property
    def kept(self) -> str:
        return os.path.join(self.work.backup, f"{self.component}.yaml")

    def change(self) -> None:
        """Install certificates and manifest, and wait for a healthy component. Raises NodeError."""
        request = self.work.request()
        if self.component not in request["components"] and not self.certificates:
            return
        folder = os.path.join(self.work.folder, "new")
        texts = self.make.manifests_of(request["configuration"], folder)
        os.makedirs(self.work.backup, mode=0o700, exist_ok=True)
        if self.component == "etcd" and not self._has_begun("quorum"):
            # The gate before this node may be old: an Action can have been paused since.
            try:
                self._pod().require_quorum()
            except NodeError as error:
                raise NodeError(error.what, "etcd was not touched here. Mend the members first, then retry.") from error
            self._begun("quorum")
        self._keep(self.manifest, self.kept)
        for name in self.certificates:
            made = self.make.certificate(name, request["configuration"], folder)
            for source, (place, kept) in zip(made, self._certificate_files(name)):
                self._keep(place, kept)
                _copy(source, place)
        if self.component in request["components"]:
            text = texts[self.component]
            self._put(keep_first_start(text, _text(self.kept)) if self.component == "etcd" else text, "change")
        else:
            self._restart("changed", force=False)
        for name in self.certificates:
            self._require_served(name)

    def back(self) -> None:
        """Restore certificates and manifest, and wait for a healthy component. Raises NodeError."""
        if not os.path.exists(self.kept):
            return
        files = [pair for name in OWNERS for pair in self._certificate_files(name) if OWNERS[name] == self.component]
        changed = [(place, kept) for place, kept in files if os.path.exists(kept) and _text(place) != _text(kept)]
        if changed:
            # Killed after the files are back, the next unit must still see that a process is to follow.
            self._begun("restart")
        for place, kept in changed:
            _copy(kept, place)
        if self._has_begun("back") or not os.path.exists(self.manifest) or _text(self.manifest) != _text(self.kept):
            self._put(_text(self.kept), "back")
        elif self._has_begun("restart"):
            self._restart("back", force=True)
        elif self.work.failed_before:
            self._wait(words_of(self.make.read(self.kept)), set(), None)
            for name in OWNERS:
                if OWNERS[name] == self.component and os.path.exists(self._certificate_files(name)[0][1]):
                    self._require_served(name)

    def _certificate_files(self, name: str) -> tuple[tuple[str, str], ...]:
        """Return the paths of a certificate and its key, and their backups'."""
        files = [f"{CERTIFICATES[name][0]}.{suffix}" for suffix in ("crt", "key")]
        live, kept = self.make.certificates, self.work.backup
        return tuple((os.path.join(live, each), os.path.join(kept, each.replace("/", "-"))) for each in files)

    @staticmethod
    def _keep(source: str, kept: str) -> None:
        if not os.path.exists(kept):
            guard.write_atomically(kept, Path(source).read_bytes(), 0o600)

    def _begun(self, what: str) -> set[pod_processes.Instance]:
        """Record an operation's start and processes; return the processes first recorded."""
        path = os.path.join(self.work.begun, f"{self.component}.{what}")
        if not os.path.exists(path):
            os.makedirs(self.work.begun, mode=0o700, exist_ok=True)
            guard.write_atomically(path, json.dumps(sorted(self._instances())).encode(), 0o600)
        return {(int(pid), int(started)) for pid, started in json.loads(_text(path))}

    def _has_begun(self, what: str) -> bool:
        return os.path.exists(os.path.join(self.work.begun, f"{self.component}.{what}"))

    def _put(self, text: str, why: str) -> None:
        """Install a manifest unless it is there, and wait for its process."""
        before = self._begun(why)
        # On the way back starts in vain don't count, for they may still be those of the manifest before.
        starts = None if why == "back" else self._starts()
        partial = os.path.join(self.work.places.kubernetes, f".{self.component}.yaml.kubeadm-control-plane")
        guard.write_atomically(partial, text.encode(), 0o600)
        words = words_of(self.make.read(partial))
        if os.path.exists(self.manifest) and _text(self.manifest) == text:
            # Interrupted after this was done: the process may be there already.
            os.unlink(partial)
        else:
            # The kubelet takes whatever appears in its folder for a manifest: it appears whole.
            os.rename(partial, self.manifest)
            guard.sync_directory(self.make.manifests)
        self._wait(words, before, starts)

    def _pod(self) -> StaticPod:
        return StaticPod(self.component, self.work.places.static_pods(), self.work.runner)

    def _restart(self, why: str, *, force: bool) -> None:
        once = f"{os.path.basename(self.work.folder)}-{why}"
        self._pod().restart(once=once, seconds=self.seconds, force=force)

    def _wait(
        self, words: list[str], before: set[pod_processes.Instance], starts: t.Optional[t.Mapping[str, int]]
    ) -> None:
        pod = self._pod()
        begun = time.monotonic()
        nudged = told = False
        seen: set[pod_processes.Instance] = set()
        while True:
            new = self._instances() - before
            seen |= new
            running = {each for each in new if self._runs(each, words)}
            old = pod_processes.alive(before, self.work.places.proc)
            if old:
                problem = "the process before it still runs"
                # The kubelet may start the new one beside it, and whoever answers may be the old one.
                if not told and time.monotonic() - begun > pod.ending(pod.manifest):
                    # A kubelet (1.22) that has not heard from an API server since its start ends none whose manifest was changed.
                    told = True
                    pod_processes.end(old, self.work.places.proc)
                if told:
                    # What was started beside it had no port, whatever the manifest says: it is counted anew.
                    seen, starts = set(), None if starts is None else self._starts()
            else:
                problem = pod.unhealthy() if running else "no process of it is there"
                if not problem and running & self._instances():
                    return
            tries = 0
            if starts is not None:
                logged = sum(max(0, number - starts.get(path, -1)) for path, number in self._starts().items())
                tries = max(logged, len(seen))
            waited = time.monotonic() - begun
            # One that runs may still become well: the first ones may have ended because the old one still had the port.
            if tries >= _STARTS and not running and not old:
                raise NodeError(f"{self.component} was started {tries} times and ended each time. {self._why(starts)}")
            if waited >= self.seconds:
                raise NodeError(f"{self.component} is unhealthy after {waited:.0f} s: {problem}. {self._why(starts)}")
            unit = self.work.places.unit_of_kubelet
            if not running and not nudged and not tries and waited >= settings.BACK_OFF_SECONDS and unit:
                nudged = True
                self.work.runner(["systemctl", "restart", f"{unit}.service"])
            time.sleep(_POLL_SECONDS)

    def _instances(self) -> set[pod_processes.Instance]:
        return pod_processes.instances(self.component, self.work.places.proc, self.work.places.pod_logs)

    def _runs(self, instance: pod_processes.Instance, words: list[str]) -> bool:
        """Return whether a process has a manifest's flags (True if a shell starts it)."""
        if os.path.basename(words[0] if words else "") != self.component:
            return True
        try:
            with open(os.path.join(self.work.places.proc, str(instance[0]), "cmdline"), "rb") as file:
                own = file.read().rstrip(b"\0").decode(errors="replace").split("\0")
        except OSError:
            return False
        # The kubelet fills in $(VARIABLES).
        wanted = {word for word in words[1:] if "$(" not in word}
        return os.path.basename(own[0]) == self.component and wanted <= set(own[1:])

    def _logs(self) -> list[tuple[str, int]]:
        """Return the component's logs, one per start, as folder and number."""
        found: list[tuple[str, int]] = []
        root = self.work.places.pod_logs
        for name in os.listdir(root) if os.path.isdir(root) else []:
            folder = os.path.join(root, name, self.component)
            if name.startswith(f"kube-system_{self.component}-") and os.path.isdir(folder):
                found += [(folder, int(each[:-4])) for each in os.listdir(folder) if re.fullmatch(r"\d+\.log", each)]
        return sorted(found)

    def _starts(self) -> dict[str, int]:
        """Return the newest log's number by folder."""
        return dict(self._logs())

    def _why(self, starts: t.Optional[t.Mapping[str, int]]) -> str:
        """Return the newest log's line with the reason why the component ended."""
        # The process that was there before writes to its log until it has ended.
        new = [(folder, number) for folder, number in self._logs() if number > (starts or {}).get(folder, -1)]
        logs = [os.path.join(folder, f"{number}.log") for folder, number in new]
        logs.sort(key=lambda path: os.stat(path).st_mtime if os.path.exists(path) else 0.0)
        for path in reversed(logs):
            text = _tail(path)
            # Each line begins with its time, its stream and a flag.
            lines = [line.split(" ", 3)[-1].strip() for line in text.splitlines() if line.strip()]
            told = [line for line in lines if _WHY.match(line)] or lines[-2:]
            if told:
                return f"It says: {redact(' | '.join(told[-2:]))[:_LONGEST]}"
        return f"It left no log in {self.work.places.pod_logs}; look at journalctl -u kubelet."

    def _require_served(self, name: str) -> None:
        """Wait until the component serves with its installed certificate. Raises NodeError."""
        place = self._certificate_files(name)[0][0]
        wanted = certificate_bytes(_text(place))
        words = words_of(self.make.read(self.manifest))
        host, port = listener(name, words)
        deadline = time.monotonic() + self.seconds
        while presented(host, port, self.make.certificates if name != "apiserver" else "") != wanted:
            if time.monotonic() > deadline:
                raise NodeError(
                    f"{self.component} at {host}:{port} does not present the certificate of {place}.",
                    "Look at crictl ps -a and crictl logs there.",
                )
            time.sleep(_POLL_SECONDS)


def perform(folder: str, places: str) -> None:
    """Run a configuration change; the unit's program (``places`` is :meth:`Places.text`)."""
    ControlPlaneChange(Places.of(places), folder).perform()


def _subject(line: str) -> str:
    return line.partition(": ")[0]


def _reversed(line: str) -> str:
    """Return a difference from present to old configuration, with sides exchanged."""
    subject, _colon, texts = line.partition(": ")
    present, _arrow, old = texts.partition(" -> ")
    return f"{subject} is {present} here, and {old} by kubeadm-config"


def _copy(source: str, place: str) -> None:
    present = os.stat(place)
    guard.write_atomically(place, Path(source).read_bytes(), present.st_mode & 0o777, present.st_uid, present.st_gid)


def _text(path: str) -> str:
    return Path(path).read_bytes().decode("utf-8", "replace")


def _tail(path: str) -> str:
    try:
        with open(path, "rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - _LOG_BYTES))
            return file.read().decode(errors="replace")
    except OSError:
        return ""
