#!/usr/bin/env bash
# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Makes the machine image that lab, bench and integration tests use, with its real Kubernetes binaries, once.

set -euo pipefail
source "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"

[ "$(id -u)" -eq 0 ] || die "building a machine image needs root"
use_venv "$(main_venv)"
cd "$CACHE"
long "${1:-image.log}" "the machine image with Kubernetes v1.20.2" "4 s, or 6 to 10 minutes the first time" \
  ansible-playbook -i localhost, "$REPO/tests/tools/image.yml"
