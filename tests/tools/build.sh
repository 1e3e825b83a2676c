#!/usr/bin/env bash
# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Builds the artefact, and installs it where the tests and `make demo` use it.
#   build.sh            build and install into the cache, with the checkout's tests beside it
#   build.sh --user     the same, and install it for the user (Ansible's default collections folder)

set -euo pipefail
source "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"

venv="$(main_venv)"
galaxy="$venv/bin/ansible-galaxy"
source_tree="$CACHE/build/source"
mkdir -p "$source_tree" "$ARTEFACTS" "$UNDER_TEST" "$(dirname "$CHECKOUT")"
ln -sfn "$REPO" "$CHECKOUT"

exec 9>"$CACHE/build.lock"
flock 9

# What git knows or would take: what tools leave in a checkout never gets into the artefact. (The ignore list of galaxy.yml
# does the same for those who build by hand.)
list_files() {
  if git -C "$REPO" rev-parse --is-inside-work-tree >/dev/null 2>&1; then
    git -C "$REPO" -c core.quotePath=false ls-files --cached --others --exclude-standard -z
  else
    (cd "$REPO" && find . -name .git -prune -o \( -type f -o -type l \) -print0)
  fi
}
# A file that git knows and that was deleted without a commit is listed but not there.
existing_files() { while IFS= read -r -d '' file; do [ ! -e "$REPO/$file" ] && [ ! -L "$REPO/$file" ] || printf '%s\0' "$file"; done; }
rm -rf "$source_tree.new"
mkdir -p "$source_tree.new"
list_files | existing_files | rsync --archive --from0 --files-from=- "$REPO/" "$source_tree.new/"
rsync --archive --checksum --delete "$source_tree.new/" "$source_tree/"
rm -rf "$source_tree.new"

version="$(sed -n 's/^version: *//p' "$REPO/galaxy.yml")"
artefact="$ARTEFACTS/$NAMESPACE-$NAME-$version.tar.gz"
# The tests are not part of the artefact, so a changed test needs no new one.
stamp="$(cd "$source_tree" && find . -path ./tests -prune -o \( -type f -o -type l \) -print0 | sort -z |
  xargs -0 sha256sum -- | sha256sum) $(core_version "$venv")"
if [ ! -e "$artefact" ] || [ "$(cat "$ARTEFACTS/.stamp" 2>/dev/null)" != "$stamp" ] || [ ! -e "$INSTALLED/MANIFEST.json" ]; then
  # There is one artefact: that of another version would be checked in its place.
  rm -f "$ARTEFACTS/.stamp" "$ARTEFACTS"/*.tar.gz
  begin="$(date +%s.%N)"
  "$galaxy" collection build --force --output-path "$ARTEFACTS" "$source_tree" >"$LOGS/build.log" 2>&1 ||
    { cat "$LOGS/build.log"; die "the artefact could not be built"; }
  rm -rf "$INSTALLED"
  "$galaxy" collection install --offline --force --no-deps --collections-path "$UNDER_TEST" "$artefact" >"$LOGS/install.log" 2>&1 ||
    { cat "$LOGS/install.log"; die "the artefact could not be installed"; }
  printf '%s\n' "$stamp" >"$ARTEFACTS/.stamp"
  say "built $artefact and installed it in $UNDER_TEST ($(seconds_since "$begin") s)"
fi

# The tests run beside the installed artefact, with pytest's configuration: what they import is what a user installs.
rsync --archive --delete "$source_tree/tests/" "$INSTALLED/tests/"
cp "$source_tree/pyproject.toml" "$INSTALLED/pyproject.toml"

if [ "${1:-}" = --user ]; then
  "$galaxy" collection install --offline --force --no-deps "$artefact"
fi
