# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Puts one small fault at a time into a copy of the collection and counts those that the unit tests find.

`mutants.sh` calls it (docs/development.md, Mutants).
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import copy
import fcntl
import hashlib
import json
import os
import random
import resource
import shutil
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, Optional, Union

CODE = Path("plugins")
TESTS = Path("tests/unit/plugins")
# For each area: what is mutated, each file with its own tests (of that name first, then of the other rules that it joins), and the
# tests of all its files. Files for a server are not here: their tests are in tests/integration.
AREAS: dict[str, tuple[dict[str, str], list[str]]] = {
    "quorum": ({"module_utils/common/quorum.py": "quorum"}, []),
    "decision": (
        {
            f"plugin_utils/decision/{file}.py": tests
            for file, tests in {
                "checks/outage": "outage",
                "checks/preflight": "preflight hosts relaxed_preflight",
                "conditions/machine": "health contract_conditions status",
                "decide": "addons decide failure recovery remediation removal scaling strays",
                "remediation/replacement": "remediation gates repair retry witnesses",
                "remediation/retry": "retry",
                "remediation/second_voter": "recovery",
                "removal/leadership": "leadership",
                "removal/one_machine": "removal decide hooks",
                "removal/whole_control_plane": "deletion hooks ownership",
                "rollout/gates": "gates",
                "rollout/scaling": "scaling rollout selection",
                "rollout/selection": "selection",
                "rollout/uptodate": "uptodate",
            }.items()
        },
        [],
    ),
    "store": (
        {
            f"plugin_utils/store/{file}.py": tests
            for file, tests in {
                "file/disk": "disk concurrency",
                "file/store": "objects",
                "journal": "journal",
                "kubernetes/applied": "applied",
                "read_once": "read_once",
            }.items()
        },
        ["plugin_utils/store/file"],
    ),
    "lock": (
        {
            "plugin_utils/processes/identity.py": "identity",
            **{
                f"plugin_utils/store/lock/{file}.py": tests
                for file, tests in {
                    "any_store": "holding",
                    "file_lock": "holding",
                    "marks": "marks",
                    "start_renewer": "renewal",
                }.items()
            },
        },
        ["plugin_utils/store/lock"],
    ),
}
# Minutes each: killed at every point at which a process may be killed.
DESELECTED = ["plugin_utils/store/lock/test_races.py::test_killed_at_any_step_of_taking_and_releasing"]
PAIRS = (
    *((ast.Lt, ast.LtE), (ast.Gt, ast.GtE), (ast.Eq, ast.NotEq), (ast.Is, ast.IsNot), (ast.In, ast.NotIn)),
    *((ast.And, ast.Or), (ast.Add, ast.Sub), (ast.Mult, ast.FloorDiv)),
)
SWAPPED = {one: other for pair in PAIRS for one, other in (pair, pair[::-1])}
SWAPPED_CALLS = {"any": "all", "all": "any", "min": "max", "max": "min"}
# What people read is not mutated: tests ask for what a text must contain, not for its wording or length.
TEXT_CALLS = {"clip", "shortened"}
KILLED, BY_TIME, SURVIVED = "killed", "killed by time", "survived"


class Mutant(NamedTuple):
    """One fault: the text at these offsets of a file, in bytes, becomes another."""

    file: str
    line: int
    start: int
    end: int
    was: str
    becomes: str

    def title(self) -> str:
        """Return it in one line."""
        return f"{self.file}:{self.line}: {' '.join(self.was.split())} -> {self.becomes}"


# --- the faults ------------------------------------------------------------------------------------------------------


def faults(node: ast.AST) -> Iterator[Union[ast.expr, ast.stmt]]:
    """Yield what may stand in the place of an expression or statement."""

    def changed(**fields: object) -> Union[ast.expr, ast.stmt]:
        other = copy.copy(node)
        for name, value in fields.items():
            setattr(other, name, value)
        return other  # type: ignore[return-value]

    called = isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
    if isinstance(node, ast.Compare):
        for i, operator in enumerate(node.ops):
            yield changed(ops=[*node.ops[:i], SWAPPED[type(operator)](), *node.ops[i + 1 :]])
    elif isinstance(node, (ast.BoolOp, ast.BinOp)) and type(node.op) in SWAPPED:
        yield changed(op=SWAPPED[type(node.op)]())
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield node.operand
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield ast.Constant(not node.value)
    elif isinstance(node, ast.Constant) and isinstance(node.value, int):
        yield ast.Constant(node.value + 1)
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in SWAPPED_CALLS:
        yield changed(func=ast.Name(SWAPPED_CALLS[node.func.id]))
    elif isinstance(node, ast.Return) and node.value and not isinstance(node.value, ast.Constant):
        yield ast.Return(ast.Constant(None))
    elif called or isinstance(node, (ast.Raise, ast.AugAssign)):
        yield ast.Pass()


def conditions(node: ast.AST) -> list[ast.expr]:
    """Return the conditions that a node has, each of which becomes always and never true."""
    if isinstance(node, (ast.If, ast.IfExp)):
        return [node.test]
    return node.ifs if isinstance(node, ast.comprehension) else []


def visited(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the node and all below it but texts for people, annotations and decorators."""
    if isinstance(node, ast.JoinedStr):
        return
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in TEXT_CALLS:
        return
    yield node
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns", "decorator_list"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from visited(child)


def mutants_of(file: str, source: str) -> list[Mutant]:
    """Return all mutants of a module, in the order of its lines."""
    starts = [0]
    for text in source.encode().splitlines(keepends=True):
        starts.append(starts[-1] + len(text))
    found = set()
    for node in visited(ast.parse(source)):
        places = [(node, other) for other in faults(node)]
        places += [(each, ast.Constant(value)) for each in conditions(node) for value in (True, False)]
        for place, other in places:
            assert isinstance(place, (ast.expr, ast.stmt)) and place.end_lineno and place.end_col_offset is not None
            start = starts[place.lineno - 1] + place.col_offset
            end = starts[place.end_lineno - 1] + place.end_col_offset
            text = ast.unparse(ast.fix_missing_locations(other))
            becomes = text if isinstance(other, (ast.stmt, ast.Constant)) else f"({text})"
            found.add(Mutant(file, place.lineno, start, end, source.encode()[start:end].decode(), becomes))
    return sorted(found, key=lambda each: each[1:])


# --- the tests of one mutant -----------------------------------------------------------------------------------------


def tests_of(file: str, names: str, common: list[str]) -> list[str]:
    """Return the tests that a file's mutants meet, its own first."""
    package = TESTS.joinpath(*Path(file).parts[:2])
    found = {name: sorted(package.rglob(f"test_{name}.py")) for name in names.split()}
    missing = [name for name, paths in found.items() if not paths]
    if missing:
        sys.exit(f"{file}: no test_{missing[0]}.py in {package}")
    own = [each.as_posix() for paths in found.values() for each in paths]
    others = [(TESTS / each).as_posix() for each in common]
    return list(dict.fromkeys(own + others)) + [f"--deselect={(TESTS / each).as_posix()}" for each in DESELECTED]


def run_tests(arguments: list[str], seconds: float, compiled: bool = False) -> tuple[Optional[int], float]:
    """Run pytest in a fork of this process, up to the first failure.

    Return its status, or None where it was still at it after that many seconds of the clock, and the processor's seconds.
    Only the first run, without a fault, leaves compiled modules.
    """
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    child = os.fork()
    if child == 0:
        os.setsid()
        null = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(null, stream)
        sys.dont_write_bytecode = not compiled
        import pytest

        os._exit(int(pytest.main(["-x", "-q", "--tb=no", "--hypothesis-profile=ci", *arguments])))
    end, status = time.monotonic() + seconds, None
    while status is None and time.monotonic() < end:
        ended, code = os.waitpid(child, os.WNOHANG)
        status = code if ended else None
        time.sleep(0 if ended else 0.02)
    # What a mutant left behind goes with it.
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    if status is None:
        os.waitpid(child, 0)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return status, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


class Area:
    """A part of the code, its sample, and what was found of it so far on this tree."""

    def __init__(self, name: str, seed: int, work: Path, stamp: str) -> None:
        self.name = name
        self.files, self.common = AREAS[name]
        self.sources = {file: (CODE / file).read_text(encoding="utf-8") for file in self.files}
        self.mutants = [mutant for file in self.files for mutant in mutants_of(file, self.sources[file])]
        random.Random(seed).shuffle(self.mutants)
        self.record = work / f"{name}-{stamp}.jsonl"
        lines = self.record.read_text(encoding="utf-8").splitlines() if self.record.exists() else []
        self.found = {Mutant(*mutant): status for mutant, status in map(json.loads, lines)}

    def run(self, count: int) -> None:
        """Try the first so many mutants of the shuffled list, but those whose outcome is known."""
        left = [mutant for mutant in self.mutants[:count] if mutant not in self.found]
        tests = list(
            dict.fromkeys(
                test for mutant in left for test in tests_of(mutant.file, self.files[mutant.file], self.common)
            )
        )
        begin = time.monotonic()
        status, cpu = run_tests(tests, 3600, compiled=True) if left else (0, 0)
        if status != 0:
            sys.exit(f"{self.name}: its tests fail without a mutant; see: pytest {' '.join(tests)}")
        seconds = 60 + 10 * (time.monotonic() - begin)
        print(f"{self.name}: {len(left)} mutants; all their tests take {cpu:.1f} s of the processor", flush=True)
        for number, mutant in enumerate(left, start=1):
            path = CODE / mutant.file
            source, times = self.sources[mutant.file].encode(), path.stat()
            path.write_bytes(source[: mutant.start] + mutant.becomes.encode() + source[mutant.end :])
            try:
                status, _cpu = run_tests(tests_of(mutant.file, self.files[mutant.file], self.common), seconds)
            finally:
                path.write_bytes(source)
                # The compiled module of the first run is right again.
                os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
            outcome = BY_TIME if status is None else KILLED if status else SURVIVED
            self.found[mutant] = outcome
            with self.record.open("a", encoding="utf-8") as record:
                record.write(json.dumps([mutant, outcome]) + "\n")
            print(f"{self.name} {number}/{len(left)}: {outcome}: {mutant.title()}", flush=True)

    def row(self) -> str:
        """Return the area's row of the table."""
        count = Counter(self.found.values())
        killed, tried = count[KILLED] + count[BY_TIME], len(self.found)
        score = f"{100 * killed / tried:.0f} %" if tried else "-"
        return f"| {self.name} | {len(self.mutants)} | {tried} | {killed} | {count[BY_TIME]} | {count[SURVIVED]} | {score} |"


def main() -> None:
    """Try the mutants, then print the score and those that survived."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("tree", type=Path, help="the collection's files")
    parser.add_argument("work", type=Path, help="the folder for the copy and for what was found")
    parser.add_argument("areas", nargs="*", metavar="AREA", help=f"of {', '.join(AREAS)}; all where none is given")
    parser.add_argument("--sample", type=int, default=40, help="mutants of each area (%(default)s); 0: all")
    parser.add_argument("--seed", type=int, default=1, help="of the order in which they are taken (%(default)s)")
    given = parser.parse_intermixed_args()
    for name in given.areas:
        if name not in AREAS:
            parser.error(f"no area {name}; there are {', '.join(AREAS)}")
    digest = hashlib.sha256(Path(__file__).read_bytes())
    read = (CODE, TESTS, Path("tests/support"))
    for path in sorted(each for part in read for each in (given.tree / part).rglob("*.py")):
        digest.update(path.relative_to(given.tree).as_posix().encode() + path.read_bytes())
    work, tree = given.work.resolve(), given.tree.resolve()
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    sys.dont_write_bytecode = True
    areas = []
    for name in given.areas or AREAS:
        # A copy for each area: areas may run beside each other.
        target = work / name / "ansible_collections/kubeadm/control_plane"
        target.mkdir(parents=True, exist_ok=True)
        lock = os.open(work / f"{name}.lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            sys.exit(f"{name}: another run works on it in {work}; wait for it")
        shutil.rmtree(target)
        shutil.copytree(tree, target, ignore=shutil.ignore_patterns("__pycache__", ".git"))
        os.chdir(target)
        root = str(target.parents[2])
        os.environ["PYTHONPATH"] = os.environ["ANSIBLE_COLLECTIONS_PATH"] = root
        # Each fork has it already; what is mutated is imported in the fork.
        sys.path[:0] = [root]
        for module in ("pytest", "hypothesis.strategies", "jsonschema", "yaml", "ansible.module_utils.basic"):
            __import__(module)
        area = Area(name, given.seed, work, digest.hexdigest()[:16])
        area.run(given.sample or len(area.mutants))
        sys.path.remove(root)
        areas.append(area)
    rows = ["| area | mutants | tried | killed | of these by time | survived | score |", "| --- |" + " --- |" * 6]
    print("\n".join(rows + [area.row() for area in areas]))
    for area in areas:
        for mutant, outcome in sorted(area.found.items()):
            if outcome == SURVIVED:
                print(f"survived: {mutant.title()}")


if __name__ == "__main__":
    main()
