# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Statuses of the selected clusters, as one table or document."""

from __future__ import annotations

import typing as t

from ansible import context
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from ansible.plugins.action import ActionBase

from ..module_utils.common import settings
from ..module_utils.common.legible import readable
from ..plugin_utils.calls import variable_values
from ..plugin_utils.calls.screen import Screen
from ..plugin_utils.calls.selected_clusters import selected_clusters
from ..plugin_utils.progress.progress_lines import Line
from ..plugin_utils.reconcile.status.document import document_text, write_document
from ..plugin_utils.reconcile.status.fleet import FAILED_AS_ASKED, failing, fleet_lines
from ..plugin_utils.reconcile.status.observer import Observer
from ..plugin_utils.reconcile.status.verdict import TROUBLES
from ..plugin_utils.reconcile.status.watch import UNTIL, watch
from ..plugin_utils.store.base import StoreError

Object = dict[str, t.Any]
TABLE, JSON = "table", "json"
SPEC: Object = {
    "output": {"type": "str", "default": TABLE, "choices": [TABLE, JSON]},
    "output_file": {"type": "path", "default": ""},
    "fail_when": {"type": "list", "elements": "str", "choices": list(TROUBLES)},
    "watch_seconds": {"type": "int", "default": 0},
    "watch_until": {"type": "str", "default": "", "choices": ["", *UNTIL]},
    "watch_timeout": {"type": "int", "default": settings.WATCH_SECONDS},
}
# What the playbooks read of the play's first host.
OF_THE_RUN = (
    "control_plane_output",
    "control_plane_output_file",
    "control_plane_until",
    "control_plane_watch_seconds",
    "control_plane_watch_timeout",
)
FAIL_WHEN = "control_plane_fail_when"


class ActionModule(ActionBase):
    """Action plugin of the module kubeadm.control_plane.fleet_status; see its documentation."""

    TRANSFERS_FILES = False
    _supports_check_mode = True
    _requires_connection = False

    def run(self, tmp: t.Optional[str] = None, task_vars: t.Optional[Object] = None) -> Object:
        """Observe and show all selected clusters; fail where that is asked for."""
        result = dict(super().run(tmp, task_vars))
        _checked, arguments = self.validate_argument_spec(argument_spec=SPEC)
        self._variables = task_vars or {}
        self._screen = Screen()
        self._hosts = selected_clusters(self._variables)
        different = variable_values.difference(OF_THE_RUN, self._hosts, self._variables["hostvars"])
        if different:
            return readable({**result, "changed": False, "failed": True, "msg": different})
        try:
            result.update(self._watch(arguments) if arguments["watch_seconds"] else self._show(arguments))
        except StoreError as error:
            result.update(failed=True, msg=str(error))
        return readable({"changed": False, **result})

    def _watch(self, arguments: Object) -> Object:
        if arguments["watch_seconds"] < 1 or arguments["watch_timeout"] < 1:
            said = (
                "control_plane_watch_seconds and control_plane_watch_timeout must be whole numbers of seconds from 1 on"
            )
            return {"failed": True, "msg": f"{said}. Nothing was watched. Correct them where they are set."}

        def observe() -> list[Object]:
            return self._observe(arguments, quiet=True)

        seconds = (arguments["watch_seconds"], arguments["watch_timeout"])
        return watch(observe, self._screen, *seconds, arguments["watch_until"])

    def _show(self, arguments: Object) -> Object:
        # Nothing else is printed with the document, which a program reads.
        found = self._observe(arguments, quiet=arguments["output"] == JSON)
        if arguments["output"] == JSON:
            self._screen.display(document_text(found))
        elif len(found) > 1 or "error" not in found[0]:
            # The error of a single cluster is the task's own.
            self._screen.display_lines([Line(""), *fleet_lines(found)])
        return self._ended(found, arguments["fail_when"])

    def _observe(self, arguments: Object, quiet: bool = False) -> list[Object]:
        """Return the statuses, and write the document where it is wanted."""
        observer = Observer(
            self._task, self._connection, self._play_context, self._loader, self._templar, self._shared_loader_obj
        )

        def waits(seen: int) -> None:
            if len(self._hosts) > 1 and not quiet:
                self._screen.display(f"  {seen} of {len(self._hosts)} clusters have been observed")

        forks = int(context.CLIARGS.get("forks") or 1)
        found = observer.observe_all(self._hosts, self._variables["hostvars"], forks, waits)
        if arguments["output_file"] and not self._task.check_mode:
            write_document(found, arguments["output_file"])
        return found

    def _ended(self, found: t.Sequence[Object], kinds: t.Optional[t.Collection[str]]) -> Object:
        """Return the task's result, failed where a cluster asks for it."""
        wrong = failing(found, kinds or (), {each: self._kinds_of(each) for each in self._hosts if kinds is None})
        errors = [each["error"] for each in found if "error" in each]
        if len(found) == 1 and errors:
            return {"failed": True, "msg": errors[0]}
        if wrong:
            why = "" if errors else f" {FAILED_AS_ASKED}."
            return {"failed": True, "msg": "\n".join([f"{len(wrong)} of {len(found)} clusters:{why}", *wrong])}
        return {}

    def _kinds_of(self, host: str) -> t.Collection[str]:
        """Return of what a cluster's own variable lets the run fail.

        A value that is none was the cluster's error before.
        """
        given = {"fail_when": self._variables["hostvars"][host].get(FAIL_WHEN) or []}
        checked = ArgumentSpecValidator({"fail_when": SPEC["fail_when"]}).validate(given)
        return () if checked.error_messages else tuple(checked.validated_parameters["fail_when"])
