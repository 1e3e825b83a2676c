# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Requests to the Kubernetes API that is a store, through the ``kubernetes`` client, with errors that a person can act on.

Options and environment variables are kubernetes.core's (reference/ansible-collections.md §2.2), but for one thing: the credentials of
the pod that a run happens to be in are used only where they are asked for.
"""

from __future__ import annotations

import contextlib
import json
import os
import ssl
import tempfile
import time
import typing as t
import urllib.parse

from ansible_collections.kubeadm.control_plane.plugins.module_utils.pki.redact import redact
from ansible_collections.kubeadm.control_plane.plugins.module_utils.store import base

try:
    import kubernetes.client as kubernetes_client
    import kubernetes.config as kubernetes_config
    from urllib3 import Timeout
    from urllib3._collections import HTTPHeaderDict
    from urllib3.exceptions import HTTPError, NewConnectionError
    from urllib3.util.ssl_ import create_urllib3_context
    from yaml import YAMLError
except ImportError as error:
    MISSING: t.Optional[str] = str(error)
    kubernetes_client = kubernetes_config = HTTPHeaderDict = Timeout = create_urllib3_context = None  # type: ignore[assignment, misc]
    HTTPError = NewConnectionError = OSError  # type: ignore[assignment, misc]
    YAMLError = RuntimeError  # type: ignore[assignment, misc]
else:
    MISSING = None

# Option -> environment variable, as kubernetes.core has them.
ENVIRONMENT: t.Mapping[str, str] = {
    "kubeconfig": "K8S_AUTH_KUBECONFIG",
    "context": "K8S_AUTH_CONTEXT",
    "host": "K8S_AUTH_HOST",
    "api_key": "K8S_AUTH_API_KEY",
    "username": "K8S_AUTH_USERNAME",
    "password": "K8S_AUTH_PASSWORD",
    "client_cert": "K8S_AUTH_CERT_FILE",
    "client_key": "K8S_AUTH_KEY_FILE",
    "ca_cert": "K8S_AUTH_SSL_CA_CERT",
    "validate_certs": "K8S_AUTH_VERIFY_SSL",
    "proxy": "K8S_AUTH_PROXY",
    "no_proxy": "K8S_AUTH_NO_PROXY",
    "impersonate_user": "K8S_AUTH_IMPERSONATE_USER",
    "impersonate_groups": "K8S_AUTH_IMPERSONATE_GROUPS",
    "persist_config": "K8S_AUTH_PERSIST_CONFIG",
}
FIELD_MANAGER = "kubeadm-control-plane"
# JSON is YAML.
APPLY_PATCH = "application/apply-patch+yaml"
REQUEST_SECONDS = (3.0, 30.0)
ATTEMPTS = 4
PAUSE_SECONDS = 0.5
LONGEST_PAUSE_SECONDS = 3.0
_FALSE = ("false", "no", "off", "0", "n", "f")
# The server was too busy, or is about to stop: it did nothing of what was asked.
_AGAIN = (429, 503)
# How an API server refuses what is to be made in a namespace that somebody deleted.
_IN_DELETION = "because it is being terminated"
# It may have done it: its etcd elects a leader, or a balancer lost it.
_UNSURE = (500, 502, 504)


class ApiUnavailable(base.StoreError):
    """The API could not be asked: nobody answers, or it is overloaded. ``may_be_done``: what was asked for may have been done all the same."""

    may_be_done = False


class Refused(base.StoreError):
    """The API answered, and does not allow or does not understand what was asked. ``status`` is its HTTP status."""

    def __init__(self, status: int, what: str, where: str, why: str, fix: str) -> None:
        super().__init__(what, where, why, fix)
        self.status = status


class Answer(t.NamedTuple):
    """An answer: HTTP status, the document, and the status' own reason where it is a refusal."""

    status: int
    document: dict[str, t.Any]

    @property
    def reason(self) -> str:
        """Kubernetes' word for a refusal: AlreadyExists, Conflict, …"""
        return str(self.document.get("reason", ""))

    @property
    def message(self) -> str:
        """The server's own words, without what looks like a secret."""
        return redact(" ".join(str(self.document.get("message", "")).split()))[:1000]


class KubernetesApi:
    """One API server (or what balances several), and the credentials to it.

    Args:
        options: kubernetes.core's connection options; what is missing is taken from the environment. ``in_cluster: true`` takes
            the credentials of the pod that this runs in.
        patience_seconds: for how long at least an API that doesn't answer is asked again; a few seconds where it is less.
    """

    def __init__(self, options: t.Mapping[str, t.Any], patience_seconds: float = 0.0) -> None:
        with _credential_files() as folder:
            self._configuration = configuration(options, folder)
            self.host = str(self._configuration.host).rstrip("/")
            self._client = kubernetes_client.ApiClient(self._configuration)
            _keep_in_memory(self._client.rest_client.pool_manager, self._configuration, named(options))
        self._impersonated = impersonation(options)
        self._patience_seconds = patience_seconds
        self.requests = 0

    def send(
        self,
        verb: str,
        path: str,
        body: t.Optional[t.Mapping[str, t.Any]] = None,
        query: t.Optional[t.Mapping[str, t.Any]] = None,
        accepted: t.Sequence[int] = (),
    ) -> Answer:
        """Send one request and return the answer.

        Args:
            verb: as RBAC names it: get, list, create, update, delete; patch is a server-side apply.
            path: from ``/api`` or ``/apis`` on.
            body: the document that is sent.
            query: the query's parameters.
            accepted: HTTP statuses that are answers to the caller and no errors, such as 404 and 409.

        Raises:
            ApiUnavailable: nobody answered, or only that it can't, as often as it was asked.
            Refused: any other status than 2xx and ``accepted``; it names verb, resource and what to do.
        """
        method = {"create": "POST", "update": "PUT", "patch": "PATCH", "delete": "DELETE"}.get(verb, "GET")
        url = self.host + path + ("?" + urllib.parse.urlencode(query) if query else "")
        began, attempt = time.monotonic(), 0
        while True:
            attempt += 1
            cause: t.Optional[Exception] = None
            try:
                answer = self._once(method, url, body)
            except HTTPError as error:
                # What may have arrived is not sent twice, but for reads and for what names the version that it changes.
                again = method != "POST" or isinstance(error, NewConnectionError)
                cause, why = error, _short(error)
            else:
                if answer.status // 100 == 2 or answer.status in accepted:
                    return answer
                again = answer.status in _AGAIN or (answer.status in _UNSURE and method != "POST")
                why = f"HTTP {answer.status}: {answer.message}"
                if not again and answer.status // 100 != 5:
                    raise refusal(self.host, verb, path, answer)
            if not again or (attempt >= ATTEMPTS and time.monotonic() - began >= self._patience_seconds):
                unavailable = self._unavailable(verb, path, why)
                unavailable.may_be_done = not again
                raise unavailable from cause
            time.sleep(min(PAUSE_SECONDS * attempt, LONGEST_PAUSE_SECONDS))

    def _once(self, method: str, url: str, body: t.Optional[t.Mapping[str, t.Any]]) -> Answer:
        headers = HTTPHeaderDict({"Accept": "application/json", "User-Agent": FIELD_MANAGER})
        for name, value in self._impersonated:
            headers.add(name, value)
        if body is not None or method == "DELETE":
            headers["Content-Type"] = APPLY_PATCH if method == "PATCH" else "application/json"
        # Refreshes a token that a credential plugin gives, when it has ended.
        tokens = [each["value"] for each in self._configuration.auth_settings().values() if each.get("value")]
        if tokens:
            headers["Authorization"] = tokens[0]
        elif self._configuration.username:
            headers["Authorization"] = self._configuration.get_basic_auth_token()
        self.requests += 1
        data = json.dumps(body).encode() if body is not None else None
        timeout = Timeout(connect=REQUEST_SECONDS[0], read=REQUEST_SECONDS[1])
        pool = self._client.rest_client.pool_manager
        reply = pool.request(method, url, body=data, headers=headers, timeout=timeout, retries=False, redirect=False)
        try:
            document = json.loads(reply.data.decode("utf-8")) if reply.data else {}
        except ValueError:
            document = {"message": reply.data.decode("utf-8", "replace")[:300]}
        return Answer(reply.status, document if isinstance(document, dict) else {})

    def _unavailable(self, verb: str, path: str, why: str) -> ApiUnavailable:
        return ApiUnavailable(
            f"the store's Kubernetes API did not answer ({verb} {path})",
            self.host,
            why,
            "Nothing more is changed by this run; what was under way is in the journal on this controller. "
            "Run again when the API answers: a run reads everything anew.",
        )


@contextlib.contextmanager
def _credential_files() -> t.Iterator[str]:
    """A folder for the files that the client makes of a kubeconfig's certificates; nothing of it is left behind, however a process ends well.

    The client itself removes them when Python exits, which neither Ansible's workers nor killed processes do.
    """
    if kubernetes_client is None:
        raise base.StoreError(
            "the store is a Kubernetes API and the Python package kubernetes is missing",
            "store.type kubernetes",
            f"the controller talks to that API with it; nodes never need it ({MISSING})",
            "Install it for the Python that runs Ansible: pip install kubernetes.",
        )
    with tempfile.TemporaryDirectory(prefix="kubeadm-store-") as folder:
        try:
            yield folder
        finally:
            # It remembers what it wrote where, and would look there the next time.
            remembered = getattr(kubernetes_config.kube_config, "_temp_files", {})
            for content in [each for each, path in remembered.items() if path.startswith(folder)]:
                del remembered[content]


def _keep_in_memory(pool: t.Any, made: t.Any, where: str) -> None:
    """Have a pool of connections use certificates and key as they are in their files now, which are needed no more then."""
    context = create_urllib3_context(cert_reqs=ssl.CERT_REQUIRED if made.verify_ssl else ssl.CERT_NONE)
    try:
        if made.ssl_ca_cert:
            context.load_verify_locations(made.ssl_ca_cert)
        else:
            context.load_default_certs()
        if made.cert_file:
            context.load_cert_chain(made.cert_file, made.key_file)
    except (OSError, ssl.SSLError) as error:
        raise _no_credentials(where, f"its certificates or its key can't be used: {_short(error)}") from error
    for name in ("ca_certs", "cert_file", "key_file"):
        pool.connection_pool_kw.pop(name, None)
    pool.connection_pool_kw["ssl_context"] = context


def configuration(options: t.Mapping[str, t.Any], folder: t.Optional[str] = None) -> t.Any:
    """Return the kubernetes client's configuration.

    Args:
        options: kubernetes.core's connection options; see :class:`KubernetesApi`.
        folder: where the client puts what it reads out of a kubeconfig; its own choice where it isn't given.

    Raises:
        StoreError: there are no credentials.
    """
    settings = {name: setting(options, name) for name in ENVIRONMENT}
    made = kubernetes_client.Configuration()
    made.host = ""
    try:
        if options.get("in_cluster"):
            kubernetes_config.load_incluster_config(client_configuration=made)
        elif not settings["host"]:
            kubernetes_config.load_kube_config(
                config_file=settings["kubeconfig"],
                context=settings["context"],
                client_configuration=made,
                persist_config=truth(settings["persist_config"] or False),
                temp_file_path=folder,
            )
    except YAMLError as error:
        # The client's own text would quote the file, which is full of keys.
        line = getattr(getattr(error, "problem_mark", None), "line", None)
        why = "it is no YAML" + ("" if line is None else f" (line {line + 1})")
        raise _no_credentials(named(options), why) from error
    except (kubernetes_config.ConfigException, OSError, ValueError) as error:
        why = "there is no such file" if "No configuration found" in str(error) else _short(error)
        raise _no_credentials(named(options), why) from error
    except (AttributeError, KeyError, TypeError) as error:
        # What the client stumbles over: a list, a text, a provider of tokens that it knows no more.
        raise _no_credentials(
            named(options), f"it is no kubeconfig that the client can read: {_short(error)}"
        ) from error
    _overrides(made, settings)
    if not made.host:
        raise _no_credentials(named(options), "it names no server")
    if "://" not in made.host:
        made.host = f"https://{made.host}"
    return made


def named(options: t.Mapping[str, t.Any]) -> str:
    """Return how messages name what the connection options were read from: the kubeconfig, or the host that is given."""
    if options.get("in_cluster"):
        return "store.in_cluster"
    return str(setting(options, "host") or setting(options, "kubeconfig") or "the default kubeconfig")


def _no_credentials(where: str, why: str) -> base.StoreError:
    return base.StoreError(
        "there are no credentials for the store's Kubernetes API",
        where,
        redact(why).rstrip("."),
        "Give store.kubeconfig (and store.context), store.host with store.api_key or a client certificate, or store.in_cluster: "
        "true to use those of the pod that this runs in.",
    )


def _overrides(made: t.Any, settings: t.Mapping[str, t.Any]) -> None:
    for option, field in (
        ("host", "host"),
        ("username", "username"),
        ("password", "password"),
        ("client_cert", "cert_file"),
        ("client_key", "key_file"),
        ("ca_cert", "ssl_ca_cert"),
        ("proxy", "proxy"),
        ("no_proxy", "no_proxy"),
    ):
        if settings[option]:
            setattr(made, field, settings[option])
    if settings["api_key"]:
        made.api_key = {"authorization": settings["api_key"]}
        made.api_key_prefix = {"authorization": "Bearer"}
    if settings["validate_certs"] is not None:
        made.verify_ssl = truth(settings["validate_certs"])


def setting(options: t.Mapping[str, t.Any], name: str) -> t.Any:
    """Return an option: as given, else from its environment variable, else None."""
    given = options.get(name)
    if given is not None:
        return os.path.expanduser(str(given)) if name == "kubeconfig" else given
    return os.environ.get(ENVIRONMENT[name]) or None


def impersonation(options: t.Mapping[str, t.Any]) -> list[tuple[str, str]]:
    """Return the headers by which the API acts as somebody else; a group each, as the API server splits at no comma."""
    user, groups = setting(options, "impersonate_user"), setting(options, "impersonate_groups")
    listed = groups.split(",") if isinstance(groups, str) else list(groups or ())
    return [("Impersonate-User", str(each)) for each in (user,) if each] + [
        ("Impersonate-Group", str(each).strip()) for each in listed
    ]


def truth(value: t.Any) -> bool:
    """Return what a boolean option or environment variable says."""
    return value if isinstance(value, bool) else str(value).strip().lower() not in _FALSE


def refusal(host: str, verb: str, path: str, answer: Answer) -> Refused:
    """Return the error for an answer that is one."""
    words = answer.message or f"HTTP {answer.status}"
    if answer.status == 401:
        why, fix = (
            "the credentials are not accepted: a token or certificate that has ended, or another cluster's",
            ("Renew them (log in again, or issue a new token) and run again."),
        )
    elif answer.status == 403:
        why, fix = (
            f"these credentials may not {verb} there. {words}",
            (
                "Bind the Role that the playbook kubeadm.control_plane.install makes to whoever runs this, or grant that verb on that resource."
            ),
        )
        if _IN_DELETION in words:
            why, fix = (
                words,
                (
                    "Nobody can make anything there any more, nor keep it: the Secrets with the cluster's keys and what is known of its machines go with the "
                    "namespace. The machines run on. Bring the objects back from a backup into another namespace or API, or delete the machines yourself and "
                    "take the finalizers off the objects that are left (docs/store.md)."
                ),
            )
        elif verb == "list" and "/namespaces/" not in path and "/apiextensions.k8s.io/" not in path:
            fix = (
                "Name the namespaces that they are good for (option namespaces of the inventory): the Role that the playbook "
                "kubeadm.control_plane.install makes is for one namespace each."
            )
    elif answer.status == 404:
        why, fix = (
            words,
            (
                "Run the playbook kubeadm.control_plane.install, which makes the CustomResourceDefinitions, and check the namespace."
            ),
        )
    else:
        why, fix = words, "Correct what the API server names; nothing of this request was stored."
    return Refused(answer.status, f"the store's Kubernetes API refused: {verb} {path}", host, why, fix)


def _short(error: BaseException) -> str:
    text = " ".join(str(error).split())
    return text[:300] or type(error).__name__
