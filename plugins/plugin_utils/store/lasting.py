# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Paths at which what a job writes is lost with it.

A job of AWX, and every job that ansible-runner isolates, runs in a container that is removed after it. ansible-runner sets ``AWX_ISOLATED_DATA_DIR`` to
a folder below ``/runner/artifacts`` there, and AWX alone ``AWX_PRIVATE_DATA_DIR``: the job's private folder, which is mounted at ``/runner`` and is
removed, too. What is mounted beside that lasts. Seen on AWX 24.6 with podman and in pods (docs/awx.md, "What lasts").
"""

from __future__ import annotations

import contextlib
import os
import re
import typing as t

from .base import StoreError

_ARTIFACTS = "/runner/artifacts/"
_MARKERS = ("/run/.containerenv", "/.dockerenv")
_IN_MEMORY = ("tmpfs", "ramfs", "devtmpfs")
# An emptyDir of a pod, as the node has it.
_EMPTY_DIR = "kubernetes.io~empty-dir"
_ESCAPED = re.compile(r"\\([0-7]{3})")


class Mount(t.NamedTuple):
    """Mount of this process: its place, its source, its file system."""

    point: str
    root: str
    kind: str


def require(options: t.Mapping[str, t.Any]) -> None:
    """Raise StoreError where a store of files is lost with the job.

    Or an exported copy. Called where a run begins to work, and by callers that report what one would do.

    Args:
        options: the store's, as opening.STORE_SPEC has them. The ``path`` of a Kubernetes store has journals alone.
    """
    for option in ("export",) if options.get("type") == "kubernetes" else ("path", "export"):
        given = options.get(option)
        why = what_is_lost(os.path.abspath(os.path.expanduser(str(given)))) if given else ""
        if why:
            raise StoreError(
                f"what is written to {given} would be lost: {why}",
                f"store.{option}",
                "the next job would know of no machine, and has no key of one",
                "Nothing was done. Keep the objects in a Kubernetes API (the inventory's option store: type: kubernetes), or name a folder that is mounted "
                'into each job (in AWX: the setting "Paths to expose to isolated jobs").',
            )


def journal_note(options: t.Mapping[str, t.Any]) -> str:
    """Return where journals are that are lost with the job.

    "" where they last.

    They are for people, so a Kubernetes store whose ``path`` is lost is not refused.

    Args:
        options: as for :func:`require`.
    """
    path = os.path.abspath(os.path.expanduser(str(options.get("path") or "")))
    why = what_is_lost(path) if options.get("path") else ""
    if not why:
        return ""
    return (
        f"the journal of this run is in {path} and is lost with the job: {why}. The job's own output has all that it tells. "
        "To keep journals, name as the store's path a folder that is mounted into each job"
    )


def what_is_lost(path: str) -> str:
    """Return why a path is lost with this job, or "".

    Args:
        path: of a file or folder, which need not exist yet.
    """
    environment = os.environ
    if not _is_job(environment):
        return ""
    container = _is_container(environment, [each for each in _MARKERS if os.path.exists(each)])
    text = ""
    with contextlib.suppress(OSError), open("/proc/self/mountinfo", encoding="utf-8", errors="replace") as stream:
        text = stream.read()
    return lost(os.path.realpath(path), environment, mounts(text), container)


def lost(path: str, environment: t.Mapping[str, str], mounted: t.Sequence[Mount], container: bool) -> str:
    """Return why a path is lost with the job, or "". Pure.

    Args:
        path: absolute, without symbolic links.
        environment: the process's.
        mounted: its mounts; [] where they aren't known, which refuses nothing in a container.
        container: whether it runs in one.

    Returns:
        The reason, for a sentence; "" where it lasts, or nothing is known that says otherwise.
    """
    if not _is_job(environment):
        return ""
    private = environment.get("AWX_PRIVATE_DATA_DIR") or ""
    if private and _is_below(path, private):
        return f"{private} is the job's own folder, which AWX removes after it"
    if not (container and environment.get("AWX_ISOLATED_DATA_DIR", "").startswith(_ARTIFACTS)):
        return ""
    found = max(
        (each for each in mounted if _is_below(path, each.point)), key=lambda each: len(each.point), default=None
    )
    if found is None:
        return ""
    if found.point == "/":
        return "it is in the job's container, which is removed after it"
    if found.kind in _IN_MEMORY or _EMPTY_DIR in found.root:
        return f"{found.point} is a file system of the job's container, which is removed after it"
    # Without AWX the private folder is the user's own, which ansible-runner was given.
    if private and os.path.basename(private.rstrip("/")) in found.root.split("/"):
        return f"{found.point} is the job's own folder, which AWX removes after it"
    return ""


def mounts(text: str) -> list[Mount]:
    """Return the mounts of a ``/proc/self/mountinfo``; later ones hide earlier ones.

    Source: proc_pid_mountinfo(5). A line that isn't understood is left out.
    """
    found: dict[str, Mount] = {}
    for line in text.splitlines():
        fields, _separator, rest = line.partition(" - ")
        known, kind = fields.split(" "), rest.split(" ")[0]
        if len(known) >= 5 and kind:
            root, point = (_ESCAPED.sub(lambda match: chr(int(match[1], 8)), each) for each in known[3:5])
            found[point] = Mount(point, root, kind)
    return list(found.values())


def _is_job(environment: t.Mapping[str, str]) -> bool:
    isolated = environment.get("AWX_ISOLATED_DATA_DIR", "").startswith(_ARTIFACTS)
    return isolated or bool(environment.get("AWX_PRIVATE_DATA_DIR"))


def _is_container(environment: t.Mapping[str, str], markers: t.Sequence[str]) -> bool:
    return bool(markers or environment.get("container") or environment.get("KUBERNETES_SERVICE_HOST"))


def _is_below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")
