# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Random snapshots for property tests: mostly good, so that what lies behind the first check is reached too."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

from builders import Builder, at, cluster, member_id
from hypothesis import strategies as st
from rules import (
    DELETE_MACHINE,
    MIN_READY,
    REMEDIATE_MACHINE,
    etcd_version,
    external,
    in_progress,
    outdate,
    ready_for,
    replaces,
    seen,
    silent_witness,
    surge,
    upgrade,
    witness,
)

COMPONENTS = ("kube-apiserver", "kube-controller-manager", "kube-scheduler", "etcd")
MEMBERS = ("healthy",) * 5 + ("sick", "learner", "unnamed", "missing", "silent", "alarm")
NODES = ("True",) * 6 + ("Unknown", "missing", "False")
STATES = ("Succeeded",) * 6 + ("", "Running", "Failed")

ODD: tuple[Any, ...] = (
    *(
        None,
        True,
        0,
        -1,
        3.5,
        "",
        "x",
        "{{ x }}",
        "0",
        "v9",
        "2026-02-30T00:00:00Z",
        "0000-01-01T00:00:00Z",
        at(-9999999),
    ),
    *([], [None], [[]], ["x"], [{}], {}, {"x": None}, {"name": []}, 10**30, "9" * 400),
)


def once_in(draw: st.DrawFn, number: int) -> bool:
    """True in about one of so many draws; simplifies to False."""
    return draw(st.integers(0, number - 1)) == number - 1


@st.composite
def snapshots(draw: st.DrawFn) -> dict[str, Any]:
    """A snapshot in any state: creation, life, rollout, remediation, adoption, deletion, and faults in each."""
    wanted = draw(st.sampled_from((3, 1, 5, 7)))
    builder = cluster(wanted)
    if draw(st.booleans()):
        builder.domains("a", "b", "c")
    # Half of all clusters are well but for at most one machine: only there do steps happen.
    calm = draw(st.booleans())
    surged = once_in(draw, 8)
    count = wanted + 1 if surged else wanted if draw(st.booleans()) else draw(st.integers(0, 7))
    troubled = draw(st.integers(1, 14))
    for number in range(1, count + 1):
        _machine(draw, builder, f"m{number}", calm and number != troubled)
    if builder.workload["etcd"] and once_in(draw, 10):
        builder.member("stray", unnamed=draw(st.booleans()), learner=draw(st.booleans()))
        seen(builder, draw(st.sampled_from((0, 59, 60, 3000))), "stray")
    if not calm:
        _surroundings(draw, builder)
    _rarely(draw, builder)
    if surged:
        # In the middle of a replacement: the new machine is there, the old one still too.
        outdate(builder, "m1")
        builder.snapshot["controlPlane"]["status"]["rollout"] = {"replicas": wanted}
    if count:
        _wishes(draw, builder)
        _remediation(draw, builder)
    if builder.workload["etcd"] and once_in(draw, 10):
        external(builder, draw(st.sampled_from((None, {"reachable": True}, {"reachable": False}))))
    elif builder.workload["etcd"]:
        _witnesses(draw, builder)
    return builder.build()


def _machine(draw: st.DrawFn, builder: Builder, name: str, well: bool) -> None:
    state = "Succeeded" if well else draw(st.sampled_from(STATES))
    domain = draw(st.sampled_from(("", "a", "b", "c", "gone")))
    builder.machine(name, state, age=draw(st.sampled_from((9000, 1000, 100, 20))), domain=domain)
    if state == "Failed" and draw(st.booleans()) and builder.workload["reachable"]:
        builder.works(name)
    if well:
        return
    entry = builder.entry(name)
    if once_in(draw, 16):
        entry["infrastructureMachine"]["status"]["state"] = "dead"
    if once_in(draw, 12):
        builder.deleting(name)
    if not any(node["name"] == name for node in builder.workload["nodes"]):
        return
    node = draw(st.sampled_from(NODES))
    if node == "missing":
        builder.workload["nodes"] = [each for each in builder.workload["nodes"] if each["name"] != name]
    else:
        builder.node(name, ready=node)
    if once_in(draw, 8):
        builder.pod(
            name,
            draw(st.sampled_from(COMPONENTS)),
            phase=draw(st.sampled_from(("Pending", "Running", "Failed", "Unknown"))),
        )
    _member(builder, name, draw(st.sampled_from(MEMBERS)))


def _member(builder: Builder, name: str, kind: str) -> None:
    etcd = builder.workload["etcd"]
    if kind in ("sick", "learner", "unnamed"):
        builder.member(
            name,
            healthy=kind != "sick",
            learner=kind == "learner",
            unnamed=kind == "unnamed",
            address=f"10.0.0.{name[1:]}",
        )
    elif kind == "missing":
        builder.without_member(name)
    elif kind == "silent":
        etcd["statuses"].pop(member_id(name))
    elif kind == "alarm":
        etcd["alarms"].append({"memberID": member_id(name), "alarm": "NOSPACE"})
    if etcd["leader"] not in [each["id"] for each in etcd["members"]]:
        etcd["leader"] = None


def _surroundings(draw: st.DrawFn, builder: Builder) -> None:
    if once_in(draw, 10):
        builder.unreachable()
    workload = builder.workload
    if once_in(draw, 6):
        builder.endpoint(draw(st.sampled_from((True, False, None))))
    if workload["etcd"] and once_in(draw, 6):
        workload["etcd"]["memberListAgrees"] = draw(st.sampled_from((False, None)))
    if workload["etcd"] and once_in(draw, 10):
        workload["etcd"]["leader"] = None
    if workload["reachable"] and once_in(draw, 10):
        workload["initialized"] = False


def _rarely(draw: st.DrawFn, builder: Builder) -> None:
    snapshot = builder.snapshot
    if once_in(draw, 6):
        for owner in ("cluster", "controlPlane"):
            snapshot[owner]["status"] = {}
    if once_in(draw, 12):
        snapshot["certificates"][draw(st.sampled_from(("sa", "kubeconfig")))]["present"] = False
    if once_in(draw, 16):
        builder.deleting()
    if once_in(draw, 16):
        snapshot["cluster"]["spec"]["paused"] = True
    if draw(st.booleans()):
        builder.stored("EtcdClusterHealthy", "False", 500).stored("RemoteConnectionProbe", "False", 500, "cluster")


def _wishes(draw: st.DrawFn, builder: Builder) -> None:
    """What the user wants otherwise now: version, spec, number, pace, consent."""
    snapshot, names = builder.snapshot, [each["machine"]["metadata"]["name"] for each in builder.snapshot["machines"]]
    some = st.lists(st.sampled_from(names), max_size=3, unique=True)
    if once_in(draw, 4):
        outdate(builder, *draw(some))
    if once_in(draw, 5):
        upgrade(builder, draw(st.sampled_from(("v1.21.0", "v1.20.3", "v1.20.1", "v1.19.9", "v1.22.0"))))
    if once_in(draw, 3):
        surge(builder, draw(st.sampled_from((0, 1))))
    if once_in(draw, 8):
        snapshot["controlPlane"]["status"]["rollout"] = {"replicas": draw(st.sampled_from((1, 3, 5)))}
    if once_in(draw, 16):
        builder.wants(replicas=draw(st.sampled_from((0, 2, 4))))
    if once_in(draw, 6):
        builder.annotate(DELETE_MACHINE, "", draw(st.sampled_from(names)))
    if once_in(draw, 4):
        replace = draw(st.sampled_from(("allow", "ask", "never")))
        snapshot["policy"] = {"replace": replace, "approved": draw(st.booleans())}
    if once_in(draw, 6):
        is_open = draw(st.sampled_from((True, False, None)))
        snapshot["maintenance"] = {"open": is_open, "message": "", "opensAt": None, "closesAt": None}
    if once_in(draw, 8):
        status = draw(st.sampled_from(("True", "False", "Unknown")))
        snapshot["readinessGates"] = [{"name": "gate", "status": status, "message": ""}]
    if once_in(draw, 8):
        ready_for(builder.annotate(MIN_READY, "60"), draw(st.sampled_from((20, 90))))
    if once_in(draw, 8):
        for name in draw(some):
            owner = draw(st.sampled_from(([], [{"kind": "Other", "name": "x", "controller": True}])))
            builder.entry(name)["machine"]["metadata"]["ownerReferences"] = owner


def _remediation(draw: st.DrawFn, builder: Builder) -> None:
    names = [each["machine"]["metadata"]["name"] for each in builder.snapshot["machines"]]
    if once_in(draw, 3):
        builder.marked(*draw(st.lists(st.sampled_from(names), min_size=1, max_size=2, unique=True)))
    if once_in(draw, 10):
        builder.annotate(REMEDIATE_MACHINE, "", draw(st.sampled_from(names)))
    if once_in(draw, 6):
        in_progress(builder, draw(st.sampled_from(("gone", *names))), draw(st.sampled_from((10, 60, 5000))))
    if once_in(draw, 6):
        replaces(builder, draw(st.sampled_from(names)), draw(st.sampled_from((100, 9000))), draw(st.integers(0, 3)))
    if once_in(draw, 6):
        limits = {"maxRetry": draw(st.integers(0, 2)), "retryPeriodSeconds": draw(st.sampled_from((0, 600)))}
        builder.wants(remediation=limits)


def _witnesses(draw: st.DrawFn, builder: Builder) -> None:
    names = [each["machine"]["metadata"]["name"] for each in builder.snapshot["machines"]]
    names = [name for name in names if name != builder.workload["via"]]
    kind = draw(st.sampled_from(("agrees", "agrees", "none", "silent", "differs")))
    if draw(st.booleans()):
        etcd_version(builder, draw(st.sampled_from(("3.5.9", "3.6.11"))))
    if kind == "none" or not names:
        return
    name = draw(st.sampled_from(names))
    if kind == "silent":
        silent_witness(builder, name)
    else:
        witness(builder, name)
    if kind == "differs":
        theirs = builder.workload["witnesses"][0]["etcd"]
        one = draw(st.sampled_from(theirs["members"]))["id"] if theirs["members"] else None
        if one is not None:
            status = theirs["statuses"].setdefault(one, {"healthy": False})
            status["healthy"] = not status.get("healthy")


def owner_of(draw: Any, document: dict[str, Any]) -> tuple[Any, Any]:
    """A container somewhere in the document, and one of its keys or indexes."""
    owner: Any = document
    while True:
        key = draw(st.sampled_from(list(owner) if isinstance(owner, dict) else range(len(owner))))
        if not isinstance(owner[key], (dict, list)) or not owner[key] or draw(st.integers(0, 6)) == 6:
            return owner, key
        owner = owner[key]


def with_an_odd_field(draw: Any, snapshot: dict[str, Any]) -> None:
    """Put something odd in the place of one field, or take it out."""
    owner, key = owner_of(draw, snapshot)
    if draw(st.booleans()):
        owner[key] = copy.deepcopy(draw(st.sampled_from(ODD)))
    else:
        del owner[key]


def texts_in(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every text in a document: its container and its key or index."""
    for key, each in list(value.items() if isinstance(value, dict) else enumerate(value)):
        if isinstance(each, str):
            yield value, key
        elif isinstance(each, (dict, list)):
            yield from texts_in(each)
