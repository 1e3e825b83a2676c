# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Infrastructure and certificates, made before the first machine.

They are not started where that machine can't be made (docs/plan.md).
"""

from __future__ import annotations

from typing import Any, Optional

from ....module_utils.common import settings
from ....module_utils.common.values import format_time, parse_time
from .. import terms
from ..checks.preflight import FAIL, check
from ..outcome import CERTIFICATES_EXPIRED, CERTIFICATES_NOT_AVAILABLE, Context, Outcome, block, held, reason
from .existing_hosts import HOSTS_AVAILABLE, hosts_checked
from .growth import template_missing

Object = dict[str, Any]
KUBECONFIG_ENDS_SOON = "KubeconfigEndsSoon"


def foundation(context: Context) -> Optional[Outcome]:
    """Return the step that makes the cluster's infrastructure or certificates.

    None where both exist.

    Nothing is made for a first machine that can't be made: all reasons that are known beforehand are reported at once.
    For a machine that was started already, they are reported where it is resumed, and where it can be removed.
    """
    outcome = _infrastructure(context) or _certificates(context)
    if outcome is None or not outcome.acts or not _untouched(context) or context.view.machines:
        return outcome
    return _first_machine_refused(context) or outcome


def _untouched(context: Context) -> bool:
    """Return whether no control plane can exist yet."""
    view = context.view
    return not view.latched and view.initialized is not True and not any(each.bootstrap for each in view.machines)


def _first_machine_refused(context: Context) -> Optional[Outcome]:
    unusable = _unusable_certificates(context)
    if unusable is not None:
        return unusable
    missing = template_missing(context, None)
    if missing is not None:
        return missing
    troubles = (hosts_checked(context, None) or ([], ""))[0]
    if not troubles:
        return None
    outcome = held(troubles)
    outcome.preflight = [check(HOSTS_AVAILABLE, FAIL, "; ".join(each.message for each in troubles))]
    return outcome


def _infrastructure(context: Context) -> Optional[Outcome]:
    view = context.view
    if view.raw.get("infrastructureCluster") is None:
        text = f"the Cluster {view.name} has no infrastructure cluster in the store"
        return block(
            "InfrastructureClusterNotFound",
            text,
            "Add it to the manifest, or correct the Cluster's spec.infrastructureRef.",
        )
    if not view.infrastructure_ready:
        return Outcome(
            terms.CREATE_INFRASTRUCTURE,
            [reason("InfrastructureNotReady", "the cluster's infrastructure is not provisioned")],
        )
    if not view.endpoint:
        return Outcome(
            terms.CREATE_INFRASTRUCTURE, [reason("WaitingForEndpoint", "the control plane has no endpoint yet")]
        )
    return None


def _certificates(context: Context) -> Optional[Outcome]:
    unusable = _unusable_certificates(context)
    if unusable is not None:
        return unusable
    if _untouched(context) and context.missing:
        text = f"certificate authorities and keys are missing: {', '.join(context.missing)}"
        return Outcome(terms.CREATE_CERTIFICATES, [reason(CERTIFICATES_NOT_AVAILABLE, text)])
    kubeconfig = context.certificates.get("kubeconfig") or {}
    if (
        not kubeconfig.get("present")
        and "ca" not in context.missing
        and (context.certificates.get("ca") or {}).get("hasKey")
    ):
        return Outcome(
            terms.CREATE_CERTIFICATES,
            [reason("KubeconfigNotAvailable", f"Secret {context.view.name}-kubeconfig is missing")],
        )
    return None


def kubeconfig_told(context: Context) -> list[Object]:
    """Return a reason for a kubeconfig that is missing or ends soon.

    No step follows from it: no pass can make the one, and none renews the other.
    """
    view, kubeconfig = context.view, context.certificates.get("kubeconfig") or {}
    secret, has_key = f"Secret {view.name}-kubeconfig", (context.certificates.get("ca") or {}).get("hasKey")
    if not kubeconfig.get("present"):
        text = f"{secret} is missing, and the CA's key to make it is not here: supply it"
        return [reason("KubeconfigNotAvailable", text)]
    end = parse_time(kubeconfig.get("notAfter"))
    if end is None or end > view.now + settings.CERTIFICATES_SOON_DAYS * 86400:
        return []
    renewal = "an Action renewCertificates renews it; one of your own, replace there" if has_key else "replace it there"
    text = (
        f"the client certificate in {secret} {'ended' if end <= view.now else 'ends'} {format_time(end)}: {renewal}. Then fetch it again (status -e "
        "control_plane_kubeconfig=FILE) wherever it is used, such as for the store of a cluster that keeps its own objects"
    )
    return [reason(KUBECONFIG_ENDS_SOON, text)]


def _unusable_certificates(context: Context) -> Optional[Outcome]:
    """Return the refusal of certificates that only the user can replace.

    They are missing, or were given and have expired; None where there are none.
    """
    view = context.view
    if not _untouched(context):
        return None
    if not view.managed_etcd and "etcd" in context.missing:
        text = f"Secret {view.name}-etcd is missing: the certificate authority of an external etcd can't be generated"
        return block(
            CERTIFICATES_NOT_AVAILABLE,
            text,
            "Add the external etcd's CA certificate to the manifest as this Secret.",
        )
    expired = [each for each in context.certificate_troubles() if each.reason == CERTIFICATES_EXPIRED]
    return held(expired) if expired else None
