# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Makes sure that what is tested is what a user installs.

`make` sets KUBEADM_CONTROL_PLANE_UNDER_TEST to the folder that the built artefact was installed into. Without it (an editor, a
quick `pytest` in a checkout that lies in .../ansible_collections/kubeadm/control_plane) the checkout is tested, and the
report says so.
"""

from __future__ import annotations

import importlib
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# Tests, too: what fails in them is explained like in any other.
pytest.register_assert_rewrite("store_promises")

PACKAGE = "ansible_collections.kubeadm.control_plane.plugins.module_utils"

# On a busy machine an example may take any time: no test fails for that.
searching = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("searching", searching)
# The same examples in each run: what `make test` says of a commit is true tomorrow.
settings.register_profile("repeatable", searching, derandomize=True)
settings.load_profile("repeatable")


def _tested() -> Path:
    paths = list(importlib.import_module(PACKAGE).__path__)
    return Path(paths[0]).parents[1]


def pytest_report_header() -> str:
    """Say at the head of the report what is tested."""
    return f"collection under test: {_tested()}"


def pytest_sessionstart() -> None:
    """Refuse to test anything but the installed artefact when that was asked for."""
    wanted = os.environ.get("KUBEADM_CONTROL_PLANE_UNDER_TEST")
    if not wanted:
        return
    tested = _tested()
    if tested != Path(wanted) or not (tested / "MANIFEST.json").is_file():
        pytest.exit(f"the tests would import {tested}, which is not the artefact installed in {wanted}", returncode=3)
