# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""MachineSets of MachineDeployments: made, and changed in place.

Source: Cluster API's computeDesiredMS (docs/reference/cluster_api.md, "MachineDeployments").
"""

from __future__ import annotations

import copy
import functools

from ....module_utils.common.values import clip, controller_of, format_time, parse_time
from ...calls.failure import ControlPlaneFailure
from ...documents import names
from ...objects import kinds
from ...objects.workers.template_hash import COMPARED, free_name
from ...pki.secrets import controller_reference
from ..cluster_objects import CLUSTER_LABEL, FINALIZERS, MACHINE_SET, ClusterObjects, Object


def ensure_set(objects: ClusterObjects, deployment: Object, name: str) -> Object:
    """Return a deployment's MachineSet of that name; a missing one is made.

    One that is not found as the deployment's is refused: its machines would be missing again in each pass, without end.
    """
    stored = objects.store.get(MACHINE_SET, objects.namespace, name)
    if stored is not None:
        own, other = deployment["metadata"]["name"], (stored["metadata"].get("labels") or {}).get(CLUSTER_LABEL)
        owner = controller_of(stored) or {}
        if (other, owner.get("kind"), owner.get("name")) != (objects.name, kinds.MACHINE_DEPLOYMENT, own):
            controller = f"{owner.get('kind')} {owner.get('name')}" if owner else "none"
            raise ControlPlaneFailure(
                f"{kinds.label_of(stored)} is not of the MachineDeployment {own} of the cluster {objects.name} (label {CLUSTER_LABEL}: "
                f"{clip(other, 80) or 'none'}; controller: {clip(controller, 80)}); no worker was made of it. Where it is another's, give the "
                "MachineDeployment another name. Otherwise set the label, and its controller in metadata.ownerReferences."
            )
        return stored
    labels = _labels(objects.name, deployment, name.rpartition("-")[2])
    made = {
        "apiVersion": kinds.API_CLUSTER,
        "kind": kinds.MACHINE_SET,
        "metadata": {
            "name": name,
            "namespace": objects.namespace,
            "labels": labels,
            **_made_for(objects, deployment, name),
            "ownerReferences": [controller_reference(deployment, kinds.MACHINE_DEPLOYMENT)],
            "finalizers": [FINALIZERS[MACHINE_SET]],
        },
        "spec": {
            "clusterName": objects.name,
            "replicas": 0,
            "selector": {"matchLabels": labels},
            "template": copy.deepcopy(deployment["spec"]["template"]),
        },
        "status": {},
    }
    return objects.store.create(_brought(made, deployment))


def _made_for(objects: ClusterObjects, deployment: Object, name: str) -> Object:
    """Return the annotation with the rollout that a MachineSet is made for.

    {} where it is made for none. Its name says it only until an Action upgrades its machines in place.
    """
    after = parse_time((deployment["spec"].get("rollout") or {}).get("after"))
    if after is None:
        return {}
    stored = objects.store.list(MACHINE_SET, objects.namespace, {CLUSTER_LABEL: objects.name})
    taken = {str(each["metadata"]["name"]): each["spec"].get("template") or {} for each in stored}
    template, own = deployment["spec"]["template"], str(deployment["metadata"]["name"])
    made = name == free_name(own, template, taken, after)
    return {"annotations": {kinds.ANNOTATION_MADE_FOR_ROLLOUT: format_time(after)}} if made else {}


def propagate_to_set(objects: ClusterObjects, deployment: Object, stored: Object) -> Object:
    """Return a MachineSet, changed in place as its deployment has it.

    What machines have to be made again for stays as it is.
    """
    if _brought(copy.deepcopy(stored), deployment) == stored:
        return stored
    bring = functools.partial(_brought, deployment=deployment)
    return objects.store.modify(MACHINE_SET, objects.namespace, str(stored["metadata"]["name"]), bring)


def _labels(cluster: str, deployment: Object, digest: str) -> Object:
    return {
        CLUSTER_LABEL: cluster,
        kinds.LABEL_DEPLOYMENT_NAME: names.label_value(str(deployment["metadata"]["name"])),
        kinds.LABEL_TEMPLATE_HASH: digest,
    }


def _brought(owned: Object, deployment: Object) -> Object:
    """Return a MachineSet with the fields of its deployment set in place."""
    spec, wanted = owned["spec"], deployment["spec"]
    template, former = copy.deepcopy(wanted["template"]), spec["template"]["spec"]
    template["spec"] = {
        **{key: value for key, value in (template.get("spec") or {}).items() if key not in COMPARED},
        **{key: value for key, value in former.items() if key in COMPARED},
        "clusterName": spec["clusterName"],
    }
    digest = str((owned["metadata"].get("labels") or {}).get(kinds.LABEL_TEMPLATE_HASH, ""))
    metadata = template.get("metadata") or {}
    own = _labels(str(spec["clusterName"]), deployment, digest)
    template["metadata"] = {**metadata, "labels": {**(metadata.get("labels") or {}), **own}}
    spec["template"] = template
    for key in ("deletion", "machineNaming"):
        spec.pop(key, None)
        if wanted.get(key):
            spec[key] = copy.deepcopy(wanted[key])
    return owned
