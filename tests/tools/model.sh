#!/usr/bin/env bash
# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# The model checker of the decision core, complete (docs/model_checking.md): every configuration, then every wrong rule.
# With arguments: `python -m model` with these, in the same surroundings (model.sh --configuration "three machines").

set -euo pipefail
source "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"

use_venv "$(main_venv)"
export PYTHONPATH="$UNDER_TEST:$INSTALLED/tests:$INSTALLED/tests/support"
# Deliberately wrong rules are put into copies; those are not the artefact under test.
unset KUBEADM_CONTROL_PLANE_UNDER_TEST
cd "$INSTALLED"

[ $# -eq 0 ] || exec python -m model "$@"

model() { # model NAME ARGUMENT...
  local name="$1" begin status=0
  shift
  begin="$(date +%s.%N)"
  say "$name"
  python -m model --processes "$(nproc)" "$@" </dev/null || status=$?
  record "$name" "$(seconds_since "$begin")" $((status == 0)) $((status != 0)) 0
  return "$status"
}
model "model, complete" --full
model "model, wrong rules" --mutants
