#!/usr/bin/env bash
# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Formats the Python code in the checkout.

set -euo pipefail
source "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"

cd "$REPO"
"$(main_venv)/bin/ruff" check --no-cache --fix --quiet . || true
"$(main_venv)/bin/ruff" format --no-cache .
