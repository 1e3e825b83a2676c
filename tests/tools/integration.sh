#!/usr/bin/env bash
# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Tests against real etcd and kube-apiserver processes on loopback, and playbooks on stand-ins for machines; no root needed.
#   integration.sh               all of them
#   integration.sh --servers     those that start a server
#   integration.sh --stand-ins   the others, two at a time: they run beside the lab (test.sh)

set -euo pipefail
source "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"

use_venv "$(main_venv)"
if [ "${1:-}" = --stand-ins ]; then
  run_pytest "integration on stand-ins" -n 2 --dist loadfile --no-loadscope-reorder --half stand-ins tests/integration -m "not full"
  exit
fi
name=integration
half=()
[ "${1:-}" != --servers ] || { name="integration with servers" && half=(--half servers); }
# The real kube-apiserver comes from the machine image; only root can make one.
if [ "$(id -u)" -eq 0 ]; then
  "$REPO/tests/tools/image.sh"
fi
# They mostly wait for elections and servers that start, so three at a time suit two CPUs. A file's tests share its processes, some
# folders' files a server, and the longest come first (tests/integration/conftest.py).
run_pytest "$name" -n 3 --dist loadfile --no-loadscope-reorder "${half[@]}" tests/integration -m "not full"
