# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Commands for rotation of certificate authorities and service account keys.

Source: docs/reference/kubeadm.md, "Authorities".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ....module_utils.common import settings
from ...kubeadm.certificate_files import AUTHORITIES
from .. import command_type
from ..command_type import Command, Parameter
from ..planner_types import NodeFacts
from .plan import ADDONS, ALL, NONE, WORKLOADS
from .stages import DROP, ISSUE, STAGES, TRUST

_NAMED = {"authorities": Parameter(command_type.STRINGS, required=True, choices=AUTHORITIES)}
# What kubeadm itself runs that has a service account.
WORKLOADS_OF_KUBEADM = ("daemonset/kube-proxy", "deployment/coredns")
_STAGE = {"stage": Parameter(required=True, choices=STAGES)}
_RESTART = "# restart what reads them: etcd while its API server is stopped, then the API server, controller manager, scheduler, kubelet"
_WORDS = {
    "ca": "cluster CA",
    "etcd": "etcd CA",
    "frontProxy": "front-proxy CA",
    "serviceAccount": "service account keys",
}


def _words(parameters: Mapping[str, Any]) -> str:
    return ", ".join(_WORDS[each] for each in parameters["authorities"])


def _create(parameters: Mapping[str, Any], node: NodeFacts) -> tuple[str, ...]:
    del node
    return (f"# make a new {_words(parameters)}, kept in the store beside the old ones",)


def _trust(parameters: Mapping[str, Any], node: NodeFacts) -> tuple[str, ...]:
    return (
        f"# {node.name}: {_words(parameters)}: add the new certificates and public keys to what is trusted",
        _RESTART,
    )


def _issue(parameters: Mapping[str, Any], node: NodeFacts) -> tuple[str, ...]:
    return (
        f"# {node.name}: {_words(parameters)}: sign every certificate again, with the names it has; sign with the new keys",
        _RESTART,
    )


def _drop(parameters: Mapping[str, Any], node: NodeFacts) -> tuple[str, ...]:
    return (
        f"# {node.name}: {_words(parameters)}: take the old certificates and public keys from what is trusted",
        _RESTART,
    )


_PUBLISH = {
    TRUST: "# cluster-info and the store's kubeconfig trust both; wait for extension-apiserver-authentication, aggregated API servers, each kube-root-ca.crt",
    ISSUE: "# the store's Secrets hold the new authorities, its kubeconfig a certificate of theirs; delete the Secret kubeadm-certs",
    DROP: "# cluster-info, extension-apiserver-authentication and the store's kubeconfig trust the new ones alone, and each kube-root-ca.crt",
}


def _publish(parameters: Mapping[str, Any], node: NodeFacts) -> tuple[str, ...]:
    del node
    return (_PUBLISH[parameters["stage"]],)


def _prove(parameters: Mapping[str, Any], node: NodeFacts) -> tuple[str, ...]:
    also = {
        ISSUE: "; a kubelet that got an old certificate meanwhile is given a new one",
        DROP: "; old credentials are refused",
    }.get(parameters["stage"], "")
    return (
        f"# {node.name}: read back what is trusted, what is shown, and that everything that reads it was started since{also}",
    )


def _workloads(parameters: Mapping[str, Any], node: NodeFacts) -> tuple[str, ...]:
    del node
    if parameters["workloads"] == NONE:
        return ("# restart no workload",)
    if parameters["workloads"] == ALL:
        return ("# kubectl rollout restart, for each workload whose pods have a token of the old key",)
    return tuple(
        f"kubectl -n kube-system rollout restart {name} # if it has a token of the old key, or the old CA alone"
        for name in WORKLOADS_OF_KUBEADM
    )


COMMANDS: tuple[Command, ...] = (
    Command("createCertificateAuthorities", _create, _NAMED, scope=command_type.CLUSTER),
    Command("trustNewAuthorities", _trust, _NAMED, stops_api_server=command_type.always),
    Command("issueFromNewAuthorities", _issue, _NAMED, stops_api_server=command_type.always),
    Command("dropOldAuthorities", _drop, _NAMED, stops_api_server=command_type.always),
    Command("publishAuthorities", _publish, {**_NAMED, **_STAGE}, scope=command_type.CLUSTER),
    Command("proveAuthorities", _prove, {**_NAMED, **_STAGE}),
    Command(
        "renewServiceAccountTokens",
        lambda parameters, node: (
            "# give every service account with a token in a Secret one of the new key; Secrets that pods mount stay beside it",
        ),
        scope=command_type.CLUSTER,
    ),
    Command(
        "restartWorkloads",
        _workloads,
        {"workloads": Parameter(default=ADDONS, choices=WORKLOADS)},
        scope=command_type.CLUSTER,
    ),
    Command(
        "waitServiceAccountTokens",
        lambda parameters, node: ("# wait until no pod on any Node has a token of the old key in its volumes",),
        {"timeoutSeconds": Parameter(command_type.INTEGER, default=settings.ROTATION_TOKENS_SECONDS, minimum=1)},
        scope=command_type.CLUSTER,
    ),
    Command(
        "takeEtcdSnapshot",
        lambda parameters, node: (
            f"# {node.name}: take an etcd snapshot and verify it: those from before hold the old authorities",
        ),
    ),
    Command(
        "forgetOldAuthorities",
        lambda parameters, node: ("# delete the old keys and this rotation's Secret from the store",),
        _NAMED,
        scope=command_type.CLUSTER,
    ),
)
