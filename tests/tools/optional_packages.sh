#!/usr/bin/env bash
# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Debian packages that some tests need, which are skipped where they can't be had, and say so.
# Usage: optional_packages.sh WHAT PROGRAM:PACKAGE...

set -euo pipefail
source "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"

what="$1"
shift
missing=()
for each in "$@"; do
  command -v "${each%%:*}" >/dev/null 2>&1 || missing+=("${each##*:}")
done
[ "${#missing[@]}" -gt 0 ] || exit 0
if ! command -v apt-get >/dev/null 2>&1 || [ "$(id -u)" -ne 0 ]; then
  say "no ${missing[*]} here, and it takes root and apt-get to install them: the tests of $what are skipped"
  exit 0
fi
export DEBIAN_FRONTEND=noninteractive
install() { apt-get install --yes --no-install-recommends "${missing[@]}"; }
update_and_install() { apt-get update && install; }
long optional-packages.log "installing Debian's ${missing[*]}" "15 s" update_and_install ||
  say "they could not be had: the tests of $what are skipped"
