# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Three bare machines and a package repository, with what a user writes for them.

    demo_hosts.py FOLDER COMMAND...

The repository is served while COMMAND runs in FOLDER, and the seconds it took are printed. What is in FOLDER already stays.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
import typing as t
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

import yaml
from bare_hosts import CRI, BareHosts, address_of_controller, repository_of
from host_pool import GROUP, pool_documents
from package_repository import serving
from workspace import INVENTORY, cluster_documents

NAME, HOSTS, ENDPOINT, PORT = "prod", 3, "10.222.0.250", 8443
SKIPPED = ("addon/coredns", "addon/kube-proxy")


def make(folder: Path) -> None:
    """Make hosts and repository, and write inventory and manifest."""
    hosts = BareHosts(folder, "host")
    print("Making three machines with Debian, Python and SSH, and nothing else ...", flush=True)
    hosts.make(HOSTS)
    print(
        "Packing kubeadm, kubelet, kubectl and cri-tools into a signed repository, with packages of Debian ...",
        flush=True,
    )
    repository = repository_of(hosts, "keepalived", "haproxy")
    repository.stop()
    documents = cluster_documents(NAME, replicas=HOSTS)
    needs = {**hosts.needs, "skipPhases": list(SKIPPED)}
    pool_documents(documents, {"group": GROUP, "kubeadm": needs}, ENDPOINT, PORT)
    write(folder, "clusters/prod.yaml", *documents)
    write(
        folder,
        "group_vars/kubeadm_pool.yml",
        {"host_kubernetes_repository_key": str(repository.key), "host_containerd_cri": CRI},
    )
    write(
        folder,
        "group_vars/control_planes.yml",
        {"machine_inventory_endpoint_role": "kubeadm.control_plane.endpoint_keepalived"},
    )
    (folder / "inventory.clusters.yml").write_text(INVENTORY)
    # Last: with it the hosts are complete.
    hosts.inventory()


def write(folder: Path, path: str, *documents: t.Any) -> None:
    """Write a file of YAML documents."""
    (folder / path).parent.mkdir(exist_ok=True)
    (folder / path).write_text(yaml.safe_dump_all(documents, sort_keys=False))


def main() -> int:
    """Make what is not there, and run the command."""
    folder = Path(sys.argv[1])
    if not (folder / "hosts.yml").exists():
        # What was interrupted.
        for name in ("packages", "packed", "debian", "archives", "bare"):
            shutil.rmtree(folder / name, ignore_errors=True)
        make(folder)
    with serving(folder / "packages/repository", address_of_controller()) as url:
        write(folder, "group_vars/all.yml", {"host_kubernetes_repository": url})
        begin = time.monotonic()
        status = subprocess.run(sys.argv[2:], cwd=folder, check=False).returncode
        print(f"{' '.join(sys.argv[2:])} took {time.monotonic() - begin:.0f} s.", flush=True)
        return status


if __name__ == "__main__":
    sys.exit(main())
