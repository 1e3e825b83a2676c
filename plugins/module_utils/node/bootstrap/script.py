# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Script of a bootstrap: preKubeadmCommands, disk space check, kubeadm, postKubeadmCommands.

One shell, as cloud-init runs them for Cluster API: what an early command exports, a later one sees, and kubeadm too. Unlike
there, the first command that fails ends the bootstrap, and is named.
"""

from __future__ import annotations

import os
import shlex
import typing as t
from dataclasses import dataclass

from ...common import kubernetes_facts, settings

# Cluster API's sentinel (docs/reference/cluster_api.md, "Creating a machine"; written where kubeadm succeeded).
SENTINEL = "/run/cluster-api/bootstrap-success.complete"
# etcd's log takes files of 64 MB, two at once, beside its database.
LEAST_ROOM_BYTES = 256 << 20

# The exit status of a script that was ended from outside; timeout(1) has the same.
ENDED = 124
# Stages after kubeadm: the look at its static pods, and the end.
PODS, DONE = "pods", "done"
# Empty file of a script that has started kubeadm.
BEGUN = "begun"
_LOOKS_PER_SECOND = 5

_HEAD = """\
#!/bin/sh
# Made by kubeadm.control_plane. Holds the user's commands, which may be secret: readable by root alone.
umask 077
cd /
kcp_work={work}
kcp_stage=start
kcp_enter() {{
    kcp_stage=$1
    if (umask 077 && printf '%s\\n' "$kcp_stage" > "$kcp_work/stage.partial"); then
        sync "$kcp_work/stage.partial" 2>/dev/null || :
        mv -f "$kcp_work/stage.partial" "$kcp_work/stage"
    else
        # Without room: over the last one, in its place.
        printf '%-15s\\n' "$kcp_stage" 1<> "$kcp_work/stage" || :
    fi
    sync "$kcp_work" 2>/dev/null || :
}}
kcp_end() {{
    umask 077
    printf '%s %s\\n' "$1" "$kcp_stage" > "$kcp_work/result.partial" || return 0
    sync "$kcp_work/result.partial" 2>/dev/null || :
    mv -f "$kcp_work/result.partial" "$kcp_work/result"
    sync "$kcp_work" 2>/dev/null || :
}}
trap 'kcp_rc=$?; trap - EXIT; kcp_end "$kcp_rc"; exit "$kcp_rc"' EXIT
trap 'exit {ended}' TERM
kcp_enter start
exec >> "$kcp_work/output" 2>&1 < /dev/null
umask 022
"""

_COMMAND = """\
kcp_enter {stage}
. "$kcp_work/{stage}.sh"
kcp_rc=$?
[ "$kcp_rc" -eq 0 ] || exit "$kcp_rc"
"""

# After the user's commands, which may mount disks, and before kubeadm, which looks at none: a join adds its member to etcd first, and
# an etcd that has no room for its log then never starts. What can't be told is no reason to stop.
_ROOM = """\
kcp_enter room
kcp_room() {{
    kcp_path=$1
    while [ ! -d "$kcp_path" ]; do kcp_path=$(dirname "$kcp_path"); done
    kcp_free=$(df -Pk "$kcp_path" 2>/dev/null | tail -n 1 | (read -r _ _ _ kcp_free _ && echo "$kcp_free"))
    case $kcp_free in ''|*[!0-9]*) return 0 ;; esac
    [ "$kcp_free" -lt {kibibytes} ] || return 0
    echo "[ERROR $2]: $((kcp_free / 1024)) MiB free for $1, and $3 need {mebibytes} MiB at least; kubeadm was not started"
    return 1
}}
kcp_rc=0
kcp_room {etcd} EtcdDisk "etcd's log and database" || kcp_rc=1
kcp_room {kubelet} KubeletDisk "pods and their logs" || kcp_rc=1
for kcp_each in {runtimes}; do
    [ ! -d "$kcp_each" ] || kcp_room "$kcp_each" ImageDisk "images" || kcp_rc=1
done
[ "$kcp_rc" -eq 0 ] || exit "$kcp_rc"
"""

_KUBEADM = """\
kcp_enter kubeadm
: > "$kcp_work/{begun}"
{command}
kcp_rc=$?
[ "$kcp_rc" -eq 0 ] || exit "$kcp_rc"
mkdir -p {directory} && echo success > {sentinel}
"""

# A kubelet that doesn't know its node's storage yet refuses a static pod that asks for some, and asks no second time until it is started
# again (github.com/kubernetes/kubernetes, issues 99305 and 138391). A kubeadm that joins a learner waits for no etcd. What another cluster's
# pods left in the logs' folder is older than kubeadm's start. kubeadm has succeeded by then, which is why this is a stage of its own.
_PODS = """\
kcp_enter {stage}
kcp_logs=$(sed -n 's/^podLogsDir: *//p' {kubelet}/config.yaml 2>/dev/null | tr -d \\"\\')
kcp_left={looks}
for kcp_each in etcd kube-apiserver kube-controller-manager kube-scheduler; do
    [ -e {manifests}/"$kcp_each".yaml ] || continue
    until find "${{kcp_logs:-{logs}}}"/kube-system_"$kcp_each"-* -newer "$kcp_work/{begun}" 2>/dev/null | grep -q .; do
        if [ "$kcp_left" -eq 0 ]; then
            echo "the kubelet has not taken the static pod $kcp_each: it is started again"
            systemctl restart kubelet
            break 2
        fi
        sleep {pause}
        kcp_left=$((kcp_left - 1))
    done
done
"""


@dataclass(frozen=True)
class Disks:
    """Directories that a control plane node writes to.

    They are etcd's data, the kubelet's, the images of whatever container runtime is there, the static pods' manifests, and the pods' logs,
    where the kubelet makes a folder for each pod that it takes; ``seconds`` are how long it may take for the static ones.
    """

    etcd: str = kubernetes_facts.DEFAULT_ETCD_DATA_DIR
    kubelet: str = "/var/lib/kubelet"
    runtimes: tuple[str, ...] = ("/var/lib/containerd", "/var/lib/containers", "/var/lib/docker")
    manifests: str = "/etc/kubernetes/manifests"
    pod_logs: str = "/var/log/pods"
    seconds: int = settings.STATIC_POD_TAKEN_SECONDS


def bounded(words: t.Sequence[str], seconds: int) -> list[str]:
    """Return a command under timeout(1), with a limit in seconds.

    The limit 0 is none. What the command has started in the foreground is ended with it.
    """
    return ["timeout", f"--kill-after={settings.END_SECONDS}", str(seconds), *words] if seconds else list(words)


def complete(work: str, stage: str) -> bool:
    """Return whether a script that ended at ``stage`` is complete.

    ``work`` is its folder. It has, too, where it ended while the kubelet was to take the static pods, and no command of the user's was to
    come: kubeadm had succeeded, and neither a boot nor the limit takes that away.
    """
    return stage == DONE or (stage == PODS and not os.path.exists(os.path.join(work, "post-1.sh")))


def render(
    work: str,
    kubeadm: t.Sequence[str],
    before: t.Sequence[str],
    after: t.Sequence[str],
    sentinel: str = SENTINEL,
    disks: Disks = Disks(),
    images: str = "",
) -> dict[str, str]:
    """Return the files of a bootstrap's script, by name.

    They are ``run.sh`` and one file for each of the user's commands.

    Each command has a file of its own, so that one with a syntax error or an open quote can't swallow what follows. The
    script leaves ``stage`` (start, pre-N, room, images, room, kubeadm, pods, post-N, done), ``output`` and, at its end, ``result`` ("<exit status>
    <stage>") in the folder ``work``. ``images`` is the part that sees to the images (image_check.py), "" for none.
    """
    files = {}
    parts = [_HEAD.format(work=shlex.quote(work), ended=ENDED)]
    for number, text in enumerate(before, 1):
        files[f"pre-{number}.sh"] = f"{text}\n"
        parts.append(_COMMAND.format(stage=f"pre-{number}"))
    room = {
        "etcd": shlex.quote(disks.etcd),
        "kubelet": shlex.quote(disks.kubelet),
        "runtimes": " ".join(map(shlex.quote, disks.runtimes)),
        "kibibytes": LEAST_ROOM_BYTES >> 10,
        "mebibytes": LEAST_ROOM_BYTES >> 20,
    }
    parts.append(_ROOM.format(**room))
    if images:
        # What is pulled may take the room. The first look has the better message where there was none before.
        parts += [images, _ROOM.format(**room)]
    directory = shlex.quote(sentinel.rsplit("/", 1)[0])
    command = " ".join(shlex.quote(word) for word in kubeadm)
    parts.append(_KUBEADM.format(command=command, begun=BEGUN, directory=directory, sentinel=shlex.quote(sentinel)))
    folders = {"manifests": shlex.quote(disks.manifests), "logs": disks.pod_logs, "kubelet": room["kubelet"]}
    looks = disks.seconds * _LOOKS_PER_SECOND
    parts.append(_PODS.format(**folders, stage=PODS, begun=BEGUN, looks=looks, pause=1 / _LOOKS_PER_SECOND))
    for number, text in enumerate(after, 1):
        files[f"post-{number}.sh"] = f"{text}\n"
        parts.append(_COMMAND.format(stage=f"post-{number}"))
    parts.append(f"kcp_enter {DONE}\nexit 0\n")
    files["run.sh"] = "".join(parts)
    return files
