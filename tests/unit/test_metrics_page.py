# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The metrics' page, alert rules and dashboard name what there is; each alert fires for its fault and clears after it."""

from __future__ import annotations

import json
import re
import typing as t
from pathlib import Path

import pytest
import yaml
from prometheus import DASHBOARD, RULES, promtool

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.calls.role_variables import SETTINGS
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.reconcile.metrics.text import PREFIX, RUN, STATE
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store import pause

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "metrics.md").read_text(encoding="utf-8")
KNOWN = {*STATE, *RUN}
CLUSTER = '{store="s",cluster_namespace="default",cluster_name="prod"}'
MINUTE, DAY = 60, 86400


def alerts() -> dict[str, dict[str, t.Any]]:
    """The rules by name."""
    [group] = yaml.safe_load(RULES.read_text(encoding="utf-8"))["groups"]
    return {each["alert"]: each for each in group["rules"]}


def table(heading: str) -> list[list[str]]:
    """The rows of a page's table below a heading, as cells."""
    section = PAGE.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    rows = [line.strip("|").split("|") for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in row] for row in rows[2:]]


def named(expression: str) -> set[str]:
    """The metrics of an expression, without the prefix."""
    return set(re.findall(rf"{PREFIX}(\w+)", expression))


def test_the_page_has_every_metric() -> None:
    listed = [name for row in table("What there is") for name in re.findall(r"`(\w+)`", row[0])]
    assert sorted(listed) == sorted(KNOWN)


def test_the_page_has_every_alert_with_its_time() -> None:
    units = {
        "5m": "5 min",
        "15m": "15 min",
        "30m": "30 min",
        "24h": "24 h",
        "1h": "1 h",
        "2h": "2 h",
        None: "at once",
    }
    listed = [(row[0].strip("`"), row[2]) for row in table("Alerts")]
    assert listed == [(name, units[each.get("for")]) for name, each in alerts().items()]


def test_the_dashboard_shows_metrics_that_there_are() -> None:
    dashboard = json.loads(DASHBOARD.read_text(encoding="utf-8"))
    expressions = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    expressions += [each["definition"] for each in dashboard["templating"]["list"] if "definition" in each]
    assert len(expressions) > 20
    for expression in expressions:
        assert named(expression) and named(expression) <= KNOWN, expression
    for panel in dashboard["panels"]:
        assert panel["title"] and panel["gridPos"]["x"] + panel["gridPos"]["w"] <= 24


@pytest.mark.parametrize("name", alerts())
def test_whoever_is_woken_reads_what_to_type(name: str) -> None:
    """Playbooks, variables and pages that there are, of the cluster that the alert is about."""
    alert = alerts()[name]
    assert named(alert["expr"]) and named(alert["expr"]) <= KNOWN
    notes = alert["annotations"]
    assert set(notes) == {"summary", "description", "to_type"}
    assert "{{ $labels.cluster_name }}" in notes["summary"] and notes["description"].endswith(".")
    first, *_more = notes["to_type"].splitlines()
    assert first.startswith("ansible-playbook -i hosts.yml -i inventory.clusters.yml kubeadm.control_plane.")
    for playbook in re.findall(r"ansible-playbook .*? kubeadm\.control_plane\.(\w+) ", notes["to_type"] + " "):
        assert (ROOT / "playbooks" / f"{playbook}.yml").is_file(), playbook
    assert "--limit {{ $labels.cluster_name }}" in first
    assert {*re.findall(r"-e (control_plane_\w+)=", notes["to_type"])} <= SETTINGS
    for page in re.findall(r"docs/\w+\.md", notes["to_type"]):
        assert (ROOT / page).is_file(), page


def constant(name: str, bad: int, good: int, labels: str = "", minutes: int = 60) -> tuple[str, str]:
    """A metric that is bad for so many minutes, then good."""
    return name + CLUSTER.replace("}", f",{labels}}}" if labels else "}"), f"{bad}x{minutes} {good}x{minutes}"


# Of each alert the lines that make it fire within an hour, and clear after that.
FAULTS: dict[str, list[tuple[str, str]]] = {
    "ControlPlaneUnreachable": [constant("reachable", 0, 1), constant("replicas", 3, 3)],
    "ControlPlaneEndpointDown": [constant("endpoint_answers", 0, 1), constant("reachable", 1, 1)],
    "ControlPlaneEtcdQuorumLost": [constant("etcd_healthy_voters", 1, 3), constant("etcd_quorum", 2, 2)],
    "ControlPlaneEtcdNoFailureTolerance": [
        constant("etcd_failure_tolerance", 0, 1),
        constant("replicas_wanted", 3, 3),
        constant("etcd_healthy_voters", 2, 3),
        constant("etcd_quorum", 2, 2),
    ],
    "ControlPlaneEtcdAlarm": [("etcd_alarm" + CLUSTER.replace("}", ',member="m",alarm="NOSPACE"}'), "1x60 stale")],
    "ControlPlaneEtcdLeaderChanges": [("etcd_raft_term" + CLUSTER, "0+1x60 60x400")],
    "ControlPlaneExternalEtcdDown": [constant("etcd_external_answers", 0, 1)],
    "ControlPlaneReplicasMissing": [
        constant("replicas_ready", 2, 3),
        constant("replicas", 3, 3),
        constant("replicas_wanted", 3, 3),
        constant("paused", 0, 0),
    ],
    "ControlPlaneBlocked": [
        ("decision_info" + CLUSTER.replace("}", ',action="blocked",reason="EtcdAlarm"}'), "1x60 stale"),
    ],
    # The decision beside it changes meanwhile.
    "ControlPlaneActionUnfinished": [
        ("decision_info" + CLUSTER.replace("}", ',action="none",reason="ActionUnfinished"}'), "1x180 stale"),
        ("decision_info" + CLUSTER.replace("}", ',action="wait",reason="ActionUnfinished"}'), "_x90 1x90 stale"),
    ],
    "ControlPlaneRunFailed": [
        ("last_run_info" + CLUSTER.replace("}", ',playbook="reconcile",result="failed"}'), "1x60 stale")
    ],
    "ControlPlanePaused": [constant("paused", 1, 0, minutes=1500)],
    "ControlPlaneCertificateExpires": [
        constant("machine_certificate_expiry_timestamp_seconds", 20 * DAY, 400 * DAY, 'machine="m",certificate="a"'),
        constant("machine_certificate_expiry_timestamp_seconds", 90 * DAY, 400 * DAY, 'machine="m",certificate="b"'),
    ],
    "ControlPlaneAuthorityExpires": [
        constant("certificate_expiry_timestamp_seconds", 80 * DAY, 400 * DAY, 'certificate="ca"')
    ],
    "ControlPlaneBackupOld": [constant("backups", 0, 1, minutes=120)],
    "ControlPlaneMetricsOld": [("observed_timestamp_seconds" + CLUSTER, "0x240 14460+60x240")],
}
# Lines that look like a fault and are none.
QUIET: dict[str, list[tuple[str, str]]] = {
    # Nothing was made yet.
    "ControlPlaneUnreachable": [constant("reachable", 0, 0), constant("replicas", 0, 0)],
    # One machine is all that is wanted.
    "ControlPlaneEtcdNoFailureTolerance": [
        constant("etcd_failure_tolerance", 0, 0),
        constant("replicas_wanted", 1, 1),
        constant("etcd_healthy_voters", 1, 1),
        constant("etcd_quorum", 1, 1),
    ],
    "ControlPlaneReplicasMissing": [
        constant("replicas", 2, 2),
        constant("replicas_wanted", 3, 3),
        constant("paused", 1, 1),
        # Another one, which is being deleted.
        *(
            (series.replace("prod", "gone"), values)
            for series, values in (
                constant("replicas_ready", 0, 0),
                constant("replicas_wanted", 3, 3),
                constant("info", 1, 1, 'phase="Deleting",version="v1.34.0"'),
            )
        ),
    ],
    # It waits for its window.
    "ControlPlaneBlocked": [
        ("decision_info" + CLUSTER.replace("}", ',action="postponed",reason="MaintenanceWindow"}'), "1x60")
    ],
    "ControlPlaneActionUnfinished": [
        # ControlPlaneBlocked fires.
        ("decision_info" + CLUSTER.replace("}", ',action="blocked",reason="ActionUnfinished"}'), "1x180")
    ],
    "ControlPlaneEtcdLeaderChanges": [
        # A rollout of three elects.
        ("etcd_raft_term" + CLUSTER, "7x5 8x5 9x5 10x50"),
        # A restore of a backup begins again, with a term of its own.
        ("etcd_raft_term" + CLUSTER.replace("prod", "restored"), "90x20 2x5 3x50"),
    ],
    "ControlPlaneAuthorityExpires": [
        constant("certificate_expiry_timestamp_seconds", 80 * DAY, 80 * DAY, 'certificate="kubeconfig"')
    ],
    "ControlPlaneBackupOld": [constant("last_backup_timestamp_seconds", 0, 0)],
}


def firing(name: str, minutes: int, fires: bool) -> dict[str, t.Any]:
    """What promtool is to find at that time."""
    found = [{"labels": "{}", "value": 1}] if fires else []
    expression = f'count(ALERTS{{alertname="{name}",alertstate="firing"}})'
    return {"expr": expression, "eval_time": f"{minutes}m", "exp_samples": found}


def test_each_alert_fires_and_clears(tmp_path: Path) -> None:
    """And not before its time, nor for what is no fault."""
    assert set(FAULTS) == set(alerts()) >= set(QUIET)
    tests = []
    for name, lines in FAULTS.items():
        bad = int(re.search(r"x(\d+)", lines[0][1]).group(1))  # type: ignore[union-attr]
        checked = [firing(name, bad - 1, True), firing(name, bad + (420 if "Leader" in name else 2), False)]
        if alerts()[name].get("for"):
            checked.append(firing(name, 0, False))
        tests.append((lines, checked))
    tests += [(lines, [firing(name, 55, False)]) for name, lines in QUIET.items()]
    document = {
        "rule_files": [str(RULES)],
        "evaluation_interval": "1m",
        "tests": [
            {
                "interval": "1m",
                "input_series": [{"series": PREFIX + series, "values": values} for series, values in lines],
                "promql_expr_test": checked,
            }
            for lines, checked in tests
        ],
    }
    (tmp_path / "tests.yml").write_text(yaml.safe_dump(document))
    assert "SUCCESS" in promtool("test", "rules", "tests.yml", folder=tmp_path)


def test_a_health_check_that_failed_is_cleared_by_what_the_alert_says(tmp_path: Path) -> None:
    """Its end is in a file of its own: no reconcile clears it."""
    alert = alerts()["ControlPlaneRunFailed"]
    tests = []
    for playbook, cleared_by in (("reconcile", "reconcile"), ("delete", "reconcile"), ("health_check", "health_check")):
        labels = {"store": "s", "cluster_namespace": "default", "cluster_name": "prod"}
        labels |= {"playbook": playbook, "result": "failed"}
        command = (
            f"ansible-playbook -i hosts.yml -i inventory.clusters.yml kubeadm.control_plane.{cleared_by} --limit prod"
        )
        notes = {}
        for name, text in alert["annotations"].items():
            chosen = re.sub(r"\{\{ if .*\{\{- end \}\}", command, text, flags=re.DOTALL)
            notes[name] = re.sub(r"\{\{ \$labels\.(\w+) \}\}", lambda found, labels=labels: labels[found[1]], chosen)
        assert notes["to_type"].endswith(f":\n{command}") and "was deleted on purpose, don't run" in notes["to_type"]
        series = ",".join(f'{name}="{value}"' for name, value in labels.items())
        expected = {"exp_labels": {**labels, **alert["labels"]}, "exp_annotations": notes}
        tests.append(
            {
                "interval": "1m",
                "input_series": [{"series": f"{PREFIX}last_run_info{{{series}}}", "values": "1x5"}],
                "alert_rule_test": [
                    {"eval_time": "5m", "alertname": "ControlPlaneRunFailed", "exp_alerts": [expected]}
                ],
            }
        )
    document = {"rule_files": [str(RULES)], "evaluation_interval": "1m", "tests": tests}
    (tmp_path / "tests.yml").write_text(yaml.safe_dump(document))
    assert "SUCCESS" in promtool("test", "rules", "tests.yml", folder=tmp_path)


def test_the_alert_of_a_pause_names_the_namespaces_too() -> None:
    typed = alerts()["ControlPlanePaused"]["annotations"]["to_type"]
    assert f"kubectl -n {{{{ $labels.cluster_namespace }}}} delete configmap {pause.NAME}" in typed
    assert f"{{{{ $labels.cluster_namespace }}}}/configmap/{pause.NAME}.yaml" in typed


def test_promtool_takes_the_rules() -> None:
    assert f"{len(alerts())} rules found" in promtool("check", "rules", str(RULES))
