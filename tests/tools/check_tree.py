# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The repository's own rules: what no other tool checks.

Each rule is a function from the collection's root to a list of problems, each naming the file, what is wrong and what to do.
Usage: check_tree.py ROOT. tests/unit/test_collection.py runs the same rules on the installed artefact, and breaks each of
them once to see that it is noticed.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Callable

import yaml

COPYRIGHT = "# Copyright: (c) 2026, kubeadm.control_plane contributors"
LICENCE = (
    "# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)"
)
HEADER = (COPYRIGHT, LICENCE, "# SPDX-License-Identifier: GPL-3.0-or-later")

HEADER_SUFFIXES = {".cfg", ".in", ".ini", ".j2", ".py", ".sh", ".toml", ".yaml", ".yml"}
HEADER_NAMES = {".ansible-lint", ".gitignore", ".yamllint", "Makefile"}
# Written by antsibull-changelog, by ansible-galaxy, or kept exactly as somebody else printed them.
NO_HEADER = re.compile(
    r"^(changelogs/changelog\.yaml|MANIFEST\.json|FILES\.json|examples/manifests/.*|tests/.*/(data|fixtures|bad|golden)/.*)$"
)
LONGEST_PYTHON_FILE = 400
FENCED = re.compile(r"^ *```.*?^ *```", re.MULTILINE | re.DOTALL)
# As ansible-test has it. Ruff's own rule can't say so: with that length it would ask for longer lines elsewhere (SIM108).
LONGEST_LINE = 160
# What writes to a terminal, and the one file that may have it: there every text is made legible (module_utils/common/legible.py).
SHOWS = {
    re.compile(
        r"^\s*(from ansible\.utils\.display|import ansible\.utils\.display)", re.MULTILINE
    ): "plugins/plugin_utils/calls/screen.py",
    re.compile(r"\bimport .*\bAnsibleModule\b"): "plugins/module_utils/node/module.py",
}
SECONDS_AT_HOME = ("plugins/module_utils/common/settings.py", "plugins/module_utils/common/kubernetes_facts.py")
SECONDS = re.compile(r"^((?:[A-Z_]+, )*[A-Z_]*SECONDS) = \(?\d", re.MULTILINE)
HOW_OFTEN = re.compile(r"(?:[A-Z_]*_)?(?:POLL|PAUSES?|TICK)_SECONDS")
GUARD = "kubeadm.control_plane.guard"
# The guard itself, and what works on a cluster that is no inventory host yet, or on no cluster at all, and says so itself.
OWN_GUARD = ("guard", "adopt", "install")

# Written in pieces, so that this file doesn't break its own rule.
FORBIDDEN = {
    "a path of one machine": re.compile(
        "/wor" + r"k/(main|shared|\.library)\b|/tmp/" + "kcp|/ro" + r"ot/\.(cache|pyenv|local)\b"
        "|/ho" + r"me/(?!user\b|alice\b|\$|\{)[a-z]+/"
    ),
    "the host name of a package registry": re.compile(
        "|".join(
            (
                r"\bpypi\." + "org",
                "python" + r"hosted\.org",
                "registry\\." + r"npmjs\.org",
                r"\bproxy\." + r"golang\.org",
                r"\bdeb\." + r"debian\.org",
                r"\bsecurity\." + r"debian\.org",
                "galaxy" + r"\.ansible\.com",
            )
        )
    ),
}

Problems = list[str]


class _Loader(yaml.SafeLoader):
    """Reads Ansible's YAML; what a tag of Ansible's means doesn't matter here."""


_Loader.add_multi_constructor("!", lambda loader, suffix, node: None)


def read_yaml(file: Path) -> Any:
    """The one document of a file, or None for one that isn't there or isn't YAML (yamllint reports that)."""
    try:
        return yaml.load(file.read_text(encoding="utf-8"), Loader=_Loader)
    except (OSError, yaml.YAMLError):
        return None


def files_of(root: Path) -> Iterator[Path]:
    """Every file of the repository: what git knows or would take, or all of a tree that isn't a repository."""
    if (root / ".git").exists():
        listed = subprocess.run(
            ["git", "-C", str(root), "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
            check=True,
            capture_output=True,
        )
        names = sorted(set(listed.stdout.decode().split("\0")) - {""})
        candidates = [root / name for name in names]
    else:
        candidates = sorted(path for path in root.rglob("*") if "__pycache__" not in path.parts)
    return (path for path in candidates if path.is_file() and not path.is_symlink())


def _name(root: Path, file: Path) -> str:
    return file.relative_to(root).as_posix()


def metadata(root: Path) -> Problems:
    """galaxy.yml (MANIFEST.json in an installed artefact) and meta/runtime.yml say what the project promises."""
    problems = []
    if (root / "galaxy.yml").exists():
        galaxy = read_yaml(root / "galaxy.yml") or {}
    else:
        manifest = read_yaml(root / "MANIFEST.json") or {}
        galaxy = manifest.get("collection_info") or {}
    expected = {"namespace": "kubeadm", "name": "control_plane", "license": ["GPL-3.0-or-later"], "dependencies": {}}
    for key, value in expected.items():
        if galaxy.get(key) != value:
            problems.append(f"galaxy.yml: {key} is {galaxy.get(key)!r}, and has to be {value!r}")
    version = str(galaxy.get("version", ""))
    if not re.fullmatch(r"\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?", version):
        problems.append(f"galaxy.yml: version {version!r} is not a semantic version")
    runtime = read_yaml(root / "meta" / "runtime.yml") or {}
    oldest = runtime.get("requires_ansible")
    if oldest != ">=2.19.0":
        problems.append(f"meta/runtime.yml: requires_ansible is {oldest!r}, and has to be '>=2.19.0'")
    changelog = read_yaml(root / "changelogs" / "changelog.yaml") or {}
    fragments = sorted((root / "changelogs" / "fragments").glob("*.y*ml"))
    if not fragments and version not in (changelog.get("releases") or {}):
        problems.append(f"changelogs: no fragment, and changelog.yaml has no release {version}: write a fragment")
    released = {name for each in (changelog.get("releases") or {}).values() for name in each.get("fragments", [])}
    taken = [each.name for each in fragments if each.name in released]
    problems += [f"changelogs/fragments/{each}: a release has a fragment of this name: take another" for each in taken]
    execution_environment = read_yaml(root / "meta" / "execution-environment.yml") or {}
    for kind, file in (execution_environment.get("dependencies") or {}).items():
        if not (root / str(file)).is_file():
            problems.append(f"meta/execution-environment.yml: {kind} names {file}, which doesn't exist")
    return problems


def modules_of(root: Path) -> list[str]:
    """The names of all modules."""
    return sorted(file.stem for file in (root / "plugins" / "modules").glob("*.py") if file.stem != "__init__")


def action_group(root: Path) -> Problems:
    """The group control_plane has every module, other groups only modules; a group that a module's documentation names exists."""
    runtime = read_yaml(root / "meta" / "runtime.yml") or {}
    groups = runtime.get("action_groups") or {}
    modules = modules_of(root)
    problems = [
        f"meta/runtime.yml: module {name} is missing in action_groups.control_plane"
        for name in modules
        if name not in (groups.get("control_plane") or [])
    ]
    for group, names in groups.items():
        problems += [
            f"meta/runtime.yml: action_groups.{group} has {name}, which is no module"
            for name in names
            if name not in modules
        ]
        if names != sorted(set(names)):
            problems.append(
                f"meta/runtime.yml: action_groups.{group} is not in alphabetical order, or names a module twice"
            )
    for file in sorted((root / "plugins" / "doc_fragments").glob("*.py")):
        for group in re.findall(r"\bgroup/kubeadm\.control_plane\.(\w+)", file.read_text(encoding="utf-8")):
            if group not in groups:
                problems.append(
                    f"{_name(root, file)}: names the action group {group}, which meta/runtime.yml doesn't have"
                )
    return problems


def action_plugins(root: Path) -> Problems:
    """An action plugin is documented by the module of its name; a module without code has an action plugin."""
    problems = []
    actions = {file.stem for file in (root / "plugins" / "action").glob("*.py") if file.stem != "__init__"}
    modules = modules_of(root)
    problems += [
        f"plugins/action/{name}.py: no module plugins/modules/{name}.py documents it"
        for name in sorted(actions - set(modules))
    ]
    for name in modules:
        source = (root / "plugins" / "modules" / f"{name}.py").read_text(encoding="utf-8")
        if name not in actions and not re.search(r"^def main\(", source, re.MULTILINE):
            problems.append(f"plugins/modules/{name}.py: neither a main() nor an action plugin of the same name")
    return problems


def roles(root: Path) -> Problems:
    """Every role says what it takes and what it is for."""
    problems = []
    for role in sorted(path for path in (root / "roles").glob("*") if path.is_dir()):
        for needed in ("README.md", "meta/main.yml", "meta/argument_specs.yml"):
            if not (role / needed).is_file():
                problems.append(f"roles/{role.name}/{needed} is missing")
        specs = (read_yaml(role / "meta" / "argument_specs.yml") or {}).get("argument_specs") or {}
        for entry, spec in specs.items():
            where = f"roles/{role.name}/meta/argument_specs.yml: entry point {entry}"
            if not (role / "tasks" / f"{entry}.yml").is_file():
                problems.append(f"{where} has no tasks/{entry}.yml")
            if not (spec or {}).get("short_description"):
                problems.append(f"{where} has no short_description")
        problems += _bare_booleans(root, role, specs)
    return problems


def _bare_booleans(root: Path, role: Path, specs: dict[str, Any]) -> Problems:
    """From the command line (-e x=false) a variable is text, and `false` as text is true, or no condition at all."""
    options = {name: option for spec in specs.values() for name, option in ((spec or {}).get("options") or {}).items()}
    names = "|".join(sorted(name for name, option in options.items() if option.get("type") == "bool"))
    condition = re.compile(rf"\b(?:if|not|and|or|when:|-) ({names})\b(?! *\| *bool)(?![:=])")
    return [
        f"{_name(root, file)}: `{found}` is a condition without `| bool`"
        for file in sorted((role / "tasks").rglob("*.yml") if names else ())
        for found in condition.findall(file.read_text(encoding="utf-8"))
    ]


def _mappings(node: Any) -> Iterator[dict[Any, Any]]:
    if isinstance(node, dict):
        yield node
        for value in node.values():
            yield from _mappings(value)
    elif isinstance(node, list):
        for value in node:
            yield from _mappings(value)


def playbooks(root: Path) -> Problems:
    """Every playbook begins with the guard and leaves the connection to the inventory (a cluster's host says local)."""
    problems = []
    for file in sorted((root / "playbooks").glob("*.yml")):
        plays = read_yaml(file)
        if not isinstance(plays, list) or not plays:
            problems.append(f"{_name(root, file)}: not a list of plays")
            continue
        problems += [
            f"{_name(root, file)}: a play has `connection:`, which would win over the inventory's connection: remove it"
            for play in plays
            if "connection" in play
        ]
        if file.stem in OWN_GUARD:
            continue
        if plays[0].get("ansible.builtin.import_playbook", plays[0].get("import_playbook")) not in (GUARD, "guard.yml"):
            problems.append(f"{_name(root, file)}: does not begin with `ansible.builtin.import_playbook: {GUARD}`")
    return problems


def dangerous_keywords(root: Path) -> Problems:
    """No keyword that doesn't do what it seems to do, see docs/development.md."""
    problems = []
    everywhere = {"any_errors_fatal": "goes on after an unreachable host", "throttle": "goes on after a failure"}
    in_providers = {"add_host", "group_by", "meta", "run_once"}
    for folder in ("roles", "playbooks", "extensions/molecule"):
        for file in sorted((root / folder).rglob("*.yml")):
            provider = folder == "roles" and file.relative_to(root / folder).parts[0].startswith("machine_")
            is_tasks = "tasks" in file.parts or "handlers" in file.parts
            for mapping in _mappings(read_yaml(file)):
                for keyword in sorted(map(str, mapping)):
                    if keyword in everywhere:
                        problems.append(
                            f"{_name(root, file)}: `{keyword}` {everywhere[keyword]}: use serial and max_fail_percentage"
                        )
                    if provider and is_tasks and keyword.removeprefix("ansible.builtin.") in in_providers:
                        problems.append(
                            f"{_name(root, file)}: `{keyword}` in a provider role, which runs for many clusters at once"
                        )
    return problems


def headers(root: Path) -> Problems:
    """Every source file begins with the copyright, the licence and its SPDX identifier."""
    problems = []
    for file in files_of(root):
        name = _name(root, file)
        first_line = file.open("rb").readline()[:2]
        wanted = file.suffix in HEADER_SUFFIXES or file.name in HEADER_NAMES or first_line == b"#!"
        if not wanted or NO_HEADER.match(name) or file.stat().st_size == 0:
            continue
        lines = [line.rstrip() for line in file.read_text(encoding="utf-8").splitlines()[:10]]
        while lines and (lines[0] in ("", "---", "{#", "{#-") or lines[0].startswith(("#!", "# -*-"))):
            del lines[0]
        if file.suffix == ".j2":
            lines = [f"# {line.lstrip('{#-').strip()}" for line in lines]
        if tuple(lines[:3]) != HEADER:
            problems.append(f"{name}: does not begin with the three lines of copyright, licence and SPDX identifier")
    return problems


def python_files(root: Path) -> Problems:
    """What the house asks of Python beyond ruff and mypy."""
    problems = []
    for file in files_of(root):
        name = _name(root, file)
        if file.suffix != ".py":
            continue
        text = file.read_text(encoding="utf-8")
        length = text.count("\n")
        if length > LONGEST_PYTHON_FILE:
            problems.append(
                f"{name}: {length} lines, and {LONGEST_PYTHON_FILE} is the limit: split it by what it is about"
            )
        for number, line in enumerate(text.split("\n"), 1):
            if len(line) > LONGEST_LINE:
                problems.append(f"{name}:{number}: {len(line)} characters, and {LONGEST_LINE} is the limit")
        if not name.startswith("plugins/"):
            continue
        if text.strip() and "from __future__ import annotations" not in text and file.name != "__init__.py":
            problems.append(f"{name}: without `from __future__ import annotations`")
        shebang = text.startswith("#!/usr/bin/python\n")
        for pattern, only in SHOWS.items():
            if name != only and pattern.search(text):
                problems.append(f"{name}: what it shows is not made legible: use {only}")
        if name.startswith("plugins/modules/") != shebang and file.name != "__init__.py":
            problems.append(f"{name}: modules, and only they, begin with #!/usr/bin/python")
    return problems


def settings_at_home(root: Path) -> Problems:
    """A duration that users may notice stands in settings.py; how often something is looked at, beside its code; a fact of Kubernetes' own, with these."""
    return [
        f"{_name(root, file)}: {each} belongs into {SECONDS_AT_HOME[0]}, or is called …_POLL_SECONDS, …_PAUSE_SECONDS or …_TICK_SECONDS"
        for file in sorted((root / "plugins").rglob("*.py"))
        if _name(root, file) not in SECONDS_AT_HOME
        for names in SECONDS.findall(file.read_text(encoding="utf-8"))
        for each in names.split(", ")
        if each.endswith("SECONDS") and not HOW_OFTEN.fullmatch(each)
    ]


def width_of_prose(root: Path) -> Problems:
    """Pages are legible in a terminal. Tables and code may be wider, and what a tool writes."""
    problems = []
    for file in files_of(root):
        if file.suffix != ".md" or file.name == "CHANGELOG.md" or file.parent.name == "LICENSES":
            continue
        text = FENCED.sub(lambda code: "\n" * code.group().count("\n"), file.read_text(encoding="utf-8"))
        for number, line in enumerate(text.split("\n"), 1):
            if len(line) > LONGEST_LINE and not line.startswith("|") and " " in line[2:]:
                problems.append(f"{_name(root, file)}:{number}: {len(line)} characters of prose: break the line at 160")
    return problems


def forbidden_strings(root: Path) -> Problems:
    """Nothing in the repository knows the machine it was written on, or where packages come from."""
    problems = []
    for file in files_of(root):
        try:
            lines = file.read_text(encoding="utf-8").splitlines()
        except UnicodeDecodeError:
            continue
        for number, line in enumerate(lines, 1):
            for what, pattern in FORBIDDEN.items():
                found = pattern.search(line)
                if found:
                    problems.append(f"{_name(root, file)}:{number}: {what}: {found.group()}")
    return problems


def litter(root: Path) -> Problems:
    """No file that a tool left behind: a collections/ tree of links makes an artefact that can't be installed."""
    bad = re.compile(
        r"(^|/)(collections|\.ansible|__pycache__|\.pytest_cache|\.mypy_cache|\.ruff_cache)/|\.pyc$|\.orig$|\.rej$|\.tar\.gz$"
    )
    names = (_name(root, file) for file in files_of(root))
    return [f"{name}: left behind by a tool: delete it" for name in names if bad.search(name)]


RULES: tuple[Callable[[Path], Problems], ...] = (
    metadata,
    action_group,
    action_plugins,
    roles,
    playbooks,
    dangerous_keywords,
    headers,
    python_files,
    settings_at_home,
    width_of_prose,
    forbidden_strings,
    litter,
)


def main(root: Path) -> int:
    problems = [f"{problem} [{rule.__name__}]" for rule in RULES for problem in rule(root)]
    print("\n".join(problems) or "no problems")
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
