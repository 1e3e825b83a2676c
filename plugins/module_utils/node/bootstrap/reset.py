# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reset of a machine by kubeadm, for its next use.

It could be made a control plane node again.
"""

from __future__ import annotations

import contextlib
import glob
import os
import re
import shlex
import shutil
import typing as t

from ...common import kubernetes_facts, kubernetes_versions, settings, systemd_units, timed_command
from ...common.guard import NodeError, delete, exclusive, read_text
from ...common.redact import redact
from ...etcd import certificates_dir, data_dir
from ...etcd.gateway import kubeadm_credentials
from ...etcd.snapshot import tool as etcd_tool
from ...etcd.view import members_view
from ..components import kubelet
from ..host import host_facts
from . import certificate_folders, etcd_folders, leftovers
from .bootstrap_unit import RUNNING, Bootstrap, Places

# In the configuration of kubeadm init or join that a failed attempt leaves.
_CRI_SOCKET = re.compile(r"\bcriSocket[\"']?:[ \t]*[\"']?([^\s\"',}]+)")


def reset(
    *,
    discard_etcd_data: bool,
    check: bool,
    whole_cluster: bool = False,
    places: t.Optional[Places] = None,
    runner: systemd_units.Runner = systemd_units.run,
    cri_sockets: t.Sequence[str] = host_facts.CRI_SOCKETS,
    proc: str = "/proc",
) -> bool:
    """Reset kubeadm on this machine; return whether there was anything to undo.

    Running it again is safe at any point.

    kubeadm's own step that leaves etcd is skipped: it checks no quorum (docs/reference/kubeadm.md, "Removing a node").
    The member has to be gone, unless
    ``whole_cluster`` says that every member goes.

    Raises:
        NodeError: the machine's etcd is still a member beside others, holds data without a consent to lose it, or isn't kubeadm's.
    """
    where = places or Places()
    host = host_facts.HostPlaces(node=where, kubelet_state=where.disks.kubelet, proc=proc)
    # What keeps a host from being claimed or given a bootstrap, and static pods of others.
    found = host_facts.traces(host)
    found += leftovers.present(where.kubernetes, where.state)
    manifests = os.path.join(where.kubernetes, "manifests")
    found += os.listdir(manifests) if os.path.isdir(manifests) else []
    data = etcd_folders.data(where)
    if not found and not data:
        return False
    if not whole_cluster:
        require_no_membership(where)
        if data and not discard_etcd_data:
            raise NodeError(
                f"This machine holds etcd data ({', '.join(data)}), and wiping the last copy loses the cluster.",
                "Nothing was changed. Remove its member through another machine first, then set discard_etcd_data.",
            )
    require_no_other_etcd(host, consent=discard_etcd_data)
    if check:
        return True
    whole = etcd_folders.owns_default(where)
    with exclusive(where.state):
        end_unit(Bootstrap(where, runner), finished=True)
        # What runs on would write files of this cluster on the host of the next one, or drain the next one's Node of the same name.
        for unit in systemd_units.OUTLIVING:
            systemd_units.stop(unit, runner)
        etcd_folders.keep_note(where)
        certificates_dir.keep_note(where.kubernetes, where.state)
        _kubeadm_reset(where, cri_sockets)
        # kubeadm leaves the data of a member that it did not remove itself.
        _unmount(etcd_folders.current(where))
        etcd_folders.empty(where, whole=whole)
        certificate_folders.empty(where)
        for path in (where.work, where.kubeadm_run):
            shutil.rmtree(path, ignore_errors=True)
        # The records at last: while one is there, a reset that was killed is done again.
        records = where.sentinel, where.record, data_dir.note(where.state)
        for path in (*leftovers.present(where.kubernetes, where.state), *records):
            delete(path)
    return True


def require_no_other_etcd(host: host_facts.HostPlaces, *, consent: bool) -> None:
    """Refuse a machine with an etcd that kubeadm did not make.

    Also where all machines of its cluster go. ``consent`` is that to lose data which nothing explains.
    """
    found, fix = host_facts.other_etcd(host, consent=consent)
    if found:
        why = "nothing here says that kubeadm made it: no manifest etcd.yaml"
        if etcd_folders.made_by_kubeadm(host.node):
            why = f"those of kubeadm's etcd are in {etcd_folders.current(host.node)}: they are an old copy, or another etcd's"
        raise NodeError(
            f"{found[0].upper()}{found[1:]}, and {why}. It may be the external etcd of this cluster, or of others, which would lose a member "
            "or all that they have.",
            f"Nothing was changed. {fix}",
            leftovers.OTHER_ETCD if host_facts.other_etcd(host, consent=True)[0] else "",
        )


def end_unit(bootstrap: Bootstrap, *, finished: bool = False, check: bool = False) -> bool:
    """End a bootstrap that runs; return whether there is one.

    A damaged record does not tell which: all units are stopped. ``finished``: also what is left of one that is over.
    """
    step, ends = "", os.path.exists(bootstrap.places.record)
    with contextlib.suppress(NodeError):
        report = bootstrap.look()
        step, ends = report.step, ends and (finished or report.state == RUNNING)
    if ends and not check:
        systemd_units.stop(f"{systemd_units.BOOTSTRAP}{step or '*'}", bootstrap.runner)
    return ends


def require_no_membership(places: Places) -> bool:
    """Refuse a machine whose etcd is a member beside others.

    Returns whether that is known: an etcd that is stopped can't be asked for its members.
    """
    if not etcd_folders.data(places):
        return True
    folder = certificates_dir.certificates_dir(places.kubernetes, places.state, places.disks.kubelet)
    credentials = kubeadm_credentials(folder)
    if not os.path.exists(credentials.certificate_file):
        return False
    view = members_view([places.etcd_url], credentials)
    own = next((identity for identity, witness in view.witnesses.items() if witness.url == places.etcd_url), 0)
    others = [member for member in view.members if member.id != own]
    if view.get(own) is not None and others:
        names = ", ".join(sorted(member.name or member.hex_id for member in others))
        raise NodeError(
            f"The etcd on this machine is member {own:016x} beside {names}: wiping it now would leave a dead member"
            " that counts against the quorum.",
            "Nothing was wiped. Remove the member first: etcd_member with state=absent, on another machine.",
        )
    return view.reachable


def _unmount(folder: str) -> None:
    """Unmount etcd's image beside its data.

    A restore that was stopped has left it.
    """
    for root in glob.glob(os.path.join(glob.escape(folder), ".restored-*.image")):
        etcd_tool.release(root[: -len(".image")])
        if os.path.ismount(root):
            raise NodeError(
                f"{root} is still mounted: a restore has etcd's image there, whose files would be deleted with the folder.",
                f"Unmount it (umount {shlex.quote(root)}), and run again.",
            )


def _cri_socket(where: Places, sockets: t.Sequence[str]) -> str:
    """Return the container runtime's socket for kubeadm reset.

    It is "" where kubeadm finds the only one itself; it refuses several. The Node and kubeadm-config, which kubeadm would ask, may be gone
    by now, and a worker can't read them.
    """
    found = kubelet.cri_socket(where.disks.kubelet)
    for name in sorted(os.listdir(where.kubeadm_run)) if os.path.isdir(where.kubeadm_run) else ():
        named = _CRI_SOCKET.search(read_text(os.path.join(where.kubeadm_run, name)))
        found = found or (named.group(1) if named else "")
    there = [f"unix://{path}" for path in sockets if os.path.exists(path)]
    if found or len(there) < 2 or os.path.exists(os.path.join(where.disks.kubelet, "kubeadm-flags.env")):
        return found
    # kubeadm has started no kubelet here, so that no runtime has a container of one.
    return there[0]


def _kubeadm_reset(where: Places, sockets: t.Sequence[str]) -> None:
    skipped = ["remove-etcd-member"]
    done = timed_command.run([where.kubeadm, "version", "-o", "short"])
    version = done.stdout.strip()
    if kubernetes_versions.read_version(version) and kubernetes_facts.has_cluster_status(version):
        # It edits ConfigMap kubeadm-config through the API; kubeadm without ClusterStatus has no such phase.
        # Source: docs/reference/kubeadm.md, "Removing a node".
        skipped.append("update-cluster-status")
    words = [where.kubeadm, "reset", "--force", "--skip-phases", ",".join(skipped)]
    socket = _cri_socket(where, sockets)
    words += [f"--cri-socket={socket}"] if socket else []
    done = timed_command.run(words, seconds=settings.RESET_SECONDS, why="It is needed to take the machine back.")
    if done.returncode != 0:
        output = redact(done.stdout + done.stderr)[-4096:]
        raise NodeError(f"kubeadm reset failed with exit status {done.returncode}: {output}", "Run it again.")
