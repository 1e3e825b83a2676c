# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Creation of an object where a lost answer leaves the result unknown.

The API's etcd elects a leader, or the answer to the request was lost.

Whatever else is sent again names the version that it changes, so that twice is once. A creation names none; so the
object is read. That is no rare thing in a cluster that has its own objects in it: it happens while its etcd gets its
second member.
"""

from __future__ import annotations

import typing as t

from .requests import FIELD_MANAGER, Answer, ApiUnavailable, KubernetesApi

ATTEMPTS = 3


def create_once(
    api: KubernetesApi,
    path: str,
    own_path: str,
    obj: t.Mapping[str, t.Any],
    before: t.Optional[t.Callable[[], t.Any]] = None,
) -> Answer:
    """Send a new object and return the answer, even 404 and 409.

    Args:
        api: the API.
        path: of the objects of its kind.
        own_path: the object's own.
        obj: the object, which holds a name.
        before: as of :meth:`KubernetesApi.send`.

    Raises:
        ApiUnavailable: there was no answer, or whether the object was stored is unknown.
        Refused: as of :meth:`KubernetesApi.send`.
    """
    attempt, unsure = 0, False
    while True:
        attempt += 1
        try:
            query = {"fieldManager": FIELD_MANAGER}
            answer = api.send("create", path, obj, query, accepted=(404, 409), before=before)
        except ApiUnavailable as error:
            if not error.may_be_done or attempt == ATTEMPTS:
                raise
            unsure = True
        else:
            if answer.status != 409 or not unsure:
                return answer
        # What was under way all the while may have arrived at last, and it is the same either way.
        found = api.send("get", own_path, accepted=(404,))
        if found.status == 200:
            return found if holds(found.document, without_status(obj)) else Answer(409, {"reason": "AlreadyExists"})
        if attempt == ATTEMPTS:
            return Answer(409, {"reason": "AlreadyExists"})


def holds(stored: t.Any, sent: t.Any) -> bool:
    """Return whether ``stored`` holds all of ``sent``.

    Whatever else the server added is ignored.
    """
    if isinstance(sent, t.Mapping):
        return isinstance(stored, t.Mapping) and all(
            key in stored and holds(stored[key], value) for key, value in sent.items()
        )
    if isinstance(sent, (list, tuple)):
        return (
            isinstance(stored, (list, tuple))
            and len(stored) == len(sent)
            and all(holds(one, other) for one, other in zip(stored, sent))
        )
    return bool(stored == sent)


def without_status(obj: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    """Return an object without its status."""
    # An API server drops the status of what is created.
    return {key: value for key, value in obj.items() if key != "status"}
