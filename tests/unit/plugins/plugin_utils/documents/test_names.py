# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.kubeadm.control_plane.plugins.module_utils.common.violations import ManifestError
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.documents import names


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("", "kcp-abcde"),
        ("{{ .cluster.name }}-cp-{{ .random }}", "c1-cp-abcde"),
        ("{{.cluster.name}}.{{.kubeadmControlPlane.name}}.{{.random}}", "c1.kcp.abcde"),
    ],
)
def test_a_machine_is_named_by_the_template(template: str, expected: str) -> None:
    assert names.machine_name(template, cluster="c1", control_plane="kcp", random="abcde") == expected


def test_a_long_name_is_cut_and_stays_unique() -> None:
    name = names.machine_name("", cluster="c", control_plane="k" * 70, random="abcde")
    assert name == "k" * 58 + "abcde"


def test_random_is_drawn() -> None:
    drawn = {names.machine_name("", cluster="c", control_plane="kcp") for _draw in range(50)}
    assert len(drawn) > 45
    assert all(len(name) == 9 and set(name[4:]) <= set(names.RANDOM_ALPHABET) for name in drawn)


@pytest.mark.parametrize(
    ("template", "words"),
    [
        ("{{ .cluster.name }}", "no {{ .random }}"),
        ("{{ .random }}-{{ .namespace }}", "'{{ .namespace }}' is not a variable"),
        ("{{ random }}", "no {{ .random }}"),
        ("{{ .random | upper }}", "not a variable"),
        ("{{ .random }}-{{", "no partner"),
        ("Node_{{ .random }}", "not an RFC 1123 name"),
    ],
)
def test_a_bad_template_is_refused(template: str, words: str) -> None:
    with pytest.raises(ManifestError, match=r"spec\.machineNaming\.template") as error:
        names.machine_name(template, cluster="c", control_plane="kcp", random="abcde")
    assert words in str(error.value)


def test_label_values() -> None:
    assert names.label_value("my-control-plane") == "my-control-plane"
    long = names.label_value("a" * 64)
    assert long.startswith("hash_")
    assert long.endswith("_z")
    assert len(long) == 5 + 6 + 2


def test_the_hash_is_fnv_1a() -> None:
    # Published test vectors of FNV-1a (32 bits): "a" -> e40c292c, "foobar" -> bf9cf968.
    assert names.fnv_1a(b"a") == 0xE40C292C
    assert names.fnv_1a(b"foobar") == 0xBF9CF968


@given(st.text(max_size=80))
def test_every_name_becomes_a_label_value(name: str) -> None:
    assert names.is_label_value(names.label_value(name))


@pytest.mark.parametrize("text", ["a", "a-b", "0a", "a" * 63])
def test_dns_labels(text: str) -> None:
    assert names.is_dns_label(text)


@pytest.mark.parametrize("text", ["", "-a", "a-", "A", "a.b", "a_b", "a" * 64, "a\n"])
def test_what_is_no_dns_label(text: str) -> None:
    assert not names.is_dns_label(text)


def test_subdomains_and_keys() -> None:
    assert names.is_dns_subdomain("a.b-c.0")
    assert not names.is_dns_subdomain("a..b")
    assert not names.is_dns_subdomain("a" * 254)
    assert names.is_qualified_name("example.com/a.b_c")
    assert not names.is_qualified_name("/a")
    assert not names.is_qualified_name("a/b/c")
