# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes through a control plane's endpoint, counted when the API server has confirmed them, and looked for at the end."""

from __future__ import annotations

import http.client
import json
import time
import typing as t
import uuid

CONFIG_MAPS = "/api/v1/namespaces/kube-system/configmaps"
TIMEOUT_SECONDS = 5.0
# For the last reading: what was confirmed is in etcd, and the endpoint may be between two servers.
READ_SECONDS = 60.0
PAUSE_SECONDS = 0.25
Connect = t.Callable[[float], http.client.HTTPSConnection]
FAULTS = (OSError, http.client.HTTPException, ValueError)


class ConfirmedWrites:
    """Numbered keys of one ConfigMap: each is one write, over a connection of its own."""

    def __init__(self) -> None:
        self.name = f"watcher-{uuid.uuid4().hex[:8]}"
        self._made = False
        self._next = 0
        self.confirmed: set[str] = set()
        self.failed = 0

    def write(self, connect: Connect) -> None:
        """Write the next number; whether it was confirmed is counted."""
        number = str(self._next)
        self._next += 1
        body = {"metadata": {"name": self.name}, "data": {number: ""}}
        try:
            if self._made:
                _ask(connect, "PATCH", f"{CONFIG_MAPS}/{self.name}", body)
            else:
                _ask(connect, "POST", CONFIG_MAPS, body)
                self._made = True
            self.confirmed.add(number)
        except FAULTS as error:
            self.failed += 1
            # Created, and the answer was lost on its way: from then on it is changed.
            self._made = self._made or " 409 " in str(error)

    def lost(self, connect: Connect) -> list[str]:
        """Return the numbers that were confirmed and aren't there; all of them where the endpoint never answers."""
        end = time.monotonic() + READ_SECONDS
        while self.confirmed:
            try:
                found = _ask(connect, "GET", f"{CONFIG_MAPS}/{self.name}", None)
            except FAULTS as error:
                if " 404 " in str(error) or time.monotonic() > end:
                    return sorted(self.confirmed, key=int)
                time.sleep(PAUSE_SECONDS)
            else:
                return sorted(self.confirmed - set(found.get("data") or {}), key=int)
        return []


def _ask(connect: Connect, method: str, path: str, body: t.Optional[dict[str, t.Any]]) -> dict[str, t.Any]:
    connection = connect(TIMEOUT_SECONDS)
    try:
        kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
        connection.request(method, path, None if body is None else json.dumps(body), {"Content-Type": kind})
        answer = connection.getresponse()
        text = answer.read()
        if answer.status not in (200, 201):
            raise http.client.HTTPException(f"{path}: {answer.status} {text[:200].decode(errors='replace')}")
        return dict(json.loads(text))
    finally:
        connection.close()
