# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Corefile as server blocks, plugins and options, and back to text.

(CoreDNS's configuration, the manual's "Configuration").

The layout is the one that CoreDNS's own migration library writes: four blanks a level, one blank line between server blocks. Comments
are not kept by it, nor here; the ConfigMap's key Corefile-backup has the text as it was.
"""

from __future__ import annotations

import re
import typing as t
from dataclasses import dataclass, field

MAX_BYTES = 1024 * 1024
_INDENT = "    "
# A token: quoted text (which may hold blanks and braces), or what stands between blanks.
_TOKEN = re.compile(r'"((?:[^"\\]|\\.)*)"|(\S+)', re.DOTALL)


class CorefileError(ValueError):
    """Error of a Corefile that can't be read or migrated.

    What is wrong, with its line where there is one.
    """


@dataclass
class Option:
    """Option: one line inside a plugin, with its name and arguments."""

    name: str
    args: list[str] = field(default_factory=list)


@dataclass
class Plugin:
    """Plugin of a server block."""

    name: str
    args: list[str] = field(default_factory=list)
    options: list[Option] = field(default_factory=list)


@dataclass
class Server:
    """Server block of a Corefile: zones and plugins in order.

    Zones with ports, or a snippet's name in parentheses.
    """

    zones: list[str]
    plugins: list[Plugin] = field(default_factory=list)
    # "import FILE" at the top level is no block: it is kept as it stands.
    block: bool = True


@dataclass(frozen=True)
class _Token:
    text: str
    line: int
    quoted: bool

    def is_(self, brace: str) -> bool:
        return self.text == brace and not self.quoted


def parse(text: str) -> list[Server]:
    """Return the server blocks of a Corefile.

    Raises:
        CorefileError: braces that don't match, a plugin outside of a block, options nested deeper than CoreDNS's own plugins do,
            or more than 1 MB, which no ConfigMap can hold.
    """
    if len(text) > MAX_BYTES:
        raise CorefileError("the Corefile is larger than 1 MB, which no ConfigMap can hold")
    servers: list[Server] = []
    depth = 0
    for line in _lines(text):
        opens = line[-1].is_("{")
        words = line[:-1] if opens else line
        if any(word.is_("{") for word in words) or (any(word.is_("}") for word in words) and len(line) > 1):
            raise CorefileError(f"line {line[0].line}: a brace is in the middle of a line, where CoreDNS takes none")
        if line[0].is_("}"):
            depth -= 1
            if depth < 0:
                raise CorefileError(f"line {line[0].line}: this brace closes nothing")
            continue
        if not words:
            raise CorefileError(f"line {line[0].line}: a brace opens nothing")
        _append(servers, [_text(word) for word in words], depth, words[0].line, opens)
        depth += opens
    if depth:
        raise CorefileError(f"{depth} braces are not closed at the end of the Corefile")
    return servers


def _append(servers: list[Server], words: list[str], depth: int, line: int, opens: bool) -> None:
    if depth == 0:
        if not opens and words[0] != "import":
            raise CorefileError(f"line {line}: the server block {words[0]!r} has no '{{' at the end of its line")
        # A block's zones may be separated by commas.
        zones = [zone for word in words for zone in word.split(",") if zone] if opens else words
        servers.append(Server(zones, block=opens))
    elif depth == 1:
        servers[-1].plugins.append(Plugin(words[0], words[1:]))
    elif depth == 2 and not opens:
        servers[-1].plugins[-1].options.append(Option(words[0], words[1:]))
    else:
        raise CorefileError(f"line {line}: a block inside a plugin's block is not known to this collection")


def _lines(text: str) -> t.Iterator[list[_Token]]:
    found: list[_Token] = []
    position, number = 0, 1
    while position < len(text):
        character = text[position]
        if character == "\n":
            if found:
                yield found
            found, number, position = [], number + 1, position + 1
        elif character.isspace():
            position += 1
        elif character == "#":
            # A comment, for no token is open here: inside of a token it is a character like any other.
            end = text.find("\n", position)
            position = len(text) if end < 0 else end
        else:
            match = _TOKEN.match(text, position)
            if match is None or (character == '"' and match.group(1) is None):
                raise CorefileError(f"line {number}: a quotation mark is not closed")
            quoted = match.group(1) is not None
            found.append(_Token(match.group(1) if quoted else match.group(2), number, quoted))
            number += match.group(0).count("\n")
            position = match.end()
    if found:
        yield found


def _text(token: _Token) -> str:
    # A quoted word keeps its quotation marks, so that it is written as it was read.
    return f'"{token.text}"' if token.quoted else token.text


def to_text(servers: t.Sequence[Server]) -> str:
    """Return the Corefile text of these server blocks."""
    return "\n".join(_server(server) for server in servers)


def _server(server: Server) -> str:
    head = " ".join(server.zones)
    if not server.block:
        return f"{head}\n"
    lines = [f"{head} {{"]
    for plugin in server.plugins:
        words = " ".join([plugin.name, *plugin.args])
        if not plugin.options:
            lines.append(_INDENT + words)
            continue
        lines.append(f"{_INDENT}{words} {{")
        lines += [_INDENT * 2 + " ".join([option.name, *option.args]) for option in plugin.options]
        lines.append(_INDENT + "}")
    return "\n".join([*lines, "}", ""])
