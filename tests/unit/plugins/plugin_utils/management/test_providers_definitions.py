# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whose definitions hold for a provider's kinds, and what of them the runner's Role has, in each order of installing them."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.crds import crd_names, definitions
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.management import installation, roles
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.kubernetes.requests import (
    FIELD_MANAGER,
    Answer,
)

Object = dict[str, t.Any]
OURS, THEIRS = "infrastructure.cluster.x-k8s.io", "infra.acme.example"
KINDS = ("AcmeCluster", "AcmeMachine", "AcmeMachineTemplate")
REGISTERED = {"AcmeCluster": "acme.machine", "AcmeMachineTemplate": "acme.machine"}
CONTRACT = {"cluster.x-k8s.io/v1beta2": "v1"}


class Server:
    """API server with these definitions and nothing else."""

    host = "https://api"

    def __init__(self, *defined: Object) -> None:
        self._documents: dict[str, Object] = {installation.DEFINITIONS: {"items": list(defined)}, "/version": {}}
        for each in defined:
            self._documents[f"{installation.DEFINITIONS}/{each['metadata']['name']}"] = each

    def send(self, verb: str, path: str, accepted: t.Sequence[int] = ()) -> Answer:
        """Answer a request that reads."""
        assert verb == "get"
        found = self._documents.get(path)
        assert found is not None or 404 in accepted, path
        return Answer(404, {}) if found is None else Answer(200, found)


def ours(*kinds: str, manager: str = FIELD_MANAGER) -> list[Object]:
    """The collection's definitions; with another manager's versions by now, maybe."""
    made = [definitions.definition(each) for each in definitions.infrastructure_kinds("Acme") if each.name in kinds]
    for each in made:
        entry = {"manager": manager, "operation": "Update", "fieldsV1": {"f:spec": {"f:versions": {}}}}
        each["metadata"]["managedFields"] = [entry]
        if manager != FIELD_MANAGER:
            each["spec"]["versions"][0]["schema"] = {"openAPIV3Schema": {"type": "object"}}
    return made


def theirs(*kinds: str, group: str = THEIRS, **labels: str) -> list[Object]:
    """A provider's definitions."""
    made = []
    for kind in kinds:
        plural = crd_names.plural(kind)
        versions = [{"name": "v1", "subresources": {"status": {}}}]
        spec = {"group": group, "names": {"kind": kind, "plural": plural}, "versions": versions}
        made.append({"metadata": {"name": f"{plural}.{group}", "labels": labels}, "spec": spec})
    return made


def planned(defined: t.Sequence[Object], providers: t.Mapping[str, str]) -> tuple[set[str], set[str]]:
    """Return the definitions of Acme's that are written, and the resources of Acme's in the Role."""
    wish = installation.Wish(installation.kinds_for(providers), ["default"])
    changes = installation.plan(t.cast(t.Any, Server(*defined)), wish)
    written = {change.title.partition(" ")[2] for change in changes if change.title.startswith("CustomResource")}
    (role,) = [change.after for change in changes if change.title.endswith(roles.RUNNER)]
    granted = {f"{each}.{group}" for rule in role["rules"] for group in rule["apiGroups"] for each in rule["resources"]}
    return tuple({each for each in found if each.startswith("acme")} for found in (written, granted))  # type: ignore[return-value]


def names(group: str, *kinds: str) -> set[str]:
    return {crd_names.crd_name(group, kind) for kind in kinds}


def resources(group: str, *kinds: str) -> set[str]:
    """What a Role has of these kinds: all but the templates have a status."""
    statuses = {f"{crd_names.plural(kind)}/status.{group}" for kind in kinds if group != OURS or "Template" not in kind}
    return names(group, *kinds) | statuses


@pytest.mark.parametrize(
    ("defined", "registered", "written", "granted"),
    [
        ((), True, names(OURS, *KINDS), resources(OURS, *KINDS)),
        (ours(*KINDS), True, set(), resources(OURS, *KINDS)),
        (ours(*KINDS), False, set(), resources(OURS, *KINDS)),
        (ours("AcmeMachine"), False, set(), resources(OURS, "AcmeMachine")),
        (theirs(*KINDS, **CONTRACT), True, set(), resources(THEIRS, *KINDS)),
        (theirs(*KINDS, **CONTRACT), False, set(), set()),
        (
            [*ours(*KINDS), *theirs(*KINDS, **CONTRACT)],
            True,
            set(),
            resources(OURS, *KINDS) | resources(THEIRS, *KINDS),
        ),
        ([*ours(*KINDS), *theirs(*KINDS, **CONTRACT)], False, set(), resources(OURS, *KINDS)),
        (theirs(*KINDS), True, names(OURS, *KINDS), resources(OURS, *KINDS)),
        (theirs(*KINDS, group=OURS), True, set(), resources(OURS, *KINDS) | {f"acmemachinetemplates/status.{OURS}"}),
        (
            [*ours("AcmeCluster"), *ours("AcmeMachine", manager="kubectl-client-side-apply")],
            True,
            set(),
            resources(OURS, "AcmeCluster", "AcmeMachine"),
        ),
    ],
    ids=[
        "first",
        "again",
        "registered-no-more",
        "half-made-and-registered-no-more",
        "theirs-before-the-first",
        "theirs-registered-no-more",
        "theirs-after-ours",
        "both-registered-no-more",
        "a-namesake-of-other-software",
        "theirs-in-our-group",
        "theirs-applied-over-one-of-ours",
    ],
)
def test_who_defines_a_providers_kinds(
    defined: t.Sequence[Object], registered: bool, written: set[str], granted: set[str]
) -> None:
    """Ours stay in the Role as long as they are defined: objects of them may be there."""
    assert planned(defined, REGISTERED if registered else {}) == (written, granted)


def test_what_is_applied_over_ours_is_not_written_over() -> None:
    """Its label is ours, as whoever merges theirs into it leaves it; nor is what it lacks made beside it."""
    [replaced] = ours("AcmeMachine", manager="helm")
    assert planned([replaced], REGISTERED)[0] == set()


def test_what_a_backup_brought_back_is_updated() -> None:
    """Ours of an earlier revision, which another client has written."""
    [restored] = ours("AcmeMachine")
    restored["spec"]["versions"][0]["additionalPrinterColumns"] = []
    restored["metadata"]["managedFields"][0]["manager"] = "velero-server"
    assert planned([restored], REGISTERED)[0] == names(OURS, *KINDS)


def test_namesakes_are_told_until_they_have_a_label_of_the_contract() -> None:
    wish = installation.Wish(installation.kinds_for(REGISTERED), ["default"])

    def told(*defined: Object) -> list[str]:
        return installation.namesakes(t.cast(t.Any, Server(*defined)), wish)

    assert told(*theirs("AcmeMachine", "OtherMachine")) == sorted(names(THEIRS, "AcmeMachine"))
    assert told(*theirs("AcmeMachine", **{"cluster.x-k8s.io/provider": "infrastructure-acme"})) == []
    assert told(*ours(*KINDS), *theirs("AcmeMachine", group=OURS), *theirs("Machine", "InventoryCluster")) == []
