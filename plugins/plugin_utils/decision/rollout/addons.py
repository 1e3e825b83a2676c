# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Add-ons kube-proxy and CoreDNS, running against desired images.

They are updated only after the last machine.
Source: docs/reference/cluster_api.md, "Add-ons".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Optional

from ....module_utils.common.values import clip
from ...kubeadm import addon_images, coredns_releases, image_references
from ...objects import advice, kinds
from .. import terms
from ..outcome import Outcome, block, reason, target
from ..snapshot.typed_snapshot import View

Object = dict[str, Any]
# As the snapshot calls them.
KUBE_PROXY, DNS = "kubeProxy", "dns"
OUTDATED = "AddonsOutdated"
NOT_UPDATED = "AddonNotUpdated"


@dataclass(frozen=True)
class Addon:
    """Add-on that does not run its desired image.

    `running` and `wanted` are images; `wanted` is "" where no desired image can be determined. `problem` is the reason
    why it can't be updated, "" where it can. `asked`: the user set this add-on's own version or registry, so that
    leaving it unchanged is not what was asked for. `left_behind`: it runs the desired image, and an interrupted upgrade
    has left it with the backup of its configuration.
    """

    name: str
    running: str
    wanted: str
    problem: str = ""
    asked: bool = False
    left_behind: bool = False

    @property
    def title(self) -> str:
        """Return the add-on's name for messages."""
        return terms.ADDON_TITLES[self.name]


def outdated_addons(view: View) -> list[Addon]:
    """Return the add-ons that do not run their desired image.

    An add-on that is not installed, or that the user manages, is not among them.
    """
    installed = view.workload.get("addons") or {}
    if not view.reachable or not view.control_plane or not view.version:
        return []
    found = (
        _kube_proxy(view, installed.get(KUBE_PROXY) or {}),
        _dns(view, installed.get(DNS) or {}),
    )
    return [each for each in found if each is not None]


def update_addons(view: View) -> Optional[Outcome]:
    """Update the add-ons to their desired images.

    Blocked where the user asked for an image that can't be used; None where nothing is outdated.
    """
    found = outdated_addons(view)
    due = [each for each in found if not each.problem]
    if due:
        text = "; ".join(_due(each) for each in due)
        outcome = Outcome(terms.UPDATE_ADDONS, [reason(OUTDATED, text)])
        outcome.target = {**target(None), "addons": [each.name for each in due]}
        outcome.reasons += left_alone(found)
        return outcome
    asked = [each for each in found if each.asked]
    if asked:
        annotation = kinds.ANNOTATION_SKIP_COREDNS
        fix = f"Give another clusterConfiguration.dns.imageTag, or manage it yourself: {advice.annotate(kinds.KUBEADM_CONTROL_PLANE, annotation)}."
        return block(NOT_UPDATED, _said(asked[0]), fix)
    return None


def _due(addon: Addon) -> str:
    if addon.left_behind:
        key = addon_images.COREFILE_BACKUP
        return f"{addon.title} runs {clip(addon.running, 300)} with the key {key}, as an upgrade left it that was broken off"
    return f"{addon.title} runs {clip(addon.running, 300)}, {addon.wanted} is wanted"


def left_alone(found: list[Addon]) -> list[Object]:
    """Return the reasons about outdated add-ons that are left unchanged."""
    return [reason(NOT_UPDATED, _said(each)) for each in found if each.problem]


def _said(addon: Addon) -> str:
    wanted = f" instead of {addon.wanted}" if addon.wanted else ""
    return f"{addon.title} continues to run {clip(addon.running, 300)}{wanted}: {addon.problem}"


def _kube_proxy(view: View, installed: Object) -> Optional[Addon]:
    running = str(installed.get("image") or "")
    if (
        not installed.get("present")
        or not running
        or kinds.is_flagged(view.control_plane, kinds.ANNOTATION_SKIP_KUBE_PROXY)
    ):
        return None
    try:
        wanted = str(
            addon_images.kube_proxy_image(running, view.version, addon_images.image_repository(view.control_plane))
        )
    except ValueError as error:
        return Addon(KUBE_PROXY, running, "", clip(str(error), 400))
    return Addon(KUBE_PROXY, running, wanted) if wanted != running else None


def _dns(view: View, installed: Object) -> Optional[Addon]:
    running = str(installed.get("image") or "")
    # Without its ConfigMap it is not the CoreDNS that kubeadm installed.
    if not installed.get("present") or not running or installed.get("corefile") is False:
        return None
    if kinds.is_flagged(view.control_plane, kinds.ANNOTATION_SKIP_COREDNS):
        return None
    wish = addon_images.wanted_coredns(view.control_plane)
    asked = bool(wish.image_tag or wish.image_repository)
    try:
        before = image_references.parse(running)
        wanted = addon_images.coredns_image(before, wish)
    except ValueError as error:
        return Addon(DNS, running, "", clip(str(error), 400), asked) if wish.configured else None
    if str(wanted) == running:
        left_behind = installed.get("corefileKey") == addon_images.COREFILE_BACKUP
        return Addon(DNS, running, running, left_behind=True) if left_behind else None
    problem = coredns_releases.refusal(before.tag, wanted.tag)
    return Addon(DNS, running, str(wanted), clip(problem or "", 400), asked)
