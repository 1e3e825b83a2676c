#!/usr/bin/env bash
# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# ansible-test sanity: every test, no ignore files, with the newest and the oldest supported ansible-core, on a copy of the
# installed artefact: what is shipped, without the tests, which ruff reads. Nothing is downloaded but Python packages.
# With --once what has been seen isn't looked at again: the oldest leaves pylint to the newest, which takes three fifths of all and
# reads the same files, and import, which takes two thirds of the rest: without what isn't required, the newest imports each file, and
# with the oldest a unit test does (tests/unit/plugins/test_every_file.py); the other Pythons' compile and import are left to unit.sh,
# which imports the same files on each of them.

set -euo pipefail
source "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"

# A home of our own: ansible-test keeps its venvs there, and looks there for the script that it would otherwise download.
home="$CACHE/ansible-test-home"
real_interpreters="$CACHE/pythons"

# ansible-test puts pip into its venvs with a script from a server of its own. This stand-in does the same from pip's wheel.
pip_bootstrap() { # pip_bootstrap PIP_VERSION
  local version="$1" scripts="$home/.ansible/test/cache" wheels="$home/wheels" wheel script
  wheel="$wheels/pip-$version-py3-none-any.whl"
  script="$scripts/get_pip_${version//./_}.py"
  mkdir -p "$scripts" "$wheels"
  if [ ! -e "$wheel" ]; then
    python -m pip download --quiet --no-deps --dest "$wheels" "pip==$version" ||
      die "pip $version could not be downloaded" "pip reaches its package index as configured on this machine (pip config list)."
  fi
  sed "s|@WHEEL@|$wheel|" "$REPO/tests/tools/get_pip.py.in" >"$script.new"
  mv "$script.new" "$script"
}

# ansible-test passes HOME on and drops the PIP_ variables and the proxies, so they become a configuration file.
pip_configuration() {
  local file="$home/.config/pip/pip.conf" user
  mkdir -p "$(dirname "$file")"
  (
    umask 077
    for user in "${PIP_CONFIG_FILE:-}" "$1/.pip/pip.conf" "$1/.config/pip/pip.conf"; do
      [ ! -f "$user" ] || cat "$user"
    done >"$file.new"
    python - >>"$file.new" <<'PYTHON'
import os

names = ("INDEX_URL", "EXTRA_INDEX_URL", "TRUSTED_HOST", "CERT", "PROXY", "FIND_LINKS", "DEFAULT_TIMEOUT")
found = {name.lower().replace("_", "-"): os.environ["PIP_" + name] for name in names if os.environ.get("PIP_" + name)}
proxy = os.environ.get("https_proxy") or os.environ.get("HTTPS_PROXY")
if proxy:
    found.setdefault("proxy", proxy)
if found:
    # A section of its own: a user's file may have a [global] already, and pip's parser refuses a second one.
    for section in ("install", "download"):
        print(f"[{section}]")
        for name, value in found.items():
            print(f"{name} = {value}")
PYTHON
  )
  mv "$file.new" "$file"
}

# sanity PYTHON ARGUMENT...: on failure only what is wrong is shown; everything is in the log that is named.
sanity() {
  local python="$1" log
  shift
  log="$LOGS/ansible-test-$core-$python$(printf '%s' "$*" | tr -c '[:lower:]' '-').log"
  HOME="$home" ansible-test sanity --color no --python "$python" "$@" >"$log" 2>&1 || {
    grep -E '^(ERROR|FATAL)' "$log" || cat "$log"
    say "everything that ansible-test said: $log"
    return 1
  }
}

link_real_interpreters() {
  local minor found
  rm -rf "$real_interpreters" && mkdir -p "$real_interpreters"
  versions=()
  for minor in 9 10 11 12 13 14; do
    if found="$(real_python "$minor")"; then
      ln -s "$found" "$real_interpreters/python3.$minor"
      versions+=("3.$minor")
    fi
  done
}

# Manifests of Cluster API are several YAML documents in one file, which ansible-test's yamllint refuses in Ansible content.
# They are none; our own yamllint and the tests of the loader check them.
copy_tree() { # copy_tree FOLDER
  mkdir -p "$1"
  rsync --archive --delete --delete-excluded --exclude=/MANIFEST.json --exclude=/FILES.json --exclude=/pyproject.toml \
    --exclude=/tests/ --exclude=/examples/manifests/ --exclude=/examples/existing_hosts/clusters/ --exclude=/extensions/molecule/clusters/ "$INSTALLED/" "$1/"
}

# Its tests begin as the tests' own runs do (tests/start): import imports each file anew with all that it imports, and Ansible's loader
# would compile all of that each time; what was compiled is kept in the copy, so for one run. ansible-test lets no variable through, so
# it has to lie in the venvs, which are made first where they aren't there yet.
begin_as_tests() { # begin_as_tests PYTHON
  local venvs="$home/.ansible/test/venv" marks each
  marks=("$venvs"/sanity.import.plugin/"$1"/*/marker.txt)
  [ -e "${marks[0]}" ] || sanity "$1" --prime-venvs || return
  for each in "$venvs"/sanity*/"$1"/*/lib/python"$1"/site-packages; do
    # Put in its place at once: another ansible-core's may be in use.
    cp "$REPO/tests/start/sitecustomize.py" "$each/sitecustomize.$BASHPID" && mv "$each/sitecustomize.$BASHPID" "$each/sitecustomize.py" || return
  done
}

run_sanity() { # run_sanity VENV PIP_VERSION OTHER_PYTHON...
  local venv="$1" core tree each beside=""
  core="$(core_version "$venv")"
  # ansible-test writes into the tree that it checks.
  tree="$CACHE/sanity/$core/ansible_collections/$NAMESPACE/$NAME"
  copy_tree "$tree"
  (
    use_venv "$venv"
    pip_version="$2"
    shift 2
    # The collection is found by where it lies. Tools that have their own place in PATH (shellcheck) come from the main venv.
    unset PYTHONPATH ANSIBLE_COLLECTIONS_PATH ANSIBLE_COLLECTIONS_SCAN_SYS_PATH
    pip_bootstrap "$pip_version"
    # Shims of a version manager answer only where their version is switched on, and make ansible-test stop.
    PATH="$venv/bin:$real_interpreters:$(main_venv)/bin:$(printf '%s' "$PATH" | tr ':' '\n' | { grep -v '/shims$' || true; } | paste -sd:)"
    export PATH
    here_python="$(python -c 'import sys; print("%d.%d" % sys.version_info[:2])')"
    cd "$tree"
    begin_as_tests "$here_python"
    # One process that takes half of all: beside the rest, in a copy of its own.
    if [[ " ${without[*]} " != *" pylint "* ]]; then
      (
        alone="$CACHE/sanity/$core-pylint/ansible_collections/$NAMESPACE/$NAME"
        copy_tree "$alone"
        cd "$alone"
        check "sanity pylint, ansible-core $core" sanity "$here_python" --test pylint
        finish_checks "pylint with ansible-core $core"
      ) &
      beside=$!
    fi
    rest=(--skip-test pylint)
    for each in "${without[@]}"; do rest+=(--skip-test "$each"); done
    check "sanity, ansible-core $core, without ${without[*]:-pylint}" sanity "$here_python" "${rest[@]}"
    [ -z "$beside" ] || wait "$beside"
    for version in "$@"; do
      [ "$version" != "$here_python" ] || continue
      check "sanity compile, import $version, ansible-core $core" sanity "$version" --test compile --test import
    done
    finish_checks "sanity with ansible-core $core"
  )
}

mkdir -p "$home"
(use_venv "$(main_venv)" && pip_configuration "$HOME")
link_real_interpreters

say "(the first time, ansible-test makes venvs of its own: a few minutes)"
# ansible-test mostly does one thing at a time, so both cores' run side by side, and pylint beside them; each in a process group, to end
# with this script.
set -m
running=()
without=()
once=""
[ "${1:-}" != --once ] || once=yes
[ -z "$once" ] || versions=()
trap 'kill -- "${running[@]/#/-}" 2>/dev/null || true' EXIT
# What compiles and imports on a Python does so whichever ansible-core asks: the newest one asks every Python of this machine.
if [ -e "$VENV_LATEST/.complete" ]; then
  run_sanity "$VENV_LATEST" 25.2 "${versions[@]}" &
  running+=("$!")
  versions=()
  [ -z "$once" ] || without=(pylint import)
fi
run_sanity "$VENV_OLDEST" 24.2 "${versions[@]}" &
running+=("$!")
failed=0
for each in "${running[@]}"; do
  wait "$each" || failed=1
done
[ "$failed" -eq 0 ]
