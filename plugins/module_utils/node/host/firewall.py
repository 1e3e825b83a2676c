# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Firewall of a host: its missing openings, and nftables opened.

Rules are inserted into the chain that filters what comes in, and into a file that its configuration includes at boot. The ruleset is not loaded
again: container networks have rules of their own in it.

Source: nft(8), libnftables-json(5), firewall-cmd(1), ufw(8).
"""

from __future__ import annotations

import ipaddress
import json
import os
import re
import typing as t
from dataclasses import dataclass, field

from ...common import timed_command
from ...common.guard import NodeError, read_text, remedy, write_atomically
from . import plain_file

MAIN = "etc/nftables.conf"
# Not in nftables.d: a configuration may include all of that folder before the chain is there.
OWN = "etc/kubeadm-control-plane.nft"
SERVICE = "nftables.service"
# iptables' own chains: its programs open them.
_IPTABLES = {"ip filter INPUT": "iptables", "ip6 filter INPUT": "ip6tables"}
VRRP = "vrrp"
_PREFIX = "kubeadm.control_plane: "
_CHAIN = re.compile(r"(inet|ip|ip6) [A-Za-z_][\w-]* [A-Za-z_][\w-]*\Z")
_PORTS = re.compile(r"([1-9]\d{0,4})(?:-([1-9]\d{0,4}))?\Z")
# What a host boots with: a rule must not be accepted for a chain that only the present ruleset has.
_FLUSH = "flush ruleset"
_HEADER = "# Written by kubeadm.control_plane.host_firewall."


@dataclass(frozen=True)
class Opening:
    """Opening of a firewall for one network, or for all ("").

    ``what`` is a TCP port (``6443``), a range (``2379-2380``), or ``vrrp``.
    """

    what: str
    source: str = ""

    @classmethod
    def read(cls, what: str, source: str) -> Opening:
        """Return it checked. Raises NodeError."""
        found = _PORTS.match(what)
        numbers = [int(each) for each in found.groups() if each] if found else []
        if what != VRRP and (not numbers or max(numbers) > 65535 or numbers != sorted(numbers)):
            raise NodeError(
                f"{what!r} is neither a TCP port, nor a range such as 2379-2380, nor vrrp.",
                "Nothing was changed. Write one of these.",
            )
        try:
            return cls(what, str(ipaddress.ip_network(source, strict=False)) if source else "")
        except ValueError as error:
            raise NodeError(
                f"{source!r} is no network such as 192.0.2.0/24.", "Nothing was changed. Write one."
            ) from error

    def __str__(self) -> str:
        kind = self.what if self.what == VRRP else f"tcp {self.what}"
        return f"{kind} from {self.source}" if self.source else kind

    def rule(self) -> str:
        """Return it as a rule of nftables."""
        return f'{self._accept} comment "{_PREFIX}{self}"'

    @property
    def _accept(self) -> str:
        source = f"{self._family} saddr {self.source} " if self.source else ""
        match = "meta l4proto 112" if self.what == VRRP else f"tcp dport {self.what}"
        return f"{source}{match} accept"

    @property
    def _family(self) -> str:
        """Family of its network, "" for all networks."""
        return "" if not self.source else "ip6" if ":" in self.source else "ip"

    def concerns(self, chain: str) -> bool:
        """Return whether a chain of nftables sees what comes from its network."""
        return not self._family or chain.split()[0] not in {"ip", "ip6"} - {self._family}

    def command(self, firewall: str) -> str:
        """Return what opens it by hand in a firewall or chain."""
        ports = "" if self.what == VRRP else self.what.replace("-", ":")
        if firewall == "ufw":
            return f"ufw allow {'proto vrrp' if not ports else 'proto tcp'} from {self.source or 'any'} to any{f' port {ports}' if ports else ''}"
        if firewall == "firewalld":
            target = "protocol value=vrrp" if not ports else f"port port={self.what} protocol=tcp"
            if not self.source:
                added = "--add-protocol=vrrp" if not ports else f"--add-port={self.what}/tcp"
                return f"firewall-cmd --permanent {added}"
            family = "ipv6" if ":" in self.source else "ipv4"
            return f"firewall-cmd --permanent --add-rich-rule='rule family={family} source address={self.source} {target} accept'"
        if firewall not in _IPTABLES:
            return f"nft insert rule {firewall} {self._accept}"
        source = f"-s {self.source} " if self.source else ""
        return (
            f"{_IPTABLES[firewall]} -I INPUT {source}{'-p vrrp' if not ports else f'-p tcp --dport {ports}'} -j ACCEPT"
        )


@dataclass(frozen=True)
class State:
    """Kind of firewall ("" for none), and which openings are not there.

    ``lacking`` are those that no rule of the host's own has, ``text`` and ``rules`` the own file and the handles of own rules by opening.
    ``chains`` are those of nftables that filter, where they aren't the one that is opened alone.
    """

    kind: str
    closed: tuple[Opening, ...] = ()
    lacking: tuple[Opening, ...] = ()
    text: str = ""
    rules: t.Mapping[str, t.Sequence[int]] = field(default_factory=dict)
    chains: tuple[str, ...] = ()


@dataclass(frozen=True)
class Firewall:
    """Firewall of this host.

    ``chain`` is the one of nftables that is opened, ``root`` where the files are.
    """

    chain: str = "inet filter input"
    root: str = "/"

    def find(self, openings: t.Sequence[Opening]) -> State:
        """Return which firewall there is, and what it lacks. Raises NodeError."""
        if not _CHAIN.match(self.chain):
            raise NodeError(
                f"{self.chain!r} is no chain such as 'inet filter input'.",
                "Nothing was changed. Write its family, table and name.",
            )
        if self._says(["systemctl", "is-active", "firewalld.service"]) == "active":
            return State("firewalld", tuple(openings))
        if re.search(r"^ENABLED=yes", read_text(os.path.join(self.root, "etc/ufw/ufw.conf")), re.MULTILINE):
            return State("ufw", tuple(openings))
        chains = self._chains()
        filtering = tuple(
            name
            for name, found in chains.items()
            if _filters(found) and (name == self.chain or any(each.concerns(name) for each in openings))
        )
        if not filtering:
            return State("")
        if filtering != (self.chain,):
            kind = f"the chain{'s' if len(filtering) > 1 else ''} {', '.join(filtering)}"
            return State(kind, tuple(openings), chains=filtering)
        text = self._file(OWN)
        handles = _handles(chains[self.chain])
        kept = text.splitlines() if self._include in self._file(MAIN).splitlines() else []
        seen = [each for each in openings if each.concerns(self.chain)]
        lacking = tuple(each for each in seen if not _accepted(chains[self.chain], each))
        closed = [each for each in lacking if str(each) not in handles or self._line(each) not in kept]
        return State("nftables", tuple(closed), lacking, text, handles)

    def open(self, openings: t.Sequence[Opening], *, check: bool) -> tuple[State, State]:
        """Open the host's firewall; return the state before and after.

        What an earlier call opened and this one doesn't name is closed again. A host without a firewall is left alone.

        Raises:
            NodeError: its firewall is another one, the next boot would not have the rules, or nft refused. Nothing was changed then.
        """
        before = self.find(openings)
        if not before.kind:
            return before, before
        if before.kind != "nftables":
            raise NodeError(
                f"This host is filtered by {before.kind}, and only nftables with the chain {self.chain} alone is opened here. Nothing was changed.",
                _by_hand(before, openings),
            )
        lines = [self._line(each) for each in before.lacking]
        text = "\n".join([_HEADER, *lines, ""]) if lines else ""
        names = {str(each) for each in before.lacking}
        gone = [
            f"delete rule {self.chain} handle {number}"
            for name, numbers in before.rules.items()
            if name not in names
            for number in numbers
        ]
        new = [self._line(each) for each in before.lacking if str(each) not in before.rules]
        if not (gone or new or before.closed) and text == before.text:
            return before, before
        main = self._file(MAIN)
        if not main:
            raise NodeError(
                f"There is no /{MAIN}: what is opened now would be closed after the next boot. Nothing was changed.",
                f"Have the chain {self.chain} in that file, and {SERVICE} enabled.",
            )
        enabled = self._says(["systemctl", "is-enabled", SERVICE])[:40]
        if lines and enabled != "enabled":
            raise NodeError(
                f"{SERVICE} is {enabled or 'not known'}, not enabled: what is opened now would be closed after the next boot. Nothing was changed.",
                f"Run systemctl enable {SERVICE} where it is to load /{MAIN}. Where something else loads the rules, open {', '.join(sorted(names))} there, "
                "and leave host_firewall_open out.",
            )
        rest = [line for line in main.splitlines() if line != self._include]
        self._nft(["--check", "--file", "-"], "\n".join([_FLUSH, *rest, text]).encode(errors="replace").decode())
        after = State("nftables", (), before.lacking, text)
        if check:
            return before, after
        whole = main if len(rest) < len(main.splitlines()) else "\n".join([*rest, self._include, ""])
        self._write(text, whole)
        try:
            # What is loaded at boot is tried itself, too: it may include more than what was seen here.
            self._nft(["--check", "--file", "-"], f'{_FLUSH}\ninclude "{os.path.join(self.root, MAIN)}"\n')
            if gone or new:
                self._nft(["--file", "-"], "\n".join([*gone, *new, ""]))
        except NodeError:
            self._write(before.text, main)
            raise
        return before, after

    def _write(self, own: str, main: str) -> None:
        """Write the own file, none where it is empty, and the configuration."""
        path = os.path.join(self.root, MAIN)
        plain_file.bring(plain_file.Wanted(os.path.join(self.root, OWN), own.encode() or None, 0o644))
        if main != self._file(MAIN):
            status = os.stat(path)
            write_atomically(
                path, main.encode(errors="surrogateescape"), status.st_mode & 0o7777, status.st_uid, status.st_gid
            )

    def _line(self, opening: Opening) -> str:
        return f"insert rule {self.chain} {opening.rule()}"

    def _file(self, name: str) -> str:
        path = os.path.join(self.root, name)
        try:
            with open(path, encoding="utf-8", errors="surrogateescape", newline="") as file:
                return file.read()
        except FileNotFoundError:
            return ""
        except OSError as error:
            raise NodeError(f"{path} can't be read: {error.strerror}.", remedy(path, error)) from error

    @property
    def _include(self) -> str:
        # A pattern that nothing matches is no error: the file may go, and the host still boots with its firewall.
        return f'include "{os.path.join(self.root, OWN)[:-4]}*.nft"'

    def _chains(self) -> dict[str, list[dict[str, t.Any]]]:
        """Return all input chains, each followed by its rules."""
        try:
            done = timed_command.run(["nft", "--json", "list", "ruleset"])
        except NodeError:
            return {}
        if done.returncode != 0:
            raise NodeError(f"nft doesn't list its rules: {done.stderr.strip()[-300:]}.", "Run nft list ruleset there.")
        found: dict[str, list[dict[str, t.Any]]] = {}
        try:
            listed = json.loads(done.stdout or "{}").get("nftables") or []
        except ValueError as error:
            raise NodeError("What nft lists can't be read.", "Run nft --json list ruleset there.") from error
        for each in (item["chain"] for item in listed if "chain" in item):
            # ARP has no ports.
            if each.get("hook") == "input" and each.get("type") == "filter" and each["family"] != "arp":
                found[f"{each['family']} {each['table']} {each['name']}"] = [each]
        for each in (item["rule"] for item in listed if "rule" in item):
            name = f"{each['family']} {each['table']} {each['chain']}"
            if name in found:
                found[name].append(each)
        return found

    def _nft(self, words: t.Sequence[str], text: str) -> None:
        done = timed_command.run(["nft", *words], text=text)
        if done.returncode != 0:
            raise NodeError(
                f"nft refuses the rules for {self.chain}: {done.stderr.strip()[-500:]}. Nothing was changed.",
                f"Look whether /{MAIN} has that chain and can be loaded by itself: (echo {_FLUSH}; cat /{MAIN}) | nft --check --file -.",
            )

    def _says(self, words: t.Sequence[str]) -> str:
        try:
            return timed_command.run(words).stdout.strip()
        except NodeError:
            return ""


def _by_hand(state: State, openings: t.Sequence[Opening]) -> str:
    """Return the remedy for a firewall that isn't opened here."""
    if not state.chains:
        words = [each.command(state.kind) for each in openings]
        words += ["firewall-cmd --reload"] * (state.kind == "firewalld")
        return f"Open it by hand: {'; '.join(words)}. Then leave host_firewall_open out."
    words = [each.command(chain) for chain in state.chains for each in openings if each.concerns(chain)]
    first, each_one, chain = "Open", "", state.chains[0]
    if len(state.chains) > 1:
        each_one = " in each chain, since it may drop what another one accepts,"
    elif chain not in _IPTABLES and _CHAIN.match(chain):
        first = (
            f"If its /etc/nftables.conf has that chain, name it in host_firewall_chain of this host: {chain}. Else open"
        )
    return f"{first} it by hand,{each_one} and where the rules are loaded at boot: {'; '.join(words)}. Then leave host_firewall_open out."


def _filters(found: t.Sequence[t.Mapping[str, t.Any]]) -> bool:
    """Return whether a chain, the first entry, keeps anything out."""
    return bool(found) and (found[0].get("policy") == "drop" or any(map(_shuts, found)))


def _shuts(rule: t.Mapping[str, t.Any]) -> bool:
    return any(word in part for part in rule.get("expr") or () for word in ("drop", "reject"))


def _handles(found: t.Sequence[t.Mapping[str, t.Any]]) -> dict[str, list[int]]:
    """Return the handles of this collection's own rules by what they open.

    A configuration that is loaded twice without a flush leaves each rule there twice.
    """
    handles: dict[str, list[int]] = {}
    for each in filter(_is_own, found):
        handles.setdefault(str(each["comment"])[len(_PREFIX) :], []).append(int(each["handle"]))
    return handles


def _is_own(rule: t.Mapping[str, t.Any]) -> bool:
    return str(rule.get("comment") or "").startswith(_PREFIX)


def _accepted(found: t.Sequence[t.Mapping[str, t.Any]], opening: Opening) -> bool:
    """Return whether a rule of the host's own accepts these ports.

    From everybody, and before a rule that keeps something out.
    """
    if opening.what == VRRP:
        return False
    first, _dash, last = opening.what.partition("-")
    for rule in found:
        if _shuts(rule):
            return False
        parts = [each for each in rule.get("expr") or () if "counter" not in each]
        if len(parts) != 2 or "accept" not in parts[1] or _is_own(rule):
            continue
        match = parts[0].get("match") or {}
        ports = match.get("op") == "==" and match.get("left") == {"payload": {"protocol": "tcp", "field": "dport"}}
        spans = _spans(match.get("right")) if ports else []
        if any(low <= int(first) and int(last or first) <= high for low, high in spans):
            return True
    return False


def _spans(right: t.Any) -> list[tuple[int, int]]:
    listed = right["set"] if isinstance(right, dict) and "set" in right else [right]
    spans = [each["range"] if isinstance(each, dict) and "range" in each else [each, each] for each in listed]
    return [(low, high) for low, high in spans if isinstance(low, int) and isinstance(high, int)]
