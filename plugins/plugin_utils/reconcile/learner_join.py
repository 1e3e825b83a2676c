# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""etcd member of a joining machine, a learner before kubeadm runs.

Added, promoted and taken back through a machine that carries the control plane already; kubeadm finds it by its peer URL
(docs/decisions/104-member-joins-as-learner.md).
"""

from __future__ import annotations

import typing as t

from ...module_utils.common.redact import redact
from ..calls.failure import ControlPlaneFailure
from ..calls.machine_connection import Answer
from ..objects.conditions import best_to_ask
from ..objects.etcd_member import cluster_argument
from ..observe.observation import Caller
from ..records.cluster_objects import ClusterObjects

MODULE = "etcd_member"
LEARNER, PROMOTED = "learner", "promoted"


class Action(t.Protocol):
    """Interface of :class:`ControlPlaneAction` that a learner's join needs."""

    def progress(self, cluster: str, text: str) -> None:
        """Show a progress line to the user."""

    def note(self, change: str) -> None:
        """Record a change for the journal."""

    def check_lock(self, arguments: t.Mapping[str, t.Any]) -> None:
        """Fail where this run no longer holds the cluster's lock."""


class LearnerJoin:
    """The member of one joining machine, known by its peer URL.

    Every call of it may be made again: what is done already is no change.
    """

    def __init__(
        self,
        action: Action,
        arguments: t.Mapping[str, t.Any],
        objects: ClusterObjects,
        caller: Caller,
        peer_url: str,
    ) -> None:
        self._action, self._arguments, self._objects, self._caller = action, arguments, objects, caller
        self._name = str(arguments["name"])
        self._peer_url = peer_url
        self._voted = False

    def add(self) -> list[tuple[str, str]]:
        """Add the learner; return all members' names and peer URLs.

        Its own name is "".

        Raises:
            ControlPlaneFailure: it was refused, or no machine could be asked.
        """
        self._action.check_lock(self._arguments)
        self._action.progress(self._objects.name, f"machine {self._name}: its etcd member is added, as a learner")
        answer = self._through(MODULE, {"state": LEARNER, "peer_url": self._peer_url, **self._cluster()})
        if not isinstance(answer, Answer) or answer.failed:
            said = redact(answer.message) if isinstance(answer, Answer) else answer
            raise ControlPlaneFailure(
                f"the etcd member of machine {self._name} was not added as a learner: {said}. kubeadm was not started there. "
                "Mend that and run reconcile again: it resumes where this run stopped."
            )
        if answer.result.get("changed"):
            self._action.note(f"machine {self._name}: {redact(str(answer.result.get('msg', '')))}")
        members = (answer.result.get("etcd") or {}).get("members") or []
        return [(str(each.get("name") or ""), str(url)) for each in members for url in each.get("peerURLs") or []]

    def promote(self, seconds: float) -> str:
        """Promote the learner once it has caught up.

        It is waited for that long. Returns "" once it votes, else what it waits for.

        A refusal is what it waits for: the join has a bound. A member that was removed meanwhile is not waited for: what becomes of its
        machine is decided when kubeadm has ended.
        """
        if self._voted:
            return ""
        self._action.check_lock(self._arguments)
        call = {"state": PROMOTED, "peer_url": self._peer_url, "wait": int(seconds), **self._cluster()}
        answer = self._through(MODULE, call)
        if not isinstance(answer, Answer):
            return answer
        if answer.failed and answer.result.get("reason") != "UnknownMember":
            return redact(answer.message)
        self._voted = True
        if answer.result.get("changed"):
            self._action.note(f"machine {self._name}: {redact(str(answer.result.get('msg', '')))}")
        return ""

    def take_back(self) -> None:
        """Remove the learner of a kubeadm that was never started.

        Nothing where there is none.

        Raises:
            ControlPlaneFailure: no machine could be asked, or the removal was refused.
        """
        seen = self._through("etcd_member_info", {})
        if isinstance(seen, Answer) and not seen.failed:
            members = (seen.result.get("etcd") or {}).get("members") or []
            mine = [each for each in members if self._peer_url in (each.get("peerURLs") or ())]
            if not mine:
                return
            if mine[0].get("isLearner") and not mine[0].get("name"):
                self._action.check_lock(self._arguments)
                call = {"state": "absent", "member_id": mine[0]["id"], **self._cluster()}
                seen = self._through(MODULE, call)
                if isinstance(seen, Answer) and not seen.failed:
                    self._action.note(f"machine {self._name}: {redact(str(seen.result.get('msg', '')))}")
                    return
            else:
                seen = (
                    f"the etcd member at {self._peer_url} has started or votes, though kubeadm was never started there"
                )
        said = redact(seen.message) if isinstance(seen, Answer) else seen
        raise ControlPlaneFailure(
            f"a run was killed between adding the etcd member of machine {self._name} as a learner and starting kubeadm there, "
            f"and the learner was not taken back: {said}. Mend that and run reconcile again."
        )

    def _cluster(self) -> dict[str, t.Any]:
        return {"fencing": self._arguments["fencing"], **cluster_argument(self._objects.control_plane)}

    def _through(self, module: str, call: dict[str, t.Any]) -> t.Union[Answer, str]:
        """Return the first answer of a control plane machine.

        Else why there was none. A refusal is an answer: asking until one agrees would make its check worthless. That only its own etcd doesn't
        answer it is none.
        """
        silent = []
        for each in best_to_ask(self._objects.bootstrapped_machines()):
            other = str(each["metadata"]["name"])
            answer = self._caller.call(self._objects.reach(other), module, call)
            if answer.reached and not (answer.failed and answer.result.get("reason") == "NotReachable"):
                return answer
            silent.append(f"{other}: {redact(answer.message)}")
        return "; ".join(silent) or "no machine carries the control plane"
