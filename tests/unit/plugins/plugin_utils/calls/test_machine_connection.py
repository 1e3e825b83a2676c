# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How a machine is reached."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import typing as t
from pathlib import Path

import actions
import pytest
from ansible.errors import AnsibleError

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.calls.machine_connection import (
    Machine,
    MachineCaller,
    connection_variables,
)

KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJs comment"


def variables(
    connection: t.Mapping[str, t.Any], folder: Path, hostvars: t.Mapping[str, t.Any] | None = None
) -> dict[str, t.Any]:
    """The variables for a machine m1."""
    return connection_variables(Machine("m1", "id", connection), hostvars or {}, str(folder))


@pytest.mark.parametrize("port", [22, 2222])
def test_host_key_is_pinned(tmp_path: Path, port: int) -> None:
    """The recorded host keys are known under the machine's name, and asked for before anything that Ansible says (test_reaching_machines.py)."""
    folder = tmp_path / "100% of it"
    folder.mkdir()
    made = variables({"host": "10.88.0.5", "port": port, "user": "root", "hostKeys": [KEY]}, folder)
    words = shlex.split(made["ansible_ssh_args"])
    assert "StrictHostKeyChecking=yes" in words and "HostKeyAlias=m1" in words
    known = folder / "known_hosts_m1"
    assert f'UserKnownHostsFile="{str(known).replace("%", "%%")}"' in words
    assert known.read_text() == "m1 ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJs\n"
    assert known.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"hostKeys": []}, "hostKeys has no key"),
        ({"hostKeys": None}, "hostKeys has no key"),
        ({"hostKeys": ["ssh-ed25519"]}, "not a key type and a key"),
        ({"hostKeys": [KEY, "@cert-authority * ssh-ed25519 AAAA"]}, "not a key type and a key"),
        ({"hostKeys": ["ssh-ed25519 AAAA\n* ssh-ed25519 BBBB"]}, "not a key type and a key"),
        ({"host": "-oProxyCommand=touch${IFS}/tmp/x"}, "neither a DNS name nor an IP address"),
        ({"host": "10.88.0.5 -oProxyCommand=x"}, "neither a DNS name nor an IP address"),
        ({"host": "h\n"}, "neither a DNS name nor an IP address"),
        ({"user": "-oProxyCommand=x"}, "no name of a user"),
        ({"user": 'root" -o "ProxyCommand=x'}, "no name of a user"),
        ({"port": "-1"}, "no number from 1 to 65535"),
        ({"port": "22 -oProxyCommand=x"}, "no number from 1 to 65535"),
        ({"port": 65536}, "no number from 1 to 65535"),
    ],
)
def test_a_recorded_connection_that_can_not_be_trusted(tmp_path: Path, wrong: dict[str, t.Any], said: str) -> None:
    """It is refused, as a machine that wasn't reached, before ssh is started."""
    connection = {"host": "10.88.0.5", "hostKeys": [KEY], **wrong}
    caller = MachineCaller(None, {"hostvars": {}}, str(tmp_path))
    answer = caller.call(Machine("m1", "id", connection), "node_observe", {})
    assert not answer.reached and said in answer.message and "was not asked" in answer.message
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("host", ["10.88.0.5", "2001:db8::5", "m1.example.org", "m1_a", "fe80::1%eth0"])
def test_a_host_that_can_be_reached(tmp_path: Path, host: str) -> None:
    """Addresses and names, as they are."""
    assert variables({"host": host, "hostKeys": [KEY]}, tmp_path)["ansible_host"] == host


def test_an_inventory_host_that_is_a_cluster_as_well(tmp_path: Path) -> None:
    """Its variables would lead to the controller."""
    known = {"h1": {"group_names": ["control_planes", "pool"], "ansible_connection": "local"}}
    with pytest.raises(AnsibleError, match=r"machine m1 is the inventory host h1, and a cluster .* has the same name"):
        variables({"inventoryHost": "h1"}, tmp_path, known)


def test_a_changed_host_key_replaces_the_pinned_one(tmp_path: Path) -> None:
    """A machine made again under the same name has a new key."""
    variables({"host": "10.88.0.5", "hostKeys": [KEY]}, tmp_path)
    variables({"host": "10.88.0.5", "hostKeys": ["ssh-ed25519 OTHER"]}, tmp_path)
    assert (tmp_path / "known_hosts_m1").read_text() == "m1 ssh-ed25519 OTHER\n"


def test_inventory_host_keeps_its_own_variables(tmp_path: Path) -> None:
    """Bastion and become of an inventory host hold; the play's host has no say."""
    hostvars = {
        "db1": {
            "ansible_host": "192.0.2.7",
            "ansible_ssh_common_args": "-J bastion",
            "ansible_become": True,
            "other": 1,
        }
    }
    made = variables({"inventoryHost": "db1"}, tmp_path, hostvars)
    assert made["ansible_host"] == "192.0.2.7"
    assert made["ansible_ssh_common_args"] == "-J bastion"
    assert made["ansible_become"] is True
    assert "other" not in made


@pytest.mark.parametrize(
    ("connection", "name"),
    [
        ({}, "ansible_ssh_common_args"),
        ({}, "ansible_private_key_passphrase"),
        ({}, "ansible_become_password"),
        ({"ansible_become_method": "su"}, "ansible_su_user"),
        ({"ansible_connection": "winrm"}, "ansible_winrm_scheme"),
        ({}, "ansible_system_tmpdirs"),
        ({}, "ansible_syslog_facility"),
        ({}, "ansible_perl_interpreter"),
    ],
)
def test_what_decides_how_an_inventory_host_is_reached(tmp_path: Path, connection: dict[str, str], name: str) -> None:
    """What ansible-core reads and what the host's plugins declare."""
    hostvars = {"db1": {**connection, name: "x", "ansible_motd": "y", "ansible_facts": {"motd": "y"}}}
    made = variables({"inventoryHost": "db1"}, tmp_path, hostvars)
    assert made[name] == "x" and "ansible_motd" not in made and "ansible_facts" not in made


@pytest.mark.parametrize(
    ("name", "refused"),
    [
        ("ansible_sftp_executable", True),
        ("ansible_ssh_host_key_checking", True),
        ("ansible_remote_tmp", True),
        ("ansible_host", False),
        ("ansible_become_password", False),
        ("ansible_motd", False),
    ],
)
def test_a_fact_is_no_connection_variable(tmp_path: Path, name: str, refused: bool) -> None:
    """ansible-core drops some of them itself; where a fact has such a name, the variable is the inventory's all the same."""
    known = {"ansible_host": "192.0.2.7", name: "x", "ansible_facts": {name.removeprefix("ansible_"): "x"}}
    if refused:
        with pytest.raises(
            AnsibleError, match=rf"the facts of the inventory host db1 have {name}: .* Nothing was done"
        ):
            variables({"inventoryHost": "db1"}, tmp_path, {"db1": known})
    else:
        made = variables({"inventoryHost": "db1"}, tmp_path, {"db1": known})
        assert made["ansible_host"] == known["ansible_host"] and ("ansible_motd" in made) is False


def test_hidden_inventory_host_stops_the_run(tmp_path: Path) -> None:
    """A slice that hides the host must not be taken for a host that needs no settings."""
    with pytest.raises(AnsibleError, match=r"db1.*slice"):
        variables({"inventoryHost": "db1"}, tmp_path)


def test_machine_without_address(tmp_path: Path) -> None:
    """The error names the machine and where the address comes from."""
    with pytest.raises(AnsibleError, match=r"m1 has no address.*status\.connection\.host"):
        variables({}, tmp_path)


def test_a_machine_without_address_is_one_that_was_not_reached(tmp_path: Path) -> None:
    """The others are asked instead; a machine that the inventory hides stops the run all the same."""
    caller = MachineCaller(None, {"hostvars": {}}, str(tmp_path))
    answer = caller.call(Machine("m1", "id", {}), "node_observe", {})
    assert not answer.reached and answer.message.startswith("machine m1 has no address in the store")
    with pytest.raises(AnsibleError, match="slice"):
        caller.call(Machine("m1", "id", {"inventoryHost": "db1"}), "node_observe", {})


# In a process of its own: only a real run has ansible-core's own modules at hand.
CALLER = """
import sys
from ansible.plugins.loader import init_plugin_loader
init_plugin_loader()
from actions import make_action
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.calls.machine_connection import Machine, MachineCaller
host = {"ansible_connection": "local", "ansible_python_interpreter": sys.argv[1]}
caller = MachineCaller(make_action("cluster_status"), {"hostvars": {"db1": host}}, sys.argv[2])
for number in range(int(sys.argv[3])):
    found = caller.call(Machine("m1", None, {"inventoryHost": "db1"}), "ansible.builtin.ping", {})
    print("ANSWER", found.reached, found.failed, bool(found.message))
"""


def test_what_a_machine_answers_that_can_not_be_read_is_its_failure(tmp_path: Path) -> None:
    """The next machine can be asked then; an error of Ansible's own would end the run."""
    said = [
        '{"changed": false, "said": "\\ud800"}',
        '{"changed": false',
        "no JSON",
        "",
        "[" * 5000,
        '{"msg": ' + "9" * 5000,
    ]
    for number, answer in enumerate(said):
        (tmp_path / f"answer-{number}").write_text(answer)
    python = tmp_path / "python"
    python.write_text(
        f"#!/bin/sh\ncat >/dev/null\ncd {tmp_path}\nfor each in answer-*; do mv $each said; break; done\ncat said\n"
    )
    python.chmod(0o755)
    words = [sys.executable, "-c", CALLER, str(python), str(tmp_path), str(len(said))]
    paths = [str(Path(actions.__file__).parent), *sys.path]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "ANSIBLE_LOCAL_TEMP": str(tmp_path)}
    done = subprocess.run(words, capture_output=True, text=True, check=False, env=environment)
    told = [line for line in done.stdout.splitlines() if line.startswith("ANSWER")]
    assert told == ["ANSWER True True True"] * len(said), done.stderr


MANY = """
import os
import sys
from ansible.errors import AnsibleError
from ansible.plugins.loader import init_plugin_loader
init_plugin_loader()
from actions import make_action
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.calls.machine_connection import Machine, MachineCaller
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.processes.identity import descendants
folder, *names = sys.argv[1:]
known = {name: {"ansible_connection": "local", "ansible_python_interpreter": f"{folder}/{name}"} for name in names}
caller = MachineCaller(make_action("cluster_status"), {"hostvars": known}, folder, most_seconds=3)
def asks(name):
    return lambda: caller.call(Machine(name, None, {"inventoryHost": name}), "ansible.builtin.ping", {})
for name, found in zip(names, caller.beside_each_other([asks(name) for name in names], len(names))):
    print("ANSWER", name, found.reached, found.failed, found.result.get("size", found.message))
print("ANSWER again", asks("hangs")().message)
try:
    caller.beside_each_other([asks("other"), asks("one")], 2)
except AnsibleError as error:
    print("ANSWER", type(error).__name__, "other" in str(error))
print("ANSWER left", len(descendants(os.getpid())) - 1)
"""


def test_machines_that_are_asked_at_the_same_time(tmp_path: Path) -> None:
    """Each answer is its machine's own, of whatever size; one that hangs is bounded, and not waited for again; an error ends in this process."""
    meets = "cat >/dev/null; cd $(dirname $0)"
    programs = {
        # Each waits for the other one.
        "one": f"{meets}; echo >to-two; cat to-one; echo '{{\"size\": 1}}'",
        "two": f"{meets}; cat to-two; echo >to-one; echo '{{\"size\": \"'$(head -c 100000 /dev/zero | tr '\\0' x)'\"}}'",
        "hangs": f"{meets}; echo >>asked; exec sleep 100000",
        "wrong": f"{meets}; echo no JSON",
    }
    for name, program in programs.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{program}\n")
        (tmp_path / name).chmod(0o755)
    for name in ("to-one", "to-two"):
        os.mkfifo(tmp_path / name)
    paths = [str(Path(actions.__file__).parent), *sys.path]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "ANSIBLE_LOCAL_TEMP": str(tmp_path)}
    words = [sys.executable, "-c", MANY, str(tmp_path), *programs]
    done = subprocess.run(words, capture_output=True, text=True, check=False, env=environment)
    told = [line.removeprefix("ANSWER ") for line in done.stdout.splitlines() if line.startswith("ANSWER")]
    hung = "machine hangs was not reached: ansible.builtin.ping has not ended there within 3 s, though its connection lives"
    assert told[:3] == ["one True False 1", f"two True False {'x' * 100000}", f"hangs False True {hung}"], done.stderr
    assert told[3].startswith("wrong True True "), done.stderr
    assert told[4:] == [f"again {hung}", "AnsibleError True", "left 0"], done.stderr
    assert (tmp_path / "asked").read_text() == "\n"


def test_secrets_do_not_reach_a_disk_of_the_node(tmp_path: Path) -> None:
    """Pipelining, and a remote temporary folder that a reboot empties."""
    made = variables({"host": "10.88.0.5", "hostKeys": [KEY]}, tmp_path)
    assert made["ansible_pipelining"] is True
    assert made["ansible_remote_tmp"].startswith("/run/")


def test_two_machines_never_share_a_control_socket(tmp_path: Path) -> None:
    """A new machine at a dead one's address gets a connection of its own."""
    connection = {"host": "10.88.0.5", "hostKeys": [KEY]}
    first = connection_variables(Machine("m1", None, connection), {}, str(tmp_path))
    second = connection_variables(Machine("m2", None, connection), {}, str(tmp_path))
    assert first["ansible_control_path"] != second["ansible_control_path"]
