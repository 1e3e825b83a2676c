#!/usr/bin/env bash
# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Debian's Prometheus, promtool and node_exporter in the cache folder, for the tests of metrics: unpacked, as their packages would start services.
# Where they can't be had these tests are skipped, and say so.

set -euo pipefail
source "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"

folder="$CACHE/prometheus"
[ ! -e "$folder/.complete" ] || exit 0
if ! command -v apt-get >/dev/null 2>&1; then
  say "no apt-get here: the tests that need Prometheus are skipped, unless it is in PATH"
  exit 0
fi
rm -rf "$folder"
mkdir -p "$folder/packages"
download() { cd "$folder/packages" && apt-get download prometheus prometheus-node-exporter; }
update_and_download() { [ "$(id -u)" -ne 0 ] || apt-get update; download; }
if ! long prometheus.log "downloading Debian's Prometheus" "2 s" download; then
  # The lists of packages may be missing or old.
  long prometheus.log "downloading Debian's Prometheus again" "10 s" update_and_download || {
    say "it could not be had: the tests that need Prometheus are skipped"
    exit 0
  }
fi
for package in "$folder"/packages/*.deb; do
  dpkg -x "$package" "$folder/unpacked"
done
mv "$folder/unpacked/usr/bin/prometheus" "$folder/unpacked/usr/bin/promtool" "$folder/unpacked/usr/bin/prometheus-node-exporter" "$folder/"
rm -r "$folder/packages" "$folder/unpacked"
touch "$folder/.complete"
