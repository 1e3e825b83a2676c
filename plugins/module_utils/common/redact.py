# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Redaction of secrets in text that is shown: kubeadm's output, messages, journal.

Standard library only: it runs on nodes too. Redact before cutting a text to size, never after: half a secret can't be
recognised. Too much redaction is a nuisance, too little is a leak: a doubtful text is redacted.
"""

from __future__ import annotations

import base64
import binascii
import re
import typing as t

_Replacement = t.Union[str, t.Callable[["re.Match[str]"], str]]

_PEM_LABEL = r"[A-Z0-9 ]{0,40}PRIVATE KEY"
# The value after a field's name: quoted, or up to the next blank, comma or closing bracket.
_VALUE = r"""(?!["']?\[redacted)("(?:[^"\\\n]|\\.)*"|'[^'\n]*'|[^\s,;}\]"']+)"""
_SECRET_FIELDS = (
    r"client-key-data|tls\.key|ssh-privatekey|ssh_privatekey|private[-_]?key|passw(?:or)?d|passphrase|secret[-_]?key|"
    r"client[-_]?secret|api[-_]?key|access[-_]?key|bearer[-_]?token|id-token|refresh-token|token-secret|auth[-_]?token|"
    r"tlsBootstrapToken|become[-_]?pass|vault[-_]?password|encryption[-_]?key"
)

_RULES: tuple[tuple[re.Pattern[str], _Replacement], ...] = (
    (
        re.compile(rf"-----BEGIN {_PEM_LABEL}-----.*?(?:-----END {_PEM_LABEL}-----|\Z)", re.DOTALL),
        "[redacted: private key]",
    ),
    # kubeadm prints the certificate key on its own line, after a flag, and in its configuration.
    (
        re.compile(r"""(certificate[-_ ]?key["']?[\s\\:=]{0,20}["']?)[0-9a-f]{64}(?![0-9a-f])""", re.IGNORECASE),
        r"\1[redacted: certificate key]",
    ),
    (re.compile(r"(?<![a-z0-9])[a-z0-9]{6}\.[a-z0-9]{16}(?![a-z0-9])"), "[redacted: bootstrap token]"),
    (
        re.compile(r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{0,2000}"),
        "[redacted: token]",
    ),
    (re.compile(r"\b((?:Bearer|Basic)\s+)[A-Za-z0-9+/._~-]{8,}=*", re.IGNORECASE), r"\1[redacted]"),
    (re.compile(r"(://[^\s/:@]{1,256}:)[^\s/@]{1,256}(@)"), r"\1[redacted]\2"),
    (re.compile(r"\$(?:1|2[abxy]|5|6|y|gy|7|argon2[a-z]*)\$[./A-Za-z0-9$=,+-]{8,}"), "[redacted: password hash]"),
    (
        re.compile(rf"""(?<![A-Za-z0-9])((?:{_SECRET_FIELDS})["']?\s{{0,4}}[:=]\s{{0,4}}){_VALUE}""", re.IGNORECASE),
        r"\1[redacted]",
    ),
    # "token" is also an ordinary word of messages ("token: expired"): only what can be one counts, or what a flag is given.
    (
        re.compile(
            r"""(?<![A-Za-z0-9])(token(?:-id)?["']?\s{0,4}[:=]\s{0,4}["']?)[A-Za-z0-9+/._~=-]{16,}""", re.IGNORECASE
        ),
        r"\1[redacted]",
    ),
    (re.compile(r"(--(?:token|password|passphrase)(?:\s{1,4}|=))(?!\[redacted)[^\s\"']+"), r"\1[redacted]"),
)

_PEM_END = re.compile(rf"-----END {_PEM_LABEL}-----")
_BASE64_TAIL = re.compile(r"[A-Za-z0-9+/=\s\\]")
# "-----BEGIN " in base64; which kind of PEM follows is told by decoding.
_BASE64_PEM = re.compile(r"LS0tLS1CRUdJTi[A-Za-z0-9+/=]+")


def redact(text: str) -> str:
    """Return ``text`` with its secrets redacted.

    Secrets are PEM private keys (also cut off or base64), tokens, certificate keys and passwords. Certificates, public
    keys and CA hashes stay: they are public and show what went wrong.
    """
    text = _RULES[0][0].sub("[redacted: private key]", text)
    text = _without_key_tails(text)
    text = _BASE64_PEM.sub(_without_encoded_key, text)
    for pattern, replacement in _RULES[1:]:
        text = pattern.sub(replacement, text)
    return text


def _without_key_tails(text: str) -> str:
    """Redact the rest of a private key whose beginning was cut off.

    The rest is all base64 before the key's END line.
    """
    parts = []
    position = 0
    for found in _PEM_END.finditer(text):
        start = found.start()
        while start > position and _BASE64_TAIL.match(text[start - 1]):
            start -= 1
        parts += [text[position:start], "[redacted: private key]"]
        position = found.end()
    return "".join([*parts, text[position:]])


def _without_encoded_key(found: re.Match[str]) -> str:
    encoded = found.group(0)
    head = encoded[:80]
    try:
        decoded = base64.b64decode(head[: len(head) // 4 * 4])
    except (ValueError, binascii.Error):
        return "[redacted: encoded key]"
    return "[redacted: private key]" if b"PRIVATE KEY" in decoded else encoded
