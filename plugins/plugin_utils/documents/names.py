# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Names: RFC 1123, machine naming templates, label values, variables of Ansible.

Source: docs/reference/cluster_api.md, "Names and markers", "Creating a machine".
"""

from __future__ import annotations

import base64
import hashlib
import itertools
import re
import secrets as random_source
from collections.abc import Iterator

from ...module_utils.common.violations import ManifestError, Violation

DEFAULT_MACHINE_NAME_TEMPLATE = "{{ .kubeadmControlPlane.name }}-{{ .random }}"
MACHINE_NAME_LIMIT = 63
RANDOM_LENGTH = 5
# Kubernetes' own alphabet for generated names: no vowels, nothing that is mistaken for something else.
RANDOM_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"

_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_LABEL_VALUE = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?")
_QUALIFIED = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?")
_ACTION = re.compile(r"\{\{(.*?)\}\}", re.DOTALL)
CONTROL_PLANE_NAME, SET_NAME = ".kubeadmControlPlane.name", ".machineSet.name"
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# Ansible's special variables without "ansible_" in front; several of them decide which host is reached.
_SPECIAL = frozenset(
    (
        *("environment", "group_names", "groups", "hostvars", "inventory_dir", "inventory_file", "inventory_hostname"),
        *(
            "inventory_hostname_short",
            "omit",
            "play_hosts",
            "playbook_dir",
            "role_name",
            "role_names",
            "role_path",
            "vars",
        ),
    )
)
_SECRET = re.compile(r"passw|passphrase|secret|token|credential|vault|private")
_SECRET_WORDS = frozenset(("apikey", "key", "keys", "pass", "pwd", "sshkey"))


def is_dns_label(text: str) -> bool:
    """Return whether a text is an RFC 1123 label.

    It has at most 63 of a-z, 0-9 and '-', beginning and ending with a letter or digit.
    """
    return len(text) <= 63 and _LABEL.fullmatch(text) is not None


def is_dns_subdomain(text: str) -> bool:
    """Return whether a text is an RFC 1123 subdomain.

    Its labels are joined by dots, in at most 253 characters.
    """
    return 0 < len(text) <= 253 and all(_LABEL.fullmatch(part) is not None for part in text.split("."))


def typed_name(name: str, otherwise: str = "NAME") -> str:
    """Return a name for a command in advice, or a placeholder.

    A name that is no RFC 1123 name is never part of a command.
    """
    return name if is_dns_subdomain(name) else otherwise


def is_label_value(text: str) -> bool:
    """Return whether a text is a Kubernetes label value."""
    return len(text) <= 63 and _LABEL_VALUE.fullmatch(text) is not None


def is_qualified_name(text: str) -> bool:
    """Return whether a text is a Kubernetes label or annotation key.

    Its form is [prefix/]name.
    """
    prefix, slash, name = text.rpartition("/")
    if slash and not is_dns_subdomain(prefix):
        return False
    return len(name) <= 63 and _QUALIFIED.fullmatch(name) is not None


def is_variable(text: str) -> bool:
    """Return whether a text can be the name of an Ansible variable."""
    return _VARIABLE.fullmatch(text) is not None


def is_special_variable(name: str) -> bool:
    """Return whether a variable is one of Ansible's own.

    Connection variables and passwords are among them, facts, and magic variables.
    """
    return name.startswith("ansible_") or name in _SPECIAL


def is_secret_variable(name: str) -> bool:
    """Return whether a variable's name suggests a password, key or token.

    A guess: it keeps mistakes away, and nothing else.
    """
    lower = name.lower()
    return _SECRET.search(lower) is not None or not _SECRET_WORDS.isdisjoint(lower.split("_"))


def typing_errors(text: str, meant: str, limit: int) -> bool:
    """Return whether a text differs from another by a few typing errors.

    By one at least, and at most `limit`: a letter that is missing, one too many, another one, or two that are swapped.
    """
    if text == meant or abs(len(text) - len(meant)) > limit:
        return False
    older: list[int] = []
    last = list(range(len(meant) + 1))
    for row, letter in enumerate(text, 1):
        line = [row]
        for column, other in enumerate(meant, 1):
            cost = min(last[column] + 1, line[column - 1] + 1, last[column - 1] + (letter != other))
            if row > 1 and column > 1 and letter == meant[column - 2] and text[row - 2] == other:
                cost = min(cost, older[column - 2] + 1)
            line.append(cost)
        if min(line) > limit:
            return False
        older, last = last, line
    return last[-1] <= limit


def label_value(name: str) -> str:
    """Return the value of the control-plane-name label for a name.

    It is the name, or Cluster API's hash of it when it is no label value.

    The hash is Cluster API's own ("hash_" + FNV-1a of 32 bits in base64url + "_z"), so that both select the same machines.
    """
    if is_label_value(name):
        return name
    encoded = (
        base64.urlsafe_b64encode(fnv_1a(name.encode("utf-8", "surrogatepass")).to_bytes(4, "big")).decode().rstrip("=")
    )
    return f"hash_{encoded}_z"


def fnv_1a(data: bytes) -> int:
    """Return the 32-bit FNV-1a hash."""
    digest = 0x811C9DC5
    for byte in data:
        digest = ((digest ^ byte) * 0x01000193) & 0xFFFFFFFF
    return digest


def random_suffix() -> str:
    """Return five random characters for a machine's name."""
    return "".join(random_source.choice(RANDOM_ALPHABET) for _position in range(RANDOM_LENGTH))


def suffixes(seed: str) -> Iterator[str]:
    """Yield such suffixes without end, the same ones for the same seed."""
    for number in itertools.count():
        drawn = hashlib.sha256(f"{number} {seed}".encode()).digest()[:RANDOM_LENGTH]
        yield "".join(RANDOM_ALPHABET[byte % len(RANDOM_ALPHABET)] for byte in drawn)


def template_problems(template: str, cluster: str, control_plane: str, owner: str = CONTROL_PLANE_NAME) -> list[str]:
    """Return the problems with a machine naming template.

    Rules (docs/reference/cluster_api.md, "Creating a machine", "Admission rules"):
    only the three variables, `.random` is mandatory, the result is an RFC 1123 subdomain. `owner` is the variable that has the name of what
    owns the machines, `control_plane` its value.
    """
    problems: list[str] = []
    used = [action.strip() for action in _ACTION.findall(template)]
    for name in used:
        if name not in (".cluster.name", owner, ".random"):
            problems.append("'{{ " + name + " }}' is not a variable of a machine naming template")
    if ".random" not in used:
        problems.append("the template has no {{ .random }}, so every machine would get the same name")
    rest = _ACTION.sub("", template)
    if "{{" in rest or "}}" in rest:
        problems.append("a '{{' or '}}' has no partner")
    if not problems:
        name = _render(template, cluster, control_plane, "x" * RANDOM_LENGTH, owner)
        if not is_dns_subdomain(name):
            problems.append(f"it renders to {name!r}, which is not an RFC 1123 name")
    return problems


def machine_name(template: str, cluster: str, control_plane: str, random: str = "") -> str:
    """Return a machine's name from the naming template and five characters.

    A template of "" means the default; `random` is drawn when not given.

    Longer than 63 characters it is cut to 58 and `random` is appended. Raises ManifestError when the template is invalid.
    """
    random = random or random_suffix()
    template = template or DEFAULT_MACHINE_NAME_TEMPLATE
    problems = template_problems(template, cluster, control_plane)
    if problems:
        raise ManifestError(
            [
                Violation(
                    f"KubeadmControlPlane {control_plane}",
                    "spec.machineNaming.template",
                    template,
                    problem,
                    "Use {{ .cluster.name }}, {{ .kubeadmControlPlane.name }} and {{ .random }}.",
                )
                for problem in problems
            ]
        )
    return _short(_render(template, cluster, control_plane, random, CONTROL_PLANE_NAME), random)


def worker_name(template: str, cluster: str, machine_set: str, random: str) -> str:
    """Return a worker's name from its deployment's naming template and five characters.

    A template of "", or one that is invalid where it was never checked, means the name of the MachineSet.
    """
    if not template or template_problems(template, cluster, machine_set, SET_NAME):
        template = "{{ .machineSet.name }}-{{ .random }}"
    return _short(_render(template, cluster, machine_set, random, SET_NAME), random)


def _short(name: str, random: str) -> str:
    return name if len(name) <= MACHINE_NAME_LIMIT else name[: MACHINE_NAME_LIMIT - RANDOM_LENGTH] + random


def _render(template: str, cluster: str, control_plane: str, random: str, owner: str) -> str:
    values = {".cluster.name": cluster, owner: control_plane, ".random": random}
    return _ACTION.sub(lambda match: values[match.group(1).strip()], template)
