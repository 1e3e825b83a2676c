# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Counts what the steps of a run did and prints the closing line.

``--junit FILE`` turns one pytest report into one tab-separated line (name, seconds, passed, failed, skipped);
``--steps FILE`` reads such lines, prints one line a step and the closing line. A run whose status isn't 0 never gets a
closing line without a failure in it.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from xml.etree import ElementTree


def count_report(report: Path, status: int) -> tuple[int, int, int]:
    """Passed, failed and skipped of a pytest report; a report that is missing is one failure."""
    if not report.exists():
        return 0, 1, 0
    passed = failed = skipped = 0
    for suite in ElementTree.parse(report).getroot().iter("testsuite"):
        bad = int(suite.get("failures", 0)) + int(suite.get("errors", 0))
        skips = int(suite.get("skipped", 0))
        passed += int(suite.get("tests", 0)) - bad - skips
        failed += bad
        skipped += skips
    if status != 0 and failed == 0:
        failed = 1
    return passed, failed, skipped


def closing_line(passed: int, failed: int, skipped: int, seconds: float) -> str:
    """The last line, as pytest writes it."""
    parts = []
    if failed:
        parts.append(f"{failed} failed")
    parts.append(f"{passed} passed")
    if skipped:
        parts.append(f"{skipped} skipped")
    text = f" {', '.join(parts)} in {seconds:.2f}s "
    return text.center(80, "=")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--junit", type=Path)
    parser.add_argument("--name", default="")
    parser.add_argument("--steps", type=Path)
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--status", type=int, required=True)
    arguments = parser.parse_args()

    if arguments.junit:
        counts = count_report(arguments.junit, arguments.status)
        print("\t".join([arguments.name, f"{arguments.seconds:.1f}", *map(str, counts)]))
        return 0

    passed = failed = skipped = 0
    for line in arguments.steps.read_text(encoding="utf-8").splitlines():
        name, seconds, *counts = line.split("\t")
        step_passed, step_failed, step_skipped = (int(count) for count in counts)
        passed += step_passed
        failed += step_failed
        skipped += step_skipped
        print(f"{name:48} {seconds:>8} s  {step_passed:6} passed  {step_failed:4} failed  {step_skipped:4} skipped")
    if arguments.status != 0 and failed == 0:
        # A step ended badly before it could count anything.
        failed = 1
    print(closing_line(passed, failed, skipped, arguments.seconds))
    return 1 if failed or passed == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
