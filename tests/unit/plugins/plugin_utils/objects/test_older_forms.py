# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Objects that begin in a form before v1beta2: what reading them drops is told, and no way through all versions drops more."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.kubeadm.control_plane.plugins.module_utils.common.violations import Report
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.documents.schema import (
    Ignored,
    ListOf,
    Needed,
    Refused,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects import machine_health_check, structures
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects.convert import whole_objects
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects.equivalence import canonical, same
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects.workers import machine_deployment
from ansible_collections.kubeadm.control_plane.tests.support.generated_objects import (
    GROUP,
    OLDER,
    QUICK,
    changed,
    values,
)

CLASSIC = {
    "Cluster": structures.CLUSTER_SPEC["classic"],
    "KubeadmControlPlane": structures.CONTROL_PLANE_SPEC["classic"],
    "Machine": structures.MACHINE_SPEC["classic"],
    "KubeadmConfig": structures.KUBEADM_CONFIG_SPEC["classic"],
    "KubeadmConfigTemplate": machine_deployment.CONFIG_TEMPLATE_SPEC["classic"],
    "MachineDeployment": machine_deployment.SPEC["classic"],
    "MachineSet": machine_deployment.SET_SPEC["classic"],
    "MachineHealthCheck": machine_health_check.SPEC["classic"],
}
# Of a KubeadmControlPlane.
OLD_NAMES = ("infrastructureTemplate", "upgradeAfter", "strategy")
# Without an effect: asked for, the one is warned of and the other refused.
WITHOUT_EFFECT = re.compile(
    r"spec\.(kubeadmConfigSpec\.|template\.spec\.)?(useExperimentalRetryJoin|clusterConfiguration\.useHyperKubeImage)"
    r"|spec\.(revisionHistoryLimit|progressDeadlineSeconds)"
    r"|spec\.template\.metadata\.(name|generateName|namespace|ownerReferences).*"
)
# Of a Machine an empty list of taints is none, and so is a taint's empty value.
EMPTY_TAINTS = re.compile(r"spec\.(machineTemplate\.|template\.spec\.)?taints(\[\d\]\.value)?")


def classic(description: Any, top: str = "") -> st.SearchStrategy[Any]:
    """Values that fit a description of the form before v1beta2, in v1beta1's names and spellings."""
    if description == "duration":
        return st.sampled_from(["0s", "1m30s", "10m0s"])
    if isinstance(description, (Ignored, Needed)):
        return classic(description.value)
    if isinstance(description, ListOf) and not description.unique:
        return st.lists(classic(description.value), max_size=2)
    if not isinstance(description, dict):
        return values(description)
    if {"apiVersion", "kind", "name"} <= set(description):
        group = "infrastructure.cluster.x-k8s.io/v1beta1"
        return st.fixed_dictionaries({"apiVersion": st.just(group), "kind": st.just("Acme"), "name": st.just("a")})
    out = {"apiVersion", "kind", *((*OLD_NAMES, "nodeDrainTimeout") if top == "KubeadmControlPlane" else ())}
    known = {name: classic(value) for name, value in description.items() if not isinstance(value, Refused)}
    return st.fixed_dictionaries({}, optional={name: value for name, value in known.items() if name not in out})


def _machine(spec: dict[str, Any]) -> dict[str, Any]:
    template: dict[str, Any] = spec.get("machineTemplate") or (spec.get("template") or {}).get("spec") or spec
    return template


@pytest.mark.parametrize("kind", list(CLASSIC))
@QUICK
@given(data=st.data(), version=st.sampled_from(OLDER), way=st.permutations((*OLDER, "v1beta2")))
def test_what_begins_in_an_older_version_is_kept_or_told(
    kind: str, data: st.DataObject, version: str, way: list[str]
) -> None:
    """Reading it drops nothing, in whichever version it is, and no way through all of them does."""
    spec = data.draw(classic(CLASSIC[kind], kind))
    metadata, report = {"name": "a", "namespace": "default"}, Report(kind)
    older = {"apiVersion": f"{GROUP[kind]}/{version}", "kind": kind, "metadata": metadata, "spec": spec}
    hub = whole_objects.object_to_hub(older, report)
    if report.violations:
        return
    back = whole_objects.from_hub(hub, "v1beta1", keep=False)
    told = " ".join([*report.warnings, *(loss.path for loss in back.losses)])
    for path, _added in changed(canonical(spec), canonical(back.object.get("spec")), "spec"):
        known = WITHOUT_EFFECT.fullmatch(path) or path.endswith("Ref.namespace")
        if EMPTY_TAINTS.fullmatch(path):
            known = known or path.endswith(".value") or not _machine(spec)["taints"]
        assert known or path in told, path
    asked = (spec.get("kubeadmConfigSpec") or spec).get("useExperimentalRetryJoin")
    assert not asked or "useExperimentalRetryJoin has no effect" in told
    found = hub
    for each in way:
        found = whole_objects.object_to_hub(whole_objects.from_hub(found, each).object)
    assert same(found.get("spec"), hub["spec"])
