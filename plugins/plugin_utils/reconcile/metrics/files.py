# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Metrics files of a cluster, for node_exporter's textfile collector.

Source: https://github.com/prometheus/node_exporter, "Textfile Collector": it reads the files *.prom of one folder, so that what is
being written, under another ending, is never read.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import typing as t

from ....module_utils.common.guard import write_atomically
from ....module_utils.common.values import now_rfc3339
from ...backup import copies
from ...base_classes.control_plane_action import ControlPlaneAction
from ...calls.failure import ControlPlaneFailure
from ...decision import terms
from ...decision.decide import decide
from ...decision.plan.document import make_plan
from ...decision.snapshot.typed_snapshot import check_snapshot
from ...observe.observation import observe
from ...records.cluster_objects import ClusterObjects
from ...store import base, opening
from ...store.journal import Journal
from .. import plan_and_reconcile, run_outcomes
from ..status.data import status_data
from . import text

Object = dict[str, t.Any]
# Any user's node_exporter reads them.
FILE_MODE = 0o644
# Health checks are on a schedule of their own: one that ended well says nothing of a reconcile that failed.
HEALTH_CHECK = "health_check"
STATE, RUNS = "", (".run", f".{HEALTH_CHECK}")
_NAME_CHARACTERS = 120


class MetricsFiles:
    """Metrics files of one cluster of one store.

    Its state, its last run, its last health check.

    Args:
        directory: the folder that node_exporter reads.
        arguments: ``store``, ``namespace``, ``cluster`` and ``backup_directory`` of an action.

    Raises:
        StoreError: a name is none that a store takes.
    """

    def __init__(self, directory: str, arguments: t.Mapping[str, t.Any]) -> None:
        self._namespace, self._cluster = str(arguments["namespace"]), str(arguments["cluster"])
        base.check_namespace(self._namespace)
        base.check_name(self._cluster)
        self._directory = os.path.abspath(directory)
        self._backups = arguments["backup_directory"]
        self._journal = opening.journal_directory(arguments["store"])
        self._store = opening.title(arguments["store"])
        key = hashlib.sha256("\0".join([self._store, self._namespace, self._cluster]).encode()).hexdigest()[:12]
        self._name = f"kubeadm-control-plane-{f'{self._namespace}.{self._cluster}'[:_NAME_CHARACTERS]}-{key}"

    def path(self, which: str = STATE) -> str:
        """Return a file's path; ``which`` is STATE or one of RUNS."""
        return os.path.join(self._directory, f"{self._name}{which}.prom")

    def write_state(self, snapshot: Object, decision: Object) -> str:
        """Write the cluster's state and return the file's path.

        Args:
            snapshot: passed check_snapshot.
            decision: on that snapshot.

        Raises:
            ControlPlaneFailure: the file can't be written; an older one is as it was.
        """
        backups = self._taken() if self._backups else None
        data, plan = status_data(snapshot, decision), make_plan(snapshot, now_rfc3339())
        # A plan that stops on its way says nothing of how far the way is.
        whole = plan["end"]["action"] == terms.NONE and not data["paused"]
        kept = text.Kept(
            planned_steps=len(plan["steps"]) if whole else None,
            last_snapshot=Journal(self._journal, self._namespace, self._cluster).last_snapshot(),
            backups=None if backups is None else len(backups),
            last_backup=backups[-1] if backups else None,
        )
        return self._write(STATE, text.state_text(self._store, data, kept))

    def write_run(self, playbook: str, result: str) -> str:
        """Write how a run ended and return the file's path. Raises ControlPlaneFailure."""
        which = f".{HEALTH_CHECK}" if playbook == HEALTH_CHECK else RUNS[0]
        ended = text.run_text(self._store, self._namespace, self._cluster, playbook, result, now_rfc3339())
        return self._write(which, ended)

    def remove(self, which: t.Iterable[str] = (STATE, *RUNS)) -> list[str]:
        """Remove files and return those that there were. Raises ControlPlaneFailure."""
        removed = []
        with self._reporting(self._directory):
            # A folder that is missing is none in which nothing is left.
            os.listdir(self._directory)
        for path in map(self.path, which):
            with self._reporting(path), contextlib.suppress(FileNotFoundError):
                os.unlink(path)
                removed.append(path)
        return removed

    def _taken(self) -> list[str]:
        folder = copies.folder_of(self._backups, self._namespace, self._cluster)
        with self._reporting(folder):
            return copies.taken(folder)

    def _write(self, which: str, content: str) -> str:
        path = self.path(which)
        with self._reporting(path):
            write_atomically(path, content.encode(), FILE_MODE)
        return path

    @contextlib.contextmanager
    def _reporting(self, path: str) -> t.Iterator[None]:
        try:
            yield
        except OSError as error:
            raise ControlPlaneFailure(
                f"the metrics of {self._namespace}/{self._cluster} are not brought up to date ({path}): {error.strerror}. The cluster is as it was. "
                "The folder must be there and belong to this user: make it, or correct control_plane_metrics_directory; "
                "node_exporter is given the same one with --collector.textfile.directory."
            ) from error


def observe_and_write(action: ControlPlaneAction, files: MetricsFiles, arguments: Object) -> t.Optional[str]:
    """Observe a cluster, write its state, and return the file's path.

    Takes no lock. None where the store has no such Cluster: its state's file is removed then.

    Args:
        action: the task's action.
        files: the cluster's files.
        arguments: ``store``, ``namespace`` and ``cluster`` of the action.

    Raises:
        ControlPlaneFailure: it can't be observed or written.
        StoreError: the store failed.
    """
    # Beside a run or after its end: no number of a lock is held here.
    arguments = {**arguments, "fencing": None}
    objects = ClusterObjects.read(action.open_store(arguments), arguments["namespace"], arguments["cluster"])
    if objects is None:
        files.remove([STATE])
        return None
    snapshot = observe(objects, action.machine_caller(arguments, objects), now_rfc3339())
    plan_and_reconcile.refuse_contradictions(check_snapshot(snapshot))
    return files.write_state(snapshot, decide(snapshot))


def write_end(action: ControlPlaneAction, directory: str, arguments: Object, playbook: str, result: str) -> None:
    """Write a cluster's state and how its run ended.

    Of a cluster that is gone nothing is kept, unless the run failed.

    Args:
        action: the task's action.
        directory: the folder that node_exporter reads.
        arguments: those of the action.
        playbook: what was run.
        result: as run_outcomes.py names it.

    Raises:
        ControlPlaneFailure: something can't be observed or written; what could be is.
        StoreError: the store failed.
    """
    files = MetricsFiles(directory, arguments)
    # First: how the run ended is known also where its last look at the cluster fails.
    files.write_run(playbook, result)
    if observe_and_write(action, files, arguments) is None and result != run_outcomes.FAILED:
        files.remove()
