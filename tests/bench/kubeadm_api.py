# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What converting a full kubeadm configuration costs; prints JSON. The limit is 5 ms of CPU for one conversion.

CPU time, not wall-clock time: the figure is the code's, whatever else the machine does. No root, no cluster.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
import typing as t
from pathlib import Path

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.documents.yaml_files import read_documents
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.kubeadm.configuration import any_form, for_version

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

from kubeadm_values import golden

LIMIT_MILLISECONDS = 5.0
ROUNDS = 200


def milliseconds(call: t.Callable[[], object]) -> float:
    """The median CPU time of a call."""
    times = []
    for _round in range(ROUNDS):
        begin = time.process_time()
        call()
        times.append(time.process_time() - begin)
    return round(statistics.median(times) * 1000, 3)


def main() -> int:
    """Measure; 1 if a conversion takes longer than the limit."""
    old, new = golden("init", 3), golden("init", 4)
    old = old.replace("kubernetesVersion: v1.30.0", "kubernetesVersion: v1.31.0")
    older = read_documents(old)
    hub = any_form.read(new).hub
    losses = ("initConfiguration", "clusterConfiguration")
    result = {
        "conversion": {
            "hub to v1beta4, validated": milliseconds(lambda: for_version.convert(hub, "v1.31.0").documents),
            "hub to v1beta3": milliseconds(lambda: for_version.write(hub, "v1.30.0", allowed_losses=losses).documents),
            "v1beta3 to hub": milliseconds(lambda: any_form.read(older)),
            "v1beta3 to v1beta4, validated": milliseconds(lambda: for_version.convert(older, "v1.31.0").documents),
            "v1beta3 to v1beta4, validated, as text": milliseconds(lambda: for_version.convert(old, "v1.31.0").text),
        },
        "unit": "ms of CPU, median",
        "limit": LIMIT_MILLISECONDS,
    }
    print(json.dumps(result, indent=2))
    return 1 if max(result["conversion"].values()) > LIMIT_MILLISECONDS else 0


if __name__ == "__main__":
    sys.exit(main())
