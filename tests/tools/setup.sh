#!/usr/bin/env bash
# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Makes this machine ready: Debian packages that are missing, and the venvs that are missing or out of date.
# A second run takes a fraction of a second. `--run` is for those who only use the collection (make demo): no old
# ansible-core and no importer. `--docs` is the same and what the documentation site is built with.

set -euo pipefail
source "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"

for_tests=yes
case "${1:-}" in --run | --docs) for_tests=no ;; esac

# --- Debian packages -------------------------------------------------------------------------------------------------

missing=()
need() { command -v "$1" >/dev/null 2>&1 || missing+=("$2"); }
need git git
need rsync rsync
need flock util-linux
need openssl openssl
need gpg gpg
need ssh openssh-client
need pgrep procps
real_python 11 12 13 14 >/dev/null || missing+=(python3 python3-venv)

if [ "${#missing[@]}" -gt 0 ]; then
  install_by_hand="Install them and run this again: ${missing[*]}"
  command -v apt-get >/dev/null 2>&1 || die "this machine lacks packages, and has no apt-get to get them with" "$install_by_hand"
  [ "$(id -u)" -eq 0 ] || die "this machine lacks packages, and only root can install them" "$install_by_hand"
  export DEBIAN_FRONTEND=noninteractive
  apt_install() { apt-get install --yes --no-install-recommends "${missing[@]}"; }
  apt_update_and_install() { apt-get update && apt_install; }
  long apt.log "installing the Debian packages ${missing[*]}" "10 to 40 s" apt_update_and_install ||
    die "the Debian packages could not be installed" "$install_by_hand"
fi

# --- venvs -----------------------------------------------------------------------------------------------------------

exec 9>"$CACHE/setup.lock"
flock 9

if latest="$(real_python 12 13 14)"; then
  make_venv "$VENV_LATEST" "$latest" "1 to 2 minutes" yes ansible-latest.txt test.txt tools.txt
  importer_python="$latest"
  oldest_files=(ansible-2.19.txt test.txt)
else
  rm -rf "$VENV_LATEST"
  importer_python=""
  oldest_files=(ansible-2.19.txt test.txt tools.txt)
  for_oldest=yes
fi

if [ "$for_tests" = yes ] || [ "${for_oldest:-no}" = yes ]; then
  oldest="$(real_python 11 12 13)" || die "no Python from 3.11 to 3.13 was found" "Install Debian's python3 and python3-venv."
  make_venv "$VENV_OLDEST" "$oldest" "20 s to 2 minutes" yes "${oldest_files[@]}"
fi
if [ "$for_tests" = yes ]; then
  "$REPO/tests/tools/prometheus.sh"
  "$REPO/tests/tools/chromium.sh"
  # Debian neither enables nor starts nftables.service by it.
  "$REPO/tests/tools/optional_packages.sh" firewalls nft:nftables
  make_venv "$VENV_IMPORTER" "${importer_python:-$oldest}" "30 s" no importer.txt
fi
if [ "${1:-}" = --docs ]; then
  make_venv "$VENV_DOCS" "${importer_python:-$oldest}" "1 minute" no docs.txt
fi

if [ -e "$VENV_LATEST/.complete" ]; then
  say "ansible-core $(core_version "$VENV_LATEST") on $("$VENV_LATEST/bin/python" -V)"
else
  say "No Python 3.12 or newer on this machine: everything runs with ansible-core $(core_version "$VENV_OLDEST") on $("$VENV_OLDEST/bin/python" -V)."
fi
