# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The search for secrets finds each of them in each of its forms, and what processes show of themselves is seen."""

from __future__ import annotations

import base64
import os
import subprocess
import sys
import time
import typing as t
from pathlib import Path

import pytest
from process_samples import Samples
from secrets_search import Search, Secrets

TOKEN = "0123456789abcdef"


@pytest.fixture(name="key", scope="module")
def _key(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("key") / "key"
    subprocess.run(["openssl", "genrsa", "-out", str(path), "2048"], check=True, stderr=subprocess.DEVNULL)
    return path.read_text()


@pytest.fixture(name="secrets")
def _secrets(key: str) -> Secrets:
    made = Secrets()
    made.add("ca", key)
    made.add("token", TOKEN)
    inside = base64.b64encode(key.encode()).decode()
    made.add("kubeconfig", f"users:\n- user:\n    client-key-data: {inside}\n    client-certificate-data: eHg=\n")
    return made


def wrapped(text: str, width: int) -> str:
    """As base64 and others break lines."""
    return "\n".join(text[at : at + width] for at in range(0, len(text), width))


FORMS: dict[str, t.Callable[[str], str]] = {
    "as it is": lambda key: key,
    "one line": lambda key: key.splitlines()[12],
    "as JSON": lambda key: key.replace("\n", "\\n"),
    "indented": lambda key: "\n".join(f"      {line}" for line in key.splitlines()),
    "base64": lambda key: base64.b64encode(key.encode()).decode(),
    "base64, wrapped": lambda key: wrapped(base64.b64encode(key.encode()).decode(), 76),
    "a kubeconfig": lambda key: f"client-key-data: {base64.b64encode(key.encode()).decode()}\n",
    "a token": lambda _key: f"--token abcdef.{TOKEN}",
    "a token as a Secret has it": lambda _key: base64.b64encode(TOKEN.encode()).decode(),
}


def test_what_goes_away_meanwhile_holds_nothing(secrets: Secrets, tmp_path: Path) -> None:
    search = Search(secrets, tmp_path)
    search.files("a folder", tmp_path / "gone")
    assert search.found == [] and secrets.found_in(tmp_path / "gone") == []


@pytest.mark.parametrize("form", FORMS)
def test_every_form_is_found(secrets: Secrets, key: str, tmp_path: Path, form: str) -> None:
    search = Search(secrets, tmp_path)
    search.data("here", f"before\n{FORMS[form](key)}\nafter\n".encode())
    assert search.found and all(each.endswith(" in here") for each in search.found)
    assert not any(line in each for each in search.found for line in [*key.splitlines()[1:-1], TOKEN])


def test_what_is_none_is_not(secrets: Secrets, tmp_path: Path) -> None:
    search = Search(secrets, tmp_path)
    search.data("here", b"-----BEGIN RSA PRIVATE KEY-----\n-----END RSA PRIVATE KEY-----\nabcdef client-key-data: x\n")
    assert search.found == [] and search.bytes["here"] > 0
    assert list(tmp_path.iterdir()) == []


def test_what_anybody_may_see_gives_nothing_away(key: str, tmp_path: Path) -> None:
    secrets = Secrets()
    secrets.add("ca", key)
    shared = key.splitlines()[3]
    secrets.add_public(f"-----BEGIN CERTIFICATE-----\n{shared}\n-----END CERTIFICATE-----\n")
    search = Search(secrets, tmp_path)
    search.data("here", shared.encode())
    assert search.found == []


def test_what_processes_show_is_seen_and_how_long_they_live(secrets: Secrets, key: str, tmp_path: Path) -> None:
    line = key.splitlines()[5]
    with Samples() as samples:
        command = [sys.executable, "-c", "import time; time.sleep(0.6)", line]
        subprocess.run(command, env={**os.environ, "SHOWN": TOKEN}, check=True)
        end = time.monotonic() + 30
        while samples.taken < 3:
            assert time.monotonic() < end
            time.sleep(0.01)
    search = Search(secrets, tmp_path)
    search.samples(samples)
    assert "ca (key 0) in cmdline of processes" in search.found and "token in environ of processes" in search.found
    assert len(samples.lifetimes(os.path.basename(sys.executable), line)) == 1
    assert samples.lifetimes("no-such-program", line) == []
