# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Answers for the machines and the cloud of a fleet, as they were recorded of one cluster (recorded_fleet.py); nothing is kept between two calls.

Usage, as ssh's executable: replayed.py FOLDER ssh options… ADDRESS command; as the cloud's command line: replayed.py FOLDER cloud machine
list --cluster NAMESPACE/NAME. FOLDER has the recording. Only what a pass asks for in which nothing is to be done is known.
"""

from __future__ import annotations

import json
import re
import sys
import time
from pathlib import Path
from typing import Any

# The recorded cluster; every object, file and Node of it has this in its name.
NAME = "fleet-0000"
FILE, CALLS = "recorded.json", "calls"


def name_of(number: int) -> str:
    """The name of a cluster of the fleet."""
    return f"{NAME[:-4]}{number:04}"


def renamed(text: str, number: int) -> str:
    """What was recorded, as of another cluster: its names and its addresses."""
    text = text.replace(NAME, name_of(number))
    return re.sub(r"198\.51\.100\.(\d+)", rf"10.{number >> 8}.{number & 255}.\1", text)


def number_of(address: str) -> int:
    """Which cluster a machine's address belongs to."""
    _ten, high, low, _last = (int(each) for each in address.split("."))
    return high << 8 | low


def observed(recorded: dict[str, Any], address: str) -> dict[str, Any]:
    """What node_observe answers on the machine at an address, at this moment."""
    last = address.rpartition(".")[2]
    answer: dict[str, Any] = json.loads(renamed(recorded["answers"][last], number_of(address)))
    observation = answer["observation"]
    now = time.gmtime()
    observation["machine"]["clock"] = time.strftime("%Y-%m-%dT%H:%M:%SZ", now)
    observation["api"]["date"] = time.strftime("%a, %d %b %Y %H:%M:%S GMT", now)
    return answer


def main() -> int:
    """Answer one call."""
    folder, kind, words = Path(sys.argv[1]), sys.argv[2], sys.argv[3:]
    recorded = json.loads((folder / FILE).read_text())
    if kind == "cloud":
        cluster = words[words.index("--cluster") + 1]
        sys.stdout.write(renamed(recorded["cloud"], int(cluster[-4:])))
        return 0
    address = next((each for each in words if re.fullmatch(r"10\.\d+\.\d+\.\d+", each)), "")
    module = re.search(r"ansible_module=['\"][\w.]*\.(\w+)['\"]", sys.stdin.read())
    called = module.group(1) if module else "nothing"
    with (folder / CALLS).open("a") as calls:
        calls.write(f"{address} {called}\n")
    if not address or called != "node_observe":
        sys.stdout.write(json.dumps({"failed": True, "msg": f"{called} was not recorded"}))
        return 0
    sys.stdout.write(json.dumps(observed(recorded, address)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
