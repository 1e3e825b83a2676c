# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Specs of control planes that the rules over several fields (``crds/rules.py``) refuse or admit, whatever evaluates the rules."""

from __future__ import annotations

import typing as t

Spec = dict[str, t.Any]
ODD, SURGE = "the number of replicas is odd", "maxSurge 0 needs at least 3 replicas"
EXTERNAL: Spec = {
    "endpoints": ["https://192.0.2.9:2379"],
    "caFile": "/etc/kubernetes/pki/etcd-ca.crt",
    "certFile": "/etc/kubernetes/pki/etcd.crt",
    "keyFile": "/etc/kubernetes/pki/etcd.key",
}


def surge(value: int | str, **spec: t.Any) -> Spec:
    """A spec with this maxSurge."""
    return {"rollout": {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": value}}}, **spec}


def etcd(content: Spec, **spec: t.Any) -> Spec:
    """A spec with this etcd."""
    return {"kubeadmConfigSpec": {"clusterConfiguration": {"etcd": content}}, **spec}


# Name: the spec, and the rules that refuse it.
CASES: t.Final[t.Mapping[str, tuple[Spec, frozenset[str]]]] = {
    "one": ({"replicas": 1}, frozenset()),
    "three": ({"replicas": 3}, frozenset()),
    "seven": ({"replicas": 7}, frozenset()),
    "two": ({"replicas": 2}, frozenset({ODD})),
    "four": ({"replicas": 4}, frozenset({ODD})),
    "two, an empty specification": ({"replicas": 2, "kubeadmConfigSpec": {}}, frozenset({ODD})),
    "two, a configuration without etcd": (
        {"replicas": 2, "kubeadmConfigSpec": {"clusterConfiguration": {"clusterName": "prod"}}},
        frozenset({ODD}),
    ),
    "two with an etcd of their own": (etcd({"local": {"dataDir": "/var/lib/etcd"}}, replicas=2), frozenset({ODD})),
    "two with an external etcd": (etcd({"external": EXTERNAL}, replicas=2), frozenset()),
    "a surge of 1 for one": (surge(1, replicas=1), frozenset()),
    "a surge of '1' for one": (surge("1", replicas=1), frozenset()),
    "no surge for one": (surge(0, replicas=1), frozenset({SURGE})),
    "no surge for one, as text": (surge("0", replicas=1), frozenset({SURGE})),
    "no surge for two with an external etcd": (
        {**surge(0), **etcd({"external": EXTERNAL}, replicas=2)},
        frozenset({SURGE}),
    ),
    "no surge for three": (surge(0, replicas=3), frozenset()),
    "no surge for three, as text": (surge("0", replicas=3), frozenset()),
    "no surge for four with an external etcd": (
        {**surge("0"), **etcd({"external": EXTERNAL}, replicas=4)},
        frozenset(),
    ),
    "no surge for two": (surge(0, replicas=2), frozenset({ODD, SURGE})),
    "a strategy that says nothing more": (
        {"replicas": 1, "rollout": {"strategy": {"type": "RollingUpdate"}}},
        frozenset(),
    ),
    "a rollout without a strategy": (
        {"replicas": 1, "rollout": {"before": {"certificatesExpiryDays": 30}}},
        frozenset(),
    ),
}
