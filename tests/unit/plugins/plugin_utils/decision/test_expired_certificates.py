# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Certificates that have ended on machines' disks: named, nothing changed, and the remedy.

The faults: docs/faults.md, "certificates have ended everywhere", "certificates have ended on one machine".
"""

from __future__ import annotations

import pytest
from builders import Builder, at, healthy

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.decide import decide
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects.advice import AUTHORITY_ENDED

ENDED, VALID = at(60), "2036-01-01T00:00:00Z"
FILES = ("admin.conf", "apiserver.crt", "etcd/peer.crt", "etcd/server.crt")


def tell(builder: Builder, *names: str, end: str = ENDED, files: tuple[str, ...] = FILES) -> Builder:
    """Have these machines say when their certificates end."""
    told = builder.workload.setdefault("machineCertificates", {})
    told.update({name: {"ca.crt": VALID, **dict.fromkeys(files, end)} for name in names})
    return builder


def blocked(builder: Builder) -> dict[str, str]:
    """What the decision is blocked on."""
    decision = decide(builder.build())
    assert decision["action"] == "blocked" and decision["target"] is None
    first = decision["blockedOn"][0]
    assert first["reason"] == "MachineCertificatesExpired"
    return dict(first)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_ended_everywhere_blocks_at_once_and_says_how_to_renew(count: int) -> None:
    names = [f"m{number}" for number in range(1, count + 1)]
    found = blocked(tell(healthy(count, replicas=3).unreachable("x509: certificate has expired"), *names))
    for name in names:
        assert (
            f"machine {name} (admin.conf {ENDED}, apiserver.crt {ENDED}, etcd/peer.crt {ENDED} and 1 more)"
            in found["message"]
        )
    assert found["fix"].startswith("Run kubeadm.control_plane.action") and "renewCertificates" in found["fix"]
    assert f"By hand, on {', then '.join(names)}: kubeadm certs renew all" in found["fix"]
    assert "/etc/kubernetes/manifests" in found["fix"] and "remediate" not in found["fix"]
    assert "the authorities' keys in certificatesDir" in found["fix"]


def test_machines_that_are_to_be_marked_change_nothing_of_that() -> None:
    """Nobody is removed and nothing recovered for want of an API that can't answer."""
    builder = healthy(3).marked("m2").annotate("cluster.x-k8s.io/remediate-machine", "", "m3").unreachable()
    blocked(tell(builder, "m1", "m2", "m3"))


def test_certificates_that_still_hold_explain_no_silence() -> None:
    decision = decide(tell(healthy(3).unreachable(), "m1", "m2", "m3", end=VALID).build())
    assert decision["blockedOn"][0]["reason"] == "APIUnreachable"


def test_ended_on_one_machine_blocks_what_is_due_and_names_both_ways_out() -> None:
    found = blocked(tell(healthy(3, replicas=5), "m2"))
    assert "machine m2 (" in found["message"] and "m1" not in found["message"]
    assert "kubeadm certs renew all" in found["fix"] and "remediate -e control_plane_machines=m2" in found["fix"]
    assert blocked(tell(healthy(3), "m2")) == found, "also where nothing is due"
    assert "remediate -e control_plane_machines=m2,m3." in blocked(tell(healthy(3), "m2", "m3"))["fix"]


def test_the_machine_itself_may_be_replaced() -> None:
    builder = tell(healthy(3).annotate("cluster.x-k8s.io/remediate-machine", "", "m2"), "m2")
    decision = decide(builder.build())
    assert (decision["action"], decision["target"]["machine"]) == ("remove", "m2")


@pytest.mark.parametrize(
    ("folder", "flag"),
    [
        ("/etc/kubernetes/pki/", ""),
        ("/srv/pki", " --cert-dir=/srv/pki"),
        ("/srv/a b; reboot", " --cert-dir=CERTIFICATES_DIR"),
    ],
)
def test_by_hand_kubeadm_is_told_the_folder_that_it_cannot_know(folder: str, flag: str) -> None:
    """Without an API it takes its default, finds nothing there and renews nothing."""
    builder = tell(healthy(1).unreachable(), "m1")
    builder.spec["kubeadmConfigSpec"]["clusterConfiguration"]["certificatesDir"] = folder
    fix = blocked(builder)["fix"]
    assert f": kubeadm certs renew all{flag} (before 1.20: kubeadm alpha certs renew all{flag};" in fix


def test_an_authority_that_has_ended_is_renewed_by_nothing() -> None:
    fix = blocked(tell(healthy(3), "m1", files=("ca.crt",)))["fix"]
    assert fix.startswith("A certificate authority itself has ended") and fix.endswith(AUTHORITY_ENDED)


def test_a_moment_before_the_end_nothing_is_wrong() -> None:
    assert decide(tell(healthy(3), "m1", "m2", end=at(-1)).build())["action"] == "none"
