# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Is an external etcd fit for a machine that is about to become a control plane? Asked on that machine, before kubeadm runs."""

from __future__ import annotations

import typing as t

from ansible_collections.kubeadm.control_plane.plugins.module_utils.kubeadm import facts
from ansible_collections.kubeadm.control_plane.plugins.module_utils.kubeadm.versions import read_version
from ansible_collections.kubeadm.control_plane.plugins.module_utils.objects import kinds
from ansible_collections.kubeadm.control_plane.plugins.module_utils.pki.secrets import (
    ETCD_CLIENT,
    read_pair,
    secret_name,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.action_base import ControlPlaneFailure
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.cluster_objects import (
    CONTROL_PLANE,
    ClusterObjects,
    Object,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.observation import Caller

MODULE = "external_etcd_info"
# Says that this control plane's first machine was begun on that etcd: what is in it since then is its own.
BEGAN = kinds.ANNOTATION_PREFIX + "external-etcd-began"
_FIX = "Nothing was started on the machine. Then run reconcile again."


def require(objects: ClusterObjects, caller: Caller, name: str, first: bool) -> None:
    """Fail where kubeadm would on this machine, or where the first machine would write over somebody's data.

    Nothing where etcd runs on the control plane machines. ``first``: the machine is to run kubeadm init.
    """
    control_plane = objects.control_plane or {}
    configuration = ((control_plane.get("spec") or {}).get("kubeadmConfigSpec") or {}).get("clusterConfiguration") or {}
    external = (configuration.get("etcd") or {}).get("external")
    if not external:
        return
    prefix = _prefix(configuration)
    answer = caller.call(objects.reach(name), MODULE, _question(objects, external, prefix))
    if answer.failed:
        raise ControlPlaneFailure(f"machine {name} could not ask the external etcd: {answer.message}. {_FIX}")
    etcd = answer.result["etcd"]
    if not etcd["reachable"]:
        raise ControlPlaneFailure(
            f"machine {name} can't use the external etcd: {etcd['message']}. kubeadm would refuse it, and kube-apiserver would not start. "
            f"Put that right (the endpoint, the Secrets {secret_name(objects.cluster, kinds.PURPOSE_ETCD)} and "
            f"{secret_name(objects.cluster, ETCD_CLIENT)}, the way from the machine to it), or take the endpoint out of etcd.external. {_FIX}"
        )
    _require_version(objects, name, etcd)
    if first:
        _require_empty(objects, control_plane, answer.result.get("key_count"), prefix)


def _question(objects: ClusterObjects, external: Object, prefix: str) -> dict[str, t.Any]:
    call: dict[str, t.Any] = {"endpoints": list(external.get("endpoints") or []), "prefix": prefix}
    names = {}
    ca = read_pair(objects.store, objects.cluster, kinds.PURPOSE_ETCD)
    if ca is not None:
        call["ca"] = ca.crt
        names["ca"] = f"of Secret {secret_name(objects.cluster, kinds.PURPOSE_ETCD)}"
    client = read_pair(objects.store, objects.cluster, ETCD_CLIENT)
    if client is not None and client.key:
        call.update(certificate=client.crt, key=client.key)
        names["certificate"] = names["key"] = f"of Secret {secret_name(objects.cluster, ETCD_CLIENT)}"
    return {**call, "names": names}


def _prefix(configuration: Object) -> str:
    arguments = (configuration.get("apiServer") or {}).get("extraArgs") or []
    found = [str(each.get("value")) for each in arguments if each.get("name") == "etcd-prefix"]
    return found[-1] if found else "/registry"


def _require_version(objects: ClusterObjects, name: str, etcd: Object) -> None:
    wanted = str((objects.machine(name) or {}).get("spec", {}).get("version") or "")
    if read_version(wanted) is None:
        return
    oldest = facts.minimum_external_etcd(wanted)
    least = read_version(f"v{oldest}") if oldest else None
    for each in etcd["endpoints"]:
        found = read_version(f"v{each['version']}")
        if least is not None and found is not None and found < least:
            raise ControlPlaneFailure(
                f"machine {name} can't use the external etcd: {each['url']} is etcd {each['version']}, and kubeadm {wanted} wants {oldest} or "
                f"newer. Upgrade that etcd. {_FIX}"
            )


def _require_empty(objects: ClusterObjects, control_plane: Object, keys: t.Optional[int], prefix: str) -> None:
    annotations = control_plane["metadata"].get("annotations") or {}
    if BEGAN in annotations:
        return
    if keys:
        raise ControlPlaneFailure(
            f"the external etcd of {objects.title} holds {keys} keys below {prefix}: a Kubernetes cluster's data, and this store has never "
            "initialized one there. kubeadm init would write a second cluster over it, and both would be lost. Nothing was started. Give the "
            "store that knows that cluster, or adopt it; for a new cluster give etcd a prefix of its own "
            "(clusterConfiguration.apiServer.extraArgs etcd-prefix), or empty it if nobody needs what it holds."
        )

    def began(stored: Object) -> None:
        stored["metadata"].setdefault("annotations", {})[BEGAN] = "true"

    name = str(control_plane["metadata"]["name"])
    objects.control_plane = objects.store.modify(CONTROL_PLANE, objects.namespace, name, began)
