# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every secret of a cluster, in every form in which it might come to light, and a search for all of them at once.

What is found is told by the secret's name and the place; a secret itself is never shown.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import os
import re
import subprocess
import tempfile
import typing as t
from pathlib import Path

from machines import Machines
from process_samples import Samples
from workspace import Workspace

# Shorter texts are found everywhere by chance.
LEAST = 12
PIECE = 64
# The first line of every ed25519 key in OpenSSH's form says the same.
_SAME_IN_ALL = "b3BlbnNzaC1rZXktdjE"
_PEM = re.compile(r"-----BEGIN ([A-Z ]+)-----\n(.*?)-----END", re.DOTALL)
_CLIENT_KEY = re.compile(r"client-key-data: *(\S+)")
# On a machine: what kubeadm makes there.
_KEYS = "find /etc/kubernetes /var/lib/kubelet/pki -name '*.key' -o -name '*.conf' -o -name '*.pem'"
_PUBLIC = "find /etc/kubernetes/pki /var/lib/kubelet/pki -name '*.crt' -o -name '*.pub'"
_TEMPORARY = "/tmp /var/tmp /run/kubeadm /run/kubeadm-control-plane /root /home /var/lib/kubeadm-control-plane"
_JOURNAL = "journalctl --no-pager --output=json --output-fields=MESSAGE,_CMDLINE"
_WATCHED = "kubectl --kubeconfig /etc/kubernetes/admin.conf -n kube-system get secrets --watch"
_TOKEN = "--field-selector=type=bootstrap.kubernetes.io/token -o jsonpath='{.data.token-secret}{\"\\n\"}'"


class Secrets:
    """What must not come to light, in its forms; each has a name for people."""

    def __init__(self) -> None:
        self._forms: dict[str, str] = {}
        self._public = ""
        self._found_for = (-1, -1)
        self._to_find: dict[str, str] = {}

    @property
    def names(self) -> list[str]:
        """The names of the secrets that are known, sorted."""
        return sorted(set(self._forms.values()))

    def add(self, name: str, text: str) -> None:
        """Register a secret: as it is, as base64, and line by line where it has lines; the keys inside a PEM text or a kubeconfig too."""
        for number, (kind, body) in enumerate(_PEM.findall(text)):
            if "PRIVATE KEY" in kind:
                self._add_lines(f"{name} (key {number})", body)
        for inside in _CLIENT_KEY.findall(text):
            self._add_pieces(f"{name} (client key)", inside)
            self.add(f"{name} (client key)", base64.b64decode(inside).decode())
        private = _PEM.search(text) is None or "PRIVATE KEY" in text
        if private:
            self._add_pieces(f"{name} as base64", base64.b64encode(text.encode()).decode())
            if "\n" not in text.strip():
                self._add_one(name, text.strip())

    def add_store(self, workspace: Workspace) -> None:
        """Register all that the store's Secrets hold."""
        for secret in workspace.objects("Secret"):
            for key, value in secret.get("data", {}).items():
                text = base64.b64decode(value).decode()
                if key == "tls.crt":
                    self.add_public(text)
                else:
                    self._add_pieces(f"{secret['metadata']['name']}/{key} as stored", value)
                    self.add(f"{secret['metadata']['name']}/{key}", text)

    def add_machine(self, machines: Machines, name: str) -> None:
        """Register the keys that kubeadm and the kubelet have on a machine."""
        self.add_public(machines.ssh(name, f"cat $({_PUBLIC})"))
        listed = machines.ssh(name, f'for path in $({_KEYS}); do echo "$path $(base64 -w 0 $path)"; done')
        for line in listed.splitlines():
            path, content = line.split()
            self.add(f"{name}:{path}", base64.b64decode(content).decode())

    def add_public(self, text: str) -> None:
        """Register what anybody may see: a line of a key that is a line of this too gives nothing away."""
        self._public += text

    def found_in(self, *paths: Path) -> list[str]:
        """The names of the secrets in files."""
        forms = self._forms_to_find()
        lines = set(self._grep("--only-matching", "--no-filename", *paths))
        return sorted({forms.get(line, "a secret") for line in lines})

    def holding(self, *paths: Path) -> list[Path]:
        """Those of the files that have a secret in them."""
        return [Path(line) for line in self._grep("--files-with-matches", *paths)]

    def _forms_to_find(self) -> dict[str, str]:
        known = len(self._forms), len(self._public)
        if self._found_for != known:
            self._found_for = known
            self._to_find = {form: name for form, name in self._forms.items() if form not in self._public}
        return self._to_find

    def _grep(self, *words: t.Union[str, Path]) -> list[str]:
        if not any(isinstance(word, Path) for word in words):
            return []
        with tempfile.NamedTemporaryFile("w", suffix=".forms") as patterns:
            patterns.write("".join(f"{form}\n" for form in self._forms_to_find()))
            patterns.flush()
            # A file that goes away meanwhile, as another run's temporary files do, holds nothing any more.
            command = ["grep", "--text", "--no-messages", "--fixed-strings", "-f", patterns.name, *map(str, words)]
            done = subprocess.run(command, stdout=subprocess.PIPE, check=False, env={"LC_ALL": "C"})
        there = all(word.exists() for word in words if isinstance(word, Path))
        assert done.returncode in (0, 1) or not there, f"grep ended with {done.returncode}"
        return done.stdout.decode(errors="replace").splitlines()

    def _add_lines(self, name: str, body: str) -> None:
        for line in body.split():
            if not line.startswith(_SAME_IN_ALL):
                self._add_one(name, line)

    def _add_pieces(self, name: str, text: str) -> None:
        for at in range(0, len(text), PIECE):
            self._add_one(name, text[at : at + PIECE])

    def _add_one(self, name: str, text: str) -> None:
        if len(text) >= LEAST and "\n" not in text:
            self._forms.setdefault(text, name)


class Tokens:
    """The bootstrap tokens of a workload cluster, read from one of its machines for as long as it lasts: each lives for minutes."""

    def __init__(self, machines: Machines, name: str, folder: Path) -> None:
        self._words = [*machines.ssh_words(name), f"while true; do {_WATCHED} {_TOKEN} 2>/dev/null; sleep 0.2; done"]
        self._file, self._errors = folder / "tokens", folder / "tokens.errors"

    def __enter__(self) -> Tokens:
        self._file.touch(mode=0o600)
        with self._file.open("w") as stream, self._errors.open("w") as errors:
            self._process = subprocess.Popen(self._words, stdin=subprocess.DEVNULL, stdout=stream, stderr=errors)
        return self

    def __exit__(self, *_exception: object) -> None:
        self._process.kill()
        self._process.wait()

    def seen(self) -> list[str]:
        """The secret halves of the tokens; the other half is a name."""
        assert self._process.poll() is None, f"nobody watched: ssh ended: {self._errors.read_text()}"
        found = []
        for line in dict.fromkeys(self._file.read_text().split()):
            try:
                found.append(base64.b64decode(line, validate=True).decode())
            except (binascii.Error, UnicodeDecodeError):
                continue
        return found


class Search:
    """Looks for the secrets in places; ``found`` says which are where, [] where all is well, and ``bytes`` how much was looked at."""

    def __init__(self, secrets: Secrets, folder: Path) -> None:
        self._secrets = secrets
        self._folder = folder
        self.found: list[str] = []
        self.bytes: dict[str, int] = {}

    def files(self, place: str, *paths: Path) -> None:
        """Look into files."""
        for path in paths:
            with contextlib.suppress(FileNotFoundError):
                self.bytes[place] = self.bytes.get(place, 0) + path.stat().st_size
        self.found += [f"{name} in {place}" for name in self._secrets.found_in(*paths)]

    def data(self, place: str, data: bytes) -> None:
        """Look into data."""
        path = self._folder / "searched"
        path.touch(mode=0o600)
        path.write_bytes(data)
        self.files(place, path)
        path.unlink()

    def samples(self, samples: Samples) -> None:
        """Look into what processes showed of themselves."""
        for kind in ("cmdline", "environ"):
            texts = [text for text, where in samples.texts.items() if where.startswith(kind)]
            self.data(f"{kind} of processes", b"\n".join(texts).replace(b"\0", b"\n"))

    def machine(self, machines: Machines, name: str) -> None:
        """Look into a machine's journal and temporary folders."""
        self.data(f"the journal of {name}", _output([*machines.ssh_words(name), _JOURNAL]))
        pack = f"tar -c --exclude=etcd-snapshots --exclude=.ssh --ignore-failed-read $(ls -d {_TEMPORARY} 2>/dev/null) 2>/dev/null; true"
        self.data(f"temporary folders of {name}", _output([*machines.ssh_words(name), pack]))

    def store(self, workspace: Workspace) -> None:
        """Look into all of the store but its Secrets."""
        self._folders("the store", [workspace.store], lambda path: path.parent.name.partition(".")[0] != "secret")

    def controller(self, *folders: Path) -> None:
        """Look into temporary folders here."""
        self._folders("temporary folders of the controller", folders, lambda _path: True)

    def _folders(self, place: str, folders: t.Iterable[Path], wanted: t.Callable[[Path], bool]) -> None:
        self.bytes.setdefault(place, 0)
        for folder in folders:
            found = [Path(parent, name) for parent, _below, names in os.walk(folder) for name in names]
            self.files(place, *(path for path in sorted(found) if path.is_file() and wanted(path)))


def _output(command: t.Sequence[str]) -> bytes:
    return subprocess.run(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=120, check=True
    ).stdout
