# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Terms of decisions, which never change: actions, reasons, checks, conditions."""

from __future__ import annotations

from ..objects.conditions import (
    API_SERVER_POD_HEALTHY,
    CONTROLLER_MANAGER_POD_HEALTHY,
    ETCD_POD_HEALTHY,
    SCHEDULER_POD_HEALTHY,
)

SNAPSHOT_VERSION = "v1"
DECISION_VERSION = "v1"

CREATE_INFRASTRUCTURE = "createInfrastructure"
CREATE_CERTIFICATES = "createCertificates"
INITIALIZE = "initialize"
ADOPT = "adopt"
JOIN = "join"
REMOVE = "remove"
REMOVE_MEMBER = "removeMember"
REMOVE_NODE = "removeNode"
UPDATE_ADDONS = "updateAddons"
APPLY_RESOURCE_SETS = "applyResourceSets"
RECOVER_SINGLE_VOTER = "recoverSingleVoter"
JOIN_WORKERS = "joinWorkers"
REMOVE_WORKERS = "removeWorkers"
DELETE_WORKERS = "deleteWorkers"
DELETE_MACHINES = "deleteMachines"
DELETE_INFRASTRUCTURE = "deleteInfrastructure"
WAIT = "wait"
POSTPONED = "postponed"
BLOCKED = "blocked"
NONE = "none"
ACTIONS: tuple[str, ...] = (
    CREATE_INFRASTRUCTURE,
    CREATE_CERTIFICATES,
    INITIALIZE,
    ADOPT,
    JOIN,
    REMOVE,
    REMOVE_MEMBER,
    REMOVE_NODE,
    UPDATE_ADDONS,
    APPLY_RESOURCE_SETS,
    RECOVER_SINGLE_VOTER,
    JOIN_WORKERS,
    REMOVE_WORKERS,
    DELETE_WORKERS,
    DELETE_MACHINES,
    DELETE_INFRASTRUCTURE,
    WAIT,
    POSTPONED,
    BLOCKED,
    NONE,
)
# postponed: by the user's own policy nothing may start now; that is no failure.
ENDINGS: tuple[str, ...] = (WAIT, POSTPONED, BLOCKED, NONE)

# Add-ons by their name in the snapshot, with their names for people.
ADDON_TITLES: dict[str, str] = {"kubeProxy": "kube-proxy", "dns": "CoreDNS"}

# The policy for machines that would have to be replaced: the snapshot's policy.replace.
REPLACE_ALLOW = "allow"
REPLACE_ASK = "ask"
REPLACE_NEVER = "never"

TRUE = "True"
FALSE = "False"
UNKNOWN = "Unknown"

# Reasons of a Machine's condition Deleting, one for each phase of its deletion (Cluster API's names).
DRAINING = "DrainingNode"
WAITING_FOR_PRE_TERMINATE = "WaitingForPreTerminateHook"
WAITING_FOR_INFRASTRUCTURE = "WaitingForInfrastructureDeletion"
DELETION_AFTER_DRAIN: tuple[str, ...] = (WAITING_FOR_PRE_TERMINATE, WAITING_FOR_INFRASTRUCTURE)

RUNNING = "Running"
SUCCEEDED = "Succeeded"
FAILED = "Failed"

COMPONENTS: tuple[tuple[str, str, str], ...] = (
    ("kube-apiserver", API_SERVER_POD_HEALTHY, "API server"),
    ("kube-controller-manager", CONTROLLER_MANAGER_POD_HEALTHY, "controller manager"),
    ("kube-scheduler", SCHEDULER_POD_HEALTHY, "scheduler"),
    ("etcd", ETCD_POD_HEALTHY, "etcd"),
)

# No action: the user's consent that a machine whose bootstrap has no known end is off.
GIVE_UP_BOOTSTRAP = "giveUpBootstrap"
