# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Structure of every object in a manifest, in each Cluster API form.

"classic" is v1alpha3, v1alpha4 and v1beta1 in one (their names never clash, so the 2019 names `infrastructureTemplate`, `upgradeAfter` and
`strategy` stay accepted); "hub" is v1beta2, the internal form
(docs/reference/cluster_api.md, "Fields of older versions").
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..documents.schema import Ignored, ListOf, MapOf, MayBeEmpty, Needed, Number, Refused, Text
from ..kubeadm.configuration import fields
from .validate import limits

METADATA: Mapping[str, Any] = {
    "name": "string",
    "namespace": "string",
    "labels": MapOf("string"),
    "annotations": MapOf("string"),
    # Set by an API server; a manifest taken from one may carry them. They describe the past and are ignored.
    "uid": "any",
    "resourceVersion": "any",
    "generation": "any",
    "creationTimestamp": "any",
    "managedFields": "any",
    "ownerReferences": "any",
    "finalizers": "any",
    "selfLink": "any",
}
TEMPLATE_METADATA: Mapping[str, Any] = {"labels": MapOf("string"), "annotations": MapOf("string")}
_REFERENCE_HUB = {"apiGroup": Needed(limits.GROUP), "kind": Needed(limits.KIND), "name": Needed(limits.NAME)}
_REFERENCE_CLASSIC = {
    "apiVersion": "string",
    "kind": limits.KIND,
    "name": limits.NAME,
    "namespace": "string",
    "uid": "any",
    "resourceVersion": "any",
}
_SECRET_SOURCE = {"secret": Needed({"name": Needed(limits.HOST_NAME), "key": Needed(limits.SHORT)})}
_NOT_CAPI = Refused(
    "this kubeadm field is not part of Cluster API's KubeadmConfigSpec",
    "Remove it; certificates come from the cluster's Secrets, and addons are skipped with skipPhases.",
)


def kubeadm_struct(struct: fields.Struct, classic: bool) -> dict[str, Any]:
    """Return the description of a kubeadm structure in Cluster API.

    It is in the hub or the classic form.

    Source: docs/reference/kubeadm.md, "Fields".
    """
    result: dict[str, Any] = {}
    for field in struct.fields:
        if not field.hub and not classic:
            continue
        if field.name == "timeouts" and classic:
            continue
        # Cluster API counts days in every form; only its other durations were text before v1beta2.
        name = field.name if classic and field.type == fields.DURATION else field.hub_name
        described = _field(field, classic) if field.capi else _NOT_CAPI
        result[name] = limits.kubeadm_field(struct.name, field.hub_name, described) if field.capi else described
    if struct.name in fields.KINDS and classic:
        result.update({"apiVersion": "string", "kind": "string"})
    if struct.name == "FileDiscovery":
        result["kubeConfig"] = Refused(
            "a kubeconfig built by the provider is not supported",
            "Supply the kubeconfig with kubeadmConfigSpec.files and name it in discovery.file.kubeConfigPath.",
        )
    return MayBeEmpty(result) if struct.name in limits.MAY_BE_EMPTY else result


def _field(field: fields.Field, classic: bool) -> Any:
    if field.struct is not None:
        inner = kubeadm_struct(field.struct, classic)
        return [inner] if field.type == fields.STRUCTS else inner
    simple: dict[str, Any] = {
        fields.STRINGS: ["string"],
        fields.GATES: MapOf("boolean"),
        fields.ARGS: MapOf(limits.ARGUMENT_VALUE) if classic else limits.ARGUMENTS,
        fields.ENVS: limits.ENVIRONMENT,
        fields.VOLUMES: limits.VOLUMES,
        fields.TAINTS: limits.TAINTS,
        fields.TIME: "timestamp",
        fields.DURATION: "duration" if classic else "seconds",
        fields.DAYS: "days",
    }
    return simple.get(field.type, field.type)


_FILE = {
    "path": Needed(limits.LONG),
    "owner": limits.SHORT,
    "permissions": limits.PERMISSIONS,
    "encoding": Text(
        one_of=limits.ENCODINGS,
        rule="this is not an encoding of file contents",
        fix=f"Use one of {', '.join(limits.ENCODINGS)}, or leave it out for text.",
    ),
    "append": "boolean",
    # As long as machines take it (docs/contract.md).
    "content": Text(),
    "contentFrom": _SECRET_SOURCE,
    "contentFormat": Text(
        one_of=("Raw", "Template"), rule="there is no such format of contents", fix="Use Raw or Template."
    ),
}
_USER = {
    "name": Needed(limits.SHORT),
    **dict.fromkeys(("gecos", "groups", "homeDir", "shell", "passwd", "primaryGroup", "sudo"), limits.SHORT),
    "inactive": "boolean",
    "passwdFrom": _SECRET_SOURCE,
    "lockPassword": "boolean",
    "sshAuthorizedKeys": ListOf(limits.PUBLIC_KEY, 100, least=0),
}
_REFUSED_CONFIG = {
    "ntp": Refused(
        "ntp is not supported: time synchronisation belongs to the machine image",
        "Set up chrony or systemd-timesyncd in the image, or with files and preKubeadmCommands.",
    ),
    "mounts": Refused(
        "mounts is not supported: it is cloud-init's, and machines here are not set up by cloud-init",
        "Write a systemd mount unit with files and start it in preKubeadmCommands.",
    ),
    "diskSetup": Refused(
        "diskSetup is not supported: it is cloud-init's, and machines here are not set up by cloud-init",
        "Partition and format in the machine image, or in preKubeadmCommands.",
    ),
    "ignition": Refused(
        "ignition is not supported: machines are set up over Ansible's connection, not at first boot",
        "Express it with files, users and preKubeadmCommands.",
    ),
    "bootCommands": Refused(
        "bootCommands is not supported: they run at boot, and a machine is reached only when it has booted",
        "Use preKubeadmCommands, or put them into the machine image.",
    ),
}
_RETRY_JOIN = "useExperimentalRetryJoin"
_RETRY_JOIN_HUB = Refused(
    f"{_RETRY_JOIN} is no field of v1beta2; Cluster API ignored it before: kubeadm retries by itself", "Remove it."
)
_RETRY_JOIN_CLASSIC = Ignored(
    "boolean",
    f"{_RETRY_JOIN} has no effect and is not kept: no script runs kubeadm's phases one by one, kubeadm retries by itself. "
    "Cluster API ignores it, too.",
)
_EXTENSIONS = {"kubeletConfiguration": "object", "kubeProxyConfiguration": "object"}


def _config(classic: bool) -> dict[str, Any]:
    return {
        "clusterConfiguration": kubeadm_struct(fields.CLUSTER_CONFIGURATION, classic),
        "initConfiguration": kubeadm_struct(fields.INIT_CONFIGURATION, classic),
        "joinConfiguration": kubeadm_struct(fields.JOIN_CONFIGURATION, classic),
        "files": ListOf(_FILE, 200),
        "users": ListOf(_USER, 100),
        "preKubeadmCommands": limits.COMMANDS,
        "postKubeadmCommands": limits.COMMANDS,
        "verbosity": "integer",
        "format": Text(
            one_of=("cloud-config", "ignition"), rule="there is no such bootstrap format", fix="Remove format."
        ),
        _RETRY_JOIN: _RETRY_JOIN_CLASSIC if classic else _RETRY_JOIN_HUB,
        **_EXTENSIONS,
        **_REFUSED_CONFIG,
    }


_BLOCKS = {"cidrBlocks": Needed(ListOf(limits.CIDR_BLOCK, 100))}
_NETWORK = {
    "apiServerPort": limits.PORT,
    "services": _BLOCKS,
    "pods": _BLOCKS,
    "serviceDomain": limits.HOST_NAME,
}
_TOPOLOGY = Refused(
    "spec.topology (ClusterClass) is not supported",
    "Write the KubeadmControlPlane and its machine template as documents of their own.",
)
_AVAILABILITY = Refused("availabilityGates are not supported", "Remove them.")
_STRATEGY = {
    "type": Needed(
        Text(
            one_of=("RollingUpdate",),
            rule="there is no such rollout strategy",
            fix="Use RollingUpdate; with maxSurge 0 a machine is removed before its replacement comes.",
        )
    ),
    "rollingUpdate": {"maxSurge": "intOrString"},
}
_DELETION = dict.fromkeys(
    ("nodeDrainTimeoutSeconds", "nodeVolumeDetachTimeoutSeconds", "nodeDeletionTimeoutSeconds"), "seconds"
)
_DAYS_BEFORE = {"certificatesExpiryDays": Number(7, unit="days")}


def _cluster(reference: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "paused": "boolean",
        "clusterNetwork": _NETWORK,
        "controlPlaneEndpoint": {"host": limits.LONG, "port": limits.PORT},
        "controlPlaneRef": reference,
        "infrastructureRef": reference,
        "topology": _TOPOLOGY,
        "availabilityGates": _AVAILABILITY,
    }


_CONTROL_PLANE_HUB = {
    "replicas": "integer",
    "version": Needed(limits.SHORT),
    "machineTemplate": Needed(
        {
            "metadata": TEMPLATE_METADATA,
            "spec": Needed(
                {
                    "infrastructureRef": Needed(_REFERENCE_HUB),
                    "readinessGates": limits.READINESS_GATES,
                    "deletion": _DELETION,
                    "taints": limits.MACHINE_TAINTS,
                }
            ),
        }
    ),
    "kubeadmConfigSpec": _config(classic=False),
    "rollout": {"before": _DAYS_BEFORE, "after": "timestamp", "strategy": _STRATEGY},
    "remediation": {
        "maxRetry": "integer",
        "retryPeriodSeconds": "seconds",
        "minHealthyPeriodSeconds": "seconds",
    },
    "machineNaming": {"template": limits.SHORT},
}
# What control planes of a ClusterClass share: each has its own replicas, version and machine template.
_CONTROL_PLANE_TEMPLATE = {
    **{name: field for name, field in _CONTROL_PLANE_HUB.items() if name not in ("replicas", "version")},
    "machineTemplate": {
        "metadata": TEMPLATE_METADATA,
        "spec": {"deletion": _DELETION, "taints": limits.MACHINE_TAINTS},
    },
}
_CONTROL_PLANE_CLASSIC = {
    "replicas": "integer",
    "version": limits.SHORT,
    "infrastructureTemplate": _REFERENCE_CLASSIC,
    "nodeDrainTimeout": "duration",
    "machineTemplate": {
        "metadata": TEMPLATE_METADATA,
        "infrastructureRef": _REFERENCE_CLASSIC,
        "readinessGates": limits.READINESS_GATES,
        "taints": limits.MACHINE_TAINTS,
        "nodeDrainTimeout": "duration",
        "nodeVolumeDetachTimeout": "duration",
        "nodeDeletionTimeout": "duration",
    },
    "kubeadmConfigSpec": _config(classic=True),
    "upgradeAfter": "timestamp",
    "rolloutAfter": "timestamp",
    "rolloutBefore": _DAYS_BEFORE,
    "strategy": _STRATEGY,
    "rolloutStrategy": _STRATEGY,
    "remediationStrategy": {"maxRetry": "integer", "retryPeriod": "duration", "minHealthyPeriod": "duration"},
    "machineNamingStrategy": {"template": limits.SHORT},
}

_BOOTSTRAP_DATA = Refused(
    "bootstrap.data is not supported; Cluster API removed it",
    "Put the data into a Secret and name it in bootstrap.dataSecretName.",
)


def _machine(reference: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "clusterName": Needed(limits.CLUSTER_NAME),
        "version": limits.SHORT,
        "providerID": limits.LONG,
        "failureDomain": limits.SHORT,
        "bootstrap": Needed(
            MayBeEmpty(
                {"configRef": reference, "dataSecretName": Text(253, least=0), "data": _BOOTSTRAP_DATA},
            )
        ),
        "infrastructureRef": Needed(reference),
        "readinessGates": limits.READINESS_GATES,
        "taints": limits.MACHINE_TAINTS,
    }


_MACHINE_HUB = {
    **_machine(_REFERENCE_HUB),
    "deletion": _DELETION,
    "minReadySeconds": "seconds",
}
_MACHINE_CLASSIC = {
    **_machine(_REFERENCE_CLASSIC),
    "nodeDrainTimeout": "duration",
    "nodeVolumeDetachTimeout": "duration",
    "nodeDeletionTimeout": "duration",
}

CLUSTER_SPEC = {"classic": _cluster(_REFERENCE_CLASSIC), "hub": _cluster(_REFERENCE_HUB)}
CONTROL_PLANE_SPEC = {"classic": _CONTROL_PLANE_CLASSIC, "hub": _CONTROL_PLANE_HUB}
CONTROL_PLANE_TEMPLATE_SPEC = _CONTROL_PLANE_TEMPLATE
MACHINE_SPEC = {"classic": _MACHINE_CLASSIC, "hub": _MACHINE_HUB}
KUBEADM_CONFIG_SPEC = {"classic": _config(classic=True), "hub": _config(classic=False)}
SECRET = {"type": "string", "data": MapOf("string"), "stringData": MapOf("string"), "immutable": "boolean"}
CONFIG_MAP = {
    "data": MapOf("string"),
    "binaryData": Refused("a ClusterResourceSet applies data alone", "Write the documents as text under data."),
    "immutable": "boolean",
}

# Advice for people who write one form's name in the other.
HINTS_HUB: Mapping[str, str] = {
    "infrastructureTemplate": "In v1beta2 this is spec.machineTemplate.spec.infrastructureRef.",
    "upgradeAfter": "In v1beta2 this is spec.rollout.after.",
    "rolloutAfter": "In v1beta2 this is spec.rollout.after.",
    "rolloutBefore": "In v1beta2 this is spec.rollout.before.",
    "strategy": "In v1beta2 this is spec.rollout.strategy.",
    "rolloutStrategy": "In v1beta2 this is spec.rollout.strategy.",
    "remediationStrategy": "In v1beta2 this is spec.remediation.",
    "machineNamingStrategy": "In v1beta2 this is spec.machineNaming.",
    "infrastructureRef": "In v1beta2 this is spec.machineTemplate.spec.infrastructureRef.",
    "nodeDrainTimeout": "In v1beta2 this is spec.machineTemplate.spec.deletion.nodeDrainTimeoutSeconds.",
    "nodeVolumeDetachTimeout": "In v1beta2 this is spec.machineTemplate.spec.deletion.nodeVolumeDetachTimeoutSeconds.",
    "nodeDeletionTimeout": "In v1beta2 this is spec.machineTemplate.spec.deletion.nodeDeletionTimeoutSeconds.",
    "timeoutForControlPlane": "In v1beta2 this is timeouts.controlPlaneComponentHealthCheckSeconds of init and join.",
    "timeout": "In v1beta2 this is joinConfiguration.timeouts.discoverySeconds.",
    "ttl": "In v1beta2 this is ttlSeconds.",
    "apiVersion": "In v1beta2 a reference has apiGroup (no version), kind and name; kubeadm's parts have no apiVersion.",
    "namespace": "In v1beta2 a reference is always to the same namespace; remove it.",
    "useHyperKubeImage": "kubeadm removed it; remove the field.",
}
HINTS_CLASSIC: Mapping[str, str] = {
    "rollout": "In v1beta1 and before these are spec.rolloutAfter, spec.rolloutBefore and spec.rolloutStrategy.",
    "remediation": "In v1beta1 and before this is spec.remediationStrategy.",
    "machineNaming": "In v1beta1 and before this is spec.machineNamingStrategy.",
    "spec": "In v1beta1 and before there is no spec below machineTemplate: infrastructureRef is directly in it.",
    "deletion": "In v1beta1 and before the timeouts are directly in machineTemplate.",
    "timeouts": "It needs v1beta2; before, use clusterConfiguration.apiServer.timeoutForControlPlane or discovery.timeout.",
    "apiGroup": "In v1beta1 and before a reference has apiVersion, kind and name.",
    "ttlSeconds": "In v1beta1 and before this is ttl, a duration.",
}
