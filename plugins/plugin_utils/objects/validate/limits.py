# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Limits of texts, numbers and lists, those of Cluster API's v1beta2.

Source: docs/reference/cluster_api_fields.md. Older versions have no limits of their own here: what is read becomes v1beta2.

Where this collection takes more than Cluster API, docs/contract.md says why.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...documents.schema import ListOf, Needed, Number, Text

_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL}(\.{_LABEL})*"
_QUALIFIED = "(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])"
_NAME_FIX = "Use lower case letters, digits and '-', beginning and ending with a letter or digit."
_KEY_FIX = "Use [prefix/]name of letters, digits, '-', '_' and '.'."

# Names of objects, of API groups and of kinds.
NAME = Text(253, pattern=_SUBDOMAIN, rule="this is not an RFC 1123 name", fix=_NAME_FIX)
GROUP = Text(253, pattern=_SUBDOMAIN, rule="this is not an API group", fix="Write it without a version.")
KIND = Text(63, pattern="[a-zA-Z]([-a-zA-Z0-9]*[a-zA-Z0-9])?", rule="this is not a kind", fix="Use letters and digits.")
CONDITION_TYPE = Text(
    316, pattern=f"({_SUBDOMAIN}/)?{_QUALIFIED}", rule="this is not a type of condition", fix=_KEY_FIX
)
STATUS = Text(one_of=("True", "False", "Unknown"), rule="there is no such status of a condition")
POLARITY = Text(one_of=("Positive", "Negative"), rule="there is no such polarity")

# By length alone, from the host part of an address to a path or URL.
CLUSTER_NAME, HOST_NAME, SHORT, LONG = Text(63), Text(253), Text(256), Text(512)
CIDR_BLOCK, PUBLIC_KEY = Text(43), Text(2048)
PERMISSIONS = Text(16)
RANGE = Text(
    32,
    pattern=r"\[[0-9]+-[0-9]+\]",
    rule="this is not a range of numbers of machines",
    fix='Write the smaller number first, such as "[1-2]".',
)
ENCODINGS = ("base64", "gzip", "gzip+base64")
PORT = Number(1, 65535)
COMMANDS = ListOf(Text(), 1000)

_KUBEADM: Mapping[str, Any] = {
    **dict.fromkeys(("caFile", "certFile", "keyFile", "caCertPath", "certificatesDir"), LONG),
    **dict.fromkeys(("dataDir", "directory", "criSocket", "imageRepository", "controlPlaneEndpoint"), LONG),
    **dict.fromkeys(("apiServerEndpoint", "tlsBootstrapToken", "description"), LONG),
    "FileDiscovery.kubeConfigPath": Needed(LONG),
    "imageTag": SHORT,
    "advertiseAddress": Text(39),
    # Beyond 65535 kubeadm's own rule refuses (kubeadm/configuration/validate.py).
    "bindPort": Number(1),
    "BootstrapToken.token": Text(23),
    "BootstrapTokenDiscovery.token": LONG,
    "NodeRegistrationOptions.name": HOST_NAME,
    "imagePullPolicy": Text(one_of=("Always", "IfNotPresent", "Never"), rule="this is not an image pull policy"),
    "encryptionAlgorithm": Text(
        one_of=("ECDSA-P256", "ECDSA-P384", "RSA-2048", "RSA-3072", "RSA-4096"),
        rule="there is no such encryption algorithm",
    ),
    "certificateValidityPeriodDays": Number(1, 1095, "days"),
    "caCertificateValidityPeriodDays": Number(1, 36500, "days"),
    **dict.fromkeys(("certSANs", "serverCertSANs", "peerCertSANs"), ListOf(HOST_NAME, 100)),
    "endpoints": Needed(ListOf(LONG, 50)),
    "caCertHashes": ListOf(LONG, 100),
    **dict.fromkeys(("usages", "groups"), ListOf(SHORT, 100)),
    "skipPhases": ListOf(SHORT, 50),
    "ignorePreflightErrors": ListOf(LONG, 50),
}
_MOST_STRUCTS = 100
# A machine joins as a control plane, and a token is made, also where nothing is said of them.
MAY_BE_EMPTY = ("JoinControlPlane", "BootstrapToken")

# The value of an argument may be empty.
ARGUMENT_VALUE = Text(1024, least=0)
ARGUMENTS = ListOf({"name": Needed(SHORT), "value": Needed(ARGUMENT_VALUE)}, 100, keys=("name", "value"), unique="name")
ENVIRONMENT = ListOf({"name": Needed("string"), "value": "string", "valueFrom": "object"}, 100)
VOLUMES = ListOf(
    {
        "name": Needed(LONG),
        "hostPath": Needed(LONG),
        "mountPath": Needed(LONG),
        "readOnly": "boolean",
        "pathType": "string",
    },
    100,
)
# An empty list says that there is no taint.
TAINTS = ListOf(
    {"key": Needed("string"), "value": "string", "effect": Needed("string"), "timeAdded": "timestamp"}, 100, least=0
)
READINESS_GATES = ListOf({"conditionType": Needed(CONDITION_TYPE), "polarity": POLARITY}, 32, keys=("conditionType",))
MACHINE_TAINTS = ListOf(
    {
        "key": Needed(
            Text(
                317,
                pattern=rf"({_SUBDOMAIN}\/)?{_QUALIFIED[1:-1]}",
                rule="this is not a key of a taint",
                fix=_KEY_FIX,
            )
        ),
        "value": Text(
            63,
            pattern=f"{_QUALIFIED}?",
            rule="this is not a valid value of a taint",
            fix="Use at most 63 letters, digits, '-', '_' and '.'.",
        ),
        "effect": Needed(
            Text(one_of=("NoSchedule", "PreferNoSchedule", "NoExecute"), rule="there is no such effect of a taint")
        ),
        "propagation": Needed(
            Text(one_of=("Always", "OnInitialization"), rule="there is no such propagation of a taint")
        ),
    },
    64,
    keys=("key", "effect"),
)


def kubeadm_field(struct: str, name: str, description: Any) -> Any:
    """Return the limits of a field of kubeadm's configuration, else its description.

    `struct` is its structure's Go name, `name` its name in the hub form.
    """
    if isinstance(description, list) and isinstance(description[0], dict):
        return ListOf(description[0], _MOST_STRUCTS)
    return _KUBEADM.get(f"{struct}.{name}", _KUBEADM.get(name, description))
