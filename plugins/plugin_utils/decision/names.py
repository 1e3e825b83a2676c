# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stable names of decisions: actions, reasons, checks, conditions; and the times that separate waiting from blocking."""

from __future__ import annotations

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
RECOVER_SINGLE_VOTER = "recoverSingleVoter"
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
    RECOVER_SINGLE_VOTER,
    DELETE_MACHINES,
    DELETE_INFRASTRUCTURE,
    WAIT,
    POSTPONED,
    BLOCKED,
    NONE,
)
# postponed: nothing may start now, by the user's own wish, and that is a good end.
ENDINGS: tuple[str, ...] = (WAIT, POSTPONED, BLOCKED, NONE)

# What the snapshot calls add-ons, and people do.
ADDON_TITLES: dict[str, str] = {"kubeProxy": "kube-proxy", "dns": "CoreDNS"}

# What may be done to a machine that would have to be replaced: the snapshot's policy.replace.
REPLACE_ALLOW = "allow"
REPLACE_ASK = "ask"
REPLACE_NEVER = "never"

TRUE = "True"
FALSE = "False"
UNKNOWN = "Unknown"

# Reasons of a Machine's condition Deleting, which tell how far its deletion has come (Cluster API's names).
DRAINING = "DrainingNode"
WAITING_FOR_PRE_TERMINATE = "WaitingForPreTerminateHook"
WAITING_FOR_INFRASTRUCTURE = "WaitingForInfrastructureDeletion"
DELETION_AFTER_DRAIN: tuple[str, ...] = (WAITING_FOR_PRE_TERMINATE, WAITING_FOR_INFRASTRUCTURE)

RUNNING = "Running"
SUCCEEDED = "Succeeded"
FAILED = "Failed"

COMPONENTS: tuple[tuple[str, str, str], ...] = (
    ("kube-apiserver", "APIServerPodHealthy", "API server"),
    ("kube-controller-manager", "ControllerManagerPodHealthy", "controller manager"),
    ("kube-scheduler", "SchedulerPodHealthy", "scheduler"),
    ("etcd", "EtcdPodHealthy", "etcd"),
)
COMPONENT_CONDITIONS: tuple[str, ...] = ("APIServerPodHealthy", "ControllerManagerPodHealthy", "SchedulerPodHealthy")
ETCD_CONDITIONS: tuple[str, ...] = ("EtcdPodHealthy", "EtcdMemberHealthy")

# Seconds. kcp-behaviour.md §1.0: remote-conditions-grace-period, etcd list grace, issue surfacing delay, MHC nodeStartupTimeout.
CONNECTION_GRACE = 300
ETCD_LIST_GRACE = 120
SURFACING_DELAY = 10
NODE_STARTUP_TIMEOUT = 600
STALE_DELETION = 900
# Ours: how long after a machine's bootstrap began trouble is still taken as its settling in, how long trouble must last elsewhere
# before a person is called (one sample proves nothing), and how long a new Node may take to become Ready.
SETTLING = 300
PATIENCE = 60
NODE_READY_PATIENCE = 120
# No action: the consent by which a user says that a machine whose bootstrap has no known end is off.
GIVE_UP_BOOTSTRAP = "giveUpBootstrap"
# After how long a machine itself ends its bootstrap: twice as long as a run waits for one by default. What was recorded with the start
# counts; this is for machines that were started without a record of it.
BOOTSTRAP_BOUND = 1800
CLOCK_SKEW_LIMIT = 30
# How much older than its object a machine is that was adopted: more than any clocks of a store and a machine differ.
ADOPTED_AFTER = 24 * 3600
# kcp-behaviour.md §1.0: min healthy period default.
MIN_HEALTHY_PERIOD = 3600

# How many machines may be booted ahead of their turn.
PREPARE_AHEAD = 2
PLAN_LIMIT = 200
