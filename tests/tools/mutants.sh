#!/usr/bin/env bash
# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Small faults in the decision core, the quorum, the store and its lock, and how many the unit tests find (docs/development.md).
#   mutants.sh                          a sample of each area; after an interruption the rest of it
#   mutants.sh --sample 0 quorum        all of one area

set -euo pipefail
source "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"

use_venv "$(main_venv)"
# The mutated copies are not the artefact under test.
unset KUBEADM_CONTROL_PLANE_UNDER_TEST PYTHONPATH
mkdir -p "$CACHE/mutants"
exec python "$REPO/tests/tools/mutants.py" "$CACHE/build/source" "$CACHE/mutants" "$@"
