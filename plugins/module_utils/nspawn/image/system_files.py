# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""System files of every machine image. Pure.

With them systemd, containerd, the kubelet and kubeadm run in a machine.
"""

from __future__ import annotations

import typing as t

from .crictl import CRICTL

# Before sysinit.target, so that no unit sees the host's values or read-only cgroups
# (docs/machine_nspawn.md, "Early in the boot").
PREPARE_UNIT = """[Unit]
Description=Give this machine writable cgroups and the kernel settings that the kubelet insists on
DefaultDependencies=no
Before=sysinit.target systemd-sysctl.service
[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/usr/local/lib/nspawn-machine/prepare
[Install]
WantedBy=sysinit.target
"""

PREPARE = r"""#!/bin/sh
# Run once, early in the boot of a local machine. Everything here stays inside the machine.
set -eu
state=/run/nspawn-machine
mkdir -p "$state/values" "$state/cgroup"

# cgroup v1: systemd-nspawn mounts the controllers read-only. The machine has a cgroup namespace, so that mounting them again
# shows the machine's own group as the root, and that one is ours to write.
awk '$3 == "cgroup" && $4 !~ /name=systemd/ { print $2 }' /proc/mounts | while read -r path; do
    name=${path##*/}
    mkdir -p "$state/cgroup/$name"
    if mount -t cgroup -o "$name" cgroup "$state/cgroup/$name"; then
        mount --bind "$state/cgroup/$name" "$path"
    else
        echo "cgroup controller $name can't be mounted: it stays read-only" >&2
    fi
done

# /proc/sys is read-only and its values belong to the host. The kubelet wants these three: it reads them and is content.
plain() {
    [ -e "$2" ] || return 0
    printf '%s\n' "$1" > "$state/values/${2##*/}"
    mount --bind "$state/values/${2##*/}" "$2"
}
plain 10 /proc/sys/kernel/panic
plain 1 /proc/sys/kernel/panic_on_oops
plain 1 /proc/sys/vm/overcommit_memory
# Swap is the host's affair: the machine says that it has none.
printf 'Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n' > "$state/values/swaps"
mount --bind "$state/values/swaps" /proc/swaps
"""

# kube-proxy sets the size of the connection table, which only the host's network namespace may do, and ends when it can't.
# In its container it gets plain files instead: it writes and reads what it likes, and the host's table stays as it is.
CONNTRACK_HOOK = r"""#!/bin/sh
# OCI createContainer hook: runs after the container's mounts are made and before its root is entered; its state comes on stdin.
bundle=$(sed -n 's/.*"bundle":"\([^"]*\)".*/\1/p')
[ -n "$bundle" ] && [ -r "$bundle/config.json" ] || exit 0
grep -q '"args":\["[^"]*kube-proxy"' "$bundle/config.json" || exit 0
for path in proc/sys/net/netfilter/nf_conntrack_max sys/module/nf_conntrack/parameters/hashsize; do
    [ -e "$bundle/rootfs/$path" ] || continue
    copy=$bundle/${path##*/}
    cat "$bundle/rootfs/$path" > "$copy"
    mount --bind "$copy" "$bundle/rootfs/$path" || exit 0
done
"""

# As in the kubeadm package, but for the condition: there is nothing to run before kubeadm has written the configuration.
KUBELET_UNIT = """[Unit]
Description=kubelet: The Kubernetes Node Agent
Documentation=https://kubernetes.io/docs/
Wants=network-online.target
After=network-online.target containerd.service
ConditionPathExists=/var/lib/kubelet/config.yaml

[Service]
ExecStart=/usr/bin/kubelet
Restart=always
StartLimitInterval=0
RestartSec=10

[Install]
WantedBy=multi-user.target
"""

KUBEADM_DROP_IN = """[Service]
Environment="KUBELET_KUBECONFIG_ARGS=--bootstrap-kubeconfig=/etc/kubernetes/bootstrap-kubelet.conf --kubeconfig=/etc/kubernetes/kubelet.conf"
Environment="KUBELET_CONFIG_ARGS=--config=/var/lib/kubelet/config.yaml"
EnvironmentFile=-/var/lib/kubelet/kubeadm-flags.env
EnvironmentFile=-/etc/default/kubelet
ExecStart=
ExecStart=/usr/bin/kubelet $KUBELET_KUBECONFIG_ARGS $KUBELET_CONFIG_ARGS $KUBELET_KUBEADM_ARGS $KUBELET_EXTRA_ARGS
"""

# cgroupfs: the machine's systemd doesn't manage the host's controllers. The disk is the host's: its fill level says nothing about
# this machine, and evicting or collecting images here would free nothing. An old kubelet (1.20) sees that a startup probe has
# passed only at its next look at the pod: with the default of a minute each control plane pod is Ready more than a minute late.
KUBELET_DEFAULTS = (
    'KUBELET_EXTRA_ARGS="--cgroup-driver=cgroupfs --fail-swap-on=false --sync-frequency=3s --image-gc-high-threshold=100 '
    '--eviction-hard=memory.available<100Mi,nodefs.available<1%,imagefs.available<1%"\n'
)

SYSTEMD_MANAGER = "[Manager]\nDefaultTimeoutStopSec=5s\nShowStatus=no\n"
JOURNAL = "[Journal]\nStorage=volatile\nRuntimeMaxUse=32M\nRateLimitIntervalSec=0\n"
SSHD = "UseDNS no\nPasswordAuthentication no\nPermitRootLogin prohibit-password\nPrintMotd no\nMaxStartups 100\nMaxSessions 100\n"

ENABLED = ("ssh.service", "containerd.service", "systemd-networkd.service")
MASKED = (
    "console-getty.service",
    "getty.target",
    "apt-daily.timer",
    "apt-daily-upgrade.timer",
    "dpkg-db-backup.timer",
    "fstrim.timer",
    "e2scrub_all.timer",
    "e2scrub_reap.service",
    "systemd-udevd.service",
    "systemd-udev-trigger.service",
    "systemd-networkd-wait-online.service",
)


def containerd_config(sandbox_image: str) -> str:
    """Return containerd 1.6's configuration for a machine (docs/machine_nspawn.md, "containerd 1.6")."""
    return f"""version = 2
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{sandbox_image}"
  restrict_oom_score_adj = true
  disable_apparmor = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "/etc/cni/net.d"
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      base_runtime_spec = "/etc/containerd/base-spec.json"
      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
        SystemdCgroup = false
"""


def image_files(sandbox_image: str) -> t.Iterator[tuple[str, str, int]]:
    """Yield path, text and mode of every system file of an image.

    Files of Debian's packages and the Kubernetes binaries are not among them.

    ``/etc/containerd/base-spec.json`` is made from containerd's own default when the image is built (``with_hook``).
    """
    yield "/usr/local/lib/nspawn-machine/prepare", PREPARE, 0o755
    yield "/usr/local/lib/nspawn-machine/conntrack-hook", CONNTRACK_HOOK, 0o755
    yield "/usr/local/bin/crictl", CRICTL, 0o755
    yield "/etc/systemd/system/nspawn-machine-prepare.service", PREPARE_UNIT, 0o644
    yield "/etc/systemd/system/kubelet.service", KUBELET_UNIT, 0o644
    yield "/etc/systemd/system/kubelet.service.d/10-kubeadm.conf", KUBEADM_DROP_IN, 0o644
    yield "/etc/default/kubelet", KUBELET_DEFAULTS, 0o644
    yield "/etc/systemd/system.conf.d/10-machine.conf", SYSTEMD_MANAGER, 0o644
    yield "/etc/systemd/journald.conf.d/10-machine.conf", JOURNAL, 0o644
    yield "/etc/ssh/sshd_config.d/10-machine.conf", SSHD, 0o644
    yield "/etc/containerd/config.toml", containerd_config(sandbox_image), 0o644


def image_links() -> t.Iterator[tuple[str, str]]:
    """Yield path and target of the links that enable or mask units."""
    for unit in ENABLED:
        yield f"/etc/systemd/system/multi-user.target.wants/{unit}", f"/lib/systemd/system/{unit}"
    yield "/etc/systemd/system/multi-user.target.wants/kubelet.service", "/etc/systemd/system/kubelet.service"
    yield (
        "/etc/systemd/system/sysinit.target.wants/nspawn-machine-prepare.service",
        "/etc/systemd/system/nspawn-machine-prepare.service",
    )
    for unit in MASKED:
        yield f"/etc/systemd/system/{unit}", "/dev/null"


def with_hook(spec: dict[str, t.Any]) -> dict[str, t.Any]:
    """Return containerd's default runtime specification with the hook added (``ctr oci spec``).

    The rest stays containerd's own: it fills in what a container needs on top.
    """
    hooks = dict(spec.get("hooks") or {})
    entries = list(hooks.get("createContainer") or [])
    entries.append({"path": "/usr/local/lib/nspawn-machine/conntrack-hook"})
    return {**spec, "hooks": {**hooks, "createContainer": entries}}
