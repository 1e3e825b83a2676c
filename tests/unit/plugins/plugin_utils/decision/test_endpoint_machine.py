# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An endpoint that is a machine's own address: that machine is not replaced, and goes last when others may go."""

from __future__ import annotations

from typing import Any

import pytest
from builders import Builder, healthy
from rules import outdate, reasons, surge, upgrade, walk

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.decide import decide

DELETE = "cluster.x-k8s.io/delete-machine"


def led_to(builder: Builder, host: str = "10.0.0.1", **endpoint: Any) -> Builder:
    """The endpoint is that address; m1's is 10.0.0.1."""
    builder.snapshot["cluster"]["spec"]["controlPlaneEndpoint"] = {"host": host, "port": 6443, **endpoint}
    return builder


@pytest.mark.parametrize("count", [1, 3])
def test_a_rollout_that_would_end_it_does_not_begin(count: int) -> None:
    """One machine more would be made first; with maxSurge 0 another one would go first. The way out is named."""
    assert walk(led_to(upgrade(healthy(count)))) == ["blocked EndpointOnMachine"]
    assert walk(led_to(upgrade(surge(healthy(3), 0)))) == ["blocked EndpointOnMachine"]
    [found] = decide(led_to(upgrade(healthy(count))).build())["blockedOn"]
    assert "10.0.0.1:6443 is machine m1's own address" in found["message"] and "Action upgrade" in found["fix"]


def test_the_others_are_replaced_where_it_is_up_to_date() -> None:
    assert walk(led_to(outdate(healthy(3), "m2"))) == ["+", "-m2", "none"]


def test_another_one_goes_in_a_scale_down() -> None:
    """Although it is the oldest, and although it is sick."""
    builder = healthy(3)
    builder.snapshot["controlPlane"]["spec"]["replicas"] = 1
    assert walk(builder) == ["-m1", "-m2", "none"]
    assert walk(led_to(builder)) == ["-m2", "-m3", "none"]


def test_a_mark_is_not_followed() -> None:
    builder = led_to(healthy(3))
    builder.snapshot["controlPlane"]["spec"]["replicas"] = 1
    builder.entry("m1")["machine"]["metadata"].setdefault("annotations", {})[DELETE] = ""
    decision = decide(builder.build())
    assert reasons(decision)[0] == "EndpointOnMachine" and DELETE in decision["blockedOn"][0]["fix"]


def test_a_lost_machine_is_made_again() -> None:
    """Two of three are left, and all are outdated: the third is made before anything is refused."""
    builder = led_to(upgrade(healthy(2)))
    builder.snapshot["controlPlane"]["spec"]["replicas"] = 3
    assert walk(builder)[0] == "+"


@pytest.mark.parametrize(
    "builder",
    [
        led_to(healthy(1), "10.0.0.250"),
        led_to(healthy(1), port=8443),
        led_to(healthy(1), "192.0.2.1"),
    ],
)
def test_a_load_balancer_keeps_no_machine(builder: Builder) -> None:
    """An address of nobody's, and another port than the API server's on a machine's own."""
    builder.entry("m1")["infrastructureMachine"]["status"]["addresses"].append(
        {"type": "ExternalIP", "address": "192.0.2.1"}
    )
    assert walk(upgrade(builder)) == ["+", "-m1", "none"]


def test_a_name_and_another_spelling_of_an_address() -> None:
    for host, address in (("CP-1.example.org.", "cp-1.example.org"), ("2001:db8:0::1", "2001:db8::1")):
        builder = led_to(healthy(1), host)
        builder.entry("m1")["infrastructureMachine"]["status"]["addresses"] = [{"type": "Hostname", "address": address}]
        assert walk(upgrade(builder)) == ["blocked EndpointOnMachine"]
