#!/usr/bin/env bash
# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Newer releases than those the machine image and PyPI have, from Debian's coming release or else from unstable, into the cache:
#   newer/etcd        etcd, etcdctl and etcdutl
#   newer/kubernetes  an API server of custom resources (tests/support/newer_api_server.go), built with the newer Go; and kubectl
# Nothing is installed on this machine. apt verifies what it fetches, by the archive's signature, with a state of its own.
#   newer.sh             has both, once; a second run takes no time
#   newer.sh --renew     what Debian has by now

set -euo pipefail
source "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"

NEWER="$CACHE/newer"
SUITES=(forky sid)
KEYRING=/usr/share/keyrings/debian-archive-keyring.gpg
APISERVER=golang-k8s-apiextensions-apiserver-dev

[ -r "$KEYRING" ] || die "newer releases can't be verified: $KEYRING is missing" "Install Debian's package debian-archive-keyring."
use_venv "$(main_venv)"

work="$NEWER/.work"
mkdir -p "$NEWER"
exec 9>"$NEWER/lock"
flock 9
[ "${1:-}" != --renew ] || rm -rf "$NEWER/etcd" "$NEWER/kubernetes"
source_of() { sha256sum <"$REPO/tests/support/newer_api_server.go"; }
[ "$(cat "$NEWER/kubernetes/source" 2>/dev/null)" = "$(source_of)" ] || rm -rf "$NEWER/kubernetes"
if [ -e "$NEWER/etcd" ] && [ -e "$NEWER/kubernetes" ]; then
  exit 0
fi
mirror="$(python -c "from ansible_collections.$FQCN.plugins.module_utils.nspawn.image import debian; print(debian.find_mirror())")"
# What a killed run left behind, too.
rm -rf "$work"
trap 'rm -rf "$work"' EXIT

# apt_of SUITE COMMAND...: apt that knows one suite and has nothing installed. A mirror that is a copy of some day is as good as today's.
apt_of() {
  local state="$work/$1"
  shift
  apt-get -qq --yes -oDir::Etc::SourceList="$state/sources.list" -oDir::Etc::SourceParts=/dev/null -oDir::Etc::PreferencesParts=/dev/null \
    -oDir::State::Lists="$state/lists" -oDir::State::Status="$state/status" -oDir::Cache="$state" -oAPT::Sandbox::User=root \
    -oAcquire::Check-Valid-Until=false -oAcquire::Languages=none -oAPT::Install-Recommends=false "$@"
}
know() { # know SUITE: fetches its package lists
  local state="$work/$1"
  [ ! -e "$state/status" ] || return 0
  mkdir -p "$state/lists/partial" "$state/archives/partial"
  printf 'deb [signed-by=%s] %s %s main\n' "$KEYRING" "$mirror" "$1" >"$state/sources.list"
  : >"$state/status"
  apt_of "$1" update >&2
}
# fetch FOLDER PATTERN PACKAGE...: unpacks those packages, and those that they need whose names match, of the first suite that has all.
fetch() {
  local folder="$1" pattern="$2" suite name wanted
  shift 2
  for suite in "${SUITES[@]}"; do
    know "$suite"
    apt_of "$suite" install --simulate "$@" >/dev/null 2>&1 || continue
    mapfile -t wanted < <(apt_of "$suite" install --simulate "$@" | sed -nE "s/^Inst ($pattern) .*/\1/p")
    mkdir -p "$folder" "$work/$suite/fetched"
    (cd "$work/$suite/fetched" && apt_of "$suite" download "${wanted[@]}" >&2)
    for name in "${wanted[@]}"; do dpkg-deb --extract "$work/$suite/fetched/${name}"_*.deb "$folder"; done
    echo "$suite"
    return
  done
  die "Debian's ${SUITES[*]} lack one of: $*" "Try again later with tests/tools/newer.sh; the tests that need it are skipped until then."
}

have_etcd() {
  local suite
  suite="$(fetch "$work/etcd" 'etcd-(server|client)' etcd-server etcd-client)"
  mkdir "$work/etcd.made"
  cp "$work/etcd/usr/bin"/etcd* "$work/etcd.made/"
  "$work/etcd.made/etcd" --version
  mv "$work/etcd.made" "$NEWER/etcd"
  echo "from Debian $suite"
}

have_kubernetes() {
  local suite root="$work/kubernetes" go version gopath stamp
  suite="$(fetch "$root" 'golang-.*-dev|golang-[0-9.]+-(go|src)|kubectl' "$APISERVER" golang-go kubernetes-client)"
  mkdir "$work/kubernetes.made"
  cp "$root/usr/bin/kubectl" "$work/kubernetes.made/"
  go="$(find "$root/usr/lib" -maxdepth 1 -name 'go-*')"
  gopath="$root/usr/share/gocode"
  # The libraries of Kubernetes 1.N are versions 0.N.
  version="$(apt_of "$suite" install --simulate "$APISERVER" | sed -nE "s/^Inst $APISERVER \(0\.([0-9]+\.[0-9]+).*/\1/p")"
  stamp="k8s.io/component-base/version"
  # The toolchain and the sources are those that were fetched; nothing else is asked for anywhere.
  env GOROOT="$go" GOPATH="$gopath" GO111MODULE=off GOTOOLCHAIN=local GOPROXY=off GOFLAGS='' CGO_ENABLED=0 GOCACHE="$work/go-cache" HOME="$work" \
    "$go/bin/go" build -trimpath -o "$work/kubernetes.made/newer-api-server" \
    -ldflags "-s -w -X $stamp.gitVersion=v1.$version -X $stamp.gitMajor=1 -X $stamp.gitMinor=${version%%.*}" "$REPO/tests/support/newer_api_server.go"
  source_of >"$work/kubernetes.made/source"
  mv "$work/kubernetes.made" "$NEWER/kubernetes"
  echo "v1.$version from Debian $suite"
}

[ -e "$NEWER/etcd" ] || long newer-etcd.log "a newer etcd from Debian ${SUITES[*]}" "20 s" have_etcd
[ -e "$NEWER/kubernetes" ] ||
  long newer-kubernetes.log "a newer API server of custom resources, built from Debian's packages" "5 to 10 minutes" have_kubernetes
