#!/usr/bin/env bash
# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Every linter, one line each. All of them run, so that one round shows everything; what a failed one said follows its line.
# Python is checked in the checkout, so that messages name the files to edit; Ansible content in the artefact.

set -euo pipefail
source "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"
here="$REPO/tests/tools"

venv="$(main_venv)"
use_venv "$venv"
cd "$REPO"

package="ansible_collections.$NAMESPACE.$NAME.plugins"
types() { # types PACKAGE ARGUMENT...
  local target="$1"
  shift
  (cd "$CACHE" && env -u PYTHONPATH MYPYPATH="$CHECKOUT_TREE" mypy --config-file "$REPO/pyproject.toml" \
    --cache-dir "$CACHE/mypy" "$@" -p "$package.$target")
}
# These two leave what they made in the working folder, and look for the artefact's name there.
importer() {
  local work="$CACHE/importer"
  rm -rf "$work" && mkdir -p "$work"
  (cd "$work" && env -u PYTHONPATH -u ANSIBLE_COLLECTIONS_PATH -u ANSIBLE_COLLECTIONS_SCAN_SYS_PATH PATH="$VENV_IMPORTER/bin:$PATH" \
    GALAXY_IMPORTER_CONFIG="$here/galaxy-importer.cfg" python -m galaxy_importer.main "$ARTEFACTS"/*.tar.gz) >"$work/log" 2>&1 ||
    { cat "$work/log"; return 1; }
  cat "$work/log"
  # The importer goes on after what it merely doesn't like; here that is a fault.
  ! grep -E '^(WARNING|ERROR)' "$work/log"
}
# On a copy without the files of an installed collection and with a git of its own: ansible-lint and its library leave
# things in the folder they check, and take the collection's name from galaxy.yml. It starts ansible-playbook for each playbook.
lint_tree="$CACHE/ansible-lint/ansible_collections/$NAMESPACE/$NAME"
ansible_content() {
  mkdir -p "$lint_tree"
  rsync --archive --delete --exclude=/.ansible "$CACHE/build/source/" "$lint_tree/" &&
    (cd "$lint_tree" && env -u ANSIBLE_COLLECTIONS_SCAN_SYS_PATH ANSIBLE_COLLECTIONS_PATH="$CACHE/ansible-lint" ANSIBLE_HOME="$CACHE/ansible-lint/home" \
      PYTHONPATH="$PYTHONPATH:$REPO/tests/start" ansible-lint --offline --nocolor --profile production --strict)
}
docs() {
  (cd "$CACHE/build/source" && antsibull-docs lint-collection-docs --plugin-docs --skip-rstcheck --disallow-unknown-collection-refs \
    --validate-collection-refs self .)
}
# The folder that the image is built of, whose file has another name where there is no podman; the full suite builds it (test_execution_environment.py).
# Its entry point is what keeps ansible-playbook from being process 1.
execution_environment() {
  local context="$CACHE/execution-environment"
  rm -rf "$context"
  "$VENV_IMPORTER/bin/ansible-builder" create --file extensions/awx/execution-environment.yml --context "$context" --output-filename Containerfile || return 1
  grep -E '^ENTRYPOINT .*dumb-init' "$context/Containerfile"
}
shell_scripts() {
  local scripts
  mapfile -t scripts < <(
    find .ci tests roles plugins extensions -type f 2>/dev/null | while IFS= read -r file; do
      ! head -n 1 "$file" | grep -aqE '^#!.*\b(ba)?sh\b' || printf '%s\n' "$file"
    done
  )
  shellcheck --external-sources --source-path="$here" "${scripts[@]}"
}

# Two at a time: what takes longest, and the importer, go beside everything else.
(
  check "ansible-lint, profile production" ansible_content
  check "galaxy-importer" importer
  finish_checks lint
) &
longest=$!
trap 'kill "$longest" 2>/dev/null || true' EXIT
check "repository rules" python "$here/check_tree.py" "$REPO"
check "words" python "$here/words.py" "$REPO"
check "ruff check" ruff check --no-cache .
check "ruff format" ruff format --no-cache --check .
check "yamllint" yamllint --strict .
check "shellcheck" shell_scripts
check "mypy --strict module_utils" types module_utils --strict
check "mypy --strict plugin_utils" types plugin_utils --strict --allow-subclassing-any
for part in action callback inventory modules; do
  check "mypy $part" types "$part" --disallow-untyped-defs --check-untyped-defs
done
check "ansible-builder create" execution_environment
check "antsibull-changelog lint" antsibull-changelog lint
check "antsibull-docs lint-collection-docs" docs
wait "$longest" || FAILED_CHECKS+=("ansible-lint or galaxy-importer")
finish_checks lint
