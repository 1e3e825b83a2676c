# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Old and new authorities of a rotation, in one Secret.

The Secret is kept in the store until the rotation is complete. All that a rotation needs to resume is there and on the
nodes: whichever run comes next, of the same Action or of another one after an abort, uses the same new authorities.
"""

from __future__ import annotations

import json
import typing as t
from dataclasses import dataclass
from datetime import timedelta

from ....module_utils.common import kubernetes_facts
from ....module_utils.common.bounded_yaml import read_json
from ....module_utils.common.values import format_moment, read_moment
from ...kubeadm.certificate_files import AUTHORITIES, CA, ETCD, FRONT_PROXY, SERVICE_ACCOUNT
from ...objects import kinds
from ...objects.advice import AUTHORITY_ENDED
from ...pki import certificates, reissue, secrets
from ...pki.certificates import KeyPair
from ...records.cluster_objects import ClusterObjects, Object
from ..tasks.context import CommandFailure, TaskContext
from .stages import NEW, OLD

PURPOSES = {
    CA: kinds.PURPOSE_CA,
    ETCD: kinds.PURPOSE_ETCD,
    FRONT_PROXY: kinds.PURPOSE_PROXY,
    SERVICE_ACCOUNT: kinds.PURPOSE_SERVICE_ACCOUNT,
}
# A pod's start is by its node's clock, which may be ahead a little.
_AHEAD = timedelta(seconds=60)


@dataclass
class Materials:
    """Both generations of each authority, and the rotation's records. Secret.

    ``link`` is the new cluster CA's certificate signed by the old one; ``published_at`` is when pods that start get
    both, "" before; ``issued_at`` is when every node had its new certificates, "" before; ``stale_pods`` are those that
    run since before then and may know the old one alone, None before a search for them.
    """

    pairs: dict[tuple[str, str], KeyPair]
    created_at: str
    action: str
    link: str = ""
    published_at: str = ""
    issued_at: str = ""
    stale_pods: t.Optional[list[str]] = None

    @property
    def authorities(self) -> tuple[str, ...]:
        """Authorities that are rotated."""
        return tuple(each for each in AUTHORITIES if (each, NEW) in self.pairs)

    def pair(self, authority: str, generation: str) -> KeyPair:
        """Return one generation of one authority."""
        return self.pairs[authority, generation]

    def bundle(self, authority: str, generations: t.Iterable[str]) -> str:
        """Return these generations' certificates or public keys as PEM, in order."""
        return "".join(f"{self.pair(authority, each).crt.strip()}\n" for each in generations)

    def fingerprints(self, authority: str, generations: t.Iterable[str]) -> set[str]:
        """Return the fingerprints of a bundle of these generations."""
        return set(reissue.fingerprints(self.bundle(authority, generations)))

    def document(self) -> dict[str, bytes]:
        """Return the Secret's data."""
        known = {
            "createdAt": self.created_at,
            "action": self.action,
            "link": self.link,
            "publishedAt": self.published_at,
            "issuedAt": self.issued_at,
            "stalePods": self.stale_pods,
        }
        data = {"rotation": json.dumps(known).encode()}
        for (authority, generation), pair in self.pairs.items():
            data[f"{authority}.{generation}.crt"] = pair.crt.encode()
            data[f"{authority}.{generation}.key"] = (pair.key or "").encode()
        return data


def secret_name(cluster: str) -> str:
    """Return the name of the Secret that holds an incomplete rotation."""
    return kinds.secret_name(cluster, kinds.PURPOSE_AUTHORITY_ROTATION)


def later(time: str) -> str:
    """Return a time with a margin for the nodes' clocks (RFC 3339).

    A pod that was started before ``time`` has, by its node's clock, a start before the returned time.
    """
    return format_moment(read_moment(time) + _AHEAD)


def load(ctx: TaskContext) -> t.Optional[Materials]:
    """Return the rotation that is under way, None where there is none."""
    data = ctx.secret(secret_name(ctx.cluster))
    if data is None:
        return None
    known = read_json(data["rotation"])
    pairs = {
        (authority, generation): KeyPair(
            data[f"{authority}.{generation}.crt"].decode(), data[f"{authority}.{generation}.key"].decode() or None
        )
        for authority in AUTHORITIES
        for generation in (OLD, NEW)
        if f"{authority}.{generation}.crt" in data
    }
    return Materials(
        pairs,
        str(known["createdAt"]),
        str(known["action"]),
        str(known["link"]),
        str(known["publishedAt"]),
        str(known.get("issuedAt") or ""),
        None if known["stalePods"] is None else [str(each) for each in known["stalePods"]],
    )


def need(ctx: TaskContext, authorities: t.Collection[str]) -> Materials:
    """Return the rotation that is under way.

    Raises CommandFailure where there is none of these authorities.
    """
    found = load(ctx)
    missing = [each for each in authorities if found is None or each not in found.authorities]
    if found is None or missing:
        raise CommandFailure(
            f"the store has no new authority for {', '.join(missing)} (Secret {secret_name(ctx.cluster)}): it is made by the first Task "
            "of a rotation. Nothing was done. Put the Secret back if it was deleted; without it what was begun can't be completed."
        )
    return found


def keep(ctx: TaskContext, materials: Materials) -> None:
    """Write the rotation into the store."""
    ctx.put_secret(secret_name(ctx.cluster), materials.document())


def current(ctx: TaskContext, authorities: t.Collection[str], now: str) -> dict[str, KeyPair]:
    """Return the cluster's authorities as the store has them.

    Raises:
        CommandFailure: one is missing, is the user's own, has no key, or has expired.
    """
    problems, found, fix = [], {}, "Correct these, then retry."
    ends = secrets.certificate_facts(ctx.objects.store, ctx.objects.cluster)
    for authority in authorities:
        purpose = PURPOSES[authority]
        secret = secrets.read_secret(ctx.objects.store, ctx.objects.cluster, purpose)
        name = secrets.secret_name(ctx.objects.cluster, purpose)
        pair = secrets.read_pair(ctx.objects.store, ctx.objects.cluster, purpose)
        if secret is None or pair is None:
            problems.append(f"the store has no Secret {name}")
        elif not secrets.is_controlled_by(secret, ctx.objects.control_plane or {"metadata": {"uid": None}}):
            problems.append(f"the Secret {name} is the user's own: a new one would be overwritten from the manifest")
        elif not pair.key:
            problems.append(
                f"the Secret {name} has no tls.key: its authority signs elsewhere, and is to be rotated there"
            )
        else:
            ctx.secret(name)
            check = certificates.check_key_pair if authority == SERVICE_ACCOUNT else _check_ca(now)
            problems += [f"Secret {name}: {each}" for each in check(pair.crt, pair.key)]
            found[authority] = pair
            end = ends[purpose]["notAfter"]
            if end and read_moment(end) <= read_moment(now):
                fix = f"No rotation replaces an authority that has ended: abort this Action. {AUTHORITY_ENDED}"
    if problems:
        raise CommandFailure(f"nothing was made or changed: {'; '.join(problems)}. {fix}")
    return found


def _check_ca(now: str) -> t.Callable[[str, t.Optional[str]], list[str]]:
    return lambda crt, key: certificates.check_ca(crt, key, now)


def create(ctx: TaskContext, old: t.Mapping[str, KeyPair], now: str) -> Materials:
    """Make the new authorities, without storing them.

    Their algorithm and length of life are those that the cluster's configuration requests.
    """
    configuration = cluster_configuration(ctx.objects)
    algorithm = str(configuration.get("encryptionAlgorithm") or certificates.ALGORITHMS[0])
    days = int(configuration.get("caCertificateValidityPeriodDays") or kubernetes_facts.CA_VALIDITY_DAYS)
    pairs: dict[tuple[str, str], KeyPair] = {}
    link = ""
    for authority, pair in old.items():
        pairs[authority, OLD] = pair
        if authority == SERVICE_ACCOUNT:
            pairs[authority, NEW] = certificates.new_service_account(algorithm)
            continue
        name = reissue.common_name(pair.crt, PURPOSES[authority], now)
        pairs[authority, NEW] = certificates.new_ca(name, now, algorithm, days)
        if authority == CA:
            link = reissue.link_certificate(pairs[authority, NEW].crt, pair, now)
    return Materials(pairs, now, str(ctx.action["metadata"]["name"]), link)


def cluster_configuration(objects: ClusterObjects) -> Object:
    """Return the KubeadmControlPlane's clusterConfiguration."""
    spec = ((objects.control_plane or {}).get("spec") or {}).get("kubeadmConfigSpec") or {}
    found: Object = spec.get("clusterConfiguration") or {}
    return found
