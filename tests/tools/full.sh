#!/usr/bin/env bash
# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# What only the full suite needs: an ansible-core that is refused, in a venv of its own; ansible-rulebook in another one with Debian's Java, Debian's Alertmanager in the cache folder
# (unpacked, as its package would start a service), and Debian's podman with an init for containers. Where something can't be had its
# tests are skipped, and say so.

set -euo pipefail
source "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"

missing=()
need() { command -v "$1" >/dev/null 2>&1 || missing+=("$2"); }
need java openjdk-17-jre-headless
need podman podman
need podman crun
need dumb-init dumb-init
if [ "${#missing[@]}" -gt 0 ] && command -v apt-get >/dev/null 2>&1 && [ "$(id -u)" -eq 0 ]; then
  export DEBIAN_FRONTEND=noninteractive
  install() { apt-get install --yes --no-install-recommends "${missing[@]}"; }
  update_and_install() { apt-get update && install; }
  long full.log "installing the Debian packages ${missing[*]}" "30 s" update_and_install || say "they could not be had: ${missing[*]}"
fi
# No newer Python is that one's.
if python="$(real_python 12 11)"; then
  (make_venv "$VENV_TOO_OLD" "$python" "10 s" no too_old.txt) || say "an ansible-core that is too old could not be had: its test is skipped"
fi
alertmanager() {
  local folder="$CACHE/alertmanager" templates=/usr/share/prometheus/alertmanager
  if [ ! -x "$folder/usr/bin/prometheus-alertmanager" ]; then
    rm -rf "$folder" && mkdir -p "$folder/package" && (cd "$folder/package" && apt-get download prometheus-alertmanager) || return
    dpkg -x "$folder"/package/*.deb "$folder" || return
  fi
  # The only place where Debian's looks for them.
  [ -e "$templates" ] || { mkdir -p "$templates" && cp "$folder$templates"/*.tmpl "$templates/"; }
}
alertmanager || say "the Alertmanager could not be had: the tests of rulebooks are skipped"
command -v java >/dev/null 2>&1 || { say "no Java here: the tests of rulebooks are skipped" && exit 0; }
python="$(real_python 12 11 13)" || die "no Python from 3.11 to 3.13 was found" "Install Debian's python3 and python3-venv."
(make_venv "$VENV_RULEBOOK" "$python" "30 s" no rulebook.txt) || say "ansible-rulebook could not be had: the tests of rulebooks are skipped"
