#!/usr/bin/env bash
# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# A real three-node control plane on this machine, from the example manifest, in the folder demo of the cache.
# Run it again at any time: it goes on where it was.

set -euo pipefail
source "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"

[ "$(id -u)" -eq 0 ] || die "the demo needs root: its machines are systemd-nspawn containers on a network bridge of their own" \
  "Run it as root, in a machine that you can spare."
use_venv "$(main_venv)"

manifest="$INSTALLED/examples/manifests/cluster-v1beta2.yaml"
# Not in the checkout: of a manifest in a git work tree `scale` and `rollout` only print the change.
folder="$CACHE/demo"
[ -e "$manifest" ] || die "there is no example manifest $manifest"
mkdir -p "$folder/clusters" "$folder/bin"
[ -e "$folder/clusters/cluster.yaml" ] || cp "$manifest" "$folder/clusters/cluster.yaml"
cat >"$folder/inventory.clusters.yml" <<'INVENTORY'
plugin: kubeadm.control_plane.clusters
manifests:
  - clusters/*.yaml
store:
  path: store
INVENTORY

# The commands to try need the collection and the venv of this run, without installing either for the user.
cat >"$folder/env" <<ENVIRONMENT
# Read it with: source env
export PATH="$folder/bin:$VIRTUAL_ENV/bin:\$PATH"
export ANSIBLE_COLLECTIONS_PATH="$UNDER_TEST"
export KUBEADM_CONTROL_PLANE_CACHE="$CACHE"
export ANSIBLE_STDOUT_CALLBACK="$FQCN.progress"
export ANSIBLE_INVENTORY="$folder/inventory.clusters.yml"
export KUBECONFIG="$folder/kubeconfig"
export LC_ALL=C.UTF-8
ENVIRONMENT
cat >"$folder/bin/cut-power" <<PROGRAM
#!$VIRTUAL_ENV/bin/python
"""cut-power MACHINE: kills the first process of a local machine, as a power cut does."""
import os, signal, sys
sys.path.insert(0, "$UNDER_TEST")
from ansible_collections.$NAMESPACE.$NAME.plugins.module_utils.nspawn.layout import DEFAULT_DIRECTORY, Layout
from ansible_collections.$NAMESPACE.$NAME.plugins.module_utils.nspawn.machine import lifecycle

if len(sys.argv) != 2:
    sys.exit(__doc__)
name = sys.argv[1]
machine = lifecycle.look(Layout(DEFAULT_DIRECTORY), name)
if not machine or not machine.get("pid"):
    sys.exit(f"there is no running machine {name}")
os.kill(machine["pid"], signal.SIGKILL)
print(f"{name} has no power any more")
PROGRAM
chmod +x "$folder/bin/cut-power"

cd "$folder"
# shellcheck source=/dev/null
source ./env
unset ANSIBLE_NOCOLOR
[ ! -t 1 ] || export ANSIBLE_FORCE_COLOR=1
begin="$(date +%s.%N)"
say "A control plane of three real machines with real kubeadm, from the manifest $folder/clusters/cluster.yaml."
if ! compgen -G "$CACHE/images/kubernetes-v1.20.2@*/image.json" >/dev/null; then
  say "This first time the machine image is built, about 10 minutes on 2 cores; what follows takes about 3 minutes."
fi

phases() {
  echo "@1"
  "$REPO/tests/tools/image.sh" demo-image.log || return
  # A demo that was once complete has its kubeconfig: there is no first machine to make.
  if [ -e "$KUBECONFIG" ]; then echo "@5"; else echo "@2"; fi
  ansible-playbook "$FQCN.reconcile" || return
  echo "@5"
  ansible-playbook "$FQCN.status" -e "control_plane_kubeconfig=$KUBECONFIG" || return
  local programs=("$CACHE"/images/kubernetes-v1.20.2@*/rootfs/usr/bin/kubectl)
  ln -sf "${programs[0]}" "$folder/bin/kubectl"
  kubectl get nodes
}
phases 2>&1 | python "$REPO/tests/tools/demo_bar.py" "$CACHE/demo-seconds.json" || die "the control plane is not complete" \
  "What is said above names the reason. After the fix, run again: make demo" "To remove everything: make clean"

cat <<END

The control plane is up after $(printf '%.0f' "$(seconds_since "$begin")") s. Worth trying, after: cd $folder && source ./env

  # Any kubectl command: KUBECONFIG is set
  kubectl get nodes

  # What happened, with pictures: open reports/report.html in a browser
  ansible-playbook $FQCN.report

  # Two more machines, one after the other
  ansible-playbook $FQCN.scale -e control_plane_replicas=5
  ansible-playbook $FQCN.reconcile

  # A power cut, and the machine's replacement; NODE is one of those that kubectl shows
  cut-power NODE
  ansible-playbook $FQCN.remediate -e control_plane_machines=NODE

  # Each machine is replaced by a new one, while the API answers
  ansible-playbook $FQCN.rollout
  ansible-playbook $FQCN.reconcile

  # At any time: what is healthy, what is not, and why
  ansible-playbook $FQCN.status

To remove every trace: make clean
END
