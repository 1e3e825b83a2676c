# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Selected clusters, and those that a playbook has something to do with."""

from __future__ import annotations

import json
import typing as t

from ansible import context
from ansible.plugins.action import ActionBase

from ..module_utils.common import settings
from ..module_utils.common.legible import block, one_line, readable
from ..plugin_utils.calls import inventory_source, selected_clusters, variable_values
from ..plugin_utils.calls.machine_connection import CLUSTERS_GROUP
from ..plugin_utils.calls.screen import Screen
from ..plugin_utils.events import cluster_events
from ..plugin_utils.processes.forked import MOST_BYTES, spread
from ..plugin_utils.reconcile import run_outcomes
from ..plugin_utils.reconcile.glance import ENTRY_POINTS, UNCHECKED, Glance

NO_CLUSTER = f"""\
No cluster is selected, so nothing was done. The playbooks of kubeadm.control_plane run on clusters, the hosts of the group \
{CLUSTERS_GROUP}, which an inventory file of the plugin kubeadm.control_plane.clusters makes from manifests and store. \
Give that inventory with -i, and limit with names of clusters, not of machines"""
EMPTY_FILE = (
    "control_plane_plan_file is given and empty, so no plan was approved. Nothing was done. Give the file of a plan that was read; to reconcile without a "
    "plan, leave the variable away."
)
# A pattern of hosts that fits none, without a warning.
NOBODY = f"{CLUSTERS_GROUP}:!{CLUSTERS_GROUP}"
# Those that sum up what became of each cluster.
SUMMED_UP = ("reconcile", "health_check")
SHOWN_HOSTS = 12
# Of one cluster a task's banner stands before what its action says; with several, results come as they come.
STRATEGY_OF_ONE, STRATEGY_OF_SEVERAL = "ansible.builtin.linear", "ansible.builtin.host_pinned"


class ActionModule(ActionBase):
    """Action plugin of the module kubeadm.control_plane.fleet_info; see its documentation."""

    TRANSFERS_FILES = False
    _supports_check_mode = True
    _requires_connection = False

    def run(self, tmp: t.Optional[str] = None, task_vars: t.Optional[dict[str, t.Any]] = None) -> dict[str, t.Any]:
        """Fail without a cluster; look at the selected ones."""
        result = dict(super().run(tmp, task_vars))
        _checked, arguments = self.validate_argument_spec(
            argument_spec={"playbook": {"type": "str", "default": "", "choices": ["", *ENTRY_POINTS]}}
        )
        variables = task_vars or {}
        known = selected_clusters.all_clusters(variables)
        hosts = selected_clusters.selected_clusters(variables)
        if not hosts:
            why = "\n".join(map(str, () if known else variables.get(inventory_source.ERRORS) or ()))
            told = why or f"{NO_CLUSTER} (clusters here: {', '.join(known) or 'none'})."
            return readable({**result, "failed": True, "msg": told})
        wrong = [*self._others_selected(variables, hosts), *self._wrong_values(variables, known)]
        # The role's own default is empty, too, and isn't known to this play.
        if arguments["playbook"] == "reconcile" and self._value(variables, "control_plane_plan_file") == "":
            wrong.append(EMPTY_FILE)
        if wrong:
            return readable({**result, "failed": True, "msg": "\n".join(wrong)})
        settled: dict[str, str] = {}
        # One cluster by itself, too, has mostly nothing to do for reconcile; of the other playbooks its own page is wanted.
        if arguments["playbook"] == "reconcile" or (arguments["playbook"] and len(hosts) > 1):
            settled = self._glance(arguments["playbook"], hosts, variables["hostvars"])
            shown = _shown(arguments["playbook"], hosts, settled)
            if shown:
                Screen().display(shown)
        left = [each for each in hosts if each not in settled]
        facts = {
            "fleet_hosts": CLUSTERS_GROUP if not settled else left or NOBODY,
            "fleet_settled": len(settled),
            "fleet_strategy": STRATEGY_OF_SEVERAL if len(left) > 1 else STRATEGY_OF_ONE,
        }
        found: dict[str, t.Any] = {"clusters": len(hosts), "settled": sorted(settled), "ansible_facts": facts}
        if arguments["playbook"] == "plan":
            # Also where no cluster is left to be planned: without it the next job of a workflow would not know that none was approved.
            found["ansible_stats"] = {"data": {"control_plane_plan": {}}, "per_host": False, "aggregate": True}
        elif settled and arguments["playbook"] in SUMMED_UP:
            nothing = {"result": run_outcomes.NOTHING, "message": "", "steps": 0}
            found["ansible_stats"] = run_outcomes.statistics(dict.fromkeys(settled, nothing))
        return readable({**result, "changed": False, **found})

    def _value(self, variables: dict[str, t.Any], name: str) -> t.Any:
        """Return a variable's value, or None.

        None is for one that is not given, and for a template that only the cluster's own tasks can resolve.
        """
        try:
            return self._templar.template(variables.get(name))
        except Exception:  # whatever a user's template does, the task that reads the variable reports it
            return None

    @staticmethod
    def _others_selected(variables: dict[str, t.Any], hosts: t.Sequence[str]) -> list[str]:
        """Return what is wrong with a rulebook's limit, [] for nothing."""
        selected = {}
        for host in hosts if variables.get("ansible_limit") else ():
            own = variables["hostvars"].raw_get(host)
            named = own.get("control_plane_namespace", "default"), own.get("control_plane_cluster", host)
            selected[host] = (str(named[0]), str(named[1]))
        found = cluster_events.others_selected(variables.get("ansible_limit"), selected)
        return [found] if found else []

    def _wrong_values(self, variables: dict[str, t.Any], known: t.Sequence[str]) -> list[str]:
        """Return what is wrong with values of -e and the first cluster."""
        found = variable_values.problems(variables, self._templar.template)
        named = variables.get(variable_values.DELETE)
        if named and not found:
            listed = []
            for host in known:
                own = variables["hostvars"].raw_get(host)
                listed.append((host, str(own.get("control_plane_namespace")), str(own.get("control_plane_cluster"))))
            found = [variable_values.delete_problem(self._templar.template(named), listed)]
        return [each for each in found if each]

    def _glance(self, playbook: str, hosts: t.Sequence[str], hostvars: t.Any) -> dict[str, str]:
        """Return a line for each cluster with nothing to do, by host."""
        # Neighbours share what is read of their namespace.
        ordered = sorted(hosts, key=lambda each: (str(hostvars.raw_get(each).get("control_plane_namespace")), each))
        glance = Glance(
            self._task, self._connection, self._play_context, self._loader, self._templar, self._shared_loader_obj
        )
        glance.begin(hostvars)

        def look(number: int) -> str:
            line = glance.settled(playbook, ordered[number])
            found = json.dumps([line, glance.warnings]) if line else ""
            # What is too long to be sent is shown by the full way.
            return found if len(found) < MOST_BYTES // 4 else ""

        found: dict[str, str] = {}
        seen = 0
        for each in spread(look, len(ordered), int(context.CLIARGS.get("forks") or 1), settings.PROGRESS_SECONDS):
            if each is None:
                Screen().display(f"  {seen} of {len(ordered)} clusters have been observed")
                continue
            seen += 1
            if each[1]:
                line, warnings = json.loads(each[1])
                found[ordered[each[0]]] = one_line(line)
                for warning in warnings:
                    Screen().warning(warning)
        return found


def _shown(playbook: str, hosts: t.Sequence[str], settled: t.Mapping[str, str]) -> str:
    """Return what a glance found, as lines."""
    left = [each for each in hosts if each not in settled]
    unchecked = [each for each in hosts if settled.get(each) == UNCHECKED]
    lines = [f"{len(settled)} of {len(hosts)} clusters have nothing to do"]
    if len(hosts) == 1:
        return block(["", f"{hosts[0]}: {settled[hosts[0]]}"]) if settled else ""
    if not left and playbook in SUMMED_UP:
        lines = [run_outcomes.summary_text(playbook, {}, len(settled))]
    if unchecked:
        lines.append(f"  {UNCHECKED}: {_listed(unchecked)}")
    if left and settled:
        lines.append(f"  observed one by one now: {_listed(left)}")
    return block(["", *lines])


def _listed(hosts: t.Sequence[str]) -> str:
    more = f" and {len(hosts) - SHOWN_HOSTS} more" if len(hosts) > SHOWN_HOSTS else ""
    return f"{', '.join(hosts[:SHOWN_HOSTS])}{more}"
