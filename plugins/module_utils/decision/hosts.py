# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Images on the hosts that the next machines are to be made of: missing ones stop a run before its first change (peers.md fault 75)."""

from __future__ import annotations

from typing import Any, Optional

from ansible_collections.kubeadm.control_plane.plugins.module_utils.decision.snapshot import View
from ansible_collections.kubeadm.control_plane.plugins.module_utils.decision.trouble import Trouble
from ansible_collections.kubeadm.control_plane.plugins.module_utils.decision.values import clip

Object = dict[str, Any]
IMAGES_AVAILABLE = "ImagesAvailable"
# The name of the check by which a host that lacks images is refused (node/host_fitness.py).
IMAGE_CHECK = "ImagePull"
_SHOWN = 7
_LONGEST = 600


def machines_to_make(view: View) -> int:
    """How many hosts are needed before any is given back: those of machines that are missing, or the one that a rollout begins with."""
    return max(1, view.replicas - len(view.live))


def images_checked(view: View) -> Optional[tuple[list[Trouble], str]]:
    """What is wrong with the hosts' images, or what is said where nothing is; None where no host was looked at.

    Only a host that lacks nothing else counts as lacking images: of another one they are not what keeps it from being used.
    """
    hosts = view.raw.get("hosts")
    if not hosts:
        return None
    ready = [host["name"] for host in hosts if not host.get("missing")]
    lacking = [host for host in hosts if [each["check"] for each in host.get("missing") or ()] == [IMAGE_CHECK]]
    needed = machines_to_make(view)
    if not lacking or len(ready) >= needed:
        shown = ", ".join(clip(name, 80) for name in ready[:_SHOWN]) or "no host"
        return [], f"{shown} {'has' if len(ready) < 2 else 'have'} every image that is needed, or can pull it"
    told = "; ".join(
        f"{clip(host['name'], 80)}: {clip(host['missing'][0]['message'], _LONGEST)}" for host in lacking[:_SHOWN]
    )
    more = f"; and {len(lacking) - _SHOWN} hosts more" if len(lacking) > _SHOWN else ""
    count = f"{needed} host{'' if needed == 1 else 's'} {'is' if needed == 1 else 'are'} needed and {len(ready)} of the free ones"
    text = f"{count} {'has' if len(ready) == 1 else 'have'} their images. {told}{more}"
    fix = clip(lacking[0]["missing"][0].get("fix"), _LONGEST) or "Load the images."
    return [
        Trouble(
            IMAGES_AVAILABLE,
            "ImagesMissing",
            text,
            f"{fix} Or take the host out of the pool. Nothing was changed.",
            False,
        )
    ], ""
