#!/usr/bin/env bash
# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# test.sh STEP...: runs the steps in this order, stops at the first that fails, and ends with one line that sums up.
# Steps: lint sanity sanity-once unit unit-quick model integration integration-servers integration-stand-ins lab molecule lab-full
# full-beside site. With A,B+C+D, the steps A and B, one after the other, and beside them C get what CPU step D leaves, and print at its end.

set -euo pipefail
source "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"
here="$REPO/tests/tools"

site() {
  "$here/setup.sh" --docs || return
  check "documentation site" "$here/site.sh"
  finish_checks site
}

run_step() { # run_step STEP
  case "$1" in
    lint | sanity | unit | model | integration | lab | molecule) "$here/$1.sh" ;;
    integration-*) "$here/integration.sh" "--${1#integration-}" ;;
    unit-quick) "$here/unit.sh" --quick ;;
    sanity-once) "$here/sanity.sh" --once ;;
    lab-full) "$here/lab_full.sh" --lab ;;
    full-beside) "$here/lab_full.sh" --beside ;;
    site) site ;;
    *) die "no such step: $1" ;;
  esac
}

hurry() { # hurry PROCESS: it and all below it are scheduled as everything else
  local child
  chrt --other --pid 0 "$1" 2>/dev/null || true
  renice --priority 0 --pid "$1" >/dev/null 2>&1 || true
  { echo 0 >"/proc/$1/autogroup"; } 2>/dev/null || true
  for child in $(pgrep -P "$1"); do hurry "$child"; done
}

# A lab waits for its machines most of the time, a test of servers for theirs, and their bounds are of these: what runs beside them must
# not slow them down. Linux gives each session its share of the CPU, and the idle class counts within a session alone: so it gets a
# session, and that the smallest share. Integration tests and Molecule have bounds, too: theirs is a third of a session's, however busy
# the lab is.
run_beside() { # run_beside STEP STEPS_IN_THE_BACKGROUND...
  local background=() each status=0
  for each in "${@:2}"; do
    setsid "$here/test.sh" --beside "${each//,/ }" >"$LOGS/beside-$each.log" 2>&1 </dev/null &
    background+=("$!")
  done
  # shellcheck disable=SC2064  # the numbers of these background processes
  trap "kill -- ${background[*]/#/-} 2>/dev/null || true" EXIT
  heading "$1 (beside it, with the CPU that it leaves: ${*:2})"
  run_step "$1" || status=$?
  # Nothing is left that they could slow down; on a machine that is busy otherwise they would wait for ever.
  for each in "${background[@]}"; do hurry "$each"; done
  for each in "${background[@]}"; do wait "$each" || status=$?; done
  trap - EXIT
  for each in "${@:2}"; do cat "$LOGS/beside-$each.log"; done
  return "$status"
}

# Where the machine image isn't there yet, it is built while the first steps run; who needs it waits for it.
build_image_ahead() {
  [ "$(id -u)" -eq 0 ] || return 0
  set -m
  "$here/image.sh" image-ahead.log >/dev/null 2>&1 </dev/null &
  # shellcheck disable=SC2064  # the number of this background process
  trap "kill -- -$! 2>/dev/null || true" EXIT
  set +m
}

# Every command says itself that a failure ends the steps: bash ignores errexit in a function whose status is looked at.
run_steps() {
  local step beside
  heading "set up"
  "$here/setup.sh" || return
  "$here/build.sh" || return
  case " $* " in *integration* | *lab* | *molecule*) build_image_ahead ;; esac
  for step in "$@"; do
    case "$step" in
      *+*) IFS=+ read -ra beside <<<"${step%+*}" && run_beside "${step##*+}" "${beside[@]}" || return ;;
      *) heading "$step" && run_step "$step" || return ;;
    esac
  done
}

share() { # share CLASS NICE: of this session from here on
  chrt "--$1" --pid 0 "$$"
  renice --priority "$2" --pid "$$" >/dev/null
  { echo "$2" >/proc/self/autogroup; } 2>/dev/null || true
}

if [ "${1:-}" = --beside ]; then
  for step in $2; do
    case "$step" in
      integration* | full-beside | molecule) share other 5 ;;
      *) share idle 19 ;;
    esac
    heading "$step" && run_step "$step" || exit
  done
  exit 0
fi

begin="$(date +%s.%N)"
rm -f "$RESULTS"/*
touch "$RESULTS/steps.tsv"
status=0

# A subshell, so that `die` in it still leads to the closing line.
(run_steps "$@") || status=$?

heading "result"
# Without a venv the set-up itself failed, and has said why.
python="$(main_venv 2>/dev/null)/bin/python" || python=python3
"$python" "$here/summary.py" --steps "$RESULTS/steps.tsv" --seconds "$(seconds_since "$begin")" --status "$status" || status=1
exit "$status"
