# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which version of another provider's kind is used, and how often an API server is asked for it."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.base import Object, StoreError
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.kubernetes.requests import (
    Answer,
    ApiUnavailable,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.kubernetes.served_versions import (
    ServedVersions,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.kubernetes.store import KubernetesStore
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.read_once import OF_NAMESPACE

KIND = ("infrastructure.example.com", "AcmeMachine")
GROUP = Answer(200, {"versions": [{"version": "v1"}], "preferredVersion": {"version": "v1"}})
SERVED = Answer(200, {"resources": [{"name": "acmemachines"}]})


class Server:
    """API server that gives recorded answers and counts requests."""

    host = "https://api"

    def __init__(self, *answers: Answer) -> None:
        self.answers, self.asked = list(answers), 0

    def send(self, verb: str, path: str, **_options: t.Any) -> Answer:
        """Answer a request."""
        self.asked += 1
        return self.answers[min(self.asked, len(self.answers)) - 1]


@pytest.mark.parametrize(
    ("answers", "version", "requests"),
    [
        ((GROUP, SERVED), "v1", 2),
        ((Answer(403, {}),), "", 1),
        ((GROUP, Answer(403, {})), "", 2),
        ((Answer(404, {}),), "", 3),
    ],
    ids=["served", "group-forbidden", "version-forbidden", "not-installed-yet"],
)
def test_what_is_known_is_not_asked_again(answers: tuple[Answer, ...], version: str, requests: int) -> None:
    server = Server(*answers)
    served = ServedVersions(t.cast(t.Any, server))
    assert [served.of(KIND) for _again in range(3)] == [version] * 3
    assert server.asked == requests


def test_a_group_is_asked_once_for_all_of_its_kinds_and_again_for_one_that_it_lacked() -> None:
    more = Answer(200, {"resources": [{"name": "acmemachines"}, {"name": "acmeclusters"}]})
    server = Server(GROUP, SERVED, GROUP, more)
    served = ServedVersions(t.cast(t.Any, server))
    kinds = [KIND, (KIND[0], "AcmeCluster"), KIND, (KIND[0], "AcmeCluster")]
    assert [served.of(kind) for kind in kinds] == ["v1"] * 4
    assert server.asked == 4


BROKEN = Answer(503, {})


class Group:
    """API server of one group, whose first version is the preferred one; counts the requests for each path."""

    host = "https://api"

    def __init__(self, **versions: t.Union[str, Answer]) -> None:
        self.asked: list[str] = []
        root = f"/apis/{KIND[0]}"
        named = [{"version": each} for each in versions]
        self._answers = {root: Answer(200, {"versions": named, "preferredVersion": named[0] if named else None})}
        for version, kinds in versions.items():
            listed = {"resources": [{"name": each} for each in kinds.split()]} if isinstance(kinds, str) else {}
            self._answers[f"{root}/{version}"] = kinds if isinstance(kinds, Answer) else Answer(200, listed)

    def send(self, verb: str, path: str, accepted: t.Sequence[int] = (), **_options: t.Any) -> Answer:
        """Answer a request, or refuse it as the real one does."""
        self.asked.append(path.rpartition("/")[2])
        answer = self._answers.get(path, Answer(404, {}))
        if answer.status != 200 and answer.status not in accepted:
            raise ApiUnavailable(path, self.host, f"HTTP {answer.status}", "Run again.")
        return answer

    def served(self) -> ServedVersions:
        """What is known of its versions: nothing yet."""
        return ServedVersions(t.cast(t.Any, self))


def of_version(version: str, kind: str = KIND[1]) -> Object:
    return {"apiVersion": f"{KIND[0]}/{version}", "kind": kind, "metadata": {"name": "a", "namespace": "default"}}


def clusters_note(text: str) -> Object:
    return {"metadata": {"annotations": {"kubeadm.control-plane/infrastructure-versions": text}}}


def test_a_manifests_version_is_used_from_its_first_object_on() -> None:
    """And no other version is asked for."""
    group = Group(v2="acmemachines", v1="acmemachines", v0="")
    served = group.served()
    served.prefer(of_version("v1"))
    assert served.of(KIND) == "v1" and group.asked == ["v1"]
    changed: list[t.Any] = []
    again = ServedVersions(t.cast(t.Any, group), changed.append)
    assert again.of(KIND) == "v2"
    again.identity(of_version("v1"))
    assert again.of(KIND) == "v1" and changed == [KIND]


@pytest.mark.parametrize(
    ("versions", "why", "fix"),
    [
        ({"v2": "acmemachines", "v1": "acmemachines", "v0": "others"}, "serves this kind as v2, v1,", "example.com/v2"),
        ({"v0": "acmemachines acmemachines/status", "v9": BROKEN}, "serves this kind as v0,", "example.com/v0"),
        ({"v3": "others"}, "serves no kind AcmeMachine in the group infrastructure.example.com", "control_plane_more"),
        ({}, "serves no kind AcmeMachine", "Install the provider's definitions"),
    ],
    ids=["others", "one-broken", "another-kind", "no-group"],
)
def test_what_is_not_served_is_refused_before_it_is_written(
    versions: dict[str, t.Union[str, Answer]], why: str, fix: str
) -> None:
    served = Group(**versions).served()
    for write in (served.prefer, served.identity):
        with pytest.raises(StoreError) as refused:
            write(of_version("v3"))
        assert refused.value.what.startswith("AcmeMachine default/a is of the version v3") and why in refused.value.why
        assert refused.value.fix.startswith("It was not written.") and fix in refused.value.fix


def test_a_version_that_is_served_since() -> None:
    group = Group(v1="acmemachines")
    served = group.served()
    assert served.of(KIND) == "v1"
    group._answers = Group(v1="acmemachines", v2="acmemachines")._answers
    served.prefer(of_version("v2"))
    assert served.of(KIND) == "v2"


def test_whoever_may_not_ask_uses_what_the_manifest_or_the_note_says() -> None:
    served = ServedVersions(t.cast(t.Any, Server(Answer(403, {}))))
    served.note(clusters_note('{"AcmeMachine.infrastructure.example.com": "v6"}'))
    assert served.of((KIND[0], "AcmeCluster")) == "" and served.of(KIND) == "v6"
    served.note(clusters_note('{"AcmeMachineTemplate.infrastructure.example.com": "v6/../../../api/v1"}'))
    assert served.of((KIND[0], "AcmeMachineTemplate")) == ""
    served.prefer(of_version("v7"))
    assert served.of(KIND) == "v7" and served.has_status_apart(KIND)


@pytest.mark.parametrize(
    ("note", "used"),
    [
        ('{"AcmeMachine.infrastructure.example.com": "v1"}', "v1"),
        ('{"AcmeMachine.infrastructure.example.com": "v0"}', "v2"),
        ('{"AcmeMachine.other.example.com": "v1"}', "v2"),
        ('{"AcmeMachine.infrastructure.example.com": ["v1"]}', "v2"),
        ('["v1"]', "v2"),
        ("{", "v2"),
    ],
    ids=["noted", "served-no-more", "another-group", "no-version", "no-note", "damaged"],
)
def test_later_tasks_use_the_version_that_is_noted_on_the_cluster(note: str, used: str) -> None:
    served = Group(v2="acmemachines", v1="acmemachines").served()
    served.note(clusters_note(note))
    assert served.of(KIND) == used


def test_a_noted_version_needs_one_request() -> None:
    group = Group(v2="acmemachines", v1="acmemachines acmeclusters")
    served = group.served()
    served.note(clusters_note('{"AcmeMachine.infrastructure.example.com": "v1"}'))
    assert served.of(KIND) == "v1" and group.asked == ["v1"]
    # Others of the group are asked for as ever.
    assert served.of((KIND[0], "AcmeCluster")) == "v1" and group.asked == ["v1", KIND[0], "v2"]


def test_the_manifest_goes_before_the_note() -> None:
    served = Group(v2="acmemachines", v1="acmemachines").served()
    served.prefer(of_version("v2"))
    served.note(clusters_note('{"AcmeMachine.infrastructure.example.com": "v1"}'))
    assert served.of(KIND) == "v2"


def test_a_broken_version_stops_only_what_may_need_it() -> None:
    group = Group(v3=BROKEN, v2="acmemachines", v1="acmemachines")
    served = group.served()
    assert served.of(KIND) == "v2" and group.asked == [KIND[0], "v3", "v2"]
    served.prefer(of_version("v1"))
    with pytest.raises(ApiUnavailable, match=r"example\.com/v3"):
        served.prefer(of_version("v3"))
    with pytest.raises(ApiUnavailable, match=r"example\.com/v3"):
        served.of((KIND[0], "AcmeCluster"))


@pytest.mark.parametrize(("resources", "apart"), [("acmemachines acmemachines/status", True), ("acmemachines", False)])
def test_a_status_without_a_subresource(resources: str, apart: bool) -> None:
    assert Group(v1=resources).served().has_status_apart(KIND) is apart
    assert Group(v1=resources).served().has_status_apart(("cluster.x-k8s.io", "Machine"))


@pytest.mark.parametrize(("group", "used"), [(KIND[0], "v1"), ("cluster.x-k8s.io", "")])
def test_a_namesake_in_another_group_is_not_ours(group: str, used: str) -> None:
    served = Group(v1="machines").served()
    assert served.of((group, "Machine")) == used


class Fleet:
    """API server without objects, of a group with two versions; counts what is listed."""

    host = "https://api"

    def __init__(self) -> None:
        self.listed: list[str] = []

    def send(self, _verb: str, path: str, query: t.Any = None, **_options: t.Any) -> Answer:
        """Answer a request."""
        if query is not None:
            self.listed.append(path.rpartition("/")[2])
        versions = [{"version": "v2"}, {"version": "v1"}]
        return Answer(200, {"versions": versions, "resources": [{"name": "acmemachines"}], "apiVersion": "v1"})


def test_a_fleet_of_two_versions_reads_only_the_providers_kind_again() -> None:
    fleet = Fleet()
    store = KubernetesStore(t.cast(t.Any, fleet))
    with store.view(OF_NAMESPACE):
        for version in ("v1", "v2", "v2", "v1"):
            store.prefer(of_version(version))
            for kind in (KIND, ("cluster.x-k8s.io", "Machine")):
                assert store.list(kind, "default") == [] and store.get(kind, "default", "a") is None
    assert sorted(fleet.listed) == ["acmemachines"] * 3 + ["machines"]
