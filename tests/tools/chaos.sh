#!/usr/bin/env bash
# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Random schedules of killed runs, power cuts and partitions against one real control plane; see tests/chaos/run.py --help.
#   chaos.sh --seconds 600 --seed 1
# `make chaos` takes CHAOS_SECONDS (by default an hour), CHAOS_SEED and CHAOS_RECORD.

set -euo pipefail
source "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"

use_venv "$(main_venv)"
arguments=()
[ -z "${CHAOS_SECONDS:-}" ] || arguments+=(--seconds "$CHAOS_SECONDS")
[ -z "${CHAOS_SEED:-}" ] || arguments+=(--seed "$CHAOS_SEED")
[ -z "${CHAOS_RECORD:-}" ] || arguments+=(--record "$CHAOS_RECORD")
case " $* " in
  *" --show "* | *" --help "* | *" --stand-in "*) ;;
  *)
    [ "$(id -u)" -eq 0 ] || die "chaos needs root: it makes machines, a network bridge and mounts"
    "$REPO/tests/tools/image.sh"
    ;;
esac
exec python "$INSTALLED/tests/chaos/run.py" "${arguments[@]}" "$@"
