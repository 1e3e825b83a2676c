# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Objects as YAML that people read, and back, with JSON types only."""

from __future__ import annotations

import json
import typing as t

from ansible_collections.kubeadm.control_plane.plugins.module_utils.store.base import Object, StoreError

YAML_IMPORT_ERROR: ImportError | None = None
try:
    import yaml
except ImportError as _error:
    YAML_IMPORT_ERROR = _error

_FIRST_KEYS = ("apiVersion", "kind", "metadata", "type", "spec", "data", "status")
_classes: dict[str, t.Any] = {}


def to_yaml(obj: Object) -> str:
    """Return an object as YAML: identity first, texts of several lines as blocks.

    What was written is read back and compared; what YAML can't carry faithfully is written as JSON, which is YAML too.
    """
    _need_yaml()
    ordered = {key: obj[key] for key in _FIRST_KEYS if key in obj}
    ordered.update((key, value) for key, value in obj.items() if key not in ordered)
    text = str(
        yaml.dump(ordered, Dumper=_dumper(), sort_keys=False, allow_unicode=True, default_flow_style=False, width=200)
    )
    try:
        faithful = yaml.load(text, Loader=_loader()) == obj
    except yaml.YAMLError:
        faithful = False
    return text if faithful else json.dumps(ordered, indent=1) + "\n"


def from_yaml(text: str) -> t.Any:
    """Return what YAML text holds, times as texts as in Kubernetes. Raises ValueError, with the line where there is one."""
    _need_yaml()
    try:
        return yaml.load(text, Loader=_loader())
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        where = f" in line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        raise ValueError(f"it is not valid YAML{where}: {error.problem}") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise ValueError("it is not valid YAML") from error


def _need_yaml() -> None:
    if YAML_IMPORT_ERROR is not None:
        raise StoreError(
            "PyYAML is missing",
            "the Python that runs ansible-core on this controller",
            "the store's objects are YAML",
            "Install it there: python -m pip install PyYAML.",
        )


def _loader() -> t.Any:
    if "loader" not in _classes:
        base: t.Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        resolvers = {
            first: [each for each in found if each[0] != "tag:yaml.org,2002:timestamp"]
            for first, found in base.yaml_implicit_resolvers.items()
        }
        _classes["loader"] = type("_Loader", (base,), {"yaml_implicit_resolvers": resolvers})
    return _classes["loader"]


def _dumper() -> t.Any:
    if "dumper" not in _classes:
        base: t.Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
        dumper: t.Any = type("_Dumper", (base,), {"ignore_aliases": lambda self, data: True})
        dumper.add_representer(str, _represent_text)
        _classes["dumper"] = dumper
    return _classes["dumper"]


def _represent_text(dumper: t.Any, text: str) -> t.Any:
    style = "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)
