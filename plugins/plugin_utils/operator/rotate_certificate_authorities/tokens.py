# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Move of all service account tokens to a new key.

It must be complete before the old key is removed.

Source: docs/reference/kubeadm.md, "Authorities".
"""

from __future__ import annotations

import typing as t

from ....module_utils.common import settings
from ....module_utils.workload_api.api import ADMIN_KUBECONFIG
from ...kubeadm.certificate_files import SERVICE_ACCOUNT
from ...pki import reissue
from ..tasks.context import CommandFailure, Run, TaskContext
from . import materials as authority_materials
from . import node_authorities as rotation_nodes
from .commands import WORKLOADS_OF_KUBEADM
from .materials import Materials
from .plan import ADDONS, NONE
from .stages import NEW

TOKENS = "service_account_tokens"
RESTARTABLE = ("daemonset", "deployment", "statefulset")
KEPT = (
    "the old service account key was kept, for its tokens are in use still. Restart these pods (for a network plugin's file, the plugin's), such "
    "as by kubectl rollout restart, then retry"
)
SHOWN = 10

Parameters = t.Mapping[str, t.Any]


def renew_tokens(ctx: TaskContext, parameters: Parameters) -> None:
    """Give service accounts with token Secrets a token of the new key."""
    del parameters
    materials = authority_materials.need(ctx, (SERVICE_ACCOUNT,))
    _renew(ctx, new_key_id(materials))


def _renew(ctx: TaskContext, identity: str) -> list[str]:
    """Renew the token Secrets; return those mounted with an old token."""
    ctx.check_lock()
    call = {
        "state": "renewed",
        "key_ids": [identity],
        "timeout": settings.ROTATION_RENEWAL_SECONDS,
        "fencing": ctx.fencing,
    }
    done = ctx.call(TOKENS, call)
    renewed, mounted = list(done["renewed"]), list(done["mounted"])
    if renewed:
        ctx.note(
            f"{len(renewed)} Secrets have a token of the new key: {listed(renewed)}. Whoever uses one of them outside of the cluster needs the new one"
        )
    if mounted:
        ctx.note(
            f"{len(mounted)} Secrets are mounted and keep their token; another one is there for pods to come: {listed(mounted)}"
        )
    if not renewed and not mounted:
        ctx.note("already renewed: no Secret has a token of the old key")
    return mounted


def restart_workloads(ctx: TaskContext, parameters: Parameters) -> None:
    """Restart the workloads whose pods have a token of the old key.

    They are kubeadm's own ones, all of them, or none. kubeadm's own are restarted as well where they have the old CA alone.
    """
    whose = parameters["workloads"]
    if whose == NONE:
        ctx.note("no workload is restarted")
        return
    materials = authority_materials.need(ctx, (SERVICE_ACCOUNT,))
    old, _young = tokens(ctx, new_key_id(materials))
    # A bound token is replaced in the volume of the pod that has it.
    owners = sorted({(each["namespace"], each["owner"]) for each in old if each["owner"] and each["mounts_secret"]})
    if whose == ADDONS:
        owners = [each for each in owners if _is_kubeadms(*each)]
    owners = sorted({*owners, *_addons_with_old_authority(ctx, materials)})
    if not owners:
        ctx.note("no workload has to be restarted")
    ctx.check_lock()
    for namespace, owner in owners:
        kind, _slash, name = owner.partition("/")
        if kind not in RESTARTABLE:
            ctx.note(f"{namespace}/{owner} can't be restarted by kubectl: restart its pods yourself")
            continue
        words = ["kubectl", "--kubeconfig", ADMIN_KUBECONFIG, "--namespace", namespace, "rollout"]
        ctx.run([*words, "restart", owner], step=f"restart-{namespace}-{kind}-{name}", timeout_seconds=60)
        bound = f"--timeout={settings.ROTATION_ROLLOUT_SECONDS}s"
        waited = settings.ROTATION_ROLLOUT_SECONDS + 30
        ctx.run([*words, "status", owner, bound], step=f"await-{namespace}-{kind}-{name}", timeout_seconds=waited)


def _is_kubeadms(namespace: str, owner: str) -> bool:
    return namespace == "kube-system" and owner in WORKLOADS_OF_KUBEADM


def _addons_with_old_authority(ctx: TaskContext, materials: Materials) -> set[tuple[str, str]]:
    """Return kubeadm's add-ons that run since before the new CA was published.

    They would keep the link in the API servers' files, with which kubeadm neither renews nor upgrades.
    """
    if not materials.published_at:
        return set()
    pods = pods_since_before(ctx, materials.published_at)
    found = {(str(each["namespace"]), str(each["owner"])) for each in pods}
    return {each for each in found if _is_kubeadms(*each)}


def pods_since_before(ctx: TaskContext, published_at: str) -> list[dict[str, t.Any]]:
    """Return the pods that run since before the new CA was published (RFC 3339, UTC)."""
    pods = ctx.call(TOKENS, {"pods_before": authority_materials.later(published_at)})["pods"]
    return [each for each in pods if each["started_at"]]


def wait_tokens(ctx: TaskContext, parameters: Parameters) -> None:
    """Wait until no pod has a token of the old key.

    Each pod must also have had its new one for long enough to use it.
    """
    materials = authority_materials.need(ctx, (SERVICE_ACCOUNT,))
    identity = new_key_id(materials)
    waiting = ctx.plugin.waiting(ctx.cluster, float(parameters["timeoutSeconds"]))
    seen = 0.0
    while True:
        old, young = tokens(ctx, identity)
        if old:
            seen = waiting.elapsed
        # A young token may have taken an old one's place just now; bound ones of many pods are replaced all the time.
        elif not young or waiting.elapsed - seen >= settings.ROTATION_TOKEN_USED_SECONDS:
            break
        names = [each["text"] for each in old]
        text = (
            f"a token of the old key is in {len(old)} places: {listed(names)}"
            if old
            else "new tokens were not taken up yet"
        )
        if not waiting.again(text, 5.0):
            fail([f"{each} has a token of the old key" for each in names], KEPT)
            raise CommandFailure(
                f"pods have had their new tokens for less than {settings.ROTATION_TOKEN_USED_SECONDS} s; the old service account key was kept. Retry."
            )
    still = _renew(ctx, identity)
    fail([f"a pod mounts the Secret {each}, which has a token of the old key" for each in still], KEPT)
    ctx.note("no pod has a token of the old key")


def tokens(ctx: TaskContext, identity: str) -> tuple[list[dict[str, t.Any]], bool]:
    """Return the holders of old tokens, and whether there are young tokens.

    A holder's ``text`` names a pod or a network plugin's file, and its node. A token is young that its holder got only
    just now.
    """
    found = look(ctx)
    old = {each["uid"]: name for name, own in found.items() for each in own["volumes"] if each["key_id"] != identity}
    young = any(each["age"] < settings.ROTATION_TOKEN_USED_SECONDS for own in found.values() for each in own["volumes"])
    holders = [
        {"text": plugin_file(each, name), "namespace": "", "owner": "", "mounts_secret": False}
        for name, own in found.items()
        for each in own["kubeconfigs"]
        if set(each["key_ids"]) - {identity}
    ]
    if not old:
        return holders, young
    # What a pod that is gone for good has left in the kubelet's folder is nobody's.
    pods = ctx.call(TOKENS, {"pods_before": "9999-12-31T23:59:59Z"})["pods"]
    own = [
        {**each, "text": f"{each['namespace']}/{each['name']} on {old[each['uid']]}"}
        for each in pods
        if each["uid"] in old
    ]
    return [*own, *holders], young


def look(ctx: TaskContext) -> dict[str, dict[str, t.Any]]:
    """Return the tokens and network plugins' kubeconfigs by Node.

    The tokens are those in the volumes of the Node's pods.
    """
    nodes, _strangers = rotation_nodes.members(ctx)
    return {node.name: ctx.call(TOKENS, {"api": False, "volumes": True}, node.name) for node in nodes}


def plugin_file(file: t.Mapping[str, t.Any], node: str) -> str:
    """Return the text that names a network plugin's kubeconfig."""
    return f"the network plugin's file {file['path']} on {node}"


def new_key_id(materials: Materials) -> str:
    """Return the new service account key's ID, as tokens name it."""
    return reissue.key_id(materials.pair(SERVICE_ACCOUNT, NEW).crt)


def fail(problems: t.Sequence[str], what: str) -> None:
    """Raise CommandFailure where there are problems."""
    if problems:
        more = f"; and {len(problems) - SHOWN} more" if len(problems) > SHOWN else ""
        raise CommandFailure(f"{what}: {'; '.join(problems[:SHOWN])}{more}. Mend these, then retry.")


def listed(names: t.Sequence[str]) -> str:
    """Return the first of these names as text, with the others' count."""
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more


REGISTRY: dict[str, Run] = {
    "renewServiceAccountTokens": renew_tokens,
    "restartWorkloads": restart_workloads,
    "waitServiceAccountTokens": wait_tokens,
}
