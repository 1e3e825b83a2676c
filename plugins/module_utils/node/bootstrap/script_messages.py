# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Messages about a bootstrap's script: its stage, its failure, its exit status."""

from __future__ import annotations

import re
import typing as t

from . import image_check, script
from .phases import latest

_ERROR = re.compile(r"\s*(\[ERROR [A-Za-z0-9-]+\]|error execution phase|error: |couldn't )")
_ERROR_LINES = 4
_ERROR_LENGTH = 300


def under_way(stage: str, output: str) -> str:
    """Return the stage of a running script.

    It is "kubeadm [wait-control-plane]", the field of a user's command, or the stage itself.
    """
    phase = latest(output) if stage == "kubeadm" else ""
    return f"kubeadm [{phase}]" if phase else field(stage) or "start"


def result(record: t.Mapping[str, t.Any], stage: str, rc: int, output: str) -> str:
    """Return the message for a script that ended without success.

    It has left its result. ``record`` is bootstrap.json's.
    """
    if rc == script.ENDED:
        return ended(record, stage) + _errors(stage, output)
    said = f"ended with exit status {rc}" if rc else "ended the shell, so that nothing after it was run"
    return f"{command(str(record.get('kind', '')), stage)} {said}{_errors(stage, output)}"


def ended(record: t.Mapping[str, t.Any], stage: str) -> str:
    """Return the message for a script that was ended from outside.

    Either the limit in its record ended it, or someone did by hand.
    """
    limit = record.get("limit")
    bound = f"had not ended after {limit} s, so that the machine ended it" if limit else "was ended"
    return (
        f"{command(str(record.get('kind', '')), stage)} {bound} (or a user did, by hand); journalctl -u kubelet and"
        " crictl ps -a there show what it waited for"
    )


def command(kind: str, stage: str) -> str:
    """Return the name of the command that ran in a stage.

    The user's commands may hold secrets that nothing can recognise: they are named, not shown.
    """
    said = {"kubeadm": f"kubeadm {kind}".strip(), "room": "the look at the disks before kubeadm"}
    said[script.PODS] = "the look at the static pods after kubeadm"
    said[image_check.STAGE] = "the look at the images before kubeadm"
    return said.get(stage) or field(stage)


def field(stage: str) -> str:
    """Return the field of a user's command for its stage.

    pre-1 is preKubeadmCommands[0]; any other stage is returned unchanged.
    """
    kind, _dash, number = stage.partition("-")
    if kind in ("pre", "post") and number.isdecimal():
        return f"{kind}KubeadmCommands[{int(number) - 1}]"
    return stage


def _errors(stage: str, output: str) -> str:
    """Return kubeadm's own error lines, "" if there are none.

    They belong into the first line that the user reads.
    """
    if stage not in ("kubeadm", "room", image_check.STAGE):
        return ""
    found = [line.strip()[:_ERROR_LENGTH] for line in output.splitlines() if _ERROR.match(line)]
    return f": {'; '.join(found[:_ERROR_LINES])}" if found else ""
