#!/usr/bin/env bash
# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# test.sh STEP...: runs the steps in this order, stops at the first that fails, and ends with one line that sums up.
# Steps: lint sanity unit model integration lab lab-full.

set -euo pipefail
source "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"
here="$REPO/tests/tools"

begin="$(date +%s.%N)"
rm -f "$RESULTS"/*
touch "$RESULTS/steps.tsv"
status=0

# Every command says itself that a failure ends the steps: bash ignores errexit in a function whose status is looked at.
run_steps() {
  local step
  heading "set up"
  "$here/setup.sh" || return
  "$here/build.sh" || return
  for step in "$@"; do
    heading "$step"
    case "$step" in
      lint | sanity | unit | model | integration | lab) "$here/$step.sh" || return ;;
      lab-full) "$here/lab.sh" --full || return ;;
      *) die "no such step: $step" ;;
    esac
  done
}

# A subshell, so that `die` in it still leads to the closing line.
(run_steps "$@") || status=$?

heading "result"
# Without a venv the set-up itself failed, and has said why.
python="$(main_venv 2>/dev/null)/bin/python" || python=python3
"$python" "$here/summary.py" --steps "$RESULTS/steps.tsv" --seconds "$(seconds_since "$begin")" --status "$status" || status=1
exit "$status"
