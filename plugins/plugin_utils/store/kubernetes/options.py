# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Connection options of a Kubernetes API, from the task or the environment.

Names and environment variables are kubernetes.core's. An invalid value is refused with the name of the option or
variable, before any request.
"""

from __future__ import annotations

import os
import typing as t
import urllib.parse

from ....module_utils.common.redact import redact
from . import kubeconfig_reader
from .kubeconfig_reader import NoKubeconfig

Options = t.Mapping[str, t.Any]

# Option -> environment variables, as kubernetes.core has them; the first that is set counts.
ENVIRONMENT: t.Mapping[str, tuple[str, ...]] = {
    "kubeconfig": ("K8S_AUTH_KUBECONFIG",),
    "context": ("K8S_AUTH_CONTEXT",),
    "host": ("K8S_AUTH_HOST",),
    "api_key": ("K8S_AUTH_API_KEY",),
    "username": ("K8S_AUTH_USERNAME",),
    "password": ("K8S_AUTH_PASSWORD",),
    "client_cert": ("K8S_AUTH_CLIENT_CERT", "K8S_AUTH_CERT_FILE"),
    "client_key": ("K8S_AUTH_CLIENT_KEY", "K8S_AUTH_KEY_FILE"),
    "ca_cert": ("K8S_AUTH_CA_CERT", "K8S_AUTH_SSL_CA_CERT"),
    "validate_certs": ("K8S_AUTH_VALIDATE_CERTS", "K8S_AUTH_VERIFY_SSL"),
    "proxy": ("K8S_AUTH_PROXY",),
    "no_proxy": ("K8S_AUTH_NO_PROXY",),
    "impersonate_user": ("K8S_AUTH_IMPERSONATE_USER",),
    "impersonate_groups": ("K8S_AUTH_IMPERSONATE_GROUPS",),
    "persist_config": ("K8S_AUTH_PERSIST_CONFIG",),
}
PROXY_HEADERS: t.Mapping[str, str] = {
    name: f"K8S_AUTH_PROXY_HEADERS_{name.upper()}" for name in ("proxy_basic_auth", "basic_auth", "user_agent")
}
# Those of a pod are all of these.
OF_POD = (
    "host",
    "kubeconfig",
    "context",
    "api_key",
    "username",
    "password",
    "client_cert",
    "client_key",
    "ca_cert",
)
_TRUE, _FALSE = ("true", "yes", "on", "1", "y", "t"), ("false", "no", "off", "0", "n", "f")


def setting(options: Options, name: str) -> t.Any:
    """Return an option, as given or from its environment variables, else None.

    The credentials of a pod are never mixed with others.
    """
    given = options.get(name)
    if given not in (None, "", []):
        return given
    if options.get("in_cluster") and name in OF_POD:
        return None
    return next((os.environ[each] for each in ENVIRONMENT[name] if os.environ.get(each)), None)


def named(options: Options) -> str:
    """Return the kubeconfig's name for messages."""
    given = os.environ.get("KUBECONFIG")
    default = f"KUBECONFIG {given}" if given else f"the default kubeconfig {kubeconfig_reader.DEFAULT_PATH}"
    return str(setting(options, "kubeconfig") or default)


def flag(options: Options, name: str, otherwise: bool) -> bool:
    """Return a boolean option. Raises NoKubeconfig for another word."""
    value = setting(options, name)
    if value is None or isinstance(value, bool):
        return otherwise if value is None else value
    word = str(value).strip().lower()
    if word not in (*_TRUE, *_FALSE):
        raise NoKubeconfig(f"{name_of(name, options)} is {word[:20]!r}, neither true nor false")
    return word in _TRUE


def file_text(options: Options, name: str) -> str:
    """Return the text of an option's file, or "". Raises NoKubeconfig.

    It is "" where the option isn't given.
    """
    path = setting(options, name)
    if not path:
        return ""
    return kubeconfig_reader.read_text(os.path.abspath(os.path.expanduser(str(path))), name_of(name, options))


def proxy_headers(options: Options) -> dict[str, t.Any]:
    """Return the proxy header options, by urllib3's names."""
    given = options.get("proxy_headers") or {}
    found = {name: given.get(name) or os.environ.get(variable) for name, variable in PROXY_HEADERS.items()}
    return {name: str(value) for name, value in found.items() if value}


def short(error: BaseException) -> str:
    """Return an error's message in one line, without secrets."""
    text = " ".join(str(error).split())
    return redact(text)[:300] or type(error).__name__


def name_of(name: str, options: Options) -> str:
    """Return an option's name for messages.

    That is its environment variable where the value comes from there.
    """
    if options.get(name) not in (None, "", []):
        return f"store.{name}"
    return next((each for each in ENVIRONMENT[name] if os.environ.get(each)), f"store.{name}")


def url(value: str, what: str, schemes: t.Sequence[str] = ("https", "http")) -> str:
    """Return a checked URL without a slash at its end.

    One without a scheme gets the first of ``schemes``. Raises NoKubeconfig.
    """
    text = value.strip()
    # "host:6443" has no scheme. It is reached by TLS; kubectl asks it without, and without credentials.
    text = (text if "://" in text else f"{schemes[0]}://{text}").rstrip("/")
    try:
        parts = urllib.parse.urlsplit(text)
        port = parts.port
    except ValueError as error:
        raise NoKubeconfig(f"{what} is no URL: {redact(value)!r} ({short(error)})") from error
    if parts.scheme.lower() not in schemes:
        raise NoKubeconfig(f"{what} is no URL that can be asked: {redact(value)!r} (known: {', '.join(schemes)})")
    if not parts.hostname or port == 0 or any(each in text for each in " \t\n?#"):
        raise NoKubeconfig(f"{what} is no URL of a server: {redact(value)!r}")
    if parts.username is not None and schemes[0] == "https":
        raise NoKubeconfig(f"{what} has a name or a password in it, which belong to username and password")
    return text


def impersonation(user: kubeconfig_reader.Entry) -> list[tuple[str, str]]:
    """Return the impersonation headers of a kubeconfig's user. Raises NoKubeconfig."""
    name, uid = user.text("as"), user.text("as-uid")
    groups, more = user.fields.get("as-groups") or [], user.fields.get("as-user-extra") or {}
    if (
        not isinstance(groups, list)
        or not isinstance(more, dict)
        or not all(isinstance(each, list) for each in more.values())
    ):
        raise NoKubeconfig(f"as-groups or as-user-extra of user {user.name} is no list")
    if not name and (groups or more or uid):
        raise NoKubeconfig(f"user {user.name} has as-groups, as-uid or as-user-extra, and not as")
    made = [
        ("Impersonate-User", name),
        ("Impersonate-Uid", uid),
        *(("Impersonate-Group", str(each)) for each in groups),
    ]
    made += [
        (f"Impersonate-Extra-{urllib.parse.quote(str(key).lower(), safe='')}", str(each))
        for key, values in more.items()
        for each in values
    ]
    return [(header, value) for header, value in made if value]
