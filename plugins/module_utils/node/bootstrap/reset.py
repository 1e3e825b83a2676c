# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reset of a machine by kubeadm, for its next use.

It could be made a control plane node again.
"""

from __future__ import annotations

import os
import shutil
import typing as t

from ...common import kubernetes_facts, kubernetes_versions, settings, systemd_units, timed_command
from ...common.guard import NodeError, exclusive
from ...common.redact import redact
from ...etcd.gateway import KUBEADM_CREDENTIALS, Credentials
from ...etcd.types import LOCAL_MEMBER
from ...etcd.view import members_view
from .bootstrap_unit import UNIT_PREFIX, Bootstrap, Places


def reset(
    *,
    discard_etcd_data: bool,
    check: bool,
    whole_cluster: bool = False,
    places: t.Optional[Places] = None,
    runner: systemd_units.Runner = systemd_units.run,
    etcd_url: str = LOCAL_MEMBER,
    credentials: Credentials = KUBEADM_CREDENTIALS,
) -> bool:
    """Reset kubeadm on this machine; return whether there was anything to undo.

    Running it again is safe at any point.

    kubeadm's own step that leaves etcd is skipped: it checks no quorum (docs/reference/kubeadm.md, "Removing a node").
    The member has to be gone, unless
    ``whole_cluster`` says that every member goes.

    Raises:
        NodeError: the machine's etcd is still a member beside others, or holds data without a consent to lose it.
    """
    where = places or Places()
    traces = [os.path.join(where.kubernetes, name) for name in ("manifests", "pki", "admin.conf", "kubelet.conf")] + [
        os.path.join(where.etcd_data, "member"),
        where.record,
    ]
    found = [path for path in traces if os.path.isfile(path) or (os.path.isdir(path) and os.listdir(path))]
    if not found:
        return False
    if os.path.exists(os.path.join(where.etcd_data, "member")) and not whole_cluster:
        _require_no_membership(discard_etcd_data, where, etcd_url, credentials)
    if check:
        return True
    with exclusive(where.state):
        report = Bootstrap(where, runner).look()
        if report.step:
            systemd_units.stop(UNIT_PREFIX + report.step, runner)
        _kubeadm_reset(where)
        # kubeadm leaves the data of a member that it did not remove itself.
        _empty(where.etcd_data)
        for path in (where.work, where.kubeadm_run, os.path.join(where.kubernetes, "pki")):
            shutil.rmtree(path, ignore_errors=True)
        for path in (where.sentinel, where.record):
            if os.path.exists(path):
                os.unlink(path)
    return True


def _require_no_membership(consent: bool, where: Places, url: str, credentials: Credentials) -> None:
    data = os.path.join(where.etcd_data, "member")
    if os.path.exists(credentials.certificate_file):
        view = members_view([url], credentials)
        own = next((identity for identity, witness in view.witnesses.items() if witness.url == url), 0)
        others = [member for member in view.members if member.id != own]
        if view.get(own) is not None and others:
            names = ", ".join(member.name or member.hex_id for member in others)
            raise NodeError(
                f"The etcd on this machine is member {own:016x} beside {names}: wiping it now would leave a dead member"
                " that counts against the quorum.",
                "Nothing was changed. Remove the member first: etcd_member with state=absent, on another machine.",
            )
    if not consent:
        raise NodeError(
            f"This machine holds etcd data ({data}), and wiping the last copy loses the cluster.",
            "Nothing was changed. Remove its member through another machine first, then set discard_etcd_data.",
        )


def _kubeadm_reset(where: Places) -> None:
    skipped = ["remove-etcd-member"]
    done = timed_command.run([where.kubeadm, "version", "-o", "short"])
    version = done.stdout.strip()
    if kubernetes_versions.read_version(version) and kubernetes_facts.has_cluster_status(version):
        # It edits ConfigMap kubeadm-config through the API; kubeadm without ClusterStatus has no such phase.
        # Source: docs/reference/kubeadm.md, "Removing a node".
        skipped.append("update-cluster-status")
    words = [where.kubeadm, "reset", "--force", "--skip-phases", ",".join(skipped)]
    done = timed_command.run(words, seconds=settings.RESET_SECONDS, why="It is needed to take the machine back.")
    if done.returncode != 0:
        output = redact(done.stdout + done.stderr)[-4096:]
        raise NodeError(f"kubeadm reset failed with exit status {done.returncode}: {output}", "Run it again.")


def _empty(directory: str) -> None:
    # The folder itself may be a mount point.
    if os.path.isdir(directory):
        for name in os.listdir(directory):
            path = os.path.join(directory, name)
            if os.path.isdir(path) and not os.path.islink(path):
                shutil.rmtree(path)
            else:
                os.unlink(path)
