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

from ...module_utils.common.values import clip, parse_time
from ..calls.failure import ControlPlaneFailure
from ..objects.etcd_member import another_cluster, remedy_of_another

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
    cluster_id: str = ""

    @property
    def name(self) -> str:
        """Name that the user gives it.

        ``MACHINE:/path``, ``MACHINE:data`` for its own data, or the path of a file of the controller.
        """
        return f"{self.machine}:{self.path or DATA}" if self.machine else self.path

    def title(self) -> str:
        """Return the source's name in messages."""
        if self.kind == DATA:
            return f"the data of machine {self.machine}'s own etcd"
        return f"{self.name}, taken {clip(self.taken_at)}" if self.taken_at else self.name


@dataclass(frozen=True)
class History:
    """History of this control plane's etcd: the revisions that can be compared.

    Beside the cluster's ID the time counts: etcd makes its IDs from the first member's peer URL, so that a control plane that was deleted and made again
    on the same host has the same one.

    ``cluster_id`` is the recorded etcd cluster's ID, ``since`` when the control plane was made; "" where it is unknown.
    """

    cluster_id: str = ""
    since: str = ""

    def excludes(self, source: Source) -> str:
        """Return why a source isn't of this history.

        "" where nothing says so.
        """
        if self.cluster_id and source.cluster_id and source.cluster_id != self.cluster_id:
            return f"it is of the etcd cluster {clip(source.cluster_id)}, and this control plane's is {self.cluster_id}"
        if source.kind == DATA:
            return ""
        taken, since = parse_time(source.taken_at), parse_time(self.since)
        if taken is None:
            return "no facts beside it (.json) say when it was taken, nor of which etcd"
        if since is not None and taken < since:
            return f"it was taken before this control plane was made ({self.since})"
        return ""


@dataclass(frozen=True)
class Choice:
    """Choice of a restore.

    ``give_up`` are the other machines, ``newest`` the highest revision of this etcd's history that there is, ``working`` an etcd that works.
    ``excluded`` says why the source is not of that history, "" where it is. ``beside`` are lines on what else there is.
    ``after`` is when the restore before it was done, "" for the first: the same one again needs a consent of its own.
    """

    cluster: str
    machine: str
    source: Source
    give_up: tuple[str, ...]
    newest: int
    newest_title: str
    working: bool
    excluded: str = ""
    beside: tuple[str, ...] = ()
    after: str = ""

    @property
    def consent(self) -> str:
        """Consent that has to be typed: it names what is lost."""
        what = "everythingForOtherHistoryAtRevision" if self.excluded else "everythingAfterRevision"
        parts = [self.cluster, what, str(self.source.revision)]
        if self.working:
            # Whose revision rises by the second: a consent that names it would fit no run.
            parts.append("etcdThatWorks")
        elif self.newest and (self.excluded or self.newest > self.source.revision):
            parts += ["insteadOf", str(self.newest)]
        if self.give_up:
            parts += ["etcdOf", ",".join(self.give_up)]
        if self.after:
            parts += ["after", self.after.replace(":", "")]
        return ":".join(parts)

    def document(self) -> dict[str, t.Any]:
        """Return the choice for the store; :func:`of_document` reads it."""
        return asdict(self)

    def lines(self) -> list[str]:
        """Return lines for the user: what is done, and what is lost."""
        revision = self.source.revision
        newest = f"revision {self.newest}: {self.newest_title}"
        if self.excluded:
            lost = f"all that this etcd holds, for what is not known to be a state of it: {self.excluded}. Their revisions can't be compared"
            lost += f"; this etcd's goes as far as {newest}" if self.newest else ""
        else:
            lost = f"everything that was written after revision {revision}"
            lost += f"; there is something newer, {newest}" if self.newest > revision else ""
        text = [
            f"etcd of {self.cluster} is restored on machine {self.machine} to revision {revision}, from {self.source.title()}.",
            f"Lost: {lost}.",
            *self.beside,
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
    lists = {name: tuple(fields.get(name) or ()) for name in ("give_up", "beside")}
    return Choice(**{**fields, **lists, "source": Source(**fields["source"])})


def sources(
    infos: t.Mapping[str, t.Mapping[str, t.Any]],
    backups: t.Iterable[t.Mapping[str, t.Any]],
    going: t.Container[str] = (),
) -> list[Source]:
    """Return all sources to restore from, best first.

    The highest revision is best; among equals what is not on a machine that is marked for deletion, then the data of a machine.

    Args:
        infos: what each machine that answered said (the result of etcd_restore_info), by name.
        backups: the controller's files, in the form of that module's ``snapshots``.
        going: the machines that are marked for deletion.
    """
    found = []
    for name, info in infos.items():
        data = info.get("data") or {}
        if data.get("revision"):
            found.append(
                Source(DATA, name, "", int(data["revision"]), cluster_id=str(data.get("clusterID") or "").lower())
            )
        found += [_file(SNAPSHOT, name, each) for each in info.get("snapshots") or () if each.get("revision")]
    found += [_file(BACKUP, "", each) for each in backups if each.get("revision")]
    order = {DATA: 0, SNAPSHOT: 1, BACKUP: 2}
    return sorted(
        found, key=lambda each: (-each.revision, each.machine in going, order[each.kind], each.machine, each.path)
    )


def is_own_data(name: str) -> bool:
    """Return whether a :class:`Source`'s name is that of a machine's own data."""
    return not name.startswith("/") and name.endswith(f":{DATA}")


def _file(kind: str, machine: str, facts: t.Mapping[str, t.Any]) -> Source:
    taken, cluster_id = str(facts.get("taken_at") or ""), str(facts.get("cluster_id") or "").lower()
    return Source(kind, machine, str(facts["path"]), int(facts["revision"]), taken, cluster_id)


def works(infos: t.Mapping[str, t.Mapping[str, t.Any]]) -> str:
    """Return the machine whose etcd answers and knows a leader, or ""."""
    found = [name for name, info in sorted(infos.items()) if info["etcd"]["answers"] and info["etcd"]["leader"]]
    return found[0] if found else ""


def refuse_another(
    control_plane: t.Optional[t.Mapping[str, t.Any]], infos: t.Mapping[str, t.Mapping[str, t.Any]]
) -> None:
    """Refuse where each etcd that works is another one than the recorded.

    It is of machines that were given up, say: it says nothing of the etcd of this control plane.

    Raises:
        ControlPlaneFailure: it is.
    """
    working = [name for name in sorted(infos) if works({name: infos[name]})]
    said = [another_cluster(control_plane, infos[name]["etcd"]) for name in working]
    if working and all(said):
        raise ControlPlaneFailure(
            f"etcd on machine {working[0]} {clip(said[0], 200)}. Nothing was done. {remedy_of_another(working[0])} Then run restore again."
        )


def choose(
    cluster: str,
    machines: t.Sequence[str],
    infos: t.Mapping[str, t.Mapping[str, t.Any]],
    backups: t.Sequence[t.Mapping[str, t.Any]],
    *,
    snapshot: str = "",
    machine: str = "",
    history: t.Optional[History] = None,
    going: t.Container[str] = (),
) -> Choice:
    """Return the choice: source and machine of the restore.

    Args:
        cluster: its name.
        machines: the names of its control plane machines.
        infos: what those said that answered.
        backups: the controller's files.
        snapshot: what the user chose, the name of a :class:`Source`; "" for what goes furthest.
        machine: where the user wants it restored; "" for the best.
        history: what is not of it is taken only where the user chose it.
        going: the machines that are marked for deletion; no run replaces the others beside the only one that works and is to go.

    Raises:
        ControlPlaneFailure: it can't be done, and why.
    """
    if not infos:
        raise ControlPlaneFailure(
            f"no machine of {cluster} can be reached, so there is none to restore etcd on. Nothing was done. Bring one machine back;"
            " its data need not be good."
        )
    known = sources(infos, backups, going)
    excluded = {each: (history or History()).excludes(each) for each in known}
    ours = [each for each in known if not excluded[each]]
    if machine and machine not in infos:
        where = "it can't be reached" if machine in machines else f"{cluster} has no such machine"
        raise ControlPlaneFailure(
            f"etcd can't be restored on machine {machine}: {where}. Nothing was done. Name another, or none."
        )
    if snapshot:
        candidates = [each for each in known if each.name == snapshot]
        if not candidates:
            raise ControlPlaneFailure(
                f"{snapshot} is nothing that {cluster} could be restored from. Nothing was done. There is:\n{listing(known, excluded)}"
            )
    else:
        candidates = [each for each in ours if not machine or each.machine in ("", machine)]
    if not candidates and known:
        raise ControlPlaneFailure(
            f"there is nothing to restore etcd of {cluster} from{f' on {machine}' if machine else ''} that is known to be of this etcd's history. "
            f"Nothing was done. Where one of these is meant, name it as control_plane_restore_snapshot:\n{listing(known, excluded)}"
        )
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
    place = source.machine or machine or _place(infos, going)
    return Choice(
        cluster,
        place,
        source,
        tuple(sorted(set(machines) - {place})),
        ours[0].revision if ours else 0,
        ours[0].title() if ours else "",
        bool(works(infos)),
        excluded[source],
        (*_beside(known, excluded, source), *_marked(place, place in going)),
    )


def _beside(known: t.Sequence[Source], excluded: t.Mapping[Source, str], source: Source) -> t.Iterator[str]:
    """Yield lines on the sources that were not chosen.

    How far the machines' own data goes, and what was not considered because it is of another history.
    """
    own = sorted((each for each in known if each.kind == DATA), key=lambda each: each.machine)
    if own:
        yield f"How far the machines' own data goes: {', '.join(f'{each.machine} {each.revision}' for each in own)}."
    others = [each for each in known if excluded[each] and each != source]
    if others:
        yield (
            "Not considered, since it is not known to be of this etcd's history. Where it is meant, name it as control_plane_restore_snapshot:\n"
            + listing(others, excluded)
        )


def _marked(machine: str, going: bool) -> t.Iterator[str]:
    """Yield a line where the machine is marked for deletion."""
    if going:
        yield (
            f"Machine {machine} is marked for deletion: as the only one that works it is not removed, and no run replaces the others before it. "
            'Take its deletion back (docs/removing_a_machine.md, "The last machine").'
        )


def _place(infos: t.Mapping[str, t.Mapping[str, t.Any]], going: t.Container[str]) -> str:
    """Return the machine for a backup of the controller's.

    One whose own data is known, since nothing is restored where no etcd of kubeadm's runs; of those that are to stay where there is one, that with the
    highest revision.
    """

    def order(name: str) -> tuple[bool, bool, int, str]:
        revision = int((infos[name].get("data") or {}).get("revision") or 0)
        return not revision, name in going, -revision, name

    return min(infos, key=order)


def listing(known: t.Sequence[Source], excluded: t.Mapping[Source, str], most: int = 10) -> str:
    """Return the sources to restore from, a line each, for the user."""
    lines = []
    for each in known[:most]:
        taken = f", taken {clip(each.taken_at)}" if each.taken_at else ""
        lines.append(
            f"  {each.name}: revision {each.revision}{taken}{f' ({excluded[each]})' if excluded[each] else ''}"
        )
    if len(known) > most:
        lines.append(f"  and {len(known) - most} more")
    return "\n".join(lines) or "  nothing"
