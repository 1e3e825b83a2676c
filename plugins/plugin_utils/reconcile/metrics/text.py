# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Metrics of a cluster as text for Prometheus. Pure.

One more way to print a status (status/table.py). What is not known has no line: a 0 would be a claim.

Source: https://prometheus.io/docs/instrumenting/exposition_formats, "Text-based format".
"""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

from ....module_utils.common.redact import redact
from ....module_utils.common.values import clip, parse_time
from ...decision import terms

Object = dict[str, t.Any]
Labels = t.Mapping[str, t.Any]
PREFIX = "kubeadm_control_plane_"
# Each metric with its help; docs/metrics.md has the same names. All are gauges.
STATE: t.Final[dict[str, str]] = {
    "observed_timestamp_seconds": "When the cluster was observed, by the controller's clock.",
    "info": "Version that the manifest wants, and the Cluster's phase.",
    "paused": "Whether the cluster is paused.",
    "reachable": "Whether an API server answered on one of the machines.",
    "endpoint_answers": "Whether the control plane endpoint leads to the cluster's API.",
    "replicas_wanted": "Machines that the manifest wants.",
    "replicas": "Machines that there are.",
    "replicas_ready": "Machines that are ready.",
    "replicas_up_to_date": "Machines that are as the manifest says.",
    "worker_replicas_wanted": "Workers that a MachineDeployment wants.",
    "worker_replicas": "Workers of a MachineDeployment that there are.",
    "worker_replicas_ready": "Workers of a MachineDeployment that are ready.",
    "worker_replicas_up_to_date": "Workers of a MachineDeployment that are made of its template.",
    "etcd_voters": "Voting members of etcd.",
    "etcd_healthy_voters": "Voting members of etcd that are proven healthy.",
    "etcd_quorum": "Voters that etcd needs to work.",
    "etcd_failure_tolerance": "Voters that may fail before etcd loses its quorum; 0 where it is lost.",
    "etcd_learners": "Members of etcd that don't vote yet.",
    "etcd_leader_info": "The member of etcd that leads.",
    "etcd_raft_term": "Term of etcd's leader; each election begins a new one.",
    "etcd_database_size_bytes": "Size of a member's database.",
    "etcd_alarm": "An alarm that a member of etcd has raised.",
    "etcd_external_answers": "Whether every endpoint of an external etcd answers.",
    "certificate_expiry_timestamp_seconds": "When a certificate of the whole cluster ends.",
    "machine_certificate_expiry_timestamp_seconds": "When a certificate on a machine's disk ends.",
    "decision_info": "What reconcile would do next and why; with the action blocked, why it can't.",
    "planned_steps": "Steps until the cluster is as the stored manifest says.",
    "last_snapshot_timestamp_seconds": "When an etcd snapshot was last kept on a machine, by the journal.",
    "backups": "Backups of etcd in the backup directory.",
    "last_backup_timestamp_seconds": "When the newest backup in the backup directory was taken.",
}
RUN: t.Final[dict[str, str]] = {
    "last_run_timestamp_seconds": "When the last run of the playbook ended.",
    "last_run_info": "How the last run of the playbook ended.",
}
# Longest label, and most lines of one metric: names of members and alarms come from nodes.
LABEL_CHARACTERS, MOST_LINES = 200, 100
_STORE_CHARACTERS = 1000
_LARGEST = 2**63 - 1


@dataclass(frozen=True)
class Kept:
    """Facts of a cluster beside its status.

    Times are RFC 3339, None where there is none. ``planned_steps`` is None where the plan does not reach its end, ``backups`` where no backup directory is
    known.
    """

    planned_steps: t.Optional[int]
    last_snapshot: t.Optional[str] = None
    backups: t.Optional[int] = None
    last_backup: t.Optional[str] = None


class _Lines:
    """Lines of one file, none twice, each metric with its help.

    node_exporter takes no file at all where two lines have the same labels.
    """

    def __init__(self, helps: t.Mapping[str, str], store: str, namespace: str, cluster: str) -> None:
        self._helps = helps
        self._common = {
            "store": clip(redact(store), _STORE_CHARACTERS),
            "cluster_namespace": clip(namespace),
            "cluster_name": clip(cluster),
        }
        self._found: dict[str, dict[str, int]] = {}

    def add(self, name: str, value: t.Any, **labels: t.Any) -> None:
        """Add a line where the value is known.

        It is where it is a number or a truth value.
        """
        if not isinstance(value, int):
            return
        shown = {key: clip(each, LABEL_CHARACTERS) for key, each in labels.items()}
        lines = self._found.setdefault(name, {})
        if len(lines) < MOST_LINES:
            lines.setdefault(_labels({**self._common, **shown}), max(-_LARGEST, min(int(value), _LARGEST)))

    def text(self) -> str:
        """Return the file's text, metrics in the order of their table."""
        told = []
        for name, help_text in self._helps.items():
            if name in self._found:
                told += [f"# HELP {PREFIX}{name} {help_text}", f"# TYPE {PREFIX}{name} gauge"]
                told += [f"{PREFIX}{name}{{{labels}}} {value}" for labels, value in self._found[name].items()]
        return "".join(f"{line}\n" for line in told)


def _labels(labels: Labels) -> str:
    escaped = {key: each.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") for key, each in labels.items()}
    return ",".join(f'{key}="{each}"' for key, each in escaped.items())


def state_text(store: str, data: Object, kept: Kept) -> str:
    """Return the metrics of a cluster's state.

    Args:
        store: the store's permanent name.
        data: as status_data returns it.
        kept: what is known beside it.
    """
    lines = _Lines(STATE, store, data["namespace"], data["cluster"])
    replicas = data["replicas"]
    lines.add("observed_timestamp_seconds", parse_time(data["observedAt"]))
    lines.add("info", 1, version=data["version"]["desired"], phase=data["phase"])
    lines.add("paused", data["paused"])
    lines.add("reachable", data["reachable"])
    lines.add("endpoint_answers", data["endpoint"]["answers"])
    _replicas(lines, "replicas", replicas, data["reachable"])
    for each in data["machineDeployments"]:
        _replicas(lines, "worker_replicas", each["replicas"], data["reachable"], deployment=each["name"])
    _etcd(lines, data["etcd"])
    for name, facts in data["certificates"].items():
        lines.add("certificate_expiry_timestamp_seconds", parse_time(facts.get("notAfter")), certificate=name)
    for machine in data["machines"]:
        for name, end in machine["certificates"].items():
            lines.add(
                "machine_certificate_expiry_timestamp_seconds",
                parse_time(end),
                machine=machine["name"],
                certificate=name,
            )
    decision = data["decision"]
    told = decision["blockedOn"] if decision["action"] == terms.BLOCKED else decision["reasons"]
    for each in told or [{"reason": ""}]:
        lines.add("decision_info", 1, action=decision["action"], reason=each["reason"])
    lines.add("planned_steps", kept.planned_steps)
    lines.add("last_snapshot_timestamp_seconds", parse_time(kept.last_snapshot))
    lines.add("backups", kept.backups)
    lines.add("last_backup_timestamp_seconds", parse_time(kept.last_backup))
    return lines.text()


def _replicas(lines: _Lines, name: str, counted: Object, reachable: bool, **labels: str) -> None:
    lines.add(f"{name}_wanted", counted["desired"], **labels)
    lines.add(name, counted["existing"], **labels)
    if reachable:
        lines.add(f"{name}_ready", counted["ready"], **labels)
        lines.add(f"{name}_up_to_date", counted["upToDate"], **labels)


def _etcd(lines: _Lines, etcd: Object) -> None:
    if etcd.get("external"):
        lines.add("etcd_external_answers", etcd["answers"])
    if not etcd["known"]:
        return
    quorum = etcd["quorum"]
    lines.add("etcd_voters", quorum["voters"])
    lines.add("etcd_healthy_voters", quorum["healthy"])
    lines.add("etcd_quorum", quorum["quorum"])
    lines.add("etcd_failure_tolerance", quorum["tolerance"])
    lines.add("etcd_learners", sum(1 for each in etcd["members"] if each["learner"]))
    if etcd["leader"]:
        lines.add("etcd_leader_info", 1, member=etcd["leader"])
    lines.add("etcd_raft_term", etcd["raftTerm"])
    for each in etcd["members"]:
        lines.add("etcd_database_size_bytes", each["dbSize"] or None, member=each["name"])
    for each in etcd["alarms"]:
        lines.add("etcd_alarm", 1, member=each["member"], alarm=each["alarm"])


def run_text(store: str, namespace: str, cluster: str, playbook: str, result: str, ended_at: str) -> str:
    """Return the metrics of a cluster's last run.

    Args:
        store: the store's permanent name.
        namespace: the cluster's namespace.
        cluster: its name.
        playbook: what was run.
        result: how it ended, as run_outcomes.py names it.
        ended_at: RFC 3339.
    """
    lines = _Lines(RUN, store, namespace, cluster)
    lines.add("last_run_timestamp_seconds", parse_time(ended_at), playbook=playbook)
    lines.add("last_run_info", 1, playbook=playbook, result=result)
    return lines.text()
