# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Explore configurations, several at once, and print what was found."""

from __future__ import annotations

import argparse
import gc
import json
import multiprocessing
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from model import configuration as control_plane
from model.explore import Explorer, Result
from model.mutants import MUTANTS, Mutant, NotApplicable
from model.mutants import hunt as hunt_in
from model.workers import rollouts
from model.workers.explore import WorkersExplorer

BOUNDED = (*control_plane.BOUNDED, *rollouts.BOUNDED)
FULL = (*control_plane.FULL, *rollouts.FULL)

_WIDTH = 160
_HEADER = (
    f"{'configuration':<34}{'states':>10}{'transitions':>13}{'decisions':>11}{'depth':>7}{'seconds':>9}  ends with"
)


def explorer(name: str, most_failures: int = 1) -> Explorer:
    """The exploration of the configuration of that name, of a control plane or of workers."""
    for each in rollouts.FULL:
        if each.name == name:
            return WorkersExplorer(each, most_failures)
    [configuration] = (each for each in control_plane.FULL if each.name == name)
    return Explorer(configuration, most_failures)


def line(result: Result) -> str:
    """One line about one exploration."""
    ends = ", ".join(f"{count} {action}" for action, count in sorted(result.endings.items()) if count)
    figures = (
        f"{result.states:>10}{result.transitions:>13}{result.decisions:>11}{result.depth:>7}{result.seconds:>9.1f}"
    )
    return f"{result.name:<34}{figures}  {ends}" + ("" if result.complete else " (INCOMPLETE)")


def explore(job: tuple[str, int]) -> Result:
    """Explore the configuration of that name, up to that many failures."""
    name, most = job
    # Millions of small tuples that stay: looking through them for garbage again and again only costs.
    gc.set_threshold(200_000, 50, 1000)
    return explorer(name, most).run()


def run(names: Sequence[str], most_failures: int, processes: int, stop: bool = False) -> list[Result]:
    """Explore all of these names, print each as it is done with its counter-examples; with `stop` no more than up to the first of these."""
    print(_HEADER)
    results = []
    jobs = [(name, most_failures) for name in names]
    with multiprocessing.Pool(processes) as pool:
        for result in pool.imap_unordered(explore, jobs, chunksize=1):
            print(line(result), flush=True)
            for failure in result.failures:
                print(f"\n  COUNTER-EXAMPLE {failure.text()}\n", flush=True)
            results.append(result)
            if stop and result.failures:
                break
    return results


def hunt_one(mutant: Mutant) -> tuple[str, bool, float, str]:
    """Hunt one mutant: its name, whether it was found, the seconds that took, and by what."""
    begin = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="model-mutant-") as folder:
        try:
            found, output = hunt_in(mutant, Path(folder))
        except NotApplicable as problem:
            return mutant.name, False, 0.0, str(problem)
    first = next(
        (each.partition("COUNTER-EXAMPLE ")[2] for each in output.splitlines() if "COUNTER-EXAMPLE" in each), ""
    )
    return mutant.name, found, time.monotonic() - begin, first or output[-2000:]


def hunt(processes: int) -> int:
    """Hunt every mutant; returns 1 where one was not found."""
    missed = 0
    with multiprocessing.Pool(processes) as pool:
        for name, found, seconds, how in pool.imap(hunt_one, MUTANTS, chunksize=1):
            missed += not found
            print(f"{'found ' if found else 'MISSED'} {name:<72}{seconds:>6.1f} s  {how}", flush=True)
    print(f"{len(MUTANTS)} wrong rules, {len(MUTANTS) - missed} found, {missed} missed")
    return 1 if missed else 0


def written(value: Any, indent: int = 0) -> str:
    """JSON in which whatever fits on a line is on one: a snapshot is read by people, too."""
    line = json.dumps(value, sort_keys=True)
    if len(line) + indent <= _WIDTH or not isinstance(value, (dict, list)) or not value:
        return line
    inside = " " * (indent + 1)
    if isinstance(value, dict):
        entries = [f"{inside}{json.dumps(key)}: {written(each, indent + 1)}" for key, each in sorted(value.items())]
    else:
        entries = [f"{inside}{written(each, indent + 1)}" for each in value]
    return ("{\n%s\n%s}" if isinstance(value, dict) else "[\n%s\n%s]") % (",\n".join(entries), " " * indent)


def main(arguments: Sequence[str]) -> int:
    """The command line; returns 1 where a counter-example was found."""
    parser = argparse.ArgumentParser(prog="python -m model", description=__doc__)
    parser.add_argument("--full", action="store_true", help="the complete exploration (up to 20 minutes on two cores)")
    names = [each.name for each in FULL]
    parser.add_argument(
        "--configuration",
        action="append",
        choices=names,
        metavar="NAME",
        default=[],
        help="only this one; may be given again",
    )
    parser.add_argument(
        "--failures", type=int, default=1, help="how many counter-examples of each configuration are shown"
    )
    parser.add_argument("--stop", action="store_true", help="end with the first counter-example")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--write", type=Path, help="a folder that each counter-example is written to as a file")
    parser.add_argument(
        "--mutants",
        action="store_true",
        help="put each deliberately wrong rule into a copy of the code instead, and see that it is found",
    )
    options = parser.parse_args(arguments)
    if options.mutants:
        return hunt(options.processes)
    chosen = options.configuration or [each.name for each in (FULL if options.full else BOUNDED)]
    begin = time.monotonic()
    results = run(chosen, options.failures, options.processes, options.stop)
    failures = [failure for result in results for failure in result.failures]
    if options.write:
        for number, failure in enumerate(failures, 1):
            document = {"assertion": failure.problem, "trace": failure.trace, "snapshot": failure.snapshot}
            (options.write / f"found-{number}.json").write_text(written(document) + "\n")
    states, decisions = (sum(getattr(each, key) for each in results) for key in ("states", "decisions"))
    print(f"{states} states, {decisions} decisions, {time.monotonic() - begin:.0f} s, {len(failures)} counter-examples")
    if not all(result.complete for result in results):
        print("not everything was explored", file=sys.stderr)
        return 1
    return 1 if failures else 0
