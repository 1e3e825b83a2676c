#!/usr/bin/env bash
# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Unit tests against the installed artefact: with the oldest and, where this machine has it, the newest ansible-core.
#   unit.sh            all of them
#   unit.sh --quick    with the newest alone, and without the model checker's part, which takes a fifth of the time

set -euo pipefail
source "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"

# The first version runs everything; what no version of ansible-core has to do with is not run again (tests/unit/conftest.py).
select=()
for venv in "$VENV_LATEST" "$VENV_OLDEST"; do
  [ -e "$venv/.complete" ] || continue
  name="unit, ansible-core $(core_version "$venv")"
  say "$name"
  if [ "${1:-}" = --quick ]; then
    (use_venv "$venv" && run_pytest "$name" -n 2 --dist loadfile --ignore-glob='*/decision/test_model.py' tests/unit)
    exit
  fi
  (use_venv "$venv" && run_pytest "$name" -n 2 --dist loadfile "${select[@]}" tests/unit)
  select=(--with-ansible-only)
done

# What runs on nodes is compiled by every supported Python that this machine has.
heading "node code on every Python here"
for minor in 9 10 11 12 13 14; do
  if python="$(real_python "$minor")"; then
    check "imports on Python 3.$minor" env PYTHONPATH="$UNDER_TEST" "$python" "$REPO/tests/tools/import_node_code.py" "$INSTALLED"
  else
    say "Python 3.$minor is not on this machine"
  fi
done
finish_checks "node code"
