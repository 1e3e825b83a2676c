# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The metrics of a cluster are what its status says; what is not known has no line, and no text of others breaks the file."""

from __future__ import annotations

import typing as t

import pytest
from builders import NOW, Builder, at, cluster, healthy, member_id
from prometheus import promtool, samples
from rules import external
from worker_snapshots import NAME, deployment

from ansible_collections.kubeadm.control_plane.plugins.module_utils.common.values import parse_time
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.decide import decide
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.reconcile.metrics.text import (
    MOST_LINES,
    PREFIX,
    Kept,
    run_text,
    state_text,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.reconcile.status.data import status_data

STORE = "/srv/clusters/store"
ETCD_FIGURES = ("etcd_voters", "etcd_healthy_voters", "etcd_quorum", "etcd_failure_tolerance", "etcd_leader_info")


def text_of(builder: Builder, kept: t.Optional[Kept] = None) -> str:
    """The text of a snapshot."""
    snapshot = builder.build()
    return state_text(STORE, status_data(snapshot, decide(snapshot)), kept or Kept(planned_steps=0))


class Told:
    """What a text says."""

    def __init__(self, text: str) -> None:
        self._samples = samples(text)

    def __contains__(self, name: str) -> bool:
        return PREFIX + name in self._samples

    def value(self, name: str) -> int:
        """The value of a metric that has one line."""
        [(_labels, value)] = self._samples[PREFIX + name]
        return value

    def by(self, name: str, label: str) -> dict[str, int]:
        """The values of a metric by a label."""
        return {labels[label]: value for labels, value in self._samples[PREFIX + name]}


def told(builder: Builder, kept: t.Optional[Kept] = None) -> Told:
    """What the text of a snapshot says."""
    return Told(text_of(builder, kept))


def with_ends(builder: Builder) -> Builder:
    """With certificates whose ends are known."""
    builder.snapshot["certificates"] = {"ca": {"present": True, "hasKey": True, "notAfter": "2036-01-01T00:00:00Z"}}
    name = builder.snapshot["machines"][0]["machine"]["metadata"]["name"]
    builder.workload["machineCertificates"] = {name: {"etcd/peer.crt": "2026-12-01T00:00:00Z"}}
    return builder


def test_a_healthy_control_plane() -> None:
    said = told(healthy(3))
    assert [said.value(f"replicas{each}") for each in ("_wanted", "", "_ready", "_up_to_date")] == [3, 3, 3, 3]
    assert [said.value(each) for each in ETCD_FIGURES[:4]] == [3, 3, 2, 1]
    assert said.value("reachable") == said.value("endpoint_answers") == 1 and said.value("paused") == 0
    assert said.by("decision_info", "action") == {"none": 1}
    assert said.value("observed_timestamp_seconds") == parse_time(NOW)
    assert "etcd_alarm" not in said and "backups" not in said and "etcd_external_answers" not in said


def test_workers_by_deployment() -> None:
    """Where no API answers, only those that are wanted, and those that there are."""
    workers = deployment(healthy(1), 3).worker("w1").worker("w2", "old", ready="False").builder
    said = told(workers)
    assert "worker_replicas_wanted" not in told(healthy(1))
    counted = [f"worker_replicas{each}" for each in ("_wanted", "", "_ready", "_up_to_date")]
    assert [said.by(each, "deployment") for each in counted] == [{NAME: 3}, {NAME: 2}, {NAME: 1}, {NAME: 1}]
    dark = told(workers.unreachable())
    assert [each in dark for each in counted] == [True, True, False, False]


def test_every_line_says_which_cluster_of_which_store() -> None:
    text = text_of(healthy(1))
    for lines in samples(text).values():
        for labels, _value in lines:
            assert labels["store"] == STORE and labels["cluster_namespace"] and labels["cluster_name"]


def test_a_member_is_lost() -> None:
    builder = healthy(3)
    builder.sick_member(builder.snapshot["machines"][1]["machine"]["metadata"]["name"])
    said = told(builder)
    assert (said.value("etcd_healthy_voters"), said.value("etcd_failure_tolerance")) == (2, 0)


def test_nothing_is_claimed_of_what_was_not_seen() -> None:
    """A 0 would be a claim, and an alert."""
    said = told(healthy(3).unreachable("connection refused"))
    assert said.value("reachable") == 0 and said.value("replicas") == 3
    for name in (*ETCD_FIGURES, "replicas_ready", "replicas_up_to_date", "endpoint_answers", "etcd_raft_term"):
        assert name not in said, name


def test_why_it_is_blocked() -> None:
    """By the reason's word, which is one of few; the message may be anything."""
    builder = healthy(3)
    name = builder.snapshot["machines"][0]["machine"]["metadata"]["name"]
    builder.workload["etcd"]["alarms"] = [{"memberID": member_id(name), "alarm": "NOSPACE"}]
    said = told(builder)
    assert said.by("decision_info", "action") == {"blocked": 1}
    assert said.by("decision_info", "reason") == {"EtcdAlarm": 1}
    assert said.by("etcd_alarm", "alarm") == {"NOSPACE": 1}


def test_paused() -> None:
    builder = healthy(3)
    builder.snapshot["cluster"]["spec"]["paused"] = True
    said = told(builder)
    assert said.value("paused") == 1 and said.by("decision_info", "reason") == {"Paused": 1}


def test_being_deleted() -> None:
    builder = healthy(3)
    for key in ("cluster", "controlPlane"):
        builder.snapshot[key]["metadata"]["deletionTimestamp"] = at(60)
    said = told(builder)
    assert said.by("info", "phase") == {"Deleting": 1}
    builder.snapshot["controlPlane"] = None
    assert told(builder).value("replicas_wanted") == 0


def test_before_anything_exists() -> None:
    said = told(cluster(3).bare(), Kept(planned_steps=5))
    assert said.value("replicas") == 0 and said.value("replicas_wanted") == 3 and said.value("planned_steps") == 5


@pytest.mark.parametrize("answers", [True, False])
def test_an_external_etcd(answers: bool) -> None:
    """It has no members of ours to count."""
    said = told(external(healthy(3), {"reachable": answers, "message": ""}))
    assert said.value("etcd_external_answers") == answers
    assert not [name for name in ETCD_FIGURES if name in said]


def test_when_certificates_end() -> None:
    """The whole cluster's by name, a machine's by file; of a machine that was not asked the end that was recorded."""
    builder = with_ends(healthy(3))
    second = builder.snapshot["machines"][1]
    annotations = second["kubeadmConfig"]["metadata"].setdefault("annotations", {})
    annotations["machine.cluster.x-k8s.io/certificates-expiry"] = "2027-01-01T00:00:00Z"
    said = told(builder)
    assert said.by("certificate_expiry_timestamp_seconds", "certificate") == {"ca": parse_time("2036-01-01T00:00:00Z")}
    assert said.by("machine_certificate_expiry_timestamp_seconds", "certificate") == {
        "etcd/peer.crt": parse_time("2026-12-01T00:00:00Z"),
        "apiserver.crt": parse_time("2027-01-01T00:00:00Z"),
    }


def test_snapshots_and_backups() -> None:
    """No backup where there could be some is a 0; without a folder for them nothing is known."""
    said = told(healthy(1), Kept(0, last_snapshot="2026-01-01T00:00:00Z", backups=0))
    assert said.value("backups") == 0 and "last_backup_timestamp_seconds" not in said
    assert said.value("last_snapshot_timestamp_seconds") == parse_time("2026-01-01T00:00:00Z")
    said = told(healthy(1), Kept(0, backups=2, last_backup="2026-01-02T00:00:00Z"))
    assert said.value("last_backup_timestamp_seconds") == parse_time("2026-01-02T00:00:00Z")


def test_an_election_begins_a_new_term() -> None:
    """The members' highest: one that is cut off has an older one."""
    builder = healthy(3)
    for number, status in enumerate(builder.workload["etcd"]["statuses"].values()):
        status["raftTerm"] = 7 + number
    assert told(builder).value("etcd_raft_term") == 9


def hostile() -> Builder:
    """Members whose names, alarms and sizes an attacker chose."""
    builder = healthy(3)
    etcd = builder.workload["etcd"]
    for number, member in enumerate(etcd["members"]):
        member["name"] = 'x"} 1\n# TYPE \\' + "y" * 300 + str(number)
        etcd["statuses"][member["id"]]["dbSize"] = 10**400 + number
    first = etcd["members"][0]["id"]
    etcd["alarms"] = [{"memberID": first, "alarm": f'"\u202e\n{number}'} for number in range(MOST_LINES + 50)]
    return builder


def test_no_text_of_a_node_breaks_the_file() -> None:
    """One line that is wrong, or there twice, and node_exporter takes nothing of the file."""
    text = text_of(hostile())
    found = samples(text)
    sizes = found[PREFIX + "etcd_database_size_bytes"]
    assert len(sizes) == 1 and sizes[0][1] == 2**63 - 1, "cut to one length, the names are equal"
    assert len(found[PREFIX + "etcd_alarm"]) == MOST_LINES
    assert max(map(len, text.splitlines())) < 1000 and "\u202e" not in text
    every = [line.rpartition(" ")[0] for line in text.splitlines() if not line.startswith("#")]
    assert len(every) == len({*every})


def test_the_end_of_a_run() -> None:
    said = Told(run_text(STORE, "default", "prod", "reconcile", "failed", "2026-01-01T00:00:00Z"))
    assert said.by("last_run_timestamp_seconds", "playbook") == {"reconcile": parse_time("2026-01-01T00:00:00Z")}
    assert said.by("last_run_info", "result") == {"failed": 1}


def test_a_store_without_its_password() -> None:
    """A URL may carry one, and every user of the network reads metrics."""
    assert "hunter2" not in run_text("the Kubernetes API https://me:hunter2@api", "default", "prod", "r", "failed", NOW)


def test_promtool_finds_nothing_to_say() -> None:
    """All states in one: names, units and help are as Prometheus wants them."""
    full = with_ends(healthy(3))
    full.workload["etcd"]["alarms"] = [{"memberID": full.workload["etcd"]["members"][0]["id"], "alarm": "NOSPACE"}]
    kept = Kept(3, last_snapshot=NOW, backups=1, last_backup=NOW)
    for text in (
        text_of(full, kept),
        text_of(hostile()),
        text_of(external(healthy(3), {"reachable": True, "message": ""})),
        run_text(STORE, "default", "prod", "reconcile", "failed", NOW),
    ):
        assert promtool("check", "metrics", text=text) == ""
