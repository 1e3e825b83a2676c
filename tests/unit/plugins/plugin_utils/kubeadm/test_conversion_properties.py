# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Properties of the conversion: what the table says an API version holds survives it, and nothing disappears in silence."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kubeadm_values import HUB_KEY, MINORS, MOVED, get, hubs, rows, values, without_empty

from ansible_collections.kubeadm.control_plane.plugins.module_utils.common.violations import Report
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.kubeadm.configuration import any_form, for_version

VERSION = {1: "v1.20.2", 2: "v1.20.2", 3: "v1.30.0", 4: "v1.31.0"}
TABLE = rows()
GROUPS = [
    ("InitConfiguration", "ClusterConfiguration"),
    ("JoinConfiguration",),
    ("ClusterStatus",),
    ("ResetConfiguration",),
    ("UpgradeConfiguration",),
]
CASES = [
    (group, api)
    for group in GROUPS
    for api in (1, 2, 3, 4)
    if any(row.kind in group and api in row.versions for row in TABLE)
]
QUICK = settings(max_examples=20)


@pytest.mark.parametrize(("group", "api"), CASES)
@given(data=st.data())
@QUICK
def test_what_the_table_says_an_api_holds_survives_it(group: tuple[str, ...], api: int, data: st.DataObject) -> None:
    minor = data.draw(st.integers(*MINORS[api]))
    hub = data.draw(hubs(group, api, minor))
    written = for_version.write(hub, f"v1.{minor}.0", api=api)
    assert written.flags == {}
    if not written.documents:
        assert without_empty(hub) == {}
        return
    back = any_form.read(written.text)
    assert without_empty(back.hub) == without_empty(hub)
    assert back.warnings == ()


@pytest.mark.parametrize("api", [1, 2, 3])
@pytest.mark.parametrize("group", GROUPS)
@given(data=st.data())
@QUICK
def test_no_value_disappears_in_silence(group: tuple[str, ...], api: int, data: st.DataObject) -> None:
    """Any hub, to an older API: every value comes back, is a flag, is what older kubeadm does anyway, or is reported."""
    minor = data.draw(st.integers(*MINORS[api]))
    hub = data.draw(hubs(group, api, minor, held=False))
    report = Report("test")
    written = for_version.write(hub, f"v1.{minor}.0", api=api, report=report)
    back = any_form.read(written.text).hub if written.documents else {}
    paths = [violation.path for violation in report.violations]
    flags = " ".join(flag for each in written.flags.values() for flag in each)
    for row in TABLE:
        if row.kind not in group or row.path in MOVED:
            continue
        value = get(hub.get(HUB_KEY[row.kind]), row.hub_path)
        if value is None or get(back.get(HUB_KEY[row.kind]), row.hub_path) == value:
            continue
        if _sorted(value) == _sorted(get(back.get(HUB_KEY[row.kind]), row.hub_path)):
            continue
        where = f"{HUB_KEY[row.kind]}.{row.hub_path}"
        assert (
            value in ("", [], {})
            or value == _DEFAULTS.get(row.path.rpartition(".")[2])
            or any(path.startswith((where, HUB_KEY[row.kind] + "[")) or where.startswith(path) for path in paths)
            or _as_flag(value) in flags
        ), (where, value, paths, flags)


# What kubeadm without the field does (kubeadm's documentation of v1beta4).
_DEFAULTS = {
    "imagePullPolicy": "IfNotPresent",
    "imagePullSerial": True,
    "dryRun": False,
    "disabled": False,
    "encryptionAlgorithm": "RSA-2048",
    "certificateValidityPeriod": 365,
    "caCertificateValidityPeriod": 3650,
    "controlPlaneComponentHealthCheck": 240,
    "tlsBootstrap": 300,
    "discovery": 300,
    "upgradeManifests": 300,
    "certificateRenewal": True,
    "etcdUpgrade": True,
    "force": False,
    "forceUpgrade": False,
    "cleanupTmpDir": False,
    "printConfig": False,
    "allowExperimentalUpgrades": False,
    "allowRCUpgrades": False,
    "contextLines": 3,
}


def _sorted(value: Any) -> Any:
    named = isinstance(value, list) and value and all(isinstance(each, dict) and "name" in each for each in value)
    return sorted(value, key=lambda each: each["name"]) if named else value


def _as_flag(value: Any) -> str:
    if isinstance(value, bool):
        return "=false" if value is False else "--"
    return ",".join(value) if isinstance(value, list) else str(value)


UNKNOWN = st.dictionaries(
    st.sampled_from(["newField", "unconverted", "ttlSeconds", "extra"]),
    st.recursive(st.none() | st.booleans() | st.text(max_size=3), lambda inner: st.lists(inner, max_size=2)),
    min_size=1,
    max_size=2,
)


@pytest.mark.parametrize("api", [1, 2, 3, 4])
@given(data=st.data())
@QUICK
def test_unknown_fields_survive_their_own_version_and_no_other(api: int, data: st.DataObject) -> None:
    document: dict[str, Any] = {"apiVersion": f"kubeadm.k8s.io/v1beta{api}", "kind": "ClusterConfiguration"}
    document.update({"apiServer": {"certSANs": ["a"]}, "etcd": {"local": {}}})
    document["scheduler"] = {"extraVolumes": [{"name": "a"}, {"name": "b"}]}
    place = data.draw(
        st.sampled_from(
            [document, document["apiServer"], document["etcd"]["local"], document["scheduler"]["extraVolumes"][1]]
        )
    )
    unknown = data.draw(UNKNOWN)
    place.update(unknown)
    found = any_form.read(document)
    assert len(found.warnings) == len(unknown)
    assert for_version.write(found.hub, VERSION[api], api=api).documents == (document,)
    for other in {1, 2, 3, 4} - {api}:
        report = Report("test")
        for_version.write(found.hub, VERSION[other], api=other, report=report)
        assert {violation.path.rpartition(".")[2] for violation in report.violations} == set(unknown)


@given(value=values("args", 4))
@QUICK
def test_a_repeated_flag_is_the_only_thing_a_map_cannot_hold(value: list[dict[str, str]]) -> None:
    report = Report("test")
    for_version.write({"clusterConfiguration": {"scheduler": {"extraArgs": value}}}, "v1.30.0", report=report)
    names = [each["name"] for each in value]
    assert len(report.violations) == len(names) - len(set(names))
