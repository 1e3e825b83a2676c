# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A rotation as a model: after every single write and restart of its plan, every client trusts every server and is trusted by it."""

from __future__ import annotations

import itertools

import pytest
from rotation_world import Skip, World, happenings

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.kubeadm.certificate_files import (
    API_SERVER,
    AUTHORITIES,
    BUNDLE,
    CA,
    ETCD,
    ETCD_SERVER,
    FILES,
    FRONT_PROXY,
    KUBECONFIG,
    KUBELET,
    SERVICE_ACCOUNT,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.operator.rotate_certificate_authorities import (
    stages as rotation,
)

SUBSETS = [each for size in range(1, 5) for each in itertools.combinations(AUTHORITIES, size)]


@pytest.mark.parametrize("authorities", SUBSETS, ids="+".join)
def test_every_connection_works_after_every_single_step(authorities: tuple[str, ...]) -> None:
    world = World()
    assert world.broken() == []
    count = 0
    for happened in happenings(world, authorities):
        assert world.broken() == [], happened
        # One alone, whose certificate is written next.
        assert len(world.halves()) <= 1, happened
        count += 1
    assert count > 20
    for (node, path), value in world.files.items():
        file = next(each for each in FILES if each.path == path)
        wanted = "new" if file.authority in authorities else "old"
        if file.kind in (BUNDLE, KUBECONFIG):
            assert value.trusts == {wanted}, (node, path)
        if file.kind != BUNDLE:
            assert value.shows == wanted, (node, path)
    assert set(world.signer.values()) == {""}


def test_kubelets_may_get_another_certificate_at_any_moment() -> None:
    world = World()
    for happened in happenings(world, (CA,)):
        world.renew()
        assert world.broken() == [], happened


def test_the_model_finds_a_kubelet_whose_old_certificate_nobody_saw() -> None:
    world = World()
    found: list[str] = []
    for happened in happenings(world, (CA,), lambda at, name: name == "proveAuthorities"):
        if happened.startswith(rotation.ISSUE):
            world.renew()
        found += world.broken()
    assert any("kubelet" in each for each in found)


def test_the_model_finds_controllers_whose_tokens_are_old() -> None:
    world = World()
    skip: Skip = lambda at, name: name == "restartComponent"  # noqa: E731
    assert any(
        "controllers" in each for _each in happenings(world, (SERVICE_ACCOUNT,), skip) for each in world.broken()
    )


def test_the_model_finds_a_pod_that_has_an_old_certificate_in_memory() -> None:
    world = World()
    world.restarts_mounted = False
    assert any("admin.conf" in each for _each in happenings(world, (CA,)) for each in world.broken())


@pytest.mark.parametrize("stopped", range(0, 280, 7))
def test_a_second_rotation_after_one_that_was_ended_anywhere(stopped: int) -> None:
    """An Action that was aborted is gone on with by the next one, with the same new authorities, from the first stage on."""
    world = World()
    for _happened in itertools.islice(happenings(world, AUTHORITIES), stopped):
        pass
    # What was stopped is started again first.
    for node, component in sorted(world.down):
        world.start(node, component)
    for happened in happenings(world, AUTHORITIES):
        assert world.broken() == [], happened
    assert {value.trusts for value in world.files.values()} == {frozenset(), frozenset({"new"})}


@pytest.mark.parametrize("command", ["trustNewAuthorities", "issueFromNewAuthorities"])
@pytest.mark.parametrize("node", ["cp-2", "worker-2"])
def test_the_model_finds_a_node_that_was_left_out(node: str, command: str) -> None:
    world = World()
    found: list[str] = []
    for _happened in happenings(world, (CA,), lambda at, name: (at, name) == (node, command)):
        found += world.broken()
    assert any(node in each for each in found)


@pytest.mark.parametrize("authority", [CA, FRONT_PROXY])
def test_the_model_finds_objects_that_were_not_published(authority: str) -> None:
    world = World()
    broken = any(
        world.broken() for _each in happenings(world, (authority,), lambda at, name: name == "publishAuthorities")
    )
    assert broken


def test_the_model_finds_old_tokens_that_were_not_waited_for() -> None:
    world = World()
    skip: Skip = lambda at, name: name == "waitServiceAccountTokens"  # noqa: E731
    assert any(world.broken() for _each in happenings(world, (SERVICE_ACCOUNT,), skip))


def test_etcd_is_restarted_while_its_api_server_is_stopped() -> None:
    assert list(rotation.readers((ETCD,), True)) == [ETCD_SERVER, API_SERVER]
    assert list(rotation.readers((CA,), False)) == [KUBELET]
    assert rotation.readers((ETCD, FRONT_PROXY, SERVICE_ACCOUNT), False) == {}


def test_kubeadm_finds_the_authority_that_signs_first() -> None:
    for stage in rotation.STAGES:
        assert rotation.trusted(stage)[0] == rotation.used(stage)
