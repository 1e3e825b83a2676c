# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a rotation writes to the cluster's own objects at each stage."""

from __future__ import annotations

import base64
import typing as t

import pytest
import yaml

from ansible_collections.kubeadm.control_plane.plugins.module_utils.common.values import now_rfc3339
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.kubeadm.certificate_files import CA, FRONT_PROXY
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.operator.rotate_certificate_authorities.materials import (
    Materials,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.operator.rotate_certificate_authorities.published_authorities import (
    AUTHENTICATION,
    CLUSTER_INFO,
    authentication,
    cluster_info,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.operator.rotate_certificate_authorities.stages import (
    DROP,
    NEW,
    OLD,
    TRUST,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.pki import certificates, reissue
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.workload.writes import WorkloadError

Object = dict[str, t.Any]


@pytest.fixture(scope="module")
def materials() -> Materials:
    now = now_rfc3339()
    pairs = {
        (authority, generation): certificates.new_ca(authority, now, "ECDSA-P256")
        for authority in (CA, FRONT_PROXY)
        for generation in (OLD, NEW)
    }
    return Materials(pairs, now, "test")


def info(authorities: str) -> Object:
    """cluster-info as kubeadm writes it: a kubeconfig without context and user, and a signature for each token."""
    cluster = {
        "certificate-authority-data": base64.b64encode(authorities.encode()).decode(),
        "server": "https://10.0.0.100:6443",
    }
    text = yaml.safe_dump({"apiVersion": "v1", "kind": "Config", "clusters": [{"name": "", "cluster": cluster}]})
    data = {"kubeconfig": text, "jws-kubeconfig-abcdef": "signature"}
    return {"metadata": {"name": "cluster-info", "resourceVersion": "7"}, "data": data}


def test_who_joins_is_told_of_both_and_then_of_the_new_one_alone(materials: Materials) -> None:
    item = info(materials.bundle(CA, (OLD,)))
    for stage, generations in ((TRUST, (OLD, NEW)), (DROP, (NEW,))):
        plan = cluster_info({CLUSTER_INFO: item}, materials, stage)
        [write] = plan.writes
        assert write.resource_version == "7"
        document = yaml.safe_load(write.document["data"]["kubeconfig"])
        held = base64.b64decode(document["clusters"][0]["cluster"]["certificate-authority-data"]).decode()
        assert held == materials.bundle(CA, generations)
        assert document["clusters"][0]["cluster"]["server"] == "https://10.0.0.100:6443"
        # The controller manager signs it anew by itself.
        assert set(write.document["data"]) == {"kubeconfig"}
        item = {**item, "data": {**item["data"], **write.document["data"]}}
        assert cluster_info({CLUSTER_INFO: item}, materials, stage).writes == ()


def test_a_cluster_that_nobody_joins_has_nothing_to_be_told(materials: Materials) -> None:
    assert cluster_info({CLUSTER_INFO: None}, materials, TRUST).writes == ()
    broken = {CLUSTER_INFO: {"metadata": {}, "data": {"kubeconfig": "no kubeconfig"}}}
    with pytest.raises(WorkloadError, match="cluster-info: this is no kubeconfig"):
        cluster_info(broken, materials, TRUST)


def held(data: Object) -> Object:
    return {AUTHENTICATION: {"metadata": {"resourceVersion": "3"}, "data": data}}


def test_what_api_servers_publish_is_waited_for_and_only_drop_takes_away(materials: Materials) -> None:
    old = {name: materials.bundle(authority, (OLD,)) for name, authority in FIELDS.items()}
    both = {name: materials.bundle(authority, (OLD, NEW)) for name, authority in FIELDS.items()}
    waiting = authentication(held(old), materials, (CA, FRONT_PROXY), TRUST)
    assert (waiting.facts["done"], waiting.writes) == (False, ())
    done = authentication(held(both), materials, (CA, FRONT_PROXY), TRUST)
    assert (done.facts["done"], done.writes) == (True, ())
    # Without the new one there the old one stays, whatever is asked for.
    assert authentication(held(old), materials, (CA, FRONT_PROXY), DROP).writes == ()
    [write] = authentication(held(both), materials, (CA, FRONT_PROXY), DROP).writes
    for name, authority in FIELDS.items():
        assert reissue.fingerprints(write.document["data"][name]) == reissue.fingerprints(
            materials.pair(authority, NEW).crt
        )
    [write] = authentication(held(both), materials, (FRONT_PROXY,), DROP).writes
    assert set(write.document["data"]) == {"requestheader-client-ca-file"}


def test_somebody_elses_authority_stays(materials: Materials) -> None:
    """A user's own API server may be trusted there, too."""
    other = certificates.new_ca("somebody", now_rfc3339(), "ECDSA-P256").crt
    data = {"requestheader-client-ca-file": other + materials.bundle(FRONT_PROXY, (OLD, NEW))}
    [write] = authentication(held(data), materials, (FRONT_PROXY,), DROP).writes
    after = reissue.fingerprints(write.document["data"]["requestheader-client-ca-file"])
    assert after == (*reissue.fingerprints(other), *reissue.fingerprints(materials.pair(FRONT_PROXY, NEW).crt))


FIELDS = {"client-ca-file": CA, "requestheader-client-ca-file": FRONT_PROXY}
