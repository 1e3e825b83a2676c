# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Public snapshot, without secrets, which may be kept in a file.

Decisions on it are the same. Pure.
"""

from __future__ import annotations

import hashlib
import json
import re
from typing import Any, Callable

from ....module_utils.common.redact import redact
from ...objects import kinds

Object = dict[str, Any]

_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
# Foreign annotations may hold any text: kubectl's holds the whole object, file contents included.
_OWN_ANNOTATION = re.compile(r"([a-z0-9-]+\.)*cluster\.x-k8s\.io/.*|" + re.escape(kinds.ANNOTATION_PREFIX) + ".*", re.S)
_DROPPED_METADATA = frozenset({"managedFields", "selfLink"})
# Of a KubeadmConfigSpec: fields whose texts may be secret, and parts whose other texts are not.
_SECRET_FIELDS = frozenset(
    {"content", "passwd", "token", "tlsBootstrapToken", "certificateKey", "sshAuthorizedKeys", "data", "stringData"}
)
_PLAIN_PARTS = frozenset(
    {"clusterConfiguration", "initConfiguration", "joinConfiguration", "files", "users", "format", "verbosity"}
)
# The fields that decisions read of the provider's objects; the rest of their specs may hold any text.
_PROVIDER_SPEC = frozenset({"controlPlaneEndpoint", "failureDomains", "providerID"})


def public_snapshot(snapshot: Object) -> Object:
    """Return a copy of a snapshot without texts that may be secret.

    Decisions on both are the same. Applied twice it changes nothing more.

    File contents, passwords, tokens, commands, environment variables and every other text of a KubeadmConfigSpec that
    may be secret become ``sha256:<digest>``, in the control plane's spec and in the machines' KubeadmConfigs alike:
    equal texts stay equal, different ones differ.
    A digest does not keep a text secret that can be guessed: the file stays private (0600).
    The fields of providers' specs become digests too; foreign annotations and machines' connections are left out; texts
    elsewhere that look like a secret are redacted.
    """
    public: Object = json.loads(json.dumps(snapshot), object_hook=_clean)
    spec = (public.get("controlPlane") or {}).get("spec") or {}
    if isinstance(spec.get("kubeadmConfigSpec"), dict):
        # From the original: in the copy, texts that look like secrets are redacted and would all be equal.
        spec["kubeadmConfigSpec"] = _config(snapshot["controlPlane"]["spec"]["kubeadmConfigSpec"])
    for key in ("infrastructureCluster", "machineTemplate"):
        _provider(public.get(key), snapshot.get(key))
    for entry, original in zip(_machines(public), _machines(snapshot)):
        _provider(entry.get("infrastructureMachine"), original.get("infrastructureMachine"))
        ((entry.get("machine") or {}).get("status") or {}).pop("connection", None)
        config = entry.get("kubeadmConfig") or {}
        if isinstance(config.get("spec"), dict):
            config["spec"] = _config(original["kubeadmConfig"]["spec"])
    for prepared, whole in zip(public.get("preparedMachines") or [], snapshot.get("preparedMachines") or []):
        _provider(prepared, whole)
    return public


def _machines(snapshot: Object) -> list[Object]:
    """Return the entries of all machines, workers included."""
    return [*(snapshot.get("machines") or []), *((snapshot.get("workers") or {}).get("machines") or [])]


def digest(text: str) -> str:
    """Return the digest that replaces a text.

    ``sha256:`` and 64 hexadecimal digits; a text that is a digest already stays.
    """
    if _DIGEST.fullmatch(text):
        return text
    return "sha256:" + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _opaque(value: Any) -> str:
    """Return one digest for a whole value."""
    return digest(value if isinstance(value, str) else json.dumps(value, sort_keys=True, separators=(",", ":")))


def _clean(obj: Object) -> Object:
    """Return a mapping of the document without foreign annotations and recognised secrets."""
    cleaned: Object = {}
    for key, value in obj.items():
        if key == "annotations" and isinstance(value, dict):
            cleaned[key] = {name: text for name, text in value.items() if _OWN_ANNOTATION.fullmatch(name)}
        elif key not in _DROPPED_METADATA:
            cleaned[key] = _redacted(value)
    return cleaned


def _redacted(value: Any) -> Any:
    if isinstance(value, str):
        return redact(value) if len(value) > 7 else value
    return [_redacted(each) for each in value] if isinstance(value, list) else value


def _provider(obj: Any, original: Any) -> None:
    if not isinstance(obj, dict):
        return
    if isinstance(obj.get("spec"), dict):
        for key, value in original["spec"].items():
            if key not in _PROVIDER_SPEC:
                obj["spec"][key] = _opaque(value)
    if isinstance(obj.get("status"), dict):
        obj["status"].pop("connection", None)


def _config(spec: Object) -> Object:
    return {key: _texts(value, _field if key in _PLAIN_PARTS else _every, key) for key, value in spec.items()}


def _texts(value: Any, change: Callable[[str, str], str], key: str) -> Any:
    """Return the value with every text changed by ``change(field, text)``.

    An empty text stays, because it means that there is none.
    """
    if isinstance(value, str):
        return change(key, value) if value else value
    if isinstance(value, list):
        return [_texts(each, change, key) for each in value]
    if isinstance(value, dict):
        pair = _secret_pair(key, value)
        return {
            name: _texts(each, _every if name in _SECRET_FIELDS or (pair and name == "value") else change, name)
            for name, each in value.items()
        }
    return value


def _secret_pair(key: str, value: Object) -> bool:
    """Return whether a {name, value} holds a secret.

    It is an environment variable, or an argument whose name marks its value as secret.
    """
    if key == "extraEnvs":
        return True
    text = f"--{value.get('name')}={value.get('value')}"
    return "value" in value and redact(text) != text


def _field(key: str, text: str) -> str:
    return digest(text) if redact(text) != text or redact(f"{key}: {text}") != f"{key}: {text}" else text


def _every(_key: str, text: str) -> str:
    return digest(text)
