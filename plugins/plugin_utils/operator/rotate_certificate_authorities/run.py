# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Functions that run the commands for rotation of authorities and keys.

Source: docs/reference/kubeadm.md, "Authorities".

Nothing here remembers its progress: each command asks the nodes and the cluster what is there, does what is left, and
reads it back.
"""

from __future__ import annotations

import typing as t

from ....module_utils.common import settings
from ...kubeadm.certificate_files import API_SERVER, CA, ETCD, ETCD_SERVER, SERVICE_ACCOUNT
from ...objects import origin
from ...objects.etcd_member import cluster_argument
from ...pki import certificates
from ...pki.certificates import PkiError
from ..planner_types import NodeFacts
from ..tasks.context import CommandFailure, Run, TaskContext
from ..upgrade.run import reread_kubeconfig
from . import barriers, node_authorities, one_node, published_authorities, tokens
from . import materials as authority_materials
from . import stages as rotation
from .materials import Materials
from .node_authorities import MODULE, folder, look
from .one_node import WrongLayout
from .stages import DROP, ISSUE, NEW, OLD
from .tokens import fail

# Who an old authority says that somebody is, to see whether he is let in; he may do nothing.
PROBE = "kubeadm-control-plane:rotation-probe"

Parameters = t.Mapping[str, t.Any]


def create(ctx: TaskContext, parameters: Parameters) -> None:
    """Make the new authorities once, after a check of every node.

    Every node must have the old ones where kubeadm puts them.
    """
    authorities = parameters["authorities"]
    materials = authority_materials.load(ctx)
    begun = materials is not None
    if materials is None:
        now = ctx.now()
        old = authority_materials.current(ctx, authorities, now)
        materials = authority_materials.create(ctx, old, now)
    elif set(materials.authorities) != set(authorities):
        raise CommandFailure(
            f"the Action {materials.action} has begun a rotation of {', '.join(materials.authorities)}, which is not over. Nothing was done. "
            "Make an Action that names exactly these authorities: it resumes the rotation."
        )
    problems: list[str] = []
    for node in node_authorities.members(ctx)[0]:
        if node.control_plane or CA in authorities:
            problems += look(ctx, node, materials, authorities).layout_problems(authorities)
    fail(problems, "no certificate authority was made, for these nodes can't be rotated")
    _name_what_is_by_hand(ctx, materials, authorities)
    if begun:
        ctx.note(f"already made at {materials.created_at} for the Action {materials.action}")
        return
    ctx.check_lock()
    authority_materials.keep(ctx, materials)
    ctx.note(f"made a new {', '.join(materials.authorities)}")


def _name_what_is_by_hand(ctx: TaskContext, materials: Materials, authorities: t.Collection[str]) -> None:
    """Note the pods and objects that only their owner can update."""
    if set(authorities) != {SERVICE_ACCOUNT}:
        pods = barriers.mounting(ctx)
        names = [f"{each['namespace']}/{each['name']} on {each['node']} ({each['path']})" for each in pods]
        if names:
            ctx.note(
                f"{len(names)} pods have files of kubeadm's mounted; restart them when issue-publish is over: {tokens.listed(names)}"
            )
    if CA in authorities:
        names = barriers.bundles(ctx, materials)
        if names:
            ctx.note(
                f"{len(names)} objects have the old CA in a caBundle; give them the new one as well before what they verify gets "
                f"another certificate: {tokens.listed(names)}"
            )


def _stage(stage: str) -> Run:
    def run(ctx: TaskContext, parameters: Parameters) -> None:
        authorities = parameters["authorities"]
        materials = authority_materials.need(ctx, authorities)
        asked = one_node.question(authorities, ctx.node.control_plane, folder(ctx))
        before = look(ctx, ctx.node, materials, authorities)
        waiting = ctx.plugin.waiting(ctx.cluster, settings.ROTATION_BARRIER_SECONDS)
        problems = barriers.before(ctx, before, materials, authorities, stage)
        # A server that is asked too much just now does not answer at once; what is wrong stays wrong.
        while problems and waiting.again(problems[0]):
            problems = barriers.before(ctx, before, materials, authorities, stage)
        fail(problems, f"the stage {stage} was not begun on this node")
        if stage == DROP and CA in authorities and ctx.node.control_plane:
            published_authorities.find_stale(ctx, materials)
        try:
            changes = before.changes(stage, authorities)
        except (WrongLayout, PkiError) as error:
            raise CommandFailure(f"{error}. Nothing was changed on this node. Correct it, then retry.") from error
        ctx.check_lock()
        call = {
            "changes": changes,
            "restart": True,
            "timeout": settings.ROTATION_RESTART_SECONDS,
            "fencing": ctx.fencing,
        }
        done = ctx.call(MODULE, {**asked, **call})
        gone = before.leftovers(stage, authorities)
        if gone:
            ctx.call(MODULE, {"changes": gone, "fencing": ctx.fencing})
        reread_kubeconfig(ctx)
        written, restarted = done["written"], done["restarted"]
        ctx.note(f"wrote {len(written)} files" if written else "already written")
        ctx.note(f"restarted {', '.join(restarted)}" if restarted else "already restarted")
        _prove_node(ctx, ctx.node, materials, authorities, stage)

    return run


def _prove_node(
    ctx: TaskContext, node: NodeFacts, materials: Materials, authorities: t.Collection[str], stage: str
) -> None:
    """Read a stage back from a node.

    Raises CommandFailure where something of it is not proven.
    """
    waiting = ctx.plugin.waiting(ctx.cluster, settings.ROTATION_PROOF_SECONDS)
    while True:
        problems = look(ctx, node, materials, authorities).problems(stage, authorities)
        # A server that has just been started may not show its certificate yet.
        if not problems or not waiting.again(f"{node.name}: {problems[0]}"):
            break
    fail(problems, f"the stage {stage} is not proven")


def prove(ctx: TaskContext, parameters: Parameters) -> None:
    """Read back the authorities that this node trusts, shows and uses.

    After Drop it also proves that old credentials are refused.
    """
    authorities, stage = parameters["authorities"], parameters["stage"]
    materials = authority_materials.need(ctx, authorities)
    if stage == ISSUE and look(ctx, ctx.node, materials, authorities).unissued(authorities):
        # While a controller manager still signed with the old authority, the kubelet may have asked for another certificate.
        _stage(ISSUE)(ctx, parameters)
    _prove_node(ctx, ctx.node, materials, authorities, stage)
    said = f"{stage}: every file, process and server of this node was read back"
    if stage == DROP and ctx.node.control_plane:
        said += _prove_refusal(ctx, materials, authorities)
    ctx.note(said)


def _prove_refusal(ctx: TaskContext, materials: Materials, authorities: t.Collection[str]) -> str:
    asked = [(API_SERVER, CA), (ETCD_SERVER, ETCD)]
    credentials, expected = [], []
    for server, authority in asked:
        if authority not in authorities:
            continue
        for generation in (OLD, NEW):
            pair = certificates.new_client_certificate(
                materials.pair(authority, generation), PROBE, [], ctx.now(), certificates.ALGORITHMS[3], days=1
            )
            credentials.append({"server": server, "certificate": pair.crt, "secret": pair.key})
            expected.append((server, generation))
    if not credentials:
        return ""
    answer = ctx.call(MODULE, {"credentials": credentials, "pki": folder(ctx)})
    wrong = []
    for (server, generation), accepted in zip(expected, answer["accepted"]):
        if accepted and generation == OLD:
            wrong.append(f"{ctx.node.name}: {server} still accepts a certificate of the old authority")
        if not accepted and generation == NEW:
            wrong.append(f"{ctx.node.name}: {server} refuses a certificate of the new authority")
    fail(wrong, "the stage Drop is not proven")
    return f"; certificates of the old authority are refused by {' and '.join(dict.fromkeys(each for each, _old in expected))}"


def publish(ctx: TaskContext, parameters: Parameters) -> None:
    """Bring the cluster's and the store's objects to a stage.

    It waits until the control plane has done its part.
    """
    authorities, stage = parameters["authorities"], parameters["stage"]
    materials = authority_materials.need(ctx, authorities)
    ctx.check_lock()
    published_authorities.publish(ctx, materials, authorities, stage)


def snapshot(ctx: TaskContext, parameters: Parameters) -> None:
    """Take a verified snapshot of etcd.

    One from before the rotation is refused, as another cluster's, when it is to be restored.
    """
    del parameters
    etcd = f"{folder(ctx)}/etcd"
    call = {
        "name": f"{ctx.cluster}-rotation",
        "keep": settings.ROTATION_SNAPSHOTS_KEPT,
        # A second try of this Task takes the first one's.
        "purpose": f"Task {ctx.task['metadata']['name']} {origin.uid(ctx.task)}",
        "max_age": settings.ROTATION_SNAPSHOT_AGE_SECONDS,
        "ca_file": f"{etcd}/ca.crt",
        "certificate_file": f"{etcd}/healthcheck-client.crt",
        "key_file": f"{etcd}/healthcheck-client.key",
        "fencing": ctx.fencing,
        "require_leader": True,
        **cluster_argument(ctx.objects.control_plane),
    }
    ctx.note(str(ctx.call("etcd_snapshot", call).get("msg") or "an etcd snapshot was taken"))


def forget(ctx: TaskContext, parameters: Parameters) -> None:
    """Delete the old keys and the rotation's Secret from the store.

    Before that, every node is read back again, and the store's Secrets are the new ones.
    """
    materials = authority_materials.load(ctx)
    if materials is None:
        ctx.note("already deleted")
        return
    authorities = parameters["authorities"]
    for node in node_authorities.members(ctx)[0]:
        if node.control_plane or CA in authorities:
            _prove_node(ctx, node, materials, authorities, DROP)
    if materials.stale_pods:
        ctx.note(
            f"{len(materials.stale_pods)} pods run since before the new CA was published, and may know the old one alone: "
            f"{tokens.listed(materials.stale_pods)}. They continue to work, for the API servers show them a certificate that links the new CA to the "
            "old one; restart them soon: kubeadm renews and upgrades only once that link was removed, which the Actions for it do"
        )
    ctx.check_lock()
    # Nothing before asks the store whether it has them: whoever skipped the Task that writes them would lose the new keys.
    published_authorities.store_authorities(ctx, materials, authorities)
    ctx.forget_secret(authority_materials.secret_name(ctx.cluster))
    ctx.note("the old keys were deleted from the store")


def _told(run: Run) -> Run:
    """Return the command with its certificate errors as CommandFailures.

    A node may have a file that is no certificate, or the store may have none.
    """

    def told(ctx: TaskContext, parameters: Parameters) -> None:
        try:
            run(ctx, parameters)
        except (PkiError, WrongLayout) as error:
            raise CommandFailure(f"{error}") from error

    return told


REGISTRY: dict[str, Run] = {
    **tokens.REGISTRY,
    "createCertificateAuthorities": _told(create),
    "trustNewAuthorities": _told(_stage(rotation.TRUST)),
    "issueFromNewAuthorities": _told(_stage(rotation.ISSUE)),
    "dropOldAuthorities": _told(_stage(rotation.DROP)),
    "publishAuthorities": _told(publish),
    "proveAuthorities": _told(prove),
    "takeEtcdSnapshot": _told(snapshot),
    "forgetOldAuthorities": _told(forget),
}
