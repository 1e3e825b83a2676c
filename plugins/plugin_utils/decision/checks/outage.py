# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Etcd's votes while no API server answers, and the remedy.

The faults: docs/faults.md, "two of three are down", "every API server is down, etcd is healthy".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Optional

from ....module_utils.common.values import clip, host_of, shortened
from ..snapshot.typed_snapshot import View

Object = dict[str, Any]
_SHOWN = 7


@dataclass(frozen=True)
class Votes:
    """Etcd's voters, those that answer and those that are silent.

    A voter that answers may still serve nothing, for want of the others. ``doubtful`` is the one that may be a learner, "" where none is: that counts as
    a voter only because that is not known.
    """

    answering: tuple[str, ...]
    silent: tuple[str, ...]
    doubtful: str = ""

    @property
    def voters(self) -> int:
        """Count of all voters."""
        return len(self.answering) + len(self.silent)

    @property
    def quorum(self) -> int:
        """Majority of the voters."""
        return self.voters // 2 + 1

    @property
    def lost(self) -> bool:
        """True where those that answer are no majority."""
        return len(self.answering) < self.quorum

    def __str__(self) -> str:
        count = len(self.answering)
        who = f" ({shortened(self.answering, _SHOWN)})" if self.answering else ""
        rest = f"; silent: {shortened(self.silent, _SHOWN)}" if self.silent else ""
        doubt = f" ({self.doubtful} may be a learner, which has no vote)" if self.doubtful else ""
        return (
            f"{self.voters} voter{'' if self.voters == 1 else 's'}{doubt}, {count} answer{'s' if count == 1 else ''}{who}, "
            f"quorum {self.quorum}{rest}"
        )


def votes(view: View) -> Optional[Votes]:
    """Return etcd's voters as the observed machine sees them.

    None where its etcd is external or nothing is known of it.
    An etcd that was started without a quorum answers nothing: then its database lists the members, and whether each one
    listens was tried. etcd 3.5.1 to 3.5.19 keep a promoted learner as a learner there (github.com/etcd-io/etcd, issue 19557). So its
    learners count as well, unless a majority would listen with them, which would answer: then they are learners. A single one may be either: etcd allows one
    learner at a time by default, so several prove that fault.
    """
    if not view.managed_etcd:
        return None
    told = [(each.title, _answers(view, each.id)) for each in view.members if not each.learner]
    if told:
        return _votes(told)
    stored = view.workload.get("storedMembers") or ()
    if not stored:
        return None
    told = [(_machine_of(view, each), each.get("listens") is True) for each in stored]
    everyone = _votes(told)
    voters = _votes([answer for member, answer in zip(stored, told) if not member.get("isLearner")])
    # No remedy is derived from voters of which none listens: any of the others may vote.
    if voters.answering and voters.lost and not everyone.lost:
        return voters
    # Where a majority of the others listens, it would answer unless this one votes, too.
    learners = [title for member, (title, _listens) in zip(stored, told) if member.get("isLearner")]
    return replace(everyone, doubtful=learners[0]) if len(learners) == 1 and voters.lost else everyone


def _votes(told: Sequence[tuple[str, bool]]) -> Votes:
    return Votes(
        tuple(title for title, answers in told if answers), tuple(title for title, answers in told if not answers)
    )


def _answers(view: View, identity: str) -> bool:
    status = (view.etcd.get("statuses") or {}).get(identity) or {}
    return status.get("healthy") is True or bool(status.get("version"))


def _machine_of(view: View, member: Object) -> str:
    hosts = {host_of(url) for url in member.get("peerURLs") or ()}
    found = next((each.name for each in view.known if hosts & set(each.addresses)), None)
    return found or clip(member.get("name"), 80) or str(member.get("id"))


def way_out(found: Votes) -> str:
    """Return the remedy where etcd has lost its quorum."""
    certain = _votes(
        [(title, title in found.answering) for title in (*found.answering, *found.silent) if title != found.doubtful]
    )
    missing = max(each.quorum - len(each.answering) for each in (found, certain))
    silent = sorted(found.silent, key=lambda each: each == found.doubtful)
    which = "it" if found.silent[1:] == () else f"{missing} of them" if missing < len(found.silent) else "them"
    first = f" ({found.doubtful} last: it may have no vote)" if found.doubtful in found.silent and silent[1:] else ""
    return (
        f"Bring {which} back: power, network, or etcd's container on {shortened(silent, _SHOWN)}{first}. Then etcd continues by itself, and nothing is lost. "
        "Until then leave every machine's disk as it is (restore reads etcd's database there), and neither reset nor delete a machine. "
        "If they are gone for good, the playbook kubeadm.control_plane.restore with --check shows what can be restored from where, and what that loses."
    )
