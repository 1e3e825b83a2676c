# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Status of a cluster as lines: verdict and what next first. Pure.

Every text in it is one legible line.
"""

from __future__ import annotations

import typing as t

from ....module_utils.common.legible import one_line
from ....module_utils.common.values import clip, parse_time
from ...decision import terms
from ...decision.conditions.node_network import WAY_OUT
from ...objects.conditions import (
    API_SERVER_POD_HEALTHY,
    CONTROLLER_MANAGER_POD_HEALTHY,
    ETCD_MEMBER_HEALTHY,
    SCHEDULER_POD_HEALTHY,
    UP_TO_DATE,
)
from ...progress.progress_lines import BAD, GOOD, PLAIN, WAITING, Line
from .folded import folded
from .verdict import BLOCKED, HEALTHY, OUTDATED, UNHEALTHY, words, worst

Object = dict[str, t.Any]

WORKS, FAILS, UNKNOWN = "ok", "NO", "?"
HEALTH_COLUMNS = (
    ("API", API_SERVER_POD_HEALTHY),
    ("CTRL", CONTROLLER_MANAGER_POD_HEALTHY),
    ("SCHED", SCHEDULER_POD_HEALTHY),
    ("ETCD", ETCD_MEMBER_HEALTHY),
    ("UPTODATE", UP_TO_DATE),
)
WORKER_COLUMNS = (("NODE", "NodeHealthy"), ("READY", "Ready"), ("UPTODATE", "UpToDate"))
KINDS = {UNHEALTHY: BAD, BLOCKED: BAD, OUTDATED: WAITING, HEALTHY: GOOD}
_NEXT = {terms.BLOCKED: "BLOCKED", terms.WAIT: "waits for", terms.POSTPONED: "postponed"}
_SHOWN_REASONS = 2
_LONGEST = 1000


def status_lines(data: Object) -> list[Line]:
    """Return the status as lines, with kinds that colours follow."""
    colour = KINDS[worst(data["trouble"])]
    lines = [Line(f"CLUSTER {data['namespace']}/{data['cluster']}   {headline(data)}", colour)]
    lines += _next_lines(data, colour)
    lines += _failure_lines(data)
    lines += [Line(""), *map(Line, _facts(data))]
    if data["machines"]:
        lines += [Line(""), *_machine_rows(data)]
        lines += [Line(f"    {each}", BAD) for each in folded(data["machines"])]
    workers = [machine for each in data["machineDeployments"] for machine in each["machines"]]
    if workers:
        lines += [Line(""), *_worker_rows(data)]
        lines += [Line(f"    {each}", BAD) for each in folded(workers)]
    return [Line(one_line(each.text), each.kind) for each in lines]


def headline(data: Object) -> str:
    """Return the verdict in one line: how the cluster is, and why."""
    found = data["trouble"]
    said = words(found) + (", PAUSED" if data["paused"] else "")
    # What it is blocked on is the next line.
    reasons = found[UNHEALTHY] or ([] if found[BLOCKED] else found[OUTDATED])
    if worst(found) == HEALTHY:
        replicas = data["replicas"]
        reasons = [f"{replicas['ready']} of {replicas['desired']} machines ready and up to date"]
        if workers := [each["replicas"] for each in data["machineDeployments"]]:
            ready, desired = (sum(each[key] for each in workers) for key in ("ready", "desired"))
            reasons.append(f"{ready} of {desired} workers")
    more = f" (and {len(reasons) - _SHOWN_REASONS} more)" if len(reasons) > _SHOWN_REASONS else ""
    text = "; ".join(reasons[:_SHOWN_REASONS]) + more
    return f"{said}: {text}" if text else f"{said}: a person must act"


def _next_lines(data: Object, colour: str) -> list[Line]:
    following, title = data["next"], _NEXT.get(data["decision"]["action"], "next")
    lines = [Line(f"  {title:<10} {clip(following['message'], _LONGEST)}", colour)]
    lines += [Line(f"  {'to do':<10} {clip(each, _LONGEST)}") for each in following["todo"]]
    return lines + ([Line(f"  {'to do':<10} {following['command']}")] if following["command"] else [])


def _failure_lines(data: Object) -> list[Line]:
    """Return the step that failed last, while it matters.

    That is while there is trouble, or no other step was taken since.
    """
    failure = data["lastFailure"]
    if not failure or (worst(data["trouble"]) == HEALTHY and not failure["isLast"]):
        return []
    step = " ".join(filter(None, (failure["action"], failure["target"])))
    said = clip(failure["message"], 240)
    text = f"{failure['at']}{_ago(failure['at'], data['observedAt'])} {clip(step, 120)}{f': {said}' if said else ''}"
    return [Line(f"  {'failed':<10} {text}", BAD if failure["isLast"] else PLAIN)]


def _ago(then: str, now: str) -> str:
    begun, ended = parse_time(then), parse_time(now)
    if begun is None or ended is None or ended < begun:
        return ""
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if ended - begun >= size:
            return f" ({(ended - begun) // size} {unit} ago)"
    return " (just now)"


def _facts(data: Object) -> list[str]:
    replicas, version, etcd = data["replicas"], data["version"], data["etcd"]
    running = ", ".join(version["running"]) or "nothing yet"
    endpoint = data["endpoint"]
    lines = [
        f"  phase      {data['phase'] or 'not known'}",
        f"  replicas   {replicas['desired']} desired, {replicas['existing']} existing, {replicas['ready']} ready, {replicas['upToDate']} up to date",
        f"  version    {version['desired']} wanted, {running} running",
        f"  endpoint   {endpoint['address'] or 'none yet'}   {_word(endpoint['answers'], 'answers', 'DOES NOT ANSWER', 'not asked')}",
        f"  etcd       {_etcd_line(etcd)}",
        f"  add-ons    {_addons_line(data['addons'])}",
    ]
    lines += [f"  workers    {_deployment_line(each)}" for each in data["machineDeployments"]]
    lines += [f"  resources  {_resource_set_line(each)}" for each in data["resourceSets"]]
    if data["withoutNetworkPlugin"]:
        lines.append(
            f"  network    NO NETWORK PLUGIN on {', '.join(data['withoutNetworkPlugin'])}: no pod can run there"
        )
        lines.append(f"             to do: {WAY_OUT}")
    if data["readinessGates"]:
        lines += _gate_lines(data["readinessGates"])
    if data["maintenance"]:
        lines.append(f"  window     {_window_line(data['maintenance'])}")
    if not data["reachable"]:
        lines.append(f"  seen from  no machine: {data['message']}")
    lines += [f"  left       {each}" for each in data["leftBehind"]]
    lines += [f"  drift      {each}" for each in data["drift"]]
    if data.get("kubeconfig"):
        lines.append(f"  kubeconfig {data['kubeconfig']}")
    return lines


def _deployment_line(found: Object) -> str:
    counted = found["replicas"]
    numbers = ", ".join(
        f"{counted[key]} {word}"
        for key, word in (
            ("desired", "desired"),
            ("existing", "existing"),
            ("available", "available"),
            ("upToDate", "up to date"),
        )
    )
    notes = f", paused ({found['pausedBecause']})" if found["paused"] else ""
    notes += ", deleting" if found["deleting"] else ""
    return f"{clip(found['name'], 80)}: {numbers}; {found['version']} wanted{notes}"


def _resource_set_line(found: Object) -> str:
    done = found["resources"] - len(found["notApplied"])
    paused = ", paused" if found["paused"] else ""
    line = f"{clip(found['name'], 80)}: {done} of {found['resources']} applied ({found['strategy']}{paused})"
    if found["notApplied"]:
        line += f"; NOT APPLIED: {', '.join(clip(each, 320) for each in found['notApplied'])}"
        line += f": {clip(found['message'], 1000)}" if found["message"] else ""
    return line


def _word(value: t.Optional[bool], yes: str, no: str, unknown: str) -> str:
    return unknown if value is None else (yes if value else no)


def _etcd_line(etcd: Object) -> str:
    if etcd.get("external"):
        return f"external: {clip(etcd['message'], 400)}"
    if not etcd["known"]:
        return f"not known: {etcd['message']}"
    parts = []
    for member in etcd["members"]:
        notes = [note for note, on in (("leader", member["leader"]), ("learner", member["learner"])) if on]
        if member["healthy"] is not True:
            notes.append("NOT HEALTHY")
        parts.append(member["name"] + (f" ({', '.join(notes)})" if notes else ""))
    voters = sum(1 for member in etcd["members"] if not member["learner"])
    alarms = ", ".join(f"{each['alarm']} on {each['member']}" for each in etcd["alarms"])
    line = f"{voters} voters: {', '.join(parts)}; " + (f"ALARMS: {alarms}" if alarms else "no alarms")
    return line + ("; MEMBERS DISAGREE about the member list" if etcd.get("agrees") is False else "")


def _gate_lines(gates: list[Object]) -> list[str]:
    words = {"True": "met", "False": "NOT MET"}
    met = sum(1 for gate in gates if gate["status"] == "True")
    lines = [f"  gates      {met} of {len(gates)} met"]
    for gate in gates:
        if gate["status"] != "True":
            said = clip(gate.get("message"), 400)
            name, state = clip(gate["name"], 63), words.get(gate["status"], "unknown")
            lines.append(f"    {name}: {state}" + (f": {said}" if said else ""))
    return lines


def _window_line(window: Object) -> str:
    said = clip(window.get("message"), 400)
    if window.get("open") is None:
        return f"unknown: {said}"
    if window["open"]:
        return f"open until {window.get('closesAt') or 'further notice'} ({said})"
    opens = f"opens {window['opensAt']}" if window.get("opensAt") else "never opens"
    return f"closed, {opens} ({said})"


def _addons_line(addons: Object) -> str:
    found = [addons[key] for key in ("kubeProxy", "dns", "nodeRegistration")]
    if all(each["works"] is None for each in found):
        return "not known: no API server was asked"
    return "; ".join(str(each["message"]) + (" (NOT WORKING)" if each["works"] is False else "") for each in found)


def _machine_rows(data: Object) -> list[Line]:
    rows = [["MACHINE", "VERSION", "DOMAIN", "ADDRESS", "NODE", *(title for title, _type in HEALTH_COLUMNS)]]
    leader = data["etcd"].get("leader")
    for machine in data["machines"]:
        cells = _cells(machine, HEALTH_COLUMNS)
        if leader and machine["node"] == leader and cells[3] == WORKS:
            cells[3] = "ok, leader"
        rows.append([*_place(machine), *cells])
    return [Line(f"  {text}", _row_kind(row)) for text, row in zip(aligned(rows), rows)]


def _worker_rows(data: Object) -> list[Line]:
    rows = [
        [
            "WORKER",
            "DEPLOYMENT",
            "VERSION",
            "DOMAIN",
            "ADDRESS",
            "NODE NAME",
            *(title for title, _type in WORKER_COLUMNS),
        ]
    ]
    for deployment in data["machineDeployments"]:
        for machine in deployment["machines"]:
            rows.append([*_place(machine, deployment["name"]), *_cells(machine, WORKER_COLUMNS)])
    return [Line(f"  {text}", _row_kind(row)) for text, row in zip(aligned(rows), rows)]


def _cells(machine: Object, columns: t.Sequence[tuple[str, str]]) -> list[str]:
    by_type = {each["type"]: each["status"] for each in machine["conditions"]}
    return [{terms.TRUE: WORKS, terms.FALSE: FAILS}.get(by_type.get(kind, ""), UNKNOWN) for _title, kind in columns]


def _place(machine: Object, *beside: str) -> list[str]:
    """Return a machine's cells up to its Node, `beside` after its name."""
    node = machine["node"] or (machine["bootstrap"] or "not yet").lower()
    return [
        machine["name"] + (" (deleting)" if machine["deleting"] else ""),
        *beside,
        machine["version"],
        machine["failureDomain"] or "-",
        machine["address"] or "-",
        "same" if node == machine["name"] else node,
    ]


def _row_kind(row: t.Sequence[str]) -> str:
    return BAD if FAILS in row else WAITING if UNKNOWN in row else PLAIN


def aligned(rows: t.Sequence[t.Sequence[str]]) -> list[str]:
    """Return rows of cells as lines whose columns are below each other."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows]
