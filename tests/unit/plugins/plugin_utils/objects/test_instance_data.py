# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Templates of cloud-init's instance data: which are filled in with what, which are refused, when a manifest is read and for one machine."""

from __future__ import annotations

import base64
from typing import Any, Callable, Optional

import jinja2
import pytest
import yaml

from ansible_collections.kubeadm.control_plane.plugins.module_utils.common.violations import (
    ManifestError,
    Report,
    Violation,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects import (
    bootstrap_data,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects.instance_data import machine_data, rendering
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects.instance_data.machine_configuration import (
    machine_configuration,
)

Documents = list[dict[str, Any]]
Refused = Callable[..., list[Violation]]
CONFIG = "spec.kubeadmConfigSpec"
NAME = "cp-x7k2p"
INSTANCE = {"instanceID": "i-0a1", "instanceType": "m5", "cloudName": "acme", "region": "eu-1", "zone": "eu-1b"}
INFRASTRUCTURE: dict[str, Any] = {
    "kind": "AcmeMachine",
    "metadata": {"name": NAME},
    "spec": {"providerID": "acme:///eu-1b/i-0a1"},
    "status": {
        "instanceData": INSTANCE,
        "addresses": [
            {"type": "Hostname", "address": "10.0.0.1"},
            {"type": "InternalIP", "address": "2001:db8::7"},
            {"type": "InternalIP", "address": "10.0.0.7"},
            {"type": "InternalIP", "address": "10.0.0.8"},
            {"type": "ExternalIP", "address": "192.0.2.7"},
            {"type": "ExternalIP", "address": "2001:db8::8"},
        ],
    },
}


def data(
    config: dict[str, Any],
    kind: str = "join",
    secret: bytes = b"",
    status: Optional[dict[str, Any]] = None,
    **infrastructure: Any,
) -> dict[str, Any]:
    """A machine's bootstrap data. `status` is its infrastructure's instead."""
    control_plane = {"metadata": {"name": "cp"}, "spec": {"version": "v1.20.2", "kubeadmConfigSpec": config}}
    own = {**INFRASTRUCTURE, **infrastructure}
    own["status"] = own["status"] if status is None else status
    kept = {"spec": bootstrap_data.config_spec(control_plane, kind)}
    machine = {
        "metadata": {"name": NAME, "namespace": "default"},
        "spec": {"version": "v1.20.2", "failureDomain": "rack-b"},
    }
    common: dict[str, Any] = {
        "cluster": {"metadata": {"name": "c1"}, "spec": {}},
        "control_plane": control_plane,
        "configuration": machine_configuration(kept, machine, own, lambda name, key: secret, "v1.20.2"),
        "machine": machine,
        "endpoint": {"host": "10.0.0.1", "port": 6443},
        "certificates": {},
    }
    if kind == "init":
        return bootstrap_data.init_data(**common)
    return bootstrap_data.join_data(**common, token="abcdef.0123456789abcdef", ca_cert_hashes=["sha256:" + "0" * 64])


def command(text: str, **given: Any) -> str:
    """What a command of the manifest becomes on the machine."""
    found: list[str] = data({"preKubeadmCommands": [text]}, **given)["preKubeadmCommands"]
    return found[0]


def problems(config: dict[str, Any], **given: Any) -> list[Violation]:
    """What is wrong with one machine's data."""
    with pytest.raises(ManifestError) as error:
        data(config, **given)
    return list(error.value.violations)


def flag(name: str, value: str) -> dict[str, Any]:
    """A joining kubelet's flag."""
    return {"joinConfiguration": {"nodeRegistration": {"kubeletExtraArgs": [{"name": name, "value": value}]}}}


SPELLINGS = [
    ("local_hostname", NAME),
    ("v1.local_hostname", NAME),
    ("ds.meta_data.local_hostname", NAME),
    ("ds.meta_data.hostname", NAME),
    ("ds.meta_data.name", NAME),
    ('ds.meta_data["local_hostname"]', NAME),
    ("ds.meta_data['local-hostname']", NAME),
    ('ds["meta_data"]["hostname"]', NAME),
    ("ds . meta_data\n [ 'hostname' ]", NAME),
    ('ds.meta_data.local_hostname.split(".")[0]', NAME),
    ("ds.meta_data.local_hostname.split('-')[-1]", "x7k2p"),
    ("ds.meta_data.provider_id.split('///')[1].split('/')[0]", "eu-1b"),
    ("ds.meta_data.provider_id", "acme:///eu-1b/i-0a1"),
    ("instance_id", "i-0a1"),
    ("v1.instance_id", "i-0a1"),
    ("ds.meta_data.instance_id", "i-0a1"),
    ('ds.meta_data["instance-id"]', "i-0a1"),
    ("ds.meta_data.uuid", "i-0a1"),
    ('ds["id"]', "i-0a1"),
    ("ds.meta_data.instance_type", "m5"),
    ("v1.cloud_name", "acme"),
    ("region", "eu-1"),
    ("v1.region", "eu-1"),
    ("ds.meta_data.placement.region", "eu-1"),
    ("availability_zone", "eu-1b"),
    ("ds.meta_data.placement.availability_zone", "eu-1b"),
    ("ds.meta_data.zone", "eu-1b"),
    ("ds.meta_data.failure_domain", "rack-b"),
    ("ds.ec2_metadata.local_ipv4", "10.0.0.7"),
    ("ds.meta_data.local_ipv6", "2001:db8::7"),
    ("ds.meta_data.public_ipv4", "192.0.2.7"),
    ("ds.meta_data.public_ipv6", "2001:db8::8"),
]


@pytest.mark.parametrize("kind", ["init", "join"])
@pytest.mark.parametrize(("written", "value"), SPELLINGS)
def test_a_reference_is_filled_in_in_every_spelling(
    documents: Documents, refused: Refused, kind: str, written: str, value: str
) -> None:
    texts = [text % written for text in ("{{ %s }}", "{{%s}}", "{{- %s -}}", "{{  %s\t}}")]
    documents[1]["spec"]["kubeadmConfigSpec"]["preKubeadmCommands"] = texts
    assert [each.text() for each in refused(documents)] == []
    assert data({"preKubeadmCommands": texts}, kind)["preKubeadmCommands"] == [value] * 4


# Everything that is read the same by Jinja, as cloud-init sets it up; the second is what becomes of it.
TEMPLATES = [
    ("a", "a"),
    ("a {{- region -}} b", "aeu-1b"),
    ("a\n\n{{- region -}}\n\tb\n", "aeu-1b\n"),
    ("{{ region }}{{ region }}", "eu-1eu-1"),
    ("{{region}}\n", "eu-1\n"),
    ("}} %} #} {", "}} %} #} {"),
    ('{{ "{{" }} x {{ "}}" }}', "{{ x }}"),
    ("{{ '{%' }} {{ ' \" ' }}{{ '' }}", '{%  " '),
    ("docker inspect -f '{% raw %}{{.State.Status}}{% endraw %}'", "docker inspect -f '{{.State.Status}}'"),
    ("{% raw %}\n{{ region }}\n{% endraw %}\nx", "\n{{ region }}\nx"),
    ("a \n{%- raw -%} \n{{ x }} \n{%- endraw -%} \nb", "a{{ x }}b"),
    ("{%raw%}{% if x %}{# c #}{%endraw%}", "{% if x %}{# c #}"),
    ("{% raw -%}  {% endraw +%}\n", "\n"),
    ("a {# {{ nope }} #} b", "a  b"),
    ("a {#- c -#} b", "ab"),
    ("a\n{# c #}\nb", "a\nb"),
    ('{{ region.split("-")[1] }}', "1"),
]


@pytest.mark.parametrize(("text", "becomes"), TEMPLATES)
def test_a_text_becomes_what_jinja_makes_of_it(text: str, becomes: str) -> None:
    environment = jinja2.Environment(trim_blocks=True, keep_trailing_newline=True, autoescape=False)
    assert environment.from_string(text).render(region="eu-1") == becomes
    config = {"files": [{"path": "/a", "content": text}]}
    assert base64.b64decode(data(config)["files"][0]["content"]).decode() == becomes


@pytest.mark.parametrize("text", ["echo ${#LIST[@]} ${name#}", "awk '{#'", "{", "{ {region} }", "$(( 1 }})"])
def test_what_a_shell_has_in_braces_stays(documents: Documents, refused: Refused, text: str) -> None:
    documents[1]["spec"]["kubeadmConfigSpec"]["preKubeadmCommands"] = [text]
    assert refused(documents) == []
    assert command(text) == text


NO_TEMPLATES = [
    ("{{ mine }}", "'{{ mine }}': this is no instance data"),
    ("{{ ds.meta_data.local_hostnam }}", "no instance data"),
    ("{{ ds.meta_data }}", "no instance data"),
    ("{{ ds.meta_data.public_keys[0] }}", "no instance data"),
    ("{{ ds.meta_data.local-hostname }}", "'_' in place of '-'"),
    ("{{ region | upper }}", "filters"),
    ("{{ region.upper() }}", "functions other than split"),
    ("{{ region.replace('a')[0] }}", "only split"),
    ("{{ region.split('') [0] }}", "only split"),
    ("{{ region.split('-') }}", "split is written like"),
    ("{{ region.split('-')[0].upper }}", "split is written like"),
    ("{{ region.split('-')[0][0] }}", "split is written like"),
    ("{{ region[0] }}", "no instance data"),
    ("{{ region ~ zone }}", "no name"),
    ("{{ region zone }}", "no name"),
    ("{{ 1 + 1 }}", "no name"),
    ("{{ 'a' * 9 }}", "no name"),
    ("{{ 'a\\n' }}", "no name"),
    ("{{ {} }}", "no name"),
    ("{{ ().__class__ }}", "no name"),
    ("{{ }}", "no name"),
    ("{{.State.Status}}", "no name"),
    ("{{ region }", "no end"),
    ("{{ region", "no end"),
    ("{{", "no end"),
    ("{{ {{ region }} }}", "no name"),
    ("{{ 'région }}", "no name"),
    ("{{ régi\x00on }}", "no name"),
    ("{% if v1.region %}a{% endif %}", "statements"),
    ("{%", "statements"),
    ("{% raw %}{{ region }}", "no {% endraw %}"),
    ("{{ " + "a." * 300 + "a }}", "no end within 512"),
]


@pytest.mark.parametrize(("text", "rule"), NO_TEMPLATES)
def test_every_other_template_is_refused_by_name(documents: Documents, refused: Refused, text: str, rule: str) -> None:
    """Also for one machine: an object in a store may never have been a manifest."""
    spec = documents[1]["spec"]["kubeadmConfigSpec"]
    spec["postKubeadmCommands"] = ["true", f"a\nb {text}"]
    found = refused(documents)
    assert {each.path for each in found} == {f"{CONFIG}.postKubeadmCommands[1]"}
    assert rule in found[0].rule
    assert "local_hostname, ds.meta_data.provider_id, instance_id" in found[0].fix
    assert "{% raw %}" in found[0].fix
    assert rule in problems({"postKubeadmCommands": [text]})[0].rule


def test_all_are_refused_at_once_wherever_they_are(documents: Documents, refused: Refused) -> None:
    spec = documents[1]["spec"]["kubeadmConfigSpec"]
    for part in ("initConfiguration", "joinConfiguration"):
        registration = spec[part]["nodeRegistration"]
        registration["kubeletExtraArgs"] = [{"name": "provider-id", "value": "oci://{{ ds.nope }}"}]
    spec["files"] = [
        {"path": "/a", "content": "pass: {{ 'hunter2' + x }}\n{{ nope }}"},
        {"path": "/{{ nope }}", "content": "x"},
        {"path": "/b", "encoding": "base64", "content": base64.b64encode(b"{{ nope }}").decode()},
    ]
    spec["users"] = [{"name": "u", "gecos": "{{ nope }}", "sshAuthorizedKeys": ["{{ nope }}"]}]
    spec["initConfiguration"]["localAPIEndpoint"] = {"advertiseAddress": "{{ nope }}"}
    found = refused(documents)
    assert sorted(each.path.replace(f"{CONFIG}.", "") for each in found) == [
        "files[0].content",
        "files[0].content",
        "files[1].path",
        "initConfiguration.localAPIEndpoint.advertiseAddress",
        "initConfiguration.nodeRegistration.kubeletExtraArgs[0].value",
        "joinConfiguration.nodeRegistration.kubeletExtraArgs[0].value",
        "users[0].gecos",
        "users[0].sshAuthorizedKeys[0]",
    ]
    assert not any("hunter2" in each.text() for each in found)
    assert any("a template in line 1" in each.rule for each in found)
    assert any("'{{ nope }}'" in each.rule for each in found if each.path.endswith("content"))


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("clusterConfiguration", {"apiServer": {"certSANs": ["{{ local_hostname }}"]}}),
        ("clusterConfiguration", {"imageRepository": "{% raw %}a{% endraw %}"}),
        ("kubeletConfiguration", {"providerID": "{{ instance_id }}"}),
        ("initConfiguration", {"nodeRegistration": {"criSocket": "unix:///{{ region }}"}}),
        ("joinConfiguration", {"patches": {"directory": "/etc/{{ region }}"}}),
        ("joinConfiguration", {"nodeRegistration": {"taints": [{"key": "{{ region }}", "effect": "NoSchedule"}]}}),
    ],
)
def test_what_all_machines_share_has_no_references(
    documents: Documents, refused: Refused, part: str, value: dict[str, Any]
) -> None:
    documents[1]["spec"]["kubeadmConfigSpec"][part] = value
    found = [each for each in refused(documents) if "the same for all machines" in each.rule]
    assert len(found) == 1
    assert found[0].path.startswith(f"{CONFIG}.{part}.")


@pytest.mark.parametrize("name", ["{{ region }}", "n-{{ availability_zone }}", "fixed", "{% raw %}x{% endraw %}"])
def test_a_node_name_is_each_machines_own(documents: Documents, refused: Refused, name: str) -> None:
    documents[1]["spec"]["kubeadmConfigSpec"]["joinConfiguration"]["nodeRegistration"]["name"] = name
    assert ["a fixed node name" in each.rule for each in refused(documents)] == [True]


def test_an_address_of_the_machine_is_advertised(documents: Documents, refused: Refused) -> None:
    spec = documents[1]["spec"]["kubeadmConfigSpec"]
    spec["initConfiguration"]["localAPIEndpoint"] = {"advertiseAddress": "{{ ds.meta_data.local_ipv6 }}"}
    assert refused(documents) == []
    spec["initConfiguration"]["localAPIEndpoint"] = {"advertiseAddress": "{{ region }}"}
    assert [each.path for each in refused(documents)] == [
        f"{CONFIG}.initConfiguration.localAPIEndpoint.advertiseAddress"
    ]


def test_kubeadms_configuration_has_the_machines_values() -> None:
    config = flag("provider-id", 'oci://{{ ds["id"] }}')
    config["joinConfiguration"]["nodeRegistration"]["name"] = "{{ instance_id }}"
    config["joinConfiguration"]["controlPlane"] = {
        "localAPIEndpoint": {"advertiseAddress": "{{ ds.meta_data.local_ipv4 }}"}
    }
    document = yaml.safe_load(data(config)["config"])
    assert document["nodeRegistration"] == {"name": "i-0a1", "kubeletExtraArgs": {"provider-id": "oci://i-0a1"}}
    assert document["controlPlane"] == {"localAPIEndpoint": {"advertiseAddress": "10.0.0.7"}}


def test_what_a_provider_has_not_told_is_named_all_at_once() -> None:
    config = {
        **flag("node-labels", "region={{ region }},zone={{ v1.availability_zone }},host={{ local_hostname }}"),
        "files": [{"path": "/a", "content": "{{ ds.meta_data.public_ipv4 }}"}],
    }
    found = problems(config, status={"instanceData": {"region": ""}})
    assert [(each.object, each.path) for each in found] == [
        (f"KubeadmConfig default/{NAME}", "spec.joinConfiguration.nodeRegistration.kubeletExtraArgs[0].value"),
        (f"KubeadmConfig default/{NAME}", "spec.joinConfiguration.nodeRegistration.kubeletExtraArgs[0].value"),
        (f"KubeadmConfig default/{NAME}", "spec.files[0].content"),
    ]
    assert "'{{ region }}': its machine has no such value (status.instanceData.region)" in found[0].text()
    assert f"provider of AcmeMachine {NAME} records it (docs/provider_contract.md)" in found[0].text()
    assert "status.instanceData.zone" in found[1].rule
    assert "ExternalIP of IPv4" in found[2].rule


def test_of_an_inventory_host_the_variable_is_named() -> None:
    host = {"kind": "InventoryMachine", "metadata": {"name": NAME}, "status": {}}
    report = Report("KubeadmConfig")
    rendering.render("{{ region }}", {}, host, "spec.files[0].path", report)
    assert "Set the variable machine_inventory_region of its host" in report.violations[0].fix


def test_secrets_are_rendered_and_never_shown() -> None:
    file = {"path": "/a", "contentFrom": {"secret": {"name": "s", "key": "k"}}}
    config = {"files": [file], "users": [{"name": "u", "passwdFrom": {"secret": {"name": "s", "key": "p"}}}]}
    done = data(config, secret=b"of {{ region }}\n")
    assert base64.b64decode(done["files"][0]["content"]) == b"of eu-1\n"
    assert done["users"][0]["passwd"] == "of eu-1"
    found = problems(config, secret=b"\n{{ topsecret }} {{ region }} {{ 'topsecret' }")
    text = "\n".join(each.text() for each in found)
    assert "spec.files[0].contentFrom (Secret s, key k): a template in line 2" in text
    assert "spec.users[0].passwdFrom (Secret s, key p)" in text
    assert "topsecret" not in text
    [found_value] = problems({"files": [file]}, secret=b"secret {{ region }}", status={})
    assert "region" in found_value.rule and "{{" not in found_value.rule and "secret" not in found_value.rule
    binary = b"\xff{{ nope }}"
    assert base64.b64decode(data({"files": [file]}, secret=binary)["files"][0]["content"]) == binary


@pytest.mark.parametrize(
    "value",
    ["{{ instance_id }}", "a b", "a\nb", "a;reboot", "$(id)", "-rf", "a'b", 'a"b', "a,b=c", "é", "x" * 513, "\x1b[2J"],
)
def test_a_providers_value_is_one_word_and_no_template(value: str) -> None:
    assert machine_data.record_problems({"region": value})
    found = problems(flag("a", "{{ region }}"), status={"instanceData": {"region": value}})
    assert "can't be put into a text" in found[0].rule
    assert value not in found[0].text()


@pytest.mark.parametrize(
    ("config", "value", "path"),
    [
        ({"joinConfiguration": {"nodeRegistration": {"name": "{{ instance_id }}"}}}, "I_1", "nodeRegistration.name"),
        ({"files": [{"path": "/a/{{ instance_id }}", "content": "x"}]}, "../../etc/shadow", "files[0].path"),
        ({"users": [{"name": "u", "gecos": "{{ instance_id }}"}]}, "a:0:0", "users[0].gecos"),
        (
            {"joinConfiguration": {"controlPlane": {"localAPIEndpoint": {"advertiseAddress": "{{ instance_id }}"}}}},
            "x",
            "advertiseAddress",
        ),
    ],
)
def test_what_a_text_became_is_checked(config: dict[str, Any], value: str, path: str) -> None:
    [found] = problems(config, status={"instanceData": {"instanceID": value}})
    assert found.path.endswith(path)


@pytest.mark.parametrize(
    "text",
    [
        "{{" * 1_000_000,
        "{#" * 300_000,
        "{% raw %}" * 300_000,
        "{%" + " " * 3_000_000,
        "{{ a" * 500_000,
        "{{" + "(" * 3_000_000,
    ],
)
def test_a_huge_text_is_refused_with_few_words(text: str) -> None:
    """In time that grows with its length: none of these ends in a test's life otherwise."""
    assert len(problems({"preKubeadmCommands": [f"{text}{{{{ nope }}}}"]})) <= 20


def test_a_huge_text_is_filled_in() -> None:
    assert command("{{ region }} ${#a} { " * 50_000) == "eu-1 ${#a} { " * 50_000
