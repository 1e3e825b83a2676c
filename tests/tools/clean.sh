#!/usr/bin/env bash
# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Removes every trace of the demo, the tests and the benchmark from this machine: machines, endpoints, bridge, stores, logs.
#   clean.sh           keeps the cache folder (venvs, machine images, binaries): the next demo is quick
#   clean.sh --cache   removes it too
# Works after crashes, and when nothing was ever set up.

set -euo pipefail
source "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"

machines=/var/lib/kubeadm-control-plane/nspawn

if [ -e "$machines" ]; then
  [ "$(id -u)" -eq 0 ] || die "there are machines in $machines, and only root can remove them" "Run as root: make clean"
  # The provider itself removes what it made; without its venv (a removed cache) it is set up again first.
  if ! (main_venv) >/dev/null 2>&1; then "$REPO/tests/tools/setup.sh" --run; fi
  "$REPO/tests/tools/build.sh"
  (
    use_venv "$(main_venv)"
    cd "$CACHE"
    long clean.log "removing the machines, their endpoints and their network" "a few seconds" \
      ansible-playbook -i localhost, "$REPO/tests/tools/clean.yml"
  ) || die "not everything could be removed" "The log is $LOGS/clean.log; run make clean again."
  [ ! -e "$machines" ] || die "$machines is still there" "The log is $LOGS/clean.log"
fi

[ ! -d "$(dirname "$machines")" ] || rmdir --ignore-fail-on-non-empty "$(dirname "$machines")"
rm -rf "$REPO/demo" "$CACHE/demo" "$CACHE/demo-hosts"
rm -rf "$CACHE/molecule" "$CACHE/importer" "$CACHE/results" "$CACHE/sanity" "$CACHE/ansible-lint" "$CACHE/build"
rm -rf "$ARTEFACTS" "$UNDER_TEST" "$CHECKOUT_TREE" "$CACHE/mypy" "$CACHE/pythons" "$CACHE/hypothesis" "$CACHE/pycache"
if [ "${1:-}" = --cache ]; then
  rm -rf "$CACHE"
  say "Every trace is removed, and the cache folder $CACHE too."
else
  say "Every trace is removed. The cache folder $CACHE stays, so that the next run is quick (make distclean removes it too)."
fi
