# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Identity of a Node: a given machine's, or another's."""

from __future__ import annotations

import typing as t


class Identity(t.NamedTuple):
    """Identity of a machine, or of the host of a Node.

    "" or None where it is not known.
    """

    machine_id: t.Optional[str] = ""
    provider_id: t.Optional[str] = ""
    uid: t.Optional[str] = ""


def foreign(told: Identity, known: Identity) -> str:
    """Return why a Node is another machine's, "" where nothing says so.

    The machine-id, which the kubelet reads from the host, counts before the providerID, which is only stated.

    Args:
        told: what the Node says.
        known: what is known of the machine.
    """
    if known.uid and told.uid and known.uid != told.uid:
        return "is another one than the machine's, of the same name"
    if known.machine_id and told.machine_id:
        return "" if known.machine_id == told.machine_id else "is another host's: it has another machine-id"
    if known.provider_id and told.provider_id and known.provider_id != told.provider_id:
        return "is another machine's: it has another providerID"
    return ""
