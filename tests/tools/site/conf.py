# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Sphinx's configuration of the documentation site; what is built is laid out by pages.py."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from docutils import nodes

project = "kubeadm.control_plane"
author = copyright = "kubeadm.control_plane contributors"
release = os.environ["SITE_VERSION"]
html_title = f"{project} {release}"
language = "en"

extensions = ["myst_parser", "sphinx_antsibull_ext"]
# The anchors that GitHub gives headings, so that one link works in both places.
myst_heading_anchors = 4
smartquotes = False

html_theme = "furo"
html_static_path = [str(Path(__file__).resolve().parent / "static")]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
html_use_index = False
pygments_style = "default"
pygments_dark_style = "github-dark"

# Labels of Ansible's own documentation that antsibull-docs names. Sphinx would fetch a list of all of them from that address.
ANSIBLE = "https://docs.ansible.com/projects/ansible/latest/"
ANSIBLE_PAGES = {
    "action_plugins": "plugins/action.html",
    "ansible_configuration_settings": "reference_appendices/config.html",
    "callback_plugins": "plugins/callback.html",
    "common_return_values": "reference_appendices/common_return_values.html",
}


def ansible_page(app: Any, env: Any, node: Any, content: Any) -> Any:
    """Return the link for a label of Ansible's documentation, or None for any other."""
    page = ANSIBLE_PAGES.get(node["reftarget"])
    return nodes.reference("", "", content, refuri=ANSIBLE + page) if page else None


def setup(app: Any) -> None:
    """Let Sphinx ask for what it doesn't know."""
    app.connect("missing-reference", ansible_page)
