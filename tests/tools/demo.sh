#!/usr/bin/env bash
# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# A real three-node control plane on this machine, from the example manifest, in the folder demo/ of the checkout.
# Run it again at any time: it goes on where it was.

set -euo pipefail
source "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"

[ "$(id -u)" -eq 0 ] || die "the demo needs root: its machines are systemd-nspawn containers on a network bridge of their own" \
  "Run it as root, in a machine that you can spare."
use_venv "$(main_venv)"

manifest="$INSTALLED/examples/manifests/cluster-v1beta2.yaml"
folder="$REPO/demo"
[ -e "$manifest" ] || die "there is no example manifest $manifest"
mkdir -p "$folder/clusters"
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
# Read it with: source demo/env
export PATH="$VIRTUAL_ENV/bin:\$PATH"
export ANSIBLE_COLLECTIONS_PATH="$UNDER_TEST"
export KUBEADM_CONTROL_PLANE_CACHE="$CACHE"
export ANSIBLE_STDOUT_CALLBACK="$FQCN.progress"
export LC_ALL=C.UTF-8
ENVIRONMENT

cd "$folder"
unset ANSIBLE_NOCOLOR
export ANSIBLE_STDOUT_CALLBACK="$FQCN.progress"
begin="$(date +%s.%N)"
say "Creating the control plane of demo/clusters/cluster.yaml: real machines, real kubeadm."
say "The first time, a machine image is built first (about 10 minutes on 2 cores); later runs take about 3 minutes."
ansible-playbook -i inventory.clusters.yml "$FQCN.reconcile" || die "the control plane is not complete" \
  "What is said above names the reason. After the fix, run again: make demo" "To remove everything: make clean"
kubeconfig="$folder/kubeconfig"
ansible-playbook -i inventory.clusters.yml "$FQCN.status" -e "control_plane_kubeconfig=$kubeconfig"

cat <<END

The control plane is up after $(printf '%.0f' "$(seconds_since "$begin")") s. Its kubeconfig: $kubeconfig

Three things to try next, from the folder demo (first: cd demo && source ./env):
  1. ansible-playbook -i inventory.clusters.yml $FQCN.reconcile     again: nothing is changed
  2. ansible-inventory -i inventory.clusters.yml --graph             the cluster and its machines as hosts
  3. ansible-playbook -i inventory.clusters.yml $FQCN.status        at any time: what is healthy, what is not, and why

To remove every trace: make clean
END
