#!/usr/bin/env bash
# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# What the scripts beside this one share. Sourced, never run.
# shellcheck disable=SC2034  # the variables are for those who source it

set -euo pipefail

# Ansible refuses to start without a UTF-8 locale, and a bare machine has this one.
export LC_ALL=C.UTF-8 LANG=C.UTF-8
# Nothing that these scripts start may leave files in the checkout or in the collection under test, or ask a question.
export ANSIBLE_NOCOLOR=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INPUT=1
export ANSIBLE_DEPRECATION_WARNINGS="${ANSIBLE_DEPRECATION_WARNINGS:-true}"
unset PYTHONPATH ANSIBLE_CONFIG ANSIBLE_COLLECTIONS_PATH VIRTUAL_ENV

REPO="$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd -P)"
CACHE="${KUBEADM_CONTROL_PLANE_CACHE:-${HOME:?}/.cache/kubeadm-control-plane}"
# The roles and the tests look for cached machine images and binaries under the same name.
export KUBEADM_CONTROL_PLANE_CACHE="$CACHE"
# Compiled once, and not by each of some thousand processes, of which each ansible-playbook would take three times as long to begin.
# Images of containers often forbid Python to write what it compiled, and then the folder would stay empty.
export PYTHONPYCACHEPREFIX="$CACHE/pycache"
unset PYTHONDONTWRITEBYTECODE

NAMESPACE=kubeadm
NAME=control_plane
FQCN="$NAMESPACE.$NAME"
ARTEFACTS="$CACHE/artefacts"                       # the built artefact
UNDER_TEST="$CACHE/collections-under-test"         # the installed artefact, with the checkout's tests beside it
INSTALLED="$UNDER_TEST/ansible_collections/$NAMESPACE/$NAME"
CHECKOUT_TREE="$CACHE/checkout-tree"               # the checkout under the name that imports need (lint and types only)
CHECKOUT="$CHECKOUT_TREE/ansible_collections/$NAMESPACE/$NAME"
LOGS="$CACHE/logs"
export HYPOTHESIS_STORAGE_DIRECTORY="$CACHE/hypothesis"
RESULTS="$CACHE/results"                           # what each step of a run did, for the closing line,
STEPS="${KUBEADM_CONTROL_PLANE_STEPS:-$RESULTS/steps.tsv}" # with a line for each
VENV_LATEST="$CACHE/venv-latest"
VENV_OLDEST="$CACHE/venv-2.19"
VENV_IMPORTER="$CACHE/venv-importer"
VENV_DOCS="$CACHE/venv-docs"
VENV_RULEBOOK="$CACHE/venv-rulebook"
VENV_TOO_OLD="$CACHE/venv-too-old"

mkdir -p "$CACHE" "$LOGS" "$RESULTS"

say() { printf '%s\n' "$*"; }
heading() { printf '\n== %s\n' "$*"; }
die() {
  printf 'ERROR: %s\n' "$1" >&2
  shift
  [ $# -eq 0 ] || printf '       %s\n' "$@" >&2
  exit 1
}

seconds_since() { awk -v a="$1" -v b="$(date +%s.%N)" 'BEGIN { printf "%.1f", b - a }'; }

# long LOGFILE WHAT USUALLY COMMAND...: runs a command that takes long with its output in a file, and says every 15 seconds
# what it is doing. On failure the end of the output is shown and the command's status returned.
long() {
  local log="$LOGS/$1" what="$2" usually="$3" begin pid status=0 tick=0
  shift 3
  begin="$(date +%s.%N)"
  say "$what (usually $usually) ..."
  "$@" >"$log" 2>&1 </dev/null &
  pid=$!
  while kill -0 "$pid" 2>/dev/null; do
    sleep 0.25
    tick=$((tick + 1))
    if [ $((tick % 60)) -eq 0 ]; then
      printf '  still at it after %.0f s: %s\n' "$(seconds_since "$begin")" "$(tail -n 1 "$log" | tr -d '\r' | cut -c 1-110)"
    fi
  done
  wait "$pid" || status=$?
  if [ "$status" -ne 0 ]; then
    say "  failed with status $status after $(seconds_since "$begin") s; the end of $log:"
    tail -n 40 "$log" | sed 's/^/  | /'
    return "$status"
  fi
  say "  done in $(seconds_since "$begin") s"
}

# Steps and their results. `record` is for the closing line of a run (summary.py reads it); `check` runs one check of a
# group, prints one line about it and, when it fails, what it said.
record() { # record NAME SECONDS PASSED FAILED SKIPPED
  printf '%s\t%s\t%s\t%s\t%s\n' "$@" >>"$STEPS"
}

FAILED_CHECKS=()
check() { # check NAME COMMAND...
  local name="$1" begin out status=0
  shift
  begin="$(date +%s.%N)"
  out="$LOGS/check-$(printf '%s' "$name" | tr -c 'a-zA-Z0-9.' '-').log"
  "$@" >"$out" 2>&1 </dev/null || status=$?
  if [ "$status" -eq 0 ]; then
    printf 'ok      %-46s %6s s\n' "$name" "$(seconds_since "$begin")"
    record "$name" "$(seconds_since "$begin")" 1 0 0
  else
    printf 'FAILED  %-46s %6s s (status %s)\n' "$name" "$(seconds_since "$begin")" "$status"
    sed 's/^/        | /' "$out"
    record "$name" "$(seconds_since "$begin")" 0 1 0
    FAILED_CHECKS+=("$name")
  fi
}
skip() { # skip NAME WHY
  printf 'skipped %-46s %s\n' "$1" "$2"
  record "$1" 0 0 0 1
}
finish_checks() { # finish_checks WHAT
  if [ "${#FAILED_CHECKS[@]}" -gt 0 ]; then
    die "$1: ${#FAILED_CHECKS[@]} failed: ${FAILED_CHECKS[*]}" "What each of them said is above and in $LOGS."
  fi
}

# real_python MINOR...: the first real CPython 3.MINOR (never a pyenv shim, which answers only where its version is
# switched on) that can make a venv. Prints its path.
real_python() {
  local minor dir candidate
  for minor in "$@"; do
    while IFS= read -r dir; do
      candidate="$dir/python3.$minor"
      [ -x "$candidate" ] || continue
      [ "$(head -c 2 "$candidate" | tr -d '\0')" != '#!' ] || continue
      if "$candidate" -c 'import ensurepip, ssl, venv' 2>/dev/null; then
        printf '%s\n' "$candidate"
        return 0
      fi
    done < <(python_directories)
  done
  return 1
}
python_directories() {
  local root
  printf '%s\n' "$PATH" | tr ':' '\n' | { grep -v -e '/shims$' -e "^$CACHE/" || true; }
  for root in "${PYENV_ROOT:-$HOME/.pyenv}" "$HOME/.pyenv"; do
    # The newest patch release first.
    find "$root/versions" -mindepth 2 -maxdepth 2 -name bin 2>/dev/null | sort -rV || true
  done
  printf '%s\n' /usr/local/bin /usr/bin
}

# main_venv: the venv that everything runs in that runs once: the newest ansible-core that this machine's Pythons allow.
main_venv() {
  if [ -e "$VENV_LATEST/.complete" ]; then
    printf '%s\n' "$VENV_LATEST"
  elif [ -e "$VENV_OLDEST/.complete" ]; then
    printf '%s\n' "$VENV_OLDEST"
  else
    die "the tools are not set up" "Run: make setup"
  fi
}

# make_venv VENV PYTHON USUALLY CONSTRAINED REQUIREMENT...: makes the venv unless it was completed with the same
# interpreter and the same requirement files. An interrupted one is never taken for a complete one: the mark comes last.
make_venv() {
  local venv="$1" python="$2" usually="$3" constrained="$4" stamp args=() file
  shift 4
  stamp="$("$python" -c 'import sys; print(sys.version)') $python $(cd "$REPO/requirements" && sha256sum constraints.txt "$@")"
  [ "$(cat "$venv/.complete" 2>/dev/null)" != "$stamp" ] || return 0
  for file in "$@"; do args+=(-r "$REPO/requirements/$file"); done
  [ "$constrained" = no ] || args+=(-c "$REPO/requirements/constraints.txt")
  rm -rf "$venv"
  "$python" -m venv "$venv"
  long "$(basename "$venv").log" "installing Python packages into $venv" "$usually" \
    "$venv/bin/python" -m pip install --quiet "${args[@]}" ||
    die "the Python packages of $(basename "$venv") could not be installed" \
      "pip reaches its package index as configured on this machine (pip config list); run this again once it does."
  printf '%s\n' "$stamp" >"$venv/.complete"
}

# use_venv VENV: the commands of that venv come first, and collections are found in the installed artefact only.
use_venv() {
  export PATH="$1/bin:$PATH" VIRTUAL_ENV="$1"
  export PYTHONPATH="$UNDER_TEST" ANSIBLE_COLLECTIONS_PATH="$UNDER_TEST" ANSIBLE_COLLECTIONS_SCAN_SYS_PATH=false
  export KUBEADM_CONTROL_PLANE_UNDER_TEST="$INSTALLED"
  hash -r
}

core_version() { "$1/bin/python" -c 'from ansible.release import __version__; print(__version__)'; }

# run_pytest NAME ARGUMENT...: in the tree under test, with the results kept for the closing line. That nothing was
# collected is a failure: a suite that lost its tests must not look green. PYTEST_SECONDS ends one that would hang for ever.
# Of the many runs of ansible-playbook none compiles the collection again (tests/start), or asks for a result a thousand times
# a second.
run_pytest() {
  local name="$1" begin status=0 report bound=()
  [ -z "${PYTEST_SECONDS:-}" ] || bound=(timeout --signal=INT --kill-after=120 "$PYTEST_SECONDS")
  shift
  begin="$(date +%s.%N)"
  report="$RESULTS/$(printf '%s' "$name" | tr -c 'a-zA-Z0-9.' '-').xml"
  (cd "$INSTALLED" && "${bound[@]}" env PYTHONPATH="$UNDER_TEST:$INSTALLED/tests/start" ANSIBLE_CONFIG="$INSTALLED/tests/start/ansible.cfg" \
    python -m pytest --quiet --junitxml="$report" "$@" </dev/null) || status=$?
  python "$REPO/tests/tools/summary.py" --junit "$report" --name "$name" --seconds "$(seconds_since "$begin")" \
    --status "$status" >>"$STEPS"
  return "$status"
}
