# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Objects of one worker: infrastructure machine, KubeadmConfig, Machine, created in this order.

As a control plane machine's (machine_objects.py), from the templates that its MachineSet names.
"""

from __future__ import annotations

import copy
import typing as t

from ...calls.failure import ControlPlaneFailure
from ...documents import names
from ...objects import kinds
from ...pki.secrets import controller_reference
from .. import machine_objects, propagation
from ..cluster_objects import (
    CLUSTER_LABEL,
    MACHINE_DEPLOYMENT,
    ClusterObjects,
    Object,
    kind_of,
)
from . import managed
from .machine_sets import ensure_set


def create_worker(
    objects: ClusterObjects, entry: t.Mapping[str, t.Any], finish: t.Callable[[Object], object] = lambda _machine: None
) -> str:
    """Create one worker's missing objects, and return its name.

    `entry` is one of the target's ``workers``; `finish` is given a new Machine to change before it is stored. A run that was killed in between leaves what
    a later one completes: the Machine is made last, and its objects go by its name.
    """
    deployment = objects.store.get(MACHINE_DEPLOYMENT, objects.namespace, entry["deployment"])
    if deployment is None:
        raise ControlPlaneFailure(
            f"the store has no MachineDeployment {objects.namespace}/{entry['deployment']} any more; no worker was made. Run reconcile again."
        )
    owned = ensure_set(objects, deployment, str(entry["machineSet"]))
    name = str(entry["machine"] or entry.get("name") or new_name(objects, deployment, owned))
    if name not in objects.infrastructure_machines:
        objects.infrastructure_machines[name] = objects.store.create(
            infrastructure_machine(objects, owned, name, entry)
        )
    if name not in objects.kubeadm_configs:
        objects.kubeadm_configs[name] = objects.store.create(kubeadm_config(objects, owned, name))
    if objects.machine(name) is None:
        made = machine_object(objects, owned, name, entry)
        finish(made)
        objects.workers.append(objects.store.create(made))
    return name


def new_name(
    objects: ClusterObjects, deployment: Object, owned: Object, suffix: t.Callable[[], str] = names.random_suffix
) -> str:
    """Return a worker's name that no object of the cluster has."""
    template = str((deployment["spec"].get("machineNaming") or {}).get("template") or "")
    own = str(owned["metadata"]["name"])
    return machine_objects.free_name(objects, lambda: names.worker_name(template, objects.name, own, suffix()))


def _metadata(objects: ClusterObjects, owned: Object, name: str) -> Object:
    given = owned["metadata"].get("labels") or {}
    kept = (CLUSTER_LABEL, kinds.LABEL_DEPLOYMENT_NAME, kinds.LABEL_TEMPLATE_HASH)
    labels = {key: given[key] for key in kept if key in given}
    set_name = str(owned["metadata"]["name"])
    return {
        "name": name,
        "namespace": objects.namespace,
        "labels": {**labels, CLUSTER_LABEL: objects.name, kinds.LABEL_SET_NAME: names.label_value(set_name)},
        "annotations": {},
        "ownerReferences": [controller_reference(owned, kinds.MACHINE_SET)],
    }


def _named(objects: ClusterObjects, reference: Object) -> Object:
    found = objects.store.get(kind_of(reference), objects.namespace, reference["name"])
    if found is None:
        raise ControlPlaneFailure(
            f"the store has no {reference['kind']} {objects.namespace}/{reference['name']}; no worker was made of it. Add it to the manifest."
        )
    return found


def infrastructure_machine(objects: ClusterObjects, owned: Object, name: str, entry: t.Mapping[str, t.Any]) -> Object:
    """Return a new infrastructure machine of a MachineSet; it is not stored.

    `entry` has the ``failureDomain``, None for any.
    """
    reference = managed.machine_reference(owned)
    template = _named(objects, reference)
    domain = str(entry.get("failureDomain") or "")
    metadata, version = _metadata(objects, owned, name), _spec(owned)["version"]
    made = machine_objects.new_infrastructure_machine(template, reference, metadata, version, domain)
    return propagation.bring(made, owned["spec"]["template"])


def kubeadm_config(objects: ClusterObjects, owned: Object, name: str) -> Object:
    """Return a new KubeadmConfig of a MachineSet; it is not stored."""
    template = _named(objects, managed.config_reference(owned))
    spec = copy.deepcopy((template["spec"].get("template") or {}).get("spec") or {})
    kept = {key: value for key, value in spec.items() if key not in ("clusterConfiguration", "initConfiguration")}
    # Its presence says that the machine joins; without controlPlane it does as a worker.
    kept.setdefault("joinConfiguration", {}).pop("controlPlane", None)
    made = machine_objects.new_kubeadm_config(_metadata(objects, owned, name), kept)
    return propagation.bring(made, owned["spec"]["template"])


def machine_object(objects: ClusterObjects, owned: Object, name: str, entry: t.Mapping[str, t.Any]) -> Object:
    """Return a new Machine of a MachineSet, as :func:`infrastructure_machine`."""
    domain, version = str(entry.get("failureDomain") or ""), _spec(owned)["version"]
    reference, metadata = managed.machine_reference(owned), _metadata(objects, owned, name)
    made = machine_objects.new_machine(objects.name, reference, metadata, version, domain)
    return propagation.bring(made, owned["spec"]["template"])


def _spec(owned: Object) -> Object:
    spec: Object = owned["spec"]["template"]["spec"]
    return spec
