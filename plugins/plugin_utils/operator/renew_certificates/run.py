# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Functions that run the commands for renewal of certificates."""

from __future__ import annotations

import secrets
import string
import typing as t
from datetime import timedelta

from ....module_utils.common import kubernetes_facts, settings
from ....module_utils.common.violations import ManifestError
from ...kubeadm.configuration import for_version
from ...pki.certificates import PkiError
from ...pki.kubeconfig import ensure_kubeconfig
from ..tasks.context import CommandFailure, Run, TaskContext
from ..upgrade.run import once, remove_link, reread_kubeconfig, through_others
from .commands import ALL, API_SERVER, ETCD_CERTIFICATES, USERS

Parameters = t.Mapping[str, t.Any]

MODULE = "kubeadm_certificates"
# One that was made within the hour is new enough for the Action that asks for it: a second run makes no other.
FRESH = timedelta(days=365) - timedelta(hours=1)
_NOT_RENEWED = "can't be renewed"
# What kubeadm says, ending well, of a certificate that is not where it looks (cmd/kubeadm/app/cmd/certs.go, renewCert).
_MISSING, _OF_KUBECONFIG, _OF_ETCD = "MISSING! ", "kubeconfig", "etcd"


def configuration(context: TaskContext) -> str:
    """Return the cluster's ClusterConfiguration as text; "" where it is unknown.

    It is the text that the cluster keeps, else the one that the store would make.
    """
    known = str(context.plan_facts.get("clusterConfiguration") or "")
    if known:
        return known
    spec = ((context.objects.control_plane or {}).get("spec") or {}).get("kubeadmConfigSpec") or {}
    version = str(context.plan_facts.get("kubernetesVersion") or "")
    hub = {"clusterConfiguration": {**(spec.get("clusterConfiguration") or {}), "kubernetesVersion": version}}
    try:
        return for_version.write(hub, version, parts=("clusterConfiguration",)).text
    except (ManifestError, ValueError):
        return ""


def renew_certificates(context: TaskContext, parameters: Parameters) -> None:
    """Run `kubeadm certs renew` on a control plane Node.

    It reads a file instead of the API where that does not answer.
    """
    node = context.node.name
    flags, file = [], ""
    if parameters["offline"]:
        call = {"state": "prepared", "node_name": node, "configuration": configuration(context)}
        file = str(context.call(MODULE, {**call, "fencing": context.fencing})["configuration_file"])
        flags = [f"--config={file}"]
    version = str(context.plan_facts.get("kubernetesVersion") or "")
    certs = kubernetes_facts.certs_command(version) if version else ("certs",)
    context.check_lock()
    external, missing = [], []
    if {ALL, API_SERVER} & set(parameters["names"]):
        remove_link(context)
    for name in parameters["names"]:
        words = ["kubeadm", *certs, "renew", name, *flags]
        said = context.run(words, step=f"renew-{name}", timeout_seconds=settings.RENEWAL_SECONDS).text
        lines = [line.strip() for line in said.splitlines()]
        external += [line for line in lines if _NOT_RENEWED in line]
        missing += [line for line in lines if line.startswith(_MISSING) and _OF_KUBECONFIG not in line]
    if file:
        context.call("node_file", {"path": file, "state": "absent", "fencing": context.fencing})
    reread_kubeconfig(context)
    ends = context.call(MODULE, {})["certificates"]
    wanted = set(USERS if ALL in parameters["names"] else parameters["names"])
    if context.plan_facts.get("externalEtcd"):
        wanted -= set(ETCD_CERTIFICATES)
        missing = [line for line in missing if _OF_ETCD not in line]
    there = sorted(wanted & set(ends), key=lambda name: str(ends[name]))
    if there:
        context.note(f"{len(there)} certificates end {ends[there[0]]} or later")
    # RFC 3339 times in UTC with seconds sort as text.
    ended = [f"{name} has ended {ends[name]}" for name in there if ends[name] <= context.now()]
    # Kubeconfigs are in one folder always, and no node has to have each of them.
    if len(missing) > len([name for name in wanted - set(ends) if not name.endswith(".conf")]):
        raise CommandFailure(
            f"Node {node}: kubeadm looked for certificates in another folder than this node has them in, and renewed none of these: "
            f"{'; '.join(missing)}. It reads certificatesDir from the API, and takes its default where that does not answer: see that the "
            "API answers, then retry."
        )
    if external or ended:
        raise CommandFailure(
            f"Node {node}: not every certificate was renewed: {'; '.join(external or ended)}. Where the authority's key is not on the nodes, "
            "have these signed there (kubeadm certs renew --csr-only), put them in place, then skip; skip continues with the restarts."
        )


def renew_kubelet_client(context: TaskContext, parameters: Parameters) -> None:
    """Renew the kubelet's client certificate on a control plane Node.

    kubeadm issues it there.
    """
    del parameters
    context.check_lock()
    call = {
        "state": "renewed",
        "node_name": context.node.name,
        "configuration": configuration(context),
        "once": once(context),
        "fencing": context.fencing,
    }
    context.note(str(context.call(MODULE, call)["msg"]))


def bootstrap_kubelet(context: TaskContext, parameters: Parameters) -> None:
    """Renew a worker kubelet's client certificate with a bootstrap token.

    The token is deleted afterwards.
    """
    del parameters
    context.check_lock()
    alphabet = string.ascii_lowercase + string.digits
    identity, secret = ("".join(secrets.choice(alphabet) for _each in range(length)) for length in (6, 16))
    token = f"{identity}.{secret}"
    through_others(context, "bootstrap_token", {"token": token, "ttl": settings.BOOTSTRAP_TOKEN_SECONDS})
    try:
        call = {"state": "bootstrapped", "token": token, "once": once(context), "fencing": context.fencing}
        context.note(str(context.call(MODULE, call)["msg"]))
    finally:
        through_others(context, "bootstrap_token", {"state": "absent", "token_id": identity})


def renew_kubeconfig(context: TaskContext, parameters: Parameters) -> None:
    """Renew the store's own admin kubeconfig.

    A user's own is left unchanged, and a note states that.
    """
    del parameters
    objects = context.objects
    if objects.control_plane is None:
        raise CommandFailure(
            f"the store has no KubeadmControlPlane of {context.cluster}. Put it back (reconcile does), then retry."
        )
    try:
        done = ensure_kubeconfig(
            objects.store, objects.cluster, objects.control_plane, objects.endpoint(), context.now(), FRESH
        )
    except PkiError as error:
        raise CommandFailure(f"the kubeconfig could not be renewed: {error}") from error
    context.note(done.message)
    if done.state == "waiting":
        raise CommandFailure(f"{done.message}. Renew it where its authority's key is, then skip.")


REGISTRY: dict[str, Run] = {
    "kubeadmRenewCertificates": renew_certificates,
    "renewKubeletClientCertificate": renew_kubelet_client,
    "bootstrapKubeletAgain": bootstrap_kubelet,
    "renewKubeconfigSecret": renew_kubeconfig,
}
