#!/usr/bin/env bash
# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Tests on real machines (systemd-nspawn) with real kubeadm.
#   lab.sh          the core (what is not marked full), then the Molecule scenario
#   lab.sh --full   all of tests/lab and what tests/integration leaves out, etcd's and the store's tests against newer releases of what
#                   they ask, then the Molecule scenario

set -euo pipefail
source "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"

[ "$(id -u)" -eq 0 ] || die "the lab needs root: it makes machines, a network bridge and mounts" "Run it as root, or run: make test-quick"
use_venv "$(main_venv)"
"$REPO/tests/tools/image.sh"
if [ "${1:-}" = --full ]; then
  newer=yes
  "$REPO/tests/tools/newer.sh" || newer=no
  run_pytest "lab, all" tests/lab
  run_pytest "integration, the rest" tests/integration -m full
  if [ "$newer" = yes ]; then
    ETCD="$CACHE/newer/etcd/etcd" run_pytest "etcd, a newer release" -n 2 --dist loadfile tests/integration/etcd
    KUBEADM_CONTROL_PLANE_NEWER=yes run_pytest "store, a newer API server" -n 2 --dist loadfile tests/integration/store -m "not full"
  else
    skip "newer releases of etcd and Kubernetes" "they could not be had from Debian's mirror; what was said is above"
  fi
else
  run_pytest "lab, core" tests/lab -m "not full"
fi
"$REPO/tests/tools/molecule.sh"
