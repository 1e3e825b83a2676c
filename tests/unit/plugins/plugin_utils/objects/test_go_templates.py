# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files with ``contentFormat: Template``: what is rendered as Go renders it, and what is refused."""

from __future__ import annotations

import base64
from typing import Any, Callable

import pytest

from ansible_collections.kubeadm.control_plane.plugins.module_utils.common.violations import ManifestError, Report
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects.equivalence import same
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects.instance_data import go_template, rendering
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects.instance_data.machine_configuration import (
    machine_configuration,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects.manifest.reader import ClusterManifest

Documents = list[dict[str, Any]]
MACHINE = {"metadata": {"name": "cp-1", "namespace": "default"}, "spec": {"version": "v1.30.0"}}
SECRET = {"contentFrom": {"secret": {"name": "s", "key": "k"}}}
VERSION = "{{ .controlPlane.version }}"


def on_machine(secret: bytes = b"", **file: Any) -> str:
    """The content of a machine's file, where the control plane is to be v1.31.4."""
    config = {"spec": {"files": [{"path": "/a", "contentFormat": "Template", **file}]}}
    found = machine_configuration(config, MACHINE, None, lambda name, key: secret, "v1.31.4")
    return base64.b64decode(found.files[0]["content"]).decode()


# What Go 1.19 makes of the same text with the same data.
@pytest.mark.parametrize(
    ("text", "becomes"),
    [
        ("v={{ .controlPlane.version }}\n", "v=v1.31.4\n"),
        ("{{.controlPlane.version}}{{$.controlPlane.version}}", "v1.31.4v1.31.4"),
        ("a \n{{- .controlPlane.version -}} \t\n b", "av1.31.4b"),
        ("a {{/* of * the ** image */}} b {{- /* c */ -}} \n c", "a  bc"),
        ('{{ "{%" }} raw %}{{`{{.State}}`}}{{ "{% endraw %}" }}', "{{.State}}"),
        ("{{`a\r\n`}}}} {", "a\n}} {"),
        ("{{\n.controlPlane.version\t}}", "v1.31.4"),
        ("{{ local_hostname }}", None),
        ("{{ .controlPlane.version ", None),
        ("{{ if .controlPlane }}a{{ end }}", None),
        ("{{.controlPlane}}", None),
        ("{{ .controlPlane.version | printf }}", None),
        ('{{ printf "%999999s" "" }}', None),
        ("{{-.controlPlane.version}}", None),
        ("{{.controlPlane.version-}}", None),
        ("{{/* a */ b}} {{/* c */}}", None),
        ('{{ "\\x41" }}', None),
    ],
)
def test_a_content_is_rendered_or_refused(
    text: str, becomes: Any, documents: Documents, refused: Callable[..., Any]
) -> None:
    documents[1]["spec"]["kubeadmConfigSpec"]["files"] = [{"path": "/a", "content": text, "contentFormat": "Template"}]
    violations = refused(documents)
    if becomes is None:
        assert {each.path for each in violations} == {"spec.kubeadmConfigSpec.files[0].content"}
        assert all(".controlPlane.version" in each.fix for each in violations)
        with pytest.raises(ManifestError):
            on_machine(content=text)
    else:
        assert violations == [] and on_machine(content=text) == becomes


def test_the_result_is_instance_data() -> None:
    """As cloud-init would read it afterwards."""
    both = '{{ "{{ local_hostname }}" }} ' + VERSION
    assert on_machine(content=both) == "cp-1 v1.31.4"
    assert on_machine(both.encode(), **SECRET) == "cp-1 v1.31.4"
    report = Report("a")
    rendering.validate({"files": [{"content": "{{`{{ regoin }}`}}", "contentFormat": "Template"}]}, "spec", report)
    assert [each.path for each in report.violations] == ["spec.files[0].content"]


def test_a_secret_is_not_shown() -> None:
    report = Report("a")
    config = {"files": [{"path": "/a", "contentFormat": "Template", **SECRET}]}
    rendering.validate_secrets(config, "spec", lambda name, key: b"\n{{ .hunter2 }}", report)
    with pytest.raises(ManifestError) as error:
        on_machine(b"\n{{ .hunter2 }}", **SECRET)
    for each in (report.violations, error.value.violations):
        assert [found.path for found in each] == ["spec.files[0].contentFrom"]
        assert "Secret s, key k, a template in line 2" in each[0].rule and "hunter2" not in each[0].text()


def test_an_encoded_content_stays(documents: Documents, read: Callable[..., ClusterManifest]) -> None:
    """Cluster API renders the text as it is encoded, in which nothing is in braces."""
    encoded = {"content": base64.b64encode(VERSION.encode()).decode(), "encoding": "base64"}
    assert on_machine(**encoded) == VERSION
    file = {"path": "/a", "contentFormat": "Template", **encoded}
    documents[1]["spec"]["kubeadmConfigSpec"]["files"] = [file]
    assert "files[0].contentFormat: an encoded content is not rendered" in str(read(documents).warnings)


def test_templates_of_go_are_not_read_as_those_of_cloud_init() -> None:
    file = {"path": "/a", "content": VERSION, "contentFormat": "Template"}
    assert rendering.is_rendered({"files": [file]})
    assert not same({"files": [file]}, {"files": [{**file, "contentFormat": "Raw"}]})
    assert same({"files": [file]}, {"files": [dict(file)]})


@pytest.mark.parametrize("text", ["{{" * 300_000, "{{/*" * 300_000, "{{`" * 300_000, f"{VERSION}\n" * 20_000])
def test_a_huge_text_is_read_once(text: str) -> None:
    rendered, problems = go_template.render(text, "v1.31.4")
    assert problems or rendered == "v1.31.4\n" * 20_000
