# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Templates in a stored spec and in a manifest that mean the same."""

from __future__ import annotations

import pytest

from ansible_collections.kubeadm.control_plane.plugins.module_utils.common.violations import Report
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects import equivalence
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects.instance_data import rendering
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects.validate.kubeadm_config_spec import (
    validate_config,
)


def test_another_spelling_is_no_change() -> None:
    one = {"preKubeadmCommands": ['a {{ ds["meta_data"].hostname.split(".")[0] }} {{ v1.region }}']}
    other = {"preKubeadmCommands": ["a {{local_hostname.split('.')[0]}}{# c #} {{ region }}"]}
    assert equivalence.same(one, other)
    assert equivalence.keep_equivalent(one, other) == one
    assert not equivalence.same(one, {"preKubeadmCommands": ["a {{ local_hostname }} {{ region }}"]})
    assert not equivalence.same("{{ region }}", "{% raw %}{{ region }}{% endraw %}")
    assert not equivalence.same("{{ region }}", "{{ availability_zone }}")


def test_escaping_what_an_earlier_release_kept_is_no_change() -> None:
    """It is kept escaped: the next machine is made of what is kept."""
    old = {"a": {"files": [{"path": "/a", "content": "{{.State}}"}], "format": "cloud-config"}, "name": "{{ .random }}"}
    new = {"a": {"files": [{"path": "/a", "content": "{% raw %}{{.State}}{% endraw %}"}]}, "name": "{{ .random }}"}
    assert equivalence.same(old, new)
    kept = equivalence.keep_equivalent(old, new)
    assert kept["a"]["files"] == new["a"]["files"]
    assert kept["a"]["format"] == "cloud-config"
    assert kept["name"] == "{{ .random }}"


@pytest.mark.parametrize(
    "new",
    [
        "n={{ ds.meta_data.local_hostname }} -f '{% raw %}{{.State}}{% endraw %}'",
        "n={{ local_hostname }} -f '{{ \"{{\" }}.State}}'",
        "n={{ local_hostname }} -f '{{ \"{\" }}{.State}}'",
    ],
)
def test_a_host_name_beside_other_braces_was_filled_in_by_earlier_releases(new: str) -> None:
    """Escaping the others replaces no machine; another name is a change."""
    old = "n={{ ds.meta_data.local_hostname }} -f '{{.State}}'"
    assert equivalence.same(old, new)
    assert not equivalence.same(old, new.replace("local_hostname }}", "local_hostname.split('.')[0] }}"))
    assert not equivalence.same('{{ "{" }}{ local_hostname }}', "{{ v1.local_hostname }}")


def test_a_list_that_changes_takes_nothing_of_what_is_stored() -> None:
    """Where entries of it were stored with zero values, an API server with the limits refuses the whole list."""
    old = {"files": [{"path": "/a", "content": ""}, {"path": "/b", "content": "x"}]}
    new = {"files": [{"path": "/a"}, {"path": "/b", "content": "z"}]}
    assert equivalence.keep_equivalent(old, new) == new


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        ("{{ local_hostname }}", "{{ region }}", False),
        ("{{ local_hostname.split('-')[0] }}", "{{ local_hostname.split('-')[1] }}", False),
        ("{{ local_hostname }}", "{{ ds.meta_data.local_hostname }}", True),
    ],
)
def test_paths_are_the_same_where_their_references_are(first: str, second: str, same: bool) -> None:
    report = Report("a")
    files = [{"path": f"/etc/{each}", "content": "a"} for each in (first, second)]
    validate_config(rendering.sample({"files": files}), "spec", report)
    assert [each.path for each in report.violations] == (["spec.files[1].path"] if same else [])
