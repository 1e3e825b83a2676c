#!/usr/bin/env bash
# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# test.sh STEP...: runs the steps in this order, stops at the first that fails, and ends with one line that sums up.
# Steps: lint sanity unit model integration lab lab-full. With A+B, step A gets what CPU step B leaves and prints at its end.

set -euo pipefail
source "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"
here="$REPO/tests/tools"

begin="$(date +%s.%N)"
rm -f "$RESULTS"/*
touch "$RESULTS/steps.tsv"
status=0

run_step() { # run_step STEP
  case "$1" in
    lint | sanity | unit | model | integration | lab) "$here/$1.sh" ;;
    lab-full) "$here/lab_full.sh" ;;
    *) die "no such step: $1" ;;
  esac
}

# A lab waits for its machines most of the time, and its bounds are of its machines: what runs beside it must not slow it down.
run_beside() { # run_beside STEP_IN_THE_BACKGROUND STEP
  local log="$LOGS/step-$1.log" background status=0
  set -m
  (
    chrt --idle --pid 0 "$BASHPID"
    run_step "$1"
  ) >"$log" 2>&1 </dev/null &
  background=$!
  set +m
  # shellcheck disable=SC2064  # the number of this background process
  trap "kill -- -$background 2>/dev/null || true" EXIT
  heading "$2 (beside it, with the CPU that it leaves: $1)"
  run_step "$2" || status=$?
  wait "$background" || status=$?
  trap - EXIT
  heading "$1"
  cat "$log"
  return "$status"
}

# Every command says itself that a failure ends the steps: bash ignores errexit in a function whose status is looked at.
run_steps() {
  local step
  heading "set up"
  "$here/setup.sh" || return
  "$here/build.sh" || return
  for step in "$@"; do
    case "$step" in
      *+*) run_beside "${step%+*}" "${step#*+}" || return ;;
      *) heading "$step" && run_step "$step" || return ;;
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
