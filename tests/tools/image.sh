#!/usr/bin/env bash
# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Makes the machine images that lab, bench and integration tests use, with their real Kubernetes binaries, once: v1.20.2, or what
# KUBEADM_CONTROL_PLANE_KUBERNETES and KUBEADM_CONTROL_PLANE_DEBIAN say (tests/support/lab_kubernetes.py).

set -euo pipefail
source "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"

[ "$(id -u)" -eq 0 ] || die "building a machine image needs root"
use_venv "$(main_venv)"
cd "$CACHE"
images='[{"version": "v1.20.2", "source": "auto", "binaries": "", "debian": "bookworm"}]'
[ -z "${KUBEADM_CONTROL_PLANE_KUBERNETES:-}${KUBEADM_CONTROL_PLANE_DEBIAN:-}" ] || images="$(python "$REPO/tests/tools/kubernetes_images.py")"
# One at a time, as several steps begin with it: apt installs for one alone, and refuses the others.
long "${1:-image.log}" "machine images with Kubernetes ${KUBEADM_CONTROL_PLANE_KUBERNETES:-v1.20.2}" "4 s, or 6 to 10 minutes the first time" \
  flock "$CACHE/image.lock" ansible-playbook -i localhost, -e "{\"kubernetes_images\": $images}" "$REPO/tests/tools/image.yml"
