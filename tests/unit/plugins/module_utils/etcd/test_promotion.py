# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How far a learner is, in figures: recorded answers of members, for a real one catches up too soon to be seen."""

from __future__ import annotations

import pytest

from ansible_collections.kubeadm.control_plane.plugins.module_utils.etcd.membership import Cluster, MembershipError
from ansible_collections.kubeadm.control_plane.plugins.module_utils.etcd.promotion import progress, promote_member
from ansible_collections.kubeadm.control_plane.plugins.module_utils.etcd.types import Member, MemberList, Status
from ansible_collections.kubeadm.control_plane.plugins.module_utils.etcd.view import View, Witness, put_together

VOTER = Member(1, "m1", ("https://a:2380",), ("https://a:2379",), False)
LEARNER = Member(2, "late", ("https://b:2380",), ("https://b:2379",), True)


def status(member: Member, index: int) -> Status:
    """A member's own status."""
    return Status(7, member.id, "3.5.0", 1, 1, VOTER.id, 3, index, index, member.is_learner, ())


class Recorded(Cluster):
    """A cluster of one voter and a learner that has so much of its log."""

    def __init__(self, learner: int, voter: int) -> None:
        super().__init__([], None)
        listed = MemberList(7, (VOTER, LEARNER))
        witnesses = {
            VOTER.id: Witness("https://a:2379", listed, status(VOTER, voter), (), True),
            LEARNER.id: Witness("https://b:2379", None, status(LEARNER, learner)),
        }
        object.__setattr__(self, "recorded", put_together(witnesses))

    def view(self) -> View:
        """The same answers each time."""
        found: View = self.__dict__["recorded"]
        return found

    def patient_view(self) -> View:
        """The same."""
        return self.view()


def test_one_that_lags_is_refused_with_how_far_it_is() -> None:
    cluster = Recorded(450, 1000)
    assert progress(cluster.view(), LEARNER) == (450, 1000)
    for check in (True, False):
        with pytest.raises(
            MembershipError, match=r"its log is at 450 of the leader's 1000 \(45%\), .* from 90%"
        ) as caught:
            promote_member(cluster, name="late", check=check)
        assert caught.value.reason == "NotInSync"


def test_nine_tenths_are_enough() -> None:
    assert promote_member(Recorded(900, 1000), name="late", check=True).changed
    with pytest.raises(MembershipError, match="its log is at 899 of"):
        promote_member(Recorded(899, 1000), name="late", check=True)
