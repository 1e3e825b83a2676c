# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Base class of the action plugins that reach store, machines and decisions.

Why: docs/architecture.md, "How a machine is reached".
"""

from __future__ import annotations

import contextlib
import math
import os
import time
import typing as t
from pathlib import Path

from ansible import constants as C
from ansible.plugins.action import ActionBase

from ...module_utils.common import settings
from ...module_utils.common.legible import one_line, readable
from ...module_utils.common.values import now_rfc3339
from ...module_utils.common.violations import ManifestError
from ..calls import role_variables
from ..calls.failure import ControlPlaneFailure
from ..calls.fence import Fence
from ..calls.machine_connection import REFUSED, MachineCaller
from ..calls.screen import Screen
from ..processes import failpoints
from ..processes.key_file import KeyFile
from ..progress import channel, durations, kept_error
from ..progress.progress_lines import BAD, Line
from ..providers import inventory_pool
from ..records.cluster_objects import ClusterObjects
from ..store import opening
from ..store.base import Store, StoreError
from ..store.file.store import Cipher
from ..store.journal import Journal
from ..store.lock import marks
from ..store.lock.any_store import Locks
from ..store.opening import STORE_SPEC
from ..store.overlay import OverlayStore

CLUSTER_SPEC: dict[str, t.Any] = {
    "cluster": {"type": "str", "required": True},
    "namespace": {"type": "str", "default": "default"},
    "store": STORE_SPEC,
    "fencing": {"type": "int"},
}


# Its folder, without symbolic links.
COLLECTION = str(Path(__file__).resolve().parents[3])


class ControlPlaneAction(ActionBase):
    """Action plugin that validates arguments, opens the store and reports failures.

    The collection's errors become one clear failure.

    A subclass gives ``ARGUMENTS`` and ``execute(arguments) -> result``.
    """

    ARGUMENTS: t.ClassVar[dict[str, t.Any]] = {}
    COMMON_ARGUMENTS: t.ClassVar[dict[str, t.Any]] = CLUSTER_SPEC
    # Whether what it reads of the store is read once: for what takes seconds, or says when it looks again.
    ONE_VIEW: t.ClassVar[bool] = False
    # Whether it ends a run: what the run was refused for is no reason not to say it, and to release the lock.
    ENDS: t.ClassVar[bool] = False
    # Whether its connections to machines are kept for further calls, of this task and of those that follow.
    SHARED_CONNECTIONS: t.ClassVar[bool] = True
    # How long one call of a machine may take at most, whatever the module.
    CALL_SECONDS: float = math.inf
    # For how long it asks a store's API that doesn't answer.
    PATIENCE_SECONDS: float = settings.STORE_PATIENCE_SECONDS
    TRANSFERS_FILES = False
    _supports_check_mode = True
    _requires_connection = False

    def run(self, tmp: t.Optional[str] = None, task_vars: t.Optional[dict[str, t.Any]] = None) -> dict[str, t.Any]:
        """Run the action; the collection's own errors become ``failed`` with ``msg``.

        Every text of the result is legible.
        """
        result: dict[str, t.Any] = dict(super().run(tmp, task_vars))
        self._task_vars: dict[str, t.Any] = task_vars or {}
        self.display = Screen(str(self._task_vars.get("inventory_hostname") or ""))
        if self._task_vars.get(REFUSED):
            return readable({**result, "failed": True, "msg": str(self._task_vars[REFUSED])})
        _checked, arguments = self.validate_argument_spec(argument_spec={**self.COMMON_ARGUMENTS, **self.ARGUMENTS})
        self.check_mode = bool(self._task.check_mode)
        self._home = (arguments.get("namespace"), arguments.get("cluster"))
        self._noted: list[str] = []
        self._fences: dict[tuple[str, str, int], Fence] = {}
        try:
            if not self.ends(arguments):
                self._refuse_unknown_variables()
            with contextlib.ExitStack() as self._views, failpoints.within(str(self._task.action).rpartition(".")[2]):
                result.update(self.execute(arguments))
        except ControlPlaneFailure as failure:
            result.update(failure.result, failed=True, msg=str(failure))
        except ManifestError as error:
            told = str(error) if len(error.violations) > 1 else f"{error} Nothing was changed."
            result.update(failed=True, msg=told)
        except StoreError as error:
            result.update(failed=True, msg=str(error))
        self._write_notes(arguments)
        result = readable(result)
        if result.get("failed") and self._task_vars.get(kept_error.REPORTED) and not self.ends(arguments):
            self._leave_to_report(result)
        elif result.get("failed"):
            self._tell_once(result)
        return result

    def _leave_to_report(self, result: dict[str, t.Any]) -> None:
        """Keep an error of several sentences for the report that follows."""
        error = kept_error.KeptError(str(result.get("msg") or ""), str(result.get("output") or ""))
        short = kept_error.shortened(error.message)
        if (error.output or short != error.message) and kept_error.keep(self.host_of(""), error):
            result["msg"] = short
            result.pop("output", None)

    def _tell_once(self, result: dict[str, t.Any]) -> None:
        """Show an error of several lines once, as lines.

        Ansible would print it twice, once as JSON. In this collection's own playbooks and roles: a user's task has all of it in ``msg``.
        """
        message = str(result.get("msg") or "")
        if len(message.splitlines()) > 1 and not channel.is_open() and self._of_this_collection():
            self.display.display_lines([Line(""), *(Line(line, BAD) for line in message.splitlines()), Line("")])
            result["msg"] = kept_error.shortened(message, "the list is above")

    def _of_this_collection(self) -> bool:
        path = os.path.realpath(str(self._task.get_path() or os.sep))
        return path.startswith(os.path.join(COLLECTION, ""))

    def ends(self, arguments: t.Mapping[str, t.Any]) -> bool:
        """Return whether the action ends a run with these arguments."""
        return self.ENDS

    def _refuse_unknown_variables(self) -> None:
        # Here, as each role's first task is one of these: no task more, and hosts see their own variables.
        problem = role_variables.problem(self, self._task_vars)
        if problem:
            raise ControlPlaneFailure(problem)

    def execute(self, arguments: dict[str, t.Any]) -> dict[str, t.Any]:
        """Execute the action and return the task's result, without secrets."""
        raise NotImplementedError

    def open_store(self, arguments: dict[str, t.Any]) -> Store:
        """Open the store that the arguments name."""
        options = arguments["store"]
        opening.check(options)
        encrypt, decrypt = self.ciphers()
        if not options["encrypt_secrets"]:
            encrypt = None
        elif encrypt is None:
            raise ControlPlaneFailure(
                "the store is to encrypt its Secrets (encrypt_secrets: true) but this run has no vault password; "
                "nothing was read or written. Give --vault-password-file, --vault-id or --ask-vault-pass."
            )
        store: t.Optional[Store]
        if not self.check_mode:
            store = opening.open_store(options, encrypt, decrypt, self.PATIENCE_SECONDS)
        else:
            # In check mode nothing can be written, whatever an action does: its writes stay in memory.
            there = opening.exists(options)
            store = opening.open_store(options, None, decrypt, self.PATIENCE_SECONDS) if there else None
            store = OverlayStore(store, now_rfc3339())
        fence = self.fence(arguments)
        if fence is not None:
            store.fenced_by(fence.check)
        if self.ONE_VIEW:
            self._views.enter_context(store.view())
        return store

    def fence(self, arguments: t.Mapping[str, t.Any]) -> t.Optional[Fence]:
        """Return this run's fence for the cluster, or None.

        Its number is the one under which the run holds the lock. None where the task was given no number, and in check
        mode.
        """
        number = arguments.get("fencing")
        if number is None or self.check_mode or not arguments.get("store"):
            return None
        key = (str(arguments["namespace"]), str(arguments["cluster"]), int(number))
        if key not in self._fences:
            self._fences[key] = Fence(self.open_locks(arguments), *key)
        return self._fences[key]

    def ciphers(self) -> tuple[t.Optional[Cipher], t.Optional[Cipher]]:
        """Return the encrypting and decrypting functions of the vault password.

        None each where the run has none.
        """
        vault = getattr(self._loader, "_vault", None)
        return (vault.encrypt, vault.decrypt) if vault is not None and vault.secrets else (None, None)

    def open_locks(self, arguments: t.Mapping[str, t.Any]) -> Locks:
        """Return the locks of the store's clusters, for this task's inventory host."""
        return opening.open_locks(arguments["store"], self.PATIENCE_SECONDS, self.host_of(""))

    def open_objects(self, arguments: dict[str, t.Any], store: t.Optional[Store] = None) -> ClusterObjects:
        """Read a cluster's objects; fails where the store has no such cluster."""
        store = store or self.open_store(arguments)
        objects = ClusterObjects.read(store, arguments["namespace"], arguments["cluster"])
        if objects is None:
            self.refuse_moved(arguments)
            raise ControlPlaneFailure(
                f"the store {opening.describe(arguments['store'])} has no Cluster {arguments['namespace']}/{arguments['cluster']}. "
                "Nothing was done. Check which store is given, or run reconcile, which reads the manifest into the store."
            )
        return objects

    def refuse_moved(self, arguments: t.Mapping[str, t.Any]) -> None:
        """Fail where the store no longer has the cluster.

        It is for callers that take no lock; the store may not allow the check.
        """
        self._refuse_marked(arguments, (marks.MOVED, marks.ARRIVING))

    def _refuse_marked(self, arguments: t.Mapping[str, t.Any], states: t.Collection[str]) -> None:
        mark = None
        with contextlib.suppress(StoreError):
            mark = self.open_locks(arguments).mark(arguments["namespace"], arguments["cluster"])
        if mark is not None and mark.state in states:
            where = opening.describe(arguments["store"])
            purpose = marks.USE_EXPORT if arguments.get("use_export") else marks.WORK
            marks.refuse(mark, purpose, arguments["namespace"], arguments["cluster"], where)

    def refuse_beforehand(self, arguments: t.Mapping[str, t.Any]) -> None:
        """Fail where the run would fail at its start.

        It is for callers that only report what they would do.

        A store that can't be written, an API that others manage, a move, a copy, no namespace.
        """
        opening.require_writable(arguments["store"], arguments["namespace"], self.PATIENCE_SECONDS)
        opening.refuse_others(arguments["store"], self.PATIENCE_SECONDS)
        self._refuse_marked(arguments, marks.STATES)
        opening.require_namespace(arguments["store"], arguments["namespace"], self.PATIENCE_SECONDS)

    def check_lock(self, arguments: t.Mapping[str, t.Any]) -> None:
        """Fail where this run no longer holds the cluster's lock.

        It is called before every irreversible call.
        """
        fence = self.fence(arguments)
        if fence is not None:
            fence.check()

    def journal(self, arguments: dict[str, t.Any]) -> Journal:
        """Return the cluster's journal."""
        return Journal(opening.journal_directory(arguments["store"]), arguments["namespace"], arguments["cluster"])

    def machine_caller(self, arguments: dict[str, t.Any], objects: ClusterObjects) -> MachineCaller:
        """Return the caller that reaches this cluster's machines.

        It has the cluster's SSH key.
        """
        folder = os.path.join(C.DEFAULT_LOCAL_TMP, "kubeadm", arguments["namespace"], arguments["cluster"])
        os.makedirs(folder, mode=0o700, exist_ok=True)
        objects.ask_for_secrets()
        key = objects.ssh_private_key()
        key_file = KeyFile(key, folder) if key is not None else None
        return MachineCaller(
            self,
            self._task_vars,
            folder,
            key_file,
            self.fence(arguments),
            shared=self.SHARED_CONNECTIONS,
            most_seconds=self.CALL_SECONDS,
        )

    def note(self, change: str) -> None:
        """Record a change for the journal, even where the action fails."""
        self._noted.append(change)

    def tell(self, cluster: str, changes: t.Iterable[str]) -> None:
        """Print changes of a cluster, and record them for the journal."""
        for change in changes:
            self.progress(cluster, change)
            self.note(change)

    def run_id(self, arguments: t.Mapping[str, t.Any]) -> str:
        """Return the id of the run that holds the cluster's lock here.

        "" without the lock, in check mode, and where the locks can't be read: it is for the journal's entries for people alone.
        """
        with contextlib.suppress(StoreError):
            lease = None if self.check_mode else self.open_locks(arguments).own(*map(str, self._home))
            return "" if lease is None else lease.run
        return ""

    def _write_notes(self, arguments: dict[str, t.Any]) -> None:
        # For people alone: where the store fails, its error is what is said.
        with contextlib.suppress(StoreError):
            run = self.run_id(arguments) if self._noted else ""
            if run:
                self.journal(arguments).note(run, "; ".join(self._noted))

    def pool_groups(self) -> list[str]:
        """Return the groups that machine templates may name, [] for any.

        The operator sets them.
        """
        given = self._templar.template(self._task_vars.get(inventory_pool.PERMITTED) or [])
        if not isinstance(given, list) or not all(isinstance(each, str) for each in given):
            raise ControlPlaneFailure(
                f"the variable {inventory_pool.PERMITTED} must be a list of inventory groups. Nothing was done. Correct it where it is set."
            )
        return [str(each) for each in given]

    def progress(self, cluster: str, text: str) -> None:
        """Show a line of progress to the user.

        The line names the namespace, as another one may have a cluster of that name.
        """
        namespace, own = self._home
        if self.display.send("note", text=text if cluster == own else f"{cluster}: {text}"):
            return
        where = f"{namespace}/{cluster}" if namespace and cluster == own else cluster
        self.display.display(one_line(f"  [{where}] {text}"))

    def begin_step(self, journal: Journal, action: str, title: str, identifier: str = "", **fields: t.Any) -> bool:
        """Send a step to the callback ``progress``; False where another is used.

        Args:
            journal: the cluster's journal, which knows how long such steps took.
            action: the step's action in the journal.
            title: what it does, without the machine's name where that is not known yet.
            identifier: what distinguishes it from others that are under way in this run; begins a Task's name.
            fields: ``machine``, ``voters`` (before and after), ``comparable`` (how the names of like Tasks begin).
        """
        if not channel.is_open():
            return False
        usual = durations.expected_seconds(journal.entries(), action, str(fields.pop("comparable", "")))
        return self.display.send("step", id=identifier, title=title, expected_seconds=usual, **fields)

    def host_of(self, cluster: str) -> str:
        """Return the inventory's name for the task's cluster, for advice.

        Clusters of one name in two namespaces have two inventory names.
        """
        return str(self._task_vars.get("inventory_hostname") or cluster)

    def waiting(self, cluster: str, bound_seconds: float) -> Waiting:
        """Start a bounded wait that shows progress."""
        return Waiting(self, cluster, bound_seconds, self.display)


class Progress(t.Protocol):
    """Receiver of progress lines for the user."""

    def progress(self, cluster: str, text: str) -> None:
        """Show a line of progress to the user."""


class Waiting:
    """Bounded wait with a line of progress every 15 s.

    Args:
        action: what shows the lines.
        cluster: the cluster's name.
        bound_seconds: how long the wait may take.
        screen: the callback ``progress`` is reached by it, and shows the wait then.
    """

    def __init__(self, action: Progress, cluster: str, bound_seconds: float, screen: t.Optional[Screen] = None) -> None:
        self._action = action
        self._screen = screen
        self._cluster = cluster
        self._bound = bound_seconds
        self._started = time.monotonic()
        self._shown = self._started

    @property
    def elapsed(self) -> float:
        """Seconds since the wait started."""
        return time.monotonic() - self._started

    def again(self, text: str, pause_seconds: float = 1.0) -> bool:
        """Sleep for a pause; return whether the wait may continue.

        False without sleeping when the bound is reached.
        """
        now = time.monotonic()
        if now - self._started + pause_seconds > self._bound:
            return False
        left = self._bound - (now - self._started)
        if self._screen is not None and self._screen.send("doing", text=text, seconds_left=left):
            self._shown = now
        elif now - self._shown >= settings.PROGRESS_SECONDS:
            self._shown = now
            self._action.progress(self._cluster, f"{text} ({self.elapsed:.0f} s of at most {self._bound:.0f} s)")
        time.sleep(pause_seconds)
        return True
