# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reader of single objects of any kind (the user's readiness gates).

The API itself is asked for the names of its resources.
"""

from __future__ import annotations

import json
import re
import typing as t
from urllib.parse import quote

from ..common.https import Unreachable
from .api import ApiClient, ApiError

Wanted = t.Mapping[str, t.Any]
# The API's resources by apiVersion and kind.
Resources = dict[str, dict[str, dict[str, t.Any]]]

MAX_OBJECTS = 20
LARGEST_OBJECT = 262144
LARGEST_TOTAL = 1048576
DEFAULT_NAMESPACE = "default"
_API_VERSION = re.compile(r"([a-z0-9][-a-z0-9.]*/)?v[0-9][a-z0-9]*")


class CanNotAsk(Exception):
    """Refusal to ask for an object, with its reason in words."""


def read_wanted(client: ApiClient, wanted: t.Sequence[Wanted]) -> list[dict[str, t.Any]]:
    """Read objects and return each one's own result or error.

    Args:
        client: a connection to the API.
        wanted: ``apiVersion``, ``kind``, ``name`` and, where the kind has namespaces, ``namespace`` (by default
            ``default``) of each; no more than ``MAX_OBJECTS``.

    Returns:
        In the same order, ``found`` (True; False: the API says that there is no such object; None: it could not be
        asked, or the object is too large or a Secret), ``object`` (without managedFields; None unless found) and
        ``message`` (why not).
    """
    resources: Resources = {}
    answers: list[dict[str, t.Any]] = []
    total = 0
    lost = ""
    for number, each in enumerate(wanted):
        answer: dict[str, t.Any] = {"found": None, "object": None, "message": ""}
        answers.append(answer)
        try:
            if number >= MAX_OBJECTS:
                raise CanNotAsk(f"more than {MAX_OBJECTS} objects are wanted")
            if lost:
                raise CanNotAsk(f"not asked: {lost}")
            found = client.get(object_path(client, each, resources))
        except (ApiError, CanNotAsk) as error:
            answer["message"] = str(error)
            continue
        except Unreachable as error:
            # Each request has a time limit of its own: an API that hangs is not asked twenty times.
            answer["message"] = lost = str(error)
            continue
        answer["found"] = found is not None
        if found is None:
            answer["message"] = "the API has no such object"
            continue
        (found.get("metadata") or {}).pop("managedFields", None)
        size = len(json.dumps(found))
        total += size
        if size > LARGEST_OBJECT or total > LARGEST_TOTAL:
            what = "the object is" if size > LARGEST_OBJECT else "together the wanted objects are"
            limit = LARGEST_OBJECT if size > LARGEST_OBJECT else LARGEST_TOTAL
            answer.update(found=None, message=f"{what} larger than {limit} bytes")
        else:
            answer["object"] = found
    return answers


def object_path(client: ApiClient, wanted: Wanted, resources: Resources, applies: bool = False) -> str:
    """Return the path of an object of any kind.

    The API is asked for the names of its resources.

    Args:
        client: a connection to the API.
        wanted: as of :func:`read_wanted`.
        resources: what was learned so far, by apiVersion; added to in place.
        applies: whether the object is to be written: a Secret may be, and a namespace too much does no harm there.

    Raises:
        CanNotAsk: there is no such kind, the name is none, or a Secret would be read. ApiError, Unreachable: as of the client.
    """
    api_version, kind, name = (str(wanted.get(key) or "") for key in ("apiVersion", "kind", "name"))
    namespace = str(wanted.get("namespace") or "")
    if not _API_VERSION.fullmatch(api_version):
        raise CanNotAsk(f"{api_version!r} is not an apiVersion")
    base = f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"
    if api_version not in resources:
        resources[api_version] = _resources(client, base)
    resource = resources[api_version].get(kind)
    if resource is None:
        raise CanNotAsk(f"the API serves no kind {kind} in {api_version}")
    plural = str(resource["name"])
    # By its resource, not by its kind: no alias of a Secret may lead around this.
    if (api_version, plural) == ("v1", "secrets") and not applies:
        raise CanNotAsk("Secrets are not read")
    if resource.get("namespaced"):
        return f"{base}/namespaces/{_quoted(namespace or DEFAULT_NAMESPACE)}/{plural}/{_quoted(name)}"
    if namespace and not applies:
        raise CanNotAsk(f"objects of the kind {kind} have no namespace: leave it out")
    return f"{base}/{plural}/{_quoted(name)}"


def _quoted(segment: str) -> str:
    # Empty, "." or ".." would make another path of it.
    if segment.strip(".") == "":
        raise CanNotAsk(f"{segment!r} is not a name")
    return quote(segment, safe="")


def _resources(client: ApiClient, base: str) -> dict[str, dict[str, t.Any]]:
    listed = client.get(base)
    found: dict[str, dict[str, t.Any]] = {}
    for resource in (listed or {}).get("resources") or []:
        # "deployments/scale" is a part of an object, under another object's kind.
        if isinstance(resource, dict) and "/" not in str(resource.get("name") or "/"):
            found.setdefault(str(resource.get("kind")), resource)
    return found
