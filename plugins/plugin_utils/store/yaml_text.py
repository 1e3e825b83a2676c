# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""YAML of objects for users to read, with JSON types only."""

from __future__ import annotations

import functools
import json
import marshal
import math
import typing as t

import yaml

from ...module_utils.common import bounded_yaml
from ...module_utils.common.bounded_yaml import TAG, Refused
from .base import Object

_FIRST_KEYS = ("apiVersion", "kind", "metadata", "type", "spec", "data", "status")
# 64 bits have fewer in any base. PyYAML takes minutes for a number of a megabyte whose digits have the base 60.
_LONGEST_NUMBER = 80
_TAGS = frozenset(TAG + name for name in ("null", "bool", "int", "float", "str"))
# Python itself writes out no number that is much longer.
_MOST_BITS = 8192
# A run reads each object of its cluster many times, and most are the same each time.
_TEXTS_KEPT = 256
_LONGEST_KEPT = 32 * 1024


class NoYaml(ValueError):
    """Text that is no valid YAML, or too much of it.

    ``line`` is where, 0 where that isn't known; the message may quote a key.
    """

    def __init__(self, why: str, line: int = 0) -> None:
        super().__init__(why)
        self.line = line


def to_yaml(obj: Object) -> str:
    """Return an object as YAML, or as JSON where YAML is unfaithful.

    Identity comes first, texts of several lines are blocks.

    What was written is read back and compared; what YAML can't carry faithfully (half a surrogate pair, a text of white space alone) is
    written as JSON, which :func:`from_yaml` reads too.
    """
    ordered = {key: obj[key] for key in _FIRST_KEYS if key in obj}
    ordered.update((key, value) for key, value in obj.items() if key not in ordered)
    try:
        text = str(
            yaml.dump(ordered, Dumper=_Dumper, sort_keys=False, allow_unicode=True, default_flow_style=False, width=200)
        )
        faithful = from_yaml(text) == obj
    except (yaml.YAMLError, ValueError):
        faithful = False
    return text if faithful else json.dumps(ordered, indent=1) + "\n"


def from_yaml(text: str) -> t.Any:
    """Return the content of YAML text in JSON types.

    Times are texts, as in Kubernetes.

    Raises:
        NoYaml: also for what is nested or expands too far, and whatever else PyYAML raises for a value that is not of its tag.
    """
    return marshal.loads(_kept(text)) if len(text) <= _LONGEST_KEPT else _read(text)


@functools.lru_cache(maxsize=_TEXTS_KEPT)
def _kept(text: str) -> bytes:
    """Return the content as bytes: who gets it may change it."""
    return marshal.dumps(_read(text))


def _read(text: str) -> t.Any:
    try:
        documents = [bounded_yaml.to_json(root) for root in bounded_yaml.Reader(text, _SCALARS.read).documents()]
    except Refused as refused:
        raise NoYaml(f"it is not valid YAML in line {refused.line}: {refused.rule}", refused.line) from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        where = f" in line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        raise NoYaml(f"it is not valid YAML{where}: {error.problem}", mark.line + 1 if mark else 0) from error
    except (
        yaml.YAMLError,
        ValueError,
        TypeError,
        LookupError,
        ArithmeticError,
        AttributeError,
        RecursionError,
    ) as error:
        raise NoYaml("it is not valid YAML") from error
    if len(documents) > 1:
        raise NoYaml("it is not valid YAML: it holds several documents")
    return documents[0] if documents else None


class _Scalars(yaml.constructor.SafeConstructor, yaml.resolver.Resolver):
    """PyYAML's rules for plain scalars."""

    def __init__(self) -> None:
        yaml.constructor.SafeConstructor.__init__(self)
        yaml.resolver.Resolver.__init__(self)

    def read(self, event: t.Any, line: int) -> t.Any:
        """Return the value of a scalar."""
        text, tag = event.value, event.tag
        if tag is None and event.implicit[0]:
            # Times are texts, as in Kubernetes; so are "=" and "<<", which mean nothing as values.
            for tag, pattern in self.yaml_implicit_resolvers.get(text[:1], ()):
                if tag in _TAGS and pattern.match(text):
                    break
            else:
                return text
        elif tag in (None, "!", TAG + "str"):
            return text
        elif tag not in _TAGS:
            raise bounded_yaml.tag_refused(tag, line)
        if tag in (TAG + "int", TAG + "float") and len(text) > _LONGEST_NUMBER:
            rule = f"a number has more than {_LONGEST_NUMBER} characters"
            raise Refused(line, rule, "Quote it, if it is text.")
        # Not construct_object, which keeps every node that it has seen.
        value = self.yaml_constructors[tag](self, yaml.ScalarNode(tag, text, event.start_mark, event.end_mark))
        if isinstance(value, float) and not math.isfinite(value):
            raise Refused(line, "JSON has no infinity and no not-a-number", "Write a number, or quote it.")
        if isinstance(value, int) and value.bit_length() > _MOST_BITS:
            raise Refused(line, "the number has too many digits", "Write a smaller one, or quote it.")
        return value


class _Dumper(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc]
    """YAML dumper without aliases, with texts of several lines as blocks."""

    def ignore_aliases(self, data: t.Any) -> bool:
        return True


def _represent_text(dumper: t.Any, text: str) -> t.Any:
    style = "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_SCALARS = _Scalars()
_Dumper.add_representer(str, _represent_text)
