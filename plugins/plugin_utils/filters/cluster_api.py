# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Shared input of the filters to_cluster_api and from_cluster_api.

Objects, in any form in which a playbook has them.
"""

from __future__ import annotations

import typing as t

from ...module_utils.common.violations import ManifestError, Report, Violation, describe
from ..documents.yaml_files import MAX_BYTES, read_text
from ..objects.convert import whole_objects
from ..objects.kinds import label_of
from . import kubeadm

Object = dict[str, t.Any]


def hub_objects(name: str, value: t.Any) -> list[Object]:
    """Return the hub form of YAML text or objects.

    ``value`` is YAML text, a list of objects, or one object. What is read without effect is a warning of the filter ``name``.

    Raises:
        ManifestError: with everything that is wrong.
    """
    plain = kubeadm.plain(value)
    violations: list[Violation] = []
    sources: list[tuple[Object, Report]] = []
    if isinstance(plain, str):
        if len(plain) > MAX_BYTES:
            raise ManifestError([_refused("the text is larger than 10 MB", "Convert fewer objects at once.")])
        documents, violations = read_text(plain, "input")
        sources = [(document.data, document.report()) for document in documents]
    else:
        for entry in plain if isinstance(plain, list) else [plain]:
            if isinstance(entry, dict):
                sources.append((entry, Report(label_of(_named(entry)))))
            else:
                rule = f"this is {describe(entry)}, not an object"
                violations.append(_refused(rule, "Give objects with apiVersion, kind and metadata, or YAML text."))
    hubs = [whole_objects.object_to_hub(data, report) for data, report in sources]
    violations += [violation for _data, report in sources for violation in report.violations]
    if not sources and not violations:
        violations.append(_refused("there is no object in it", "Give at least one object."))
    if violations:
        raise ManifestError(violations)
    kubeadm.warn(name, [warning for _data, report in sources for warning in report.warnings])
    return hubs


def _named(entry: Object) -> Object:
    """Return an object whose name can be read, whatever the input holds."""
    return entry if isinstance(entry.get("metadata"), dict) else {**entry, "metadata": {}}


def _refused(rule: str, fix: str) -> Violation:
    return Violation("input", "", None, rule, fix)
