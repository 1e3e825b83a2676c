# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""No file of a report has a secret of a text that was given to the journal, which takes no other fields than its own."""

from __future__ import annotations

from pathlib import Path

from journal_life import Life, creation

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.report import files, journal_runs

# As kubeadm, ssh, etcd and hosts print them. Of each the part that is the secret has the mark.
MARK = "5ec7e7"
TEXTS = (
    f"kubeadm join 10.0.0.1:6443 --token abcdef.0123{MARK}abcdef --discovery-token-ca-cert-hash sha256:0",
    f"the certificate key: {MARK}{'0' * 58}",
    f"-----BEGIN RSA PRIVATE KEY-----\nMIIE{MARK}\n-----END RSA PRIVATE KEY-----",
    f"Authorization: Bearer eyJhbGciOi{MARK}.eyJpc3MiOi{MARK}.{MARK}",
    f"client-key-data: {MARK}{MARK}",
    f"password={MARK}{MARK}",
    f"GET https://admin:{MARK}{MARK}@mirror.example.org/apt",
)


def test_a_report_has_no_secret(tmp_path: Path) -> None:
    life = Life(tmp_path)
    creation(life)
    for number, text in enumerate(TEXTS):
        second, machine = 100.0 + 10 * number, f"m{number}"
        step = life.begin(second, "join", machine, reason=text)
        life.end(second + 2, step, "failed", text)
        wait = life.fact(second + 3, "wait", text, machine, reason=text)
        life.fact(second + 4, "waited", text, identifier=wait)
        life.phases(second + 5, machine, [text], second)
        life.fact(second + 6, "state", text, leader=text, certificates=[[text, "2027-01-01T00:00:00Z"]])
    life.close(300, "failed", "\n".join(TEXTS))
    report = journal_runs.read(life.journal.entries(), "default", "prod")
    contents = files.render([report], files.FORMATS)
    assert len(contents) == len(files.FORMATS)
    for name, text in contents.items():
        assert MARK not in text, f"{name}: {text[max(0, text.index(MARK) - 80) :][:120]}"
    # The texts are there, without what they hide.
    assert "[redacted" in contents["report.html"] and "[redacted" in contents["report.md"]
