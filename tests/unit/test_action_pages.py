# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The Actions that pages and examples show are valid ones."""

from __future__ import annotations

import json
import re
import typing as t
from pathlib import Path

import pytest
import yaml

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects import actions
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.operator import validate

DOCS = Path(__file__).parents[2] / "docs"
EXAMPLES = Path(__file__).parents[2] / "examples" / "actions"
Object = dict[str, t.Any]


def shown() -> list[tuple[str, Object]]:
    """Every Action, TaskGroup and Task in a page's YAML, and every spec that a command line gives, with the page's name."""
    found: list[tuple[str, Object]] = []
    for path in sorted(DOCS.glob("*.md")):
        text = path.read_text(encoding="utf-8")
        for block in re.findall(r"^```yaml\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
            for document in yaml.safe_load_all(block):
                if isinstance(document, dict) and actions.is_operator_object(document):
                    found.append((path.name, document))
        for given in re.findall(r"-e '(\{\"operator_spec\": [^']+\})'", text):
            metadata = {"name": "shown"}
            spec = json.loads(given)["operator_spec"]
            document = {"apiVersion": actions.API_VERSION, "kind": "Action", "metadata": metadata, "spec": spec}
            found.append((path.name, document))
    for path in sorted(EXAMPLES.glob("*.yml")):
        found += [(path.name, document) for document in yaml.safe_load_all(path.read_text(encoding="utf-8"))]
    return found


SHOWN = shown()


def test_pages_show_actions() -> None:
    """The parametrized test is about something."""
    assert {"actions.md", "upgrade_in_place.md", "renew_certificates.md"} <= {name for name, _document in SHOWN}
    kinds = {actions.what(document) for name, document in SHOWN if name.endswith(".yml")}
    assert kinds == set(actions.ACTIONS), "an example of each"


@pytest.mark.parametrize(
    ("page", "document"), SHOWN, ids=[f"{name}-{index}" for index, (name, _document) in enumerate(SHOWN)]
)
def test_what_a_page_shows_is_valid(page: str, document: Object) -> None:
    """As somebody copies it."""
    obj, errors = actions.to_hub(document)
    assert [*errors, *validate.validate(obj)] == [], page
