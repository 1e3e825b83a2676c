# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Instance data of a machine: its names in templates, and its values.

The names are those of cloud-init; the values are what the machine's infrastructure provider has recorded
(docs/provider_contract.md).
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .. import kinds

Values = Mapping[str, str]
Object = Mapping[str, Any]

LONGEST_VALUE = 512
# One word in a shell, one text in YAML, one value in a list of labels; no brace, so that no value is a template.
_VALUE = re.compile(r"[A-Za-z0-9._/][A-Za-z0-9._:/@+-]*")


@dataclass(frozen=True)
class Known:
    """Value of a machine that templates may name.

    `names` are all of cloud-init's for it, `source` where it comes from, `own` whether each machine has another one.
    """

    names: tuple[str, ...]
    source: str
    own: bool = False


def _standard(name: str, *keys: str) -> tuple[str, ...]:
    return (name, f"v1.{name}", *_of_datasource(name, *keys))


def _of_datasource(*keys: str) -> tuple[str, ...]:
    # Cluster API's documentation says ec2_metadata.
    return tuple(f"ds.{part}.{key}" for key in keys for part in ("meta_data", "ec2_metadata"))


# By the name of the field in status.instanceData, or that of the value where it has a place of its own.
KNOWN: Mapping[str, Known] = {
    "hostname": Known(_standard("local_hostname", "hostname", "name"), "the machine's name", own=True),
    "providerID": Known(_of_datasource("provider_id"), "spec.providerID", own=True),
    "instanceID": Known((*_standard("instance_id", "uuid", "id"), "ds.id"), "status.instanceData.instanceID", own=True),
    "instanceType": Known(_of_datasource("instance_type"), "status.instanceData.instanceType"),
    "cloudName": Known(("cloud_name", "v1.cloud_name"), "status.instanceData.cloudName"),
    "region": Known((*_standard("region", "placement.region"), "ds.region"), "status.instanceData.region"),
    "zone": Known(_standard("availability_zone", "zone", "placement.availability_zone"), "status.instanceData.zone"),
    "failureDomain": Known(_of_datasource("failure_domain", "failuredomain"), "the Machine's spec.failureDomain"),
    "localIPv4": Known(_of_datasource("local_ipv4"), "status.addresses, an InternalIP of IPv4", own=True),
    "localIPv6": Known(_of_datasource("local_ipv6"), "status.addresses, an InternalIP of IPv6", own=True),
    "publicIPv4": Known(_of_datasource("public_ipv4"), "status.addresses, an ExternalIP of IPv4", own=True),
    "publicIPv6": Known(_of_datasource("public_ipv6"), "status.addresses, an ExternalIP of IPv6", own=True),
}
SAMPLE: Mapping[str, str] = {
    **{key: key.lower() for key in KNOWN},
    "localIPv4": "192.0.2.1",
    "localIPv6": "2001:db8::1",
    "publicIPv4": "192.0.2.2",
    "publicIPv6": "2001:db8::2",
}
# What a provider records in status.instanceData of its machine.
RECORDED = ("instanceID", "instanceType", "cloudName", "region", "zone")
# The variables of an inventory host from which machine_inventory records them.
VARIABLES: Mapping[str, str] = {
    "instanceID": "machine_inventory_instance_id",
    "instanceType": "machine_inventory_instance_type",
    "cloudName": "machine_inventory_cloud_name",
    "region": "machine_inventory_region",
    "zone": "machine_inventory_zone",
}
BY_NAME: Mapping[str, str] = {name: key for key, known in KNOWN.items() for name in known.names}


def value_problem(value: Any) -> str:
    """Return the fault of a provider's value, "" where none is."""
    if not isinstance(value, str):
        return "it is not text"
    if len(value) > LONGEST_VALUE:
        return f"it is longer than {LONGEST_VALUE} characters"
    if not _VALUE.fullmatch(value):
        return "it has other characters than letters, digits and . _ : / @ + -, or begins with one of : @ + -"
    return ""


def record_problems(instance_data: Any) -> list[str]:
    """Return the problems with ``status.instanceData`` as recorded."""
    if not isinstance(instance_data, Mapping):
        return ["it is no mapping"]
    found = [f"{str(name)[:40]!r} is none of {', '.join(RECORDED)}" for name in instance_data if name not in RECORDED]
    for name in RECORDED:
        value = instance_data.get(name)
        problem = "" if value in (None, "") else value_problem(value)
        if problem:
            found.append(f"{name}: {problem}")
    return found


def machine_values(machine: Object, infrastructure: Object | None = None) -> dict[str, str]:
    """Return a machine's instance data, "" for what is not known.

    Args:
        machine: the Machine.
        infrastructure: its infrastructure machine, as its provider has recorded it.
    """
    infrastructure = infrastructure or {}
    spec, status = infrastructure.get("spec") or {}, infrastructure.get("status") or {}
    recorded = status.get("instanceData")
    recorded = recorded if isinstance(recorded, Mapping) else {}
    own = machine.get("spec") or {}
    found = {
        "hostname": str(machine["metadata"]["name"]),
        "providerID": spec.get("providerID") or own.get("providerID"),
        "failureDomain": own.get("failureDomain") or status.get("failureDomain"),
        **{key: recorded.get(key) for key in RECORDED},
    }
    for kind, prefix in (("InternalIP", "local"), ("ExternalIP", "public")):
        for version in (4, 6):
            found[f"{prefix}IPv{version}"] = _address(status.get("addresses") or [], kind, version)
    return {key: str(value) if value else "" for key, value in found.items()}


def _address(addresses: list[Object], kind: str, version: int) -> str:
    for each in addresses:
        try:
            if each.get("type") == kind and ipaddress.ip_address(str(each.get("address"))).version == version:
                return str(each["address"])
        except ValueError:
            continue
    return ""


def remedy(key: str, owner: Object) -> str:
    """Return how a value comes to be recorded of a machine.

    `owner` is its infrastructure machine.
    """
    kind, name = str(owner.get("kind") or "its infrastructure machine"), (owner.get("metadata") or {}).get("name", "")
    if kind == kinds.INVENTORY_MACHINE and key in RECORDED:
        return f"Set the variable {VARIABLES[key]} of its host in the inventory, or write the value."
    if key == "failureDomain":
        return "Give the cluster failure domains, or write the value."
    return f"The provider of {kind} {name} records it (docs/provider_contract.md); or write the value."
