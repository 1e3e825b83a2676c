# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Statuses of several clusters: table, document, what fails a run. Pure."""

from __future__ import annotations

import typing as t

from ....module_utils.common.legible import lines, one_line
from ....module_utils.common.values import clip
from ...progress.progress_lines import BAD, Line
from .table import KINDS, aligned, headline, status_lines
from .verdict import BLOCKED, HEALTHY, OUTDATED, TROUBLES, UNHEALTHY, rank, worst

Object = dict[str, t.Any]

STATUS_VERSION = "v1"
NOT_OBSERVED = "not observed"
FAILED_AS_ASKED = "The status was read and nothing was changed; this fails because control_plane_fail_when asks for it"
# Of so many clusters with trouble the whole status is shown.
MOST_SHOWN = 20
_LONGEST = 200


def not_observed(host: str, namespace: str, cluster: str, why: str) -> Object:
    """Return the entry of a cluster that could not be observed."""
    trouble = {UNHEALTHY: [f"it could not be observed: {clip(why.strip().partition(chr(10))[0], 400)}"]}
    return {
        "host": one_line(host),
        "namespace": one_line(namespace),
        "cluster": one_line(cluster),
        "error": why,
        "trouble": {**trouble, BLOCKED: [], OUTDATED: []},
    }


def by_trouble(found: t.Iterable[Object]) -> list[Object]:
    """Return the clusters sorted by trouble, worst first, then by host."""
    return sorted(found, key=lambda each: ("error" not in each, rank(each["trouble"]), each["host"]))


def status_document(found: t.Iterable[Object]) -> Object:
    """Return the clusters' statuses as one document, worst first.

    Its shape is docs/reference/status.schema.json.
    """
    return {"statusVersion": STATUS_VERSION, "clusters": by_trouble(found)}


def fleet_lines(found: t.Sequence[Object]) -> list[Line]:
    """Return the lines of clusters: a table, then what has trouble.

    Of one cluster it is the status alone.
    """
    ordered = by_trouble(found)
    if len(ordered) == 1:
        return _cluster_lines(ordered[0])
    counts = {each: sum(_word(one) == each for one in ordered) for each in (NOT_OBSERVED, *TROUBLES, HEALTHY)}
    told = ", ".join(f"{count} {each}" for each, count in counts.items() if count)
    shown = [Line(f"{len(ordered)} clusters: {told}", KINDS[worst(ordered[0]["trouble"])])]
    rows = [["CLUSTER", "VERDICT", "READY", "VERSION", "ETCD", "WHY"], *map(_row, ordered)]
    kinds = ["", *(KINDS[worst(each["trouble"])] if worst(each["trouble"]) != HEALTHY else "" for each in ordered)]
    shown += [Line(f"  {text}", kind) for text, kind in zip(aligned(rows), kinds)]
    troubled = [each for each in ordered if _word(each) != HEALTHY]
    for each in troubled[:MOST_SHOWN]:
        shown += [Line(""), *_cluster_lines(each)]
    if len(troubled) > MOST_SHOWN:
        more = f"{len(troubled) - MOST_SHOWN} more clusters have trouble: --limit CLUSTER shows one"
        shown += [Line(""), Line(more)]
    return shown


def changed_lines(found: t.Iterable[Object], shown: dict[str, str], at: str) -> list[Line]:
    """Return a line for each cluster whose status has changed.

    Args:
        found: the statuses of now.
        shown: what was last shown of each host; updated here.
        at: the time that the lines begin with.
    """
    changed = []
    for each in by_trouble(found):
        text = f"{each['host']}: {summary(each)}"
        if shown.get(each["host"]) != text:
            shown[each["host"]] = text
            changed.append(Line(one_line(f"{at} {text}"), KINDS[worst(each["trouble"])]))
    return changed


def summary(each: Object) -> str:
    """Return verdict and what next of a cluster in one line."""
    if "error" in each:
        return f"NOT OBSERVED: {_why(each)}"
    return f"{headline(each)}; next: {clip(each['next']['message'], _LONGEST)}"


def failing(
    found: t.Iterable[Object], kinds: t.Collection[str], own: t.Optional[t.Mapping[str, t.Collection[str]]] = None
) -> list[str]:
    """Return a line for each cluster that fails a run.

    Those that have trouble of one of these kinds, and those that could not be observed.

    Args:
        found: the statuses.
        kinds: kinds of trouble.
        own: kinds by host, which count for it in place of ``kinds``.
    """
    told = []
    for each in by_trouble(found):
        if "error" in each:
            told.append(f"{each['host']} could not be observed: {clip(each['error'], 1000)}")
            continue
        of_host = (own or {}).get(each["host"], kinds)
        wrong = [kind for kind in TROUBLES if kind in of_host and each["trouble"][kind]]
        if wrong:
            told.append(
                f"{each['host']} is " + ", ".join(f"{kind} ({_listed(each['trouble'][kind])})" for kind in wrong)
            )
    return told


def _listed(reasons: t.Sequence[str]) -> str:
    return clip("; ".join(reasons), 400)


def _word(each: Object) -> str:
    return NOT_OBSERVED if "error" in each else worst(each["trouble"])


def _why(each: Object) -> str:
    return clip(lines(each["error"].strip())[0], _LONGEST)


def _row(each: Object) -> list[str]:
    """Return a cluster's cells."""
    if "error" in each:
        return [each["host"], "NOT OBSERVED", "?", "?", "?", _why(each)]
    replicas, etcd = each["replicas"], each["etcd"]
    voters = f"{etcd['quorum']['healthy']}/{etcd['quorum']['voters']}" if etcd.get("quorum") else "?"
    if etcd.get("external"):
        voters = "external"
    verdict, _colon, why = headline(each).partition(": ")
    version = ", ".join(each["version"]["running"]) or "-"
    if worst(each["trouble"]) == BLOCKED:
        why = each["trouble"][BLOCKED][0]
    ready = f"{replicas['ready']}/{replicas['desired']}"
    return [each["host"], verdict, ready, clip(version, 40), voters, clip(why, 120)]


def _cluster_lines(each: Object) -> list[Line]:
    if "error" not in each:
        return status_lines(each)
    head = f"CLUSTER {each['namespace']}/{each['cluster']}   NOT OBSERVED"
    return [Line(one_line(head), BAD), *(Line(f"  {text}") for text in lines(each["error"].strip()))]
