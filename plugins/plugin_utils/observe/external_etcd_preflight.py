# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Preflight check of an external etcd, on the machine before kubeadm runs."""

from __future__ import annotations

import typing as t

from ...module_utils.common import kubernetes_facts
from ...module_utils.common.kubernetes_versions import read_version
from ..calls.failure import ControlPlaneFailure
from ..calls.machine_connection import Answer
from ..decision.creation.existing_hosts import EXTERNAL_ETCD_UNUSABLE
from ..decision.removal import deleted_control_plane
from ..objects import advice, kinds
from ..pki.secrets import ETCD_CLIENT, read_pair, secret_name
from ..records.cluster_objects import CONTROL_PLANE, ClusterObjects, Object
from .observation import Caller

MODULE = "external_etcd_info"
BEGAN = kinds.ANNOTATION_EXTERNAL_ETCD_BEGAN
_FIX = "Nothing was started on the machine. Then run reconcile again."


class Ask(t.Protocol):
    """Call of a module on the machine or on its future host."""

    def __call__(self, module: str, call: dict[str, t.Any]) -> Answer: ...


def require(objects: ClusterObjects, caller: Caller, name: str, first: bool) -> None:
    """Refuse an external etcd that is unusable or holds other data.

    Unusable: kubeadm would fail on this machine. Other data: the first machine would overwrite it.

    Nothing where etcd runs on the control plane machines. ``first``: the machine is to run kubeadm init.
    """

    def ask(module: str, call: dict[str, t.Any]) -> Answer:
        return caller.call(objects.reach(name), module, call)

    version = str((objects.machine(name) or {}).get("spec", {}).get("version") or "")
    found = _problem(objects, ask, f"machine {name}", version, first)
    if found is not None:
        raise ControlPlaneFailure(" ".join(each for each in (f"{found.what}.", found.fix, _FIX) if each))
    if first and _external(objects) and not _began(objects):
        _note_begun(objects)


def take_over(objects: ClusterObjects) -> list[str]:
    """Note the deleted control plane's external etcd as the new one's.

    Returns the changes.
    To be called with the user's consent, before the record of the deletion goes. Nothing where the new one names another etcd.
    """
    if not _is_the_deleted_ones(objects) or _began(objects):
        return []
    _note_begun(objects)
    return ["note that the new control plane serves the data of the deleted one's external etcd"]


def obstacle(objects: ClusterObjects, ask: Ask, who: str) -> t.Optional[Object]:
    """Return what keeps the first machine from an external etcd, else None.

    Asked on a host that such a machine can be made of, before anything is made; ``who`` is what messages call it.
    """
    version = str(((objects.control_plane or {}).get("spec") or {}).get("version") or "")
    found = _problem(objects, ask, who, version, first=True)
    if found is None:
        return None
    return {"reason": EXTERNAL_ETCD_UNUSABLE, "message": found.what, "fix": f"{found.fix} Nothing was changed.".strip()}


def _is_the_deleted_ones(objects: ClusterObjects) -> bool:
    return deleted_control_plane.keeps_its_etcd(objects.cluster, objects.control_plane or {})


class _Problem(t.NamedTuple):
    what: str
    fix: str


def _external(objects: ClusterObjects) -> t.Optional[deleted_control_plane.ExternalEtcd]:
    return deleted_control_plane.external_etcd(objects.control_plane or {})


def _began(objects: ClusterObjects) -> bool:
    return kinds.is_flagged(objects.control_plane, BEGAN)


def _problem(objects: ClusterObjects, ask: Ask, who: str, version: str, first: bool) -> t.Optional[_Problem]:
    external = _external(objects)
    if external is None:
        return None
    answer = ask(MODULE, _question(objects, external))
    if answer.failed:
        return _Problem(f"{who} could not ask the external etcd: {answer.message}", "")
    etcd = answer.result["etcd"]
    if not etcd["reachable"]:
        return _Problem(
            f"{who} can't use the external etcd: {etcd['message']}. kubeadm would refuse it, and kube-apiserver would not start",
            f"Put that right (the endpoint, the Secrets {secret_name(objects.cluster, kinds.PURPOSE_ETCD)} and "
            f"{secret_name(objects.cluster, ETCD_CLIENT)}, the way from the machine to it), or take the endpoint out of etcd.external.",
        )
    older = _older_than_wanted(version, etcd)
    if older:
        return _Problem(f"{who} can't use the external etcd: {older}", "Upgrade that etcd.")
    keys = answer.result.get("key_count")
    # Without consent no first machine is made either.
    if first and keys and not _began(objects) and not _is_the_deleted_ones(objects):
        name = (objects.control_plane or {})["metadata"]["name"]
        return _Problem(
            f"the external etcd of {objects.title} holds {keys} keys below {external.prefix}: a Kubernetes cluster's data, and nothing says that they are "
            f"of the KubeadmControlPlane {name}. kubeadm init would write a second cluster over another one's, and both would be lost",
            "Give the store that knows that cluster, or adopt it; for a new cluster give etcd a prefix of its own "
            "(clusterConfiguration.apiServer.extraArgs etcd-prefix). If they are the data of a control plane that was deleted, which this one is to "
            f"serve, {advice.annotate(kinds.KUBEADM_CONTROL_PLANE, BEGAN)}.",
        )
    return None


def _question(objects: ClusterObjects, external: deleted_control_plane.ExternalEtcd) -> dict[str, t.Any]:
    call: dict[str, t.Any] = {"endpoints": list(external.endpoints), "prefix": external.prefix}
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


def _older_than_wanted(version: str, etcd: Object) -> str:
    if read_version(version) is None:
        return ""
    oldest = kubernetes_facts.minimum_external_etcd(version)
    least = read_version(f"v{oldest}") if oldest else None
    for each in etcd["endpoints"]:
        found = read_version(f"v{each['version']}")
        if least is not None and found is not None and found < least:
            return f"{each['url']} is etcd {each['version']}, and kubeadm {version} wants {oldest} or newer"
    return ""


def _note_begun(objects: ClusterObjects) -> None:
    def began(stored: Object) -> None:
        stored["metadata"].setdefault("annotations", {})[BEGAN] = "true"

    name = str(t.cast(Object, objects.control_plane)["metadata"]["name"])
    objects.control_plane = objects.store.modify(CONTROL_PLANE, objects.namespace, name, began)
