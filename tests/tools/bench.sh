#!/usr/bin/env bash
# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# What decisions and plans cost (on stderr), then plain kubeadm by hand against reconcile, in one go on the same machines; JSON on
# stdout. bench.sh --decisions [--json]: only the first, on stdout; that needs no root.

set -euo pipefail
source "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"

use_venv "$(main_venv)"
if [ "${1:-}" = --decisions ]; then
  shift
  exec python "$INSTALLED/tests/bench/decisions.py" "$@"
fi
[ "$(id -u)" -eq 0 ] || die "the benchmark needs root: it makes machines, a network bridge and mounts"
python "$INSTALLED/tests/bench/decisions.py" >&2
exec python "$INSTALLED/tests/bench/bench.py" "$@"
