# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Match of existing hosts with the machines that are to be made.

Where too few fit, a run stops before its first change (docs/machine_inventory.md).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Optional

from ....module_utils.common.values import clip
from ...objects import advice, kinds
from ...objects.convert import failure_domains
from ..checks.trouble import Trouble
from ..conditions.control_plane import initialized
from ..outcome import Context, max_surge
from ..rollout.placement import place_next
from ..snapshot.typed_snapshot import MachineView, View, annotations_of

Object = dict[str, Any]
HOSTS_AVAILABLE = "HostsAvailable"
HOSTS_MISSING = "HostsMissing"
IMAGES_MISSING = "ImagesMissing"
# Reasons that the controller finds beforehand: the snapshot's ``obstacles``.
HOST_POOL_INVALID = "HostPoolInvalid"
ENDPOINT_MISSING = "EndpointMissing"
ENDPOINT_HOST_UNFIT = "EndpointHostUnfit"
EXTERNAL_ETCD_UNUSABLE = "ExternalEtcdUnusable"
PROVIDER_MISSING = "ProviderMissing"
ROOT_NEEDED = "RootNeeded"
# The name of the check by which a host that lacks images is refused (node/host/fitness.py).
IMAGE_CHECK = "ImagePull"
CHECK_HOSTS = "The playbook kubeadm.control_plane.check_hosts lists every host with what it lacks and the remedy."
_SURGELESS = "Without a spare host a rollout can remove before it adds: spec.rollout.strategy.rollingUpdate.maxSurge 0, with three replicas or more."
_SHOWN = 7
_LONGEST = 600


def hosts_checked(context: Context, machine: Optional[MachineView]) -> Optional[tuple[list[Trouble], str]]:
    """Return the problems with existing hosts, and a text about fitting ones.

    The text is for the case without problems. None where no host was asked, or where `machine`, which is to be resumed,
    has its host already.
    """
    view = context.view
    if not _asked(view) or (machine is not None and has_host(machine)):
        return None
    needed = hosts_needed(context, context.domains(1) if machine is None else ())
    troubles, text = _matched(view, needed, _free(view), machine) or ([], "no host is needed")
    if troubles and context.rollout is not None and max_surge(view) and len(view.live) >= context.replicas:
        troubles = [replace(each, fix=f"{each.fix} {_SURGELESS}") for each in troubles]
    return [*_obstacles(view), *troubles], text


def host_of_next(context: Context, victim: MachineView) -> Optional[tuple[list[Trouble], str]]:
    """Return the problems with a host for the machine after `victim`.

    The form is that of hosts_checked(). The check is made before `victim` is removed so that another machine can be
    made, perhaps of the same host. A version that the host lacks can be installed once it was given back; missing
    images would end the rollout there.
    """
    view = context.view
    if not _asked(view):
        return None
    own = [
        {**each, "missing": [lack for lack in each.get("missing") or () if lack["check"] == IMAGE_CHECK]}
        for each in view.raw.get("hosts") or ()
        if each.get("machine") == victim.name
    ]
    needed = context.domains(1, without=victim.name)
    troubles, text = _matched(view, needed, [*_free(view), *own], None) or ([], "no host is needed")
    return [*_obstacles(view), *troubles], text


def short_of_hosts(group: str, needed: Sequence[str], hosts: Sequence[Object]) -> Optional[Object]:
    """Return why hosts are too few for workers, None where they suffice.

    Args:
        group: the inventory group of the hosts.
        needed: the failure domains of the workers, "" for any.
        hosts: those that were asked, as in a snapshot.
    """
    fit = [each for each in hosts if not each.get("missing")]
    short = _unmatched(needed, fit)
    if not short:
        return None
    lacking = [each for each in hosts if each.get("missing")]
    mend = "Mend one of these hosts, or add" if lacking else "Add"
    return {
        "reason": HOSTS_MISSING,
        "message": _needs(group, needed, fit, short) + _lacks(lacking),
        "fix": f"{mend} a host to the group. Without a spare host a rollout can remove before it adds: maxSurge 0 and maxUnavailable 1 in its strategy.",
    }


def hosts_needed(context: Context, otherwise: Sequence[str] = ()) -> list[str]:
    """Return the failure domains of machines that need a free host now.

    "" is any failure domain; hosts that a removal gives back later are not counted, and machines that were prepared
    ahead have their hosts. `otherwise` are the domains where none is missing, as in a rollout, which makes one more.

    A control plane that doesn't exist yet is started only where it can be completed. Later one machine is enough, or
    two where the first alone would leave etcd with an even number of members, which survives no more failures than one
    less.
    """
    view = context.view
    without = [each for each in view.live if not has_host(each)]
    new = max(0, context.replicas - len(view.live))
    needed = len(without) + new
    if initialized(view):
        odd = view.managed_etcd and (len(view.live) - len(without)) % 2 == 1
        needed = min(needed, 2 if odd else 1)
    domains = [each.failure_domain for each in without] + _domains_of_new(context, new)
    prepared = Counter(
        str(annotations_of(each).get(kinds.ANNOTATION_PREPARED_FAILURE_DOMAIN) or "")
        for each in view.raw.get("preparedMachines") or ()
        if _claimed(each)
    )
    return list((Counter(domains[:needed] or otherwise) - prepared).elements())


def has_host(machine: MachineView) -> bool:
    """Return whether a machine has a host, by the store's objects."""
    return bool(machine.bootstrap) or machine.provisioned or _claimed(machine.infrastructure or {})


def take(snapshot: Object, name: str, domain: str) -> list[Object]:
    """Return a snapshot's hosts once a new machine has claimed one.

    It claims the first host that fits.
    """
    hosts: list[Object] = list(snapshot.get("hosts") or ())
    for index, each in enumerate(hosts):
        if not each.get("machine") and not each.get("missing") and _is_in(each, domain):
            hosts[index] = {**each, "machine": name}
            break
    return hosts


def give_back(snapshot: Object, name: str) -> list[Object]:
    """Return a snapshot's hosts once a machine was deleted."""
    return [{**each, "machine": ""} if each.get("machine") == name else each for each in snapshot.get("hosts") or ()]


def planned_domains(view: View) -> list[str]:
    """Return the failure domains of a cluster.

    Before its infrastructure was made, those that it is going to have.
    """
    if view.infrastructure_ready or view.failure_domains:
        return view.failure_domains
    spec = (view.raw.get("infrastructureCluster") or {}).get("spec") or {}
    declared = failure_domains.of_contract(spec.get("failureDomains"))
    if declared:
        return sorted(str(each["name"]) for each in declared if each.get("controlPlane"))
    return sorted((view.raw.get("pool") or {}).get("failureDomains") or ())


def _asked(view: View) -> bool:
    return bool(view.raw.get("pool") or view.raw.get("hosts") or view.raw.get("obstacles"))


def _claimed(infrastructure: Object) -> bool:
    status = infrastructure.get("status") or {}
    claim = status.get("claim") or {}
    provisioned = (status.get("initialization") or {}).get("provisioned")
    return bool(provisioned) or bool(claim.get("inventoryHost") and claim.get("state") != "Released")


def _free(view: View) -> list[Object]:
    return [each for each in view.raw.get("hosts") or () if not each.get("machine")]


def _domains_of_new(context: Context, count: int) -> list[str]:
    if context.view.failure_domains:
        return context.domains(count)
    return place_next(planned_domains(context.view), (), count)


def _is_in(host: Object, domain: str) -> bool:
    return not domain or host.get("failureDomain") == domain


def _matched(
    view: View, needed: Sequence[str], hosts: Sequence[Object], machine: Optional[MachineView]
) -> Optional[tuple[list[Trouble], str]]:
    if not needed or (view.raw.get("pool") is None and not hosts):
        # Or machines of another provider.
        return None
    fit = [each for each in hosts if not each.get("missing")]
    short = _unmatched(needed, fit)
    if not short:
        names = [clip(each["name"], 80) for each in fit]
        shown = ", ".join(names[:_SHOWN]) or "no host"
        return [], f"{shown} {'fits' if len(fit) < 2 else 'fit'}; needed: {len(needed)}"
    lacking = [
        each
        for each in hosts
        if each.get("missing") and (not each.get("failureDomain") or any(_is_in(each, domain) for domain in short))
    ]
    images = [each for each in lacking if [lack["check"] for lack in each["missing"]] == [IMAGE_CHECK]]
    reason = HOSTS_MISSING
    if not _unmatched(needed, [*fit, *images]):
        # The other hosts are refused for more than missing images.
        reason, lacking = IMAGES_MISSING, images
    group = clip((view.raw.get("pool") or {}).get("group"), 80)
    text = _needs(group, needed, fit, short) + _lacks(lacking)
    fix = _fix(lacking, machine)
    if any(short) and not any(each.get("failureDomain") for each in hosts):
        fix = f"Name the variable that says where a host is in failureDomainVariable of the machine template. {fix}"
    return [Trouble(HOSTS_AVAILABLE, reason, text, fix, False)], ""


def _unmatched(needed: Iterable[str], fit: Iterable[Object]) -> list[str]:
    """Return the failure domains for which no host is left.

    Machines that may be anywhere take the hosts that the others leave.
    """
    left, short = list(fit), []
    for domain in sorted(needed, reverse=True):
        host = next((each for each in left if _is_in(each, domain)), None)
        if host is None:
            short.append(domain)
        else:
            left.remove(host)
    return short


def _needs(group: str, needed: Sequence[str], fit: Sequence[Object], short: Sequence[str]) -> str:
    count = len(needed)
    text = f"{count} free host{'' if count == 1 else 's'}{f' of the inventory group {group}' if group else ''} {'is' if count == 1 else 'are'} needed"
    if not any(short):
        return f"{text}, and {len(fit) or 'none'} {'fits' if len(fit) < 2 else 'fit'}"
    each = [
        f"{needed.count(domain)} in the failure domain {clip(domain, 63)}, where {sum(_is_in(host, domain) for host in fit) or 'none'} fits"
        for domain in sorted(set(short))
    ]
    return f"{text}: {', '.join(each)}"


def _lacks(lacking: Sequence[Object]) -> str:
    # The host that is nearest to fitting comes first.
    lacking = sorted(lacking, key=lambda each: (len(each["missing"]), str(each["name"])))
    told = [
        f"{clip(each['name'], 80)}: "
        + clip(
            "; ".join(f"{clip(lack.get('message'), _LONGEST)} ({lack['check']})" for lack in each["missing"]), _LONGEST
        )
        for each in lacking[:_SHOWN]
    ]
    more = f". And {len(lacking) - _SHOWN} hosts more" if len(lacking) > _SHOWN else ""
    return "".join(f". {each}" for each in told) + more


def _fix(lacking: Sequence[Object], machine: Optional[MachineView]) -> str:
    fixes = {clip(lack.get("fix"), _LONGEST) for each in lacking for lack in each["missing"]} - {""}
    mend = f"{fixes.pop()} Or add" if len(fixes) == 1 else "Mend one of these hosts, or add" if lacking else "Add"
    text = f"{mend} a host to the group. {CHECK_HOSTS}"
    if machine is not None and machine.failure_domain:
        # Its failure domain was decided when it was started: another machine may get another one.
        text += (
            f" If there will be no host in the failure domain {clip(machine.failure_domain, 63)} again, have another machine made in its place "
            f"{advice.replace(machine.name)}."
        )
    return f"{text} Nothing was changed."


def _obstacles(view: View) -> list[Trouble]:
    return [
        Trouble(HOSTS_AVAILABLE, each["reason"], clip(each["message"], _LONGEST), clip(each["fix"], _LONGEST), False)
        for each in view.raw.get("obstacles") or ()
    ]
