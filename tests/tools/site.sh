#!/usr/bin/env bash
# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Builds the documentation as HTML: the artefact's pages (tests/tools/site/pages.py) and what antsibull-docs writes of plugins and roles.
# What Sphinx warns of is an error, and so is a link that leads nowhere.

set -euo pipefail
source "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"
here="$REPO/tests/tools/site"

use_venv "$VENV_DOCS"
site="$CACHE/site"
# antsibull-docs wants a folder that only its owner can write to.
umask 022
rm -rf "$site/new" "$site/html"
mkdir -p "$site/new" "$site/source"

plugins_and_roles() { antsibull-docs collection --use-current --fail-on-error --no-add-antsibull-docs-version --dest-dir "$site/new" "$FQCN"; }
long site-plugins.log "documentation of plugins and roles" "10 s" plugins_and_roles || die "antsibull-docs failed"
python "$here/pages.py" "$INSTALLED" "$site/new"
# Sphinx reads again what is newer.
rsync --archive --checksum --delete "$site/new/" "$site/source/"
SITE_VERSION="$(sed -n 's/^version: *//p' "$REPO/galaxy.yml")"
export SITE_VERSION
long site.log "building the site" "1 to 3 minutes" \
  sphinx-build --quiet --fail-on-warning --keep-going --jobs auto -c "$here" -d "$site/doctrees" -b html "$site/source" "$site/html" ||
  die "the site could not be built" "Each warning above is an error; the pages are those of docs/, under $site/source."
python "$here/links.py" "$site/html" || die "the site has links that lead nowhere"
say "the site is $site/html/index.html"
