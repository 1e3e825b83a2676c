# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Violations in a manifest.

Each has object, field path, value, rule and fix.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Callable

from .legible import one_line

# A value found under one of these keys is never shown: Secret data, password hashes, file contents, tokens.
SECRET_KEYS = frozenset(
    {"passwd", "content", "data", "stringData", "token", "tlsBootstrapToken", "certificateKey", "sshAuthorizedKeys"}
)
_STEP = re.compile(r'\["(?P<quoted>(?:[^"\\]|\\.)*)"\]|\[(?P<index>\d+)\]|(?P<plain>[^.\[\]]+)')
_SHOWN = 100
# More than anybody reads at once. Finding the lines of a million mistakes would take hours.
MAX_VIOLATIONS = 200


def child(path: str, *keys: str) -> str:
    """Return the path of the field that `keys` lead to below `path`.

    Keys that are not plain words are written as `["key"]`.
    """
    for key in keys:
        path = (f"{path}.{key}" if path else key) if re.fullmatch(r"[A-Za-z0-9_-]+", key) else f'{path}["{key}"]'
    return path


def item(path: str, index: int) -> str:
    """Return the path of entry `index` (from 0) of a list."""
    return f"{path}[{index}]"


def steps(path: str) -> list[Any]:
    """Return a path as a list of keys (text) and list indexes (int)."""
    found: list[Any] = []
    for match in _STEP.finditer(path):
        if match.group("index") is not None:
            found.append(int(match.group("index")))
        elif match.group("quoted") is not None:
            found.append(match.group("quoted"))
        else:
            found.append(match.group("plain"))
    return found


def describe(value: Any) -> str:
    """Return the JSON type of `value` in words.

    It is for messages that must not show a whole structure.
    """
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, (int, float)):
        return "a number"
    known = ((str, "text"), (list, "a list"), (dict, "a mapping"))
    return next((name for expected, name in known if isinstance(value, expected)), type(value).__name__)


@dataclass(frozen=True)
class Violation:
    """Violation of one rule by one field.

    `object` is "Kind namespace/name" (or a file's name), `path` the field as the user wrote it, `value` what was found there
    (a scalar, or None when there is nothing to show; never a secret), `source` "file:line" when it is known.
    """

    object: str
    path: str
    value: Any
    rule: str
    fix: str
    source: str = ""

    def __post_init__(self) -> None:
        if SECRET_KEYS.intersection(str(step) for step in steps(self.path)) or isinstance(self.value, (dict, list)):
            object.__setattr__(self, "value", None)

    def text(self) -> str:
        """Return the violation as one line: where, rule, value, fix."""
        # A violation of a whole file names the file once.
        name = "" if self.source.startswith(self.object) else self.object
        where = ": ".join(part for part in (self.source, name, self.path) if part)
        shown = ""
        if self.value is not None:
            text = self.value if isinstance(self.value, str) else str(self.value).lower()
            text = text if len(text) <= _SHOWN else text[:_SHOWN] + "..."
            shown = f" (found: {text!r})" if isinstance(self.value, str) else f" (found: {text})"
        return one_line(f"{where}: {self.rule}{shown}. {self.fix}")


class ManifestError(Exception):
    """Refusal of a manifest or an object.

    `violations` holds every reason; str() lists them all.
    """

    def __init__(self, violations: Sequence[Violation]) -> None:
        self.violations: tuple[Violation, ...] = tuple(violations)
        super().__init__(self.text())

    def text(self) -> str:
        """Return all violations, one a line; a single one without numbering."""
        if len(self.violations) == 1:
            return self.violations[0].text()
        lines = [f"  {number}. {violation.text()}" for number, violation in enumerate(self.violations, 1)]
        return "\n".join([f"{len(lines)} problems, nothing was changed:", *lines])


class Report:
    """Collection of the violations of one object.

    `origins` lists (path in the hub form, path as the user wrote it); violations found after conversion are reported
    with the path as the user wrote it. `locate` gives "file:line" for a path of the user's.
    """

    def __init__(self, name: str, locate: Callable[[str], str] | None = None) -> None:
        self.name = name
        self.violations: list[Violation] = []
        self.warnings: list[str] = []
        self.origins: list[tuple[str, str]] = []
        self._locate = locate
        # How many violations are of values that can be read and are beyond a limit.
        self.limits = 0
        self._unreadable: set[str] = set()

    def again(self) -> Report:
        """Return a report without violations for the same object.

        It translates paths of the hub form as this one does.
        """
        report = Report(self.name, self._locate)
        report.origins = list(self.origins)
        return report

    def moved(self, hub: str, written: str) -> None:
        """Record that the hub form's path `hub` was written as `written`."""
        self.origins.append((hub, written))

    def written(self, path: str) -> str:
        """Return the user's own path for a path of the hub form."""
        best: tuple[str, str] = ("", "")
        for hub, written in self.origins:
            if len(hub) > len(best[0]) and (path == hub or path.startswith((hub + ".", hub + "["))):
                best = (hub, written)
        return best[1] + path[len(best[0]) :] if best[0] else path

    def add(self, path: str, value: Any, rule: str, fix: str) -> None:
        """Add a violation of the hub form.

        It is ignored where the value was already refused as unreadable.
        """
        if len(self.violations) > MAX_VIOLATIONS:
            return
        written = self.written(path)
        if any(written == bad or written.startswith((bad + ".", bad + "[")) for bad in self._unreadable):
            return
        self._append(written, value, rule, fix)

    def warn(self, path: str, text: str) -> None:
        """Add a warning about a field of the hub form.

        A warning refuses nothing.
        """
        said = f"{self.name}: {self.written(path)}: {text}"
        if said not in self.warnings and len(self.warnings) < MAX_VIOLATIONS:
            self.warnings.append(said)

    def unreadable(self, path: str, value: Any, rule: str, fix: str) -> None:
        """Add a violation of the form as written.

        Later violations of the same field are not reported in addition.
        """
        self._append(path, value, rule, fix)
        if len(self._unreadable) <= MAX_VIOLATIONS:
            self._unreadable.add(path)

    def beyond(self, path: str, value: Any, rule: str, fix: str) -> None:
        """Add a violation of a limit, of the form as written.

        The value is kept; later violations of the same field are not reported in addition.
        """
        before = len(self.violations)
        self.unreadable(path, value, rule, fix)
        self.limits += len(self.violations) - before

    def _append(self, path: str, value: Any, rule: str, fix: str) -> None:
        if len(self.violations) >= MAX_VIOLATIONS:
            if len(self.violations) == MAX_VIOLATIONS:
                rule = f"there are more than {MAX_VIOLATIONS} problems, the others are not listed"
                self.violations.append(Violation(self.name, "", None, rule, "Correct these first."))
            return
        source = self._locate(path) if self._locate else ""
        violation = Violation(self.name, path, value, rule, fix, source)
        if violation not in self.violations:
            self.violations.append(violation)
