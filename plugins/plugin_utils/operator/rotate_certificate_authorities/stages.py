# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The protocol of a rotation: what each file of a node holds at each stage, and in which order it gets there.

Source: docs/reference/kubeadm.md, "Authorities".

Three stages, each finished and read back on every node before the next begins on any:

=======  =====================  ==============  ===========================================================================
stage    trusted                used to sign    why every connection works while the nodes go through it one by one
=======  =====================  ==============  ===========================================================================
Trust    old, new               old             everybody still shows what the old authority signed, and all trust it
Issue    new, old               new             everybody trusts both, whatever the other side shows
Drop     new                    new             everybody shows what the new authority signed, and all trust it
=======  =====================  ==============  ===========================================================================

Files keep kubeadm's own names and places. What signs stands first in a bundle, because kubeadm takes the first certificate of a
file for the authority. The controller manager wants a single certificate to sign with, and never one beside another one's key:
between Trust and Drop it has a pair of files of its own for each, to which its flags lead.
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
    """Whose certificates are trusted at the end of a stage, the one that signs first; ("old",) before the first stage."""
    return _TRUSTED.get(stage, (OLD,))


def used(stage: str) -> str:
    """Whose certificates are shown, and which key signs, at the end of a stage."""
    return _USED.get(stage, OLD)


@dataclass(frozen=True)
class Content:
    """What a file is to hold: whose certificates it trusts, and whose it shows or with whose key it signs.

    Of kind FLAGS it is the controller manager's manifest, in which :data:`SIGNER_FLAGS` lead to the pair of ``shows``, or to
    kubeadm's own with "". ``absent`` is a file that is to go.
    """

    path: str
    kind: str
    authority: str
    trusts: tuple[str, ...] = ()
    shows: str = ""
    optional: bool = False
    absent: bool = False


def signer(generation: str) -> str:
    """The path, without its suffix, of the pair with which the controller manager signs meanwhile."""
    return f"{PKI}/ca-signing-{generation}"


def contents(
    stage: str,
    authorities: Collection[str],
    control_plane: bool,
    ahead: Collection[str] = (),
    halves: Collection[str] = (),
) -> tuple[Content, ...]:
    """What a stage writes on a node, in the order in which it is written.

    The order matters where a component may be restarted, by whatever, between two of them: the controller manager gets its own
    pair before ca.crt gets two certificates, and leaves it when ca.crt has one.

    Args:
        stage: one of STAGES.
        authorities: those that are rotated.
        control_plane: whether the node carries the control plane.
        ahead: authorities of which the node uses the new one already, because a rotation before this one was ended in the middle.
            What is shown never goes back: somebody may trust the new one alone.
        halves: paths without suffix of certificates whose key is another one's, as a run leaves one that is killed between the two. It
            would not start with what it reads: so Trust, which restarts it, completes it.
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
    """What goes when nothing that runs reads it any more: after the restarts of a stage."""
    gone = {ISSUE: OLD, DROP: NEW}.get(stage)
    if gone is None or CA not in authorities or not control_plane:
        return ()
    path = signer(gone)
    return (
        Content(f"{path}.key", SIGNING_KEY, CA, absent=True),
        Content(f"{path}.crt", BUNDLE, CA, absent=True),
    )


def readers(authorities: Collection[str], control_plane: bool) -> dict[str, tuple[str, ...]]:
    """The components of a node that a rotation restarts, in their order, with the files that each of them reads of these authorities.

    That the controller manager reads its manifest's flags, and so the pair that they name, goes without saying: a component is
    older than its manifest, too. Of the kubelet's own certificates, those that it got by itself since it was started are left out of
    account where ages are compared.
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
