# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Comparison and hash of machine templates, and names of MachineSets.

Source: Cluster API's MachineTemplateUpToDate (docs/reference/cluster_api.md, "MachineDeployments").
"""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Mapping
from typing import Any, Optional

from ....module_utils.common.values import format_time
from ...documents import names

Object = Mapping[str, Any]
_HASH_LENGTH = 10
# What a machine has to be made again for; everything else reaches it in place.
COMPARED = ("version", "bootstrap", "infrastructureRef", "failureDomain")


def compared(template: Object) -> dict[str, Any]:
    """Return the part of a machine template by which machines are outdated.

    A field that is empty is as one that is missing.
    """
    spec = template.get("spec") or {}
    found = {key: spec[key] for key in COMPARED if spec.get(key)}
    bootstrap = found.get("bootstrap") or {}
    kept = {key: bootstrap[key] for key in ("configRef", "dataSecretName") if bootstrap.get(key)}
    return {**found, "bootstrap": kept} if kept else {key: found[key] for key in found if key != "bootstrap"}


def differences(current: Object, desired: Object) -> list[str]:
    """Return why a machine of one template is outdated by another.

    In Cluster API's words; [] where it is as `desired`. Kinds are named without "Template": the texts are about machines.
    """
    own, wanted = compared(current), compared(desired)
    found = []
    if own.get("version") != wanted.get("version"):
        found.append(f"Version {own.get('version') or 'none'}, {wanted.get('version') or 'none'} required")
    for key, inner in (("bootstrap", "configRef"), ("infrastructureRef", "")):
        if own.get(key) != wanted.get(key):
            reference = (own.get(key) or {}).get(inner) if inner else own.get(key)
            kind = str((reference or {}).get("kind") or "bootstrap")
            found.append(f"{kind.removesuffix('Template')} is not up-to-date")
    if own.get("failureDomain") != wanted.get("failureDomain"):
        domains = (str(each.get("failureDomain") or "none") for each in (own, wanted))
        found.append("Failure domain {}, {} required".format(*domains))
    return found


def template_hash(deployment: str, template: Object, after: str = "") -> str:
    """Return the hash by which a template's MachineSet is named and labelled.

    `deployment` is its MachineDeployment's name, of which a MachineSet's name may have the beginning alone; `after` the time of the rollout that asks for
    another MachineSet of the same template, "" without one. Letters and digits of Kubernetes' generated names, so that it can be a part of any name.
    """
    text = json.dumps(
        [deployment, compared(template), after], sort_keys=True, separators=(",", ":"), ensure_ascii=False
    )
    drawn = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:_HASH_LENGTH]
    return "".join(names.RANDOM_ALPHABET[byte % len(names.RANDOM_ALPHABET)] for byte in drawn)


def set_name(deployment: str, digest: str) -> str:
    """Return the name of a deployment's MachineSet.

    It has room for its machines' own five characters.
    """
    room = names.MACHINE_NAME_LIMIT - names.RANDOM_LENGTH - len(digest) - 2
    return f"{deployment[:room].rstrip('-.')}-{digest}"


def free_name(deployment: str, template: Object, taken: Mapping[str, Object], after: Optional[int] = None) -> str:
    """Return the name of the MachineSet that a template has or gets.

    An Action changes the version of a MachineSet, which keeps the name of its former template. Such a name is passed over.

    Args:
        deployment: the name of the MachineDeployment.
        template: its template.
        taken: the templates of the stored MachineSets, by their names.
        after: the time of the rollout that asks for another MachineSet of the same template, in seconds since the epoch.
    """
    when = format_time(after) if after is not None else ""
    digests = (template_hash(deployment, template, f"{when} {count}" if count else when) for count in itertools.count())
    found = (set_name(deployment, each) for each in digests)
    return next(each for each in found if each not in taken or not differences(taken[each], template))
