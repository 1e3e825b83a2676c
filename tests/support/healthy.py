# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Health probe of a control plane, the same for everything that the bench compares."""

from __future__ import annotations

HEALTHY_SECONDS = 300
KUBECTL = "kubectl --kubeconfig /etc/kubernetes/admin.conf --request-timeout 5s"
ETCD = "/etc/kubernetes/pki/etcd"
MEMBERS = (
    f"curl -sS -m 5 --cacert {ETCD}/ca.crt --cert {ETCD}/healthcheck-client.crt --key {ETCD}/healthcheck-client.key "
    "-X POST -d '{}' https://127.0.0.1:2379/v3/cluster/member/list"
)
READY = '{range .items[*]}{.metadata.name}{range .status.conditions[?(@.type=="Ready")]} {.status}{end}{"\\n"}{end}'
STATIC_PODS = "etcd kube-apiserver kube-controller-manager kube-scheduler"


def until_healthy(machines: int, seconds: int = HEALTHY_SECONDS) -> str:
    """Return the shell command that ends when a control plane of so many machines is healthy.

    Every Node is Ready; etcd has as many started voters and no learner; every Node's static Pods and kube-proxy are there and Ready. CoreDNS is
    not asked for: the machines have no image of it. After the seconds the command fails, and prints what it saw last.
    """
    return f"""
healthy() {{
  nodes=$({KUBECTL} get nodes -o jsonpath='{READY}' 2>&1) && pods=$({KUBECTL} get pods -n kube-system -o jsonpath='{READY}' 2>&1) || return 1
  members=$({MEMBERS} 2>&1) || return 1
  [ "$(echo "$nodes" | grep -c ' True$')" -eq {machines} ] || return 1
  for node in $(echo "$nodes" | cut -d ' ' -f 1); do
    for component in {STATIC_PODS}; do echo "$pods" | grep -q "^$component-$node True$" || return 1; done
  done
  # A Pod of a Node that was deleted may be listed for a while.
  [ "$(echo "$pods" | grep -c '^kube-proxy-.* True$')" -ge {machines} ] || return 1
  [ "$(echo "$members" | grep -o '"clientURLs"' | wc -l)" -eq {machines} ] || return 1
  ! echo "$members" | grep -q '"isLearner":true'
}}
end=$(($(date +%s) + {seconds}))
until healthy; do
  if [ "$(date +%s)" -ge "$end" ]; then
    echo "not healthy after {seconds} s:"; echo "$nodes"; echo "$pods"; echo "$members"; exit 1
  fi
  sleep 0.5
done
"""
