# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Objects that publish authorities, in the cluster and in the store.

They are brought to each stage of a rotation.

Source: docs/reference/kubeadm.md, "Authorities".
"""

from __future__ import annotations

import typing as t

from ....module_utils.common import settings
from ....module_utils.workload_api.api import ADMIN_KUBECONFIG
from ....module_utils.workload_api.bootstrap_token import CLUSTER_INFO
from ....module_utils.workload_api.compare_and_swap import MERGE, Read, Write
from ...kubeadm.certificate_files import CA, FRONT_PROXY
from ...pki import certificates, kubeconfig_text, reissue, secrets
from ...workload.writes import Change, Objects, Plan, WorkloadError, resource_version
from ..tasks.context import CommandFailure, TaskContext
from . import materials as authority_materials
from . import node_authorities, tokens
from . import stages as rotation
from .materials import PURPOSES, Materials
from .stages import DROP, ISSUE, NEW, OLD, TRUST
from .tokens import TOKENS

AUTHENTICATION = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication"
CLIENT_CA, FRONT_CA = "client-ca-file", "requestheader-client-ca-file"
_FIELD = {CLIENT_CA: CA, FRONT_CA: FRONT_PROXY}
FRONT_PROXY_CLIENT = "front-proxy-client"
SHOWN = 10


def publish(ctx: TaskContext, materials: Materials, authorities: t.Collection[str], stage: str) -> None:
    """Bring the objects to a stage.

    Raises:
        CommandFailure: an object is not what it should be, or the control plane didn't do its part in time.
    """
    if stage == ISSUE:
        store_authorities(ctx, materials, authorities)
    if CA in authorities:
        _store_kubeconfig(ctx, materials, stage)
    if stage == ISSUE:
        _forget_uploaded(ctx)
        if not materials.issued_at:
            materials.issued_at = ctx.now()
            authority_materials.keep(ctx, materials)
        return
    if CA in authorities:
        said = ctx.workload([Read(CLUSTER_INFO, ("data",))], lambda found: cluster_info(found, materials, stage))
        ctx.note(str(said["msg"]))
    if {CA, FRONT_PROXY} & set(authorities):
        _await_authentication(ctx, materials, authorities, stage)
    if FRONT_PROXY in authorities and stage == TRUST:
        _await_aggregated(ctx, materials)
    if CA in authorities:
        _await_roots(ctx, materials, stage)
        if stage == TRUST and not materials.published_at:
            materials.published_at = ctx.now()
            authority_materials.keep(ctx, materials)


def cluster_info(objects: Objects, materials: Materials, stage: str) -> Plan:
    """Return the plan that writes a stage's authorities to cluster-info.

    Nodes that join find the cluster by it.
    """
    item = objects[CLUSTER_INFO]
    if item is None:
        return Plan("there is no ConfigMap kube-public/cluster-info: no machine joins by it")
    text = str((item.get("data") or {}).get("kubeconfig") or "")
    wanted = materials.bundle(CA, rotation.trusted(stage))
    have = kubeconfig_text.authorities(text)
    if reissue.fingerprints(have) == reissue.fingerprints(wanted):
        return Plan("cluster-info: already so")
    try:
        after = kubeconfig_text.with_authorities(text, wanted)
    except ValueError as error:
        raise WorkloadError(f"ConfigMap kube-public/cluster-info: {error}; nothing was written.") from error
    write = Write(CLUSTER_INFO, MERGE, {"data": {"kubeconfig": after}}, resource_version(item))
    change = Change("ConfigMap kube-public/cluster-info", text, after)
    return Plan("cluster-info was written", (write,), (change,))


def authentication(objects: Objects, materials: Materials, authorities: t.Collection[str], stage: str) -> Plan:
    """Return the plan for extension-apiserver-authentication at a stage.

    The fact ``done`` is whether it is as the stage requires. API servers add to it what they trust, and never remove
    anything from it: that is done here, when none of them adds it any more.
    """
    item = objects[AUTHENTICATION]
    if item is None:
        return Plan("there is no ConfigMap extension-apiserver-authentication", facts={"done": True})
    data = item.get("data") or {}
    document, done = {}, True
    for name, authority in _FIELD.items():
        if authority not in authorities or not data.get(name):
            continue
        held = reissue.fingerprints(str(data[name]))
        new = materials.fingerprints(authority, (NEW,))
        gone = materials.fingerprints(authority, (OLD,)) if stage == DROP else set()
        done = done and new <= set(held)
        if gone & set(held):
            document[name] = "".join(
                each for each in reissue.certificates_of(str(data[name])) if not set(reissue.fingerprints(each)) & gone
            )
    if not document or not done:
        return Plan("extension-apiserver-authentication", facts={"done": done})
    write = Write(AUTHENTICATION, MERGE, {"data": document}, resource_version(item))
    change = Change("ConfigMap kube-system/extension-apiserver-authentication", str(data), str({**data, **document}))
    return Plan("the old authorities were removed from it", (write,), (change,), facts={"done": done})


def _await_authentication(ctx: TaskContext, materials: Materials, authorities: t.Collection[str], stage: str) -> None:
    waiting = ctx.plugin.waiting(ctx.cluster, settings.ROTATION_PUBLISHED_SECONDS)
    read = Read(AUTHENTICATION, (f"data.{CLIENT_CA}", f"data.{FRONT_CA}"))
    while True:
        said = ctx.workload([read], lambda found: authentication(found, materials, authorities, stage))
        # What was taken out just now may be put back by an API server that was not restarted: it is looked at again.
        if said["done"] and not said["changed"]:
            ctx.note(f"extension-apiserver-authentication trusts {' and '.join(rotation.trusted(stage))}")
            return
        if not waiting.again("extension-apiserver-authentication has not got the new authorities yet"):
            raise CommandFailure(
                f"the ConfigMap kube-system/extension-apiserver-authentication does not have the authorities of the stage {stage} after "
                f"{settings.ROTATION_PUBLISHED_SECONDS:.0f} s. Every API server adds its own to it: look at their logs, then retry."
            )


def _await_aggregated(ctx: TaskContext, materials: Materials) -> None:
    """Wait until aggregated API servers accept the new front-proxy CA.

    They are all those behind these API servers that accept the front proxy now.
    """
    pair = certificates.new_client_certificate(
        materials.pair(FRONT_PROXY, NEW), FRONT_PROXY_CLIENT, [], ctx.now(), certificates.ALGORITHMS[3], days=1
    )
    question = {"front_proxy": {"certificate": pair.crt, "secret": pair.key}, "pki": node_authorities.folder(ctx)}
    waiting = ctx.plugin.waiting(ctx.cluster, settings.ROTATION_AGGREGATED_SECONDS)
    while True:
        known = ctx.call(node_authorities.MODULE, question)["aggregated"]
        answers = [each for each in known if _well(each["current"])]
        refused = [str(each["name"]) for each in answers if not _well(each["other"])]
        if not refused:
            if answers:
                ctx.note(
                    f"{len(answers)} API servers behind this one trust both: {tokens.listed([each['name'] for each in answers])}"
                )
            unseen = [str(each["name"]) for each in known if not each["verified"]]
            if unseen:
                ctx.note(
                    f"not asked, as their APIServices have insecureSkipTLSVerify: {tokens.listed(unseen)}. One that was built on Kubernetes "
                    "libraries before 1.17 has to be restarted now: it reads the front proxy's authorities only when it starts"
                )
            return
        if not waiting.again(f"{refused[0]} does not accept the new front proxy yet"):
            raise CommandFailure(
                f"these APIServices would refuse every request after the stage Issue: {tokens.listed(refused)}. The ConfigMap "
                "kube-system/extension-apiserver-authentication has the new front-proxy CA, but they don't accept a certificate of it: some read it "
                "only when they start. Restart their pods, then retry."
            )


def _well(status: int) -> bool:
    return 200 <= status < 300


def _await_roots(ctx: TaskContext, materials: Materials, stage: str) -> None:
    """Wait until the controller manager has published a stage's authorities.

    They are in every namespace's kube-root-ca.crt, and in every token's Secret.
    """
    wanted = materials.fingerprints(CA, rotation.trusted(stage))
    waiting = ctx.plugin.waiting(ctx.cluster, settings.ROTATION_PUBLISHED_SECONDS)
    while True:
        found = ctx.call(TOKENS, {})
        behind = [
            f"kube-root-ca.crt of {each['namespace']}" for each in found["roots"] if set(each["authorities"]) != wanted
        ]
        behind += [
            f"Secret {each['namespace']}/{each['name']}"
            for each in found["secrets"]
            if set(each["authorities"]) != wanted
        ]
        if not behind:
            count = f"{len(found['roots'])} namespaces and {len(found['secrets'])} Secrets"
            ctx.note(f"pods that start are given {' and '.join(rotation.trusted(stage))}: {count}")
            return
        if not waiting.again(f"the controller manager has not published the CA in {behind[0]} yet"):
            raise CommandFailure(
                f"these do not have the CA of the stage {stage} after {settings.ROTATION_PUBLISHED_SECONDS:.0f} s: {', '.join(behind[:SHOWN])}. The controller "
                "manager writes them: look at its logs, then retry."
            )


def store_authorities(ctx: TaskContext, materials: Materials, authorities: t.Collection[str]) -> None:
    """Write the new authorities to the store's Secrets.

    It is done when every node uses them: a machine that joins gets them.
    """
    for authority in authorities:
        pair = materials.pair(authority, NEW)
        name = secrets.secret_name(ctx.objects.cluster, PURPOSES[authority])
        data = {"tls.crt": pair.crt.encode(), "tls.key": str(pair.key).encode()}
        known = ctx.secret(name)
        if known == data:
            ctx.note(f"Secret {name}: already the new one")
            continue
        ctx.put_secret(name, {**(known or {}), **data})
        ctx.note(f"Secret {name} is the new one")


def _store_kubeconfig(ctx: TaskContext, materials: Materials, stage: str) -> None:
    """Bring the store's admin kubeconfig to a stage.

    It trusts what the stage trusts, and has a certificate of the authority that signs.
    """
    name = secrets.secret_name(ctx.objects.cluster, secrets.KUBECONFIG)
    secret = secrets.read_secret(ctx.objects.store, ctx.objects.cluster, secrets.KUBECONFIG)
    if secret is None:
        return
    if not secrets.is_controlled_by(secret, ctx.objects.control_plane or {"metadata": {"uid": None}}):
        ctx.note(
            f"the Secret {name} is the user's own and stays as it is: give it the authorities of the stage {stage} yourself"
        )
        return
    data = dict(ctx.secret(name) or {})
    text = data["value"].decode(errors="replace")
    trusts = materials.bundle(CA, rotation.trusted(stage))
    client = None
    certificate = kubeconfig_text.client_certificate(text) or ""
    if stage != TRUST and not reissue.issued_by(certificate, materials.pair(CA, NEW).crt):
        client = reissue.reissue(certificate, materials.pair(CA, NEW), ctx.now())
    if client is None and reissue.fingerprints(kubeconfig_text.authorities(text)) == reissue.fingerprints(trusts):
        ctx.note(f"Secret {name}: already so")
        return
    try:
        data["value"] = kubeconfig_text.changed(text, trusts, client).encode()
    except ValueError as error:
        raise CommandFailure(f"the Secret {name}: {error}; nothing was written. Correct it, then retry.") from error
    ctx.put_secret(name, data)
    ctx.note(
        f"Secret {name} trusts {' and '.join(rotation.trusted(stage))}{', with a new certificate' if client else ''}"
    )


def _forget_uploaded(ctx: TaskContext) -> None:
    """Delete the certificates that kubeadm uploaded for joins.

    They are the old ones.
    """
    words = [
        "kubectl",
        "--kubeconfig",
        ADMIN_KUBECONFIG,
        "--namespace",
        "kube-system",
        "delete",
        "secret",
        "kubeadm-certs",
    ]
    ctx.run([*words, "--ignore-not-found"], step="uploaded-certificates", timeout_seconds=60)


def find_stale(ctx: TaskContext, materials: Materials) -> None:
    """Record the pods that were started before the new CA was published.

    They have the old one alone in memory. This is done once for all nodes: what one API server shows them, the others
    have to.
    """
    if materials.stale_pods is not None:
        return
    pods = tokens.pods_since_before(ctx, materials.published_at or ctx.now())
    materials.stale_pods = [f"{each['namespace']}/{each['name']}" for each in pods]
    authority_materials.keep(ctx, materials)
    ctx.note(f"{len(pods)} pods run since before the new CA was published")
