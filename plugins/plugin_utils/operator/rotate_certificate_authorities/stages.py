# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stages of a rotation: content and write order of each node's files.

Source: docs/reference/kubeadm.md, "Authorities".

Three stages, each finished and read back on every node before the next starts on any:

=======  =====================  ==============  =====================================================================
stage    trusted                used to sign    why every connection works while the nodes go through it one by one
=======  =====================  ==============  =====================================================================
Trust    old, new               old             all peers still show what the old authority signed, and all trust it
Issue    new, old               new             all peers trust both, whatever the other side shows
Drop     new                    new             all peers show what the new authority signed, and all trust it
=======  =====================  ==============  =====================================================================

Files keep kubeadm's own names and places. The signing certificate is first in a bundle, because kubeadm takes the first
certificate of a file for the authority. The controller manager needs a single certificate to sign with, and never one
beside another one's key: between Trust and Drop it has a pair of files of its own for each, to which its flags lead.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from ...kubeadm.certificate_files import (
    API_SERVER,
    BUNDLE,
    CA,
    CERTIFICATE,
    CONTROLLER_MANAGER,
    ETCD_SERVER,
    FILES,
    KEY,
    KUBECONFIG,
    KUBELET,
    PKI,
    SCHEDULER,
    SERVICE_ACCOUNT,
    SIGNING_KEY,
)

TRUST, ISSUE, DROP = "Trust", "Issue", "Drop"
STAGES = (TRUST, ISSUE, DROP)
OLD, NEW = "old", "new"

# The flags that say with which pair the controller manager signs, and where its pair is between Trust and Drop.
SIGNER_FLAGS = {"cluster-signing-cert-file": ".crt", "cluster-signing-key-file": ".key"}
SIGNER_USUAL = f"{PKI}/ca"
# The kind of content that such flags are.
FLAGS = "flags"

_TRUSTED = {TRUST: (OLD, NEW), ISSUE: (NEW, OLD), DROP: (NEW,)}
_USED = {TRUST: OLD, ISSUE: NEW, DROP: NEW}

# What is restarted, in this order; etcd only while its API server is stopped, so that no client meets an API server without etcd.
COMPONENTS = (ETCD_SERVER, API_SERVER, CONTROLLER_MANAGER, SCHEDULER, KUBELET)


def trusted(stage: str) -> tuple[str, ...]:
    """Return the generations trusted at a stage's end, the signer first.

    It is ("old",) before the first stage.
    """
    return _TRUSTED.get(stage, (OLD,))


def used(stage: str) -> str:
    """Return the generation that is shown and signs at a stage's end."""
    return _USED.get(stage, OLD)


def concerns(control_plane: bool, authorities: Collection[str]) -> bool:
    """Return whether a node has anything of these authorities.

    A worker has files of the cluster's authority alone, and pods with tokens.
    """
    return control_plane or bool({CA, SERVICE_ACCOUNT} & set(authorities))


@dataclass(frozen=True)
class Content:
    """Content of a file: the generations that it trusts and shows.

    ``shows`` is also the generation with whose key it signs. Of kind FLAGS it is the controller manager's manifest, in
    which :data:`SIGNER_FLAGS` lead to the pair of ``shows``, or to kubeadm's own with "". ``absent`` is a file to be
    removed.
    """

    path: str
    kind: str
    authority: str
    trusts: tuple[str, ...] = ()
    shows: str = ""
    optional: bool = False
    absent: bool = False


def signer(generation: str) -> str:
    """Return the path of the controller manager's temporary signing pair, without suffix."""
    return f"{PKI}/ca-signing-{generation}"


def contents(
    stage: str,
    authorities: Collection[str],
    control_plane: bool,
    ahead: Collection[str] = (),
    halves: Collection[str] = (),
) -> tuple[Content, ...]:
    """Return the files that a stage writes on a node, in order.

    The order matters where a component may be restarted, by whatever, between two of them: the controller manager gets
    its own pair before ca.crt gets two certificates, and leaves it when ca.crt has one.

    Args:
        stage: one of STAGES.
        authorities: those that are rotated.
        control_plane: whether the node carries the control plane.
        ahead: authorities of which the node uses the new one already, because a rotation before this one was aborted
            in the middle. A shown certificate never goes back: a peer may trust the new one alone.
        halves: paths without suffix of certificates whose key is another one's, as a killed run leaves them. Their
            component would not start with what it reads: so Trust, which restarts it, completes them.
    """
    found = []
    for each in FILES:
        if each.authority not in authorities or not (control_plane or each.on_workers):
            continue
        effective = ISSUE if stage == TRUST and each.authority in ahead else stage
        trusts = trusted(effective) if each.kind in (BUNDLE, KUBECONFIG) else ()
        shows = used(stage) if stage == ISSUE and each.kind != BUNDLE else ""
        if each.authority in ahead and each.kind in (KEY, CERTIFICATE) and each.path.rpartition(".")[0] in halves:
            shows = used(ISSUE)
        if trusts or shows:
            found.append(Content(each.path, each.kind, each.authority, trusts, shows, each.optional))
    if CA not in authorities or not control_plane:
        return tuple(found)
    if stage == DROP:
        return (*found, Content(CONTROLLER_MANAGER, FLAGS, CA))
    generation = used(ISSUE if CA in ahead else stage)
    pair = (
        Content(f"{signer(generation)}.key", SIGNING_KEY, CA, shows=generation),
        Content(f"{signer(generation)}.crt", BUNDLE, CA, trusts=(generation,)),
    )
    return (*pair, Content(CONTROLLER_MANAGER, FLAGS, CA, shows=generation), *found)


def leftovers(stage: str, authorities: Collection[str], control_plane: bool) -> tuple[Content, ...]:
    """Return the files to remove after a stage's restarts.

    Nothing that runs reads them any more.
    """
    gone = {ISSUE: OLD, DROP: NEW}.get(stage)
    if gone is None or CA not in authorities or not control_plane:
        return ()
    path = signer(gone)
    return (
        Content(f"{path}.key", SIGNING_KEY, CA, absent=True),
        Content(f"{path}.crt", BUNDLE, CA, absent=True),
    )


def readers(authorities: Collection[str], control_plane: bool) -> dict[str, tuple[str, ...]]:
    """Return a node's components to restart, in order, with their files.

    The files are those that each component reads of these authorities.

    That the controller manager reads its manifest's flags, and so the pair that they name, goes without saying: a
    component is older than its manifest, too. Of the kubelet's own certificates, those that it got by itself since it
    was started are left out of account where ages are compared.
    """
    found: dict[str, tuple[str, ...]] = {}
    for component in COMPONENTS:
        paths = tuple(
            each.path
            for each in FILES
            if component in each.readers and each.authority in authorities and (control_plane or each.on_workers)
        )
        if paths and (control_plane or component == KUBELET):
            found[component] = paths
    return found
