# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Ended certificates on the machines' disks.

They are reported before an API that can't answer is waited for.

The faults: docs/faults.md, "certificates have ended everywhere", "certificates have ended on one machine".
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

from ....module_utils.common.kubernetes_facts import DEFAULT_CERTIFICATES_DIR, certificates_dir
from ....module_utils.common.values import clip, parse_time, shortened
from ...documents.names import typed_name
from ...objects.advice import AUTHORITY_ENDED
from ..snapshot.typed_snapshot import View

_SHOWN = 3
_TYPED = re.compile(r"/[A-Za-z0-9._/-]{1,200}")
ACTION = 'kubeadm.control_plane.action -e \'{"operator_spec": {"renewCertificates": {}}}\''
_AUTHORITIES = ("ca.crt", "front-proxy-ca.crt", "etcd/ca.crt")


@dataclass(frozen=True)
class Ended:
    """Certificate that has ended: its machine, its file and its end.

    ``end`` is RFC 3339.
    """

    machine: str
    file: str
    end: str


def ended_certificates(view: View, excluding: Collection[str] = ()) -> list[Ended]:
    """Return the ended certificates of machines that stay.

    By what each machine itself reported; a machine that reported nothing has none.
    """
    found = []
    told = view.workload.get("machineCertificates") or {}
    for machine in view.machines:
        if machine.name in excluding or machine.deleting:
            continue
        for file, text in sorted((told.get(machine.name) or {}).items()):
            end = parse_time(text)
            if end is not None and end <= view.now:
                found.append(Ended(machine.name, clip(file, 60), str(text)))
    return found


def said_of(ended: Collection[Ended]) -> str:
    """Return a text for people of the ended certificates, by machine."""
    parts = []
    for name in dict.fromkeys(each.machine for each in ended):
        own = [each for each in ended if each.machine == name]
        parts.append(f"machine {name} ({shortened([f'{each.file} {each.end}' for each in own], _SHOWN)})")
    return f"certificates have ended on {', '.join(parts)}"


def way_out(view: View, ended: Collection[Ended], reachable: bool) -> str:
    """Return the remedy for ended certificates.

    `reachable`: an API server answers, so that a machine can also be replaced.
    """
    names = list(dict.fromkeys(typed_name(each.machine) for each in ended))
    if any(each.file in _AUTHORITIES for each in ended):
        return f"A certificate authority itself has ended, which no renewal mends. {AUTHORITY_ENDED}"
    flag = _flag(view)
    text = (
        f"Run {ACTION}, which needs no API. By hand, on {', then '.join(names)}: kubeadm certs renew all{flag} (before 1.20: kubeadm alpha certs "
        f"renew all{flag}; it needs the authorities' keys in certificatesDir, else have them signed), then restart the static pods, so that they "
        "read them: move the files in /etc/kubernetes/manifests away, wait until the four have ended, and move them back."
    )
    if reachable:
        machines = "machine" if len(names) == 1 else "machines"
        text += f" Or have the {machines} replaced: playbook kubeadm.control_plane.remediate -e control_plane_machines={','.join(names)}."
    return text + " etcd's data is not touched by any of this."


def _flag(view: View) -> str:
    """Return kubeadm's flag for certificatesDir, "" where it is kubeadm's default.

    Without an API kubeadm knows no other folder. A path that a shell would read otherwise is no part of the command.
    """
    cluster = (view.spec.get("kubeadmConfigSpec") or {}).get("clusterConfiguration") or {}
    folder = certificates_dir(cluster)
    if folder == DEFAULT_CERTIFICATES_DIR:
        return ""
    return f" --cert-dir={folder if _TYPED.fullmatch(folder) else 'CERTIFICATES_DIR'}"
