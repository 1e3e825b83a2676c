# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stands in for ssh and the hosts of a cluster made by hand: what modules there answer, from a file for each address.

Usage, as ssh's executable: stand_in_adopted.py FOLDER ssh-options… ADDRESS command. A file has what node_adoption_info returns, and the private ``keys``,
which are sealed here. Claims are noted beside.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from stand_in_machine import called

from ansible_collections.kubeadm.control_plane.plugins.module_utils.common import sealed

Object = dict[str, Any]


def answer_of(module: str, arguments: Object, known: Object, claims: Path) -> Object:
    """What a module answers on a host."""
    if module == "node_adoption_info":
        if known["adoption"]:
            known["adoption"]["sealed"] = sealed.seal(arguments["transport_key"], json.dumps(known["keys"]).encode())
        return {key: known[key] for key in ("observation", "adoption", "worker")}
    if module == "node_observe":
        return {"observation": known["observation"]}
    if module == "host_claim":
        if not arguments["_ansible_check_mode"]:
            with claims.open("a") as file:
                file.write(f"{arguments['machine']}\n")
        return {"changed": True}
    return {"failed": True, "msg": f"{module} is not known here"}


def main() -> int:
    """Answer one call."""
    folder = Path(sys.argv[1])
    address = next((each for each in sys.argv[2:] if (folder / f"{each}.json").exists()), "")
    payload = sys.stdin.read()
    if not address or "_ansiballz_main(" not in payload:
        sys.stderr.write(f"ssh: connect to host {address} port 22: Connection refused\n")
        return 255
    module, arguments = called(payload)
    known = json.loads((folder / f"{address}.json").read_text())
    sys.stdout.write(json.dumps(answer_of(module, arguments, known, folder / "claims")) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
