# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rendering of the templates in a KubeadmConfigSpec with a machine's instance data.

A value is put in as it is and is never read as a template. Why: docs/decisions/105-instance-data-filled-in.md.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from typing import Any, Callable, Optional

from ....module_utils.common.violations import SECRET_KEYS, Report, child, item, steps
from ...documents.names import is_dns_subdomain
from ..validate.limits import ENCODINGS
from . import go_template
from .machine_data import BY_NAME, KNOWN, SAMPLE, Object, Values, remedy, value_problem
from .reader import RAW_HINT, Reference, Template, escaped, has_tags, read

# One whole reference and nothing else: what stands beside it in a password or a file may be secret.
_PLAIN = re.compile(r"\{\{-?\s*[\w.]+(?:\[[\w'\"-]+\])*\s*-?\}\}")


_FIX = (
    f"Known are {', '.join(known.names[0] for known in KNOWN.values())} and their other spellings (docs/manifest.md, Instance data). "
    f"{RAW_HINT}."
)
# One text for the whole cluster, needed before there is a machine, or compared with what is observed of each.
_SHARED = re.compile(
    r"(?:^|\.)(?:clusterConfiguration|kubeletConfiguration|kubeProxyConfiguration|skipPhases|patches"
    r"|nodeRegistration\.(?:criSocket|ignorePreflightErrors|imagePullPolicy|taints))(?=[.\[]|$)"
)


# What releases up to 0.9.0 filled in, whatever else a text had in braces.
_FILLED_IN = re.compile(
    r"\{\{-?\s*(?:ds\.meta_data\.local_hostname|ds\.meta_data\.hostname|v1\.local_hostname)\s*-?\}\}"
)


def canonical(text: str) -> str:
    """Return a template in one spelling for each meaning.

    A text that is no template was once handed to the machine with only the host's name filled in: the rest means itself.
    """
    if not has_tags(text):
        return text
    template = read(text)
    if _problems(template):
        return "{{ local_hostname }}".join(escaped(part) for part in _FILLED_IN.split(text))
    return "".join(_spelled(part) if isinstance(part, Reference) else escaped(part) for part in template.parts)


def _spelled(reference: Reference) -> str:
    splits = "".join(f".split({each.separator!r})[{each.index}]" for each in reference.splits)
    return "{{ " + KNOWN[BY_NAME[reference.name]].names[0] + splits + " }}"


def has_templates(value: Any) -> bool:
    """Return whether a value has texts that are filled in, or escaped."""
    return any(has_tags(text) for _path, text in texts(value, ""))


def sample(config: Any) -> Any:
    """Return a KubeadmConfigSpec filled in for no machine in particular.

    The rules of its fields are tried with it. What is no template stays.
    """
    config = with_version(config, go_template.SAMPLE_VERSION, "", Report(""))
    return _mapped(config, "", lambda text, _path: _sampled(text)) if has_templates(config) else config


def _sampled(text: str) -> str:
    template = read(text)
    if _problems(template):
        return text
    # Any part of a value may be anything.
    return "".join(part if isinstance(part, str) else _sample_of(part) for part in template.parts)


def _sample_of(reference: Reference) -> str:
    # Another one for each reference: two paths that differ in it are two files.
    value = SAMPLE[BY_NAME[reference.name]]
    if not reference.splits or value[0].isdigit():
        return value
    return f"{value}{zlib.crc32(repr(reference.splits).encode()):x}"


def is_rendered(value: Any) -> bool:
    """Return whether all texts of a value are templates or plain."""
    return all(not has_tags(text) or not _problems(read(text)) for _path, text in texts(value, ""))


def _problems(template: Template) -> list[tuple[str, int, str]]:
    """Return what is refused in a template whatever the machine: (part, line, rule)."""
    found = [(each.shown, each.line, each.rule) for each in template.problems]
    for each in template.references:
        if each.name not in BY_NAME:
            found.append((each.shown, each.line, "this is no instance data that a machine here has"))
    return found


def texts(value: Any, path: str) -> Iterator[tuple[str, str]]:
    """Yield (path, text) of everything that is rendered."""
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, list):
        for index, entry in enumerate(value):
            yield from texts(entry, item(path, index))
    elif isinstance(value, dict):
        for key, entry in value.items():
            if not is_opaque(value, key):
                yield from texts(entry, child(path, key))


def with_version(config: Any, version: str, path: str, report: Report) -> Any:
    """Return a KubeadmConfigSpec with its files' Go templates rendered.

    Those in Secrets are left to whoever reads them. A content that is refused is reported, and empty then.

    Args:
        config: the KubeadmConfigSpec.
        version: the control plane's, with its "v".
        path: the path of `config`, for messages.
        report: gets what is wrong.
    """
    if not any(go_template.is_template(file) for file in config.get("files") or []):
        return config
    files = []
    for index, file in enumerate(config["files"]):
        if go_template.is_template(file) and not file.get("contentFrom"):
            where = child(item(child(path, "files"), index), "content")
            rest = {key: value for key, value in file.items() if key != "contentFormat"}
            file = {**rest, "content": rendered_version(file.get("content") or "", version, where, report)}
        files.append(file)
    return {**config, "files": files}


def rendered_version(text: str, version: str, path: str, report: Report, secret: str = "") -> str:
    """Return what a Go template becomes, "" where it is refused.

    See with_version(). `secret` names the Secret that it is from, of which nothing is shown.
    """
    result, problems = go_template.render(text, version)
    for each in problems:
        part = _part(each.shown, each.line, path, bool(secret))
        report.add(path, None, f"{secret + ', ' if secret else ''}{part}: {each.rule}", go_template.FIX)
    return "" if problems else result


def validate(config: Object, path: str, report: Report) -> None:
    """Refuse templates in a KubeadmConfigSpec that no machine's data fills in."""
    config = with_version(config, go_template.SAMPLE_VERSION, path, report)
    for where, text in texts(config, path):
        if not has_tags(text):
            continue
        template = read(text)
        for shown, line, rule in _problems(template):
            # Once: the field's own rules say nothing of what it would have become.
            report.unreadable(report.written(where), None, f"{_part(shown, line, where)}: {rule}", _FIX)
        # Where nothing is filled in and nothing escaped, the text is no template.
        if not _problems(template) and tuple(template.parts) != (text,) and _SHARED.search(where[len(path) :]):
            rule = "a template is filled in for each machine, and this field is the same for all machines"
            fix = "Write the value, or use the reference in a file, a command or nodeRegistration.kubeletExtraArgs."
            report.add(where, None, rule, fix)
        elif template.comments:
            report.warn(where, _left_out(template))
    for name, where in _node_names(config, path):
        _node_name(name, where, report)


def _node_names(config: Object, path: str) -> Iterator[tuple[str, str]]:
    for part in ("initConfiguration", "joinConfiguration"):
        name = ((config.get(part) or {}).get("nodeRegistration") or {}).get("name")
        if name:
            yield name, child(path, part, "nodeRegistration", "name")


def _node_name(name: str, path: str, report: Report) -> None:
    template = read(name)
    if _problems(template):
        return
    if not any(KNOWN[BY_NAME[each.name]].own for each in template.references):
        rule = "a fixed node name would be the same on every machine, and a replacement could not join"
        fix = "Leave it out (the machine's name is taken), or use '{{ ds.meta_data.local_hostname }}'."
        report.add(path, name, rule, fix)
    elif not is_dns_subdomain("".join(part if isinstance(part, str) else "machine" for part in template.parts)):
        fix = "Use lower case letters, digits, '-' and '.' beside the machine's instance data."
        report.add(path, name, "this does not become an RFC 1123 name", fix)


def validate_node_names(config: Object, path: str, report: Report) -> None:
    """Refuse node names of a filled in KubeadmConfigSpec that are no names."""
    for name, where in _node_names(config, path):
        if not is_dns_subdomain(name):
            fix = "Correct the name in the manifest, or what the machine's provider records."
            report.add(where, name, "this is no RFC 1123 name", fix)


def validate_secrets(config: Object, path: str, find: Callable[[str, str], Optional[bytes]], report: Report) -> None:
    """Refuse templates in a KubeadmConfigSpec's Secrets.

    Those that no machine's data fills in. Of comments is warned.

    `find` returns the decoded value of a Secret's key, None where there is none. Nothing of it is shown.
    """
    for section, field in (("files", "contentFrom"), ("users", "passwdFrom")):
        for index, entry in enumerate(config.get(section) or []):
            source = (entry.get(field) or {}).get("secret")
            # Encoded contents are opaque.
            if not source or entry.get("encoding") in ENCODINGS:
                continue
            secret = f"Secret {source['name']}, key {source['key']}"
            where = child(item(child(path, section), index), field)
            text = text_of(find(source["name"], source["key"])) or ""
            if go_template.is_template(entry):
                text = rendered_version(text, go_template.SAMPLE_VERSION, where, report, secret)
            template = read(text)
            for _shown, line, rule in _problems(template):
                report.add(where, None, f"{secret}, a template in line {line}: {rule}", _FIX)
            if template.comments:
                report.warn(where, f"{secret}, {_left_out(template)}")


def _left_out(template: Template) -> str:
    """Return the warning about a text's comments, of which nothing is shown."""
    first, *others = template.comments
    more = f" and {len(others)} more" if others else ""
    return f"the comment {{# ... #}} that begins in line {first}{more}: cloud-init leaves it out, and so it is here. {RAW_HINT}."


def text_of(content: Optional[bytes]) -> Optional[str]:
    """Return a Secret's value as text, None where it is none."""
    try:
        return None if content is None else content.decode()
    except UnicodeDecodeError:
        return None


def _part(shown: str, line: int, path: str, hidden: bool = False) -> str:
    # A password or a file's content is never shown, the names in a template are.
    secret = hidden or not SECRET_KEYS.isdisjoint(str(each) for each in steps(path))
    if hidden or (secret and not _PLAIN.fullmatch(shown)):
        return f"a template in line {line}"
    return repr(shown)


def rendered(value: Any, values: Values, owner: Object, path: str, report: Report) -> Any:
    """Return `value` with all its texts rendered for one machine.

    What can't be rendered is reported and stays as it is.

    Args:
        value: a part of a KubeadmConfigSpec.
        values: the machine's instance data.
        owner: the infrastructure machine, which messages name.
        path: the path of `value`, for messages.
        report: gets what is wrong.
    """
    return _mapped(value, path, lambda text, where: render(text, values, owner, where, report))


def _mapped(value: Any, path: str, function: Callable[[str, str], str]) -> Any:
    """Return a value with a function applied to its texts."""
    if isinstance(value, str):
        return function(value, path)
    if isinstance(value, list):
        return [_mapped(entry, item(path, index), function) for index, entry in enumerate(value)]
    if isinstance(value, dict):
        return {
            key: entry if is_opaque(value, key) else _mapped(entry, child(path, key), function)
            for key, entry in value.items()
        }
    return value


def is_opaque(entry: Object, key: str) -> bool:
    """Return whether a field is an encoded content or a Go template."""
    return key == "content" and (entry.get("encoding") in ENCODINGS or go_template.is_template(entry))


def render(text: str, values: Values, owner: Object, path: str, report: Report, hidden: bool = False) -> str:
    """Return a text rendered for one machine; see rendered().

    `hidden`: the text is a Secret's, of which nothing is shown.
    """
    if not has_tags(text):
        return text
    template = read(text)
    problems = _problems(template)
    for shown, line, rule in problems:
        report.add(path, None, f"{_part(shown, line, path, hidden)}: {rule}", _FIX)
    if problems:
        return text
    result: list[str] = []
    for part in template.parts:
        if isinstance(part, str):
            result.append(part)
            continue
        value, rule, fix = _value(part, values, owner)
        if rule:
            report.add(path, None, f"{_part(part.shown, part.line, path, hidden)}: {rule}", fix)
        result.append(value)
    return "".join(result)


def _value(reference: Reference, values: Values, owner: Object) -> tuple[str, str, str]:
    key = BY_NAME[reference.name]
    value, source = values.get(key) or "", KNOWN[key].source
    if not value:
        return "", f"its machine has no such value ({source})", remedy(key, owner)
    problem = value_problem(value)
    if problem:
        return "", f"its machine's value ({source}) can't be put into a text: {problem}", remedy(key, owner)
    for each in reference.splits:
        parts = value.split(each.separator)
        if not -len(parts) <= each.index < len(parts):
            rule = "its machine's value has no such part when it is split"
            return "", rule, "Correct the index or the separator."
        value = parts[each.index]
    return value, "", ""
