# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Settings that a user may notice: durations, intervals, counts and ports.

Seconds, unless stated otherwise. What a manifest, an Action or a module's option can set has its default here. Bounds
that no user notices (how often a file is polled) are constants beside their code. Roles' defaults are in their
``defaults/main.yml``.
"""

from __future__ import annotations

# --- Ports of a control plane's hosts, beside the API server's (docs/reference/kubeadm.md, "Files and ports") ---

KUBELET_PORT = 10250
# /healthz there needs no credentials.
HEALTH_PORTS = {"kube-controller-manager": 10257, "kube-scheduler": 10259}
ETCD_PORTS = (2379, 2380)

# --- A run and its calls ---

# A module's own time beside what it is asked to wait for; a role of the user's, in an Action; opening a connection.
CALL_SECONDS = 120
FOREIGN_ROLE_SECONDS = 3600
# A glance waits no longer for a machine: the run itself asks others, and waits for this one as long as it takes.
GLANCE_CALL_SECONDS = 20
CONNECT_SECONDS = 3
# How long one call waits on a machine for what takes minutes, before it is asked again.
WAITING_CALL_SECONDS = 12
# For how long a run waits for what changes by itself, and how many steps it takes.
WAIT_SECONDS = 600
STEP_LIMIT = 60
# How often is looked, and how far apart, before something counts as dead; how long an answer of etcd or an API server may take.
LOOKS = 3
LOOK_INTERVAL_SECONDS = 2.5
ANSWER_SECONDS = 3.0
# Of how many hosts it is asked beside each other what they lack, each by a process of the run.
HOSTS_AT_ONCE = 10
# After how long a run says what it waits for.
PROGRESS_SECONDS = 15
# For how long status_watch watches.
WATCH_SECONDS = 3600
# For how long a run asks an API again that doesn't answer: its own machines may be the ones that are replaced.
STORE_PATIENCE_SECONDS = 30.0
# For how long another process may write to a file store before a writer gives up; until an API server serves a definition that it has taken.
STORE_WRITE_SECONDS = 30.0
DEFINITION_SERVED_SECONDS = 60
# kubectl waits for ever; without a terminal no question of a credential plugin can be answered.
CREDENTIAL_PLUGIN_SECONDS = 60.0
# A lock that stands still for so long on the waiter's own clock is a dead run's. For a Lease: client-go's defaults for leader election.
FILE_LOCK_SECONDS = 10.0
LEASE_SECONDS = 15.0
LEASE_RENEW_SECONDS = 2.0

# --- Deciding (docs/reference/cluster_api.md, "Times") ---

# remote-conditions-grace-period, etcd list grace, issue surfacing delay, MachineHealthCheck's nodeStartupTimeout.
CONNECTION_GRACE = 300
ETCD_LIST_GRACE = 120
SURFACING_DELAY = 10
NODE_STARTUP_SECONDS = 600
STALE_DELETION = 900
# How long after a bootstrap's start trouble counts as settling in; how long it must last elsewhere before a user is called, as one
# sample proves nothing; and how long a new Node may take to become Ready.
SETTLING = 300
PATIENCE = 60
NODE_READY_PATIENCE = 120
# After how long a document of a ClusterResourceSet that the API server refused is tried again, unchanged.
RESOURCE_SET_RETRY = 60
# After how long a machine itself ends its bootstrap: twice as long as a run waits for one by default. What was recorded with the start
# counts; this is for machines that were started without a record of it.
BOOTSTRAP_BOUND = 1800
CLOCK_SKEW_SECONDS = 30
# How much older than its object a machine is that was adopted: more than any clocks of a store and a machine differ.
ADOPTED_AFTER = 24 * 3600
# Remediation strategy's minHealthyPeriod.
MIN_HEALTHY_PERIOD = 3600
# How many machines may be booted ahead of their turn, and how many steps a plan may have.
PREPARE_AHEAD = 2
# How many workers one step makes or removes at most.
WORKERS_AT_ONCE = 10
# For how long a step begins with one worker after another: the others are a later step's, before which everything is observed again.
WORKERS_STEP = 60
# For how long a step waits for the drains of workers before everything is observed again.
WORKERS_SLICE = 30
PLAN_LIMIT = 200

# --- Making a machine ---

# As long as Cluster API's tokens live, not kubeadm's 24 hours.
BOOTSTRAP_TOKEN_SECONDS = 900
# Until a machine that was started, or a host that is claimed, answers; until kubeadm has ended.
MACHINE_SECONDS = 60
BOOTSTRAP_SECONDS = 900
# Between the note of a start and the start itself: a call, and two clocks that may differ.
BOOTSTRAP_START_SECONDS = 120
IMAGE_PULL_SECONDS = 300
PACKAGES_SECONDS = 900.0
RESET_SECONDS = 300.0

# --- Removing a machine (docs/reference/cluster_api.md, "Removing a machine") ---

# Where the Machine sets none: Cluster API waits for ever there, which nobody sees at night.
DRAIN_SECONDS = 600
VOLUME_DETACH_SECONDS = 300
NODE_DELETION_SECONDS = 10
# Where neither of these bounds a part.
REMOVAL_SECONDS = 600
# What a removal was decided on is not older than this when a member is removed.
EVIDENCE_SECONDS = 60.0

# --- Restoring: etcd on its machine, and the whole cluster; the single voter on its machine, and with what follows ---

RESTORE_SECONDS = 900
CLUSTER_RESTORE_SECONDS = 1200
SINGLE_VOTER_SECONDS = 600
RECOVERY_SECONDS = 900

# --- Kept copies ---

SNAPSHOTS_KEPT = 5
# Plans of a cluster in the store, those that were made last.
PLANS_KEPT = 10
# A removal that is started again so soon is served by the snapshot that it took before.
SNAPSHOT_AGE_SECONDS = 300
ROTATION_SNAPSHOTS_KEPT = 2
ROTATION_SNAPSHOT_AGE_SECONDS = 3600
BACKUPS_KEPT = 7
KUBEADM_BACKUPS_KEPT = 3
CONFIGURATIONS_KEPT = 3

# --- Actions: defaults of their commands ---

# Of a custom Action: a program; a role of the user's.
COMMAND_SECONDS = 600
ROLE_SECONDS = 1800
RESTART_SECONDS = 300
HEALTHY_SECONDS = 600
# On a busy host etcd's members may leave a question unanswered for some seconds: one that is down stays down.
QUORUM_SECONDS = 30.0
RENEWAL_SECONDS = 300
CONFIGURATION_SECONDS = 300
# kube-proxy has no readiness probe: a pod that ends a second after its start was ready for that second. Only what runs for so long is
# available to the DaemonSet's rolling update, which does not go to the next machine before.
KUBE_PROXY_READY_SECONDS = 10
ROTATION_RESTART_SECONDS = 600
# What was just started shows what it has within moments; a busy host takes longer.
ROTATION_PROOF_SECONDS = 180.0
ROTATION_ROLLOUT_SECONDS = 600
# The controller manager's new leader is elected within 15 seconds; then it goes through all namespaces. An API server that follows the
# ConfigMap hears of it at once.
ROTATION_PUBLISHED_SECONDS = 300.0
ROTATION_AGGREGATED_SECONDS = 120.0
# A kubelet has a pod's new token in its volume within two minutes; bound tokens are refreshed after 80 % of their hour, or of a day at most.
ROTATION_TOKENS_SECONDS = 7200

# --- The report ---

# Days before its end from which a certificate is shown as one that ends soon.
CERTIFICATES_SOON_DAYS = 30
