#!/usr/bin/env bash
# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Debian's Chromium, for the test of the report in a real browser. Where it can't be had that test is skipped, and says so.

set -euo pipefail
source "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"

! command -v chromium >/dev/null 2>&1 || exit 0
if ! command -v apt-get >/dev/null 2>&1 || [ "$(id -u)" -ne 0 ]; then
  say "no chromium here, and it takes root and apt-get to install it: the test of the report in a browser is skipped"
  exit 0
fi
export DEBIAN_FRONTEND=noninteractive
install() { apt-get install --yes --no-install-recommends chromium; }
update_and_install() { apt-get update && install; }
long chromium.log "installing Debian's Chromium" "20 s" update_and_install ||
  say "it could not be had: the test of the report in a browser is skipped"
