# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A small crictl over containerd's own client. Text only.

Debian 12 has none, and kubeadm before 1.31 calls it.
"""

from __future__ import annotations

CRICTL = r"""#!/bin/sh
# A front over `ctr -n k8s.io` for what kubeadm asks of crictl (info, pods, stopp, rmp, pull, inspecti, images) and
# for examining a machine (ps, rmi). It is not cri-tools: other commands and options are refused, never guessed.
set -eu
quiet=
template=
while [ $# -gt 0 ]; do
    case "$1" in
        -r | --runtime-endpoint | -i | --image-endpoint | -t | --timeout | -c | --config) shift 2 ;;
        --runtime-endpoint=* | --image-endpoint=* | --timeout=* | --config=* | -D | --debug | -D=* | --debug=*) shift ;;
        *) break ;;
    esac
done
[ $# -gt 0 ] || { echo "crictl: no command given" >&2; exit 2; }
command=$1
shift
words=
while [ $# -gt 0 ]; do
    case "$1" in
        -q | --quiet | -a | --all | -f | --force | --no-trunc) [ "$1" = -q ] || [ "$1" = --quiet ] && quiet=1 ; shift ;;
        -o | --output) shift 2 ;;
        --template) template=$2; shift 2 ;;
        -*) echo "crictl: this small front doesn't know $command $1" >&2; exit 2 ;;
        *) words="$words $1"; shift ;;
    esac
done
k8s() { ctr -n k8s.io "$@"; }
full() {
    # containerd stores docker.io/library/NAME for what people call NAME.
    case "$1" in
        */*.*/* | *.*/* | localhost/*) echo "$1" ;;
        */*) echo "docker.io/$1" ;;
        *) echo "docker.io/library/$1" ;;
    esac
}
sandboxes() { k8s containers ls -q 'labels."io.cri-containerd.kind"==sandbox'; }
label() { k8s containers info "$1" | sed -n "s/^ *\"$2\": \"\(.*\)\",\{0,1\}$/\1/p" | head -n 1; }
members() {
    uid=$(label "$1" 'io.kubernetes.pod.uid')
    k8s containers ls -q "labels.\"io.kubernetes.pod.uid\"==$uid"
}
case "$command" in
    info)
        k8s version > /dev/null
        case "$template" in
            *runtimeName*) echo containerd ;;
            *sandboxImage*) sed -n 's/^ *sandbox_image = "\(.*\)"/\1/p' /etc/containerd/config.toml ;;
            *) echo '{"status":{"conditions":[{"type":"RuntimeReady","status":true}]}}' ;;
        esac
        ;;
    version) k8s version ;;
    pods)
        for id in $(sandboxes); do
            if [ -n "$quiet" ]; then echo "$id"; else
                echo "$id $(label "$id" 'io.kubernetes.pod.namespace')/$(label "$id" 'io.kubernetes.pod.name')"
            fi
        done
        ;;
    ps)
        k8s tasks ls
        ;;
    stopp)
        for sandbox in $words; do
            for id in $(members "$sandbox"); do
                k8s tasks kill -s SIGKILL "$id" > /dev/null 2>&1 || true
                k8s tasks rm -f "$id" > /dev/null 2>&1 || true
            done
        done
        ;;
    rmp)
        for sandbox in $words; do
            for id in $(members "$sandbox"); do
                k8s tasks rm -f "$id" > /dev/null 2>&1 || true
                k8s containers rm "$id" > /dev/null
            done
        done
        ;;
    images) if [ -n "$quiet" ]; then k8s images ls -q; else k8s images ls; fi ;;
    inspecti)
        for image in $words; do
            name=$(full "$image")
            [ -n "$(k8s images ls -q "name==$name")" ] || { echo "no such image: $image" >&2; exit 1; }
            echo "{\"status\":{\"repoTags\":[\"$name\"]}}"
        done
        ;;
    pull) for image in $words; do k8s images pull "$(full "$image")" > /dev/null; done ;;
    rmi) for image in $words; do k8s images rm "$(full "$image")"; done ;;
    *) echo "crictl: this small front doesn't know $command" >&2; exit 2 ;;
esac
"""
