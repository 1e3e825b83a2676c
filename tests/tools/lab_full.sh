#!/usr/bin/env bash
# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Everything that `make test` leaves out, and all of the lab, in pieces. A piece that passed on this tree is not run again; one that
# failed or was interrupted, or whose own tests changed, is. What came out is in $CACHE/lab-full/summary.md.
#   lab_full.sh --lab      each file of tests/lab, and Molecule
#   lab_full.sh --beside   what runs beside it (test.sh): what tests/integration marks full, etcd's and the store's tests against newer
#                          releases, the complete model checker, sanity
# With KUBEADM_CONTROL_PLANE_KUBERNETES or KUBEADM_CONTROL_PLANE_DEBIAN (make test-lab-full KUBERNETES=... DEBIAN=...) the lab alone, on that
# Kubernetes and that Debian.

set -euo pipefail
source "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"
here="$REPO/tests/tools"

[ "$(id -u)" -eq 0 ] || die "the lab needs root: it makes machines, a network bridge and mounts" "Run it as root, or run: make test-quick"
use_venv "$(main_venv)"
(
  # One half installs, and the other waits for it.
  flock 9
  "$here/image.sh" full-image.log
  "$here/optional_packages.sh" "Red Hat's family" dnf:dnf rpmbuild:rpm createrepo_c:createrepo-c
  "$here/full.sh"
) 9>"$CACHE/full.lock"

digest() { # digest FIND_ARGUMENT...
  (cd "$CACHE/build/source" && find "$@" -type f -print0 | sort -z | xargs -0 sha256sum -- | sha256sum | cut -c 1-16)
}
# A tree is what is shipped and what several tests use. Pages may be written of a run without making another tree of it, and a changed
# test below tests/unit, tests/integration or tests/lab repeats only the piece that runs it.
tree="$(digest . -name '*.md' -prune -o -path ./changelogs -prune -o -path './tests/unit/*' -name 'test_*.py' -prune -o \
  -path './tests/lab/*' -name 'test_*.py' -prune -o -path './tests/integration/*' -name 'test_*.py' -prune -o)"
# What passed on one Kubernetes or Debian has not passed on another.
kubernetes="${KUBEADM_CONTROL_PLANE_KUBERNETES:-}"
other="$kubernetes${KUBEADM_CONTROL_PLANE_DEBIAN:-}"
[ -z "$other" ] || tree="$tree-$(python "$REPO/tests/tools/kubernetes_images.py" --digest)"
half="$1"
halves=(--lab)
[ -n "$other" ] || halves+=(--beside)
passed="$CACHE/lab-full/$tree"
summary="$CACHE/lab-full/summary.md"
mkdir -p "$passed"
# What failed is run again, unless its test is gone. The other half may run beside this one: its failures stay.
rm -f "$passed/$half" "$passed"/*."$half.failed"
# Above what the longest piece takes on a busy machine: it ends one that would hang for ever.
export PYTEST_SECONDS=$((4 * 3600))

summarize() {
  local state="complete" each failed=()
  for each in "${halves[@]}"; do [ -e "$passed/$each" ] || state="not at its end yet"; done
  for each in "$passed"/*.failed; do [ ! -e "$each" ] || failed+=("$(cat "$each")"); done
  [ "${#failed[@]}" -eq 0 ] || state="failed: $(printf '%s; ' "${failed[@]}")"
  {
    printf '# The full lab, %s\n\nKubernetes %s, commit %s, tree %s, as of %s.\n\n' "$state" "${kubernetes:-v1.20.2}, Debian ${KUBEADM_CONTROL_PLANE_DEBIAN:-bookworm}" "$(git -C "$REPO" describe --always --dirty 2>/dev/null || echo unknown)" \
      "$tree" "$(date -u +%Y-%m-%dT%H:%MZ)"
    printf '| piece | passed | failed | skipped | seconds |\n| --- | --- | --- | --- | --- |\n'
    awk -F '\t' '{ printf "| %s | %d | %d | %d | %.0f |\n", $1, $3, $4, $5, $2; p += $3; f += $4; s += $5; t += $2 }
      END { printf "| **all** | %d | %d | %d | %.0f |\n", p, f, s, t }' "$STEPS"
  } >"$summary.$half" && mv "$summary.$half" "$summary"
}

FAILED_PIECES=()
piece() { # piece NAME TESTS COMMAND...: a piece whose TESTS (file or folder) changed is run again; of what is in the tree any folder will do
  local name="$1" one kept
  one="$passed/$(printf '%s' "$1" | tr -c 'a-zA-Z0-9.\n' '-')"
  kept="$one.$(digest "$2" -name '*.md' -prune -o)"
  shift 2
  if [ -e "$kept" ]; then
    say "passed on this tree before: $name"
    cat "$kept" >>"$STEPS"
    return
  fi
  heading "$name"
  rm -f "$one".*
  # What the other half records meanwhile is none of this piece's.
  if KUBEADM_CONTROL_PLANE_STEPS="$kept.new" STEPS="$kept.new" "$@"; then
    cat "$kept.new" >>"$STEPS"
    mv "$kept.new" "$kept"
  else
    touch "$kept.new"
    cat "$kept.new" >>"$STEPS"
    printf '%s' "$name" >"$kept.$half.failed"
    FAILED_PIECES+=("$name")
  fi
  summarize
}

newer_etcd() { ETCD="$CACHE/newer/etcd/etcd" run_pytest "etcd, a newer release" -n 2 --dist loadfile tests/integration/etcd; }
newer_api_server() {
  KUBEADM_CONTROL_PLANE_NEWER=yes run_pytest "store, a newer API server" -n 2 --dist loadfile tests/integration/store -m "not full"
}

cd "$INSTALLED"
if [ "$half" = --lab ]; then
  # The tests of a folder share its cluster.
  for part in tests/lab/*_machine{,s} tests/lab/test_*.py; do
    piece "${part#tests/}" "$part" run_pytest "${part#tests/}" "$part"
  done
  [ -n "$other" ] || piece "molecule" extensions "$here/molecule.sh"
elif [ -z "$other" ]; then
  while IFS= read -r file; do
    piece "${file#tests/}, full" "$file" run_pytest "${file#tests/}, full" "$file" -m full
  done < <(grep -rlE 'mark\.full\b' tests/integration --include='test_*.py' | sort)
  if "$here/newer.sh"; then
    piece "etcd, a newer release" tests/integration/etcd newer_etcd
    piece "store, a newer API server" tests/integration/store newer_api_server
  else
    skip "newer releases of etcd and Kubernetes" "they could not be had from Debian's mirror; what was said is above"
  fi
  piece "model checker" tests/model "$here/model.sh"
  piece "sanity" plugins "$here/sanity.sh"
fi

touch "$passed/$half"
summarize
if [ "${#FAILED_PIECES[@]}" -gt 0 ]; then
  die "of the full lab ${#FAILED_PIECES[@]} pieces failed: ${FAILED_PIECES[*]}" "Run it again: only these are run. The summary: $summary"
fi
say "The summary: $summary"
