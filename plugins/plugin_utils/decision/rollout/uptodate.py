# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Comparison of a machine with the spec: up to date or outdated.

Source: docs/reference/cluster_api.md, "Up to date or not".

Missing evidence means matching: it never causes a rollout.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Optional

from ....module_utils.common import kubernetes_facts
from ....module_utils.common.kubernetes_facts import KUBELET_LOCAL_MODE_GATE
from ....module_utils.common.kubernetes_versions import with_v
from ....module_utils.common.values import format_time, parse_time
from ...objects import equivalence, kinds
from ...objects.equivalence import ABSENT
from ..snapshot.typed_snapshot import MachineView, View, annotations_of

Object = dict[str, Any]
DAY = 86400
_JOIN_FIELDS = ("nodeRegistration", "patches", "skipPhases", "timeouts")
# A join's timeout is no property of the machine that it made: a change holds for the next one.
_IGNORED_TIMEOUTS = ("controlPlaneComponentHealthCheckSeconds", "tlsBootstrapSeconds")


@dataclass(frozen=True)
class Outdated:
    """Reason why a machine is not up to date.

    It has a stable name and a text. The text names paths, never values: they may be secret.
    """

    reason: str
    message: str


class Desired:
    """Spec in the normalised form that machines are compared with.

    Made once for all machines of a decision.
    """

    def __init__(self, view: View) -> None:
        spec = view.spec
        self.version = with_v(view.version)
        self.config: Object = spec.get("kubeadmConfigSpec") or {}
        network = (view.cluster.get("spec") or {}).get("clusterNetwork") or {}
        self.cluster: Object = {"metadata": {"name": view.name}, "spec": {"clusterNetwork": network}}
        self.common = _common(self.config, self.cluster)
        self.join = _join_form(self.config.get("joinConfiguration"), init=False)
        self.init = _init_form(self.config.get("initConfiguration"))
        reference = ((spec.get("machineTemplate") or {}).get("spec") or {}).get("infrastructureRef") or {}
        self.template = str(reference.get("name") or "")
        # Without a name nothing is compared with it.
        self.template_group_kind = f"{reference.get('kind', '')}.{reference.get('apiGroup', '')}"
        rollout = spec.get("rollout") or {}
        self.after = parse_time(rollout.get("after"))
        days = (rollout.get("before") or {}).get("certificatesExpiryDays")
        self.expiry_days: Optional[int] = days if isinstance(days, int) else None
        validity = (self.config.get("clusterConfiguration") or {}).get("certificateValidityPeriodDays")
        self.validity_days: int = validity if isinstance(validity, int) else kubernetes_facts.CERTIFICATE_VALIDITY_DAYS


def outdated(view: View, desired: Desired, machine: MachineView) -> list[Outdated]:
    """Return the reasons why a machine is not up to date.

    [] when it is.
    Source of the order: docs/reference/cluster_api.md, "Up to date or not".
    """
    found: list[Outdated] = []
    if desired.expiry_days is not None:
        expiry = expiry_of(machine)
        if expiry is not None and view.now + desired.expiry_days * DAY > expiry and not short_lived(desired, machine):
            found.append(Outdated("CertificatesExpireSoon", "Certificates will expire soon"))
    if desired.after is not None and _since(machine) < desired.after < view.now:
        found.append(Outdated("RolloutAfterExpired", "KubeadmControlPlane spec.rolloutAfter expired"))
    if machine.version and desired.version and with_v(machine.version) != desired.version:
        found.append(Outdated("VersionDiffers", f"Version {machine.version}, {desired.version} required"))
    paths = _config_differences(desired, machine)
    if paths:
        found.append(Outdated("KubeadmConfigDiffers", f"KubeadmConfig is not up-to-date ({', '.join(paths)})"))
    if machine.infrastructure is not None and desired.template:
        cloned = annotations_of(machine.infrastructure)
        name = cloned.get(kinds.ANNOTATION_CLONED_FROM_NAME)
        group_kind = cloned.get(kinds.ANNOTATION_CLONED_FROM_GROUP_KIND)
        # One without the other is no evidence either: their writer sets both.
        if name and group_kind and (name, group_kind) != (desired.template, desired.template_group_kind):
            found.append(Outdated("InfrastructureDiffers", f"{machine.infrastructure.get('kind')} is not up-to-date"))
    return found


def _since(machine: MachineView) -> int:
    """Return a machine's creation, or the rollout.after that it was made for.

    The creation is by the store's clock, which may be behind that time.
    """
    return max(machine.created, parse_time(annotations_of(machine.machine).get(kinds.ANNOTATION_MADE_FOR_ROLLOUT)) or 0)


def expiry_of(machine: MachineView) -> Optional[int]:
    """Return when the machine's certificates expire.

    In seconds since the epoch; None where that is not known. The user's annotation on the Machine wins over the date
    that was read from the machine, which is kept with its KubeadmConfig (docs/reference/cluster_api.md,
    "Certificates"). What an earlier run wrote into the Machine's status is no evidence: the certificates may have been
    renewed since.
    """
    return parse_time(
        annotations_of(machine.machine).get(kinds.ANNOTATION_CERTIFICATES_EXPIRY)
        or annotations_of(machine.config or {}).get(kinds.ANNOTATION_CERTIFICATES_EXPIRY)
    )


def short_lived(desired: Desired, machine: MachineView) -> bool:
    """Return whether the machine was made with short-lived certificates.

    They ended within `certificatesExpiryDays` from the first day on.

    Their signer would sign the next machine's for as long: the machine would be replaced for ever. The first day of an
    adopted machine's certificates is not known, and its successor is not adopted: it is replaced, once. A date that the
    user set in the annotation holds.
    """
    expiry = expiry_of(machine)
    if desired.expiry_days is None or expiry is None:
        return False
    if annotations_of(machine.machine).get(kinds.ANNOTATION_CERTIFICATES_EXPIRY):
        return False
    if desired.expiry_days >= desired.validity_days:
        # No manifest may say so (objects/validate/control_plane.py), but an object in an API can.
        return True
    if machine.adopted:
        return False
    return machine.created + desired.expiry_days * DAY > expiry


def short_lived_told(machines: Iterable[MachineView], desired: Desired, now: int) -> list[dict[str, str]]:
    """Return the reason about machines with short-lived certificates.

    short_lived() leaves them out of rollouts, so that no other text reports that their certificates expire soon; `now`
    is in seconds since the epoch.
    """
    days = desired.expiry_days or 0
    ends = {
        machine.name: expiry_of(machine)
        for machine in machines
        if short_lived(desired, machine) and (expiry_of(machine) or 0) < now + days * DAY
    }
    if not ends:
        return []
    told = ", ".join(f"{name} ({format_time(end)})" for name, end in ends.items() if end is not None)
    text = (
        f"certificates end within the {days} days of rollout.before.certificatesExpiryDays, as from the machine's first day on: {told}. A new "
        "machine's would too, so none is made for that; renew them in time (an Action renewCertificates), or give fewer days"
    )
    return [{"reason": "CertificatesShortLived", "message": text}]


def _config_differences(desired: Desired, machine: MachineView) -> list[str]:
    """Return the paths of the machine's config that differ in meaning.

    [] where the config can be read as that of the spec.
    """
    spec = (machine.config or {}).get("spec")
    if not isinstance(spec, dict) or _same(spec, desired.config):
        return []
    paths = _differences(_common(spec, desired.cluster), desired.common, "")
    join, init = spec.get("joinConfiguration"), spec.get("initConfiguration")
    if isinstance(join, dict):
        as_join = _differences(_join_form(join, init=False), desired.join, "joinConfiguration")
        # Only a joining machine has this mark: Cluster API's conversions leave a joinConfiguration with timeouts
        # on the first machine too.
        if join.get("controlPlane") is not None or not as_join:
            return paths + as_join
    if _join_form(init, init=True) == desired.join:
        return paths
    return paths + _differences(_init_form(init), desired.init, "initConfiguration")


def _same(spec: Object, wanted: Object) -> bool:
    """Return whether a machine's config is a plain copy of the spec.

    The usual case, decided without normalising.
    """
    section = "joinConfiguration" if "joinConfiguration" in spec else "initConfiguration"
    own, desired = dict(spec.get(section) or {}), dict(wanted.get(section) or {})
    if section == "joinConfiguration":
        # Its presence is a marker that every joining machine's config carries
        # (docs/reference/cluster_api.md, "Creating a machine").
        own["controlPlane"], desired["controlPlane"] = own.get("controlPlane") or {}, desired.get("controlPlane") or {}
    sections = ("initConfiguration", "joinConfiguration")
    return own == desired and (
        {key: value for key, value in spec.items() if key not in sections}
        == {key: value for key, value in wanted.items() if key not in sections}
    )


def _common(spec: Object, cluster: Object) -> Object:
    rest = {key: value for key, value in spec.items() if key not in ("initConfiguration", "joinConfiguration")}
    configuration = dict(rest.get("clusterConfiguration") or {})
    for key in ("controlPlaneEndpoint", "dns", "kubernetesVersion"):
        configuration.pop(key, None)
    gates = configuration.get("featureGates")
    if isinstance(gates, dict) and gates.get(KUBELET_LOCAL_MODE_GATE) is True:
        configuration["featureGates"] = {
            name: value for name, value in gates.items() if name != KUBELET_LOCAL_MODE_GATE
        }
    rest["clusterConfiguration"] = equivalence.without_cluster_values(configuration, cluster)
    return _canonical(rest)


def _join_form(source: Optional[Object], init: bool) -> Object:
    source = source or {}
    form = {key: source[key] for key in _JOIN_FIELDS if key in source}
    control_plane = source if init else source.get("controlPlane") or {}
    if control_plane.get("localAPIEndpoint"):
        form["localAPIEndpoint"] = control_plane["localAPIEndpoint"]
    return _without_ignored(form)


def _init_form(source: Optional[Object]) -> Object:
    return _without_ignored(dict(source or {}))


def _without_ignored(form: Object) -> Object:
    timeouts = form.get("timeouts")
    if isinstance(timeouts, dict):
        form["timeouts"] = {key: value for key, value in timeouts.items() if key not in _IGNORED_TIMEOUTS}
    return _canonical(form)


def _canonical(form: Object) -> Object:
    found = equivalence.canonical(form)
    return {} if found is ABSENT else dict(found)


def _differences(own: Any, wanted: Any, path: str) -> list[str]:
    if isinstance(own, dict) and isinstance(wanted, dict) and (own or wanted):
        found: list[str] = []
        for key in sorted(set(own) | set(wanted)):
            if own.get(key, ABSENT) != wanted.get(key, ABSENT):
                found += _differences(own.get(key, ABSENT), wanted.get(key, ABSENT), f"{path}.{key}" if path else key)
        return found
    return [] if own is wanted or own == wanted else [path]
