# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Connection to a store's Kubernetes API: URL, TLS, proxy and credentials.

As kubernetes.core does, but for two things: the credentials of the pod that a run happens to be in
are used only where they are asked for, and a kubeconfig is read as kubectl reads it.
"""

from __future__ import annotations

import contextlib
import copy
import os
import ssl
import tempfile
import typing as t
import urllib.parse

from ....module_utils.common.https import memory_file
from ....module_utils.common.redact import redact
from .. import base
from . import credentials, kubeconfig_reader
from .credentials import Credentials, Proof
from .kubeconfig_reader import NoKubeconfig
from .options import OF_POD, file_text, flag, impersonation, name_of, named, proxy_headers, setting, short, url

try:
    from urllib3 import disable_warnings
    from urllib3.exceptions import HTTPError, InsecureRequestWarning
    from urllib3.util import make_headers
    from urllib3.util.ssl_ import create_urllib3_context
except ImportError:
    # It comes with the Kubernetes client: who makes a connection is told.
    disable_warnings = make_headers = create_urllib3_context = None  # type: ignore[assignment]
    HTTPError = InsecureRequestWarning = OSError  # type: ignore[assignment, misc]


class _Target(t.NamedTuple):
    """Address and credentials of an API server, before TLS and proxy options."""

    server: str
    what: str
    credentials: Credentials
    authority: str = ""
    verify: bool = True
    server_name: str = ""
    proxy: str = ""
    impersonated: t.Sequence[tuple[str, str]] = ()


def _library() -> tuple[t.Any, t.Any]:
    """Import the ``kubernetes`` client, at the first connection only.

    The import is a quarter of the time of a run that has its objects in files.
    """
    try:
        import kubernetes.client
        import kubernetes.config
    except ImportError as error:
        raise base.StoreError(
            "the store is a Kubernetes API and the Python package kubernetes is missing",
            "store.type kubernetes",
            f"the controller talks to that API with it; nodes never need it ({error})",
            "Install it for the Python that runs Ansible: pip install kubernetes.",
        ) from error
    return kubernetes.client, kubernetes.config


class Connection:
    """Connection to one API server, or to a load balancer of several.

    Args:
        options: kubernetes.core's connection options; what is missing is taken from the environment. ``in_cluster: true`` takes
            the credentials of the pod that this runs in.

    Raises:
        StoreError: there are no credentials, or what is given can't be.
    """

    def __init__(self, options: t.Mapping[str, t.Any]) -> None:
        self._client, self._config = _library()
        self._options = options
        # What messages name: the kubeconfig, or what is given in its place.
        self.where = "store.in_cluster" if options.get("in_cluster") else named(options)
        try:
            target = self._target()
            self.host = url(target.server, target.what)
            self._credentials = self._given(target.credentials)
            self._impersonated = self._acting_as(target.impersonated)
            self._configuration = self._configured(target)
            self._authority = file_text(self._options, "ca_cert") or target.authority
            self._pool: t.Any = None
            self._pool_for = (0, "", "")
            if not isinstance(self._credentials, credentials.Plugin):
                # What can't be used is said before anything is asked for.
                proof = self._credentials.current()
                self._connections((proof.certificate, proof.key))
        except NoKubeconfig as error:
            raise self._no_credentials(error) from error

    def ready(self) -> tuple[t.Any, list[tuple[str, str]]]:
        """Return urllib3's connections and the next request's credential headers.

        Raises StoreError.
        """
        try:
            proof = self._credentials.current()
            own = [("Authorization", proof.authorization)] if proof.authorization else []
            return self._connections((proof.certificate, proof.key)), [*own, *self._impersonated]
        except NoKubeconfig as error:
            raise self._no_credentials(error) from error

    @property
    def proxy(self) -> str:
        """URL of the proxy in use, without a password, or ""."""
        used = getattr(self._pool, "proxy", None) or getattr(self._pool, "proxy_url", None)
        return redact(str(self._configuration.proxy)) if used else ""

    def renew(self) -> bool:
        """Replace credentials that were refused and return whether others were found.

        Raises StoreError.
        """
        try:
            return self._credentials.renew()
        except NoKubeconfig as error:
            raise self._no_credentials(error) from error

    def _connections(self, pair: tuple[str, str]) -> t.Any:
        # Of this process: a worker that was forked meanwhile must not write to a connection that its parent writes to.
        wanted = (os.getpid(), *pair)
        if self._pool is None or wanted != self._pool_for:
            try:
                pool = self._client.ApiClient(self._configuration).rest_client.pool_manager
            except (ImportError, HTTPError, ValueError) as error:
                # Only a SOCKS proxy needs a further Python package.
                raise NoKubeconfig(f"the proxy {self._configuration.proxy} can't be used: {short(error)}") from error
            pool.connection_pool_kw["ssl_context"] = self._context(pair)
            self._pool, self._pool_for = pool, wanted
        return self._pool

    def _target(self) -> _Target:
        if self._options.get("in_cluster"):
            return self._of_pod()
        host, secret = (
            setting(self._options, "host"),
            setting(self._options, "api_key") or setting(self._options, "username"),
        )
        named_file = setting(self._options, "kubeconfig") or setting(self._options, "context")
        if host and (secret or not named_file):
            self.where = str(host)
            return _Target(str(host), name_of("host", self._options), Credentials(Proof()))
        read = kubeconfig_reader.read(setting(self._options, "kubeconfig"), setting(self._options, "context"))
        cluster, user = read.cluster, read.user
        authority, insecure = cluster.content("certificate-authority"), cluster.flag("insecure-skip-tls-verify")
        if insecure and authority:
            raise NoKubeconfig(f"cluster {cluster.name} has a certificate-authority and insecure-skip-tls-verify: true")
        own = any(setting(self._options, name) for name in ("api_key", "username", "client_cert"))
        server, what = cluster.text("server"), f"server of cluster {cluster.name}"
        if host:
            server, what = str(host), name_of("host", self._options)
        if not server:
            raise NoKubeconfig(f"it names no server (cluster {cluster.name})")
        return _Target(
            server,
            what,
            Credentials(Proof()) if own else credentials.of_user(read, lambda: self._provider(read)),
            authority,
            not insecure,
            cluster.text("tls-server-name"),
            cluster.text("proxy-url"),
            impersonation(user),
        )

    def _of_pod(self) -> _Target:
        given = [name for name in OF_POD if self._options.get(name) not in (None, "")]
        if given:
            raise NoKubeconfig(f"store.in_cluster takes everything from the pod, and store.{given[0]} is given too")
        made = self._client.Configuration()
        with _of_client():
            self._config.load_incluster_config(client_configuration=made)
        authority = kubeconfig_reader.read_text(str(made.ssl_ca_cert), "the pod's certificate authority")
        of_pod = credentials.Provider(Proof(), lambda: _token_of(made), "the pod's service account")
        return _Target(str(made.host), "the pod's API server", of_pod, authority)

    def _provider(self, read: kubeconfig_reader.Kubeconfig) -> t.Callable[[], str]:
        """Return the function that gets a user's token from the ``kubernetes`` client.

        That client writes files of a user's certificate and key, so it is given neither.
        """
        made = self._client.Configuration()
        if not flag(self._options, "persist_config", False):
            with _of_client():
                self._config.load_kube_config_from_dict(
                    _of_provider(read), client_configuration=made, persist_config=False
                )
            return lambda: _token_of(made)
        if read.user.fields.get("client-key-data"):
            raise NoKubeconfig(
                f"user {read.user.name} has an auth-provider and client-key-data, and store.persist_config is given: the client that writes the token "
                "back would write the key to a temporary file",
                "Name the key's file (client-key), or leave persist_config out.",
            )
        with tempfile.TemporaryDirectory(prefix="kubeadm-store-") as folder:
            try:
                with _of_client():
                    self._config.load_kube_config(
                        config_file=os.pathsep.join(kubeconfig_reader.paths_of(setting(self._options, "kubeconfig"))),
                        context=read.context,
                        client_configuration=made,
                        persist_config=flag(self._options, "persist_config", False),
                        temp_file_path=folder,
                    )
            finally:
                # It remembers what it wrote where, and would look there the next time.
                remembered = getattr(self._config.kube_config, "_temp_files", {})
                for content in [each for each, path in remembered.items() if path.startswith(folder)]:
                    del remembered[content]
        return lambda: _token_of(made)

    def _given(self, found: Credentials) -> Credentials:
        """Return the options' credentials, or else those found."""
        token, certificate = setting(self._options, "api_key"), file_text(self._options, "client_cert")
        # One file may hold both.
        key = file_text(self._options, "client_key") or (certificate if "PRIVATE KEY" in certificate else "")
        if bool(certificate) != bool(key):
            missing = "client_key" if certificate else "client_cert"
            raise NoKubeconfig(f"store.{missing} is missing: a client certificate and its key are both needed")
        username, password = setting(self._options, "username"), setting(self._options, "password")
        proof = Proof(credentials.bearer(str(token), name_of("api_key", self._options)) if token else "")
        if not proof.authorization:
            of = f"({name_of('username', self._options)}, {name_of('password', self._options)})"
            proof = proof._replace(authorization=credentials.basic(str(username or ""), str(password or ""), of))
        if proof.authorization or certificate:
            return Credentials(proof._replace(certificate=certificate, key=key))
        return found

    def _acting_as(self, found: t.Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
        user, groups = setting(self._options, "impersonate_user"), setting(self._options, "impersonate_groups")
        listed = [str(each).strip() for each in (groups.split(",") if isinstance(groups, str) else list(groups or ()))]
        if not user and not any(listed):
            return list(found)
        if not user:
            raise NoKubeconfig("store.impersonate_groups needs store.impersonate_user: groups are a user's")
        return [("Impersonate-User", str(user)), *(("Impersonate-Group", each) for each in listed if each)]

    def _configured(self, target: _Target) -> t.Any:
        made = self._client.Configuration()
        made.host = self.host
        made.verify_ssl = flag(self._options, "validate_certs", target.verify)
        if not made.verify_ssl:
            # It is asked for, and would be told once more for each request.
            disable_warnings(InsecureRequestWarning)
        if target.server_name:
            made.tls_server_name = target.server_name
        proxy = setting(self._options, "proxy") or target.proxy
        if proxy or made.proxy:
            what = name_of("proxy", self._options) if setting(self._options, "proxy") else "proxy-url"
            made.proxy = url(
                str(proxy or made.proxy), what if proxy else "HTTPS_PROXY", ("http", "https", "socks5", "socks5h")
            )
        if setting(self._options, "no_proxy"):
            made.no_proxy = str(setting(self._options, "no_proxy"))
        headers = proxy_headers(self._options)
        user = urllib.parse.urlsplit(made.proxy or "")
        if user.username and "proxy_basic_auth" not in headers:
            headers["proxy_basic_auth"] = urllib.parse.unquote(f"{user.username}:{user.password or ''}")
        if headers:
            made.proxy_headers = make_headers(**headers)
        return made

    def _context(self, pair: tuple[str, str]) -> ssl.SSLContext:
        """Return the TLS context for a client certificate and key.

        It is made in memory: no file of a key outlives this call.
        """
        verify = self._configuration.verify_ssl
        context: ssl.SSLContext = create_urllib3_context(cert_reqs=ssl.CERT_REQUIRED if verify else ssl.CERT_NONE)
        # As of every other context (https.client_context).
        context.verify_flags &= ~ssl.VERIFY_X509_STRICT
        try:
            if self._authority:
                context.load_verify_locations(cadata=self._authority)
            else:
                context.load_default_certs()
        except (ssl.SSLError, ValueError) as error:
            raise NoKubeconfig(f"the certificate authority that is given is no PEM of one: {short(error)}") from error
        if pair[0]:
            with memory_file("\n".join(pair)) as path:
                try:
                    # Without the password it would ask for one at the terminal.
                    context.load_cert_chain(path, password=_no_password)
                except (OSError, ValueError) as error:
                    raise NoKubeconfig(f"its client certificate or its key can't be used: {short(error)}") from error
        return context

    def _no_credentials(self, error: NoKubeconfig) -> base.StoreError:
        return base.StoreError(
            "there are no credentials for the store's Kubernetes API",
            self.where,
            redact(str(error)).rstrip("."),
            error.fix
            or "Give store.kubeconfig (and store.context), store.host with store.api_key or a client certificate, or store.in_cluster: "
            "true to use those of the pod that this runs in.",
        )


@contextlib.contextmanager
def _of_client() -> t.Iterator[None]:
    """Raise NoKubeconfig for errors of the ``kubernetes`` client's credential lookup."""
    try:
        yield
    except (AttributeError, KeyError, TypeError) as error:
        # What it stumbles over: a provider of tokens that it knows no more.
        raise NoKubeconfig(f"it is no kubeconfig that the client can read: {short(error)}") from error
    # Providers of tokens have errors of their own.
    except Exception as error:  # pylint: disable=broad-except
        raise NoKubeconfig(short(error)) from error


def _of_provider(read: kubeconfig_reader.Kubeconfig) -> dict[str, t.Any]:
    """Return a kubeconfig that holds only the user's ``auth-provider``.

    It names where the token comes from, and holds no key.
    """
    user = {"auth-provider": read.user.fields.get("auth-provider")}
    context = {"cluster": read.cluster.name, "user": read.user.name}
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": read.context,
        "contexts": [{"name": read.context, "context": context}],
        "clusters": [{"name": read.cluster.name, "cluster": {"server": ""}}],
        "users": [{"name": read.user.name, "user": copy.deepcopy(user)}],
    }


def _token_of(configuration: t.Any) -> str:
    with _of_client():
        return next((str(each["value"]) for each in configuration.auth_settings().values() if each.get("value")), "")


def _no_password() -> str:
    raise ValueError("the key is encrypted with a passphrase, which can't be given here")
