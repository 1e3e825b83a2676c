# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filters to_cluster_api and from_cluster_api, as templates call them."""

from __future__ import annotations

import subprocess
import typing as t
from pathlib import Path

import pytest
import yaml
from ansible.errors import AnsibleFilterError

from ansible_collections.kubeadm.control_plane.plugins.filter import from_cluster_api as reader
from ansible_collections.kubeadm.control_plane.plugins.filter import to_cluster_api as writer

EXAMPLES = Path(__file__).parents[4] / "examples" / "manifests"
Object = dict[str, t.Any]


def to_cluster_api(*arguments: t.Any, **options: t.Any) -> t.Any:
    """The filter, found as Ansible finds it."""
    return writer.FilterModule().filters()["to_cluster_api"](*arguments, **options)


def from_cluster_api(value: t.Any) -> t.Any:
    """The filter, found as Ansible finds it."""
    return reader.FilterModule().filters()["from_cluster_api"](value)


def text(form: str) -> str:
    """An example's text."""
    return (EXAMPLES / f"cluster-{form}.yaml").read_text(encoding="utf-8")


@pytest.mark.parametrize("version", ["v1alpha3", "v1alpha4", "v1beta1", "v1beta2"])
@pytest.mark.parametrize("form", ["v1alpha3", "v1beta1", "v1beta2"])
def test_every_form_to_every_version_and_back(form: str, version: str) -> None:
    """The three examples are one cluster, whatever way it takes."""
    written = to_cluster_api(text(form), version)
    control_plane = list(yaml.safe_load_all(written))[1]
    assert control_plane["apiVersion"] == f"controlplane.cluster.x-k8s.io/{version}"
    assert from_cluster_api(written) == from_cluster_api(text("v1beta2"))


def control_plane(**spec: t.Any) -> Object:
    """A control plane in the hub form."""
    return {
        "apiVersion": "controlplane.cluster.x-k8s.io/v1beta2",
        "kind": "KubeadmControlPlane",
        "metadata": {"name": "prod"},
        "spec": {"replicas": 3, **spec},
    }


def test_a_loss_is_an_error_with_every_path() -> None:
    """Object, path, value, rule and where the field came, all at once."""
    value = control_plane(rollout={"before": {"certificatesExpiryDays": 21}}, remediation={"maxRetry": 2})
    with pytest.raises(AnsibleFilterError) as error:
        to_cluster_api([value], "v1alpha4")
    message = str(error.value)
    for words in ("2 problems", "default/prod", "certificatesExpiryDays", "21", "spec.remediation.maxRetry", "v1beta1"):
        assert words in message


def test_a_loss_can_be_kept() -> None:
    """And comes back from what was written."""
    value = control_plane(rollout={"before": {"certificatesExpiryDays": 21}})
    written = to_cluster_api(value, "v1alpha3", on_loss="keep")
    assert "conversion-data" in written
    assert from_cluster_api(written) == [value]


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ("a: [", "not YAML"),
        ("kind: Cluster\nkind: Cluster\n", "written twice"),
        ("a: &a [1]\nb: &b [*a, *a]\n", "no apiVersion"),
        ("", "no object"),
        ([], "no object"),
        (None, "nothing, not an object"),
        ([1, "x"], "2 problems"),
        ({"kind": "Cluster"}, "no apiVersion"),
        ({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a"}}, "not converted"),
        ({"apiVersion": "cluster.x-k8s.io/v9", "kind": "Cluster", "metadata": {"name": "a"}}, "v1beta2"),
        (control_plane(replicas="three", typo=1), "2 problems"),
    ],
)
def test_bad_input(value: t.Any, says: str) -> None:
    """An error in words, for both filters."""
    for call in (from_cluster_api, lambda one: to_cluster_api(one, "v1beta1")):
        with pytest.raises(AnsibleFilterError) as error:
            call(value)
        assert says in str(error.value)


def test_an_alias_bomb_is_refused() -> None:
    """Text that expands to more than can be."""
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)]
    with pytest.raises(AnsibleFilterError, match="expands to more"):
        from_cluster_api("\n".join(lines))


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"version": "v1alpha2"}, "v1alpha3, v1alpha4, v1beta1, v1beta2"),
        ({"version": 1}, "version is one of"),
        ({"version": "v1beta1", "on_loss": "ignore"}, "fail, keep"),
        ({"version": "v1beta1", "output": "yaml"}, "text, objects"),
        ({"version": "v1beta1", "infrastructure_version": "../x"}, "infrastructure_version"),
    ],
)
def test_bad_options(options: dict[str, t.Any], says: str) -> None:
    """Each names what it may be."""
    with pytest.raises(AnsibleFilterError, match=says):
        to_cluster_api(control_plane(), **options)


@pytest.mark.parametrize("module", [reader, writer], ids=["from_cluster_api", "to_cluster_api"])
def test_the_documentations_examples_run(tmp_path: Path, module: t.Any) -> None:
    """As tasks of a real playbook."""
    play = {"name": "Examples", "hosts": "localhost", "gather_facts": False, "tasks": yaml.safe_load(module.EXAMPLES)}
    (tmp_path / "play.yml").write_text(yaml.safe_dump([play]), encoding="utf-8")
    done = subprocess.run(
        ["ansible-playbook", "-i", "localhost,", "-c", "local", "play.yml"],
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
