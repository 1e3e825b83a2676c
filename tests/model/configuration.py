# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A configuration of the model: what is wanted, how things are set up, and which faults may happen."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from model.world import ACTION, DUE, ROTATION, Host, World

EVERY_FAULT = (
    "member dies",
    "member comes back",
    "component breaks",
    "component goes silent",
    "component comes back",
    "machine dies",
    "machine comes back",
    "unfinished machine dies",
    "joining machine falls silent",
    "health check marks",
    "health check unmarks",
    "user asks to remediate",
    "user asks to delete first",
    "user deletes a Machine",
    "user takes a member out",
    "user deletes a Node",
    "Machine is lost from the store",
    "spec flips",
    "replicas change",
    "window turns",
    "an Action begins",
    "an Action ends",
    "a rotation is given up",
    "a refusal is a minute old",
)
_PARTIAL = (
    "nobody answers",
    "etcd unreachable",
    "lists differ",
    "lists unknown",
    "no leader",
    "endpoint unknown",
    "a member silent",
    "an alarm",
    "one-sided view",
    "no witness",
)


@dataclass(frozen=True, eq=False)
class Configuration:
    """One exploration. `faults`: their kinds; `budget`: how many may happen on one path (-1: no bound).

    `most` bounds the machines that exist at once; where it is reached, no fault makes another. `merged`: worlds that differ in
    the machines' ages only are one. `partial`: observations that lack or contradict something are tried in every world.
    `consent`: a person consents to losing the second voter, whichever machine that is. `actions`: it begins beside an Action and
    beside a rotation that was given up, too. `sets`: a ClusterResourceSet is to be applied. `suffix`: what the manifest puts behind a
    machine's name for its Node.
    """

    name: str
    replicas: tuple[int, ...] = (3,)
    surge: int = 1
    external: bool = False
    faults: tuple[str, ...] = ()
    budget: int = -1
    merged: bool = False
    partial: tuple[str, ...] = ()
    forming: bool = False
    learners: bool = True
    modern: bool = True
    component: str = "kube-scheduler"
    replace: str = "allow"
    approved: bool = False
    consent: bool = False
    max_retry: int = -1
    retry_period: int = 0
    min_ready: int = 0
    gate: str = ""
    windows: bool = False
    actions: bool = False
    sets: bool = False
    suffix: str = ""
    versions: bool = False
    strays: int = 1
    plan: bool = True
    validate: bool = False
    limit: int = 0

    def with_(self, **fields: Any) -> Configuration:
        """This configuration with other values."""
        return replace(self, **fields)

    @property
    def counts(self) -> bool:
        """Whether retries are counted."""
        return self.max_retry >= 0

    @property
    def api(self) -> tuple[bool, bool]:
        """What an API server needs to answer: whether etcd is external, and whether it answers beside the broken component."""
        return self.external, self.component != "kube-apiserver"

    def starts(self) -> list[World]:
        """The worlds that the exploration begins in: nothing at all, or a control plane that works."""
        if self.forming:
            return [
                World(
                    replicas=wanted,
                    infrastructure=False,
                    certificates=False,
                    initialized=False,
                    latched=False,
                    sets=DUE if self.sets else "",
                    faults=self.budget,
                )
                for wanted in self.replicas
            ]
        host = Host("joined", "" if self.external else "up", "works", True)
        return [
            World(
                hosts=(host,) * wanted,
                replicas=wanted,
                beside=beside,
                sets=DUE if self.sets else "",
                faults=self.budget,
            )
            for wanted in self.replicas
            for beside in (("", ACTION, ROTATION) if self.actions else ("",))
        ]


_MEMBERS = ("member dies", "member comes back")
_PARTS = ("component breaks", "component comes back")
_HEALTH = (*_MEMBERS, *_PARTS)
_MARKS = ("health check marks", "health check unmarks")
_USER = ("user deletes a Machine", "spec flips")
_DEATH = ("machine dies", "machine comes back")
_WISHES = ("user asks to remediate", "user asks to delete first")
_MEDDLING = ("user takes a member out", "user deletes a Node", "Machine is lost from the store")
_ACTIONS = ("an Action begins", "an Action ends", "a rotation is given up")
_UNSEEN = ("unfinished machine dies", "joining machine falls silent")
_RESTED = "a refusal is a minute old"
_NOT_ALL = ("replicas change", "window turns", _RESTED, *_UNSEEN, *_ACTIONS)
_ALL = tuple(each for each in EVERY_FAULT if each not in _NOT_ALL)


def _bounded(name: str, faults: tuple[str, ...], budget: int, *replicas: int, **fields: Any) -> Configuration:
    settings: dict[str, Any] = {"merged": True, "validate": True, **fields}
    return Configuration(name, replicas or (3,), faults=faults, budget=budget, **settings)


# Short: part of every unit run. Each aims at other rules, and together they have more than 10^4 worlds.
BOUNDED: tuple[Configuration, ...] = (
    Configuration("create 1", (1,), forming=True, faults=_HEALTH, partial=_PARTIAL, validate=True),
    _bounded("create 3", (*_HEALTH, "user deletes a Machine"), 1, merged=False, forming=True, partial=_PARTIAL),
    _bounded("the second voter", (*_DEATH, *_MEMBERS), 2, merged=False, forming=True, learners=False, consent=True),
    _bounded(
        "Nodes of other names", ("machine dies", "member dies"), 1, forming=True, learners=False, suffix=".example.com"
    ),
    _bounded("joins that nobody sees", (*_UNSEEN, "health check marks", "user deletes a Machine"), 1, forming=True),
    _bounded(
        "growth that nobody sees", (*_UNSEEN, "user asks to remediate", "replicas change"), 3, 1, 3, learners=False
    ),
    _bounded("one machine", _ALL, 2, 1, merged=False, component="kube-apiserver", partial=_PARTIAL),
    _bounded(
        "three machines, partly seen",
        (*_MEMBERS, *_MARKS, *_USER, *_DEATH, "component goes silent"),
        1,
        merged=False,
        partial=_PARTIAL,
    ),
    _bounded("three machines", (*_HEALTH, *_MARKS, *_USER, *_DEATH), 2),
    _bounded("three machines, oddities", (*_WISHES, *_MEDDLING), 2, partial=_PARTIAL),
    _bounded("scaling", ("replicas change", "spec flips", "member dies", "health check marks"), 2, 1, 3),
    _bounded("scaling, five", ("replicas change", "spec flips"), 1, 3, 5),
    _bounded("maxSurge 0", (*_HEALTH, *_MARKS, *_USER), 2, surge=0),
    _bounded("external etcd", (*_PARTS, *_MARKS, *_USER, *_DEATH, "replicas change"), 2, 2, 3, external=True),
    _bounded("windows", ("window turns", "spec flips", "health check marks", "member dies"), 2, windows=True),
    _bounded("retries", ("health check marks", "member dies"), 3, max_retry=1, retry_period=1000),
    _bounded("old etcd", (*_MARKS, "member dies", "machine dies"), 3, modern=False, learners=False),
    _bounded("ask", ("spec flips", *_MARKS, "user deletes a Machine"), 2, replace="ask"),
    _bounded("min ready", ("spec flips", "replicas change", *_MARKS), 2, min_ready=60, gate="True"),
    _bounded("gate not met", ("spec flips", *_MARKS), 2, gate="Unknown"),
    _bounded("versions", ("spec flips", *_MARKS, "member dies"), 2, versions=True),
    _bounded("beside Actions", (*_ACTIONS, *_MARKS, *_USER, *_MEMBERS), 2, actions=True),
    _bounded("resource sets", (_RESTED, "machine dies", "user deletes a Machine"), 1, forming=True, sets=True),
    _bounded("scaling beside Actions", (*_ACTIONS, "replicas change", "machine dies"), 2, 1, 3, actions=True, surge=0),
)

# Complete within their bounds: up to 3 machines wanted (4 existing) without a bound on faults, 4 and 5 with up to 2.
# The longest first, so that no core idles at the end.
FULL: tuple[Configuration, ...] = (
    Configuration(
        "3: members and components",
        (3,),
        faults=(*_HEALTH, "health check marks", "user deletes a Machine", "spec flips"),
        merged=True,
    ),
    Configuration(
        "3, external etcd: components", (3,), external=True, faults=(*_PARTS, "health check marks", *_USER), merged=True
    ),
    Configuration("3: members", (3,), faults=(*_MEMBERS, *_MARKS, *_USER), merged=True),
    Configuration("3: deaths", (3,), faults=(*_DEATH, "health check marks", *_USER), merged=True),
    Configuration("3: oddities", (3,), faults=("user asks to remediate", *_MEDDLING), merged=True),
    Configuration("3: maxSurge 0", (3,), surge=0, faults=(*_MEMBERS, *_MARKS, *_USER), merged=True),
    Configuration("1 and 3: scaling", (1, 3), faults=("replicas change", *_MEMBERS, *_USER), merged=True),
    Configuration("1: everything", (1,), faults=_ALL, merged=True),
    _bounded(
        "three machines, seen in part", (*_MEMBERS, "component breaks", *_MARKS, *_USER, *_DEATH), 2, partial=_PARTIAL
    ),
    _bounded("five machines", (*_MEMBERS, "component breaks", "component goes silent", *_MARKS, *_USER, *_DEATH), 2, 5),
    _bounded(
        "five machines, partly seen", ("member dies", "component breaks", *_MARKS, *_USER), 2, 5, partial=_PARTIAL
    ),
    _bounded("five machines, maxSurge 0", (*_MEMBERS, *_MARKS, *_USER, *_DEATH), 2, 5, surge=0),
    _bounded("five machines, oddities", (*_WISHES, *_MEDDLING), 2, 5, strays=2),
    _bounded(
        "five machines, old etcd", (*_MEMBERS, *_MARKS, *_USER, "machine dies"), 2, 5, modern=False, learners=False
    ),
    _bounded(
        "five machines, three faults",
        ("member dies", "health check marks", "user deletes a Machine"),
        3,
        5,
        partial=_PARTIAL,
    ),
    _bounded("one, three, five machines", ("replicas change", "spec flips", *_MEMBERS, *_MARKS), 2, 1, 3, 5),
    _bounded(
        "four and five machines, external etcd",
        (*_PARTS, *_MARKS, *_USER, *_DEATH, "replicas change"),
        2,
        4,
        5,
        external=True,
    ),
    _bounded("windows, three faults", ("window turns", *_USER, *_MARKS, *_MEMBERS), 3, windows=True),
    _bounded("retries, four faults", (*_MARKS, *_MEMBERS), 4, max_retry=1, retry_period=1000),
    _bounded("never", ("spec flips", *_MARKS, "user deletes a Machine"), 2, replace="never"),
    _bounded("beside Actions, three faults", (*_ACTIONS, *_MARKS, *_USER, *_DEATH, *_WISHES), 3, actions=True),
    _bounded("resource sets, forming", (_RESTED, *_MEMBERS, "user deletes a Machine"), 2, forming=True, sets=True),
    _bounded("resource sets, beside Actions", (_RESTED, *_ACTIONS, *_MARKS, *_USER, "machine dies"), 2, sets=True),
    _bounded("versions, three faults", ("spec flips", *_MARKS, *_MEMBERS), 3, versions=True),
    *BOUNDED,
)
