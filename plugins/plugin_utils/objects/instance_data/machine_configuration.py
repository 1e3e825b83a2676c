# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""KubeadmConfigSpec of one machine, with its instance data and Secrets filled in."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Callable

from ....module_utils.common.violations import ManifestError, Report, child, item
from ...kubeadm.configuration import validate as kubeadm_rules
from ..validate.kubeadm_config_spec import decode_content, validate_config
from ..validate.limits import ENCODINGS
from . import go_template, machine_data, rendering

# (name of a Secret, key in it) -> its decoded value
SecretResolver = Callable[[str, str], bytes]
OWNER = "root:root"


@dataclass(frozen=True)
class MachineConfiguration:
    """KubeadmConfigSpec of one machine, with its instance data filled in.

    `files` and `users` have the contents and passwords that are in Secrets.
    """

    spec: dict[str, Any]
    files: list[dict[str, Any]]
    users: list[dict[str, Any]]


def machine_configuration(
    kubeadm_config: Mapping[str, Any],
    machine: Mapping[str, Any],
    infrastructure: Mapping[str, Any] | None,
    resolve_secret: SecretResolver,
    version: str,
) -> MachineConfiguration:
    """Return a machine's KubeadmConfigSpec with its instance data filled in.

    `version` is the KubeadmControlPlane's, for contents that are Go templates.

    Contents and passwords from Secrets are rendered like those in the manifest: Cluster API, too, puts them into the user data that
    cloud-init renders. Raises ManifestError with everything that this machine's data does not fill in, and whatever
    `resolve_secret` raises.
    """
    metadata = machine["metadata"]
    title = "/".join(str(metadata[key]) for key in ("namespace", "name") if metadata.get(key))
    report = Report(f"KubeadmConfig {title}")
    own_data = _OwnData(machine_data.machine_values(machine, infrastructure), infrastructure or {}, version, report)
    written = rendering.with_version(kubeadm_config["spec"], version, "spec", report)
    rest = {key: value for key, value in written.items() if key not in ("files", "users")}
    spec = own_data.value(rest, "spec")
    files = _own_files(written, own_data, resolve_secret)
    users = [
        _user(user, item("spec.users", index), own_data, resolve_secret)
        for index, user in enumerate(written.get("users") or [])
    ]
    if rendering.has_templates(written) and not report.violations:
        # The texts are new ones, and a provider's values are others' data.
        filled_in = own_data.value(written, "spec")
        rendering.validate_node_names(filled_in, "spec", report)
        kubeadm_rules.validate(filled_in, "spec", None, report)
        validate_config(filled_in, "spec", report)
    if report.violations:
        raise ManifestError(report.violations)
    return MachineConfiguration(spec, files, users)


@dataclass(frozen=True)
class _OwnData:
    """Instance data of one machine, and the report of what is missing."""

    values: machine_data.Values
    owner: Mapping[str, Any]
    version: str
    report: Report

    def value(self, value: Any, path: str) -> Any:
        """Return a value with its texts rendered."""
        return rendering.rendered(value, self.values, self.owner, path, self.report)

    def secret(self, content: bytes, path: str, source: Mapping[str, Any], is_go_template: bool = False) -> bytes:
        """Return a Secret's value rendered, or unchanged where it is no text."""
        title = f"Secret {source['name']}, key {source['key']}"
        where = f"{path} ({title})"
        text = rendering.text_of(content)
        if text is None:
            return content
        if is_go_template:
            text = rendering.rendered_version(text, self.version, path, self.report, title)
        return rendering.render(text, self.values, self.owner, where, self.report, hidden=True).encode()


def _own_files(spec: Mapping[str, Any], own_data: _OwnData, resolve_secret: SecretResolver) -> list[dict[str, Any]]:
    result = []
    for index, written in enumerate(spec.get("files") or []):
        where = item("spec.files", index)
        file = own_data.value(written, where)
        source = (file.get("contentFrom") or {}).get("secret")
        content = resolve_secret(source["name"], source["key"]) if source else (file.get("content") or "").encode()
        encoding = file.get("encoding") or ""
        if encoding in ENCODINGS:
            try:
                content = decode_content(content, encoding)
            except ValueError as error:
                fix = f"Encode it as {encoding}, or correct encoding."
                own_data.report.add(child(where, "contentFrom" if source else "content"), None, str(error), fix)
        elif source:
            content = own_data.secret(content, child(where, "contentFrom"), source, go_template.is_template(file))
        owner, permissions = file.get("owner") or OWNER, file.get("permissions") or "0644"
        result.append(file_entry(file["path"], content, owner, permissions, bool(file.get("append"))))
    return result


def _user(user: Mapping[str, Any], path: str, own_data: _OwnData, resolve_secret: SecretResolver) -> dict[str, Any]:
    result: dict[str, Any] = own_data.value(dict(user), path)
    source = (result.pop("passwdFrom", None) or {}).get("secret")
    if source:
        password = resolve_secret(source["name"], source["key"])
        result["passwd"] = own_data.secret(password, child(path, "passwdFrom"), source).decode().strip()
    return result


def file_entry(path: str, content: bytes, owner: str, permissions: str, append: bool = False) -> dict[str, Any]:
    """Return a file of a machine's bootstrap document."""
    return {
        "path": path,
        "content": base64.b64encode(content).decode(),
        "owner": owner,
        "permissions": permissions,
        "append": append,
    }
