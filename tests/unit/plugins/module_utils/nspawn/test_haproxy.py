# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""haproxy's configuration and the words of its admin socket. A real haproxy judges the file where there is one."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from ansible_collections.kubeadm.control_plane.plugins.module_utils.nspawn.endpoint import haproxy
from ansible_collections.kubeadm.control_plane.plugins.module_utils.nspawn.endpoint.haproxy import Server
from ansible_collections.kubeadm.control_plane.plugins.module_utils.nspawn.errors import NspawnError

SERVERS = [Server("demo-1", "10.222.0.10"), Server("demo-2", "10.222.0.11", 7443)]
STATE = """\
1
# be_id be_name srv_id srv_name srv_addr srv_op_state srv_admin_state srv_uweight srv_iweight srv_time_since_last_change srv_check_status srv_port
3 control-plane 1 demo-1 10.222.0.10 2 0 1 1 55 15 6443
3 control-plane 2 demo-2 10.222.0.11 0 0 1 1 2 15 7443
3 control-plane 3 demo-3 10.222.0.12 0 1 1 1 2 15 6443
4 another 1 demo-4 10.222.0.13 2 0 1 1 55 15 6443

"""


def test_the_configuration_has_the_endpoint_and_every_server_with_a_check():
    text = haproxy.configuration("10.222.0.9", 6443, SERVERS, "/run/admin.sock")
    assert "bind 10.222.0.9:6443\n" in text
    assert "option httpchk GET /readyz\n" in text
    for server in ("demo-1 10.222.0.10:6443", "demo-2 10.222.0.11:7443"):
        assert f"    server {server} check check-ssl verify none inter 500ms" in text


@pytest.mark.skipif(shutil.which("haproxy", path="/usr/sbin:/usr/bin") is None, reason="haproxy is not installed")
@pytest.mark.parametrize("servers", [[], SERVERS])
def test_haproxy_takes_the_configuration(tmp_path, servers):
    config = tmp_path / "haproxy.cfg"
    config.write_text(haproxy.configuration("127.0.0.1", 26443, servers, str(tmp_path / "admin.sock")))
    done = subprocess.run(["/usr/sbin/haproxy", "-c", "-f", str(config)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_servers_are_sorted_and_have_a_default_port():
    found = haproxy.servers_of([{"name": "b", "address": "10.0.0.2"}, {"name": "a", "address": "10.0.0.1", "port": 1}])
    assert found == [Server("a", "10.0.0.1", 1), Server("b", "10.0.0.2", 6443)]


@pytest.mark.parametrize(
    ("items", "message"),
    [
        ([{"name": "a b", "address": "10.0.0.1"}], "not a server's name"),
        ([{"name": "a\nserver x", "address": "10.0.0.1"}], "not a server's name"),
        ([{"address": "10.0.0.1"}], "not a server's name"),
        ([{"name": "a", "address": "example.org"}], "no IPv4 address"),
        ([{"name": "a", "address": "10.0.0.1"}, {"name": "a", "address": "10.0.0.2"}], "there twice"),
    ],
)
def test_servers_that_make_no_sense_are_refused(items, message):
    with pytest.raises(NspawnError, match=message):
        haproxy.servers_of(items)


def test_the_state_of_servers_is_read_by_column_name():
    assert haproxy.parse_servers(STATE) == {
        "demo-1": (Server("demo-1", "10.222.0.10"), "up"),
        "demo-2": (Server("demo-2", "10.222.0.11", 7443), "down"),
        "demo-3": (Server("demo-3", "10.222.0.12"), "maint"),
    }


@pytest.mark.parametrize("answer", ["", "1\n", "garbage\nmore garbage\n", "Can't find backend.\n"])
def test_an_answer_without_servers_is_no_servers(answer):
    assert haproxy.parse_servers(answer) == {}


def test_a_new_server_takes_no_traffic_before_its_first_check():
    commands = haproxy.add_commands(SERVERS[1])
    assert commands[0].startswith("add server control-plane/demo-2 10.222.0.11:7443 check ")
    # In one line, so that there is no moment between.
    assert commands[1].split("; ")[-2:] == [
        "set server control-plane/demo-2 state ready",
        "set server control-plane/demo-2 health down",
    ]


def test_a_server_is_drained_before_it_is_deleted():
    assert haproxy.drain_command("demo-1") == "set server control-plane/demo-1 state drain"
    verbs = [command.split()[0] for command in haproxy.remove_commands("demo-1")]
    assert verbs == ["set", "shutdown", "del"]


def session(age: str, server: str = "demo-1", backend: str = "control-plane") -> str:
    """A line of haproxy's answer to `show sess`."""
    return (
        f"0x55d5: proto=tcpv4 src=10.222.0.1:50012 fe=endpoint be={backend} srv={server} ts=00 epoch=0 age={age} calls=3 "
        "rate=0 cpu=0 lat=0 rq[f=848002h,i=0,an=00h,rx=,wx=,ax=] rp[f=80048202h,i=0,an=00h,rx=,wx=,ax=] exp="
    )


@pytest.mark.parametrize(
    ("line", "young"),
    [
        (session("0s"), 1),
        (session("1s"), 1),
        (session("2s"), 0),
        (session("1m1s"), 0),
        (session("1h0m"), 0),
        (session("0s", server="demo-2"), 0),
        (session("0s", server="<none>"), 0),
        (session("0s", backend="GLOBAL"), 0),
        ("0x55d5: proto=unix_stream src=unix:1 fe=GLOBAL be=<NONE> srv=<none> ts=00 age=0s", 0),
        ("garbage", 0),
    ],
)
def test_requests_on_a_leaving_server_are_told_from_watches_by_their_age(line, young):
    assert haproxy.young_sessions(f"{line}\n\n", ["demo-1", "demo-3"], 2) == young


@pytest.mark.parametrize(
    ("answer", "refused"),
    [
        ("\n", False),
        ("New server registered.\n\n", False),
        ("Server deleted.\n", False),
        ("Server already exists.\n", True),
    ],
)
def test_what_haproxy_complains_of_is_told_from_what_it_confirms(answer, refused):
    assert bool(haproxy.refusal(answer)) is refused
