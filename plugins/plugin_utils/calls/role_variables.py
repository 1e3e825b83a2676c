# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Names of the roles' variables: a mistyped one is refused (roles/control_plane/README.md).

It would be ignored otherwise.

A list in the code, as reading every role's argument_specs.yml in each task would cost more than the tasks of a run without changes. A test
compares it with these files, the playbooks and the task files.
"""

from __future__ import annotations

import difflib
import os
import typing as t
from pathlib import Path

from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from ansible.plugins.action import ActionBase
from ansible.template import Templar

from ..store.yaml_text import from_yaml

# What a user may set: options of the roles' entry points, and variables of the playbooks.
SETTINGS = frozenset(
    {
        "control_plane_adopt",
        "control_plane_adopt_group",
        "control_plane_adopt_hosts",
        "control_plane_adopt_manifest",
        "control_plane_adopt_replicas",
        "control_plane_adopt_template",
        "control_plane_adopt_workers",
        "control_plane_backup_directory",
        "control_plane_backup_keep",
        "control_plane_bootstrap_timeout",
        "control_plane_cluster",
        "control_plane_consent",
        "control_plane_delete",
        "control_plane_deployment",
        "control_plane_fail_when",
        "control_plane_ignore_worker_nodes",
        "control_plane_install_namespaces",
        "control_plane_install_runners",
        "control_plane_keep_plan",
        "control_plane_kubeconfig",
        "control_plane_machines",
        "control_plane_manifests",
        "control_plane_metrics_directory",
        "control_plane_more_providers",
        "control_plane_move_to",
        "control_plane_move_undo",
        "control_plane_namespace",
        "control_plane_output",
        "control_plane_output_file",
        "control_plane_own_variables",
        "control_plane_plan",
        "control_plane_plan_file",
        "control_plane_providers",
        "control_plane_replace",
        "control_plane_replicas",
        "control_plane_report_directory",
        "control_plane_report_formats",
        "control_plane_report_run",
        "control_plane_report_runs",
        "control_plane_report_since",
        "control_plane_report_watch",
        "control_plane_restore_consent",
        "control_plane_restore_machine",
        "control_plane_restore_snapshot",
        "control_plane_rollout_after",
        "control_plane_serial",
        "control_plane_several",
        "control_plane_snapshot",
        "control_plane_snapshot_file",
        "control_plane_store",
        "control_plane_unknown_documents",
        "control_plane_until",
        "control_plane_use_export",
        "control_plane_wait_timeout",
        "control_plane_watch_seconds",
        "control_plane_watch_timeout",
        "machine_inventory_cloud_name",
        "machine_inventory_consent_forget",
        "machine_inventory_consent_wipe",
        "machine_inventory_endpoint_role",
        "machine_inventory_groups",
        "machine_inventory_instance_id",
        "machine_inventory_instance_type",
        "machine_inventory_region",
        "machine_inventory_timeout",
        "machine_inventory_zone",
        "machine_nspawn_binaries",
        "machine_nspawn_bridge",
        "machine_nspawn_cache",
        "machine_nspawn_debian_release",
        "machine_nspawn_directory",
        "machine_nspawn_install_packages",
        "machine_nspawn_mirror",
        "machine_nspawn_pod_subnet",
        "machine_nspawn_release_url",
        "machine_nspawn_source",
        "machine_nspawn_subnet",
        "machine_nspawn_timeout",
        "machine_nspawn_unreachable",
        "operator_action",
        "operator_logs",
        "operator_manifest",
        "operator_mode",
        "operator_node",
        "operator_spec",
        "operator_task",
    }
)
# What the roles, the playbooks and the inventory plugin set themselves.
INTERNAL = frozenset(
    {
        "control_plane_action_step",
        "control_plane_adoption",
        "control_plane_backup",
        "control_plane_bootstrap",
        "control_plane_bootstrap_kind",
        "control_plane_cluster_state",
        "control_plane_cluster_to_adopt",
        "control_plane_decision",
        "control_plane_delete_full",
        "control_plane_delete_loss",
        "control_plane_delete_names",
        "control_plane_edit",
        "control_plane_edited",
        "control_plane_endpoint",
        "control_plane_entry_point",
        "control_plane_failed_so_far",
        "control_plane_failed_workers",
        "control_plane_failure",
        "control_plane_glance",
        "control_plane_health_check",
        "control_plane_hosts",
        "control_plane_hosts_must_fit",
        "control_plane_infrastructure",
        "control_plane_inventory_errors",
        "control_plane_inventory_host",
        "control_plane_inventory_manifests",
        "control_plane_inventory_store",
        "control_plane_infrastructure_observed",
        "control_plane_known_providers",
        "control_plane_labels",
        "control_plane_lease",
        "control_plane_machine",
        "control_plane_meant",
        "control_plane_moved",
        "control_plane_named",
        "control_plane_namespaces_of_clusters",
        "control_plane_newly_failed",
        "control_plane_observing_role",
        "control_plane_of_the_step",
        "control_plane_out_of_endpoint",
        "control_plane_places",
        "control_plane_plan_blocked",
        "control_plane_plan_clusters",
        "control_plane_plan_risks",
        "control_plane_plan_steps",
        "control_plane_planned",
        "control_plane_prepared",
        "control_plane_prerequisites",
        "control_plane_refused",
        "control_plane_removal",
        "control_plane_reported",
        "control_plane_restore",
        "control_plane_run_changed",
        "control_plane_run_clusters",
        "control_plane_run_failed",
        "control_plane_run_held",
        "control_plane_run_not_reached",
        "control_plane_run_nothing",
        "control_plane_run_steps",
        "control_plane_run_waits",
        "control_plane_run_would_change",
        "control_plane_said",
        "control_plane_selected",
        "control_plane_settled",
        "control_plane_shown",
        "control_plane_skip_if_held",
        "control_plane_status",
        "control_plane_step_limit",
        "control_plane_turn",
        "control_plane_turns",
        "control_plane_verb",
        "control_plane_victim",
        "control_plane_victims",
        "control_plane_work",
        "control_plane_worker",
        "control_plane_worker_removal",
        "control_plane_workers",
        "machine_inventory_each",
        "machine_inventory_known",
        "machine_inventory_machine",
        "machine_inventory_pool",
        "machine_inventory_state",
        "machine_nspawn_each",
        "machine_nspawn_endpoint",
        "machine_nspawn_known",
        "machine_nspawn_machine",
        "machine_nspawn_spec",
        "machine_nspawn_state",
        "machine_nspawn_wanted_endpoint",
        "operator_actions",
        "operator_begun",
        "operator_said",
        "operator_skip_if_held",
        "operator_step",
        "operator_verb",
    }
)
OWN = "control_plane_own_variables"
DEPLOYMENT = "control_plane_deployment"
PREFIXES = ("control_plane_", "machine_inventory_", "machine_nspawn_")
# A word that others begin their variables with, too: only a name that is nearly one of the role's is refused.
COMMON_PREFIX = "operator_"
# A name that doesn't begin like one of these prefixes, mistyped or not, or lacks all of these words, is not compared any further.
_BEGINNINGS, _WORDS = ("c", "m", COMMON_PREFIX), ("plan", "inventory", "nspawn")
_COLLECTION = str(Path(__file__).absolute().parents[3])
ARGUMENT_SPECS = os.path.join(_COLLECTION, "roles", "control_plane", "meta", "argument_specs.yml")
_FOLDERS = tuple(os.path.join(_COLLECTION, each, "") for each in ("roles", "playbooks"))
# Of the role's entry points, by process.
_specs: dict[str, t.Any] = {}
_NEAR, _SAME_BUT_FOR_A_LETTER = 0.75, 0.88


def problem(action: ActionBase, variables: t.Mapping[str, t.Any]) -> str:
    """Return why a task is refused for its variables, or "".

    Only tasks of this collection's roles and playbooks are refused.

    Args:
        action: the task's action.
        variables: the task's variables, which may be templates.
    """
    if not str(action._task.get_path() or "").startswith(_FOLDERS):
        return ""
    # A shell's variable that is not set must not turn workers into a whole cluster.
    if DEPLOYMENT in variables and not str(action._templar.template(variables[DEPLOYMENT]) or "").strip():
        return (
            f"{DEPLOYMENT} is given and empty, so it isn't known whether workers or the control plane are meant. Nothing was done. "
            "Give a MachineDeployment's name, or leave the variable out."
        )
    own = variables.get(OWN)
    found = refused(variables, action._templar.template(own) or () if own else ())
    return message(found) if found else ""


def argument_problems(templar: Templar, variables: t.Mapping[str, t.Any], entry_point: str) -> list[str]:
    """Return how variables break the argument specification of the role control_plane.

    Args:
        templar: templates the variables.
        variables: those of a cluster's host.
        entry_point: the role's entry point, as its argument_specs.yml names it.
    """
    if not _specs:
        # Ansible's own reading, which notes where each word stands, takes six times as long, in each process.
        _specs.update(from_yaml(Path(ARGUMENT_SPECS).read_text(encoding="utf-8"))["argument_specs"])
    spec = _specs[entry_point]["options"]
    given = templar.template({name: variables[name] for name in spec if name in variables})
    return list(ArgumentSpecValidator(spec).validate(given, validate_role_argument_spec=True).error_messages)


def refused(names: t.Iterable[str], own: t.Collection[str]) -> dict[str, str]:
    """Return the unread names that seem to be meant for a role.

    Each is with the nearest name that there is ("" for none).

    Args:
        names: the variables of a task.
        own: names that the user has variables of, with whatever meaning.
    """
    found = {}
    for name in names:
        if not name.startswith(_BEGINNINGS) or name in SETTINGS or name in INTERNAL or name in own:
            continue
        prefix = next((each for each in (*PREFIXES, COMMON_PREFIX) if name.startswith(each)), "")
        if prefix:
            near = _nearest(name, prefix)
            if near or prefix != COMMON_PREFIX:
                found[name] = near
        elif any(word in name for word in _WORDS):
            whole = difflib.get_close_matches(name, sorted(SETTINGS), 1, _SAME_BUT_FOR_A_LETTER)
            found.update({name: whole[0]} if whole else {})
    return found


def message(found: t.Mapping[str, str]) -> str:
    """Return the message to the user about such names."""
    told = [f"{name}{f' (did you mean {near}?)' if near else ''}" for name, near in sorted(found.items())]
    several = len(told) > 1
    return (
        f"no role or playbook of kubeadm.control_plane reads the variable{'s' if several else ''} {', '.join(told)}. Nothing was done, since a "
        "mistyped variable would be ignored. Correct the name in the command line or the inventory (ansible-doc -t role "
        "kubeadm.control_plane.control_plane lists them), or take it away. Where it is a variable of your own, name it in the list "
        f"{OWN}."
    )


def _nearest(name: str, prefix: str) -> str:
    # Without the prefix, which alone would make any two names alike.
    rest = sorted(each.removeprefix(prefix) for each in SETTINGS if each.startswith(prefix))
    near = difflib.get_close_matches(name.removeprefix(prefix), rest, 1, _NEAR)
    return prefix + near[0] if near else ""
