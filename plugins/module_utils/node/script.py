# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The script of a bootstrap: the user's commands before kubeadm, kubeadm, the user's commands after, in one shell.

One shell, as cloud-init runs them for Cluster API: what an early command exports, a later one sees, and kubeadm too. Unlike
there, the first command that fails ends the bootstrap, and is named.
"""

from __future__ import annotations

import shlex
import typing as t

# Cluster API's sentinel (kcp-behaviour.md §1.2; written where kubeadm succeeded).
SENTINEL = "/run/cluster-api/bootstrap-success.complete"

_HEAD = """\
#!/bin/sh
# Made by kubeadm.control_plane. Holds the user's commands, which may be secret: readable by root alone.
umask 077
cd /
kcp_work={work}
kcp_stage=start
kcp_enter() {{
    kcp_stage=$1
    printf '%s\\n' "$kcp_stage" > "$kcp_work/stage.partial" && mv -f "$kcp_work/stage.partial" "$kcp_work/stage"
}}
kcp_end() {{
    printf '%s %s\\n' "$1" "$kcp_stage" > "$kcp_work/result.partial"
    sync "$kcp_work/result.partial" 2>/dev/null
    mv -f "$kcp_work/result.partial" "$kcp_work/result"
}}
trap 'kcp_rc=$?; trap - EXIT; kcp_end "$kcp_rc"; exit "$kcp_rc"' EXIT
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

_KUBEADM = """\
kcp_enter kubeadm
{command}
kcp_rc=$?
[ "$kcp_rc" -eq 0 ] || exit "$kcp_rc"
mkdir -p {directory} && echo success > {sentinel}
"""


def render(
    work: str, kubeadm: t.Sequence[str], before: t.Sequence[str], after: t.Sequence[str], sentinel: str = SENTINEL
) -> dict[str, str]:
    """Return the files of a bootstrap by name: ``run.sh`` and one file for each of the user's commands.

    Each command has a file of its own, so that one with a syntax error or an open quote can't swallow what follows. The
    script leaves ``stage`` (start, pre-N, kubeadm, post-N, done), ``output`` and, at its end, ``result`` ("<exit status>
    <stage>") in the folder ``work``.
    """
    files = {}
    parts = [_HEAD.format(work=shlex.quote(work))]
    for number, text in enumerate(before, 1):
        files[f"pre-{number}.sh"] = f"{text}\n"
        parts.append(_COMMAND.format(stage=f"pre-{number}"))
    directory = shlex.quote(sentinel.rsplit("/", 1)[0])
    command = " ".join(shlex.quote(word) for word in kubeadm)
    parts.append(_KUBEADM.format(command=command, directory=directory, sentinel=shlex.quote(sentinel)))
    for number, text in enumerate(after, 1):
        files[f"post-{number}.sh"] = f"{text}\n"
        parts.append(_COMMAND.format(stage=f"post-{number}"))
    parts.append("kcp_enter done\nexit 0\n")
    files["run.sh"] = "".join(parts)
    return files
