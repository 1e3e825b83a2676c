# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The AnsibleModule of every module of this collection, with legible output.

Its messages are legible, and its results can be read.
"""

from __future__ import annotations

import contextlib
import typing as t

from ansible.module_utils.basic import AnsibleModule

from ..common.guard import said_of
from ..common.legible import readable, visible


class NodeModule(AnsibleModule):  # type: ignore[misc]
    """AnsibleModule whose messages and results pass :mod:`legible`.

    Ansible itself writes errors, warnings and diffs to a terminal unchanged. It supports check mode unless told otherwise.
    """

    def __init__(self, argument_spec: t.Mapping[str, t.Any], supports_check_mode: bool = True, **rules: t.Any) -> None:
        super().__init__(argument_spec=dict(argument_spec), supports_check_mode=supports_check_mode, **rules)

    @contextlib.contextmanager
    def failing(self, *errors: type[Exception], before: str = "") -> t.Iterator[None]:
        """Exit with an error's message if one of these is raised.

        Its ``fields`` are part of the result; ``before`` comes before the message. A file that can't be written for lack of room or rights, say,
        is named with its remedy, too.
        """
        try:
            yield
        except errors as error:
            self.fail_json(f"{before}{error}", **getattr(error, "fields", {}))
        except OSError as error:
            said = said_of(error)
            if not said:
                raise
            self.fail_json(f"{before}{said}")

    def exit_json(self, **result: t.Any) -> t.NoReturn:
        """Exit successfully with this result."""
        super().exit_json(**readable(result))
        raise AssertionError("exit_json returned")

    def fail_json(self, msg: str, **result: t.Any) -> t.NoReturn:
        """Exit with an error message and this result."""
        super().fail_json(visible(str(msg)), **readable(result))
        raise AssertionError("fail_json returned")

    def warn(self, warning: str, **named: t.Any) -> None:
        """Add a warning to the result."""
        super().warn(visible(str(warning)), **named)
