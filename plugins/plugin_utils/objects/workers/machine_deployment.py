# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""MachineDeployment, MachineSet and KubeadmConfigTemplate: structure and defaults.

The forms are those of every Cluster API version: "classic" is v1alpha3, v1alpha4 and v1beta1 in one, "hub" is v1beta2.
Source: Cluster API's types of cluster.x-k8s.io and its defaulting webhook (docs/reference/cluster_api.md, "MachineDeployments").
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ....module_utils.common.kubernetes_versions import with_v
from ...documents import names
from ...documents.schema import Ignored, Needed, Text
from .. import kinds, structures
from ..validate import limits, object_selector

Object = dict[str, Any]
ROLLING_UPDATE, ON_DELETE = "RollingUpdate", "OnDelete"
STRATEGIES = (ROLLING_UPDATE, ON_DELETE)
RANDOM, NEWEST, OLDEST = "Random", "Newest", "Oldest"
DELETION_ORDERS = (RANDOM, NEWEST, OLDEST)

_STRATEGY_TYPE = Text(
    one_of=STRATEGIES, rule="there is no such rollout strategy", fix=f"Use {ROLLING_UPDATE} or {ON_DELETE}."
)
_ORDER = Text(
    one_of=DELETION_ORDERS, rule="there is no such order of deletion", fix=f"Use {', '.join(DELETION_ORDERS)}."
)
_UNUSED = "it has no effect, in Cluster API neither"
# v1alpha3 took a whole object's metadata there, and used labels and annotations alone.
_OF_ONE_OBJECT = {
    name: Ignored("any", f"{name} has no effect: each machine gets its own metadata")
    for name in ("name", "generateName", "namespace", "ownerReferences")
}


def _template(form: str) -> Object:
    metadata: Mapping[str, Any] = structures.TEMPLATE_METADATA
    if form == "classic":
        metadata = {**metadata, **_OF_ONE_OBJECT}
    return {"metadata": metadata, "spec": Needed(structures.MACHINE_SPEC[form])}


SPEC: Mapping[str, Any] = {
    "hub": {
        "clusterName": Needed(limits.CLUSTER_NAME),
        "replicas": "integer",
        "rollout": {
            "after": "timestamp",
            "strategy": {
                "type": Needed(_STRATEGY_TYPE),
                "rollingUpdate": {"maxSurge": "intOrString", "maxUnavailable": "intOrString"},
            },
        },
        "selector": Needed(object_selector.SHAPE),
        "template": Needed(_template("hub")),
        "machineNaming": {"template": limits.SHORT},
        "remediation": {"maxInFlight": "intOrString"},
        "deletion": {"order": _ORDER},
        "paused": "boolean",
    },
    "classic": {
        "clusterName": limits.CLUSTER_NAME,
        "replicas": "integer",
        "rolloutAfter": "timestamp",
        "selector": object_selector.SHAPE,
        "template": _template("classic"),
        "strategy": {
            "type": _STRATEGY_TYPE,
            "rollingUpdate": {"maxSurge": "intOrString", "maxUnavailable": "intOrString", "deletePolicy": _ORDER},
            "remediation": {"maxInFlight": "intOrString"},
        },
        "machineNamingStrategy": {"template": limits.SHORT},
        "minReadySeconds": "integer",
        "paused": "boolean",
        "revisionHistoryLimit": Ignored("integer", f"revisionHistoryLimit is not kept: {_UNUSED}"),
        "progressDeadlineSeconds": Ignored("integer", f"progressDeadlineSeconds is not kept: {_UNUSED}"),
    },
}
SET_SPEC: Mapping[str, Any] = {
    "hub": {
        "clusterName": Needed(limits.CLUSTER_NAME),
        "replicas": "integer",
        "selector": Needed(object_selector.SHAPE),
        "template": _template("hub"),
        "machineNaming": {"template": limits.SHORT},
        "deletion": {"order": _ORDER},
    },
    "classic": {
        "clusterName": limits.CLUSTER_NAME,
        "replicas": "integer",
        "selector": object_selector.SHAPE,
        "template": _template("classic"),
        "machineNamingStrategy": {"template": limits.SHORT},
        "minReadySeconds": "integer",
        "deletePolicy": _ORDER,
    },
}
CONFIG_TEMPLATE_SPEC: Mapping[str, Any] = {
    form: {"template": Needed({"metadata": structures.TEMPLATE_METADATA, "spec": spec})}
    for form, spec in structures.KUBEADM_CONFIG_SPEC.items()
}
HINTS: Mapping[str, Mapping[str, str]] = {
    "hub": {
        **structures.HINTS_HUB,
        "rolloutAfter": "In v1beta2 this is spec.rollout.after.",
        "strategy": "In v1beta2 these are spec.rollout.strategy, spec.deletion.order and spec.remediation.",
        "minReadySeconds": "In v1beta2 this is spec.template.spec.minReadySeconds.",
        "deletePolicy": "In v1beta2 this is spec.deletion.order.",
        "revisionHistoryLimit": "It had no effect; remove it.",
        "progressDeadlineSeconds": "It had no effect; remove it.",
    },
    "classic": {
        **structures.HINTS_CLASSIC,
        "rollout": "In v1beta1 and before these are spec.rolloutAfter and spec.strategy.",
        "deletion": "In v1beta1 and before its order is spec.strategy.rollingUpdate.deletePolicy.",
        "remediation": "In v1beta1 and before this is spec.strategy.remediation.",
    },
}


def left_out(deployment: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the fields whose stored value stays if a manifest omits them.

    They are fields of a MachineDeployment that is not defaulted yet; as for a KubeadmControlPlane (defaults.py).
    """
    spec = deployment["spec"]
    after = (spec.get("rollout") or {}).get("after")
    given = {"spec.replicas": spec.get("replicas"), "spec.rollout.after": after}
    return tuple(path for path, value in given.items() if value is None)


def default_deployment(deployment: Object) -> None:
    """Set the defaults of a MachineDeployment, in place.

    They are Cluster API's: replicas 1 or the autoscaler's least number, RollingUpdate with maxSurge 1 and maxUnavailable 0,
    the labels by which a deployment knows its machines, and `v` before the version.
    """
    metadata, spec = deployment["metadata"], deployment["spec"]
    cluster = str(spec.get("clusterName") or "")
    metadata["labels"] = {**(metadata.get("labels") or {}), kinds.LABEL_CLUSTER_NAME: cluster}
    if spec.get("replicas") is None:
        spec["replicas"] = _least(metadata.get("annotations") or {})
    strategy = spec.setdefault("rollout", {}).setdefault("strategy", {})
    strategy.setdefault("type", ROLLING_UPDATE)
    if strategy["type"] == ROLLING_UPDATE:
        rolling = strategy.setdefault("rollingUpdate", {})
        rolling.setdefault("maxSurge", 1)
        rolling.setdefault("maxUnavailable", 0)
    template = spec.setdefault("template", {})
    labels = template.setdefault("metadata", {}).setdefault("labels", {})
    selector = spec.setdefault("selector", {})
    if object_selector.is_empty(selector):
        own = names.label_value(str(metadata["name"]))
        selector["matchLabels"] = {kinds.LABEL_DEPLOYMENT_NAME: own}
        labels[kinds.LABEL_DEPLOYMENT_NAME] = own
    selector["matchLabels"] = {**(selector.get("matchLabels") or {}), kinds.LABEL_CLUSTER_NAME: cluster}
    labels[kinds.LABEL_CLUSTER_NAME] = cluster
    machine = template.setdefault("spec", {})
    if isinstance(machine.get("version"), str):
        machine["version"] = with_v(machine["version"])


def _least(annotations: Mapping[str, Any]) -> int:
    """Return the number of replicas where none is given.

    Both annotations of the autoscaler have to be there, as in Cluster API.
    """
    least, most = (
        str(annotations.get(key) or "") for key in (kinds.ANNOTATION_AUTOSCALER_LEAST, kinds.ANNOTATION_AUTOSCALER_MOST)
    )
    both = all(each.isascii() and each.isdecimal() and len(each) < 6 for each in (least, most))
    return int(least) if both else 1
