#!/usr/bin/env bash
# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# What only the full suite needs: an ansible-core that is refused, in a venv of its own; ansible-rulebook in another one with Debian's Java, Debian's Alertmanager in the cache folder
# (unpacked, as its package would start a service), Debian's podman with an init for containers, and what an execution environment is
# built of without a registry of images: a Debian, and Python's packages. Where something can't be had its tests are skipped, and say so.

set -euo pipefail
source "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"

missing=()
need() { command -v "$1" >/dev/null 2>&1 || missing+=("$2"); }
need java openjdk-17-jre-headless
need podman podman
need podman crun
need dumb-init dumb-init
need debootstrap debootstrap
if [ "${#missing[@]}" -gt 0 ] && command -v apt-get >/dev/null 2>&1 && [ "$(id -u)" -eq 0 ]; then
  export DEBIAN_FRONTEND=noninteractive
  install() { apt-get install --yes --no-install-recommends "${missing[@]}"; }
  update_and_install() { apt-get update && install; }
  long full.log "installing the Debian packages ${missing[*]}" "30 s" update_and_install || say "they could not be had: ${missing[*]}"
fi
# No newer Python is that one's.
if python="$(real_python 12 11)"; then
  (make_venv "$VENV_TOO_OLD" "$python" "10 s" no too_old.txt) || say "an ansible-core that is too old could not be had: its test is skipped"
fi
alertmanager() {
  local folder="$CACHE/alertmanager" templates=/usr/share/prometheus/alertmanager
  if [ ! -x "$folder/usr/bin/prometheus-alertmanager" ]; then
    rm -rf "$folder" && mkdir -p "$folder/package" && (cd "$folder/package" && apt-get download prometheus-alertmanager) || return
    dpkg -x "$folder"/package/*.deb "$folder" || return
  fi
  # The only place where Debian's looks for them.
  [ -e "$templates" ] || { mkdir -p "$templates" && cp "$folder$templates"/*.tmpl "$templates/"; }
}
# The Debian has a Python that every supported ansible-core takes. The packages are those of its definition, of the collection, and of what
# ansible-builder itself adds.
image_parts() {
  local folder="$CACHE/image-parts" definition=extensions/awx/execution-environment.yml stamp
  stamp="$(cd "$REPO" && sha256sum "$definition" meta/ee-requirements.txt tests/tools/full.sh requirements/importer.txt)"
  [ "$(cat "$folder/.complete" 2>/dev/null)" != "$stamp" ] || return 0
  rm -rf "$folder" && mkdir -p "$folder"
  long image_parts.log "getting what an execution environment is built of" "90 s" get_image_parts "$folder" "$REPO/$definition" || return
  printf '%s\n' "$stamp" >"$folder/.complete"
}
# shellcheck disable=SC2016  # what apt and ansible-builder call by these names
get_image_parts() { # get_image_parts FOLDER DEFINITION
  local folder="$1" definition="$2" mirror named
  mirror="$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' 'Label: Debian' | head -n 1)"
  debootstrap --variant=minbase --include=ca-certificates,openssh-client,python3,python3-pip trixie "$folder/base" ${mirror:+"$mirror"} || return
  rm -rf "$folder"/base/var/cache/apt/archives/*.deb "$folder"/base/var/lib/apt/lists/*
  tar --create --directory "$folder/base" --file "$folder/base.tar" . && rm -rf "$folder/base" || return
  "$VENV_IMPORTER/bin/ansible-builder" create --file "$definition" --context "$folder/context" --output-filename Containerfile || return
  mapfile -t named < <(
    sed -n 's/^ *package_pip: //p' "$definition"
    sed -n 's/^RUN $PYCMD -m pip install --no-cache-dir \([^$]*\)$/\1/p' "$folder/context/Containerfile" | tr -d "'" | tr ' ' '\n'
  )
  "$VENV_IMPORTER/bin/python" -m pip download --quiet --only-binary=:all: --python-version 3.13 --dest "$folder/wheels" \
    "${named[@]}" -r "$REPO/meta/ee-requirements.txt"
}
image_parts || say "what an execution environment is built of could not be had: its test is skipped"
alertmanager || say "the Alertmanager could not be had: the tests of rulebooks are skipped"
command -v java >/dev/null 2>&1 || { say "no Java here: the tests of rulebooks are skipped" && exit 0; }
python="$(real_python 12 11 13)" || die "no Python from 3.11 to 3.13 was found" "Install Debian's python3 and python3-venv."
(make_venv "$VENV_RULEBOOK" "$python" "30 s" no rulebook.txt) || say "ansible-rulebook could not be had: the tests of rulebooks are skipped"
