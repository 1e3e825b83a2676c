# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Specs of control planes that the rules over several fields (``crds/webhook_rules.py``) refuse or admit, whatever evaluates the rules."""

from __future__ import annotations

import typing as t

Spec = dict[str, t.Any]
ODD, SURGE = "the number of replicas is odd", "maxSurge 0 needs at least 3 replicas"
ETCD, SAME = "etcd doesn't become external, nor local", "this can't be changed"
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


def configured(**configuration: t.Any) -> Spec:
    """A spec of three replicas with this clusterConfiguration."""
    return {"replicas": 3, "kubeadmConfigSpec": {"clusterConfiguration": configuration}}


_NETWORK = {"serviceSubnet": "10.96.0.0/12", "podSubnet": "10.244.0.0/16", "dnsDomain": "cluster.local"}
_LOCAL = {"local": {"dataDir": "/var/lib/etcd"}}
# Name: the spec that was there, the one that comes, and the rules that refuse the change.
CHANGES: t.Final[t.Mapping[str, tuple[Spec, Spec, frozenset[str]]]] = {
    "nothing": (configured(networking=_NETWORK), configured(networking=_NETWORK), frozenset()),
    "etcd becomes external": (configured(etcd=_LOCAL), configured(etcd={"external": EXTERNAL}), frozenset({ETCD})),
    "etcd that nobody spoke of becomes external": (
        {"replicas": 3},
        configured(etcd={"external": EXTERNAL}),
        frozenset({ETCD}),
    ),
    "etcd becomes local": (configured(etcd={"external": EXTERNAL}), {"replicas": 3}, frozenset({ETCD})),
    "an external etcd has another address": (
        configured(etcd={"external": EXTERNAL}),
        configured(etcd={"external": {**EXTERNAL, "endpoints": ["https://192.0.2.10:2379"]}}),
        frozenset(),
    ),
    "etcd has an argument": (
        {"replicas": 3},
        configured(etcd={"local": {"dataDir": "/var/lib/etcd", "imageTag": "3.5.1-0"}}),
        frozenset(),
    ),
    "another network for services": (
        configured(networking=_NETWORK),
        configured(networking={**_NETWORK, "serviceSubnet": "10.97.0.0/16"}),
        frozenset({SAME}),
    ),
    "another network for pods": (
        configured(networking=_NETWORK),
        configured(networking={**_NETWORK, "podSubnet": ""}),
        frozenset({SAME}),
    ),
    "another domain": (
        configured(networking=_NETWORK),
        configured(networking={**_NETWORK, "dnsDomain": "example.org"}),
        frozenset({SAME}),
    ),
    "a network is said that was not": ({"replicas": 3}, configured(networking=_NETWORK), frozenset()),
    "another name": (configured(clusterName="prod"), configured(clusterName="test"), frozenset({SAME})),
    "a name that was empty": (configured(clusterName=""), configured(clusterName="prod"), frozenset()),
    "another endpoint": (
        configured(controlPlaneEndpoint="192.0.2.1:6443"),
        configured(controlPlaneEndpoint="192.0.2.2:6443"),
        frozenset({SAME}),
    ),
    "another folder of certificates": (
        configured(certificatesDir="/etc/kubernetes/pki"),
        configured(certificatesDir="/srv/pki"),
        frozenset({SAME}),
    ),
    "another image repository": (
        configured(imageRepository="registry.k8s.io"),
        configured(imageRepository="registry.example.org"),
        frozenset(),
    ),
}
