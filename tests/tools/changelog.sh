#!/usr/bin/env bash
# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Writes CHANGELOG.md and changelogs/changelog.yaml for the version in galaxy.yml. Again before the release: it takes up what
# fragments and plugins were added since.

set -euo pipefail
source "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"

use_venv "$(main_venv)"
cd "$REPO"
antsibull-changelog release --update-existing --refresh-plugins prevent-removal --reload-plugins
antsibull-changelog lint
rm -f changelogs/.plugin-cache.yaml
