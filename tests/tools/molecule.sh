#!/usr/bin/env bash
# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# The Molecule scenario of extensions/molecule: prepare, converge, idempotence, verify, cleanup, on the installed artefact.

set -euo pipefail
source "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"

[ "$(id -u)" -eq 0 ] || die "the scenario needs root: it makes machines, a network bridge and mounts"
if [ -n "${KUBEADM_CONTROL_PLANE_KUBERNETES:-}${KUBEADM_CONTROL_PLANE_DEBIAN:-}" ]; then
  skip molecule "its scenario is an example, of v1.20.2"
  exit
fi
use_venv "$(main_venv)"
"$REPO/tests/tools/image.sh" image-molecule.log

# Molecule has to run in a collection's root that has a galaxy.yml, and leaves things there: a copy of the artefact's content.
# It builds and installs that once more for itself, into its ANSIBLE_HOME.
tree="$CACHE/molecule/ansible_collections/$NAMESPACE/$NAME"
mkdir -p "$tree"
rsync --archive --delete --exclude=/MANIFEST.json --exclude=/FILES.json --exclude=/tests --exclude=/pyproject.toml --exclude=/.ansible --exclude=/.molecule "$INSTALLED/" "$tree/"
cp "$REPO/galaxy.yml" "$tree/"
cd "$tree"
unset PYTHONPATH ANSIBLE_COLLECTIONS_SCAN_SYS_PATH
export NO_COLOR=1
export ANSIBLE_COLLECTIONS_PATH="$CACHE/molecule" ANSIBLE_HOME="$CACHE/molecule/home" MOLECULE_EPHEMERAL_DIRECTORY="$CACHE/molecule/ephemeral"

# Molecule remembers that it prepared; the folder that its preparation made went with the copy above.
rm -rf "$MOLECULE_EPHEMERAL_DIRECTORY"

begin="$(date +%s.%N)"
status=0
molecule test --all "$@" || status=$?
if [ "$status" -eq 0 ]; then
  record molecule "$(seconds_since "$begin")" 1 0 0
else
  record molecule "$(seconds_since "$begin")" 0 1 0
fi
exit "$status"
