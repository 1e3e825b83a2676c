# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The module fleet_status: what can't be observed keeps nothing else from being shown, and fails in the end, once."""

from __future__ import annotations

import http.server
import json
import threading
import typing as t
from pathlib import Path

import pytest
from actions import make_action

from ansible_collections.kubeadm.control_plane.plugins.module_utils.common import settings

Object = dict[str, t.Any]


class HostVars(dict[str, Object]):
    """The variables of an inventory's hosts."""

    def raw_get(self, host: str) -> Object:
        """A host's, as they are written."""
        return self[host]


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What people see."""
    lines: list[str] = []
    monkeypatch.setattr(
        "ansible.utils.display.Display.display", lambda _self, text, *_more, **_named: lines.append(text)
    )
    return lines


def run(
    store: Path,
    hosts: t.Sequence[str],
    variables: t.Optional[Object] = None,
    check: bool = False,
    of_hosts: t.Optional[dict[str, Object]] = None,
    **arguments: t.Any,
) -> Object:
    """The module's result for clusters that the store doesn't have."""
    hostvars = HostVars()
    for host in hosts:
        own = {"control_plane_cluster": host, "control_plane_namespace": "default", **(variables or {})}
        own.update((of_hosts or {}).get(host, {}))
        hostvars[host] = {"inventory_hostname": host, "control_plane_store": {"path": str(store)}, **own}
    given = {"groups": {"control_planes": [*hosts, "other"]}, "ansible_play_hosts_all": [*hosts], "hostvars": hostvars}
    result: Object = make_action("fleet_status", check, **arguments).run(task_vars=given)
    return result


def test_the_error_of_one_cluster_is_the_tasks(tmp_path: Path, shown: list[str]) -> None:
    result = run(tmp_path / "store", ["prod"])
    assert result["failed"] and "has no Cluster default/prod" in result["msg"] and shown == []
    assert not (tmp_path / "store").exists()


def test_of_several_each_has_its_line(tmp_path: Path, shown: list[str]) -> None:
    result = run(tmp_path / "store", ["prod", "web", "test"], output_file=str(tmp_path / "status.json"))
    first, *rest = result["msg"].splitlines()
    assert first == "3 of 3 clusters:" and [line.split()[0] for line in rest] == ["prod", "test", "web"]
    assert len(shown) == 1 and shown[0].splitlines()[1] == "3 clusters: 3 not observed"
    assert len(json.loads((tmp_path / "status.json").read_text())["clusters"]) == 3


def test_a_variable_that_is_refused_is_the_clusters_own_error(tmp_path: Path, shown: list[str]) -> None:
    """The document is printed all the same."""
    result = run(tmp_path / "store", ["prod"], {"control_plane_unknown_documents": "x"}, output="json")
    (found,) = json.loads(shown[0])["clusters"]
    assert "control_plane_unknown_documents" in found["error"] and result["msg"] == found["error"]


def test_a_document_is_all_that_is_printed_however_slow_the_clusters_are(
    tmp_path: Path, shown: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settings, "PROGRESS_SECONDS", 0)
    run(tmp_path / "store", ["prod", "web"], output="json")
    assert len(shown) == 1 and len(json.loads(shown[0])["clusters"]) == 2


def test_check_mode_writes_no_document(tmp_path: Path, shown: list[str]) -> None:
    assert run(tmp_path / "store", ["prod"], check=True, output_file=str(tmp_path / "status.json"))["failed"]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("code", "said"), [(401, "does not accept the credentials"), (403, "grants too little")])
def test_what_an_api_refuses_has_its_variable_in_the_table(
    tmp_path: Path, shown: list[str], code: int, said: str
) -> None:
    class Refuses(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(code)
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            self.wfile.write(b'{"kind": "Status", "message": "no"}')

        def log_message(self, *_said: t.Any) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Refuses) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_address[1]}"
        store = {"type": "kubernetes", "path": str(tmp_path / "store"), "host": address, "api_key": "x"}
        run(tmp_path, ["prod", "web"], {"control_plane_store": store})
        server.shutdown()
    row = next(line for line in shown[0].splitlines() if line.startswith("  prod"))
    assert f"the store's API {said}" in row and f"({code}): mend" in row and "of control_plane_store" in row
    # What the API server says is below the table.
    assert "the store's Kubernetes API refused" in shown[0]


@pytest.mark.parametrize(
    ("name", "values", "found"),
    [
        ("control_plane_output", ("json", None), "prod: json, web: not set"),
        ("control_plane_until", ("", "healthy"), "prod: not set, web: healthy"),
        ("control_plane_watch_seconds", (5, 10), "prod: 5, web: 10"),
    ],
)
def test_clusters_that_differ_in_what_a_run_has_once_are_refused(
    tmp_path: Path, shown: list[str], name: str, values: tuple[t.Any, t.Any], found: str
) -> None:
    own = dict(zip(("prod", "web"), ({name: each} for each in values)))
    result = run(tmp_path / "store", ["prod", "web"], of_hosts=own)
    assert result["failed"] and result["msg"].startswith(f"{name}: ") and f"({found})" in result["msg"]
    assert shown == []
    # One alone, or all the same, is as ever.
    assert "could not be observed" in run(tmp_path / "store", ["prod", "web"], {name: values[1] or ""})["msg"]


@pytest.mark.parametrize("wrong", [{"watch_seconds": -1}, {"watch_seconds": 1, "watch_timeout": 0}])
def test_a_watch_needs_whole_seconds(tmp_path: Path, wrong: Object) -> None:
    result = run(tmp_path / "store", ["prod"], **wrong)
    assert result["failed"] and "Nothing was watched" in result["msg"]
