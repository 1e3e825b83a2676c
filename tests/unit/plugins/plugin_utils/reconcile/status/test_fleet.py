# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A fleet's status: one table sorted by trouble, one document that fits its schema, and what fails a run."""

from __future__ import annotations

import json
import stat
import typing as t
from pathlib import Path

import jsonschema
import pytest
from builders import Builder, cluster, healthy, member_id
from hypothesis import given, settings
from random_snapshots import snapshots
from rules import external

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.decide import decide
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.reconcile.status.data import status_data
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.reconcile.status.document import (
    document_text,
    write_document,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.reconcile.status.fleet import (
    MOST_SHOWN,
    failing,
    fleet_lines,
    not_observed,
    status_document,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.base import StoreError

Object = dict[str, t.Any]
SCHEMA = json.loads((Path(__file__).parents[6] / "docs/reference/status.schema.json").read_text(encoding="utf-8"))
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)


def status(host: str, builder: Builder) -> Object:
    """A cluster's status."""
    snapshot = builder.build()
    return status_data(snapshot, decide(snapshot), host)


def full(name: str = "m1") -> Builder:
    """A cluster that is blocked by an alarm of etcd."""
    builder = healthy(3)
    builder.workload["etcd"]["alarms"] = [{"memberID": member_id(name), "alarm": "NOSPACE"}]
    return builder


def fleet() -> list[Object]:
    """A cluster of each kind, the best first."""
    return [
        status("a-fine", healthy(3)),
        status("b-old", healthy(3, replicas=5)),
        status("c-sick", healthy(3).sick_member("m2")),
        status("d-full", full()),
        not_observed("e-lost", "default", "e-lost", "the store does not answer\nand more"),
        status("f-fine", healthy(1)),
    ]


def shown(found: list[Object]) -> list[str]:
    """The lines of a fleet."""
    return [each.text for each in fleet_lines(found)]


def test_the_worst_cluster_is_first_and_only_trouble_is_shown_whole() -> None:
    lines = shown(fleet())
    assert lines[0] == "6 clusters: 1 not observed, 2 unhealthy, 1 outdated, 2 healthy"
    table = lines[1 : lines.index("")]
    assert [line.split()[0] for line in table] == ["CLUSTER", "e-lost", "d-full", "c-sick", "b-old", "a-fine", "f-fine"]
    for text in ("UNHEALTHY, BLOCKED", "2/3    v1.20.2  2/3", "etcd alarm NOSPACE on m1"):
        assert text in table[2]
    assert table[1].endswith("the store does not answer") and "HEALTHY" in table[5] and "2/3" in table[3]
    # Each column begins at one place.
    assert {line.find(each) for line, each in zip(table, ("VERDICT", "NOT OBS", "UNHEAL", "UNHEAL", "OUTDATED"))} == {
        11
    }
    heads = [line.split()[1] for line in lines if line.startswith("CLUSTER ")]
    assert len(heads) == 4 and "  and more" in lines


def test_one_cluster_has_no_table() -> None:
    assert (
        shown([status("prod", healthy(3))])[0] == "CLUSTER default/prod   HEALTHY: 3 of 3 machines ready and up to date"
    )
    assert shown([fleet()[4]]) == [
        "CLUSTER default/e-lost   NOT OBSERVED",
        "  the store does not answer",
        "  and more",
    ]


def test_a_fleet_of_which_everything_is_wrong_is_bounded() -> None:
    sick = [status(f"c{number}", healthy(1).sick_member("m1")) for number in range(MOST_SHOWN + 3)]
    lines = shown(sick)
    assert sum(line.startswith("CLUSTER ") for line in lines) == MOST_SHOWN
    assert lines[-1] == "3 more clusters have trouble: --limit CLUSTER shows one"


def test_what_fails_a_run() -> None:
    """What was asked for, worst first, and always what could not be observed."""
    lost = "e-lost could not be observed: the store does not answer and more"
    assert failing(fleet(), []) == [lost]
    blocked = "d-full is blocked (etcd alarm NOSPACE on member m1 (0000000000006d31))"
    assert failing(fleet(), ["blocked"]) == [lost, blocked]
    assert failing(fleet(), ["outdated"])[1:] == ["b-old is outdated (3 of 5 machines exist)"]
    both = failing(fleet(), ["blocked", "unhealthy"])
    assert both[1].startswith("d-full is unhealthy (etcd alarm NOSPACE on m1; not ready: m1), blocked (")
    assert both[2].startswith("c-sick is unhealthy (") and len(both) == 3
    assert failing(fleet()[:1], ["unhealthy", "blocked", "outdated"]) == []
    # What a cluster asks for itself counts for it alone.
    assert failing(fleet(), [], {"b-old": ["outdated"], "d-full": ["outdated"]})[1:] == [
        "b-old is outdated (3 of 5 machines exist)"
    ]


def test_the_document_fits_its_schema() -> None:
    """Which describes every field; worst first, and in ASCII."""
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    more = [
        status("g", cluster(3).bare()),
        status("h", healthy(3).unreachable()),
        status("i", external(healthy(3), {"reachable": False, "message": "\u202e"})),
    ]
    failure = {"at": "2026-01-31T11:00:00Z", "action": "join", "target": "m3", "message": "x", "isLast": True}
    document = json.loads(document_text([*fleet(), *more, {**more[0], "lastFailure": failure, "kubeconfig": "/x"}]))
    VALIDATOR.validate(document)
    assert document["clusters"][0]["host"] == "e-lost"
    assert document_text(more).isascii()
    for each in document["clusters"]:
        described = SCHEMA["$defs"]["notObserved" if "error" in each else "cluster"]["properties"]
        assert set(each) <= set(described)
        for field in ("etcd", "replicas", "version", "endpoint", "next", "decision"):
            assert set(each.get(field) or ()) <= set(described.get(field, {}).get("properties", ()))


@settings(max_examples=50)
@given(snapshots())
def test_every_status_fits_the_schema(snapshot: Object) -> None:
    VALIDATOR.validate(status_document([status_data(snapshot, decide(snapshot))]))


def test_the_file_is_replaced_as_a_whole_and_nothing_else_is(tmp_path: Path) -> None:
    file = tmp_path / "status.json"
    for found in (fleet(), fleet()[:1]):
        write_document(found, str(file))
        assert json.loads(file.read_text())["clusters"] and stat.S_IMODE(file.stat().st_mode) == 0o644
    assert [each.name for each in tmp_path.iterdir()] == ["status.json"]
    (tmp_path / "stdout").symlink_to("/dev/null")
    with pytest.raises(StoreError, match="no regular file"):
        write_document(fleet(), str(tmp_path / "stdout"))
    with pytest.raises(StoreError, match="can't write the file"):
        write_document(fleet(), str(tmp_path / "none" / "status.json"))


def test_neither_document_nor_table_has_a_secret() -> None:
    """Of the manifest's own fields that hold any; of messages, as hosts and etcd give them."""
    mark = "5ec7e7"
    builder = healthy(3).sick_member("m2")
    spec = builder.snapshot["controlPlane"]["spec"].setdefault("kubeadmConfigSpec", {})
    spec.update(
        files=[{"path": "/etc/x", "content": mark, "contentFrom": {"secret": {"name": "n", "key": mark}}}],
        users=[{"name": "root", "passwd": mark, "sshAuthorizedKeys": [mark]}],
        initConfiguration={"bootstrapTokens": [{"token": f"abcdef.{mark}{'0' * 10}"}], "certificateKey": mark},
        joinConfiguration={"discovery": {"tlsBootstrapToken": mark, "bootstrapToken": {"token": mark}}},
        preKubeadmCommands=[f"login --password {mark}"],
    )
    for facts in builder.snapshot["certificates"].values():
        facts.update(key=mark, privateKey=mark)
    said = f"dial https://admin:{mark}{mark}@10.0.0.2:2379 with client-key-data: {mark}{mark}"
    for member in builder.workload["etcd"]["members"]:
        member.update(error=said, message=said)
    for node in builder.workload["nodes"]:
        node.update(message=said)
    found = status("prod", builder)
    for text in (document_text([found]), "\n".join(shown([found]))):
        assert mark not in text, text[max(0, text.index(mark) - 100) :][:160]
