#!/usr/bin/python

# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: etcd_member
short_description: Add a learner to etcd, promote it, or remove a member without losing quorum
version_added: 0.1.0
author:
  - kubeadm.control_plane contributors (@kubeadm-control-plane)
description:
  - Removes one member, by its ID or by its name, adds a learner, or makes a learner vote. Run it on a control plane node that stays.
  - In the same call, every member is asked for its own member list, its status, its alarms and a linearizable read. The
    member is removed only if those that answered agree, at least two of them, and a majority of the members that remain
    is proven healthy. What is unknown counts as unhealthy. The last voter is never removed.
  - If the member leads, leadership moves to a healthy member first. Only the leader itself can hand over; one that can't be asked (it does not
    answer, or publishes a client URL that leads nowhere or is plain HTTP) is removed all the same, with a warning, and the others elect a leader.
    Afterwards the module waits until no member that answers lists it any more.
  - A learner is promoted only if etcd has its quorum now and would still have it if the new voter failed (from one voter to two, if the learner is proven to
    work), and once its log has 90% of the leader's. Otherwise it says how far the learner is.
  - A learner is added, by its peer URL, only if etcd has its quorum, no other change is unfinished, and every voter runs etcd 3.4 or newer. It has no vote,
    so that its addition can't cost the quorum. C(kubeadm join) of Kubernetes 1.19 or newer finds it by that URL and adds no member of its own.
  - What it refuses it explains with the figures. There is no option to force it.
options:
  state:
    description: Whether the member is to be gone, to be there as a learner, or to vote. V(promoted) was added in 0.4.0, V(learner) in 0.10.0.
    type: str
    choices: [absent, learner, promoted]
    default: absent
  member_id:
    description:
      - The member's ID, up to 16 hexadecimal digits, as M(kubeadm.control_plane.etcd_member_info) or C(etcdctl member
        list) shows it.
    type: str
  name:
    description:
      - The member's name, which kubeadm sets to the Node's. Two members of one name are refused.
      - With O(member_id) also given, both must fit.
    type: str
  peer_url:
    description:
      - The member's peer URL. With O(state=learner) it is the only way to say which; with O(state=promoted) one of three.
      - kubeadm's are C(https://ADDRESS:2380), with the machine's C(localAPIEndpoint.advertiseAddress).
    type: str
    version_added: 0.10.0
  cluster_id:
    description: The ID of the etcd cluster that is meant. Another cluster is refused.
    type: str
  wait:
    description: With O(state=promoted), for how many seconds at most it is waited until the learner has started and caught up.
    type: int
    default: 0
    version_added: 0.4.0
extends_documentation_fragment:
  - kubeadm.control_plane._etcd
  - kubeadm.control_plane._etcd.credentials
  - kubeadm.control_plane._node
  - kubeadm.control_plane._node.fencing
  - kubeadm.control_plane._attributes
attributes:
  check_mode:
    support: full
    details:
      - What would be refused is refused in check mode too.
  diff_mode:
    support: full
  idempotent:
    support: full
seealso:
  - module: kubeadm.control_plane.etcd_member_info
"""

EXAMPLES = r"""
- name: Remove the member of a machine that is gone, through one that stays
  kubeadm.control_plane.etcd_member:
    name: prod-control-plane-2
    state: absent
  become: true

- name: Remove a member that was added but never started
  kubeadm.control_plane.etcd_member:
    member_id: 8e9e05c52164694d
    state: absent
  become: true

- name: Add the member of a machine that is to join, before kubeadm does
  kubeadm.control_plane.etcd_member:
    peer_url: https://192.0.2.13:2380
    state: learner
  become: true

- name: Finish a join that was cut off before its learner was promoted
  kubeadm.control_plane.etcd_member:
    name: prod-control-plane-3
    state: promoted
    wait: 60
  become: true
"""

RETURN = r"""
msg:
  description: What was done, or why it was refused, with the figures.
  returned: always
  type: str
reason:
  description: A stable name of the refusal.
  returned: when refused
  type: str
  sample: QuorumAtRisk
member:
  description: The member that was removed, added or promoted.
  returned: changed, and with O(state=learner) also where it was there already; not where a learner would be added in check mode
  type: dict
quorum:
  description: Voters, healthy voters, quorum and tolerance, before and after.
  returned: when the figures were worked out
  type: dict
new_leader:
  description: The ID of the member that leadership moved to, or that was elected; null where it did not have to move.
  returned: when a member was removed
  type: str
etcd:
  description:
    - The cluster as it was found afterwards, or before where nothing was changed. IDs are 16 hexadecimal digits.
  returned: success
  type: dict
  contains:
    reachable:
      description: Whether any member gave its list.
      type: bool
      returned: success
    message:
      description: Why not, or what the members disagree about.
      type: str
      returned: success
    members:
      description: The members, each with C(id), C(name), C(peerURLs), C(clientURLs) and C(isLearner).
      type: list
      elements: dict
      returned: success
    memberListAgrees:
      description: Whether all members that answered list the same members; null where too few answered to tell.
      type: bool
      returned: success
    leader:
      description: The ID of the leader; null where there is none, or the members disagree.
      type: str
      returned: success
    clusterID:
      description: The ID of the cluster.
      type: str
      returned: success
    alarms:
      description: The alarms that are raised, each with C(memberID) and C(alarm).
      type: list
      elements: dict
      returned: success
    statuses:
      description:
        - For each member, by its ID, whether it is proven healthy, why not, its version, its sizes in bytes, and
          where its log stands.
      type: dict
      returned: success
"""

import typing as t

from ..module_utils.common.guard import NodeError
from ..module_utils.common.quorum import Verdict
from ..module_utils.etcd import arguments as etcd_arguments
from ..module_utils.etcd.addition import Addition, add_learner
from ..module_utils.etcd.membership import MembershipError, Removal, remove_member
from ..module_utils.etcd.promotion import Promotion, promote_member
from ..module_utils.etcd.types import from_hex
from ..module_utils.node.machine_module import MachineModule


def main() -> None:
    """Run the module."""
    module = MachineModule(
        argument_spec={
            "state": {"type": "str", "choices": ["absent", "learner", "promoted"], "default": "absent"},
            "member_id": {"type": "str"},
            "name": {"type": "str"},
            "peer_url": {"type": "str"},
            "cluster_id": {"type": "str"},
            "wait": {"type": "int", "default": 0},
            **etcd_arguments.ETCD,
        },
        required_one_of=[("member_id", "name", "peer_url")],
        required_if=[
            ("state", "learner", ["peer_url"]),
            ("state", "absent", ["member_id", "name"], True),
        ],
    )
    params = module.params
    with module.failing(MembershipError, NodeError, ValueError):
        module.check()
        which: dict[str, t.Any] = {
            "member_id": from_hex(params["member_id"]) if params["member_id"] else None,
            "name": params["name"],
        }
        call: dict[str, t.Any] = {
            "cluster_id": from_hex(params["cluster_id"]) if params["cluster_id"] else None,
            "check": module.check_mode,
            "before_change": module.check,
        }
        cluster = etcd_arguments.cluster(params)
        if params["state"] == "learner":
            if any(which.values()):
                raise ValueError("a learner that is to be added has neither name nor ID yet: give its peer_url alone.")
            done = added(add_learner(cluster, params["peer_url"], **call))
        elif params["state"] == "promoted":
            wait = float(params["wait"])
            done = promoted(promote_member(cluster, peer_url=params["peer_url"], wait=wait, **which, **call))
        else:
            removal = remove_member(cluster, **which, **call)
            for warning in removal.warnings:
                module.warn(warning)
            done = result(removal)
    module.exit_json(**done)


def quorum(verdict: Verdict) -> dict[str, t.Any]:
    """Return the figures of a verdict."""
    return {"before": verdict.before.document(), "after": verdict.after.document()}


def result(removal: Removal) -> dict[str, t.Any]:
    """Return a removal as the module's result."""
    shown = removal.after or removal.before
    document: dict[str, t.Any] = {"changed": removal.changed, "msg": removal.message, "etcd": shown.document()}
    if removal.verdict is not None:
        document["quorum"] = quorum(removal.verdict)
    if removal.changed and removal.member is not None:
        before = [f"{member.hex_id} {member.name}" for member in removal.before.members]
        gone = f"{removal.member.hex_id} {removal.member.name}"
        document["member"] = removal.member.document()
        document["new_leader"] = removal.new_leader
        document["diff"] = {
            "before": {"members": before},
            "after": {"members": [text for text in before if text != gone]},
        }
    return document


def added(addition: Addition) -> dict[str, t.Any]:
    """Return an addition as the module's result."""
    shown = addition.after or addition.before
    document: dict[str, t.Any] = {"changed": addition.changed, "msg": addition.message, "etcd": shown.document()}
    if addition.verdict is not None:
        document["quorum"] = quorum(addition.verdict)
    if addition.member is not None:
        document["member"] = addition.member.document()
    if addition.changed:
        before = [f"{member.hex_id} {member.name}" for member in addition.before.members]
        new = addition.member.hex_id if addition.member is not None else "(new)"
        document["diff"] = {"before": {"members": before}, "after": {"members": [*before, f"{new} (learner)"]}}
    return document


def promoted(promotion: Promotion) -> dict[str, t.Any]:
    """Return a promotion as the module's result."""
    shown = promotion.after or promotion.before
    document: dict[str, t.Any] = {"changed": promotion.changed, "msg": promotion.message, "etcd": shown.document()}
    if promotion.verdict is not None:
        document["quorum"] = quorum(promotion.verdict)
    if promotion.changed:
        name = f"{promotion.member.hex_id} {promotion.member.name}"
        document["member"] = promotion.member.document()
        document["diff"] = {"before": {"learners": [name], "voters": []}, "after": {"learners": [], "voters": [name]}}
    return document


if __name__ == "__main__":
    main()
