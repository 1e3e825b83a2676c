# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Plan document that a person approves and reconcile carries out.

Page: docs/reference/plan.md. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import takewhile
from typing import Any, Optional

from .. import terms
from ..decide import decide
from ..snapshot.spec_hash import spec_parts
from ..snapshot.state_fingerprint import fingerprint, state_of_view
from .steps import Names, walk

Object = dict[str, Any]
PLAN_VERSION = "v1"
NOT_APPROVED = "ReplacementNotApproved"
_STEP_FIELDS = ("action", "target", "reasons", "prerequisites", "leadership", "remediation", "quorum", "preflight")
_END_FIELDS = ("action", "reasons", "blockedOn", "preflight", "quorum")


def make_plan(snapshot: Object, created_at: str, names: Optional[Names] = None) -> Object:
    """Return the plan document of a snapshot that passed check_snapshot.

    Where replacements need consent (policy.replace is ask) the steps are those that follow the consent, and each that
    waits for it has `needsApproval` true. `created_at` is RFC 3339; `names` as for plan().
    """
    policy = snapshot.get("policy") or {}
    asks = policy.get("replace") == terms.REPLACE_ASK
    approved = {**snapshot, "policy": {**policy, "approved": True}} if asks else snapshot
    steps: list[Object] = []
    for number, (view, decision) in enumerate(walk(approved, names=names), start=1):
        state = state_of_view(view, decision)
        fields = _END_FIELDS if decision["action"] in terms.ENDINGS else _STEP_FIELDS
        steps.append(
            {
                "step": number,
                **{field: decision.get(field) for field in fields},
                "needsApproval": asks and decision["action"] not in terms.ENDINGS and _waits_for_consent(view.raw),
                "expects": {"fingerprint": fingerprint(state), "state": state},
            }
        )
    end = {key: value for key, value in steps.pop().items() if key not in ("step", "needsApproval")}
    metadata = snapshot["cluster"]["metadata"]
    parts = spec_parts(snapshot)
    first = (steps[0] if steps else end)["expects"]
    return {
        "planVersion": PLAN_VERSION,
        "cluster": metadata["name"],
        "namespace": metadata.get("namespace") or "default",
        "createdAt": created_at,
        "specHash": fingerprint(parts),
        "spec": parts,
        "observedHash": first["fingerprint"],
        "observed": first["state"],
        "policy": {"replace": policy.get("replace") or terms.REPLACE_ALLOW},
        "wanted": _wanted(snapshot),
        "steps": steps,
        "end": end,
    }


def digest(document: Object) -> str:
    """Return the digest that a person approves a plan by.

    "sha256:" and 64 hexadecimal digits over whose plan it is, what the manifest wants, each step with its target (names of new machines included) and
    the state before it, and how the plan ends (docs/reference/plan.md, "The digest"). Texts, times and etcd's leader are none of it.
    """
    stops = [*document["steps"], document["end"]]
    covered = {
        **{key: document[key] for key in ("planVersion", "namespace", "cluster", "specHash", "policy")},
        "steps": [
            [stop["action"], stop.get("target"), stop.get("needsApproval"), stop["expects"]["fingerprint"]]
            for stop in stops
        ],
        "end": sorted(each["reason"] for each in document["end"]["reasons"]),
    }
    return fingerprint(covered)


def acting_steps(document: Object, approved: bool = False) -> list[Object]:
    """Return the steps that reconcile would carry out now.

    Up to the first that waits for consent; all of them where `approved`.
    """
    steps: Iterable[Object] = document["steps"]
    return list(steps if approved else takewhile(lambda step: not step["needsApproval"], steps))


def changed_spec(planned: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """Return the paths of the desired objects that differ.

    Between two results of spec_parts.
    """
    return sorted(path for path in {*planned, *now} if planned.get(path) != now.get(path))


def _waits_for_consent(approved: Object) -> bool:
    refused = decide({**approved, "policy": {**(approved.get("policy") or {}), "approved": False}})
    return any(each["reason"] == NOT_APPROVED for each in refused.get("blockedOn") or ())


def _wanted(snapshot: Object) -> Object:
    spec = (snapshot.get("controlPlane") or {}).get("spec") or {}
    return {"replicas": spec.get("replicas"), "version": spec.get("version") or ""}
