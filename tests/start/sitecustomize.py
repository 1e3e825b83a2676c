# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What each ``ansible-playbook`` of the tests would find out anew is kept between them, as Python keeps its bytecode.

Python runs this at its start wherever this folder is in PYTHONPATH (tests/tools/lib.sh). The tests start a thousand runs, and one with
nothing to do spends a fifth on compiling collections, an eighth on what the files import that are sent to a machine, a tenth on packing
these, a twentieth on the names of Ansible's own plugins, and a tenth on looking for garbage; each module that runs here compiles what
was packed. What is kept is found by the text that it was told from. A sixth of such a run is compiling regular expressions and the methods of
dataclasses, which each program has the same ones of each time.
"""

from __future__ import annotations

import _imp
import _sre
import atexit
import gc
import importlib.util
import os
import sys
import zipimport
from importlib.machinery import SourceFileLoader

# At run time not imported: every Python that the tests start reads this file, and typing is half of what it would load.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec
    from types import CodeType, ModuleType
    from typing import Any, Callable, Optional

# Nearly all that a short run makes is there until its end: to look through it again and again, in each worker, and when it ends
# anyway only costs.
gc.set_threshold(100_000, 50, 1000)
atexit.register(gc.freeze)


def kept(kind: str, text: bytes, tell: Callable[[], Any], name: str = "") -> Any:
    """Return what ``tell`` says of a text, from beside the bytecode where it has said so before; plain values alone.

    Of what is large only the last is kept that has a ``name``.
    """
    import hashlib
    import marshal

    if sys.pycache_prefix is None:
        return tell()
    digest = hashlib.sha256(text).hexdigest()
    path = os.path.join(sys.pycache_prefix, "kept", kind, name or digest)
    try:
        with open(path, "rb") as file:
            told_of, told = marshal.load(file)
        if told_of == digest:
            return told
    except (OSError, ValueError):
        pass
    told = tell()
    # Several processes may do this at the same time; one that may not write does without, as with bytecode.
    written = f"{path}.{os.getpid()}"
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(written, "wb") as file:
            marshal.dump((digest, told), file)
        os.replace(written, path)
    except OSError:
        pass
    return told


class Compiled:
    """What a program, told by its file's name, compiled of texts: in one file, as it is much and small; plain values and code alone."""

    MOST = 3000

    def __init__(self) -> None:
        # Neither Python 3.9, nor what is no file but a text: each such text would have its own.
        arguments = getattr(sys, "orig_argv", ())
        script = len(arguments) > 1 and not arguments[1].startswith("-") and sys.pycache_prefix
        name = f"{os.path.basename(arguments[1])}-{sys.hexversion:x}" if script else ""
        self.path = os.path.join(sys.pycache_prefix or "", "kept", "compiled", name) if name else ""
        self.told: Optional[dict[Any, Any]] = None
        self.process = os.getpid()

    def of(self, text: Any, tell: Callable[[], Any]) -> Any:
        """Return what ``tell`` makes of a text, or made of it before."""
        if self.told is None:
            self.told = self._read()
        if text not in self.told:
            told = tell()
            if len(self.told) >= self.MOST:
                return told
            if self.path and os.getpid() == self.process:
                atexit.unregister(self._write)
                atexit.register(self._write)
            self.told[text] = told
        return self.told[text]

    def _read(self) -> dict[Any, Any]:
        import marshal

        try:
            with open(self.path, "rb") as file:
                return dict(marshal.load(file))
        except (OSError, ValueError, EOFError, TypeError):
            return {}

    def _write(self) -> None:
        import marshal

        written = f"{self.path}.{os.getpid()}"
        try:
            os.makedirs(os.path.dirname(self.path), exist_ok=True)
            with open(written, "wb") as file:
                marshal.dump(self.told, file)
            os.replace(written, self.path)
        except OSError:
            pass


compiled_before = Compiled()


def change_expressions(module: ModuleType) -> None:
    """Have regular expressions taken from what was compiled before."""
    compiled = module.compile

    def compile_once(pattern: Any, flags: int = 0) -> Any:
        # A text of another class may be equal to one that it isn't the same as.
        if type(pattern) not in (str, bytes) or type(flags) is not int or flags & module.SRE_FLAG_DEBUG:
            return compiled(pattern, flags)

        def tell() -> Any:
            parsed = module._parser.parse(pattern, flags)
            groups = [None] * parsed.state.groups
            for name, number in parsed.state.groupdict.items():
                groups[number] = name
            code = [int(each) for each in module._code(parsed, flags)]
            return (
                int(flags | parsed.state.flags),
                code,
                parsed.state.groups - 1,
                parsed.state.groupdict,
                tuple(groups),
            )

        return _sre.compile(pattern, *compiled_before.of((pattern, flags), tell))

    module.compile = compile_once  # type: ignore[attr-defined]


def change_dataclasses(module: ModuleType) -> None:
    """Have the methods of dataclasses, which are made of texts, taken from what was compiled before."""

    def execute(text: str, *places: Any) -> None:
        exec(compiled_before.of(text, lambda: compile(text, "<string>", "exec", dont_inherit=True)), *places)  # noqa: S102

    module.exec = execute  # type: ignore[attr-defined]


def change_archives() -> None:
    """Have it kept what was compiled of a module's archive: each run of a module here has an archive of its own, of the same files."""
    compiled = zipimport._compile_source  # type: ignore[attr-defined]

    def compile_source(path: str, source: bytes) -> Any:
        text = b"%b %b" % (importlib.util.MAGIC_NUMBER, source)
        code = kept("archives", text, lambda: compiled(path, source))
        # Where the archive lies now, as Python does with bytecode that was moved.
        _imp._fix_co_filename(code, path)
        return code

    zipimport._compile_source = compile_source  # type: ignore[attr-defined]


def change_loaders(module: ModuleType) -> None:
    """Have Ansible's loaders take a file's bytecode from where Python keeps it, and parse a collection's meta/runtime.yml once."""
    base: Any = module._AnsibleCollectionPkgLoaderBase
    compiled_here, parsed = base.get_code, module._meta_yml_to_dict

    def get_code(self: Any, fullname: str) -> Optional[CodeType]:
        # Packages without a file of their own have no path.
        if not self._compiled_code and self._source_code_path:
            self._compiled_code = SourceFileLoader(fullname, self._source_code_path).get_code(fullname)
        return compiled_here(self, fullname)

    def meta_yml_to_dict(text: Any, content_id: Any) -> Any:
        return kept("runtime", text if isinstance(text, bytes) else text.encode(), lambda: parsed(text, content_id))

    base.get_code = get_code
    module._meta_yml_to_dict = meta_yml_to_dict  # type: ignore[attr-defined]


def change_builder(module: ModuleType) -> None:
    """Have it kept what the files import that are sent with a module, which only their syntax trees tell; and the archive of them."""
    finder = module.ModuleDepFinder
    found = finder.__init__

    def find(self: Any, name: str, source: Any, *args: Any, **options: Any) -> None:
        # Of the module itself the tree is asked for, too; the oldest ansible-core comes with a tree.
        if not isinstance(source, bytes) or not (args or options):
            found(self, name, source, *args, **options)
            return

        def tell() -> Any:
            found(self, name, source, *args, **options)
            return None if self.embeds else (self.submodules, self.optional_imports)

        told = kept("imports", f"{module.__version__} {name} {args} {options}\n".encode() + source, tell)
        if told is None:
            found(self, name, source, *args, **options)
        else:
            (self.submodules, self.optional_imports), self.embeds = told, set()

    finder.__init__ = find
    pack = module._find_module_utils

    def pack_once(**given: Any) -> Any:
        text, name, place = contents(module, given)
        if not text or os.path.exists(place):
            return pack(**given)
        packed: list[Any] = []

        def tell() -> Optional[bytes]:
            packed.append(pack(**given))
            try:
                with open(place, "rb") as file:
                    return file.read()
            except OSError:
                return None

        told = kept("packed", text, tell, name)
        if told and not packed:
            # Another worker may be at it, too.
            written = f"{place}.{os.getpid()}"
            os.makedirs(os.path.dirname(place), exist_ok=True)
            with open(written, "wb") as file:
                file.write(told)
            os.replace(written, place)
        return packed[0] if packed else pack(**given)

    module._find_module_utils = pack_once  # type: ignore[attr-defined]


def contents(module: ModuleType, given: dict[str, Any]) -> tuple[bytes, str, str]:
    """Return what a module's archive is made of, its name, and where this run looks for it; nothing where that isn't known."""
    path = given["module_path"]
    try:
        name = f"{module._get_ansible_module_fqn(path)}-{given['module_compression']}-none"
    except ValueError:
        return b"", "", ""
    root, _, _ = path.rpartition("/plugins/modules/")
    # What lies elsewhere may import anything, and a folder that a user has named may have other files of Ansible's.
    own = name.startswith("ansible_collections.kubeadm.control_plane.") if root else name.startswith("ansible.modules.")
    places = {
        os.path.realpath(each) for each in module.module_utils_loader._get_paths(subdirs=False) if os.path.isdir(each)
    }
    if not own or places - {os.path.realpath(module._MODULE_UTILS_PATH)}:
        return b"", "", ""
    parts = [f"{module.__version__} {sys.version_info} {path} {name}\n".encode(), given["b_module_data"]]
    for folder, folders, files in os.walk(os.path.join(root, "plugins", "module_utils") if root else ""):
        folders.sort()
        for each in sorted(files):
            file_path = os.path.join(folder, each)
            with open(file_path, "rb") as file:
                parts += [file_path.encode(), file.read()]
    return b"\0".join(parts), name, os.path.join(module.C.DEFAULT_LOCAL_TMP, "ansiballz_cache", name)


def change_configuration(module: ModuleType) -> None:
    """Have Ansible's list of its own settings parsed once."""
    manager = module.ConfigManager
    read = manager._read_config_yaml_file

    def read_once(self: Any, path: str) -> Any:
        with open(path, "rb") as file:
            return kept("settings", file.read(), lambda: read(self, path))

    manager._read_config_yaml_file = read_once


CHANGES = {
    "re._compiler": change_expressions,
    "dataclasses": change_dataclasses,
    "ansible.config.manager": change_configuration,
    "ansible.utils.collection_loader._collection_finder": change_loaders,
    "ansible.executor.module_common": change_builder,
}


class WhenLoaded:
    """A finder that changes modules of Ansible once they are imported, and costs a process without Ansible nothing."""

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> Optional[ModuleSpec]:
        """Return the spec of a module that is changed when it has run; of others None."""
        change = CHANGES.pop(fullname, None)
        if change is None:
            return None
        spec = importlib.util.find_spec(fullname)
        if spec is None or spec.loader is None:
            return spec
        execute = spec.loader.exec_module

        def exec_module(module: ModuleType) -> None:
            execute(module)
            change(module)

        spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


for loaded in set(CHANGES) & set(sys.modules):
    CHANGES.pop(loaded)(sys.modules[loaded])
sys.meta_path.insert(0, WhenLoaded())
change_archives()
