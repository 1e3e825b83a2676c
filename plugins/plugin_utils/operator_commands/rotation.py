# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How the commands for rotation of certificate authorities and service account keys are run (kubeadm.md A7).

Nothing here remembers how far it came: each command asks the nodes and the cluster what is there, does what is left, and reads it back.
"""

from __future__ import annotations

import re
import typing as t

from ansible_collections.kubeadm.control_plane.plugins.module_utils.kubeadm.certificate_files import (
    API_SERVER,
    CA,
    ETCD,
    ETCD_SERVER,
    SERVICE_ACCOUNT,
)
from ansible_collections.kubeadm.control_plane.plugins.module_utils.operator import authority_rotation as rotation
from ansible_collections.kubeadm.control_plane.plugins.module_utils.operator.authority_rotation import (
    DROP,
    ISSUE,
    NEW,
    OLD,
    TRUST,
)
from ansible_collections.kubeadm.control_plane.plugins.module_utils.operator.catalogue_rotation import (
    WORKLOADS_OF_KUBEADM,
)
from ansible_collections.kubeadm.control_plane.plugins.module_utils.operator.plans import NodeFacts
from ansible_collections.kubeadm.control_plane.plugins.module_utils.operator.rotate_certificate_authorities import (
    ADDONS,
    NONE,
)
from ansible_collections.kubeadm.control_plane.plugins.module_utils.pki import certificates, reissue
from ansible_collections.kubeadm.control_plane.plugins.module_utils.pki.certificates import PkiError
from ansible_collections.kubeadm.control_plane.plugins.module_utils.workload.api import ADMIN_KUBECONFIG
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils import authority_materials, authority_node
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.authority_materials import Materials
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.authority_node import (
    NodeCertificates,
    WrongLayout,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.operator_commands import rotation_objects
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.operator_context import (
    CommandFailure,
    Run,
    TaskContext,
)

MODULE, TOKENS = "node_certificates", "service_account_tokens"
RESTART_SECONDS = 600
RENEW_SECONDS = 180
# client-go reads a token's file anew every minute; what has been in a volume for longer is in use.
USED_AFTER_SECONDS = 75
RESTARTABLE = ("daemonset", "deployment", "statefulset")
ROLLOUT_SECONDS = 600
# What was just started shows what it has within moments; a busy host takes longer.
PROVEN_SECONDS = 180.0
KEPT = "the old service account key was kept, for pods still use its tokens. Restart them, such as by kubectl rollout restart, then retry"
SHOWN = 10
# Who an old authority says that somebody is, to see whether he is let in; he may do nothing.
PROBE = "kubeadm-control-plane:rotation-probe"

Parameters = t.Mapping[str, t.Any]


def folder(ctx: TaskContext) -> str:
    """The folder of kubeadm's certificates on every node: ClusterConfiguration.certificatesDir."""
    found = re.search(
        r"^certificatesDir:\s*[\"']?([^\s\"']+)", str(ctx.plan_facts.get("clusterConfiguration") or ""), re.M
    )
    return found.group(1).rstrip("/") if found else "/etc/kubernetes/pki"


def look(ctx: TaskContext, node: NodeFacts, materials: Materials, authorities: t.Collection[str]) -> NodeCertificates:
    """Ask a node what it has, and return it with what a rotation makes of it."""
    asked = authority_node.question(authorities, node.control_plane, folder(ctx))
    found = ctx.call(MODULE, asked, node.name)
    return judge(ctx, node, materials, found)


def judge(ctx: TaskContext, node: NodeFacts, materials: Materials, found: dict[str, t.Any]) -> NodeCertificates:
    """What a rotation makes of a node's answer."""
    external = bool(ctx.plan_facts.get("externalEtcd"))
    return NodeCertificates(node.name, node.control_plane, materials, found, folder(ctx), external, ctx.now())


def fail(problems: t.Sequence[str], what: str) -> None:
    """Raise CommandFailure where there are problems."""
    if problems:
        more = f"; and {len(problems) - SHOWN} more" if len(problems) > SHOWN else ""
        raise CommandFailure(f"{what}: {'; '.join(problems[:SHOWN])}{more}.")


def create(ctx: TaskContext, parameters: Parameters) -> None:
    """Make the new authorities, once, after every node was seen to have the old ones where kubeadm puts them."""
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
            "Make an Action that names exactly these authorities: it goes on with it."
        )
    problems: list[str] = []
    for node in ctx.nodes:
        if node.control_plane or CA in authorities:
            problems += look(ctx, node, materials, authorities).layout_problems(authorities)
    fail(problems, "no certificate authority was made, for these nodes can't be rotated")
    if begun:
        ctx.note(f"already made at {materials.created_at} for the Action {materials.action}")
        return
    ctx.check_lock()
    authority_materials.keep(ctx, materials)
    ctx.note(f"made a new {', '.join(materials.authorities)}")


def _stage(stage: str) -> Run:
    def run(ctx: TaskContext, parameters: Parameters) -> None:
        authorities = parameters["authorities"]
        materials = authority_materials.need(ctx, authorities)
        asked = authority_node.question(authorities, ctx.node.control_plane, folder(ctx))
        before = look(ctx, ctx.node, materials, authorities)
        fail(_before(ctx, before, materials, authorities, stage), f"the stage {stage} was not begun on this node")
        if stage == DROP and CA in authorities and ctx.node.control_plane:
            rotation_objects.find_stale(ctx, materials)
        try:
            changes = before.changes(stage, authorities)
        except (WrongLayout, PkiError) as error:
            raise CommandFailure(f"{error}. Nothing was changed on this node.") from error
        ctx.check_lock()
        call = {"changes": changes, "restart": True, "timeout": RESTART_SECONDS, "fencing": ctx.fencing}
        done = ctx.call(MODULE, {**asked, **call})
        gone = before.leftovers(stage, authorities)
        if gone:
            ctx.call(MODULE, {"changes": gone, "fencing": ctx.fencing})
        written, restarted = done["written"], done["restarted"]
        ctx.note(f"wrote {len(written)} files" if written else "already written")
        ctx.note(f"restarted {', '.join(restarted)}" if restarted else "already restarted")
        _prove_node(ctx, ctx.node, materials, authorities, stage)

    return run


def _before(
    ctx: TaskContext, own: NodeCertificates, materials: Materials, authorities: t.Collection[str], stage: str
) -> list[str]:
    """Why a stage may not begin on this node. A control plane node asks all the others, whatever Tasks were skipped before."""
    if stage == TRUST:
        return []
    # Of this node, what a killed run has done of this stage doesn't count against it.
    problems = own.unissued(authorities) if stage == DROP else own.problems(TRUST, authorities, running=False)
    for each in ctx.nodes if ctx.node.control_plane else ():
        if each.name == ctx.node.name or not (each.control_plane or CA in authorities):
            continue
        node = look(ctx, each, materials, authorities)
        if stage == ISSUE or node.problems(DROP, authorities):
            problems += node.problems(TRUST if stage == ISSUE else ISSUE, authorities)
    if CA in authorities and not materials.published_at:
        problems.append("the new authorities were not published to pods and to those who join")
    if stage == DROP and SERVICE_ACCOUNT in authorities and ctx.node.control_plane:
        old, _young = _tokens(ctx, reissue.key_id(materials.pair(SERVICE_ACCOUNT, NEW).crt))
        problems += [f"{each['text']} has a token of the old key" for each in old]
    return problems


def _prove_node(
    ctx: TaskContext, node: NodeFacts, materials: Materials, authorities: t.Collection[str], stage: str
) -> None:
    """Read a stage back from a node. Raises CommandFailure where something of it is not so."""
    waiting = ctx.plugin.waiting(ctx.cluster, PROVEN_SECONDS)
    while True:
        problems = look(ctx, node, materials, authorities).problems(stage, authorities)
        # A server that has just been started may not show its certificate yet.
        if not problems or not waiting.again(f"{node.name}: {problems[0]}"):
            break
    fail(problems, f"the stage {stage} is not proven")


def prove(ctx: TaskContext, parameters: Parameters) -> None:
    """Read back what is trusted, shown and used on this node; after Drop also that old credentials are refused."""
    authorities, stage = parameters["authorities"], parameters["stage"]
    materials = authority_materials.need(ctx, authorities)
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
    """Bring the cluster's and the store's objects to a stage, and wait until the control plane has done its part."""
    authorities, stage = parameters["authorities"], parameters["stage"]
    materials = authority_materials.need(ctx, authorities)
    ctx.check_lock()
    try:
        rotation_objects.publish(ctx, materials, authorities, stage)
    except PkiError as error:
        raise CommandFailure(str(error)) from error


def renew_tokens(ctx: TaskContext, parameters: Parameters) -> None:
    """Give every service account with a token in a Secret one of the new key."""
    del parameters
    materials = authority_materials.need(ctx, (SERVICE_ACCOUNT,))
    _renew(ctx, reissue.key_id(materials.pair(SERVICE_ACCOUNT, NEW).crt))


def _renew(ctx: TaskContext, identity: str) -> list[str]:
    """Returns the Secrets with an old token that pods mount."""
    ctx.check_lock()
    call = {"state": "renewed", "key_ids": [identity], "timeout": RENEW_SECONDS, "fencing": ctx.fencing}
    done = ctx.call(TOKENS, call)
    renewed, mounted = list(done["renewed"]), list(done["mounted"])
    if renewed:
        ctx.note(
            f"{len(renewed)} Secrets have a token of the new key: {_listed(renewed)}. Whoever uses one of them outside of the cluster needs it anew"
        )
    if mounted:
        ctx.note(
            f"{len(mounted)} Secrets are mounted and keep their token; another one is there for pods to come: {_listed(mounted)}"
        )
    if not renewed and not mounted:
        ctx.note("already renewed: no Secret has a token of the old key")
    return mounted


def restart_workloads(ctx: TaskContext, parameters: Parameters) -> None:
    """Restart the workloads whose pods have a token of the old key: kubeadm's own ones, all of them, or none."""
    whose = parameters["workloads"]
    if whose == NONE:
        ctx.note("no workload is restarted")
        return
    materials = authority_materials.need(ctx, (SERVICE_ACCOUNT,))
    old, _young = _tokens(ctx, reissue.key_id(materials.pair(SERVICE_ACCOUNT, NEW).crt))
    # A bound token is replaced in the volume of the pod that has it.
    owners = sorted({(each["namespace"], each["owner"]) for each in old if each["owner"] and each["mounts_secret"]})
    if whose == ADDONS:
        owners = [each for each in owners if each[0] == "kube-system" and each[1] in WORKLOADS_OF_KUBEADM]
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
        bound = f"--timeout={ROLLOUT_SECONDS}s"
        waited = ROLLOUT_SECONDS + 30
        ctx.run([*words, "status", owner, bound], step=f"await-{namespace}-{kind}-{name}", timeout_seconds=waited)


def wait_tokens(ctx: TaskContext, parameters: Parameters) -> None:
    """Wait until no pod has a token of the old key, and each had a new one for long enough to use it."""
    materials = authority_materials.need(ctx, (SERVICE_ACCOUNT,))
    identity = reissue.key_id(materials.pair(SERVICE_ACCOUNT, NEW).crt)
    waiting = ctx.plugin.waiting(ctx.cluster, float(parameters["timeoutSeconds"]))
    seen = 0.0
    while True:
        old, young = _tokens(ctx, identity)
        if old:
            seen = waiting.elapsed
        # A young token may have taken an old one's place just now; bound ones of many pods are replaced all the time.
        elif not young or waiting.elapsed - seen >= USED_AFTER_SECONDS:
            break
        names = [each["text"] for each in old]
        text = (
            f"{len(old)} pods have a token of the old key: {_listed(names)}"
            if old
            else "new tokens were not taken up yet"
        )
        if not waiting.again(text, 5.0):
            fail([f"{each} has a token of the old key" for each in names], KEPT)
            raise CommandFailure(
                f"pods have had their new tokens for less than {USED_AFTER_SECONDS} s; the old service account key was kept. Retry."
            )
    still = _renew(ctx, identity)
    fail([f"a pod mounts the Secret {each}, which has a token of the old key" for each in still], KEPT)
    ctx.note("no pod has a token of the old key")


def _tokens(ctx: TaskContext, identity: str) -> tuple[list[dict[str, t.Any]], bool]:
    """The pods that have an old token (with ``text``, "namespace/name on node"), and whether one got its new one only just now."""
    found = {node.name: ctx.call(TOKENS, {"api": False, "volumes": True}, node.name)["volumes"] for node in ctx.nodes}
    old = {each["uid"]: node for node, tokens in found.items() for each in tokens if each["key_id"] != identity}
    young = any(each["age"] < USED_AFTER_SECONDS for tokens in found.values() for each in tokens)
    if not old:
        return [], young
    # What a pod that is gone for good has left in the kubelet's folder is nobody's.
    pods = ctx.call(TOKENS, {"pods_before": "9999-12-31T23:59:59Z"})["pods"]
    return [
        {**each, "text": f"{each['namespace']}/{each['name']} on {old[each['uid']]}"}
        for each in pods
        if each["uid"] in old
    ], young


def forget(ctx: TaskContext, parameters: Parameters) -> None:
    """Delete the old keys and what the rotation had to remember, after every node was read back once more."""
    materials = authority_materials.load(ctx)
    if materials is None:
        ctx.note("already deleted")
        return
    authorities = parameters["authorities"]
    for node in ctx.nodes:
        if node.control_plane or CA in authorities:
            _prove_node(ctx, node, materials, authorities, DROP)
    if materials.stale_pods:
        ctx.note(
            f"{len(materials.stale_pods)} pods run since before the new CA was published, and may know the old one alone: "
            f"{_listed(materials.stale_pods)}. They go on working, for the API servers show them a certificate that links the new CA to the "
            "old one; restart them before those certificates are renewed"
        )
    ctx.check_lock()
    ctx.forget_secret(authority_materials.secret_name(ctx.cluster))
    ctx.note("the old keys were deleted from the store")


def _listed(names: t.Sequence[str]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more


REGISTRY: dict[str, Run] = {
    "createCertificateAuthorities": create,
    "trustNewAuthorities": _stage(rotation.TRUST),
    "issueFromNewAuthorities": _stage(rotation.ISSUE),
    "dropOldAuthorities": _stage(rotation.DROP),
    "publishAuthorities": publish,
    "proveAuthorities": prove,
    "renewServiceAccountTokens": renew_tokens,
    "restartWorkloads": restart_workloads,
    "waitServiceAccountTokens": wait_tokens,
    "forgetOldAuthorities": forget,
}
