# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Table of the fields of kubeadm's configuration, hub form and API versions.

Source: docs/reference/kubeadm.md, "Fields", "Conversion".

The hub form is Cluster API v1beta2's: lists of arguments, durations in
whole seconds (`...Seconds`) or days (`...Days`). Everything that reads, checks or writes these structures walks this table.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

STRING = "string"
INTEGER = "integer"
BOOLEAN = "boolean"
STRINGS = "list of text"
GATES = "map of booleans"
ARGS = "arguments"
ENVS = "environment"
VOLUMES = "volumes"
TAINTS = "taints"
TIME = "time"
DURATION = "duration"
DAYS = "days"
STRUCT = "struct"
STRUCTS = "list of structs"
STRUCT_MAP = "map of structs"
OBJECT = "object"

# kubeadm API versions by number (versions.APIS): 1 = v1beta1 ... 4 = v1beta4. What has no end is in every later one.
OLDEST, ENDLESS = 1, 1000
POSITIONAL = "positional"
PATCHES_FLAG = "patches"


@dataclass(frozen=True)
class Field:
    """Field of a kubeadm structure.

    `name` is kubeadm's own; the hub name is the same but for durations. `since`/`until`: the kubeadm API versions that have it;
    `minor`: the first Kubernetes minor whose kubeadm acts on it, where that came later than the API version. `flag`: the command-line
    flag that does the same before that (POSITIONAL = the command's argument, PATCHES_FLAG = facts.patches_flag), from the minor
    `flag_since` on; `command`: the kubeadm command that gets the flags of the structure below. `same_before`: hub values that older
    kubeadm acts on anyway, so that leaving them out loses nothing. `alternative`: what to tell people whose value cannot be written.
    `capi`: whether it is part of Cluster API's KubeadmConfigSpec; `hub`: whether the hub form has it (removed fields are read and
    moved, never kept). `zero`: whether an empty or zero value says something else than none, in Cluster API's types a pointer
    (objects/convert/zero_values.py); durations and booleans always are.
    """

    name: str
    type: str
    since: int = OLDEST
    until: int = ENDLESS
    struct: Struct | None = None
    minor: int = 0
    flag: str = ""
    flag_since: int = 0
    command: str = ""
    same_before: tuple[Any, ...] = ()
    alternative: str = ""
    capi: bool = True
    hub: bool = True
    zero: bool = False

    @property
    def hub_name(self) -> str:
        """Name of the field in the hub form."""
        return self.name + {DURATION: "Seconds", DAYS: "Days"}.get(self.type, "")


@dataclass(frozen=True)
class Struct:
    """Structure of kubeadm's configuration: its Go name and its ordered fields.

    The order is kubeadm's.
    """

    name: str
    fields: tuple[Field, ...]

    @functools.cached_property
    def by_name(self) -> dict[str, Field]:
        """Fields by kubeadm's name."""
        return {field.name: field for field in self.fields}

    @functools.cached_property
    def by_hub_name(self) -> dict[str, Field]:
        """Fields of the hub form by their name there."""
        return {field.hub_name: field for field in self.fields if field.hub}


# The structures of list entries that are the same in every API version.
ARG = Struct("Arg", (Field("name", STRING), Field("value", STRING, zero=True)))
ENV_VAR = Struct("EnvVar", (Field("name", STRING), Field("value", STRING), Field("valueFrom", OBJECT)))
HOST_PATH_MOUNT = Struct(
    "HostPathMount",
    (
        Field("name", STRING),
        Field("hostPath", STRING),
        Field("mountPath", STRING),
        Field("readOnly", BOOLEAN),
        Field("pathType", STRING),
    ),
)
TAINT = Struct(
    "Taint", (Field("key", STRING), Field("value", STRING), Field("effect", STRING), Field("timeAdded", TIME))
)
ENTRIES: dict[str, Struct] = {ARGS: ARG, ENVS: ENV_VAR, VOLUMES: HOST_PATH_MOUNT, TAINTS: TAINT}

_USE_NEWER = "Use Kubernetes {} or newer, or leave the field out."

_UPLOAD_CERTS = "Write v1beta2 (Kubernetes 1.15 or newer), or copy the certificates yourself."

BOOTSTRAP_TOKEN = Struct(
    "BootstrapToken",
    (
        Field("token", STRING),
        Field("description", STRING),
        Field("ttl", DURATION),
        Field("expires", TIME),
        Field("usages", STRINGS),
        Field("groups", STRINGS),
    ),
)
NODE_REGISTRATION = Struct(
    "NodeRegistrationOptions",
    (
        Field("name", STRING),
        Field("criSocket", STRING),
        # [] means no taint, none means kubeadm's default one.
        Field("taints", TAINTS, zero=True),
        Field("kubeletExtraArgs", ARGS),
        Field("ignorePreflightErrors", STRINGS, since=2, flag="--ignore-preflight-errors"),
        Field(
            "imagePullPolicy",
            STRING,
            since=3,
            same_before=("IfNotPresent",),
            alternative="Older kubeadm always uses IfNotPresent; pull or remove images in preKubeadmCommands.",
        ),
        Field(
            "imagePullSerial",
            BOOLEAN,
            since=4,
            same_before=(True,),
            alternative="Older kubeadm always pulls one image at a time; pull them in preKubeadmCommands.",
        ),
    ),
)
API_ENDPOINT = Struct("APIEndpoint", (Field("advertiseAddress", STRING), Field("bindPort", INTEGER)))
PATCHES = Struct("Patches", (Field("directory", STRING),))
# Constants of older kubeadm are harmless when the hub asks for the same number (docs/reference/kubeadm.md, "Timeouts").
TIMEOUTS = Struct(
    "Timeouts",
    (
        Field(
            "controlPlaneComponentHealthCheck",
            DURATION,
            same_before=(240,),
            alternative="Set apiServer.timeoutForControlPlane in the cluster's ClusterConfiguration (kubeadm-config).",
        ),
        Field("kubeletHealthCheck", DURATION),
        Field("kubernetesAPICall", DURATION),
        Field("etcdAPICall", DURATION),
        Field("tlsBootstrap", DURATION, same_before=(300,)),
        Field("discovery", DURATION, same_before=(300,)),
        Field("upgradeManifests", DURATION, capi=False, same_before=(300,)),
    ),
)
ETCD_LOCAL = Struct(
    "LocalEtcd",
    (
        Field("imageRepository", STRING),
        Field("imageTag", STRING),
        Field("dataDir", STRING),
        Field("extraArgs", ARGS),
        Field("extraEnvs", ENVS, since=4, alternative="Set it with a patch of the static pod (patches.directory)."),
        Field("serverCertSANs", STRINGS),
        Field("peerCertSANs", STRINGS),
    ),
)
ETCD_EXTERNAL = Struct(
    "ExternalEtcd",
    (
        Field("endpoints", STRINGS),
        Field(
            "httpEndpoints",
            STRINGS,
            since=4,
            minor=35,
            capi=False,
            alternative="Use Kubernetes 1.35 or newer, or leave it out: older API servers ask etcd's health at its endpoints.",
        ),
        Field("caFile", STRING),
        Field("certFile", STRING),
        Field("keyFile", STRING),
    ),
)
ETCD = Struct(
    "Etcd", (Field("local", STRUCT, struct=ETCD_LOCAL), Field("external", STRUCT, struct=ETCD_EXTERNAL, zero=True))
)
NETWORKING = Struct(
    "Networking", (Field("serviceSubnet", STRING), Field("podSubnet", STRING), Field("dnsDomain", STRING))
)


def _component(*more: Field) -> tuple[Field, ...]:
    envs = Field("extraEnvs", ENVS, since=4, alternative="Set it with a patch of the static pod (patches.directory).")
    return (Field("extraArgs", ARGS), Field("extraVolumes", VOLUMES), envs, *more)


API_SERVER = Struct(
    "APIServer",
    _component(Field("certSANs", STRINGS), Field("timeoutForControlPlane", DURATION, until=3, hub=False)),
)
CONTROL_PLANE_COMPONENT = Struct("ControlPlaneComponent", _component())
_SKIP_ADDON = "Skip the phase instead: skipPhases: [{}]."
DNS = Struct(
    "DNS",
    (
        Field("type", STRING, until=2, hub=False),
        Field("imageRepository", STRING),
        Field("imageTag", STRING),
        Field(
            "disabled",
            BOOLEAN,
            since=4,
            capi=False,
            same_before=(False,),
            alternative=_SKIP_ADDON.format("addon/coredns"),
        ),
    ),
)
PROXY = Struct(
    "Proxy",
    (Field("disabled", BOOLEAN, since=4, same_before=(False,), alternative=_SKIP_ADDON.format("addon/kube-proxy")),),
)

CLUSTER_CONFIGURATION = Struct(
    "ClusterConfiguration",
    (
        Field("etcd", STRUCT, struct=ETCD),
        Field("networking", STRUCT, struct=NETWORKING),
        Field("kubernetesVersion", STRING),
        Field("controlPlaneEndpoint", STRING),
        Field("apiServer", STRUCT, struct=API_SERVER),
        Field("controllerManager", STRUCT, struct=CONTROL_PLANE_COMPONENT),
        Field("scheduler", STRUCT, struct=CONTROL_PLANE_COMPONENT),
        Field("dns", STRUCT, struct=DNS),
        Field("proxy", STRUCT, struct=PROXY, since=4, capi=False, alternative=_SKIP_ADDON.format("addon/kube-proxy")),
        Field("certificatesDir", STRING),
        Field("imageRepository", STRING),
        Field("useHyperKubeImage", BOOLEAN, until=2, hub=False),
        Field("featureGates", GATES),
        Field("clusterName", STRING),
        Field(
            "encryptionAlgorithm",
            STRING,
            since=4,
            same_before=("RSA-2048",),
            alternative="For ECDSA-P256 set clusterConfiguration.featureGates.PublicKeysECDSA (1.19 to 1.36).",
        ),
        Field("certificateValidityPeriod", DAYS, since=4, same_before=(365,), alternative=_USE_NEWER.format("1.31")),
        Field("caCertificateValidityPeriod", DAYS, since=4, same_before=(3650,), alternative=_USE_NEWER.format("1.31")),
    ),
)
INIT_CONFIGURATION = Struct(
    "InitConfiguration",
    (
        Field("bootstrapTokens", STRUCTS, struct=BOOTSTRAP_TOKEN),
        Field("dryRun", BOOLEAN, since=4, flag="--dry-run", capi=False, same_before=(False,)),
        Field("nodeRegistration", STRUCT, struct=NODE_REGISTRATION),
        Field("localAPIEndpoint", STRUCT, struct=API_ENDPOINT),
        Field("certificateKey", STRING, since=2, capi=False, alternative=_UPLOAD_CERTS),
        Field("skipPhases", STRINGS, since=3, flag="--skip-phases"),
        Field("patches", STRUCT, struct=PATCHES, since=3, flag=PATCHES_FLAG),
        Field("timeouts", STRUCT, struct=TIMEOUTS, since=4),
    ),
)
BOOTSTRAP_TOKEN_DISCOVERY = Struct(
    "BootstrapTokenDiscovery",
    (
        Field("token", STRING),
        Field("apiServerEndpoint", STRING),
        Field("caCertHashes", STRINGS),
        Field("unsafeSkipCAVerification", BOOLEAN),
    ),
)
DISCOVERY = Struct(
    "Discovery",
    (
        Field("bootstrapToken", STRUCT, struct=BOOTSTRAP_TOKEN_DISCOVERY),
        Field("file", STRUCT, struct=Struct("FileDiscovery", (Field("kubeConfigPath", STRING),)), zero=True),
        Field("tlsBootstrapToken", STRING),
        Field("timeout", DURATION, until=3, hub=False),
    ),
)
JOIN_CONTROL_PLANE = Struct(
    "JoinControlPlane",
    (
        Field("localAPIEndpoint", STRUCT, struct=API_ENDPOINT),
        Field("certificateKey", STRING, since=2, capi=False, alternative=_UPLOAD_CERTS),
    ),
)
JOIN_CONFIGURATION = Struct(
    "JoinConfiguration",
    (
        Field("dryRun", BOOLEAN, since=4, flag="--dry-run", flag_since=23, capi=False, same_before=(False,)),
        Field("nodeRegistration", STRUCT, struct=NODE_REGISTRATION),
        Field("caCertPath", STRING),
        Field("discovery", STRUCT, struct=DISCOVERY),
        # An empty one still says that the machine joins as a control plane.
        Field("controlPlane", STRUCT, struct=JOIN_CONTROL_PLANE, zero=True),
        Field("skipPhases", STRINGS, since=3, flag="--skip-phases"),
        Field("patches", STRUCT, struct=PATCHES, since=3, flag=PATCHES_FLAG),
        Field("timeouts", STRUCT, struct=TIMEOUTS, since=4),
    ),
)

CLUSTER_STATUS = Struct("ClusterStatus", (Field("apiEndpoints", STRUCT_MAP, struct=API_ENDPOINT, until=2),))

# Kind -> structure of what Cluster API's KubeadmConfigSpec holds; every kind is in kinds.py.
KINDS: dict[str, Struct] = {
    struct.name: struct for struct in (INIT_CONFIGURATION, CLUSTER_CONFIGURATION, JOIN_CONFIGURATION)
}
