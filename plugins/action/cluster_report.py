# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Report of clusters' runs, from their journals."""

from __future__ import annotations

import os
import typing as t

from ansible.errors import AnsibleError
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator

from ..module_utils.common.redact import redact
from ..module_utils.common.values import clip, parse_time
from ..plugin_utils.base_classes.control_plane_action import CLUSTER_SPEC, ControlPlaneAction
from ..plugin_utils.calls import variable_values
from ..plugin_utils.calls.failure import ControlPlaneFailure
from ..plugin_utils.report import files, journal_runs, model
from ..plugin_utils.store import opening
from ..plugin_utils.store.base import StoreError
from ..plugin_utils.store.journal import Journal

MOST_RUNS = 50
# What the playbook reads of the play's first host.
OF_THE_RUN = tuple(f"control_plane_report_{each}" for each in ("directory", "formats", "run", "runs", "since", "watch"))
_SHOWN_CHARACTERS = 600
_NAMING = {key: CLUSTER_SPEC[key] for key in ("cluster", "namespace", "store")}


class ActionModule(ControlPlaneAction):
    """Action plugin of the module kubeadm.control_plane.cluster_report; see its documentation."""

    COMMON_ARGUMENTS: t.ClassVar[dict[str, t.Any]] = {}
    ARGUMENTS: t.ClassVar[dict[str, t.Any]] = {
        "hosts": {"type": "list", "elements": "str", "required": True},
        "directory": {"type": "path", "required": True},
        "formats": {"type": "list", "elements": "str", "default": [files.HTML], "choices": list(files.FORMATS)},
        "run": {"type": "str", "default": ""},
        "since": {"type": "str", "default": ""},
        "runs": {"type": "int", "default": 10},
        "watch": {"type": "path", "default": ""},
    }

    def execute(self, arguments: dict[str, t.Any]) -> dict[str, t.Any]:
        """Read the journals, and write what differs of the report."""
        self._check(arguments)
        different = variable_values.difference(OF_THE_RUN, arguments["hosts"], self._task_vars["hostvars"])
        if different:
            raise ControlPlaneFailure(different)
        reports = self._read_all(list(dict.fromkeys(arguments["hosts"])), arguments)
        if arguments["run"] and not any(each.runs for each in reports):
            raise ControlPlaneFailure(
                f"no journal of {', '.join(each.title for each in reports)} has a run {arguments['run']} (control_plane_report_run), so nothing was "
                "written. A run's id is in its report, and in the journal's lines as run; leave it out for the newest runs."
            )
        directory = os.path.abspath(arguments["directory"])
        contents = files.render(reports, arguments["formats"])
        try:
            paths = files.differing(directory, contents)
            if not self.check_mode:
                files.write(directory, contents, paths)
        except OSError as error:
            raise ControlPlaneFailure(
                f"the report could not be written to {error.filename or directory}: {error.strerror}. The clusters are as they were. Give a folder that "
                "this user can write to, as -e control_plane_report_directory=reports."
            ) from error
        every = [os.path.join(directory, name) for name in contents]
        listed = ", ".join(paths or every)
        said = f"the report would be written: {listed}" if self.check_mode else f"the report is in {listed}"
        if not paths:
            said = f"the report is as it was: {listed}"
        self.display.display(said)
        unread = [f"{each.title}: {each.unread}" for each in reports if each.unread]
        if unread:
            said = "\n".join([f"{len(unread)} of {len(reports)} journals could not be read, {said}:", *unread])
        return {"changed": bool(paths), "files": every, "failed": bool(unread), "msg": said}

    def _read_all(self, hosts: list[str], arguments: dict[str, t.Any]) -> list[model.ClusterReport]:
        """Read the journals; beside others, one may be unreadable."""
        reports = []
        for host in hosts:
            try:
                reports.append(self._read(host, arguments))
            except (AnsibleError, ControlPlaneFailure, StoreError) as error:
                if len(hosts) == 1:
                    raise
                own = self._task_vars["hostvars"].get(host) or {}
                namespace, name = (str(own.get(f"control_plane_{each}") or "") for each in ("namespace", "cluster"))
                why = clip(redact(str(error)), _SHOWN_CHARACTERS)
                reports.append(model.ClusterReport(namespace or "?", name or host, [], unread=why))
        if all(each.unread for each in reports):
            told = "\n".join(f"{each.title}: {each.unread}" for each in reports)
            raise ControlPlaneFailure(f"no journal could be read, so nothing was written. Mend what is named:\n{told}")
        return reports

    def _read(self, host: str, arguments: dict[str, t.Any]) -> model.ClusterReport:
        variables = self._task_vars["hostvars"][host]
        given = {key: variables[f"control_plane_{key}"] for key in _NAMING if f"control_plane_{key}" in variables}
        checked = ArgumentSpecValidator(_NAMING).validate(given)
        if checked.error_messages:
            raise ControlPlaneFailure(
                f"{host} is no cluster's host: {'; '.join(checked.error_messages)}. Nothing was written. Its variables control_plane_cluster, "
                "control_plane_namespace and control_plane_store come from an inventory of the plugin kubeadm.control_plane.clusters."
            )
        named = checked.validated_parameters
        opening.check(named["store"])
        journal = Journal(opening.journal_directory(named["store"]), named["namespace"], named["cluster"])
        return journal_runs.read(
            journal.entries(),
            named["namespace"],
            named["cluster"],
            run=arguments["run"],
            since=arguments["since"],
            most=arguments["runs"],
            watched=self._watched(arguments["watch"]),
        )

    @staticmethod
    def _watched(path: str) -> t.Optional[list[model.Span]]:
        try:
            return files.read_watch(path) if path else None
        except OSError as error:
            raise ControlPlaneFailure(
                f"the watcher's record {path} (control_plane_report_watch) can't be read: {error.strerror}. Nothing was written. Correct the path, or "
                "leave it out: the endpoint's gaps are then those between observations."
            ) from error

    @staticmethod
    def _check(arguments: dict[str, t.Any]) -> None:
        since, runs = arguments["since"], arguments["runs"]
        problem = ""
        if since and parse_time(since) is None:
            problem = (
                f"control_plane_report_since is {since!r}, and must be a time in RFC 3339 such as 2026-01-31T10:00:00Z"
            )
        elif not 1 <= runs <= MOST_RUNS:
            problem = f"control_plane_report_runs is {runs}, and must be 1 to {MOST_RUNS}"
        elif not arguments["directory"]:
            problem = "control_plane_report_directory is empty, and must be the folder for the report"
        elif arguments["watch"] and len(arguments["hosts"]) > 1:
            problem = "control_plane_report_watch is the record of one cluster, and several are selected: add --limit with its name"
        if problem:
            raise ControlPlaneFailure(f"{problem}. Nothing was written.")
