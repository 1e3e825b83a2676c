# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Credentials for requests to a store's Kubernetes API, and their renewal.

Credentials that are configured and can't be had are an error; a run never continues without any, as the ``kubernetes`` client does.
"""

from __future__ import annotations

import base64
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import time
import typing as t

from ....module_utils.common import settings
from ....module_utils.common.redact import redact
from ....module_utils.common.values import parse_time
from .kubeconfig_reader import Entry, Kubeconfig, NoKubeconfig, read_text

_API_VERSIONS = tuple(f"client.authentication.k8s.io/{each}" for each in ("v1", "v1beta1", "v1alpha1"))
_SECRET_NAME = re.compile(r"token|secret|passw|key|credential", re.IGNORECASE)
_LONGEST_WORDS = 500


class Proof(t.NamedTuple):
    """Header ``Authorization`` and client certificate with its key, as PEM.

    "" where there is none.
    """

    authorization: str = ""
    certificate: str = ""
    key: str = ""


class Credentials:
    """Credentials that never change."""

    def __init__(self, proof: Proof) -> None:
        self._proof = proof

    def current(self) -> Proof:
        """Return the current credentials, renewed where they have expired.

        Raises NoKubeconfig.
        """
        return self._proof

    def renew(self) -> bool:
        """Replace credentials refused with 401 and return whether others were found.

        Raises NoKubeconfig.
        """
        return False


class TokenFile(Credentials):
    """Credentials of a rotated token file, which every request reads again.

    Args:
        proof: what else is known; its token counts until the file can be read.
        path: the file.
        what: how messages name it.
    """

    def __init__(self, proof: Proof, path: str, what: str) -> None:
        super().__init__(proof)
        self._path, self._what = path, what

    def current(self) -> Proof:
        """Return the token of the file, or else the last one read.

        The last token is still used while the file is empty or can't be read.
        """
        try:
            token = read_text(self._path, self._what).strip()
            if not token:
                raise NoKubeconfig(f"{self._what} is empty: {self._path}")
            self._proof = self._proof._replace(authorization=bearer(token, self._what))
        except NoKubeconfig:
            if not self._proof.authorization:
                raise
        return self._proof

    def renew(self) -> bool:
        """Read the file again and return whether the credentials differ."""
        before = self._proof
        return self.current() != before


class Provider(Credentials):
    """Credentials from a token provider of the ``kubernetes`` client.

    That client renews them by itself.

    Args:
        proof: what else is known.
        ask: returns the header for the token of now, "" where there is none; raises NoKubeconfig.
        what: how messages name the provider.
    """

    def __init__(self, proof: Proof, ask: t.Callable[[], str], what: str) -> None:
        super().__init__(proof)
        self._ask, self._what = ask, what

    def current(self) -> Proof:
        """Return the credentials with the client's current token."""
        authorization = self._ask().strip()
        if not authorization:
            raise NoKubeconfig(f"{self._what} gave no token: it has ended and could not be renewed, or it is none")
        return self._proof._replace(authorization=authorization)


class Plugin(Credentials):
    """Credentials from a credential plugin of the kubeconfig (``exec``).

    The program runs when the first request needs it, and when its credentials expire.

    Args:
        proof: what else is known of the user; it has precedence over what the plugin gives, as with kubectl.
        kubeconfig: the kubeconfig with that user.
    """

    def __init__(self, proof: Proof, kubeconfig: Kubeconfig) -> None:
        super().__init__(proof)
        self._user, self._cluster = kubeconfig.user, kubeconfig.cluster
        self._where, self._context = kubeconfig.where, kubeconfig.context
        self._what = f"credential plugin of user {self._user.name}"
        self._given: t.Optional[Proof] = None
        self._end = self._renew_at = float("inf")

    def current(self) -> Proof:
        """Return the plugin's credentials, running it where they are missing or expiring."""
        if self._given is None or time.time() >= self._renew_at:
            try:
                self._run()
            except NoKubeconfig:
                if self._given is None or time.time() >= self._end:
                    raise
        given = t.cast(Proof, self._given)
        return Proof(*(mine or theirs for mine, theirs in zip(self._proof, given)))

    def renew(self) -> bool:
        """Run the plugin again and return whether the credentials differ."""
        before = self._given
        self._run()
        return self._given != before

    def _run(self) -> None:
        given = self._user.fields["exec"]
        if not isinstance(given, dict) or not isinstance(given.get("command"), str) or not given["command"]:
            raise self._failed("it names no command")
        command, version = given["command"], given.get("apiVersion")
        self._what = f"credential plugin of user {self._user.name} (command {command})"
        if version not in _API_VERSIONS:
            raise self._failed(f"apiVersion {version!r} is not known, one of {', '.join(_API_VERSIONS)} is")
        if given.get("interactiveMode") == "Always":
            raise self._failed("it wants a terminal (interactiveMode: Always), and a run has none")
        status = self._status(self._output(given), version)
        token, pair = status.get("token"), (status.get("clientCertificateData"), status.get("clientKeyData"))
        if bool(pair[0]) != bool(pair[1]):
            raise self._failed("it gave a certificate or a key, and not both")
        if not token and not pair[0]:
            raise self._failed("it gave neither a token nor a certificate with its key")
        if not all(each is None or isinstance(each, str) for each in (token, *pair)):
            raise self._failed("it gave a token, certificate or key that is no text")
        end = float("inf")
        if status.get("expirationTimestamp") is not None:
            seconds = parse_time(status["expirationTimestamp"])
            if seconds is None:
                raise self._failed("it gave an expirationTimestamp that is no time (RFC 3339)")
            end = float(seconds)
        try:
            authorization = bearer(token, "its token") if token else ""
        except NoKubeconfig as error:
            raise self._failed(str(error)) from error
        self._given = Proof(authorization, pair[0] or "", pair[1] or "")
        left = max(end - time.time(), 0.0)
        early = min(settings.CREDENTIALS_EARLY_SECONDS, left / 10) if left < float("inf") else 0.0
        self._end, self._renew_at = end, end - early

    def _output(self, given: t.Mapping[str, t.Any]) -> str:
        more = {str(each.get("name")): str(each.get("value", "")) for each in self._listed("env", dict)}
        info = {"interactive": False, **({"cluster": self._about_cluster()} if given.get("provideClusterInfo") else {})}
        told = {"apiVersion": given["apiVersion"], "kind": "ExecCredential", "spec": info}
        environment = {**os.environ, **more, "KUBERNETES_EXEC_INFO": json.dumps(told)}
        command = given["command"]
        program = self._user.path(command) if os.sep in command else shutil.which(command, path=environment.get("PATH"))
        hint = " ".join(str(given.get("installHint") or "").split())
        if program is None or not os.path.exists(program):
            where = f"{program} is not there" if program else "it is not in PATH"
            raise self._failed(f"executable not found, {where}. {hint}".rstrip(". "))
        try:
            # In a session of its own, so that nothing that it starts outlives it. AnsibleModule.run_command has no bound.
            with subprocess.Popen(  # pylint: disable=ansible-bad-function
                [program, *self._listed("args", str)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=os.path.dirname(os.path.abspath(self._user.file)),
                env=environment,
                start_new_session=True,
            ) as process:
                try:
                    out, words = process.communicate(timeout=settings.CREDENTIAL_PLUGIN_SECONDS)
                except BaseException:
                    os.killpg(process.pid, signal.SIGKILL)
                    raise
        except subprocess.TimeoutExpired as error:
            said = self._said(error.stderr or b"", more)
            raise self._failed(
                f"it did not end within {settings.CREDENTIAL_PLUGIN_SECONDS:.0f} s and was stopped{said}"
            ) from error
        except OSError as error:
            raise self._failed(f"it could not be started: {error.strerror}") from error
        if process.returncode < 0:
            raise self._failed(f"it was ended by signal {-process.returncode}{self._said(words, more)}")
        if process.returncode:
            raise self._failed(f"it failed with exit code {process.returncode}{self._said(words, more)}")
        return out.decode("utf-8", "replace")

    def _listed(self, field: str, kind: type) -> list[t.Any]:
        listed = self._user.fields["exec"].get(field) or []
        if not isinstance(listed, list) or not all(isinstance(each, kind) for each in listed):
            words = "names and values" if kind is dict else "texts"
            raise self._failed(f"its {field} are no list of {words}")
        return listed

    def _status(self, output: str, version: str) -> t.Mapping[str, t.Any]:
        try:
            answer = json.loads(output)
        except ValueError as error:
            # Not what it printed: that may be a token.
            raise self._failed("what it printed is no JSON") from error
        if not isinstance(answer, dict) or answer.get("kind") != "ExecCredential":
            raise self._failed("what it printed is no ExecCredential")
        if answer.get("apiVersion") != version:
            raise self._failed(f"it answers in another apiVersion ({answer.get('apiVersion')!r}) than {version}")
        if not isinstance(answer.get("status"), dict):
            raise self._failed("its ExecCredential has no status")
        return t.cast("t.Mapping[str, t.Any]", answer["status"])

    def _about_cluster(self) -> dict[str, t.Any]:
        fields = self._cluster.fields
        authority = self._cluster.content("certificate-authority")
        about: dict[str, t.Any] = {
            name: fields[name]
            for name in ("server", "tls-server-name", "insecure-skip-tls-verify", "proxy-url")
            if fields.get(name)
        }
        if authority:
            about["certificate-authority-data"] = base64.b64encode(authority.encode()).decode()
        for each in fields.get("extensions") or []:
            if isinstance(each, dict) and each.get("name") == "client.authentication.k8s.io/exec":
                about["config"] = each.get("extension")
        return about

    def _said(self, words: bytes, environment: t.Mapping[str, str]) -> str:
        text = " ".join(redact(words.decode("utf-8", "replace")).split())
        for name, value in environment.items():
            if value and _SECRET_NAME.search(name):
                text = text.replace(value, "[redacted]")
        return f", and said: {text[:_LONGEST_WORDS]}" if text else ""

    def _failed(self, why: str) -> NoKubeconfig:
        return NoKubeconfig(
            f"getting credentials: {self._what}: {why}",
            "Nothing more is changed by this run. Correct what the command says, most often by logging in again "
            f"(KUBECONFIG={shlex.quote(self._where)} kubectl --context {shlex.quote(self._context)} get --raw /version runs it too), then run again.",
        )


def of_user(kubeconfig: Kubeconfig, provider: t.Callable[[], t.Callable[[], str]]) -> Credentials:
    """Return the credentials of a kubeconfig's user.

    Args:
        kubeconfig: what was read.
        provider: makes what asks the ``kubernetes`` client for a token, for a user whose tokens come from a provider of its own.

    Raises:
        NoKubeconfig: what it names can't be had.
    """
    user: Entry = kubeconfig.user
    of = f"of user {user.name}"
    proof = Proof(certificate=user.content("client-certificate"), key=user.content("client-key"))
    if bool(proof.certificate) != bool(proof.key):
        raise NoKubeconfig(f"the user {user.name} has a client-certificate or a client-key, and not both")
    if user.text("token"):
        proof = proof._replace(authorization=bearer(user.text("token"), f"token {of}"))
    if user.text("tokenFile"):
        credentials: Credentials = TokenFile(proof, user.path(user.text("tokenFile")), f"tokenFile {of}")
        credentials.current()
        return credentials
    if proof.authorization:
        return Credentials(proof)
    if user.fields.get("auth-provider"):
        return Provider(proof, provider(), f"auth-provider {of}")
    if user.fields.get("exec"):
        return Plugin(proof, kubeconfig)
    return Credentials(proof._replace(authorization=basic(user.text("username"), user.text("password"), of)))


def bearer(token: str, what: str) -> str:
    """Return the header for a token; raise NoKubeconfig for an invalid one."""
    stripped = token.strip()
    if not stripped.isascii() or re.search(r"[\s\x00-\x1f\x7f]", stripped):
        raise NoKubeconfig(f"{what} has blanks or signs in it that no token has")
    return f"Bearer {stripped}"


def basic(username: str, password: str, what: str) -> str:
    """Return the header for a username and password, "" without both.

    Raises NoKubeconfig where only one of them is given.
    """
    if not username and not password:
        return ""
    if not username or not password:
        raise NoKubeconfig(f"username or password {what} is missing: both are needed")
    return "Basic " + base64.b64encode(f"{username}:{password}".encode()).decode()
