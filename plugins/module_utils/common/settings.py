# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Settings that a user may notice: durations, intervals, counts and ports.

Seconds, unless stated otherwise. What a manifest, an Action or a module's option can set has its default here. How often a process observes
something is a constant beside its code, ``_POLL_SECONDS``, ``_PAUSE_SECONDS`` or ``_TICK_SECONDS``; tests/tools/check_tree.py finds any other one there. Roles'
defaults are in their ``defaults/main.yml``.
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
# How long one call waits on a machine for what takes minutes, before it is asked again. The first one for a program is shorter: a short one ends in it.
WAITING_CALL_SECONDS = 12
FIRST_CALL_SECONDS = 2
# How long a node may be silent while a program runs there, which doesn't notice.
SILENCE_SECONDS = 60.0
# How long one observation waits for a machine that has only just joined; the next one waits again.
OBSERVATION_WAIT_SECONDS = 10
# For how long a run waits for what changes by itself, and how many steps it takes.
WAIT_SECONDS = 600
STEP_LIMIT = 60
# How long after kubeadm the kubelet may take to begin a static pod, before it is started again: it may have refused it.
STATIC_POD_TAKEN_SECONDS = 30
# How often is looked, and how far apart, before something counts as dead; how long an answer of etcd or an API server may take.
LOOKS = 3
LOOK_INTERVAL_SECONDS = 2.5
ANSWER_SECONDS = 3.0
# The same of others: the endpoint; a component on its own machine; a member, before a process beside it is ended; what proves a new certificate; the API
# for what modules read of it; and for what they write, where an admission webhook may take 30 s, and the API server says then which one did not answer.
ENDPOINT_ANSWER_SECONDS = 2
LOCAL_ANSWER_SECONDS = 1.0
QUORUM_ANSWER_SECONDS = 2.0
PROOF_ANSWER_SECONDS = 5.0
OBJECTS_ANSWER_SECONDS = 15.0
APPLY_ANSWER_SECONDS = 40.0
# How long a program of the host's may take where nothing else is said; kubeadm, for a file; kubeadm, for all manifests of a trial.
PROGRAM_SECONDS = 30.0
KUBEADM_SECONDS = 120.0
RENDER_SECONDS = 60.0
# How long a process that was told to end may still put away what it made; until what was told or killed has to be gone.
GRACE_SECONDS = 5.0
END_SECONDS = 30
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
STORE_ANSWER_SECONDS = 30.0
DEFINITION_SERVED_SECONDS = 60
# kubectl waits for ever; without a terminal no question of a credential plugin can be answered.
CREDENTIAL_PLUGIN_SECONDS = 60.0
# How long before their end credentials are asked for again; less for those that live shortly.
CREDENTIALS_EARLY_SECONDS = 60.0
# A watch that the server ends by itself leaves no connection of which only one end knows that the other is gone; by when it should have ended.
EVENTS_WATCH_SECONDS = 60
EVENTS_LATE_SECONDS = 15.0
# How often a rulebook's source lists everything again.
RESYNC_SECONDS = 600.0
# A lock that stands still for so long on the waiter's own clock is a dead run's. For a Lease: client-go's defaults for leader election.
FILE_LOCK_SECONDS = 10.0
LEASE_SECONDS = 15.0
LEASE_RENEW_SECONDS = 2.0
# Half a second of a processor, which is long where many forks start theirs at once beside other work. Meanwhile the fencing number protects.
LOCK_START_SECONDS = 120

# --- Deciding (docs/reference/cluster_api.md, "Times") ---

# remote-conditions-grace-period, etcd list grace, issue surfacing delay, MachineHealthCheck's nodeStartupTimeout.
CONNECTION_GRACE = 300
ETCD_LIST_GRACE = 120
SURFACING_DELAY = 10
NODE_STARTUP_SECONDS = 600
# The least that nodeStartupTimeoutSeconds may be, and the most that the annotation for minReadySeconds may.
SHORTEST_NODE_STARTUP_SECONDS = 30
LONGEST_READY_SECONDS = 86400
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
# Another process may hold the package manager's lock: an upgrade by the distribution, or a call that was killed and goes on.
PACKAGES_LOCK_SECONDS = 300
# To take the files out of an archive of a package.
UNPACK_SECONDS = 120.0
# A large image on a slow disk: an archive of one, and a mount of what containerd has.
IMAGE_ARCHIVE_SECONDS = 600.0
IMAGE_MOUNT_SECONDS = 120.0
# Until etcd has taken or given up a change of members: without a majority the server itself gives up after about seven seconds.
MEMBER_CHANGE_SECONDS = 10.0
# Until a host's load balancer has loaded a configuration; until the kernel, which asks three times, a second apart, says that an address is free.
BALANCER_TAKES_SECONDS = 20.0
VIRTUAL_ADDRESS_SECONDS = 6.0
# kube-vip's: its pod's own time to end, and what a kubelet takes to see that its manifest changed.
KUBE_VIP_ENDS_SECONDS = 35.0
KUBE_VIP_TAKES_SECONDS = 60.0
# How long a component gets once the API server is up where its manifest moves its health port, so that it may never answer on the usual one.
MOVED_PORT_SECONDS = 2.0

# --- Removing a machine (docs/reference/cluster_api.md, "Removing a machine") ---

# Where the Machine sets none: Cluster API waits for ever there, which nobody sees at night.
DRAIN_SECONDS = 600
# Of a drain without any bound, where a person then says how to go on; and of one attempt of kubectl's, whose pods get one second
# where the kubelet is silent: it is soon asked again whether that still is.
LONGEST_DRAIN_SECONDS = 86400
DRAIN_ATTEMPT_SECONDS, SILENT_DRAIN_ATTEMPT_SECONDS = 60, 10
VOLUME_DETACH_SECONDS = 300
NODE_DELETION_SECONDS = 10
# Where neither of these bounds a part.
REMOVAL_SECONDS = 600
# What a removal was decided on is not older than this when a member is removed.
EVIDENCE_SECONDS = 60.0
# A holder of a Lease renews every 2 s (--leader-elect-retry-period): one that lives does it in this time, and is then left alone.
LEASE_SILENT_SECONDS = 2.5

# --- Restoring: etcd on its machine, and the whole cluster; the single voter on its machine, and with what follows ---

RESTORE_SECONDS = 900
CLUSTER_RESTORE_SECONDS = 1200
SINGLE_VOTER_SECONDS = 600
RECOVERY_SECONDS = 900

# --- Kept copies ---

# For all of a snapshot, when it is taken and when etcd's tool restores it; for each part that the member sends.
SNAPSHOT_SECONDS = 1800.0
SNAPSHOT_SILENCE_SECONDS = 30.0
SNAPSHOTS_KEPT = 5
# A transfer of a snapshot to a machine that has added no piece for so long was killed.
TRANSFER_SILENCE_SECONDS = 3600
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
# For so long what the cluster said of its Nodes is taken for true: Tasks that take no time would mostly wait for that answer.
NODES_KNOWN_SECONDS = 5.0
# A kubelet that has seen a container fail again and again waits up to five minutes before it starts it; it forgets that when it is restarted, which
# disturbs no container. So soon where nothing of it ran when it was to be restarted: the kubelet is waiting already.
BACK_OFF_SECONDS = 20.0
BACK_OFF_AGAIN_SECONDS = 3.0
# After a pod's own time to end, by default this, its runtime kills it. A process that is there some seconds later is not being ended by anything.
POD_GRACE_SECONDS = 30.0
POD_END_SECONDS = 10.0
# An etcd that has an alarm: to defragment a member, and to compact its history.
DEFRAGMENT_SECONDS = 600.0
COMPACT_SECONDS = 120.0
# kubeadm's own plan, and what it does on a node.
UPGRADE_PLAN_SECONDS = 300
UPGRADE_APPLY_SECONDS = 1800
# For how long a kind that a document before it defines may take to be served, and the API server's own Service to be there.
APPLY_PATIENCE_SECONDS = 15.0
# After how long no further document is begun: a call of a machine is ended after twice as long, and would tell nothing.
APPLY_SECONDS = 300.0
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
# Until new tokens are written; client-go reads a token's file again every minute: what has been in a volume for longer than this is in use.
ROTATION_RENEWAL_SECONDS = 180
ROTATION_TOKEN_USED_SECONDS = 75
# Until all nodes say that they are where the rotation is.
ROTATION_BARRIER_SECONDS = 30.0

# --- Local machines ---

# For another process that works on the machine, the endpoint or the pool; for one that builds or downloads an image.
LOCAL_LOCK_SECONDS = 120
IMAGE_LOCK_SECONDS = 1800
LOCAL_INIT_SECONDS = 15
# Until haproxy answers or has ended; how long a request on a server that is leaving may take before its connection is ended: what is older is a watch.
BALANCER_START_SECONDS = 10
BALANCER_DRAIN_SECONDS = 2
# How long a server that has just come may take to pass its first check, and haproxy to end the last connections of one: it does so a moment after it
# was told, and deletes none before.
BALANCER_CHECK_SECONDS = 3
BALANCER_REMOVE_SECONDS = 3

# --- The report ---

# Days before its end from which a certificate is shown as one that ends soon; and the kubeconfig's, also by decisions.
CERTIFICATES_SOON_DAYS = 30
