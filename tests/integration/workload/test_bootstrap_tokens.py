# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Bootstrap tokens on a real API server, and the real controller manager that signs cluster-info with them."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
from api_server import ApiServer
from etcd_cluster import until
from management import controller_manager

from ansible_collections.kubeadm.control_plane.plugins.module_utils.workload_api import bootstrap_token
from ansible_collections.kubeadm.control_plane.plugins.module_utils.workload_api.api import ApiClient, ApiError

from .conftest import Workload

PUBLIC, INFO = bootstrap_token.CLUSTER_INFO.rsplit("/", maxsplit=1)[0], bootstrap_token.CLUSTER_INFO


def made(client: ApiClient) -> str:
    """A token that the cluster knows and has not signed with."""
    token = bootstrap_token.new_token()
    now = bootstrap_token.server_time(client)
    assert bootstrap_token.create(client, bootstrap_token.secret_document(token, 900, "for a test", now))
    return token


def signatures(client: ApiClient) -> dict[str, str]:
    """cluster-info's signatures, by the tokens' IDs."""
    data = t.cast("dict[str, t.Any]", client.get(INFO))["data"]
    return {key.rsplit("-", maxsplit=1)[1]: value for key, value in data.items() if key.startswith("jws-kubeconfig-")}


def test_a_token_is_created_once_and_deleted_by_its_id(server: ApiServer) -> None:
    token = bootstrap_token.new_token()
    token_id = token.split(".", maxsplit=1)[0]
    with server.client() as client:
        now = bootstrap_token.server_time(client)
        document = bootstrap_token.secret_document(token, 900, "for a test", now)
        assert bootstrap_token.create(client, document)
        assert not bootstrap_token.create(client, document)
        stored = client.get(bootstrap_token.path_of(token_id))
        assert stored is not None and stored["type"] == "bootstrap.kubernetes.io/token"
        assert bootstrap_token.delete(client, token_id)
        assert not bootstrap_token.delete(client, token_id)


def test_a_real_token_authenticates_against_the_api(server: ApiServer) -> None:
    token = bootstrap_token.new_token()
    with server.client() as client:
        bootstrap_token.create(
            client, bootstrap_token.secret_document(token, 900, "for a test", bootstrap_token.server_time(client))
        )
        review = "/apis/authentication.k8s.io/v1/tokenreviews"

        def known() -> t.Any:
            answer = client.checked(client.send("POST", review, {"spec": {"token": token}}), review)
            return answer["status"] if answer["status"].get("authenticated") else None

        # The server learns of new Secrets from a watch.
        assert bootstrap_token.GROUP in until("the token is known", known)["user"]["groups"]


@pytest.fixture
def info(workload: Workload) -> Workload:
    """A cluster that nobody has signed for."""
    workload.put(PUBLIC, {"metadata": {"name": "cluster-info"}, "data": {"kubeconfig": "kind: Config\n"}})
    return workload


def test_a_signature_is_the_one_of_the_controller_manager(info: Workload, tmp_path: Path) -> None:
    """It signs for the token that has no signature yet, and finds nothing to mend in the one that was written beforehand."""
    with info.server.client() as client:
        first, second = made(client), made(client)
        assert bootstrap_token.sign(client, first) is True
        assert bootstrap_token.sign(client, first) is False
        written = signatures(client)
        with controller_manager(info.server, tmp_path, "bootstrapsigner"):
            signed = until("both are signed", lambda: len(signatures(client)) > 1 and signatures(client), seconds=60.0)
        content = info.there(INFO)["data"]["kubeconfig"]
        assert signed == {each.split(".")[0]: bootstrap_token.signature(each, content) for each in (first, second)}
        assert written == {first.split(".")[0]: signed[first.split(".")[0]]}
        assert bootstrap_token.sign(client, second) is False


def test_another_token_of_that_id_is_left_alone(info: Workload) -> None:
    """Signed for with the wrong secret, its own machine would not find the cluster. One that has ended is not signed for either."""
    with info.server.client() as client:
        token = made(client)
        assert bootstrap_token.signs(client, token) is True
        assert bootstrap_token.signs(client, bootstrap_token.new_token()) is None
        with pytest.raises(ValueError, match="another token has the ID") as refused:
            bootstrap_token.signs(client, f"{token.split('.')[0]}.{'0' * 16}")
        assert token.split(".")[1] not in str(refused.value)
        secret = bootstrap_token.path_of(token.split(".")[0])
        info.patch(secret, {"stringData": {"expiration": "2026-01-01T00:00:00Z"}})
        assert bootstrap_token.signs(client, token) is False
        info.patch(secret, {"stringData": {"expiration": "2999-01-01T00:00:00Z", "usage-bootstrap-signing": "false"}})
        assert bootstrap_token.signs(client, token) is False


def test_a_signature_of_another_kubeconfig_is_replaced_and_others_stay(info: Workload) -> None:
    """As after a rotation, before the controller manager has gone through it."""
    with info.server.client() as client:
        token = made(client)
        bootstrap_token.sign(client, token)
        before = signatures(client)
        info.patch(INFO, {"data": {"kubeconfig": "kind: Other\n", "jws-kubeconfig-abcdef": "another's"}})
        assert bootstrap_token.unsigned(client, token)
        assert bootstrap_token.sign(client, token) is True
        after = signatures(client)
        assert after.pop("abcdef") == "another's" and after != before and after.keys() == before.keys()


def test_a_cluster_without_public_information_is_not_given_any(info: Workload) -> None:
    """Where kubeadm's phase bootstrap-token was left out."""
    info.delete(INFO)
    with info.server.client() as client:
        assert bootstrap_token.sign(client, made(client)) is None
        assert client.get(INFO) is None


def test_what_the_api_refuses_is_an_error(info: Workload) -> None:
    """A ConfigMap that is marked as one that never changes."""
    info.patch(INFO, {"immutable": True})
    with info.server.client() as client, pytest.raises(ApiError, match="immutable"):
        bootstrap_token.sign(client, made(client))
