# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Barriers of a rotation: reasons to refuse a stage on a node.

They are what the other nodes, the cluster and its pods would lose by it.

Source: docs/reference/kubeadm.md, "Authorities".
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import typing as t

from ....module_utils.node.certificates.service_account_tokens import fingerprints
from ....module_utils.workload_api.compare_and_swap import Read
from ...kubeadm.certificate_files import CA, KUBERNETES, SERVICE_ACCOUNT
from ...workload.writes import Plan
from ..matching import NodeNow
from ..tasks.context import TaskContext
from . import node_authorities as rotation_nodes
from . import tokens
from .materials import Materials, later
from .one_node import NodeCertificates
from .stages import DROP, ISSUE, NEW, OLD, TRUST, concerns

# What is verified by a caBundle of its own, and where that is.
_BUNDLES = {
    "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations": "items[].webhooks[].clientConfig.caBundle",
    "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations": "items[].webhooks[].clientConfig.caBundle",
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions": "items[].spec.conversion.webhook.clientConfig.caBundle",
    "/apis/apiregistration.k8s.io/v1/apiservices": "items[].spec.caBundle",
}


def before(
    ctx: TaskContext, own: NodeCertificates, materials: Materials, authorities: t.Collection[str], stage: str
) -> list[str]:
    """Return the reasons why a stage may not start on this node.

    A control plane node asks all the others, whatever Tasks were skipped before.
    """
    if stage == TRUST:
        return []
    # Of this node, what a killed run has done of this stage doesn't count against it.
    problems = own.unissued(authorities) if stage == DROP else own.problems(TRUST, authorities, running=False)
    if CA in authorities and not materials.published_at:
        problems.append("the new authorities were not published to pods and to those who join")
    if not ctx.node.control_plane:
        return problems
    others, strangers = rotation_nodes.members(ctx)
    # With everything written this node was asked this before, and its own API server may be what a killed run has stopped.
    if own.problems(stage, authorities, running=False):
        problems += _unplanned(strangers, authorities)
        if stage == DROP:
            problems += _mounted(ctx, materials, authorities)
            problems += _plugins(ctx, materials) if CA in authorities else []
    for each in others:
        if each.name == ctx.node.name or not (each.control_plane or CA in authorities):
            continue
        node = rotation_nodes.look(ctx, each, materials, authorities)
        if stage == ISSUE or node.problems(DROP, authorities):
            problems += node.problems(TRUST if stage == ISSUE else ISSUE, authorities)
    if stage == DROP and SERVICE_ACCOUNT in authorities:
        old, _young = tokens.tokens(ctx, tokens.new_key_id(materials))
        problems += [f"{each['text']} has a token of the old key" for each in old]
    return problems


def _unplanned(nodes: t.Iterable[NodeNow], authorities: t.Collection[str]) -> list[str]:
    return [
        f"Node {each.name} has come since the plan was made, and may know the old authorities alone: abort this Action and make "
        "another one with the same authorities, which takes them up on every Node"
        for each in nodes
        if concerns(each.control_plane, authorities)
    ]


def mounting(ctx: TaskContext) -> list[dict[str, t.Any]]:
    """Return the pods that mount kubeadm's files from their node.

    kubeadm's own pods are not among them.
    """
    found: list[dict[str, t.Any]] = ctx.call(
        tokens.TOKENS, {"mounting": sorted({KUBERNETES, rotation_nodes.folder(ctx)})}
    )["mounting"]
    return found


def _plugins(ctx: TaskContext, materials: Materials) -> list[str]:
    """Return the network plugins' files that trust the old authority alone.

    Once that authority is removed, no pod would start any more.
    """
    old, new = materials.fingerprints(CA, (OLD,)), materials.fingerprints(CA, (NEW,))
    return [
        f"{tokens.plugin_file(each, name)} has the old authority alone: restart the plugin's pods, then retry"
        for name, own in tokens.look(ctx).items()
        for each in own["kubeconfigs"]
        if old & set(each["authorities"]) and not new & set(each["authorities"])
    ]


def bundles(ctx: TaskContext, materials: Materials) -> list[str]:
    """Return the webhooks and APIServices verified by the old cluster authority.

    Each is named as kubectl names it.
    """
    old = materials.fingerprints(CA, (OLD,))

    def listed(found: t.Mapping[str, t.Any]) -> Plan:
        names = [
            f"{path.rpartition('/')[2]}/{item['metadata']['name']}"
            for path in _BUNDLES
            for item in (found[path] or {}).get("items") or []
            if any(old & set(fingerprints(text)) for text in _texts(item))
        ]
        return Plan("the webhooks and APIServices were listed", facts={"names": names})

    reads = [Read(path, ("items[].metadata.name", keep)) for path, keep in _BUNDLES.items()]
    names: list[str] = ctx.workload(reads, listed)["names"]
    return names


def _texts(value: t.Any) -> t.Iterator[str]:
    """Yield every caBundle in an object, as PEM."""
    if isinstance(value, dict):
        for name, each in value.items():
            if name == "caBundle":
                with contextlib.suppress(ValueError, binascii.Error):
                    yield base64.b64decode(str(each)).decode()
            else:
                yield from _texts(each)
    elif isinstance(value, list):
        for each in value:
            yield from _texts(each)


def _mounted(ctx: TaskContext, materials: Materials, authorities: t.Collection[str]) -> list[str]:
    """Return the pods that may have the old certificates in memory.

    An example is a load balancer's with admin.conf: only this collection's kube-vip is restarted for a changed file.
    """
    if set(authorities) == {SERVICE_ACCOUNT}:
        return []
    begun = later(materials.issued_at or ctx.now())
    return [
        f"{each['namespace']}/{each['name']} on {each['node']} has {each['path']} mounted and runs since before its new "
        "certificates were there: restart it, then retry"
        for each in mounting(ctx)
        if each["started_at"] and each["started_at"] < begun
    ]
