# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Choice of a restore of etcd: source, machine, and what is lost.

A pure function of what the machines reported.

The consent is a text that names all of it, so that it fits this restore and no other.
"""

from __future__ import annotations

import typing as t
from dataclasses import asdict, dataclass

from ..calls.failure import ControlPlaneFailure

DATA, SNAPSHOT, BACKUP = "data", "snapshot", "backup"


@dataclass(frozen=True)
class Source:
    """Source of a restore: data, snapshot or backup.

    A machine's own data, a snapshot kept on a machine, or a backup on the controller (no machine).
    """

    kind: str
    machine: str
    path: str
    revision: int
    taken_at: str = ""

    def title(self) -> str:
        """Return the source's name in messages."""
        if self.kind == DATA:
            return f"the data of machine {self.machine}'s own etcd"
        where = f"{self.machine}:{self.path}" if self.machine else self.path
        return f"{where}, taken {self.taken_at}" if self.taken_at else where


@dataclass(frozen=True)
class Choice:
    """Choice of a restore.

    ``give_up`` are the other machines, ``newest`` the highest revision that there is, ``working`` an etcd that works.
    """

    cluster: str
    machine: str
    source: Source
    give_up: tuple[str, ...]
    newest: int
    newest_title: str
    working: bool

    @property
    def consent(self) -> str:
        """Consent that has to be typed: it names what is lost."""
        parts = [self.cluster, "everythingAfterRevision", str(self.source.revision)]
        if self.newest > self.source.revision:
            parts += ["insteadOf", str(self.newest)]
        if self.working:
            parts.append("etcdThatWorks")
        if self.give_up:
            parts += ["etcdOf", ",".join(self.give_up)]
        return ":".join(parts)

    def document(self) -> dict[str, t.Any]:
        """Return the choice for the store; :func:`of_document` reads it."""
        return asdict(self)

    def lines(self) -> list[str]:
        """Return lines for the user: what is done, and what is lost."""
        revision = self.source.revision
        text = [
            f"etcd of {self.cluster} is restored on machine {self.machine} to revision {revision}, from {self.source.title()}.",
            f"Lost: everything that was written after revision {revision}"
            + (
                f"; there is something newer, revision {self.newest}: {self.newest_title}"
                if self.newest > revision
                else ""
            )
            + ".",
        ]
        if self.give_up:
            text.append(
                f"Given up: the etcd of {', '.join(self.give_up)}. What can be reached is stopped, its data moved aside; the machines"
                " are then removed and replaced one after another. What can't be reached must never run again as it is: cut its power."
            )
        if self.working:
            text.append("etcd works: it is stopped for this.")
        return text


def of_document(document: t.Mapping[str, t.Any]) -> Choice:
    """Return the choice that a document holds."""
    fields = dict(document)
    return Choice(**{**fields, "source": Source(**fields["source"]), "give_up": tuple(fields["give_up"])})


def sources(infos: t.Mapping[str, t.Mapping[str, t.Any]], backups: t.Iterable[t.Mapping[str, t.Any]]) -> list[Source]:
    """Return all sources to restore from, best first.

    The highest revision is best; among equals the data of a machine.

    Args:
        infos: what each machine that answered said (the result of etcd_restore_info), by name.
        backups: the controller's files, in the form of that module's ``snapshots``.
    """
    found = []
    for name, info in infos.items():
        if (info.get("data") or {}).get("revision"):
            found.append(Source(DATA, name, "", int(info["data"]["revision"])))
        for each in info.get("snapshots") or ():
            if each.get("revision"):
                found.append(
                    Source(SNAPSHOT, name, str(each["path"]), int(each["revision"]), str(each.get("taken_at") or ""))
                )
    for each in backups:
        if each.get("revision"):
            found.append(Source(BACKUP, "", str(each["path"]), int(each["revision"]), str(each.get("taken_at") or "")))
    order = {DATA: 0, SNAPSHOT: 1, BACKUP: 2}
    return sorted(found, key=lambda each: (-each.revision, order[each.kind], each.machine, each.path))


def works(infos: t.Mapping[str, t.Mapping[str, t.Any]]) -> str:
    """Return the machine whose etcd answers and knows a leader, or ""."""
    found = [name for name, info in sorted(infos.items()) if info["etcd"]["answers"] and info["etcd"]["leader"]]
    return found[0] if found else ""


def choose(
    cluster: str,
    machines: t.Sequence[str],
    infos: t.Mapping[str, t.Mapping[str, t.Any]],
    backups: t.Sequence[t.Mapping[str, t.Any]],
    *,
    snapshot: str = "",
    machine: str = "",
) -> Choice:
    """Return the choice: source and machine of the restore.

    Args:
        cluster: its name.
        machines: the names of its control plane machines.
        infos: what those said that answered.
        backups: the controller's files.
        snapshot: what the user chose: ``MACHINE:/path``, or the path of a file of the controller; "" for what goes furthest.
        machine: where the user wants it restored; "" for the best.

    Raises:
        ControlPlaneFailure: it can't be done, and why.
    """
    if not infos:
        raise ControlPlaneFailure(
            f"no machine of {cluster} can be reached, so there is none to restore etcd on. Nothing was done. Bring one machine back;"
            " its data need not be good."
        )
    known = sources(infos, backups)
    if machine and machine not in infos:
        where = "it can't be reached" if machine in machines else f"{cluster} has no such machine"
        raise ControlPlaneFailure(
            f"etcd can't be restored on machine {machine}: {where}. Nothing was done. Name another, or none."
        )
    if snapshot:
        candidates = [
            each for each in known if snapshot in (each.path if not each.machine else f"{each.machine}:{each.path}",)
        ]
        if not candidates:
            raise ControlPlaneFailure(
                f"{snapshot} is nothing that {cluster} could be restored from. Nothing was done. There is:\n{listing(known)}"
            )
    else:
        candidates = [each for each in known if not machine or each.machine in ("", machine)]
    if not candidates:
        raise ControlPlaneFailure(
            f"there is nothing to restore etcd of {cluster} from: no machine that can be reached has etcd data or a snapshot"
            f"{f' on {machine}' if machine else ''}, and no backup is in the folder of backups. Nothing was done. "
            "Bring back a machine that has some, or name a snapshot's file on this controller as control_plane_restore_snapshot."
        )
    source = candidates[0]
    if machine and source.machine not in ("", machine):
        raise ControlPlaneFailure(
            f"{source.title()} is on another machine than {machine}. Nothing was done. Copy it into the folder of backups on the"
            " controller, and choose it there."
        )
    place = source.machine or machine or _place(infos)
    return Choice(
        cluster,
        place,
        source,
        tuple(sorted(set(machines) - {place})),
        known[0].revision,
        known[0].title(),
        bool(works(infos)),
    )


def _place(infos: t.Mapping[str, t.Mapping[str, t.Any]]) -> str:
    """Return the machine for a backup of the controller's.

    It is the one whose own data has the highest revision.
    """
    return sorted(infos, key=lambda name: (-((infos[name].get("data") or {}).get("revision") or 0), name))[0]


def listing(known: t.Sequence[Source], most: int = 10) -> str:
    """Return the sources to restore from, a line each, for the user."""
    lines = [f"  revision {each.revision}: {each.title()}" for each in known[:most]]
    if len(known) > most:
        lines.append(f"  and {len(known) - most} older")
    return "\n".join(lines) or "  nothing"
