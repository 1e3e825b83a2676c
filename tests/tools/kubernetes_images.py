# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The machine images that the lab needs, as JSON for image.yml; with --digest one word that differs where one of them does."""

from __future__ import annotations

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

import lab_kubernetes

if sys.argv[1:] == ["--digest"]:
    print(lab_kubernetes.digest())
else:
    shown = [
        {"version": each.version, "source": each.source, "binaries": each.binaries, "debian": each.release}
        for each in lab_kubernetes.REQUESTS
    ]
    print(json.dumps(shown))
