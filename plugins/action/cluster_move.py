# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Move of a cluster's objects to another store, and its undoing."""

from __future__ import annotations

import typing as t

from ..plugin_utils.base_classes.control_plane_action import ControlPlaneAction
from ..plugin_utils.calls.failure import ControlPlaneFailure
from ..plugin_utils.move import export
from ..plugin_utils.move.mover import Mover, Side
from ..plugin_utils.store import opening


class ActionModule(ControlPlaneAction):
    """Action plugin of the module kubeadm.control_plane.cluster_move; see its documentation."""

    ARGUMENTS: t.ClassVar[dict[str, t.Any]] = {
        "to": opening.STORE_SPEC,
        "undo": {"type": "bool", "default": False},
        "use_export": {"type": "bool", "default": False},
    }

    def execute(self, arguments: dict[str, t.Any]) -> dict[str, t.Any]:
        """Move the objects under both stores' locks; in check mode, list them."""
        cluster, to = arguments["cluster"], arguments["to"]
        encrypt, decrypt = self.ciphers()
        directory = opening.export_directory(to)
        if directory is not None and (encrypt is None or decrypt is None):
            raise ControlPlaneFailure(export.PASSWORD_MISSING)
        if opening.title(to) == opening.title(arguments["store"]):
            raise ControlPlaneFailure(
                f"{opening.title(to)} is the store that {arguments['namespace']}/{cluster} is in. Nothing was done. "
                "Give the other store as control_plane_move_to."
            )
        if not arguments["undo"]:
            opening.refuse_others(to, self.PATIENCE_SECONDS)
            opening.require_namespace(to, arguments["namespace"], self.PATIENCE_SECONDS)
        source, target = self._side(arguments["store"]), self._side(to)
        own = arguments["store"]
        seen = export.seen(own["path"], arguments["namespace"], cluster) if own["type"] == opening.FILE else []
        mover = Mover(
            source,
            target,
            arguments["namespace"],
            cluster,
            lambda text: self.progress(cluster, text),
            use_export=arguments["use_export"],
            seen=seen,
        )
        title = f"{arguments['namespace']}/{cluster}"
        nothing = f"there is no move of {title} that could be taken back in {source.where}"
        if self.check_mode:
            if arguments["undo"] and not mover.undo(check=True):
                return self._said(False, [], nothing)
            changes = mover.changes if arguments["undo"] else mover.would()
            for each in changes:
                self.progress(cluster, f"would {each}")
            what = "take back the move of it" if arguments["undo"] else "move it"
            return self._said(
                bool(changes), changes, f"{len(changes)} changes would be made to {what} to {target.where}"
            )
        try:
            changed = mover.undo() if arguments["undo"] else mover.move()
            if directory is not None and encrypt is not None and decrypt is not None and not arguments["undo"]:
                mover.leave_source()
                taken = target.locks.own(arguments["namespace"], cluster) or target.locks.acquire(
                    arguments["namespace"], cluster
                )
                kept = export.Export(directory, encrypt, decrypt)
                kept.keep(target.store, arguments["namespace"], cluster, taken.fencing, target.where, arrived=True)
        finally:
            mover.release()
        if arguments["undo"] and not changed:
            return self._said(False, mover.changes, nothing)
        where = source.where if arguments["undo"] else target.where
        return self._said(changed, mover.changes, f"{title} is kept in {where}")

    def _side(self, options: dict[str, t.Any]) -> Side:
        return Side(self.open_store({"store": options}), self.open_locks({"store": options}), opening.title(options))

    @staticmethod
    def _said(changed: bool, changes: list[str], said: str) -> dict[str, t.Any]:
        return {"changed": changed, "changes": changes, "msg": said}
