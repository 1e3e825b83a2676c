#!/usr/bin/env bash
# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Three machines that have only Debian, Python and SSH, and the one command that makes a control plane of them, in the folder demo-hosts of
# the cache. Run it again at any time: it goes on where it was.

set -euo pipefail
source "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"

[ "$(id -u)" -eq 0 ] || die "the demo needs root: its machines are systemd-nspawn containers on a network bridge of their own" \
  "Run it as root, in a machine that you can spare."
use_venv "$(main_venv)"
folder="$CACHE/demo-hosts"
mkdir -p "$folder"
cat >"$folder/env" <<ENVIRONMENT
# Read it with: source env
export PATH="$VIRTUAL_ENV/bin:\$PATH"
export ANSIBLE_COLLECTIONS_PATH="$UNDER_TEST"
export KUBEADM_CONTROL_PLANE_CACHE="$CACHE"
export ANSIBLE_STDOUT_CALLBACK="$FQCN.progress"
export ANSIBLE_INVENTORY="$folder/hosts.yml,$folder/inventory.clusters.yml"
export LC_ALL=C.UTF-8
ENVIRONMENT
# shellcheck source=/dev/null
source "$folder/env"
"$REPO/tests/tools/image.sh" demo-image.log
PYTHONPATH="$UNDER_TEST" python "$REPO/tests/tools/demo_hosts.py" "$folder" ansible-playbook "$FQCN.site" || die "the control plane is not complete" \
  "What is said above names the reason. After the fix, run again: make demo-hosts" "To remove everything: make clean"
cd "$folder"
ansible-playbook "$FQCN.status"

cat <<END

Three hosts that had Debian, Python and SSH, and nothing else, are a healthy control plane now, which holds its own endpoint. The one command was, in $folder:

  ansible-playbook $FQCN.site

The images of the static pods were in containerd's folder before, since no registry can be reached from the machines; CoreDNS and kube-proxy are
left out. All else was installed. Worth trying, after: cd $folder && source ./env

  # What there is: hosts.yml, clusters/prod.yaml, group_vars
  ls *

  # What each host is now
  ansible-playbook $FQCN.check_hosts

  # At any time: what is healthy, what is not, and why
  ansible-playbook $FQCN.status

To remove every trace: make clean
END
