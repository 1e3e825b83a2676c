# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""etcd in the small world of stand_in_machine.py: its members, their votes, and what a join does to them."""

from __future__ import annotations

import secrets
from typing import Any, Optional
from urllib.parse import urlsplit

from stand_in_programs import rfc3339

Object = dict[str, Any]
# A join has ended when it was waited for so often: first etcd lists the member, then that has started and the Node is there.
POLLS = 2
NOWHERE = "198.51.100.250"


class Etcd:
    """The members that the world's etcd has."""

    state: Object
    here: Optional[Object]
    there: dict[str, Object]
    alive: dict[str, Object]

    @property
    def members(self) -> list[Object]:
        """etcd's members."""
        return list(self.state["members"])

    @property
    def voters(self) -> list[Object]:
        """Those that vote."""
        return [each for each in self.members if not each.get("learner")]

    def healthy(self, member: Object) -> bool:
        """Whether a member has started and its machine is there and works."""
        return bool(member["name"]) and member["name"] in self.alive

    @property
    def has_quorum(self) -> bool:
        """Whether a majority of the voters works; the first one of all may still start."""
        if [each["name"] for each in self.members] == [""]:
            return self.members[0]["machine"] in self.alive
        good = sum(1 for each in self.voters if self.healthy(each))
        return not self.members or good >= len(self.voters) // 2 + 1

    def violation(self, text: str) -> None:
        """Note what must not happen."""
        self.state["violations"].append(f"{rfc3339()} {text}")

    def look(self) -> None:
        """Note what must not be: an etcd without quorum, a voter whose machine was deleted."""
        for each in self.members:
            if each["name"] and each["name"] not in self.there:
                self.violation(f"the machine of the member {each['name']} was deleted")
        if not self.has_quorum:
            self.violation(
                f"no quorum: of {[each['name'] or '(unstarted)' for each in self.voters]} work {sorted(self.alive)}"
            )

    def progress(self, name: str, bootstrap: Object) -> None:
        """Time has passed for a bootstrap: kubeadm is one step further."""
        bootstrap["polls"] += 1
        if bootstrap.get("worker"):
            if bootstrap["polls"] == POLLS:
                self.state["nodes"][name] = {"created": rfc3339(), "version": bootstrap["version"], "worker": True}
            return
        own = next((each for each in self.state["members"] if each["machine"] == name), None)
        if own is None and not all(self.healthy(each) for each in self.members):
            # etcd adds nobody beside a member that it doesn't hear: kubeadm fails.
            bootstrap["interrupted"] = True
        elif bootstrap["polls"] == 1 and own is None:
            if self.members:
                self.violation(f"kubeadm added {name} as a voter before its etcd ran")
            self.state["members"].append({"id": secrets.token_hex(8), "name": "", "machine": name})
        elif bootstrap["polls"] == POLLS and own is not None:
            own["name"] = name
            self.state["nodes"][name] = {"created": rfc3339(), "version": bootstrap["version"]}
            self.state["leader"] = self.state["leader"] or own["id"]

    def etcd_leader(self, arguments: Object) -> Object:
        """Leadership goes to the first named that works."""
        target = next((each for name in arguments["to"] for each in self.voters if each["name"] == name), None)
        if target is None or self.state["leader"] != arguments["member_id"]:
            return {"changed": False, "msg": "it does not lead"}
        self.state["leader"] = target["id"]
        return {"changed": True, "msg": f"{target['name']} leads"}

    def etcd_member_info(self, _arguments: Object) -> Object:
        """What etcd lists."""
        return {"changed": False, "etcd": self.etcd_document()}

    def etcd_member(self, arguments: Object) -> Object:
        """Add a learner, promote it, or remove a member, with the arithmetic that the real module has."""
        does = {"learner": self._add, "promoted": self._promote}
        return does.get(arguments.get("state", "absent"), self._remove)(arguments)

    def _add(self, arguments: Object) -> Object:
        url = arguments["peer_url"]
        found = next((each for each in self.members if self._peer_url(each) == url), None)
        if found is None:
            if any(not each["name"] or each.get("learner") for each in self.members):
                self.violation("a learner was added beside an unfinished change")
            address = urlsplit(url).hostname
            machine = next(each["name"] for each in self.there.values() if each["address"] == address)
            added = {"id": secrets.token_hex(8), "name": "", "machine": machine, "learner": True}
            self.state["members"].append(added)
        elif not found.get("learner"):
            return {"failed": True, "msg": f"{url} is a voter's", "reason": "PeerUrlTaken"}
        return {"changed": found is None, "msg": f"a learner was added at {url}", "etcd": self.etcd_document()}

    def _promote(self, arguments: Object) -> Object:
        own = next((each for each in self.members if self._peer_url(each) == arguments["peer_url"]), None)
        if own is None:
            return {"failed": True, "msg": "there is no such member", "reason": "UnknownMember"}
        running = self.state["bootstraps"].get(own["machine"])
        if arguments.get("wait") and own["machine"] in self.alive and running and running["polls"] < POLLS:
            self.progress(own["machine"], running)
        if not own.get("learner"):
            return {"changed": False, "msg": "it votes already"}
        if not self.healthy(own):
            return {"failed": True, "msg": "it was added but never started.", "reason": "QuorumAtRisk"}
        own["learner"] = False
        return {"changed": True, "msg": f"member {own['name']} was promoted"}

    def _remove(self, arguments: Object) -> Object:
        gone = next((each for each in self.members if each["id"] == arguments["member_id"]), None)
        if gone is None:
            return {"changed": False, "msg": "there is no such member"}
        rest = [each for each in self.members if each is not gone]
        votes = [each for each in rest if not each.get("learner")]
        good = [each for each in votes if self.healthy(each)]
        unfinished = not gone.get("learner") and any(not each["name"] or each.get("learner") for each in rest)
        if not votes or len(good) < len(votes) // 2 + 1 or unfinished:
            self.violation(f"a removal was tried that leaves {len(good)} of {len(votes)}")
            return {"failed": True, "msg": "QuorumAtRisk", "reason": "QuorumAtRisk"}
        self.state["members"].remove(gone)
        if self.state["leader"] == gone["id"]:
            self.violation(f"the leader {gone['name']} was removed")
            self.state["leader"] = votes[0]["id"]
        return {"changed": True, "msg": f"member {gone['name']} was removed", "new_leader": None}

    def _peer_url(self, member: Object) -> str:
        return f"https://{self.there.get(member['machine'], {}).get('address', NOWHERE)}:2380"

    def etcd_document(self) -> Object:
        """etcd as an observation has it."""
        leader = self.state["leader"]
        members = [
            {
                "id": each["id"],
                "name": each["name"],
                "peerURLs": [self._peer_url(each)],
                "clientURLs": ["https://x:2379"] if each["name"] else [],
                "isLearner": bool(each.get("learner")),
            }
            for each in self.members
        ]
        statuses = {
            each["id"]: {
                "healthy": self.healthy(each),
                "leader": leader,
                "version": "3.4.13",
                "raftTerm": 2,
                "looks": 3,
                "failedLooks": 0 if self.healthy(each) else 3,
            }
            for each in self.members
        }
        known = {"members": members, "statuses": statuses, "leader": leader, "clusterID": "cdf818194e3a8c32"}
        return {**known, "reachable": True, "memberListAgrees": True, "alarms": [], "message": ""}
