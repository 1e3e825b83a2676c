# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Each of the repository's rules notices when it is broken; that they hold on the tree is asked by lint.sh."""

from __future__ import annotations

import importlib.util
import shutil
import sys
import types
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
HEADER = "\n".join(Path(__file__).read_text(encoding="utf-8").splitlines()[:3]) + "\n"


def _load(name: str) -> types.ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / "tests" / "tools" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # As where the tool is run: words.py imports check_tree.py.
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


RULES = (*_load("check_tree").RULES, *_load("words").RULES)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """The smallest tree that keeps every rule."""
    files = {
        "galaxy.yml": (
            "namespace: kubeadm\nname: control_plane\nversion: 1.2.3\nlicense: [GPL-3.0-or-later]\ndependencies: {}\n"
        ),
        "meta/runtime.yml": "requires_ansible: '>=2.19.0'\naction_groups:\n  control_plane: [thing]\n",
        "changelogs/fragments/first.yml": "release_summary: The first.\n",
        "page.md": "# Page\n",
        "plugins/modules/thing.py": "from __future__ import annotations\n\n\ndef main():\n    pass\n",
        "plugins/action/thing.py": "from __future__ import annotations\n",
        "plugins/doc_fragments/_thing.py": (
            "from __future__ import annotations\n\nGROUP = 'group/kubeadm.control_plane.control_plane'\n"
        ),
        "roles/machine_test/meta/main.yml": "galaxy_info: {}\n",
        "roles/machine_test/meta/argument_specs.yml": (
            "argument_specs:\n  main:\n    short_description: A role\n    options: {machine_test_open: {type: bool}}\n"
        ),
        "roles/machine_test/tasks/main.yml": "- name: Nothing\n  ansible.builtin.debug:\n",
        "playbooks/guard.yml": "- name: Guard\n  hosts: all\n",
        "playbooks/verb.yml": "- ansible.builtin.import_playbook: guard.yml\n- name: Do\n  hosts: control_planes\n",
    }
    for name, text in files.items():
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        shebang = "#!/usr/bin/python\n" if name.startswith("plugins/modules/") else ""
        file.write_text(shebang + HEADER + text, encoding="utf-8")
    (tmp_path / "roles/machine_test/README.md").write_text("# A role\n", encoding="utf-8")
    return tmp_path


def _problems(root: Path) -> str:
    return "\n".join(problem for rule in RULES for problem in rule(root))


def test_the_smallest_tree_has_no_problems(tree):
    assert _problems(tree) == ""


@pytest.mark.parametrize(
    ("name", "old", "new", "expected"),
    [
        ("galaxy.yml", "1.2.3", "one", "version 'one'"),
        ("galaxy.yml", "{}", "{a.b: '*'}", "dependencies"),
        ("meta/runtime.yml", "2.19.0", "2.20.0", "requires_ansible"),
        ("meta/runtime.yml", "[thing]", "[]", "module thing is missing"),
        ("meta/runtime.yml", "[thing]", "[thing, other]", "other, which is no module"),
        ("meta/runtime.yml", "[thing]", "[thing, thing]", "names a module twice"),
        ("plugins/doc_fragments/_thing.py", "plane.control_plane", "plane.other", "names the action group other"),
        ("playbooks/verb.yml", "import_playbook: guard.yml", "import_playbook: other.yml", "does not begin with"),
        ("playbooks/verb.yml", "  hosts: control_planes", "  hosts: all\n  connection: local", "`connection:`"),
        ("playbooks/verb.yml", "  hosts: control_planes", "  hosts: all\n  any_errors_fatal: true", "any_errors_fatal"),
        ("roles/machine_test/tasks/main.yml", "  ansible.builtin.debug:", "  ansible.builtin.add_host:", "add_host"),
        ("roles/machine_test/tasks/main.yml", "debug:", "debug:\n  throttle: 1", "throttle"),
        ("roles/machine_test/tasks/main.yml", "debug:", "debug:\n  run_once: true", "run_once"),
        ("roles/machine_test/tasks/main.yml", "debug:", "debug:\n  when: machine_test_open", "without `| bool`"),
        ("roles/machine_test/meta/argument_specs.yml", "short_description", "description", "no short_description"),
        ("roles/machine_test/meta/argument_specs.yml", "main:", "other:", "no tasks/other.yml"),
        ("plugins/action/thing.py", "from __future__ import annotations", "import os", "__future__"),
        ("plugins/action/thing.py", "SPDX-License-Identifier", "Licence", "SPDX identifier"),
        ("plugins/action/thing.py", "annotations\n", "annotations\n" + "\n" * 400, "split it"),
        (
            "plugins/action/thing.py",
            "annotations\n",
            "annotations\nfrom ansible.utils.display import Display\n",
            "legible",
        ),
        (
            "plugins/modules/thing.py",
            "annotations\n",
            "annotations\nfrom ansible.module_utils.basic import AnsibleModule\n",
            "legible",
        ),
        ("plugins/action/thing.py", "annotations\n", "annotations\n\nWAIT_SECONDS = 5\n", "belongs into"),
        ("plugins/modules/thing.py", "#!/usr/bin/python\n", "", "begin with #!/usr/bin/python"),
        ("plugins/modules/thing.py", "main():\n", f'main():\n    """{"Return " * 13}it."""\n', "has 14 words"),
        ("plugins/modules/thing.py", "main():\n", 'main():\n    """Whether it is."""\n', "is a riddle"),
        ("plugins/modules/thing.py", "main():\n", 'main():\n    """Ask nobody."""\n', "'nobody': plainer is"),
        ("plugins/action/thing.py", "annotations\n", 'annotations\n\nSAID = "run it once more"\n', "plainer is: again"),
        ("roles/machine_test/tasks/main.yml", "Nothing", "Go on with it", "plainer is: continues"),
        ("page.md", "# Page", "# The way\n\nIt is looked at.", "plainer is: an observation"),
        ("page.md", "# Page", f"# Page\n\n{'word ' * 33}", "characters of prose"),
        ("playbooks/guard.yml", "all", "all # /tmp/" + "kcp/x", "a path of one machine"),
        ("playbooks/guard.yml", "all", "all # https://py" + "pi.org/simple", "package registry"),
    ],
)
def test_a_broken_rule_is_noticed(tree, name, old, new, expected):
    file = tree / name
    text = file.read_text(encoding="utf-8")
    assert old in text
    file.write_text(text.replace(old, new), encoding="utf-8")
    assert expected in _problems(tree)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("changelogs/fragments/first.yml", "write a fragment"),
        ("roles/machine_test/README.md", "README.md is missing"),
        ("roles/machine_test/meta/argument_specs.yml", "argument_specs.yml is missing"),
        ("plugins/modules/thing.py", "documents it"),
    ],
)
def test_a_missing_file_is_noticed(tree, name, expected):
    (tree / name).unlink()
    assert expected in _problems(tree)


def test_a_fragment_of_a_release_is_noticed(tree):
    released = "releases:\n  1.0.0:\n    fragments: [first.yml]\n"
    (tree / "changelogs" / "changelog.yaml").write_text(HEADER + released, encoding="utf-8")
    assert "first.yml: a release has a fragment of this name" in _problems(tree)


def test_a_module_without_code_needs_an_action_plugin(tree):
    shutil.rmtree(tree / "plugins" / "action")
    module = tree / "plugins" / "modules" / "thing.py"
    module.write_text(module.read_text(encoding="utf-8").replace("def main", "def other"), encoding="utf-8")
    assert "neither a main() nor an action plugin" in _problems(tree)


def test_what_tools_leave_behind_is_noticed(tree):
    (tree / "collections").mkdir()
    (tree / "collections" / "link.yml").write_text(HEADER, encoding="utf-8")
    assert "left behind by a tool" in _problems(tree)
