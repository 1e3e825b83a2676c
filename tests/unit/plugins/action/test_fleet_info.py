# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The beginning of every playbook: a plan's file that is given and empty, a rulebook's limit that selects others."""

from __future__ import annotations

import typing as t

import pytest
from actions import make_action

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.events import cluster_events

Object = dict[str, t.Any]


class HostVars(dict[str, Object]):
    """Variables of hosts, as Ansible has them."""

    def raw_get(self, host: str) -> Object:
        """A host's, as they were written."""
        return self[host]


def begun(playbook: str, **given: t.Any) -> Object:
    """What a playbook's beginning returns for one selected cluster and these variables."""
    play: Object = {
        "groups": {"control_planes": ["prod"]},
        "ansible_play_hosts_all": ["prod"],
        "hostvars": HostVars(prod={}),
    }
    return dict(make_action("fleet_info", playbook=playbook).run(task_vars={**play, **given}))


@pytest.mark.parametrize("playbook", ["reconcile", "plan"])
def test_a_plan_that_got_lost_is_no_run_without_one(playbook: str) -> None:
    """Of reconcile; a plan is written nowhere then."""
    found = begun(playbook, control_plane_plan_file="")
    assert bool(found.get("failed")) is (playbook == "reconcile")
    assert ("given and empty" in found.get("msg", "")) is (playbook == "reconcile")


def test_without_the_variable_a_run_needs_no_plan() -> None:
    assert not begun("reconcile").get("failed")
    assert not begun("reconcile", control_plane_plan_file="prod.plan.json").get("failed")


EVENT_LIMIT = "eu,team-a.eu,&control_planes"


@pytest.mark.parametrize(
    ("limit", "selected", "wrong"),
    [
        (EVENT_LIMIT, {"eu": ("team-a", "eu")}, ""),
        (EVENT_LIMIT, {"team-a.eu": ("team-a", "eu")}, ""),
        # A group of that name, with or without the cluster; and the namesake of another namespace.
        (EVENT_LIMIT, {"prod": ("team-a", "prod"), "stage": ("team-a", "stage")}, "prod, stage"),
        (EVENT_LIMIT, {"eu": ("team-a", "eu"), "prod": ("team-a", "prod")}, "prod"),
        (EVENT_LIMIT, {"eu": ("team-b", "eu")}, "eu"),
        (EVENT_LIMIT, {f"c-{number}": ("team-a", f"c-{number}") for number in range(7)}, "c-4 and 2 more"),
        # A person's own limits are not read.
        ("eu", {"prod": ("team-a", "prod")}, ""),
        ("eu,team-a.prod,&control_planes", {"prod": ("team-a", "prod")}, ""),
        ("eu,team-a.eu", {"prod": ("team-a", "prod")}, ""),
    ],
)
def test_a_rulebook_s_run_is_of_its_cluster_alone(limit: str, selected: dict[str, tuple[str, str]], wrong: str) -> None:
    """Ansible takes a cluster's name for a group's, where there is one."""
    own = {
        host: {"control_plane_namespace": namespace, "control_plane_cluster": name}
        for host, (namespace, name) in selected.items()
    }
    play = {"groups": {"control_planes": list(own)}, "ansible_play_hosts_all": list(own), "hostvars": HostVars(own)}
    found = begun("", **play, ansible_limit=limit)
    assert bool(found.get("failed")) == bool(wrong)
    assert not wrong or f"of the cluster team-a/eu, and selects {wrong}" in found["msg"].replace(
        "c-0, c-1, c-2, c-3, ", ""
    )


def test_the_limit_that_is_read_is_the_one_that_events_have() -> None:
    made = cluster_events.event("team-a", "eu", "Alert", "", unhealthy=True, drift=False)
    assert made is not None and made["meta"] == {"hosts": EVENT_LIMIT}
