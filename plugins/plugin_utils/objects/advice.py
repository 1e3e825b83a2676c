# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Advice for the user, with either kind of store.

It states which playbook to run, or which object to edit and where it is.

All advice to annotate or to edit an object is made here, so that no user with a store of files is sent to kubectl.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..documents.names import typed_name
from . import kinds

_KUBECTL = {kinds.KUBEADM_CONTROL_PLANE: "kcp"}
# The remedy for a certificate authority that has ended: no Action mends that.
AUTHORITY_ENDED = (
    "Give every machine and the store a valid one with the same key (the Action rotateCertificateAuthorities replaces one only before it ends), "
    "then run the Action renewCertificates."
)
# The remedy for a kubeadm-config that is missing. Defaults would end every refusal, and the next machine would be another cluster's.
RESTORE_KUBEADM_CONFIG = (
    "On a control plane machine run kubeadm init phase upload-config kubeadm --config FILE, FILE with the configuration that the cluster runs with "
    '(docs/workload.md, "A kubeadm-config that was deleted"). Without --config kubeadm would upload its own defaults.'
)
_IN_A_MANIFEST = "in its manifest, or with kubectl where no manifest names the cluster"


def replace(*machines: str) -> str:
    """Return the advice to replace machines, in parentheses.

    Thus a full stop after it is part of no name. Another namespace's cluster may have machines of these names.
    """
    return f"(playbook remediate with --limit CLUSTER -e control_plane_machines={','.join(map(typed_name, machines))})"


def delete(*metadata: Mapping[str, Any]) -> str:
    """Return the advice to mark Machines of one namespace for deletion.

    Without --wait=false, kubectl waits for a run that removes them.
    """
    names = " ".join(typed_name(str(each["name"])) for each in metadata)
    namespace = typed_name(str(metadata[0].get("namespace")), "NAMESPACE")
    return (
        f"kubectl delete machine {names} -n {namespace} --wait=false; in a store of files, "
        f"the module kubeadm.control_plane.machine with namespace={namespace} and state=absent"
    )


def annotate(kind: str, key: str, value: str = "true") -> str:
    """Return the advice to set an annotation of a Cluster or KubeadmControlPlane.

    A manifest can have both.
    """
    return f'set the annotation {key}: "{value}" on the {kind} ({_IN_A_MANIFEST})'


def unannotate(kind: str, key: str) -> str:
    """Return the advice to remove such an annotation."""
    return f"take the annotation {key} off the {kind} ({_IN_A_MANIFEST})"


def correct_annotation(kind: str, key: str) -> str:
    """Return the advice to correct such an annotation."""
    return f"correct the annotation {key} on the {kind} ({_IN_A_MANIFEST})"


def edit(kind: str, metadata: Mapping[str, Any]) -> str:
    """Return the advice to edit a stored object that no manifest holds.

    It reads "kubectl edit machine NAME -n NAMESPACE; in a store of files …".
    """
    group = kinds.group(kinds.api_version(kind))
    name, namespace = (typed_name(str(metadata.get(each)), each.upper()) for each in ("name", "namespace"))
    word = _KUBECTL.get(kind, kind.lower())
    return f"kubectl edit {word} {name} -n {namespace}; in a store of files, {namespace}/{kind.lower()}.{group}/{name}.yaml"
