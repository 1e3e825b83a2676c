#!/usr/bin/env bash
# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# The core of the tests on real machines (systemd-nspawn) with real kubeadm: what is not marked full.
# KUBEADM_CONTROL_PLANE_KUBERNETES names another Kubernetes than v1.20.2, KUBEADM_CONTROL_PLANE_DEBIAN another Debian of machines
# (make test-lab KUBERNETES=... DEBIAN=...).

set -euo pipefail
source "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"

[ "$(id -u)" -eq 0 ] || die "the lab needs root: it makes machines, a network bridge and mounts" "Run it as root, or run: make test-quick"
use_venv "$(main_venv)"
"$REPO/tests/tools/image.sh"
run_pytest "lab, core" tests/lab -m "not full"
