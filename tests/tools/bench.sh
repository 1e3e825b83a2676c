#!/usr/bin/env bash
# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# What decisions and conversions cost, then plain kubeadm by hand against reconcile, in one go on the same machines and on existing
# hosts; JSON on stdout, progress on stderr.
#   bench.sh --short               no scaling and no rollout
#   bench.sh --existing-hosts [options]  only a creation on existing hosts, beside a peer where one is named (--help)
#   bench.sh --decisions [--json]  only what decisions and plans cost; that needs no root
#   bench.sh --fleet [options]     only what fleets cost, of up to 1,000 clusters; that needs no root (--help)
#   bench.sh --profile [options]   where the time of runs goes, as tables; --only-fleet of it needs no root (--help)

set -euo pipefail
source "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"

use_venv "$(main_venv)"
if [ "${1:-}" = --decisions ]; then
  shift
  exec python "$INSTALLED/tests/bench/decisions.py" "$@"
fi
if [ "${1:-}" = --fleet ]; then
  shift
  exec python "$INSTALLED/tests/bench/fleet.py" "$@"
fi
if [ "${1:-}" = --profile ]; then
  shift
  exec python "$INSTALLED/tests/bench/run_profile.py" "$@"
fi
[ "$(id -u)" -eq 0 ] || die "the benchmark needs root: it makes machines, a network bridge and mounts"
if [ "${1:-}" = --existing-hosts ]; then
  shift
  exec python "$INSTALLED/tests/bench/existing_hosts.py" "$@"
fi
exec python "$INSTALLED/tests/bench/bench.py" "$@"
